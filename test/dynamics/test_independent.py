# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Independent coordinates: K G = 0, K g = k, by complete pivoting, by wish and by clusters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import null_space
from support import linkages
from support.closed_loops import LINKAGES, LOOP_TYPES, closed_at, closed_state, random_loops

from robot_dynamics.dynamics.independent import (
    chosen_coordinates,
    form_in,
    independent_accelerations,
    independent_form,
    pivots,
)
from robot_dynamics.dynamics.rank import constraint_rank
from robot_dynamics.errors import RobotDynamicsError, UnknownNameError
from robot_dynamics.model import pose
from robot_dynamics.model.model import ConstraintBlock
from robot_dynamics.robot import Robot

# Constraints that are conditioned worse than 1e3 are not among these mechanisms: twelve digits.
TOL = 1e-11


@pytest.fixture(params=LINKAGES)
def robot(request):
    return Robot.from_mechanism(LINKAGES[request.param])


def check(robot, q, qd):
    """Check that G and g satisfy (8.51), against the null space by other means."""
    _, _, K, k, error, _ = robot.constraint_terms(q, qd)
    form = robot.independent_form(q, qd)
    n, r = robot.model.nv, constraint_rank(robot.model, K, error, q).rank
    assert (form.rank, form.G.shape, len(form.independent)) == (r, (n, n - r), n - r)
    scale = form.conditioning
    assert form.residual_K < TOL * scale
    assert np.max(np.abs(K @ form.G), initial=0.0) < TOL * np.max(np.abs(form.G), initial=1.0)
    assert_allclose(K @ form.g, k, atol=TOL * (1.0 + np.max(np.abs(form.g))))
    assert form.residual_k < TOL * (1.0 + np.max(np.abs(form.g)))
    # The independent coordinates are themselves, and g leaves them at rest.
    assert_allclose(form.G[list(form.independent)], np.eye(n - r), atol=0.0)
    assert_allclose(form.g[list(form.independent)], 0.0, atol=0.0)
    # The columns span what the loops allow: no more, no less; velocities follow from them.
    assert np.linalg.matrix_rank(form.G) == n - r
    assert_allclose(form.G @ qd[list(form.independent)], qd, atol=TOL * np.max(np.abs(qd)) * scale)
    return form


def test_c9_independent_motions_of_linkages_satisfy_the_constraints(robot, rng):
    """Row C9: K G = 0, K g = k and rank G = n - r on every linkage, redundant or not."""
    for _ in range(3):
        q, qd, _ = closed_state(robot, rng)
        form = check(robot, q, qd)
        # Complete pivoting: nothing else moves a lot faster than what was chosen.
        assert 1.0 <= form.conditioning < 20.0


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("kind", LOOP_TYPES)
def test_c9_independent_motions_of_every_loop_joint_satisfy_the_constraints(kind, rng):
    """Row C9: the same for loops closed by a joint of any type."""
    mechanism, near = random_loops(kind, rng)
    robot = Robot.from_mechanism(mechanism)
    q, qd, _ = closed_state(robot, rng, near)
    check(robot, q, qd)


def test_the_null_space_is_the_same(rng):
    """G spans the null space that the singular value decomposition finds."""
    robot = Robot.from_mechanism(linkages.stewart_platform())
    q, qd, _ = closed_state(robot, rng)
    G, free = robot.independent_form(q, qd).G, null_space(robot.closure(q)[0])
    assert_allclose(free @ (free.T @ G), G, atol=TOL)


def test_four_bar_by_hand():
    """Rates of coupler and rocker against the crank are those of the closed form."""
    robot = Robot.from_mechanism(linkages.four_bar())
    q = robot.assemble([0.5, -0.5, -1.0]).q
    form = robot.independent_form(q, np.zeros(3), ["crank_joint"])
    # In absolute angles: a sin(t2 - t4) w2 + b sin(t3 - t4) w3 = 0, and so for the rocker.
    t2, t3, t4 = np.cumsum(q)
    w3 = -0.3 * np.sin(t2 - t4) / (0.8 * np.sin(t3 - t4))
    w4 = -(0.3 * np.sin(t2 - t3)) / (0.6 * np.sin(t4 - t3))
    assert_allclose(np.cumsum(form.G[:, 0]), [1.0, w3, w4], atol=1e-12)


@pytest.mark.parametrize("coordinate", ["crank_joint", "coupler_joint", "rocker_joint"])
def test_wishes_are_granted(coordinate, rng):
    """Whatever coordinate the user takes, motions are the same."""
    robot = Robot.from_mechanism(linkages.four_bar())
    q, qd, tau = closed_state(robot, rng)
    form = robot.independent_form(q, qd, [coordinate])
    assert form.names == (coordinate,)
    H, C, *_ = robot.constraint_terms(q, qd)
    expected = robot.constrained_motion(q, qd, tau).qdd
    found = independent_accelerations(robot.model, form, H, tau - C)
    assert_allclose(found, expected, atol=1e-10 * np.max(np.abs(expected)))


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ([], r"0 coord.* 1 \(missing: \w+_joint, for instance\); expected 1 that"),
        (
            ["crank_joint", "coupler_joint"],
            r"2 coord.* 1 \(determined by the others: coupler_joint\); expected 1 that",
        ),
    ],
)
def test_wishes_that_do_not_fit_are_refused(wish, message, rng):
    """Too few or too many: one sentence says which, and names a valid choice."""
    robot = Robot.from_mechanism(linkages.four_bar())
    q, qd, _ = closed_state(robot, rng)
    with pytest.raises(RobotDynamicsError, match=f"^four_bar: {message}"):
        robot.independent_form(q, qd, wish)


def test_wishes_that_depend_on_one_another_are_refused(rng):
    """Boom and piston of Fig 8.3 move together; the proposed choice keeps the first wish."""
    robot = Robot.from_mechanism(linkages.excavator())
    q, qd, _ = closed_state(robot, rng)
    message = r"\b2\b.*piston_joint.*bucket_joint"
    with pytest.raises(RobotDynamicsError, match=message):
        robot.independent_form(q, qd, ["boom_joint", "piston_joint"])
    with pytest.raises(UnknownNameError, match=r"'boon_joint'.*'boom_joint'"):
        robot.independent_form(q, qd, ["boon_joint"])


def test_a_dead_point_refuses_its_coordinate():
    """With coupler and rocker in line nothing moves the crank, which then tells nothing."""
    robot = Robot.from_mechanism(linkages.four_bar(lengths=(0.6, 0.5, 0.5), ground=0.8))
    # A triangle of 0.6, 0.8 and 1.0 m with its right angle at the base.
    q = np.array([np.pi / 2, -np.pi / 2 - np.arctan2(0.6, 0.8), 0.0])
    assert np.max(np.abs(robot.closure(q)[1])) < 1e-12
    with pytest.raises(RobotDynamicsError, match=r"crank_joint; missing: (coupler|rocker)_joint"):
        robot.independent_form(q, np.zeros(3), ["crank_joint"])
    assert robot.independent_form(q, np.zeros(3)).conditioning < 3.0


def test_motion_without_a_choice():
    """A structure has no motion: no coordinate is independent, and g is all there is."""
    bars = linkages.four_bar()
    q = Robot.from_mechanism(bars).assemble([0.5, -0.5, -1.0]).q
    brace = ("brace", "base", "coupler", pose((0.5, 0.2, 0.0)))
    robot = Robot.from_mechanism(closed_at(bars, q, [brace], "sphere_in_cylinder"))
    form = robot.independent_form(q, np.zeros(3))
    assert (form.independent, form.G.shape, form.conditioning) == ((), (3, 0), 1.0)
    assert_allclose(robot.constrained_motion(
        q, np.zeros(3), np.ones(3), method="independent accelerations first").qdd, 0.0,
        atol=1e-12)  # fmt: skip


def test_c10_the_block_path_is_the_dense_path(rng):
    """Row C10: cluster by cluster, G, g and the motion are those of K as one block, and G is
    zero between clusters.
    """
    from model.test_constraint_blocks import figure_8_1

    robot = Robot.from_mechanism(figure_8_1())
    model = robot.model
    q, qd, tau = closed_state(robot, rng)
    H, C, K, k, error, _ = robot.constraint_terms(q, qd)
    ranked = constraint_rank(model, K, error, q)
    form = independent_form(model, K, k, ranked)
    assert (form.rank, len(model.constraint_blocks)) == (8, 3)
    dense = replace(model)
    dense.__dict__["constraint_blocks"] = (ConstraintBlock(tuple(range(8)), tuple(range(20))),)
    other = form_in(dense, K, k, form.independent)
    assert_allclose(form.G, other.G, atol=1e-12)
    assert_allclose(form.g, other.g, atol=1e-11 * np.max(np.abs(form.g)))
    mixed = np.zeros((20, 12), dtype=bool)
    for block in model.constraint_blocks:
        own = [i for i, at in enumerate(form.independent) if at in block.columns]
        mixed[np.ix_(block.columns, own)] = True
    for i, at in enumerate(form.independent):
        mixed[at, i] = True
    assert not form.G[~mixed].any()
    qdd = independent_accelerations(model, form, H, tau - C)
    assert_allclose(qdd, independent_accelerations(dense, other, H, tau - C),
                    atol=1e-10 * np.max(np.abs(qdd)))  # fmt: skip
    # Pivots of each cluster are among its own rows and columns.
    owner = {i: b.rows for b in model.constraint_blocks for i in b.columns}
    assert all(row in owner[column] for row, column in pivots(model, ranked))


def test_pivots_are_as_many_as_the_rank_and_avoid_what_is_kept(rng):
    """A coordinate that is kept is no pivot as long as the others can take its place."""
    robot = Robot.from_mechanism(linkages.bricard())
    q, _, _ = closed_state(robot, rng)
    K, error = robot.closure(q)
    ranked = constraint_rank(robot.model, K, error, q)
    for kept in range(5):
        found = pivots(robot.model, ranked, [kept])
        assert len(found) == 4
        assert sorted(column for _, column in found) == [i for i in range(5) if i != kept]
        assert chosen_coordinates(robot.model, ranked, [kept]) == ((kept,), ())


def test_open_trees_are_their_own_coordinates(rng):
    """Without loops G is the unit matrix."""
    robot = Robot.from_mechanism(replace(linkages.four_bar(), loops=()))
    form = robot.independent_form(rng.normal(size=3), rng.normal(size=3))
    assert_allclose(form.G, np.eye(3))
    assert (form.rank, form.conditioning, form.names) == (0, 1.0, robot.model.joint_names)
