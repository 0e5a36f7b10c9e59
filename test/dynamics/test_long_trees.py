# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Matrices of long trees against the programs of short ones, and against Pinocchio."""

from dataclasses import replace

import numpy as np
import pytest
from dynamics.joint_mechanisms import (
    EVERY,
    random_pose,
    random_state,
    random_tree,
    with_light_links,
    with_rotors,
)

from robot_dynamics.compile.routine import Routine
from robot_dynamics.dynamics.assembly import AssemblyError
from robot_dynamics.dynamics.closed_loop import CONSTRAINT_TERMS
from robot_dynamics.dynamics.coriolis import CORIOLIS_MATRIX
from robot_dynamics.dynamics.forward_derivatives import (
    FORWARD_DYNAMICS_DERIVATIVES,
    PLACEMENT_DERIVATIVES,
)
from robot_dynamics.dynamics.inertia_matrix import INERTIA_MATRIX, inertia_matrix
from robot_dynamics.dynamics.inverse_derivatives import INVERSE_DYNAMICS_DERIVATIVES
from robot_dynamics.dynamics.inverse_inertia import INVERSE_INERTIA_MATRIX
from robot_dynamics.dynamics.kinematics import body_transforms, joint_transforms, link_pose
from robot_dynamics.dynamics.regressor import INVERSE_DYNAMICS_REGRESSOR
from robot_dynamics.dynamics.residual import RESIDUAL_DERIVATIVES
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model import LoopElement, Mechanism, build
from robot_dynamics.model.parameters import parameters_of
from robot_dynamics.robot import Robot, long_trees
from robot_dynamics.robot.long_trees import LongTree, is_long

CONSTANT = ["revolute", "floating", "planar", "spherical", "helical", "prismatic", "cylindrical"]
VARYING = ["revolute", "universal", "spherical", "prismatic", "rack_and_pinion"]
MATRICES = (
    INERTIA_MATRIX,
    INVERSE_DYNAMICS_DERIVATIVES,
    FORWARD_DYNAMICS_DERIVATIVES,
    CORIOLIS_MATRIX,
    INVERSE_INERTIA_MATRIX,
    INVERSE_DYNAMICS_REGRESSOR,
)
GRAVITY = (1.0, -2.0, -9.0)
# Relative, over the condition of H, which is here 1e4 at most: base coordinates round otherwise.
TOL = 1e-11


def near(ours, theirs, tolerance=TOL):
    """Tell whether all arrays differ by a relative error in the largest norm at most."""
    return all(
        a.shape == b.shape
        and np.abs(a - b).max(initial=0.0) <= tolerance * np.abs(b).max(initial=1)
        for a, b in zip(ours, theirs, strict=True)
    )


def looped(rng, types, kinds=("fixed", "line"), **options):
    """Return a tree with loops through joints of these types, each within the one before it."""
    tree = random_tree(rng, types, **options)
    names = [link.name for link in tree.links]
    ends = [(names[3 * at], names[-1 - 3 * at]) for at in range(len(kinds))]
    loops = [
        LoopElement(f"loop{at}", kind, *ends[at], *poses, EVERY.get(kind, {}))
        for at, (kind, *poses) in enumerate((k, random_pose(rng), random_pose(rng)) for k in kinds)
    ]
    return Mechanism("looped", tree.links, tree.joints, tuple(loops))


def function_of(robot, algorithm):
    """Return the function of a robot for an algorithm, which is another one for a long tree."""
    return robot._functions[algorithm]


def both(mechanism, monkeypatch, **options):
    """Return the same robot with the programs of short trees and with those of long ones."""
    model = build(mechanism, gravity=GRAVITY, **options)
    robots = []
    for limit in (10**6, 0):
        monkeypatch.setattr(long_trees, "_LONG", limit)
        monkeypatch.setattr(long_trees, "_LONG_BY_DIRECTIONS", limit)
        robots.append(Robot(model))
        assert is_long(model) == (limit == 0)
    short, long = robots
    return short, long


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("chain", [True, False])
@pytest.mark.parametrize("types", [CONSTANT, VARYING], ids=["constant S", "varying S"])
def test_trees_of_all_joints(types, chain, rng, monkeypatch):
    """Every matrix is that of the traced program; a batch is its states."""
    short, long = both(with_rotors(random_tree(rng, types, chain=chain)), monkeypatch)
    q, qd, x = random_state(rng, short.model)
    for function, arguments in (
        ("inverse_dynamics_derivatives", (q, qd, x)),
        ("forward_dynamics_derivatives", (q, qd, x)),
        ("coriolis_matrix", (q, qd)),
        ("inverse_dynamics_regressor", (q, qd, x)),
        ("inverse_inertia_matrix", (q,)),
        ("inertia_matrix", (q,)),
        ("closed_loop", (q, qd, x)),
    ):
        found, expected = (getattr(robot, function)(*arguments) for robot in (long, short))
        parts = (found, expected) if isinstance(found, tuple) else ([found], [expected])
        assert near(*parts), function
        assert not near([1.01 * part for part in parts[0]], parts[1]), function
        of_batch = getattr(long, function)(*(np.stack([a, a]) for a in arguments))
        whole = of_batch if isinstance(found, tuple) else [of_batch]
        assert near([part[1] for part in whole], parts[0], 0.0), function
    found, expected = (robot.constraint_terms(q, qd) for robot in (long, short))
    assert near(found[:2], expected[:2])


@pytest.mark.usefixtures("interpreted")
def test_springs_and_friction(rng, monkeypatch):
    """Springs and friction of joints are differentiated as well, and have no part in C."""
    types = ["revolute", "prismatic", "spherical", "revolute", "revolute"]
    tree = looped(rng, types, ("spherical",), chain=True)
    of_joints = {"damping": 0.3, "friction": 0.2, "stiffness": 5.0, "rest": 0.1}
    joints = tuple(replace(j, **of_joints) for j in tree.joints)
    loops = tuple(replace(loop, stiffness=3.0, damping=0.5) for loop in tree.loops)
    tree = replace(tree, joints=joints, loops=loops)
    short, long = both(tree, monkeypatch, joint_friction=True)
    q, qd, x = random_state(rng, short.model)
    multipliers = rng.normal(size=short.model.constraint_count)
    for algorithm, arguments in (
        (INVERSE_DYNAMICS_DERIVATIVES, (q, qd, x)),
        (RESIDUAL_DERIVATIVES, (q, qd, x, multipliers)),
        (FORWARD_DYNAMICS_DERIVATIVES, (q, qd, x)),
    ):
        found, expected = (function_of(robot, algorithm)(*arguments) for robot in (long, short))
        assert near(found, expected), algorithm.name
    assert near([long.coriolis_matrix(q, qd)], [short.coriolis_matrix(q, qd)])


@pytest.mark.usefixtures("interpreted")
def test_long_loops_have_accelerations_multipliers_and_residuals(rng, monkeypatch):
    """Accelerations, multipliers and the residual, open loops or not; the pivot shows rank."""
    short, long = both(looped(rng, [*CONSTANT, *["revolute"] * 4], chain=True), monkeypatch)
    q, qd, x = random_state(rng, short.model)
    multipliers = rng.normal(size=short.model.constraint_count)
    for algorithm, arguments in (
        (RESIDUAL_DERIVATIVES, (q, qd, x, multipliers)),
        (CONSTRAINT_TERMS, (q, qd)),
    ):
        found, expected = (function_of(robot, algorithm)(*arguments) for robot in (long, short))
        assert near(found, expected), algorithm.name
    (pivot, *found), (same, *expected) = (
        function_of(robot, FORWARD_DYNAMICS_DERIVATIVES)(q, qd, x) for robot in (long, short)
    )
    assert pivot == pytest.approx(same, rel=1e-6)
    assert near(found, expected, 1e-9)
    assert not near([1.01 * part for part in found], expected, 1e-9)
    (pivot, *found), (same, *expected) = (
        function_of(robot, PLACEMENT_DERIVATIVES)(q, qd, x) for robot in (long, short)
    )
    assert pivot == pytest.approx(same, rel=1e-6)
    assert near(found, expected, 1e-9)
    assert not near([1.01 * part for part in found], expected, 1e-9)
    states = [
        np.stack([a, b]) for a, b in zip(random_state(rng, short.model), (q, qd, x), strict=True)
    ]
    (pivot, *found) = function_of(long, FORWARD_DYNAMICS_DERIVATIVES)(q, qd, x)
    of_batch = function_of(long, FORWARD_DYNAMICS_DERIVATIVES)(*states)
    assert near([part[1] for part in of_batch], (pivot, *found), 1e-14)
    with pytest.raises(AssemblyError, match="loops are open"):
        long.forward_dynamics_derivatives(q, qd, x)
    with pytest.raises(RobotDynamicsError, match="finite"):
        long.forward_dynamics_derivatives(np.full_like(q, np.nan), qd, x, check=False)


@pytest.mark.usefixtures("interpreted")
def test_light_links_in_loops(rng, monkeypatch):
    """The motion of a link of milligrams without its loop costs no digits."""
    tree = looped(rng, ["floating", "revolute", "revolute", "prismatic"], ("fixed",), chain=True)
    tree = with_light_links(tree, ("link2", "link3"), 1e-6)
    short, long = both(tree, monkeypatch)
    state = random_state(rng, short.model)
    (_, *found), (_, *expected) = (
        function_of(r, FORWARD_DYNAMICS_DERIVATIVES)(*state) for r in (long, short)
    )
    assert near(found, expected, 1e-7)


@pytest.mark.usefixtures("interpreted")
def test_redundant_constraints_have_no_derivatives(rng, monkeypatch):
    """The same loop twice: a sentence about one state, NaN in a batch."""
    tree = looped(rng, ["revolute"] * 8, ("fixed",), chain=True)
    twice = (*tree.loops, replace(tree.loops[0], name="again"))
    _, long = both(replace(tree, loops=twice), monkeypatch)
    q, qd, x = random_state(rng, long.model)
    with pytest.raises(RobotDynamicsError, match="depend on one another here"):
        long.forward_dynamics_derivatives(q, qd, x, check=False)
    found = long.forward_dynamics_derivatives(*(np.stack([a, a]) for a in (q, qd, x)))
    assert np.isnan(found.qdd_q).all()


def test_results_are_written_where_they_are_wanted(rng, monkeypatch):
    """Into arrays of the caller, in place or not, and not over inputs that are still read."""
    _, long = both(random_tree(rng, ["revolute"] * 6, chain=True), monkeypatch)
    q = random_state(rng, long.model)[0]
    expected = long.inverse_inertia_matrix(q)
    for out in (np.full((6, 6), np.nan), np.full((6, 6), np.nan, order="F")):
        assert long.inverse_inertia_matrix(q, out=out) is out
        np.testing.assert_array_equal(out, expected)
    both_at_once = np.stack([q] * 6)
    long.inverse_inertia_matrix(both_at_once[0], out=both_at_once)
    np.testing.assert_array_equal(both_at_once, expected)


def largest_short(rng, kind):
    """Return chains of joints of one type: the longest that is not long, and one body more."""
    bodies = 1
    while not is_long(build(random_tree(rng, [kind] * (bodies + 1), chain=True))):
        bodies += 1
    return (build(random_tree(rng, [kind] * n, chain=True)) for n in (bodies, bodies + 1))


@pytest.mark.parametrize("kind", ["revolute", "cylindrical", "planar", "spherical", "floating"])
def test_no_size_takes_long_to_compile(kind, rng):
    """On both sides of the switch from programs to loops there are few operations."""
    short, long = largest_short(rng, kind)
    tree = LongTree(long)
    for algorithm in MATRICES:
        columns, routine, *_ = tree.replacements[algorithm]
        assert isinstance(routine, Routine)
        for each, model in ((algorithm, short), (columns, long)):
            assert each.program(model).size < 40_000, each.name  # a few seconds


@pytest.mark.parametrize("kind", ["revolute", "spherical"])
def test_both_sides_of_the_switch_are_compiled(kind, rng):
    """Machine code and not the interpreter, with the results of both ways."""
    for model in largest_short(rng, kind):
        function = Robot(model)._functions[INVERSE_INERTIA_MATRIX]
        assert isinstance(function, np.ufunc)
        q = random_state(rng, model)[0]
        H = np.array(inertia_matrix(model, q, parameters_of(model)), dtype=float)
        assert near([function(q) @ H], [np.eye(model.nv)], 1e-9)


def test_compiled_derivatives_of_loops_are_those_of_programs(rng, monkeypatch):
    """Routines in machine code against the traced program, for one state and a batch."""
    types = ["revolute", "spherical", "revolute", "cylindrical", "revolute", "revolute"]
    short, long = both(looped(rng, types, ("spherical",), chain=True), monkeypatch)
    drawn = [random_state(rng, short.model) for _ in range(9)]
    states = [np.stack(each) for each in zip(*drawn, strict=True)]
    function = function_of(long, FORWARD_DYNAMICS_DERIVATIVES)
    assert isinstance(function, np.ufunc)
    monkeypatch.setenv("ROBOT_DYNAMICS_INTERPRET", "1")
    pivots, *expected = function_of(short, FORWARD_DYNAMICS_DERIVATIVES)(*states)
    found = function(*states)
    assert found[0] == pytest.approx(pivots, rel=1e-6)
    assert near(found[1:], expected, 1e-9)
    assert near([part[8] for part in found], function(*(each[8] for each in states)), 0.0)


def assert_pinocchios(rng, count, tolerance):
    """Compare all derivatives of a chain."""
    pin = pytest.importorskip("pinocchio", exc_type=ImportError)
    from support.oracle import Pinocchio

    mechanism = random_tree(rng, ["revolute"] * count, chain=True)
    model = build(mechanism, gravity=GRAVITY)
    robot, oracle = Robot(model), Pinocchio.of_mechanism(mechanism, model)
    assert is_long(model)
    theirs, data = oracle.theirs, oracle.data
    q, qd, x = rng.normal(size=(3, count))
    pin.computeRNEADerivatives(theirs, data, q, qd, x)
    upper = np.triu(data.M)
    expected = data.dtau_dq, data.dtau_dv, upper + np.triu(upper, 1).T
    assert near(robot.inverse_dynamics_derivatives(q, qd, x), expected, tolerance)
    pin.computeABADerivatives(theirs, data, q, qd, x)
    upper = np.triu(data.Minv)
    inverse = upper + np.triu(upper, 1).T
    found = robot.forward_dynamics_derivatives(q, qd, x)
    assert near(found[:3], (data.ddq_dq, data.ddq_dv, inverse), tolerance)
    assert near([robot.inverse_inertia_matrix(q)], [inverse], tolerance)


def test_a_chain_of_70_is_pinocchios(rng):
    """Compiled, as users have it."""
    assert_pinocchios(rng, 70, 1e-10)


@pytest.mark.slow
def test_a_chain_and_a_ring_of_300_are_pinocchios(rng):
    """Open, and closed at rest; rounding grows with the condition of H, which is some 1e8."""
    pin = pytest.importorskip("pinocchio", exc_type=ImportError)
    from support.oracle import Pinocchio

    assert_pinocchios(rng, 300, 1e-9)
    chain = random_tree(rng, ["revolute"] * 300, chain=True)
    model, q = build(chain), rng.normal(size=300)
    last, Xup = model.links[-1], joint_transforms(model, q.tolist())
    at = np.array(link_pose(last, body_transforms(model, Xup)), dtype=float)
    loop = LoopElement("closure", "fixed", "base", last.name, at, np.eye(4))
    robot = Robot(build(replace(chain, loops=(loop,))))
    qd, tau = np.zeros(300), rng.normal(size=300)
    theirs = Pinocchio.of_mechanism(chain, model).theirs
    data, frames = theirs.createData(), (pin.SE3(at), pin.SE3.Identity())
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    models.append(
        pin.RigidConstraintModel(
            pin.ContactType.CONTACT_6D, theirs, 0, frames[0], theirs.njoints - 1, frames[1]
        )
    )
    datas.append(models[0].createData())
    pin.initConstraintDynamics(theirs, data, models, datas)
    pin.constraintDynamics(theirs, data, q, qd, tau, models, datas)
    pin.computeConstraintDynamicsDerivatives(theirs, data, models, datas)
    found = robot.forward_dynamics_derivatives(q, qd, tau)
    assert near(found[:3], (data.ddq_dq, data.ddq_dv, data.ddq_dtau), 1e-8)
