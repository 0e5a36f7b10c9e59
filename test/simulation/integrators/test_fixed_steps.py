# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Steps near and on configurations where constraints lose rank."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.motions import cranked, four_bar, parallelogram, turning_bricard, turning_four_bar

from robot_dynamics.simulation.integrators import IntegrationError, integrate
from robot_dynamics.simulation.integrators.choice import Choice


@pytest.mark.parametrize(("order", "drift"), [(4, 1e-4), (8, 1e-6)])
@pytest.mark.parametrize("method", ["projection", "independent"])
def test_passing_through_the_flat_pose(method, order, drift):
    """A parallelogram goes through its flat pose at speed, twice a turn, and stays one: the
    coupler stays parallel to the ground, and its speed stays.
    """
    motion = parallelogram()
    run = integrate(*motion, 5.0, order=order, method=method)
    assert run.q[-1, 0] > 8.0 * np.pi
    assert_allclose(run.q[:, 0] + run.q[:, 1], 0.0, atol=1e-4)
    # All links turn at the crank's speed or not at all: kinetic energy alone fixes the motion.
    assert_allclose(run.q[:, 0], 1.0 + 6.0 * run.t, atol=1e-3)
    assert run.energy_drift < drift
    assert run.worst_closure_error < 1e-8
    assert run.effort.singular_steps > 5


@pytest.mark.parametrize("step", [1e-3, 1e-4])
@pytest.mark.parametrize("lengths", [(0.3, 1.17, 2.3), (0.18, 0.68, 7.8), (0.23, 1.05, 3.7)])
def test_short_steps_pass_the_flat_pose_as_well_as_longer_ones(lengths, step):
    """They are taken together there: by themselves they lost up to a thousandth of the energy."""
    short, long, speed = lengths
    linkage = four_bar(lengths=(short, long, short), ground=long)
    motion = cranked(linkage, (1.0, -1.0, 1.0 + np.pi), speed, (0.0, 0.0, -9.81))
    run = integrate(*motion, 3.0, step=step)
    assert run.energy_drift < 1e-6  # 4e-7 where an output cuts the long step short


@pytest.mark.parametrize("off", [0.0, 1e-16, -3e-16, 1e-15, -1e-14, 1e-13])
def test_a_start_on_the_flat_pose(off):
    """From the flat pose itself it moves as the parallelogram of its velocities. The first
    step is not as good as others: nothing says there that the coupler must not turn. Rounding of
    the start does not decide whether that is noticed.
    """
    robot, _, qd = parallelogram()
    start = np.array([0.0, 0.0, np.pi]) + off * np.array([1.0, -0.7, 0.4])
    run = integrate(robot, start, qd, 1.0)
    assert run.effort.singular_steps >= 1
    assert_allclose(run.qd[1:, 0], 6.0, rtol=0.03)
    assert_allclose(run.q[1:, 0] + run.q[1:, 1], 0.0, atol=1e-3)
    assert run.worst_closure_error < 1e-8


@pytest.mark.parametrize("off", [1e-14, 1e-13, 1e-12, 1e-11, 1e-9, 1e-7, 3e-6])
def test_a_start_beside_the_flat_pose(off):
    """A start that closes the loops beside the flat pose is noticed as far as constraints act by
    less than a hundred-thousandth, many digits above rounding, and goes on as on it.
    """
    robot, _, qd = parallelogram()
    run = integrate(robot, np.array([off, -off, np.pi + off]), qd, 0.3)
    assert run.effort.singular_steps >= 1
    assert_allclose(run.qd[:, 0], 6.0, rtol=1e-3)
    assert_allclose(run.q[:, 0] + run.q[:, 1], 0.0, atol=1e-6)


@pytest.mark.parametrize("method", ["adaptive", "stabilised"])
def test_other_methods_say_that_they_do_not(method):
    """Error control and stabilisation end with the time at which the rank was lost."""
    motion = parallelogram()
    with pytest.raises(IntegrationError) as error:
        integrate(*motion, 5.0, method=method)
    assert error.value.time > 0.3
    # It passes the flat pose at (pi - 1) / 6 s for the first time; until it fails it is right.
    before = error.value.trajectory
    assert_allclose(before.q[:-1, 0], 1.0 + 6.0 * before.t[:-1], atol=0.05)


def test_results_do_not_depend_on_how_many_steps_go_together():
    """Outputs after every step and a single output at the end give the same bits."""
    motion = turning_four_bar()
    one = integrate(*motion, 0.5, outputs=1)
    many = integrate(*motion, 0.5, outputs=500)
    assert one.effort.steps == many.effort.steps == 500
    # The same step lengths to rounding of duration / outputs.
    assert_allclose(one.q[-1], many.q[-1], atol=1e-12)


def test_constraints_that_are_left_out_are_watched(monkeypatch):
    """With one row too few used, the other one opens; the rows are chosen again before that
    shows, and the motion is the right one.
    """
    motion = turning_four_bar()
    expected = integrate(*motion, 0.2, outputs=2)
    monkeypatch.setattr(
        "robot_dynamics.simulation.integrators.fixed_steps.first_choice",
        lambda _, q, __: (Choice((3,), (1,)), q),
    )
    run = integrate(*motion, 0.2, outputs=2)
    assert run.effort.choices == 2
    # The first steps are taken back to where the loop was closed.
    assert_allclose(run.q, expected.q, atol=1e-9)
    assert run.worst_closure_error < 1e-9


def test_better_constraints_are_found(monkeypatch):
    """Two rows of which one does nothing are given up for two that are independent."""
    motion = turning_four_bar()
    expected = integrate(*motion, 0.2, outputs=2)
    monkeypatch.setattr(
        "robot_dynamics.simulation.integrators.fixed_steps.first_choice",
        lambda _, q, __: (Choice((0, 3), (1, 2)), q),
    )
    run = integrate(*motion, 0.2, outputs=2)
    assert run.effort.choices == 2
    assert_allclose(run.q, expected.q, atol=1e-9)


@pytest.mark.parametrize("method", ["projection", "independent", "stabilised", "adaptive"])
def test_bricards_linkage_turns_inside_out(method):
    """While it turns, another one of five constraints is the redundant one now and then; loops
    stay closed and energy stays.
    """
    motion = turning_bricard()
    run = integrate(*motion, 10.0, outputs=1000, method=method)
    assert np.all(np.ptp(run.q, axis=0) > 2.0)
    assert run.effort.choices > 1
    # Stabilisation leaves loops open by what its errors open in its time constant.
    assert run.worst_closure_error < (1e-8 if method == "stabilised" else 1e-12)
    assert run.energy_drift < 1e-7
