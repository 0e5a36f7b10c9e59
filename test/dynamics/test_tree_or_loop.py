# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A joint moves the same mechanism the same way, be it in the tree or closing a loop."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from dynamics.joint_mechanisms import (
    CARRYING,
    EVERY,
    link_motions,
    random_joint,
    random_link,
    random_pose,
    random_state,
    world_poses,
)
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation
from support import golden

from robot_dynamics.dynamics.closed_loop import closed_loop_forward_dynamics, closed_loop_terms
from robot_dynamics.dynamics.forward import forward_dynamics
from robot_dynamics.dynamics.inverse import net_forces, velocities_and_accelerations
from robot_dynamics.dynamics.kinematics import joint_transforms
from robot_dynamics.dynamics.passive import passive_forces
from robot_dynamics.dynamics.redundant import rank_revealing_solution
from robot_dynamics.model import (
    JointElement,
    LinkElement,
    LoopElement,
    Mechanism,
    build,
    joint_type,
)
from robot_dynamics.model.parameters import parameters_of
from robot_dynamics.robot import Robot
from robot_dynamics.spatial import Force

CLOSING = {name: p for name, p in EVERY.items() if "floating" not in name} | {"fixed": {}}
CONTACTS = ["point_on_plane", "edge_on_plane", "point_on_line", "soft_finger", "line"]
EVERY_LOOP = CLOSING | {prefix + name: {} for name in CONTACTS for prefix in ("", "reversed ")}

X, Y, Z = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
# What a contact leaves free, as a chain of joints from the predecessor to the successor.
CHAINS = {
    "point_on_plane": (("prismatic", X), ("prismatic", Y), ("spherical", Z)),
    "edge_on_plane": (("prismatic", X), ("prismatic", Y), ("revolute", Z), ("revolute", X)),
    "face_on_plane": (("prismatic", X), ("prismatic", Y), ("revolute", Z)),
    "point_on_line": (("prismatic", Z), ("spherical", Z)),
    "point": (("spherical", Z),),
    "line": (("revolute", X),),
}


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def around(rng, connection):
    """Return two links on either side of a connection from link "b" to link "c"."""
    links = [LinkElement("base"), *(random_link(rng, name) for name in "abcd")]
    joints = (
        random_joint(rng, "j1", "revolute", "base", "a"),
        random_joint(rng, "j2", "spherical", "a", "b"),
        random_joint(rng, "j4", "universal", "c", "d"),
    )
    return Mechanism("m", tuple(links), (*joints, *connection))


def opened(tree, loop):
    """Return the tree's mechanism with "c" on a joint of six freedoms, and a loop joint."""
    names = {joint.name for joint in tree.joints if joint.child not in "ad" and joint.name != "j2"}
    massless = {joint.child for joint in tree.joints if joint.name in names} - {"c"}
    free = JointElement("free", "floating", "base", "c")
    return Mechanism(
        "m",
        tuple(link for link in tree.links if link.name not in massless),
        (*(j for j in tree.joints if j.name not in names), free),
        (loop,),
    )


def same_state(tree, other, q, qd):
    """Return positions and velocities of another model of the same links, by name and by pose."""
    at = world_poses(tree, q)["c"]
    moving = link_motions(tree, q, qd, np.zeros(tree.nv))["c"][:6]
    new_q, new_qd = [], []
    for body in other.bodies:
        if body.joint.name == "free":
            new_q += [*at[:3, 3], *Rotation.from_matrix(at[:3, :3]).as_quat()]
            new_qd += list(moving)
        else:
            index = tree.joint_index(body.joint.name)
            new_q += list(q[tree.q_slices[index]])
            new_qd += list(qd[tree.v_slices[index]])
    return new_q, new_qd


def forces_of(tree, names, tau):
    """Return joint forces (nv,) of one model for the joints that another has, by name."""
    result = np.zeros(tree.nv)
    for name, force in zip(names, tau, strict=True):
        index = tree.joint_index(name)
        result[tree.v_slices[index]] = force
    return result


def compare(rng, tree_mechanism, loop):
    """Check that accelerations and the force through the joint are the same both ways."""
    gravity = (1.0, -3.0, -9.0)
    tree = build(tree_mechanism, gravity=gravity)
    closed = build(opened(tree_mechanism, loop), gravity=gravity)
    q, qd, _ = random_state(rng, tree)
    q_c, qd_c = same_state(tree, closed, q, qd)
    names = ("j1", "j2", "j4")
    tau = [rng.normal(), rng.normal(size=3), rng.normal(size=2)]

    # Friction of the tree's joints is taken off by the caller; that of loop joints is in C.
    of_tree = forces_of(tree, names, tau) - tree.damping * qd
    qdd = forward_dynamics(tree, q, qd, of_tree.tolist(), parameters_of(tree))
    terms = closed_loop_terms(closed, q_c, qd_c, parameters_of(closed))
    # Rounding of a few products of transforms of size one.
    assert_allclose(terms.loops.position_error, 0.0, atol=1e-13)
    assert_allclose(terms.loops.velocity_error, 0.0, atol=1e-12)
    qdd_c, multipliers, pivot = closed_loop_forward_dynamics(
        closed, q_c, qd_c, forces_of(closed, names, tau).tolist(), parameters_of(closed)
    )
    assert pivot > 1e-8
    one, other = link_motions(tree, q, qd, qdd), link_motions(closed, q_c, qd_c, qdd_c)
    for name in "abcd":
        scale = np.abs(one[name]).max()
        # Condition numbers of H and K H^-1 K^T are a few thousand.
        assert np.abs(one[name] - other[name]).max() < 1e-9 * scale
    return tree, q, qd, qdd, closed, multipliers


@pytest.mark.parametrize("name", CLOSING)
def test_every_type_moves_alike(name, rng):
    """C1: accelerations with the joint in the tree equal those with it closing a loop."""
    at = random_pose(rng)
    joint = JointElement("j3", name, "b", "c", at, parameters=CLOSING[name])
    loop = LoopElement("j3", name, "b", "c", at, np.eye(4), CLOSING[name])
    compare(rng, around(rng, (joint,)), loop)


@pytest.mark.parametrize("name", EVERY)
def test_springs_and_dampers_move_alike(name, rng):
    """C5: so they do with springs and dampers in the joint; a floating one has nothing else."""
    at, nv = random_pose(rng), joint_type(name, **EVERY[name]).nv
    data = {
        "stiffness": tuple(rng.uniform(10, 90, nv)),
        "rest": tuple(rng.uniform(-0.5, 0.5, nv)),
        "damping": tuple(rng.uniform(1, 9, nv)),
    }
    joint = JointElement("j3", name, "b", "c", at, parameters=EVERY[name], **data)
    loop = LoopElement("j3", name, "b", "c", at, np.eye(4), EVERY[name], **data)
    tree, q, *_ = compare(rng, around(rng, (joint,)), loop)
    springs = passive_forces(tree, joint_transforms(tree, q), [], [], parameters_of(tree), q)
    assert np.abs(springs).max() > 1.0


@pytest.mark.parametrize("name", [n for n in CLOSING if n != "fixed"])
def test_the_force_through_the_joint_is_the_same(name, rng):
    """C8: T lambda of the loop joint is the spatial force that the tree joint transmits."""
    at = random_pose(rng)
    joint = JointElement("j3", name, "b", "c", at, parameters=CLOSING[name])
    loop = LoopElement("j3", name, "b", "c", at, np.eye(4), CLOSING[name])
    tree, q, qd, qdd, closed, multipliers = compare(rng, around(rng, (joint,)), loop)

    parameters = parameters_of(tree)
    Xup = joint_transforms(tree, q)
    v, a = velocities_and_accelerations(tree, Xup, qd, qdd, parameters.gravity, q)
    f = net_forces(v, a, parameters)
    c, d = tree.joint_index("j3"), tree.joint_index("j4")
    transmitted = np.array((f[c] + Xup[d].inverse_times(f[d])).components())
    X = tree.bodies[c].joint.type.transform(q[tree.q_slices[c]])
    total = Force.zero()
    for column, multiplier in zip(closed.loops[0].type.constraints(X), multipliers, strict=True):
        total = total + column * multiplier
    assert_allclose(total.components(), transmitted, atol=1e-8 * np.abs(transmitted).max())


@pytest.mark.parametrize("name", CHAINS)
def test_contacts_move_as_chains_do(name, rng):
    """A contact has the freedoms of a chain of joints with massless links."""
    at, chain = random_pose(rng), []
    names = ["b", *(f"m{i}" for i in range(len(CHAINS[name]) - 1)), "c"]
    for i, (kind, axis) in enumerate(CHAINS[name]):
        placement = at if i == 0 else np.eye(4)
        chain.append(JointElement(f"c{i}", kind, names[i], names[i + 1], placement, axis))
    whole = around(rng, chain)
    whole = replace(whole, links=(*whole.links, *(LinkElement(n) for n in names[1:-1])))
    compare(rng, whole, LoopElement("j3", name, "b", "c", at, np.eye(4)))


@pytest.mark.parametrize("name", CONTACTS)
def test_polarity_of_a_loop_joint_does_not_matter(name, rng):
    """The reversed type between swapped ends is the same constraint."""
    at, to = random_pose(rng), random_pose(rng)
    one = opened(around(rng, ()), LoopElement("l", name, "b", "c", at, to))
    other = replace(one, loops=(LoopElement("l", f"reversed {name}", "c", "b", to, at),))
    models = build(one), build(other)
    q, qd, tau = random_state(rng, models[0])
    qdd = []
    for model in models:
        # Not closed: all that counts is that both say the same.
        terms = closed_loop_terms(model, q, qd, parameters_of(model))
        C, loops = np.array(terms.C), terms.loops
        motion = rank_revealing_solution(
            model, np.array(terms.H), np.array(tau) - C, np.array(loops.K), np.array(loops.k)
        )
        qdd.append(motion.qdd)
    assert_allclose(qdd[0], qdd[1], atol=1e-8 * np.abs(qdd[0]).max())


@pytest.fixture(params=["b to c", "base to c", "c to base", "d to b"])
def ends(request):
    """Return the links that a loop joint connects; one of them may be the base."""
    return request.param.split(" to ")


@pytest.fixture(params=EVERY_LOOP)
def with_loop(request, ends, rng):
    """Return a mechanism with a loop joint of any type, anywhere, not closed."""
    parameters = EVERY_LOOP[request.param]
    loop = LoopElement("l", request.param, *ends, random_pose(rng), random_pose(rng), parameters)
    return build(opened(around(rng, ()), loop), gravity=(1.0, 2.0, 3.0))


def test_k_is_what_the_rate_of_the_velocity_error_lacks(with_loop, rng):
    """C2: K qd = T^T v_J, and d (K qd) / dt = K qdd - k, with T's own rate (8.47).

    For every type and its reverse, open or closed, between links and on the base.
    """
    model = with_loop
    q, qd, qdd = random_state(rng, model)
    terms = closed_loop_terms(model, q, qd, parameters_of(model)).loops
    assert_allclose(terms.velocity_error, np.array(terms.K) @ qd, atol=1e-12)
    h = 1e-5

    def error(step):
        mean = np.array(qd) + 0.5 * step * np.array(qdd)
        there = model.integrate(q, (step * mean).tolist())
        now = (np.array(qd) + step * np.array(qdd)).tolist()
        return np.array(
            closed_loop_terms(model, there, now, parameters_of(model)).loops.velocity_error
        )

    rate = (error(h) - error(-h)) / (2 * h)
    # Order h^2 and roundings 1e-16 / h, of squares of velocities up to a hundred.
    assert_allclose(rate, np.array(terms.K) @ qdd - terms.k, atol=3e-6)


def test_a_soft_finger_does_not_spin(rng):
    """Its torsion row is a constraint on velocities alone, with a moment that holds it."""
    at = random_pose(rng)
    chain = JointElement("j3", "spherical", "b", "c", at)
    tree = build(around(rng, (chain,)))
    loop = LoopElement("j3", "soft_finger", "b", "c", at, np.eye(4))
    model = build(opened(around(np.random.default_rng(3), ()), loop))
    assert model.holonomic.tolist() == [False, True, True, True]
    q, qd, _ = random_state(rng, tree)
    q, qd = same_state(tree, model, q, qd)
    K = np.array(closed_loop_terms(model, q, qd, parameters_of(model)).loops.K)
    qd = (np.array(qd) - np.linalg.pinv(K) @ K @ qd).tolist()
    qdd, multipliers, _ = closed_loop_forward_dynamics(
        model, q, qd, [0.0] * model.nv, parameters_of(model)
    )
    terms = closed_loop_terms(model, q, qd, parameters_of(model)).loops
    assert_allclose(np.array(terms.K) @ qdd, terms.k, atol=1e-9)
    assert abs(multipliers[0]) > 1e-6
    assert terms.position_error[0] == 0.0


def test_compiled_loops_equal_interpreted_ones(rng):
    """A model with a loop joint of every type compiles, and gives the numbers of plain floats."""
    loops = tuple(
        LoopElement(f"l{i}", name, "b", "c", random_pose(rng), random_pose(rng), parameters)
        for i, (name, parameters) in enumerate(EVERY_LOOP.items())
    )
    mechanism = opened(around(rng, ()), loops[0])
    robot = Robot(build(replace(mechanism, loops=loops)))
    q, qd, _ = random_state(rng, robot.model)
    terms = closed_loop_terms(robot.model, q, qd, parameters_of(robot.model))
    _, _, K, k, position_error, velocity_error = robot.constraint_terms(q, qd)
    for ours, theirs in (
        (K, terms.loops.K),
        (k, terms.loops.k),
        (position_error, terms.loops.position_error),
        (velocity_error, terms.loops.velocity_error),
    ):
        assert_allclose(ours, np.array(theirs, dtype=float), atol=1e-11)


@pytest.mark.parametrize(("closure", "constraints"), [("revolute", 5), ("sphere_in_cylinder", 2)])
def test_figure_8_3(closure, constraints):
    """Accelerations and loop forces worked out with independent code, redundant or not.

    The revolute closure has five constraints of rank two, the sphere in a cylinder has two.
    """
    model = golden.actuated_arm_model(closure)
    assert model.constraint_count == constraints
    order = golden.order(model)
    q, qd, tau = (golden.ordered(model, x) for x in (golden.Q, golden.QD, golden.TAU))
    terms = closed_loop_terms(model, q.tolist(), qd.tolist(), parameters_of(model))
    K, k = np.array(terms.loops.K), np.array(terms.loops.k)
    motion = rank_revealing_solution(model, np.array(terms.H), tau - np.array(terms.C), K, k)
    assert motion.rank == 2
    assert len(motion.redundant) == constraints - 2
    assert_allclose(motion.qdd[order], golden.QDD, atol=1e-9)
    if closure == "revolute":
        force = motion.multipliers[2:4]
        assert_allclose(K[2:4][:, order], golden.K, atol=1e-11)
        assert_allclose(k[2:4], golden.SMALL_K, atol=1e-10)
    else:
        # The forces come in the axes of the cylinder, on the crank: turned by the angle between.
        angle = q[order][1] - q[order][0]
        c, s = np.cos(angle), np.sin(angle)
        force = np.array([[c, s], [-s, c]]) @ motion.multipliers
    assert_allclose(force, golden.MULTIPLIERS, atol=1e-9)


def test_types_that_carry_are_all_tried():
    """Each type of the library that carries bodies is among those above."""
    from robot_dynamics.model.joints import joint_type, loop_joint_names, tree_joint_names

    def kinds(names, known):
        return {joint_type(n, **known.get(n, {})) for n in names}

    assert kinds(tree_joint_names(), CARRYING) == kinds([*CARRYING, "fixed"], CARRYING)
    assert kinds(loop_joint_names(), CARRYING) <= kinds([*CLOSING, *CONTACTS], EVERY)
