# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Closed-loop forward dynamics of two 7-joint arms that hold an object."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from scipy.spatial.transform import Rotation

from benchmarks.robots import file_of
from benchmarks.rows import Row
from benchmarks.timing import interleaved
from benchmarks.trees import CALLS, host_lanes
from robot_dynamics.compile import algorithms
from robot_dynamics.description.load import load_description
from robot_dynamics.manipulation.assembly import closed_configuration
from robot_dynamics.manipulation.system import ArmGrasp, GraspSystem, grasp_system
from robot_dynamics.model import LinkElement, Mechanism, joined, pose, pose_of
from robot_dynamics.robot import Robot

# Pinocchio regularises the constraints by 1e-12 or so: it is right to nine digits.
TOLERANCE = 1e-9
BAR = 1 / 4
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


class Peer:
    """The same system in Pinocchio: two appended arms, a free flyer, two 6D constraints."""

    def __init__(self, name: str, system: GraspSystem) -> None:
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
        self.constraints = pin.StdVec_RigidConstraintModel()
        self.constraint_datas = pin.StdVec_RigidConstraintData()
        for arm in system.arms:
            frame = model.frames[model.getFrameId(arm.tool)]
            on_box = pose_of(system.model.loops[arm.loop].successor_placement)
            on_arm = (frame.parentJoint, frame.placement)
            ends = (*on_arm, box, pin.SE3(on_box), pin.LOCAL)
            self.constraints.append(
                pin.RigidConstraintModel(pin.ContactType.CONTACT_6D, model, *ends)
            )
            last = self.constraints[len(self.constraints) - 1]
            self.constraint_datas.append(last.createData())
        self.model, self.data = model, model.createData()
        pin.initConstraintDynamics(model, self.data, self.constraints, self.constraint_datas)
        if system.object_v.start != 14 or model.nv != 20:
            raise RuntimeError(f"{name}: expected both arms before the object.")

    @staticmethod
    def reordered(v: np.ndarray) -> np.ndarray:
        """Return velocities with the object's linear part first, or back again."""
        return np.concatenate([v[:14], v[17:20], v[14:17]])

    def __call__(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        return pin.constraintDynamics(
            self.model, self.data, q, v, tau, self.constraints, self.constraint_datas
        )


def states_of(system: GraspSystem, robot: Robot) -> list[tuple[np.ndarray, ...]]:
    """Return closed states with matching velocities, and forces of the arms."""
    rng = np.random.default_rng(0)
    nv, states = system.model.nv, []
    for _ in range(POSES):
        x, y, z = np.array([0.45, 0.0, 0.3]) + 0.05 * rng.uniform(-1, 1, 3)
        turn = Rotation.from_rotvec(0.15 * rng.uniform(-1, 1, 3)).as_quat()
        q = closed_configuration(system, np.array([x, y, z, *turn]), terms=robot.constraint_terms)
        H, _, K, *_ = robot.constraint_terms(q, np.zeros(nv))
        HK = np.linalg.solve(H, K.T)
        for qd in rng.normal(size=(VELOCITIES, nv)):
            tau = np.zeros(nv)
            tau[system.v_index] = 10.0 * rng.normal(size=len(system.v_index))
            states.append((q, qd - HK @ np.linalg.solve(K @ HK, K @ qd), tau))
    return states


def rows_of(name: str, rounds: int) -> list[Row]:
    """Return the rows of two arms of a kind."""
    system = system_of(name)
    robot = Robot(system.model)
    peer = Peer(name, system)
    states = states_of(system, robot)
    theirs_of = [(q, peer.reordered(qd), peer.reordered(tau)) for q, qd, tau in states]
    worst = 0.0
    for ours, theirs in zip(states, theirs_of, strict=True):
        expected = peer.reordered(peer(*theirs))
        error = np.max(np.abs(robot.forward_dynamics(*ours) - expected))
        condition = np.linalg.cond(robot.inertia_matrix(ours[0]))
        if not error < TOLERANCE * np.max(np.abs(expected)):
            raise AssertionError(f"two {name}: closed loop off by {error:.1e}.")
        worst = max(worst, float(error / np.max(np.abs(expected)) / condition))

    arrays = [np.array(column) for column in zip(*states, strict=True)]
    scalar = algorithms.bound(
        system.model,
        "closed_loop",
        lambda: algorithms.closed_loop_program(system.model),
        lanes=1,
    )
    forward, batch = robot.forward_dynamics, robot.closed_loop
    few, few_theirs = states[:CALLS], theirs_of[:CALLS]
    nothing = pin.Model()
    no_data, none = nothing.createData(), np.zeros(0)
    no_models, no_datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    pin.initConstraintDynamics(nothing, no_data, no_models, no_datas)

    def calls() -> None:
        for q, qd, tau in few:
            forward(q, qd, tau)

    def pin_calls() -> None:
        for q, qd, tau in few_theirs:
            peer(q, qd, tau)

    def empty_calls() -> None:
        for _ in few:
            pin.constraintDynamics(nothing, no_data, none, none, none, no_models, no_datas)

    functions = {
        "loop": lambda: scalar(*arrays),
        "batch": lambda: batch(*arrays),
        "call": calls,
        "pin": pin_calls,
        "empty": empty_calls,
    }
    count = {"loop": len(states), "batch": len(states)}
    timings = interleaved(functions, {f: count.get(f, len(few)) for f in functions}, rounds)
    return [
        Row.of(
            timings[mode],
            timings["pin"],
            None if mode == "call" else timings["empty"],
            robot=f"two {name} and an object",
            algorithm="closed_loop",
            mode=mode,
            lanes=host_lanes() if mode == "batch" else 1,
            peer="pin.constraintDynamics" + ("" if mode == "call" else " less an empty call"),
            max_rel_error=worst,
            bar=BAR if mode == "loop" else None,
        )
        for mode in ("loop", "batch", "call")
    ]
