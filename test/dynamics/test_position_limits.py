# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Limits of joints of any number of freedoms: their bounds, and the steps that they bar."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation
from support import linkages

from robot_dynamics.dynamics.position_limits import PositionLimits
from robot_dynamics.model import Limits
from robot_dynamics.robot import Robot


def on_one_joint(kind, *limits, **options):
    """Return the model of a body on a joint of a type with limits for each freedom."""
    b = linkages.Builder("one")
    b.add("body", "base", kind, limits=tuple(limits), **options)
    return Robot.from_mechanism(b.done()).model


FREE = Limits()


def test_bounds_apply_to_joint_variables_or_rotation_vectors():
    """Joint variables where they match the freedoms; else rotation vector and translation."""
    planar = PositionLimits(on_one_joint("planar", FREE, FREE, FREE))
    assert_allclose(planar.values(np.array([0.3, 1.0, 2.0])), [0.3, 1.0, 2.0])
    floating = PositionLimits(on_one_joint("floating", *[FREE] * 6))
    turn = Rotation.from_rotvec([0.1, -0.2, 0.3])
    q = np.concatenate([[1.0, 2.0, 3.0], turn.as_quat()])
    assert_allclose(floating.values(q), [0.1, -0.2, 0.3, 1.0, 2.0, 3.0], atol=1e-15)


def test_clipping_moves_only_free_coordinates():
    """Coordinates beyond a bound are put on it if they are free; without limits nothing is."""
    narrow = Limits(-0.5, 0.5)
    model = on_one_joint("floating", FREE, FREE, narrow, narrow, FREE, FREE)
    limits, free = PositionLimits(model), np.ones(6, dtype=bool)
    q = np.concatenate([[2.0, 2.0, 2.0], Rotation.from_rotvec([0.1, 0.2, 0.9]).as_quat()])
    assert_allclose(limits.values(limits.clipped(q, free)), [0.1, 0.2, 0.5, 0.5, 2, 2], atol=1e-15)
    free[2] = False
    assert_allclose(limits.values(limits.clipped(q, free)), [0.1, 0.2, 0.9, 0.5, 2, 2], atol=1e-15)
    assert_allclose(PositionLimits(model, False).clipped(q, free), q, rtol=0, atol=0)


@pytest.mark.parametrize(
    ("kind", "nv"),
    [("planar", 3), ("floating", 6), ("spherical", 3), ("cylindrical", 2), ("universal", 2),
     ("reversed planar", 3), ("reversed floating", 6)],
)  # fmt: skip
def test_barriers_are_rates_of_the_coordinates(kind, nv):
    """A step across a bound meets a row, which is the coordinate's slope; a step back does not."""
    rng = np.random.default_rng(0)
    for index in range(nv):
        free = on_one_joint(kind, *[FREE] * nv)
        q = np.array(free.integrate(free.neutral().tolist(), rng.normal(size=nv).tolist()))
        here = PositionLimits(free).values(q)[index]
        bounds = [Limits(upper=here) if i == index else FREE for i in range(nv)]
        model = on_one_joint(kind, *bounds)
        limits, step = PositionLimits(model), rng.normal(size=nv)
        h = 1e-6
        ends = [
            limits.values(np.array(model.integrate(q.tolist(), (s * h * step).tolist())))[index]
            for s in (1.0, -1.0)
        ]
        slope = (ends[0] - ends[1]) / (2 * h)
        step = step if slope > 0 else -step
        rows = limits.barriers(q, step)
        assert rows.shape == (1, nv)
        assert_allclose(rows[0] @ step, abs(slope), rtol=1e-6)  # one-sided differences of 1e-7
        assert limits.barriers(q, -step).shape == (0, nv)


def test_a_coordinate_inside_bars_nothing():
    """Only bounds that are reached stand in the way."""
    limits = PositionLimits(on_one_joint("universal", Limits(-1.0, 1.0), Limits(-1.0, 1.0)))
    assert limits.barriers(np.array([0.9, -0.9]), np.array([5.0, -5.0])).shape == (0, 2)
    assert len(limits.barriers(np.array([1.0, -1.0]), np.array([5.0, -5.0]))) == 2
