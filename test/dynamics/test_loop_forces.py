# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Forces through loop joints by the balance of every body, and drives in loop joints."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from dynamics.joint_mechanisms import EVERY, random_pose, random_state, random_tree
from numpy.testing import assert_allclose
from support.linkages import four_bar

from robot_dynamics.dynamics.inverse import inverse_dynamics
from robot_dynamics.dynamics.kinematics import joint_transforms
from robot_dynamics.dynamics.loop_frames import loop_frames
from robot_dynamics.model import WORLD, LoopElement, build, joint_type
from robot_dynamics.model.joints import Helical
from robot_dynamics.model.parameters import parameters_of
from robot_dynamics.robot import Robot
from robot_dynamics.spatial import Force, Vector3

pytestmark = pytest.mark.usefixtures("interpreted")

# The last link is free of the others, so that any loop joint leaves motions of its own.
TYPES = ["revolute", "spherical", "universal", "planar", "floating"]
ENDS = [("link3", "link4"), ("base", "link4"), ("link4", "base")]


def looped(kind, ends, seed=4):
    """Return a robot with springs, dampers and drives in a loop joint, and a state."""
    rng = np.random.default_rng(seed)
    parameters = EVERY.get(kind, {})
    nv = joint_type(kind, **parameters).nv
    data = {
        "stiffness": tuple(rng.uniform(1, 9, nv)),
        "damping": tuple(rng.uniform(1, 9, nv)),
        "active": True,
    }
    loop = LoopElement(
        "loop", kind, *ends, random_pose(rng), random_pose(rng), EVERY.get(kind, {})
    )
    if nv:
        loop = replace(loop, **data)
    model = build(random_tree(rng, TYPES).with_loops([loop]))
    q, qd, tau = random_state(rng, model)
    return Robot(model), np.array(q), np.array(qd), np.array(tau), rng.normal(size=nv)


def on_bodies(model, q, forces):
    """Return the forces of loop joints on the bodies, each in its body's coordinates."""
    frames = loop_frames(model, joint_transforms(model, list(q)), parameters_of(model), list(q))
    result = [Force.zero()] * len(model.bodies)
    for frame, values in zip(frames, forces, strict=True):
        p, s = frame.joint.predecessor, frame.joint.successor
        force = Force.of(list(values))
        if s != WORLD:
            result[s] = result[s] + frame.of_successor.inverse_times(force)
        if p != WORLD:
            result[p] = result[p] - frame.of_predecessor.inverse_times(force)
    return result


@pytest.mark.parametrize("ends", ENDS, ids="-".join)
@pytest.mark.parametrize("kind", [*EVERY, "fixed", "point_on_line", "edge_on_plane"])
def test_bodies_are_in_balance(kind, ends):
    """C8: the tree alone, pushed by the loop joints' forces, moves as the closed mechanism does.

    Inverse dynamics of the tree with these as external forces returns the drives' joint forces.
    """
    robot, q, qd, tau, efforts = looped(kind, ends)
    model = robot.model
    total = tau + robot.loop_drives(q) @ efforts
    if model.constraint_count:
        qdd, multipliers, pivot = robot.closed_loop(q, qd, total)
        assert pivot > 1e-6
    else:
        qdd, multipliers = robot.forward_dynamics(q, qd, total), np.zeros(0)
    forces = robot.loop_forces(q, qd, multipliers, efforts)
    assert forces.shape == (1, 6)
    assert np.abs(forces).max() > 1e-3
    tree = replace(model, loops=())
    found = inverse_dynamics(
        tree, list(q), list(qd), list(qdd), parameters_of(tree), on_bodies(model, q, forces)
    )
    # Times the condition of H and of K H^-1 K^T, some hundreds each.
    assert_allclose(found, tau, atol=1e-9 * max(1.0, np.abs(forces).max()))


def test_forces_are_those_of_each_loop_joint():
    """Multipliers of several loop joints and a batch of states go where they belong."""
    robot, q, qd, _, efforts = looped("cylindrical", ENDS[0])
    (one,) = robot.model.loops
    passive = {"stiffness": 0.0, "damping": 0.0, "active": False}
    weld = replace(one, name="weld", type=joint_type("fixed"), **passive)
    both = Robot(replace(robot.model, loops=(one, weld)))
    multipliers = np.arange(10.0)
    found = both.loop_forces(q, qd, multipliers, efforts)
    alone = robot.loop_forces(q, qd, multipliers[:4], efforts)
    assert_allclose(found[0], alone[0], atol=1e-14)
    assert_allclose(found[1], multipliers[4:], atol=1e-15)
    batch = both.loop_forces(np.stack([q, q]), np.stack([qd, qd]), multipliers, efforts)
    assert batch.shape == (2, 2, 6)
    assert_allclose(batch[1], found, atol=1e-15)


class OtherHelical(Helical):
    """The same screw, driven by a force along its axis in the place of a moment about it."""

    def active_forces(self, X):
        return (Force(Vector3.zero(), Vector3(0.0, 0.0, 1.0 / self.pitch)),)


def test_another_choice_of_T_a_moves_alike():
    """3.37: T_a is not unique. Another one changes the force of the bearing, never the motion.

    The spring acts through it as well as the drive.
    """
    robot, q, _, tau, efforts = looped("helical", ENDS[0])
    own = robot.model.loops[0]
    other = Robot(replace(robot.model, loops=(replace(own, type=OtherHelical(0.15)),)))
    # At rest: the loop is open, and a velocity off S would be felt by one damper alone.
    qd = np.zeros(robot.model.nv)
    found = []
    for one in (robot, other):
        qdd, multipliers, _ = one.closed_loop(q, qd, tau + one.loop_drives(q) @ efforts)
        found.append((qdd, multipliers, one.loop_forces(q, qd, multipliers, efforts)[0]))
    assert_allclose(found[0][0], found[1][0], atol=1e-9)
    assert np.abs(found[0][1] - found[1][1]).max() > 0.1
    # What the joint transmits as a whole does not depend on the choice.
    assert_allclose(found[0][2], found[1][2], atol=1e-9)


def test_drives_in_loops_are_drives_of_the_tree_swapped():
    """A drive in a joint moves the mechanism alike, be the joint in the tree or in a loop."""
    bar = four_bar("revolute")
    pin = replace(bar.loops[0], active=True)
    bar = replace(bar, loops=(pin,))
    one = Robot(build(bar))
    other = Robot(build(bar, spanning_tree=["pin", "rocker_joint", "coupler_joint"]))
    assert one.model.loop_drive_names == ("pin",)
    assert "pin" in other.model.joint_names
    assert other.model.loop_drive_names == ("crank_joint",)
    q = one.assemble(np.array([1.0, -1.0, -1.5]), held={"crank_joint": 1.0}).q
    names = one.model.joint_names
    at = dict(zip(names, q, strict=True)) | {"pin": float(q.sum())}
    q_other = np.array([at[name] for name in other.model.joint_names])
    assert_allclose(other.closure(q_other)[1], 0.0, atol=1e-12)
    still = np.zeros(3)
    effort = np.array([1.7])
    qdd = one.constrained_motion(q, still, one.loop_drives(q) @ effort).qdd
    tau = np.zeros(3)
    tau[other.model.joint_index("pin")] = effort[0]
    qdd_other = other.constrained_motion(q_other, still, tau).qdd
    rates = dict(zip(names, qdd, strict=True)) | {"pin": qdd.sum()}
    expected = [rates[name] for name in other.model.joint_names]
    assert np.abs(qdd).max() > 0.1
    assert_allclose(qdd_other, expected, atol=1e-10)


def test_without_loops_there_is_nothing():
    """A tree has no forces of loop joints and no drives in them."""
    model = build(random_tree(np.random.default_rng(0), TYPES))
    robot = Robot(model)
    q = np.array(model.neutral())
    assert robot.loop_forces(q, np.zeros(model.nv), np.zeros(0)).shape == (0, 6)
    assert robot.loop_drives(q).shape == (model.nv, 0)
