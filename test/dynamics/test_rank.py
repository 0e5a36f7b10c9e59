# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""One rank for everyone: its tolerance, its names, and the determined variables."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support import linkages

from robot_dynamics.dynamics.rank import constraint_rank, opening, rank_tolerance, without
from robot_dynamics.dynamics.scaling import constraint_scales, coordinate_scales, model_length
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.robot import Robot


def doubled(mechanism):
    """Return the mechanism with every loop joint a second time."""
    return mechanism.with_loops(replace(lo, name=f"{lo.name}_again") for lo in mechanism.loops)


OVERCONSTRAINED = {
    "four-bar": linkages.four_bar(),
    "bricard": linkages.bricard(),
    "delta, doubled": doubled(linkages.delta_robot()),
    "Stewart platform, doubled": doubled(linkages.stewart_platform()),
}


@pytest.fixture(scope="module")
def bricard():
    """Return Bricard's linkage and a closed configuration of no symmetry in its angles."""
    robot = Robot.from_mechanism(linkages.bricard())
    return robot, robot.assemble(np.linspace(0.4, 0.8, 5)).q


def test_the_singular_vectors_split_motions_and_constraints(bricard):
    """U S V^T is the scaled Jacobian, `motions` is its null space, `idle` has no effect."""
    robot, q = bricard
    K, error = robot.closure(q)
    ranked = constraint_rank(robot.model, K, error, q)
    length = model_length(robot.model)
    J = (
        constraint_scales(robot.model, length)[:, None]
        * K
        / coordinate_scales(robot.model, length)
    )
    assert (ranked.rank, ranked.length) == (4, length)
    assert_allclose(ranked.U * ranked.s @ ranked.V.T, J, atol=ranked.tolerance)
    assert_allclose(J @ ranked.motions, 0.0, atol=ranked.tolerance)
    assert_allclose(ranked.idle.T @ J, 0.0, atol=ranked.tolerance)
    assert ranked.motions.shape == (5, 1)
    assert ranked.idle.shape == (5, 1)


@pytest.mark.parametrize("gap", [1e-11, 1e-8, 1e-5])
@pytest.mark.parametrize("name", OVERCONSTRAINED)
def test_openings_do_not_change_the_rank(name, gap):
    """Loops open by a gap keep the rank of the closed ones, and the names of redundant rows.

    With a tolerance for closed loops alone, a spatial linkage would seem to have a higher rank.
    """
    robot = Robot.from_mechanism(OVERCONSTRAINED[name])
    model, rng = robot.model, np.random.default_rng(0)
    q = robot.assemble(rng.uniform(-1, 1, model.nq) if model.nq == model.nv else None).q
    closed = constraint_rank(model, *robot.closure(q), q)
    assert closed.rank < model.constraint_count
    for _ in range(10):
        step = gap * rng.normal(size=model.nv)
        K, error = robot.closure(np.array(model.integrate(q.tolist(), step.tolist())))
        ranked = constraint_rank(model, K, error, q)
        assert (ranked.rank, ranked.redundant) == (closed.rank, closed.redundant)
        assert 0.0 < ranked.closure_error < 100 * gap
        if name == "bricard" and gap > 1e-10:
            assert constraint_rank(model, K).rank > closed.rank


def test_the_tolerance_is_derived():
    """It is a hundred times the opening as a part of the length, and rounding of the reach."""
    model = Robot.from_mechanism(linkages.four_bar()).model
    closed = rank_tolerance(model, 0.0, 1.0, 0.7)
    assert 1e-14 < closed < 1e-12
    assert_allclose(rank_tolerance(model, 7e-6, 1.0, 0.7) - closed, 1e-3, rtol=1e-9)
    # However far the loops are open, a hundredth is never nothing.
    assert_allclose(rank_tolerance(model, 0.5, 1.0, 0.7) - closed, 1e-2, rtol=1e-9)
    # Joints that slid a kilometre, or rows a thousand times as strong, are rounded by as much.
    slider = Robot.from_mechanism(linkages.slider_crank()).model
    far = rank_tolerance(slider, 0.0, 1.0, 1.0, np.array([0.0, 0.0, 1e3]))
    assert 300 < far / rank_tolerance(slider, 0.0, 1.0, 1.0) < 1000
    assert_allclose(rank_tolerance(model, 0.0, 3700.0, 0.7) / closed, 1e3, rtol=0.01)


def test_the_opening_leaves_out_what_binds_velocities_alone():
    """A row without a position error says nothing about how far loops are open."""
    b = linkages.Builder("finger")
    b.add("ball", "base", "floating")
    b.close("touch", "soft_finger", "base", "ball")
    model = Robot.from_mechanism(b.done()).model
    assert opening(model, np.array([9.0, 0.1, -0.2, 0.0]), 0.5) == 0.2


def test_determined_multipliers_by_name(bricard):
    """Two loops, one of them doubled: its multipliers are undetermined, the other's are not."""
    b = linkages.Builder("pair")
    b.add("ball", "base", "floating")
    b.add("cube", "base", "floating")
    b.close("held", "spherical", "base", "ball")
    b.close("weld", "fixed", "base", "cube")
    b.close("again", "spherical", "base", "cube", (0.1, 0.2, 0.3), (0.1, 0.2, 0.3))
    robot = Robot.from_mechanism(b.done())
    ranked = constraint_rank(robot.model, *robot.closure(robot.model.neutral()))
    assert ranked.rank == 9
    assert ranked.redundant == ("again.x", "again.y", "again.z")
    moments = tuple(f"weld.{d}" for d in ("rx", "ry", "rz", "x", "y", "z"))
    assert ranked.undetermined == (*moments, "again.x", "again.y", "again.z")
    assert ranked.determined.tolist() == [True] * 3 + [False] * 9
    # In Bricard's linkage one combination of all five is idle.
    robot, q = bricard
    ranked = constraint_rank(robot.model, *robot.closure(q), q)
    weights = np.abs(ranked.idle[:, 0])
    assert ranked.undetermined == tuple(
        name for name, weight in zip(ranked.names, weights, strict=True) if weight > 1e-10
    )
    assert len(ranked.redundant) == 1
    assert set(ranked.redundant) <= set(ranked.undetermined)


def test_a_known_rank_bounds(bricard):
    """A rank that is known lowers the one found, and never raises it."""
    robot, q = bricard
    K, error = robot.closure(q)
    assert constraint_rank(robot.model, K, error, rank=3).rank == 3
    assert constraint_rank(robot.model, K, error, rank=5).rank == 4


def test_without_loops_all_motions_are_free():
    """Without loops all motions are free and there is no smallest singular value."""
    b = linkages.Builder("arm")
    b.add("link", "base")
    ranked = constraint_rank(Robot.from_mechanism(b.done()).model, np.zeros((0, 1)))
    assert (ranked.rank, ranked.smallest, ranked.redundant) == (0, None, ())
    assert_allclose(ranked.motions, [[1.0]])
    assert ranked.determined.shape == (0,)


def test_numbers_that_are_none_are_refused(bricard):
    """A Jacobian that is not finite has no rank."""
    K = np.full((5, 5), np.nan)
    with pytest.raises(RobotDynamicsError, match=r"^\bK\b.*finite"):
        constraint_rank(bricard[0].model, K)


def test_remainders_are_orthogonal_to_the_basis():
    """The remainder of a row is orthogonal to the basis, to the last digit."""
    basis = list(np.linalg.qr(np.random.default_rng(0).normal(size=(5, 3)))[0].T)
    row = np.ones(5) + 1e8 * basis[0]
    rest = without(row, basis)
    assert_allclose(np.array(basis) @ rest, 0.0, atol=1e-15)
