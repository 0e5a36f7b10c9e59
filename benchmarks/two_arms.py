# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Two 7-joint arms that hold an object, for us and for Pinocchio."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from scipy.spatial.transform import Rotation

from benchmarks.closed_loops import ClosedLoop, Peer, consistent
from benchmarks.robots import file_of
from robot_dynamics.description.load import load_description
from robot_dynamics.manipulation.assembly import closed_configuration
from robot_dynamics.manipulation.grasping import ArmGrasp, grasp_system
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.model import LinkElement, Mechanism, joined, pose, pose_of
from robot_dynamics.robot import Robot

POSES, VELOCITIES = 8, 16
MASS, MOMENTS = 3.0, (0.05, 0.04, 0.05)
DOWN = Rotation.from_euler("x", np.pi).as_matrix()

# Tool link, locked joints, and a posture for each arm.
ARMS = {
    "xarm7": ("link7", {}, (0.0, 0.2, 0.0, 1.0, 0.0, 0.8, 0.0)),
    "panda": (
        "panda_link8",
        {"panda_finger_joint1": 0.0, "panda_finger_joint2": 0.0},
        (0.0, -0.3, 0.0, -2.2, 0.0, 2.0, 0.78),
    ),
}


def two_arms(name: str) -> ClosedLoop:
    """Return two arms of a kind and an object."""
    system = system_of(name)
    robot = Robot(system.model)
    if system.object_v.start != 14 or system.model.nv != 20:
        raise RuntimeError(f"{name}: expected both arms before the object.")
    return ClosedLoop(
        f"two {name} and an object", robot, states_of(system, robot), peer_of(name, system)
    )


def system_of(name: str) -> GraspSystem:
    """Return two arms of a kind side by side that hold a box from above."""
    tool, locked, posture = ARMS[name]
    arm = load_description(file_of(name)).mechanism.locked(locked)
    box = Mechanism("box", (LinkElement("box", MASS, inertia=np.diag(MOMENTS)),))
    parts = [
        (arm.prefixed("left_"), pose((0.0, 0.4, 0.0)), "fixed"),
        (arm.prefixed("right_"), pose((0.0, -0.4, 0.0)), "fixed"),
        (box, np.eye(4), "floating"),
    ]
    grasps = [
        ArmGrasp(side, f"{side}_{tool}", pose((0.0, y, 0.05), DOWN), posture, 0.5)
        for side, y in (("left", 0.2), ("right", -0.2))
    ]
    return grasp_system(joined("cell", parts), "box", grasps)


def peer_of(name: str, system: GraspSystem) -> Peer:
    """Return the same in Pinocchio: two appended arms, a free flyer, two 6D constraints."""
    _, locked, _ = ARMS[name]
    single = pin.buildModelFromUrdf(file_of(name))
    ids = [single.getJointId(joint) for joint in locked]
    single = pin.buildReducedModel(single, ids, pin.neutral(single))
    model = pin.Model()
    for prefix, y in (("left_", 0.4), ("right_", -0.4)):
        arm = single.copy()
        for i in range(1, arm.njoints):
            arm.names[i] = prefix + arm.names[i]
        for frame in arm.frames:
            frame.name = prefix + frame.name
        placement = pin.SE3(np.eye(3), np.array([0.0, y, 0.0]))
        model = pin.appendModel(model, arm, 0, placement)
    box = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "box")
    inertia = pin.Inertia(MASS, np.zeros(3), np.diag(MOMENTS))
    model.appendBodyToJoint(box, inertia, pin.SE3.Identity())
    closures = []
    for arm in system.arms:
        frame = model.frames[model.getFrameId(arm.tool)]
        on_box = pose_of(system.model.loops[arm.loop].successor_placement)
        ends = (frame.parentJoint, frame.placement, box, pin.SE3(on_box))
        closures.append((pin.ContactType.CONTACT_6D, *ends))
    return Peer(model, closures, floating=14)


def states_of(system: GraspSystem, robot: Robot) -> list[tuple[np.ndarray, ...]]:
    """Return closed states with matching velocities, and forces of the arms."""
    rng = np.random.default_rng(0)
    nv, states = system.model.nv, []
    for _ in range(POSES):
        x, y, z = np.array([0.45, 0.0, 0.3]) + 0.05 * rng.uniform(-1, 1, 3)
        turn = Rotation.from_rotvec(0.15 * rng.uniform(-1, 1, 3)).as_quat()
        q = closed_configuration(system, np.array([x, y, z, *turn]), terms=robot.constraint_terms)
        for qd in consistent(robot, q, rng.normal(size=(VELOCITIES, nv))):
            tau = np.zeros(nv)
            tau[system.v_index] = 10.0 * rng.normal(size=len(system.v_index))
            states.append((q, qd, tau))
    return states
