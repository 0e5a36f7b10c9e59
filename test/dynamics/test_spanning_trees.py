# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Results do not depend on the choice of the spanning tree, nor on the numbering."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from dynamics.joint_mechanisms import (
    CARRYING,
    link_motions,
    random_joint,
    random_link,
    random_pose,
    random_positions,
    world_poses,
)
from numpy.testing import assert_allclose

from robot_dynamics.dynamics.assembly import consistent_velocity
from robot_dynamics.dynamics.closed_loop import closed_loop_terms
from robot_dynamics.dynamics.loop_forces import loop_joint_forces
from robot_dynamics.dynamics.rank import constraint_rank
from robot_dynamics.dynamics.redundant import rank_revealing_solution
from robot_dynamics.model import (
    WORLD,
    LinkElement,
    LoopElement,
    Mechanism,
    build,
    joint_type,
    pose_of,
)
from robot_dynamics.model.parameters import parameters_of

# Types with two and more freedoms twice, so that closed mechanisms keep some mobility.
MIXED = [kind for kind in CARRYING if kind != "floating"] + [
    "cylindrical", "planar", "spherical", "universal", "spherical", "reversed universal",
    "reversed rack_and_pinion", "reversed planar", "reversed spherical",
]  # fmt: skip
GRAVITY = (2.0, -3.0, -9.0)


def parameters_for(kind):
    return CARRYING[kind.removeprefix("reversed ")]


def random_mechanism(rng, bodies=6, extra=3):
    """Return a closed mechanism, positions of all joints by name, and the joints of one tree.

    The joints of the tree have either polarity. The others are between links drawn at random, and
    their frames are where the tree's positions close them.
    """
    links = [LinkElement("base"), *(random_link(rng, f"b{i}") for i in range(bodies))]
    joints = []
    for i in range(bodies):
        ends = [links[rng.integers(0, i + 1)].name, f"b{i}"]
        if rng.integers(0, 2):
            ends.reverse()
        joints.append(random_joint(rng, f"j{i}", str(rng.choice(MIXED)), *ends))
        joints[-1] = replace(joints[-1], parameters=parameters_for(joints[-1].type))
        joints[-1] = replace(joints[-1], **springs_and_dampers(i))
    open_chain = Mechanism("m", tuple(links), tuple(joints))
    tree = build(open_chain, root="base", spanning_tree=[j.name for j in joints])
    positions = {b.joint.name: random_positions(rng, b.joint.type) for b in tree.bodies}
    poses = world_poses(tree, positions_of(tree, positions))
    loops = []
    for i in range(extra):
        p, s = rng.choice([link.name for link in links], 2, replace=False)
        kind = str(rng.choice(MIXED))
        type_ = joint_type(kind, **parameters_for(kind))
        positions[f"x{i}"] = q = random_positions(rng, type_)
        at = random_pose(rng)
        to = np.linalg.inv(poses[s]) @ poses[p] @ at @ pose_of(type_.transform(q))
        loops.append(
            LoopElement(
                f"x{i}", kind, str(p), str(s), at, to, parameters_for(kind),
                **springs_and_dampers(bodies + i),
            )
        )  # fmt: skip
    return open_chain.with_loops(loops), positions, [j.name for j in joints]


def springs_and_dampers(number):
    """Return a spring and a damper in all freedoms of a joint, others for each joint."""
    return {"stiffness": 1.0 + number, "rest": 0.1 * number - 0.3, "damping": 2.0 - 0.2 * number}


def positions_of(model, positions):
    return [x for name in model.joint_names for x in positions[name]]


def velocities_of(mechanism, motions, poses, positions, model):
    """Return the joint velocities (nv,) that go with the links' motions, by least squares."""
    elements = {e.name: e for e in (*mechanism.joints, *mechanism.loops)}
    qd = np.empty(model.nv)
    for body, at in zip(model.bodies, model.v_slices, strict=True):
        element = elements[body.joint.name]
        ends = (
            (element.predecessor, element.successor)
            if isinstance(element, LoopElement)
            else (element.parent, element.child)
        )
        # In the tree the joint may be reversed: v_J is the body's velocity less its parent's.
        child = body.name
        parent = ends[0] if ends[1] == child else ends[1]
        link = model.link(child)
        across = np.linalg.inv(poses[child]) @ poses[parent]  # parent's frame in the child's
        relative = motions[child][:6] - carried(across, motions[parent][:6])
        S = np.array(
            [
                (link.placement * s).components()
                for s in body.joint.type.subspace(positions[body.joint.name])
            ]
        ).T
        solution, *_ = np.linalg.lstsq(S, relative, rcond=None)
        # The velocities of the links are those of the mechanism: every joint allows them.
        assert_allclose(S @ solution, relative, atol=1e-9)
        qd[at] = solution
    return qd


def carried(frame, motion):
    """Return a motion given in a frame, in the coordinates in which the frame's pose is given."""
    R, p = frame[:3, :3], frame[:3, 3]
    w = R @ motion[:3]
    return np.concatenate([w, R @ motion[3:] + np.cross(p, w)])


def solved(model, q, qd):
    """Return the motion without drives, and the largest acceleration that it is made of.

    Dampers of loop joints are in C; those of the tree's joints are for the caller to take off.

    Constraint forces cancel part of the effect of weight and speed; where nothing can
    move they cancel all of it, and rounding is a part of the cancelled forces.
    """
    terms = closed_loop_terms(model, list(q), list(qd), parameters_of(model))
    K, H, C = np.array(terms.loops.K).reshape(-1, model.nv), np.array(terms.H), np.array(terms.C)
    ranked = constraint_rank(model, K, np.array(terms.loops.position_error), np.array(q))
    force = -C - model.damping * qd
    motion = rank_revealing_solution(model, H, force, K, np.array(terms.loops.k), ranked=ranked)
    return motion, max(np.abs(motion.qdd).max(), np.abs(np.linalg.solve(H, force)).max())


def joint_wrenches(mechanism, model, motions, poses, motion, state):
    """Return the wrench (6,) on the child or successor of every joint, in the world, by name.

    Newton's and Euler's equations for each link, from the leaves of the tree on; loop joints give
    T times their multipliers, and the forces of springs and dampers.
    """
    q, qd, off = list(state[0]), list(state[1]), [0.0] * len(model.loop_drives)
    at_loops = loop_joint_forces(model, q, qd, motion.multipliers, off, parameters_of(model))
    body_poses = {b.name: poses[b.name] @ np.linalg.inv(pose_of(model.link(b.name).placement))
                  for b in model.bodies} | {"base": np.eye(4)}  # fmt: skip
    names = ["base" if i == WORLD else model.bodies[i].name for i in range(-1, len(model.bodies))]
    needed = {link.name: net_wrench(link, motions[link.name], poses[link.name])
              for link in mechanism.links if link.name != "base"}  # fmt: skip
    needed["base"] = np.zeros(6)
    found = {}
    for loop, force in zip(model.loops, at_loops, strict=True):
        p, s = names[loop.predecessor + 1], names[loop.successor + 1]
        frame = body_poses[s] @ pose_of(loop.successor_placement)
        wrench = in_world(frame, np.array(force.components()))
        needed[s], needed[p] = needed[s] - wrench, needed[p] + wrench
        found[loop.name] = wrench if s == successor_of(mechanism, loop.name) else -wrench
    for body in reversed(model.bodies):
        wrench, parent = needed[body.name], names[body.parent + 1]
        needed[parent] = needed[parent] + wrench
        name = body.joint.name
        found[name] = wrench if body.name == successor_of(mechanism, name) else -wrench
    return found


def successor_of(mechanism, name):
    """Return the link that a joint of a description goes to."""
    loops = {loop.name: loop.successor for loop in mechanism.loops}
    return {joint.name: joint.child for joint in mechanism.joints}.get(name, loops.get(name))


def net_wrench(link, motion, frame):
    """Return I a + v x* I v, less the weight (6,), of a link in the world."""
    c = cross_matrix(link.center)
    M, J = link.mass * np.eye(3), link.inertia - link.mass * c @ c
    inertia = np.block([[J, link.mass * c], [-link.mass * c, M]])  # Eq 2.63
    v, a = motion[:6], motion[6:].copy()
    a[3:] -= frame[:3, :3].T @ GRAVITY
    h = inertia @ v
    turning = np.concatenate(
        [np.cross(v[:3], h[:3]) + np.cross(v[3:], h[3:]), np.cross(v[:3], h[3:])]
    )
    return in_world(frame, inertia @ a + turning)


def in_world(frame, force):
    """Return a wrench of a frame about the world's origin, in its axes."""
    R, p = frame[:3, :3], frame[:3, 3]
    linear = R @ force[3:]
    return np.concatenate([R @ force[:3] + np.cross(p, linear), linear])


def cross_matrix(r):
    return np.cross(np.eye(3), r)


def closed_velocity(rng, model, q):
    """Return a random velocity that keeps the loops closed."""
    qd = rng.normal(size=model.nv)
    terms = closed_loop_terms(model, q, qd.tolist(), parameters_of(model)).loops
    assert_allclose(terms.position_error, 0.0, atol=1e-12)
    K = np.array(terms.K).reshape(-1, model.nv)
    # A generous rank tolerance: nearly dependent rows are no loss, since qd is checked below.
    qd = qd - np.linalg.pinv(K, rcond=1e-10) @ K @ qd
    assert_allclose(K @ qd, 0.0, atol=1e-10)
    return qd


def other_trees(rng, mechanism, first):
    """Yield models of the same mechanism: other trees, and other orders of links and joints."""
    yield build(mechanism, gravity=GRAVITY, root="base", spanning_tree="minimum depth")
    closing = [loop.name for loop in mechanism.loops]
    for _ in range(3):
        shuffled = replace(
            mechanism,
            links=tuple(mechanism.links[i] for i in rng.permutation(len(mechanism.links))),
            joints=tuple(mechanism.joints[i] for i in rng.permutation(len(mechanism.joints))),
            loops=tuple(mechanism.loops[i] for i in rng.permutation(len(mechanism.loops))),
        )
        yield build(shuffled, gravity=GRAVITY, root="base", spanning_tree=first)
        yield build(shuffled, gravity=GRAVITY, root="base", spanning_tree="minimum depth")
        chord = str(rng.choice(closing))
        yield build(shuffled, gravity=GRAVITY, root="base", spanning_tree=[chord])


def compare(seed, extra=3):
    """Compare a random mechanism's trees; return in how many all forces were determined."""
    rng = np.random.default_rng(seed)
    mechanism, positions, first = random_mechanism(rng, extra=extra)
    model = build(mechanism, gravity=GRAVITY, root="base", spanning_tree=first)
    q = positions_of(model, positions)
    qd = closed_velocity(rng, model, q)
    motion, scale = solved(model, q, qd)
    expected, poses = link_motions(model, q, qd, motion.qdd), world_poses(model, q)
    wrenches = joint_wrenches(mechanism, model, expected, poses, motion, (q, qd))
    force_scale = max(np.abs(wrench).max() for wrench in wrenches.values())
    trees, determined = set(), 0
    for other in other_trees(rng, mechanism, first):
        trees.add(frozenset(other.joint_names))
        q2 = positions_of(other, positions)
        for name, frame in world_poses(other, q2).items():
            assert_allclose(frame, poses[name], atol=1e-12)
        qd2 = velocities_of(mechanism, expected, poses, positions, other)
        found, found_scale = solved(other, q2, qd2)
        motions = link_motions(other, q2, qd2, found.qdd)
        assert other.nv - found.rank == model.nv - motion.rank
        for name, one in expected.items():
            # Accelerations of different joints make up one link's, and condition numbers of
            # constrained systems with loops drawn at random reach 1e6.
            assert np.abs(motions[name] - one).max() < 1e-8 * max(scale, found_scale)
        if motion.determined.all() and found.determined.all():
            determined += 1
            at = (q2, qd2)
            for name, wrench in joint_wrenches(
                mechanism, other, motions, poses, found, at
            ).items():
                assert np.abs(wrench - wrenches[name]).max() < 1e-8 * force_scale
    assert len(trees) > 1 or extra < 3
    return determined


@pytest.mark.parametrize("seed", [*range(20), 1018])
def test_motions_are_the_same(seed):
    """Random closed mechanisms of all types: all trees and numberings give equal motions.

    Springs and dampers are in all joints, wherever the trees put them.

    So they give equal mobilities, although numbers of variables and constraints differ; and where
    the forces are determined, equal forces through every joint. The mechanism of the last seed is
    overconstrained and cannot move at all.
    """
    compare(seed)


@pytest.mark.parametrize(("seed", "extra"), [(16, 3), (24, 3), (26, 3), (0, 1), (2, 1), (3, 1)])
def test_forces_through_joints_are_the_same(seed, extra):
    """With independent constraints, joints bear equal forces in all ten spanning trees."""
    assert compare(seed, extra) == 10


@pytest.mark.parametrize("seed", [26, 1, 3])
def test_least_velocities_are_the_same(seed):
    """The velocity with a joint's held and the least kinetic energy is the same in every tree that
    has the joint, as are the freedoms that are left with it held.
    """
    rng = np.random.default_rng(seed)
    mechanism, positions, first = random_mechanism(rng)
    models = [build(mechanism, gravity=GRAVITY, root="base", spanning_tree=first)]
    models += list(other_trees(rng, mechanism, first))
    found = {}
    for model in models:
        q = positions_of(model, positions)
        terms = closed_loop_terms(model, q, [0.0] * model.nv, parameters_of(model))
        K, H = np.array(terms.loops.K).reshape(-1, model.nv), np.array(terms.H)
        motions = constraint_rank(model, K, q=np.array(q)).motions
        for body, at in zip(model.bodies, model.v_slices, strict=True):
            name = body.joint.name
            # Joints of one freedom that can move, by whatever tree.
            if body.joint.type.nv != 1 or np.linalg.norm(motions[at]) < 1e-6:
                continue
            qd = consistent_velocity(model, K, np.zeros(model.nv), held={name: 1.0}, metric=H)
            sign = 1.0 if body.name == successor_of(mechanism, name) else -1.0
            links = link_motions(model, q, qd, 0 * qd)
            energy = 0.5 * qd @ H @ qd
            found.setdefault((name, sign), []).append((links, energy))
    assert any(len(trees) > 1 for trees in found.values())
    for trees in found.values():
        links, energy = trees[0]
        scale = max(np.abs(motion[:6]).max() for motion in links.values())
        for others, other_energy in trees[1:]:
            assert_allclose(other_energy, energy, rtol=1e-9)
            for name, motion in links.items():
                assert np.abs(others[name][:6] - motion[:6]).max() < 1e-9 * scale


def test_trees_without_loops_have_one_spanning_tree():
    """A tree's joints are all in the tree, whatever is asked for, and the numbers are the same."""
    rng = np.random.default_rng(0)
    mechanism, positions, first = random_mechanism(rng, extra=0)
    one = build(mechanism, root="base", spanning_tree=first)
    other = build(mechanism, root="base", spanning_tree="minimum depth")
    assert one.structure_key == other.structure_key
    assert one.loops == ()
    assert sorted(one.joint_names) == sorted(positions)
