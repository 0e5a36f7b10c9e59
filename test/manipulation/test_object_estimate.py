# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The object's pose and twist from the joints: exact when closed, in between when not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation as Turn
from support.mechanisms import consistent_velocity, random_cell, two_arms

from robot_dynamics.dynamics.closed_loop import closed_loop_terms
from robot_dynamics.dynamics.kinematics import (
    body_transforms,
    body_velocities,
    joint_transforms,
)
from robot_dynamics.manipulation.object_estimate import estimate_object
from robot_dynamics.model import pose, pose_of
from robot_dynamics.model.parameters import parameters_of


@pytest.fixture
def rng():
    return np.random.default_rng(5)


@pytest.fixture(params=["two alike", "two", "three"])
def cell(request, rng):
    if request.param == "two alike":
        return two_arms()
    return random_cell(rng, (6, 7), (0.5, 0.5)) if request.param == "two" else random_cell(
        rng, (7, 6, 7), (0.2, 0.3, 0.5)
    )  # fmt: skip


def estimate(system, q, qd):
    """Return the estimate from the arms alone: the object's own variables are spoilt first."""
    q, qd = q.copy(), qd.copy()
    q[system.object_q], qd[system.object_v] = system.model.neutral()[system.object_q], np.nan
    Xup = joint_transforms(system.model, q.tolist())
    v = body_velocities(system.model, Xup, qd.tolist())
    X0 = body_transforms(system.model, Xup)
    return estimate_object(system, X0, v, parameters_of(system.model))


def test_is_exact_when_the_loops_are_closed(cell, rng):
    """At a closed state every arm sees the true pose and twist, and the residual vanishes."""
    system, q, _ = cell
    terms = closed_loop_terms(
        system.model, q.tolist(), [0.0] * system.model.nv, parameters_of(system.model)
    )
    qd = rng.normal(size=system.model.nv)
    qd = consistent_velocity(np.array(terms.H), np.array(terms.loops.K), qd)
    seen = estimate(system, q, qd)
    x, y, z, *quaternion = q[system.object_q]
    true = pose((x, y, z), Turn.from_quat(quaternion).as_matrix())
    # Seven joints out and back: a hundred roundings.
    assert_allclose(pose_of(seen.transform), true, atol=1e-13)
    assert_allclose(seen.velocity.components(), qd[system.object_v], atol=1e-11)
    assert_allclose(seen.closure, 0.0, atol=1e-13)
    assert len(seen.closure) == 6 * (len(system.arms) - 1)


def test_disagreement_is_averaged_and_reported(cell):
    """A displaced last grasp moves the estimate by its part, and shows whole in the residual."""
    system, q, _ = cell
    k = len(system.arms)
    turn, move = np.array([2e-4, -1e-4, 3e-4]), np.array([1e-3, 2e-3, -3e-3])
    # What the last arm takes for the object stands off by this, in the object's axes.
    off = pose(move, Turn.from_rotvec(turn).as_matrix())
    last = system.arms[-1]
    loop = system.model.loops[last.loop]
    grasp = pose_of(loop.successor_placement)
    wrong = system.with_grasp_error({last.name: np.linalg.inv(grasp) @ np.linalg.inv(off) @ grasp})
    seen = estimate(wrong, q, np.zeros(system.model.nv))
    x, y, z, *quaternion = q[system.object_q]
    true = pose((x, y, z), Turn.from_quat(quaternion).as_matrix())
    residual = np.array(seen.closure[-6:])
    # Exact to second order in the angles, 1e-7, times lengths.
    assert_allclose(residual[:3], turn, atol=1e-9)
    assert_allclose(residual[3:], move, atol=1e-12)
    between = np.linalg.inv(true) @ pose_of(seen.transform)
    assert_allclose(Turn.from_matrix(between[:3, :3]).as_rotvec(), turn / k, atol=1e-9)
    assert_allclose(between[:3, 3], move / k, atol=1e-12)


def test_twists_are_averaged(cell, rng):
    """The twist is the mean of what the arms say one by one."""
    system, q, _ = cell
    qd = rng.normal(size=system.model.nv)
    alone = [
        estimate(replace(system, arms=(arm,)), q, qd).velocity.components() for arm in system.arms
    ]
    seen = estimate(system, q, qd).velocity.components()
    assert_allclose(seen, np.mean(alone, axis=0), atol=1e-12)
