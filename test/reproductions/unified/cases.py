# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Swain and Morris's worked cases as systems."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.spatial.transform import Rotation
from support.mechanisms import (
    consistent_velocity,
    random_arm,
    random_link,
    random_pose,
    random_state,
    world_poses,
)
from support.papers import CASES, arm, frame, inertia

from robot_dynamics.model import (
    JointElement,
    LinkElement,
    LoopElement,
    Mechanism,
    pose,
    transform_of,
)
from robot_dynamics.reproductions.unified import unified_system
from robot_dynamics.robot import Robot

NAMES = [name for name in CASES if name.startswith("S")]


def system_of(case, *, springs=False):
    """Return the system of a case; the sprung base's force comes from outside unless told."""
    data, base = case["input"]["system"], case["input"]["system"]["base"]
    fixed = case["input"]["base"] == "fixed"
    at = pose(case["input"]["pb"], np.array(case["input"]["Rb"])) if fixed else np.eye(4)
    links = [
        LinkElement("world"),
        LinkElement("base", base["mass"], inertia=inertia(base["inertia"])),
    ]
    carrier = JointElement("b", "fixed" if fixed else "floating", "world", "base", at)
    joints, loops = [carrier], []
    for name, arm_data, mount in zip("ab", data["arms"], data["mounts"], strict=True):
        more_links, more_joints = arm(name, arm_data, ("base", frame(**mount)))
        links, joints = links + more_links, joints + more_joints
    if springs:
        springy = (case["input"]["s_b"], case["input"]["delta_b"])
        loops.append(
            LoopElement(
                "mount", "floating", "world", "base",
                stiffness=tuple(springy[0]), damping=tuple(springy[1]),
            )
        )  # fmt: skip
    held = LinkElement("held", data["obj"]["mass"], inertia=inertia(data["obj"]["inertia"]))
    grasps = [pose(grasp["p"], np.array(grasp["R"])) for grasp in data["grasps"]]
    robot = Mechanism("cell", tuple(links), tuple(joints), tuple(loops))
    return unified_system(robot, ("atool", "btool"), held, grasps, gravity=data["g"])


def state_of(case, system):
    """Return positions and velocities of the whole, and forces on base and passive joints."""
    data, model = case["input"], system.model
    q, qd = model.neutral(), np.zeros(model.nv)
    sizes = [len(arm["joints"]) for arm in data["system"]["arms"]]
    names = [f"{arm}q{i}" for arm, n in zip("ab", sizes, strict=True) for i in range(n)]
    at = [model.joint_index(name) for name in names]
    q[[model.q_slices[i].start for i in at]] = data["q"]
    qd[[model.v_slices[i].start for i in at]] = data["qd"]
    if data["base"] != "fixed":
        base = model.joint_index("b")
        q[model.q_slices[base]] = [*data["pb"], *Rotation.from_matrix(data["Rb"]).as_quat()]
        qd[model.v_slices[base]] = data["Vb"]
    # The object is where the first arm has it.
    tool = world_poses(model, q)["atool"]
    there = tool @ np.linalg.inv(system.grasps[0])
    body = system.object_body
    q[model.q_slices[body]] = [*there[:3, 3], *Rotation.from_matrix(there[:3, :3]).as_quat()]
    qd[model.v_slices[body]] = data["Vo"]
    return q, qd, np.array(data.get("f_b", []))


def random_unified(rng, base, joints, passive=0):
    """Return arms without structure on a base of a kind, that hold an object.

    Args:
        rng: Random numbers.
        base: A joint type, or "sprung" for a floating base on a spring.
        joints: How many each arm has.
        passive: How many of each arm have no drive.
    """
    kind = {"sprung": "floating"}.get(base, base)
    links = [LinkElement("world"), random_link(rng, "base")]
    carrier = JointElement("b", kind, "world", "base", random_pose(rng), active=False)
    elements, loops = [carrier], []
    tools = []
    for i, n in enumerate(joints):
        arm = random_arm(rng, f"arm{i}", n)
        still = {f"arm{i}_joint{j}" for j in range(2, 2 + passive)}
        mount = JointElement(f"mount{i}", "fixed", "base", arm.root, random_pose(rng))
        links += arm.links
        elements += [mount, *(replace(j, active=j.name not in still) for j in arm.joints)]
        tools.append(f"arm{i}_tool")
    if base == "sprung":
        springs = tuple(rng.uniform(100.0, 1000.0, 6))
        loops.append(
            LoopElement("spring", "floating", "world", "base", stiffness=springs, damping=10.0)
        )
    robot = Mechanism("cell", tuple(links), tuple(elements), tuple(loops))
    held = random_link(rng, "held")
    return unified_system(robot, tools, held, [random_pose(rng, 0.2) for _ in tools])


def random_states(rng, system, count):
    """Yield a system whose grasps are where its arms are, positions, and a velocity."""
    model = system.model
    q, qd, _ = random_state(rng, model, count)
    for position, velocity in zip(q, qd, strict=True):
        world = world_poses(model, position)
        to_object = np.linalg.inv(world["held"])
        grasps = tuple(to_object @ world[tool] for tool in system.tools)
        placements = {
            f"{tool}_grasp": transform_of(grasp)
            for tool, grasp in zip(system.tools, grasps, strict=True)
        }
        there = replace(system, model=model.replace(successor_placement=placements), grasps=grasps)
        H, _, K, *_ = Robot(there.model).constraint_terms(position, velocity)
        yield there, position, consistent_velocity(H, K, velocity)
