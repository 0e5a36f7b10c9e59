# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""C14: the sparse matrix method agrees with the joint-space methods, and costs as it should."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from dynamics.joint_mechanisms import EVERY, random_link, random_pose, random_state, random_tree
from dynamics.test_tree_or_loop import EVERY_LOOP
from numpy.testing import assert_allclose
from support import linkages

from benchmarks.ladder import bent, ladder
from robot_dynamics.dynamics.assembly import generic
from robot_dynamics.dynamics.closed_loop import closed_loop_terms
from robot_dynamics.dynamics.forward import forward_dynamics
from robot_dynamics.dynamics.inverse import (
    inverse_dynamics,
    net_forces,
    velocities_and_accelerations,
)
from robot_dynamics.dynamics.kinematics import joint_transforms
from robot_dynamics.dynamics.loop_frames import loop_frames
from robot_dynamics.dynamics.maximal_coordinates import (
    MaximalCoordinates,
    maximal_coordinate_solution,
)
from robot_dynamics.dynamics.rank import constraint_rank
from robot_dynamics.dynamics.redundant import ConstrainedMotion, rank_revealing_solution
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.model import (
    WORLD,
    CouplingElement,
    JointElement,
    LinkElement,
    LoopElement,
    Mechanism,
    build,
    joined,
    pose,
)
from robot_dynamics.model.parameters import parameters_of
from robot_dynamics.robot import Robot
from robot_dynamics.spatial import Force

LINKAGES = {
    "four_bar": linkages.four_bar(),
    "four_bar, ball": linkages.four_bar("spherical"),
    "slider_crank": linkages.slider_crank(),
    "folding arms": linkages.folding_arms(),
    "excavator": linkages.excavator(),
    "bricard": linkages.bricard(),
    "stewart_platform": linkages.stewart_platform(),
    "delta_robot": linkages.delta_robot(),
    "delta_robot, balls": linkages.delta_robot("spherical"),
    "walking_leg": linkages.walking_leg(),
}
# Both solve well-scaled systems; conditions of H and of K H^-1 K^T are below 1e5.
TOL = 1e-10


def reference(model, q, qd, tau, stabilisation_time=None) -> ConstrainedMotion:
    """Return the rank-revealing solution in joint space, from terms on floats."""
    terms = closed_loop_terms(model, list(q), list(qd), parameters_of(model))
    k = terms.loops.k
    if stabilisation_time is not None:
        k = terms.loops.stabilised(stabilisation_time)
    K = np.array(terms.loops.K).reshape(-1, model.nv)
    force = np.asarray(tau) - np.array(terms.C)
    return rank_revealing_solution(
        model, np.array(terms.H), force, K, np.array(k), ranked=constraint_rank(model, K)
    )


def check(model, q, qd, tau, **options):
    """Compare with the rank-revealing solution and return both."""
    expected = reference(model, q, qd, tau, **options)
    # Where a state is not closed, all that counts is that both say the same.
    motion = maximal_coordinate_solution(model, q, qd, tau, tolerance=3e-7, **options)
    scale = max(np.max(np.abs(expected.qdd)), np.max(np.abs(expected.multipliers), initial=0.0))
    assert_allclose(motion.qdd, expected.qdd, atol=TOL * scale)
    assert_allclose(motion.multipliers, expected.multipliers, atol=TOL * scale)
    assert (motion.rank, motion.redundant) == (expected.rank, expected.redundant)
    assert motion.undetermined == expected.undetermined
    # Nothing, unless redundant constraints contradict each other in a state that is not closed.
    assert_allclose(motion.residual, expected.residual, atol=TOL * scale)
    return motion, expected


def closed_state(mechanism, rng, **options):
    """Return a model, closed positions, velocities that keep them, and joint forces."""
    model = build(mechanism, **options)
    robot = Robot(model)
    q = robot.assemble(generic(model)).q
    qd = robot.assemble(q, velocities=rng.normal(size=model.nv)).qd
    return model, q, qd, 10.0 * rng.normal(size=model.nv)


@pytest.mark.parametrize("name", LINKAGES)
def test_maximal_coordinates_reproduce_known_linkages(name, rng):
    """C14, C6: accelerations, forces, rank and names of the linkages, redundant ones included."""
    model, q, qd, tau = closed_state(LINKAGES[name], rng, gravity=(1.0, -2.0, -9.0))
    check(model, q, qd, tau)


@pytest.mark.parametrize("name", EVERY_LOOP)
def test_every_loop_joint(name, rng):
    """C14: loops closed by every type, on the base and on bodies, in a tree with every type."""
    tree = random_tree(rng, list(EVERY)[::2])
    parameters = EVERY_LOOP[name]
    for ends in (("link2", "link7"), ("link4", "base"), ("base", "link8")):
        loop = LoopElement("loop", name, *ends, random_pose(rng), random_pose(rng), parameters)
        model = build(replace(tree, loops=(loop,)), gravity=(1.0, -2.0, -9.0))
        q, qd, tau = random_state(rng, model)
        check(model, q, qd, tau, stabilisation_time=0.1)


@pytest.mark.parametrize("name", EVERY)
def test_every_tree_joint(name, rng):
    """C14: a tree joint of every type, floating bases included, with loops across it."""
    mechanism = random_tree(rng, ["revolute", name, "revolute", name, "spherical"])
    loop = LoopElement("loop", "spherical", "link4", "base", random_pose(rng), random_pose(rng))
    model = build(replace(mechanism, loops=(loop,)))
    q, qd, tau = random_state(rng, model)
    check(model, q, qd, tau)


@pytest.mark.parametrize("seed", range(20))
def test_maximal_coordinates_solve_random_mechanisms(seed):
    """C14, C6: trees and loops of any types, drawn at random, redundant as they may come."""
    rng = np.random.default_rng(seed)
    kinds, closures = list(EVERY), list(EVERY_LOOP)
    tree = random_tree(rng, rng.choice(kinds, rng.integers(2, 12)).tolist())
    links = [link.name for link in tree.links]
    loops = []
    for number in range(rng.integers(1, 5)):
        name, ends = str(rng.choice(closures)), rng.choice(links, 2, replace=False).tolist()
        frames = random_pose(rng), random_pose(rng)
        loops.append(LoopElement(f"loop{number}", name, *ends, *frames, EVERY_LOOP[name]))
    model = build(tree.with_loops(loops), gravity=(1.0, -2.0, -9.0))
    q, qd, tau = random_state(rng, model)
    check(model, q, qd, tau)


def test_a_tree_without_loops(rng):
    """C14: on a tree with armature it is the articulated-body algorithm."""
    mechanism = random_tree(rng, ["floating", *["revolute", "prismatic"] * 6])
    joints = (mechanism.joints[0], *(replace(j, armature=0.3) for j in mechanism.joints[1:]))
    model = build(replace(mechanism, joints=joints), gravity=(1.0, -2.0, -9.0))
    q, qd, tau = random_state(rng, model)
    motion = maximal_coordinate_solution(model, q, qd, tau)
    expected = forward_dynamics(model, q, qd, tau, parameters_of(model))
    assert_allclose(motion.qdd, expected, atol=TOL * np.max(np.abs(expected)))
    assert (motion.rank, len(motion.multipliers), motion.conditioning) == (0, 0, None)
    # Against the direct route as well: rotors are honoured.
    back = inverse_dynamics(model, q, qd, motion.qdd.tolist(), parameters_of(model))
    assert_allclose(back, tau, atol=TOL * np.max(np.abs(expected)))


def test_gears_and_rotors_in_a_loop(rng):
    """Couplings are rows over joint accelerations: they and armature act as in joint space."""
    mechanism = linkages.slider_crank()
    gear = CouplingElement("gear", (("crank_joint", 1.0), ("wheel_joint", -2.5)))
    wheel = JointElement("wheel_joint", "helical", "base", "wheel", parameters={"pitch": 0.1})
    joints = tuple(replace(j, armature=0.2) for j in (*mechanism.joints, wheel))
    links = (*mechanism.links, random_link(rng, "wheel"))
    geared = replace(mechanism, links=links, joints=joints, couplings=(gear,))
    model, q, qd, tau = closed_state(geared, rng)
    motion, _ = check(model, q, qd, tau)
    at = {name: slot.start for name, slot in zip(model.joint_names, model.v_slices, strict=True)}
    assert motion.qdd[at["crank_joint"]] == pytest.approx(2.5 * motion.qdd[at["wheel_joint"]])


@pytest.mark.parametrize("closure", ["revolute", "fixed"])
def test_the_same_closure_twice(closure, rng):
    """C6: a weld, or a revolute joint of a planar linkage, added twice: named and harmless."""
    if closure == "fixed":
        model, q, qd, tau = closed_state(linkages.walking_leg(), rng)
    else:
        model, q, qd, tau = closed_state(linkages.four_bar(), rng)
    twice = replace(model, loops=(*model.loops, replace(model.loops[0], name="again")))
    once = maximal_coordinate_solution(model, q, qd, tau)
    motion, expected = check(twice, q, qd, tau)
    assert_allclose(motion.qdd, once.qdd, atol=TOL * np.max(np.abs(once.qdd)))
    assert set(motion.redundant) >= {n for n in expected.redundant if n.startswith("again")}
    n = len(model.loops[0].type.rows)
    assert_allclose(motion.multipliers[:n], motion.multipliers[-n:], atol=TOL * 100)


def test_slightly_open_redundant_loops(rng):
    """C6: where copies of a weld contradict each other by a gap, errors are of that size."""
    model, q, qd, tau = closed_state(linkages.walking_leg(), rng)
    gap = 1e-7
    moved = model.loops[0].successor_placement
    off = replace(moved, r=moved.r + type(moved.r)(gap, -gap, gap))
    twice = replace(
        model, loops=(*model.loops, replace(model.loops[0], name="again", successor_placement=off))
    )
    once = maximal_coordinate_solution(model, q, qd, tau)
    motion = maximal_coordinate_solution(twice, q, qd, tau)
    assert motion.rank == once.rank
    assert motion.closure_error == pytest.approx(gap, rel=1.0)
    # The contradiction is met in the mean; what acts more weakly than the gap is not used.
    scale = np.max(np.abs(once.qdd))
    assert np.max(np.abs(motion.qdd - once.qdd)) < 1e3 * gap * scale
    assert np.isfinite(motion.multipliers).all()


@pytest.mark.parametrize("name", ["stewart_platform", "bricard", "walking_leg"])
def test_joint_forces_equal_a_newton_euler_recursion(name, rng):
    """The forces of all joints are those of a Newton-Euler recursion with loop forces applied."""
    model, q, qd, tau = closed_state(LINKAGES[name], rng, gravity=(1.0, -2.0, -9.0))
    motion = maximal_coordinate_solution(model, q, qd, tau)
    parameters = parameters_of(model)
    Xup = joint_transforms(model, q.tolist())
    v, a = velocities_and_accelerations(
        model, Xup, qd.tolist(), motion.qdd.tolist(), parameters.gravity, q.tolist()
    )
    f = net_forces(v, a, parameters)
    n = len(model.bodies)
    frames = loop_frames(model, Xup, parameters, q.tolist())
    for frame, values in zip(frames, motion.joint_forces[n:], strict=True):
        force, loop = Force.of(values.tolist()), frame.joint
        if loop.successor != WORLD:
            f[loop.successor] = f[loop.successor] - frame.of_successor.inverse_times(force)
        if loop.predecessor != WORLD:
            push = frame.of_predecessor.inverse_times(force)
            f[loop.predecessor] = f[loop.predecessor] + push
    for i in reversed(range(n)):
        parent = model.bodies[i].parent
        if parent != WORLD:
            f[parent] = f[parent] + Xup[i].inverse_times(f[i])
    expected = np.array([force.components() for force in f])
    scale = np.max(np.abs(expected))
    assert_allclose(motion.joint_forces[:n], expected, atol=TOL * scale)


def test_forces_from_outside(rng):
    """Forces on bodies act as the joint forces that inverse dynamics has for them do."""
    model, q, qd, tau = closed_state(linkages.stewart_platform(), rng)
    external = [Force.of(rng.normal(size=6).tolist()) for _ in model.bodies]
    parameters, rest = parameters_of(model), [0.0] * model.nv
    with_, without = (
        np.array(inverse_dynamics(model, q.tolist(), qd.tolist(), rest, parameters, forces))
        for forces in (external, None)
    )
    motion = maximal_coordinate_solution(model, q, qd, tau, external=external)
    expected = maximal_coordinate_solution(model, q, qd, tau + without - with_)
    assert_allclose(motion.qdd, expected.qdd, atol=TOL * np.max(np.abs(expected.qdd)))


def test_nothing_is_lost_far_from_the_base(rng):
    """A floating linkage 10^6 m away moves as at home: each joint is written in its own frame."""
    platform = linkages.stewart_platform()
    floating = joined("far", [(platform, np.eye(4), "floating")], root="room")
    model, q, qd, tau = closed_state(floating, rng)
    far = q.copy()
    far[:3] += 1e6
    here, there = (maximal_coordinate_solution(model, at, qd, tau) for at in (q, far))
    assert_allclose(there.qdd, here.qdd, atol=1e-11 * np.max(np.abs(here.qdd)))
    assert there.closure_error < 1e-10


def test_a_massless_link_between_joints(rng):
    """A link without inertia is no obstacle while joints give it some."""
    links = (LinkElement("base"), LinkElement("cross"), random_link(rng, "body"))
    joints = (
        JointElement("one", "revolute", "base", "cross", axis=(1.0, 0.0, 0.0)),
        JointElement("two", "revolute", "cross", "body", axis=(0.0, 1.0, 0.0)),
    )
    model = build(Mechanism("m", links, joints))
    q, qd, tau = random_state(rng, model)
    motion = maximal_coordinate_solution(model, q, qd, tau)
    assert_allclose(
        motion.qdd, forward_dynamics(model, q, qd, tau, parameters_of(model)), rtol=TOL
    )


@pytest.mark.parametrize("rungs", [10, 30])
def test_a_ladder_moves_as_in_joint_space(rungs, rng):
    """C14: the ladder's accelerations and forces equal those of the dense method."""
    model = build(ladder(rungs))
    q, qd = bent(model, 0.2 * rng.uniform(-1, 1, rungs), 0.2 * rng.uniform(-1, 1, rungs))
    tau = rng.normal(size=model.nv)
    expected = reference(model, q, qd, tau)
    motion = maximal_coordinate_solution(model, q, qd, tau)
    assert motion.closure_error < 1e-13
    assert np.max(np.abs(velocity_errors(model, q, qd))) < 1e-12
    # The longer the ladder, the weaker is what its constraints do together.
    scale = np.max(np.abs(expected.qdd)) / expected.conditioning
    assert_allclose(motion.qdd, expected.qdd, atol=TOL * scale)
    assert motion.rank == expected.rank == 3 * rungs


def velocity_errors(model, q, qd):
    terms = closed_loop_terms(model, q.tolist(), qd.tolist(), parameters_of(model))
    return np.array(terms.loops.velocity_error)


def test_the_factors_of_a_ladder_grow_with_its_rungs(rng):
    """C14: from 30 to 300 rungs the factors have as many entries a rung, while H has k^2."""
    entries = {}
    for rungs in (30, 100, 300):
        model = build(ladder(rungs))
        q, qd = bent(model, 0.1 * rng.uniform(-1, 1, rungs), np.zeros(rungs))
        motion = maximal_coordinate_solution(model, q, qd, np.zeros(model.nv))
        entries[rungs] = motion.fill / rungs
        assert motion.residual < 1e-9 * np.max(np.abs(motion.qdd))
    assert entries[300] < 1.15 * entries[30]
    assert entries[100] < 1.15 * entries[30]


def test_a_chain_of_two_hundred_bodies(rng):
    """C14: on a long tree Pinocchio says the same, and the factors stay as thin."""
    from support.oracle import Pinocchio

    links = [LinkElement("base")] + [random_link(rng, f"link{i}") for i in range(200)]
    joints = [
        JointElement(
            f"joint{i}", "revolute", links[max(0, i - int(rng.integers(0, 3)))].name, f"link{i}",
            pose((0.1, 0.0, 0.05)), tuple(np.eye(3)[i % 3]),
        )
        for i in range(200)
    ]  # fmt: skip
    mechanism = Mechanism("long", tuple(links), tuple(joints))
    model = build(mechanism)
    peer = Pinocchio.of_mechanism(mechanism, model)
    q, qd = 0.3 * rng.normal(size=200), 0.1 * rng.normal(size=200)
    tau = rng.normal(size=200)
    motion = maximal_coordinate_solution(model, q, qd, tau)
    expected = peer.forward_dynamics(q, qd, tau)
    assert_allclose(motion.qdd, expected, atol=1e-9 * np.max(np.abs(expected)))
    assert motion.fill < 200 * 400


def test_one_layout_serves_many_states(rng):
    """An instance solves state after state, each as the function does."""
    model, q, qd, tau = closed_state(linkages.delta_robot(), rng)
    system = MaximalCoordinates(model)
    for force in (tau, -tau, 0.0 * tau):
        expected = maximal_coordinate_solution(model, q, qd, force)
        assert_allclose(system.solve(q, qd, force).qdd, expected.qdd, rtol=0, atol=0)


def test_wrong_states_and_massless_bodies_are_refused(rng):
    """Wrong shapes, numbers that are none, and bodies without inertia are refused."""
    model, q, qd, tau = closed_state(linkages.slider_crank(), rng)
    with pytest.raises(ArgumentError, match=r"\bqd\b.*\(2,\).*\(3,\)"):
        maximal_coordinate_solution(model, q, qd[:2], tau)
    with pytest.raises(RobotDynamicsError, match=r"\btau\b.*finite"):
        maximal_coordinate_solution(model, q, qd, tau * np.nan)
    with pytest.raises(ArgumentError, match=r"external.*\b1\b"):
        maximal_coordinate_solution(model, q, qd, tau, external=[Force.zero()])
    links = (LinkElement("base"), LinkElement("ghost"))
    ghost = build(Mechanism("m", links, (JointElement("j", "revolute", "base", "ghost"),)))
    with pytest.raises(RobotDynamicsError, match="no inertia"):
        maximal_coordinate_solution(ghost, [0.0], [0.0], [1.0])
