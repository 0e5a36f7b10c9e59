# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Many states integrated at once: the motions of one after the other, and refusals."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.mechanisms import random_state, random_tree
from support.motions import (
    parallelogram,
    rolling_body,
    swinging_platform,
    turning_bricard,
    turning_four_bar,
)

from robot_dynamics.errors import ArgumentError
from robot_dynamics.model import build
from robot_dynamics.robot import Robot
from robot_dynamics.simulation.integrators import IntegrationError, integrate

# Rounding of 40 steps; the sums are the same, so that most results are equal to the last bit.
ROUNDING = 1e-12


def started(start, count=5):
    """Return a mechanism with velocities of half to all of the usual (count, nv)."""
    robot, q, qd = start()
    return robot, np.tile(q, (count, 1)), qd * np.linspace(1.0, 0.5, count)[:, None]


def tree():
    """Return a tree with quaternions, and four states."""
    rng = np.random.default_rng(3)
    robot = Robot(build(random_tree(rng, ("floating", "revolute", "spherical", "prismatic"))))
    q, qd, _ = random_state(rng, robot.model, 4)
    return robot, q, qd


def one_by_one(robot, q, qd, tau=None, **options):
    """Return the results of a loop over the states; `tau` has a row of each."""
    rows = [None] * len(q) if tau is None else tau
    return [integrate(robot, *s, 0.1, tau=t, **options) for *s, t in zip(q, qd, rows, strict=True)]


def require_same(batch, loop, tolerance=ROUNDING):
    """Compare states, energies and errors."""
    for name in ("q", "qd", "kinetic", "potential", "closure_error", "velocity_error"):
        expected = np.array([getattr(run, name) for run in loop])
        found = getattr(batch, name)
        assert found.shape == expected.shape
        assert_allclose(found, expected, rtol=tolerance, atol=tolerance * max(1.0, expected.max()))
    assert np.array_equal(batch.t, loop[0].t)
    assert batch.effort.steps == sum(run.effort.steps for run in loop)
    assert batch.energy_drift == pytest.approx(max(r.energy_drift for r in loop), abs=1e-12)


@pytest.mark.parametrize("method", ["projection", "stabilised"])
@pytest.mark.parametrize(
    "start", [turning_four_bar, swinging_platform, turning_bricard, rolling_body]
)
def test_closed_loops_move_as_one_by_one(start, method):
    """Redundant constraints, a platform, constraints on velocities alone."""
    states = started(start)
    options = {"outputs": 4, "step": 2.5e-3, "method": method, "order": 4}
    require_same(integrate(*states, 0.1, **options), one_by_one(*states, **options))


def test_a_tree_moves_as_one_by_one():
    """Quaternions and constant forces, one row for each state; order 8."""
    robot, q, qd = tree()
    tau = np.random.default_rng(4).normal(size=qd.shape)
    options = {"outputs": 4, "step": 2.5e-3}
    batch = integrate(robot, q, qd, 0.1, tau=tau, **options)
    require_same(batch, one_by_one(robot, q, qd, tau, **options))
    assert batch.q.shape == (4, 5, robot.model.nq)
    assert np.array_equal(batch.q[:, 0], q)
    same = integrate(robot, q, qd, 0.1, tau=tau[0], **options)
    require_same(same, one_by_one(robot, q, qd, [tau[0]] * 4, **options))
    from_one = integrate(robot, q[0], qd, 0.1, **options)
    require_same(from_one, one_by_one(robot, [q[0]] * 4, qd, **options))


def test_a_function_of_all_states():
    """It is asked for all states at once, at every stage."""
    robot, q, qd = tree()

    def tau(time, q, qd):
        return -0.5 * qd + np.sin(40.0 * time)

    options = {"outputs": 4, "step": 2.5e-3}
    batch = integrate(robot, q, qd, 0.1, tau=tau, **options)
    require_same(batch, one_by_one(robot, q, qd, [tau] * 4, **options))


def test_prescribed_joints():
    """All states move a joint by the same function of time."""
    robot, q, qd = tree()
    name = next(b.joint.name for b in robot.model.bodies if b.joint.type.nv == 1)
    options = {"outputs": 2, "step": 5e-3, "prescribed": {name: lambda time: [np.cos(time)]}}
    batch = integrate(robot, q, qd, 0.1, **options)
    require_same(batch, one_by_one(robot, q, qd, **options))


@pytest.mark.parametrize("driven", [False, True])
def test_states_at_singular_configurations_go_on_by_themselves(driven):
    """A parallelogram that passes its flat pose: two of three states do within 0.45 s. The scheme
    has a lower order there, and energy the error of a loop over the states.
    """
    robot, q, qd = started(parallelogram, 3)
    qd = qd[0] * np.array([[1.0], [0.95], [0.1]])

    def tau(time, q, qd):
        return -0.02 * qd

    options = {"outputs": 9, "step": 5e-3, "tau": tau if driven else None}
    batch = integrate(robot, q, qd, 0.45, **options)
    loop = [integrate(robot, *state, 0.45, **options) for state in zip(q, qd, strict=True)]
    assert [run.effort.singular_steps > 0 for run in loop] == [True, True, False]
    assert batch.effort.singular_steps == sum(run.effort.singular_steps for run in loop)
    assert_allclose(batch.q, [run.q for run in loop], atol=1e-6)
    assert driven or np.abs(batch.kinetic / batch.kinetic[:, :1] - 1.0).max() < 1e-5
    assert_allclose(batch.q[2], loop[2].q, atol=ROUNDING)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"method": "adaptive"}, "chooses steps or coordinates of each state"),
        ({"method": "independent"}, "expected 'projection' or 'stabilised' for 5 states"),
        ({"q": np.zeros((5, 4))}, r"q has shape \(5, 4\), expected \(3,\), or \(N, 3\)"),
        ({"q": np.zeros((2, 5, 3))}, r"q has shape \(2, 5, 3\)"),
        ({"qd": np.zeros((4, 3))}, "q has 5 states and qd has 4, expected the same"),
        ({"qd": np.full((5, 3), np.nan)}, "qd of state 0 has entries that are not finite"),
        ({"q": np.zeros((0, 3))}, r"q has shape \(0, 3\)"),
        ({"tau": np.zeros((4, 3))}, r"tau has shape \(4, 3\), expected \(5, 3\)"),
        ({"tau": lambda t, q, qd: q[:2]}, r"tau returned the shape \(2, 3\), expected \(5, 3\)"),
    ],
)
def test_invalid_arguments_are_refused(changes, words):
    """One sentence each."""
    robot, q, qd = started(turning_four_bar)
    given = {"q": q, "qd": qd, **changes}
    with pytest.raises(ArgumentError, match=words):
        integrate(robot, given.pop("q"), given.pop("qd"), 0.1, **given)


def test_an_open_start_is_named():
    """The state whose loops are open is named by its number."""
    robot, q, qd = started(turning_four_bar)
    q[3] += 0.1
    with pytest.raises(ArgumentError, match="at the start of state 3 loops are open"):
        integrate(robot, q, qd, 0.1)


def test_motion_without_bound_is_told_with_its_state():
    """The error has the time, the state, and the outputs of all states before it."""
    robot, q, qd = started(turning_four_bar)
    tau = np.zeros((5, 3))
    tau[2, 0] = 1e12
    with pytest.raises(IntegrationError, match="state 2: ") as caught:
        integrate(robot, q, qd, 0.1, tau=tau, outputs=4)
    assert caught.value.trajectory.q.shape == (5, 1, 3)
    assert np.isfinite(caught.value.trajectory.q).all()


def test_a_jump_of_energy_is_told_with_its_state():
    """Steps that are too long for the fastest state."""
    robot, q, qd = started(turning_four_bar)
    run = integrate(robot, q, qd, 0.4, outputs=4, step=0.02, order=4)
    assert run.conservative
    assert "energy of state " in run.warnings[0]
