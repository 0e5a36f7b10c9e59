# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The bar as a plant: its steps, its walls, and its interface to a controller."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reproductions.yoshikawa_zheng.test_pinned_bar import ARMS, BAR
from scipy.optimize import brentq
from support.papers import CASES

from robot_dynamics.errors import ArgumentError
from robot_dynamics.reproductions.yoshikawa_zheng.pinned_bar_plant import (
    Imperfections,
    PinnedBarPlant,
    Wall,
)

START = (0.0, 0.13, 0.0)
PULL = np.array([-0.02, 0.01, 0.03, 0.02])


def plant(wall=None, step=1e-4, **imperfections):
    """Return a plant at its start."""
    made = PinnedBarPlant(ARMS, BAR, wall, Imperfections(**imperfections), 2e-3, step)
    made.start(START)
    return made


def after(made, periods=20):
    """Return the state after some periods under one torque."""
    for _ in range(periods):
        state = made.step(PULL)
    return np.concatenate([state.r, state.rd])


def test_steps_converge_with_the_fourth_order():
    """Halving the step divides the rest of the error by sixteen."""
    ends = [after(plant(step=step)) for step in (2e-3, 1e-3, 5e-4, 1e-4)]
    errors = [np.abs(end - ends[-1]).max() for end in ends[:-1]]
    # The order shows once steps are short: the second ratio, within a half.
    assert 8.0 < errors[1] / errors[2] < 32.0
    assert errors[2] < 1e-8


def test_a_rigid_wall_holds_the_tip():
    """The tip does not move, to rounding, and the force is that of the worked case."""
    case = CASES["P1 constrained, perfect"]
    data, answer = case["input"], case["output"]
    made = plant(Wall(0.16))
    made.start(data["r"], data["rd"])
    made.step(np.array(answer["tau"]))
    state = made.truth()
    assert_allclose(state.r[1] + BAR.tip * np.cos(state.r[2]), 0.16, atol=1e-12)
    assert_allclose(made.presses[0], answer["plant_f_F"], rtol=0.01)  # after 0.1 ms of motion


@pytest.mark.parametrize("restitution", [0.3, 0.8])
def test_an_elastic_wall_gives_back_part_of_the_speed(restitution):
    """An impact leaves the speed that Hunt and Crossley's equation has in closed form.

    With f = k d (1 + a d_dot) speeds v before and -w after meet v/a - ln(1 + a v)/a^2 = the same
    of -w; a is chosen for small losses, so that at e = 0.3 it is 0.58 that comes back.
    """
    wall = Wall(0.16 + 1e-6, 1e5, restitution)
    made = plant(wall, step=2e-5)
    made.start(START, (0.0, 0.068, 0.0))
    a = wall.dissipation

    def g(v):
        return v / a - np.log1p(a * v) / a**2

    expected = brentq(lambda w: g(-w) - g(0.068), 1e-6, min(0.068, 0.999 / a))
    rebound = -min(made.step(np.zeros(4)).rd[1] for _ in range(5))
    # The arms' free motion changes the speed by 1e-3 of it in the 4 ms of the impact.
    assert_allclose(rebound, expected, rtol=5e-3)
    assert made.presses[-1] == 0.0


def test_a_wall_rubs_and_drives_rub():
    """Sliding and turning lose energy: the bar comes to less speed than without friction."""
    free = after(plant(Wall(0.16)))
    assert abs(after(plant(Wall(0.16, friction=0.5)))[3]) < abs(free[3])
    assert abs(after(plant(Wall(0.16), motor_friction=5e-3))[3]) < abs(free[3])


def test_a_delayed_torque_acts_later():
    """With a delay of two samples the bar rests for two samples, then moves as without."""
    late, soon = plant(delay=2), plant()
    assert_allclose(np.concatenate(late.step(PULL)[:2]), [*START, 0, 0, 0], atol=1e-15)
    late.step(PULL)
    assert_allclose(after(late, 3), after(soon, 3), atol=1e-15)


def test_sensors_are_noisy_only_if_they_are_to_be():
    """Noise has the deviations that are stated; without, sensors tell the truth."""
    noisy = plant(position_noise=1e-4, velocity_noise=2e-3)
    seen = [noisy.measure() for _ in range(400)]
    # 1200 draws: their deviation is right to 1 / sqrt(2400), here within five of those.
    assert_allclose(np.std([s.r - START for s in seen]), 1e-4, rtol=0.1)
    assert_allclose(np.std([s.rd for s in seen]), 2e-3, rtol=0.1)
    quiet = plant()
    assert_allclose(quiet.measure().r, quiet.truth().r, atol=0)


def test_a_step_that_does_not_divide_the_period_is_refused():
    """Periods are whole numbers of steps."""
    with pytest.raises(ArgumentError, match=r"0\.0003.* 0\.002"):
        plant(step=3e-4)
