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

from robot_dynamics.dynamics.closed_loop import closed_loop_terms
from robot_dynamics.dynamics.redundant import rank_revealing_solution
from robot_dynamics.model import LinkElement, LoopElement, Mechanism, build, joint_type, pose_of
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
        loops.append(LoopElement(f"x{i}", kind, str(p), str(s), at, to, parameters_for(kind)))
    return open_chain.with_loops(loops), positions, [j.name for j in joints]


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


def accelerations(model, q, qd):
    """Return the motions of all links, the mobility and the scale of the accelerations."""
    terms = closed_loop_terms(model, list(q), list(qd), parameters_of(model))
    K = np.array(terms.loops.K).reshape(-1, model.nv)
    motion = rank_revealing_solution(
        model, np.array(terms.H), -np.array(terms.C), K, np.array(terms.loops.k)
    )
    return link_motions(model, q, qd, motion.qdd), model.nv - motion.rank


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


@pytest.mark.parametrize("seed", range(20))
def test_accelerations_of_bodies_are_the_same(seed):
    """Random closed mechanisms of all types: all trees and numberings give equal accelerations.

    So they give equal mobilities, although numbers of variables and constraints differ.
    """
    rng = np.random.default_rng(seed)
    mechanism, positions, first = random_mechanism(rng)
    model = build(mechanism, gravity=GRAVITY, root="base", spanning_tree=first)
    q = positions_of(model, positions)
    qd = closed_velocity(rng, model, q)
    expected, mobility = accelerations(model, q, qd)
    poses = world_poses(model, q)
    scale = max(np.abs(motion).max() for motion in expected.values())
    trees = set()
    for other in other_trees(rng, mechanism, first):
        trees.add(frozenset(other.joint_names))
        q2 = positions_of(other, positions)
        for name, frame in world_poses(other, q2).items():
            assert_allclose(frame, poses[name], atol=1e-12)
        qd2 = velocities_of(mechanism, expected, poses, positions, other)
        found, freedom = accelerations(other, q2, qd2)
        assert freedom == mobility
        for name, motion in expected.items():
            # Condition numbers of constrained systems with loops drawn at random reach 1e6.
            assert np.abs(found[name] - motion).max() < 1e-8 * scale
    assert len(trees) > 1


def test_trees_without_loops_have_one_spanning_tree():
    """A tree's joints are all in the tree, whatever is asked for, and the numbers are the same."""
    rng = np.random.default_rng(0)
    mechanism, positions, first = random_mechanism(rng, extra=0)
    one = build(mechanism, root="base", spanning_tree=first)
    other = build(mechanism, root="base", spanning_tree="minimum depth")
    assert one.structure_key == other.structure_key
    assert one.loops == ()
    assert sorted(one.joint_names) == sorted(positions)
