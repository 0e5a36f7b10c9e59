# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The robots of the benchmarks, each read by us, by Pinocchio, and rebuilt in MuJoCo."""

from __future__ import annotations

from functools import cached_property

import mujoco
import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from robot_dynamics.description.load import load_description
from robot_dynamics.model import WORLD, Model, build, pose_of
from robot_dynamics.resources import resolve_package_uri
from robot_dynamics.robot import Robot

Array = NDArray[np.float64]

FILES = {
    "panda": "panda_description/urdf/panda.urdf",
    "ur5": "ur_description/urdf/ur5_robot.urdf",
    "xarm7": "xarm_description/urdf/xarm7.urdf",
    "baxter": "baxter_description/urdf/baxter.urdf",
}
STATES = 1000


def file_of(name: str) -> str:
    """Return the path of a robot's URDF in example-robot-data."""
    return str(resolve_package_uri(f"package://example-robot-data/robots/{FILES[name]}"))


class Subject:
    """A robot with random states, its kernels, and its models in other libraries.

    Args:
        name: One of `FILES`.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        path = file_of(name)
        self.model = build(load_description(path).mechanism)
        self.robot = Robot(self.model)
        self.pin_model = pin.buildModelFromUrdf(path)
        self.pin_data = self.pin_model.createData()
        # Pinocchio numbers joints by its own order; all of them have one variable here.
        self.order = np.array(
            [self.pin_model.idx_vs[self.pin_model.getJointId(n)] for n in self.model.joint_names]
        )
        rng = np.random.default_rng(0)
        self.q = rng.uniform(-2.0, 2.0, (STATES, self.model.nq))
        self.qd, self.x = rng.normal(size=(2, STATES, self.model.nv))
        self.pin_q, self.pin_qd, self.pin_x = (
            array[:, np.argsort(self.order)].copy() for array in (self.q, self.qd, self.x)
        )

    def pin_inertia_matrices(self) -> Array:
        """Return H (STATES, nv, nv) in our order, made of columns of Pinocchio's inverse dynamics.

        Its CRBA is wrong on trees that are not numbered depth first.
        """
        gravity = self.pin_model.gravity.linear.copy()
        self.pin_model.gravity.linear = np.zeros(3)
        rest, units = np.zeros(self.model.nv), np.eye(self.model.nv)[self.order]
        H = [
            [pin.rnea(self.pin_model, self.pin_data, q, rest, unit)[self.order] for unit in units]
            for q in self.pin_q
        ]
        self.pin_model.gravity.linear = gravity
        return np.array(H)  # symmetric: rows are columns

    @cached_property
    def mujoco_model(self) -> mujoco.MjModel:
        """The same tree in MuJoCo, without contacts."""
        return mujoco_model(self.model)


def mujoco_model(model: Model) -> mujoco.MjModel:
    """Return a tree of revolute and prismatic joints as a model of MuJoCo, contacts off."""
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    spec.compiler.balanceinertia = True  # descriptions with impossible inertias
    spec.compiler.boundmass = spec.compiler.boundinertia = 1e-9  # and with massless bodies
    spec.option.gravity = model.gravity
    spec.option.disableflags = mujoco.mjtDisableBit.mjDSBL_CONTACT
    bodies = []
    for i, body in enumerate(model.bodies):
        parent = spec.worldbody if body.parent == WORLD else bodies[body.parent]
        frame = pose_of(body.placement)
        quaternion = np.empty(4)
        mujoco.mju_mat2Quat(quaternion, frame[:3, :3].ravel())
        mass, *rest = body.inertia.components()
        h, six = np.array(rest[:3]), rest[3:]
        center = h / mass if mass else np.zeros(3)
        about_origin = np.array(
            [[six[0], six[1], six[3]], [six[1], six[2], six[4]], [six[3], six[4], six[5]]]
        )
        about_center = about_origin - mass * (
            center @ center * np.eye(3) - np.outer(center, center)
        )
        own = parent.add_body(name=f"b{i}", pos=frame[:3, 3], quat=quaternion)
        own.explicitinertial = True
        own.mass, own.ipos = max(mass, 1e-9), center
        xx, yy, zz = np.diag(about_center)
        own.fullinertia = [xx, yy, zz, about_center[0, 1], about_center[0, 2], about_center[1, 2]]
        kind = {
            "revolute": mujoco.mjtJoint.mjJNT_HINGE,
            "prismatic": mujoco.mjtJoint.mjJNT_SLIDE,
        }[body.joint.type.name]
        own.add_joint(name=f"j{i}", type=kind, axis=[0, 0, 1])
        bodies.append(own)
    return spec.compile()


def mujoco_inertia_matrix(model: mujoco.MjModel, data: mujoco.MjData, full: Array) -> None:
    """Write H (nv, nv) at the positions in `data` to `full`."""
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mujoco.mj_crb(model, data)
    if hasattr(data, "qM"):  # before MuJoCo 3.4
        mujoco.mj_fullM(model, full, data.qM)
    else:
        mujoco.mj_fullM(model, data, full)
