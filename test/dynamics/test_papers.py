# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Closed-loop dynamics reproduce worked cases of three papers on arms that hold an object.

The cases are those of `support/papers.py`.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation
from support.mechanisms import weld, world_poses
from support.papers import CASES, RTOL, arm, close_to, frame, inertia

from robot_dynamics.dynamics.closed_loop import closed_loop_forward_dynamics, closed_loop_terms
from robot_dynamics.model import JointElement, LinkElement, Mechanism, build, pose
from robot_dynamics.model.parameters import parameters_of


class State:
    """Vectors of a model, filled in by the names of joints."""

    def __init__(self, model):
        self.model = model
        self.q, self.qd, self.tau = model.neutral(), np.zeros(model.nv), np.zeros(model.nv)

    def at(self, name):
        index = self.model.joint_index(name)
        return self.model.q_slices[index], self.model.v_slices[index]

    def arms(self, sizes):
        """Return the indices of the joints of arms `a` and `b` in the velocities."""
        names = [f"{arm}q{i}" for arm, n in zip("ab", sizes, strict=True) for i in range(n)]
        return [self.at(name)[1].start for name in names], [self.at(n)[0].start for n in names]

    def place(self, name, R, p, V):
        at_q, at_v = self.at(name)
        self.q[at_q] = [*p, *Rotation.from_matrix(R).as_quat()]
        self.qd[at_v] = V


def accelerations(model, state):
    """Return qdd (nv,) and the multipliers (n^c,)."""
    qdd, multipliers, _ = closed_loop_forward_dynamics(
        model, state.q.tolist(), state.qd.tolist(), state.tau.tolist(), parameters_of(model)
    )
    return np.array(qdd), np.array(multipliers)


@pytest.mark.parametrize("name", [n for n in CASES if n.startswith("S")])
def test_swain_and_morris(name):
    """Arms on a fixed, flying or sprung base that hold an object: all accelerations and forces."""
    case, answer = CASES[name]["input"], CASES[name]["output"]
    system = case["system"]
    base, held = system["base"], system["obj"]
    fixed = case["base"] == "fixed"
    Rb, pb = np.array(case["Rb"]), np.array(case["pb"])
    links = [
        LinkElement("world"),
        LinkElement("base", base["mass"], inertia=inertia(base["inertia"])),
        LinkElement("held", held["mass"], inertia=inertia(held["inertia"])),
    ]
    at = pose(pb, Rb) if fixed else np.eye(4)
    joints = [
        JointElement("b", "fixed" if fixed else "floating", "world", "base", at),
        JointElement("o", "floating", "world", "held"),
    ]
    loops, sizes = [], []
    for arm_name, data, mount, grasp in zip(
        "ab", system["arms"], system["mounts"], system["grasps"], strict=True
    ):
        more_links, more_joints = arm(arm_name, data, ("base", frame(**mount)))
        links, joints = links + more_links, joints + more_joints
        on_object = pose(grasp["p"], np.array(grasp["R"]))
        loops.append(weld(f"{arm_name}grasp", f"{arm_name}tool", "held", np.eye(4), on_object))
        sizes.append(len(data["joints"]))
    mechanism = Mechanism("cell", tuple(links), tuple(joints), tuple(loops))
    model = build(mechanism, gravity=system["g"])

    state = State(model)
    at_v, at_q = state.arms(sizes)
    state.q[at_q], state.qd[at_v], state.tau[at_v] = case["q"], case["qd"], case["T"]
    if not fixed:
        state.place("b", Rb, pb, case["Vb"])
        state.tau[state.at("b")[1]] = case["f_b"]
    # The object's place follows from the first arm, its velocity is given.
    tool = world_poses(model, state.q)["atool"]
    object_pose = tool @ np.linalg.inv(pose(system["grasps"][0]["p"], system["grasps"][0]["R"]))
    state.place("o", object_pose[:3, :3], object_pose[:3, 3], case["Vo"])
    assert_allclose(object_pose[:3, :3], case["Ro"], atol=1e-9)

    terms = closed_loop_terms(model, state.q.tolist(), state.qd.tolist(), parameters_of(model))
    H, C = np.array(terms.H), np.array(terms.C)
    assert np.max(np.abs(terms.loops.position_error)) < 1e-9
    assert np.max(np.abs(terms.loops.velocity_error)) < 1e-9
    qdd, multipliers = accelerations(model, state)
    close_to(qdd[at_v], answer["qdd"])
    close_to(qdd[state.at("o")[1]], answer["Vo_dot"])
    # Loop forces are by the tool on the object, in the frame that both share.
    close_to(multipliers, answer["f_e"])
    close_to(C[at_v], answer["Ca"])
    if fixed:
        close_to(H[np.ix_(at_v, at_v)], answer["Ma"])
    else:
        base_v = state.at("b")[1]
        close_to(qdd[base_v], answer["Vb_dot"])
        close_to(H[base_v, base_v], answer["Mp"])
        close_to(C[base_v], answer["Cp"])


def test_unserens_arms_have_the_published_accelerations():
    """Two arms that each hold half of a rigid object: accelerations, and the force between."""
    case = CASES["U3 rigid (weld) 6+6"]
    system, answer = case["input"]["system"], case["output"]
    links, joints, tools = [LinkElement("world")], [], []
    for name, number in (("a", 0), ("b", 1)):
        body = system["body"][number]
        half = LinkElement(f"{name}half", body["mass"], tuple(body["r"]), inertia(body["inertia"]))
        base = ("world", frame(**system[f"base{number + 1}"]))
        more_links, more_joints = arm(name, system[f"arm{number + 1}"], base, half)
        links, joints = links + more_links, joints + more_joints
        tools.append(half.name)
    tree = build(Mechanism("tree", tuple(links), tuple(joints)), gravity=system["g"])
    state = State(tree)
    at_v, at_q = state.arms((6, 6))
    state.q[at_q] = case["input"]["q"]
    ends = [world_poses(tree, state.q)[tool] for tool in tools]
    points = [end @ [*body["rl"], 1.0] for end, body in zip(ends, system["body"], strict=True)]
    assert_allclose(points[0], points[1], atol=1e-9)
    # The weld keeps the relative orientation that the arms have now.
    relative = ends[1][:3, :3].T @ ends[0][:3, :3]
    loop = weld(
        "weld", *tools,
        pose(system["body"][0]["rl"]), pose(system["body"][1]["rl"], relative),
    )  # fmt: skip
    model = build(Mechanism("closed", tuple(links), tuple(joints), (loop,)), gravity=system["g"])
    state.qd[at_v], state.tau[at_v] = case["input"]["qd"], case["input"]["tau"]
    qdd, multipliers = accelerations(model, state)
    close_to(qdd[at_v], answer["qdd"])
    turn = ends[0][:3, :3]
    force, moment = turn @ multipliers[3:], turn @ multipliers[:3]
    close_to(np.concatenate([force, moment]), answer["f_cs2"])


def test_yoshikawa_and_zheng():
    """Two arms that press an object on a plane: their X of (31), the plane's force given."""
    case = CASES["Y3 two 7R rigid, plane, rpy"]
    data, answer = case["input"], case["output"]["forward"]
    system = data["system"]
    held = LinkElement("held", system["obj"]["mass"], inertia=inertia(system["obj"]["inertia"]))
    links, joints, loops = [LinkElement("world"), held], [], []
    joints.append(JointElement("o", "floating", "world", "held"))
    for name, arm_data, base in zip("ab", system["arms"], system["bases"], strict=True):
        more_links, more_joints = arm(name, arm_data, ("world", frame(**base)))
        links, joints = links + more_links, joints + more_joints
    tree = build(Mechanism("tree", tuple(links), tuple(joints)), gravity=system["g"])
    state = State(tree)
    at_v, at_q = state.arms((7, 7))
    state.q[at_q], state.qd[at_v], state.tau[at_v] = data["q"], data["qd"], data["tau"]
    (x, y, z, roll, pitch, yaw), rate = data["r"], np.array(data["rd"])
    R = Rotation.from_euler("xyz", [roll, pitch, yaw]).as_matrix()
    sp, cp, sy, cy = np.sin(pitch), np.cos(pitch), np.sin(yaw), np.cos(yaw)
    w = np.array([[cy * cp, -sy, 0], [sy * cp, cy, 0], [-sp, 0, 1]]) @ rate[3:]
    state.place("o", R, (x, y, z), [*(R.T @ w), *(R.T @ rate[:3])])
    # p = z is the plane; it pushes back along -z at the centre of mass.
    push = -answer["f_F"][0] * R.T @ [0.0, 0.0, 1.0]
    state.tau[state.at("o")[1]] = [0.0, 0.0, 0.0, *push]
    at = pose((x, y, z), R)
    for name, grasp in zip("ab", system["grasps"], strict=True):
        on_object = frame(grasp["xyz"], grasp["rpy"])
        tool = world_poses(tree, state.q)[f"{name}tool"]
        on_tool = np.linalg.inv(tool) @ at @ on_object
        assert_allclose(on_tool[:3, 3], 0.0, atol=1e-9)
        loops.append(weld(name, f"{name}tool", "held", on_tool, on_object))
    mechanism = Mechanism("closed", tuple(links), tuple(joints), tuple(loops))
    model = build(mechanism, gravity=system["g"])
    qdd, multipliers = accelerations(model, state)
    close_to(qdd[at_v], answer["qdd"])
    # Theirs has forces before moments.
    forces = multipliers.reshape(2, 6)[:, [3, 4, 5, 0, 1, 2]]
    close_to(forces.ravel(), answer["F_hS"])
    # The object's spatial acceleration keeps its centre in the plane: d^2 z / dt^2 = 0.
    at_o = state.at("o")[1]
    classical = qdd[at_o][3:] + np.cross(state.qd[at_o][:3], state.qd[at_o][3:])
    assert abs((R @ classical)[2]) < RTOL * np.max(np.abs(qdd))
