# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Pinocchio as an oracle: the same mechanism in its conventions, answers in ours."""

from __future__ import annotations

import numpy as np
import pytest

from robot_dynamics.model import Mechanism, Model
from robot_dynamics.resources import ResourceNotFoundError, resolve_package_uri

pin = pytest.importorskip("pinocchio", exc_type=ImportError)

ROBOTS = {
    "panda": "panda_description/urdf/panda.urdf",
    "ur5": "ur_description/urdf/ur5_robot.urdf",
    "xarm7": "xarm_description/urdf/xarm7.urdf",
    "baxter": "baxter_description/urdf/baxter.urdf",
}


def robot_file(name: str) -> str:
    """Return the path of a real robot's URDF, or skip the test."""
    try:
        return str(resolve_package_uri(f"package://example-robot-data/robots/{ROBOTS[name]}"))
    except ResourceNotFoundError:
        pytest.skip("example-robot-data is not installed")


class Pinocchio:
    """A model of Pinocchio, and the permutations between its variables and ours.

    Pinocchio has linear parts first, may number joints otherwise, and its CRBA is wrong on trees
    that are not numbered depth first, so that H is made of columns of inverse dynamics here.

    Args:
        model: Our model.
        theirs: Pinocchio's model of the same mechanism, with the same names of joints.
    """

    def __init__(self, model: Model, theirs) -> None:
        self.model, self.theirs, self.data = model, theirs, theirs.createData()
        self.joints = [theirs.joints[theirs.getJointId(b.joint.name)] for b in model.bodies]
        at_v = []
        for joint, v in zip(self.joints, model.v_slices, strict=True):
            own = list(range(joint.idx_v, joint.idx_v + joint.nv))
            at_v += own[3:] + own[:3] if len(own) == 6 else own
            assert joint.nv == v.stop - v.start
        self.at_v = np.array(at_v, dtype=int)
        assert sorted(at_v) == list(range(theirs.nv))

    @classmethod
    def of_mechanism(cls, mechanism: Mechanism, model: Model) -> Pinocchio:
        """Return the oracle of a mechanism, built element by element."""
        theirs = pin.Model()
        theirs.gravity.linear = np.array(model.gravity)
        links = {link.name: link for link in mechanism.links}

        def add(name: str, joint_id: int, placement) -> None:
            link = links[name]
            if link.mass:
                inertia = pin.Inertia(link.mass, np.array(link.center), np.array(link.inertia))
                theirs.appendBodyToJoint(joint_id, inertia, placement)
            frame = pin.Frame(name, joint_id, 0, placement, pin.FrameType.BODY)
            theirs.addFrame(frame)
            for joint in mechanism.joints:
                if joint.parent != name:
                    continue
                at = placement * pin.SE3(joint.placement)
                if joint.type == "fixed":
                    add(joint.child, joint_id, at)
                    continue
                axis = np.array(joint.axis)
                kind = {
                    "revolute": lambda a=axis: pin.JointModelRevoluteUnaligned(a),
                    "prismatic": lambda a=axis: pin.JointModelPrismaticUnaligned(a),
                    "floating": lambda: pin.JointModelFreeFlyer(),
                }[joint.type]()
                child = theirs.addJoint(joint_id, kind, at, joint.name)
                add(joint.child, child, pin.SE3.Identity())

        add(mechanism.root, 0, pin.SE3.Identity())
        return cls(model, theirs)

    @classmethod
    def of_urdf(cls, path: str, model: Model) -> Pinocchio:
        """Return the oracle of a URDF, read by Pinocchio's own reader."""
        return cls(model, pin.buildModelFromUrdf(path))

    def q_of(self, q):
        """Return our positions (nq,) in Pinocchio's order."""
        theirs = np.empty(self.theirs.nq)
        for joint, at in zip(self.joints, self.model.q_slices, strict=True):
            own = q[at]
            if joint.nq == 2:  # an angle without limits is kept as its cosine and sine
                own = [np.cos(own[0]), np.sin(own[0])]
            theirs[joint.idx_q : joint.idx_q + joint.nq] = own
        return theirs

    def v_of(self, v):
        """Return our velocities, accelerations or forces (nv,) in Pinocchio's order."""
        theirs = np.empty(len(v))
        theirs[self.at_v] = v
        return theirs

    def inverse_dynamics(self, q, qd, qdd):
        """Return tau (nv,)."""
        result = pin.rnea(self.theirs, self.data, self.q_of(q), self.v_of(qd), self.v_of(qdd))
        return result[self.at_v]

    def forward_dynamics(self, q, qd, tau):
        """Return qdd (nv,)."""
        result = pin.aba(self.theirs, self.data, self.q_of(q), self.v_of(qd), self.v_of(tau))
        return result[self.at_v]

    def inertia_matrix(self, q):
        """Return H (nv, nv), column by column from inverse dynamics without gravity."""
        gravity = self.theirs.gravity.linear.copy()
        self.theirs.gravity.linear = np.zeros(3)
        rest = np.zeros(self.model.nv)
        columns = [self.inverse_dynamics(q, rest, unit) for unit in np.eye(self.model.nv)]
        self.theirs.gravity.linear = gravity
        return np.array(columns).T

    def pose(self, link: str, q):
        """Return the pose (4, 4) of a link."""
        pin.framesForwardKinematics(self.theirs, self.data, self.q_of(q))
        return self.data.oMf[self.theirs.getFrameId(link)].homogeneous

    def jacobian(self, link: str, q):
        """Return the Jacobian (6, nv) of a link in its own coordinates, angular first."""
        frame = self.theirs.getFrameId(link, pin.FrameType.BODY)
        J = pin.computeFrameJacobian(self.theirs, self.data, self.q_of(q), frame, pin.LOCAL)
        return J[[3, 4, 5, 0, 1, 2]][:, self.at_v]

    def closed_loop(self, q, qd, tau, proximal=None):
        """Return qdd (nv,) with all loops closed; fixed and spherical loop joints only.

        With `proximal`, the three settings of the proximal iteration: accuracy, mu, iterations.
        """
        models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
        names = [body.joint.name for body in self.model.bodies]

        def joint_of(body: int) -> int:
            return 0 if body < 0 else self.theirs.getJointId(names[body])

        for loop in self.model.loops:
            ends = []
            for body, X in (
                (loop.predecessor, loop.predecessor_placement),
                (loop.successor, loop.successor_placement),
            ):
                ends += [joint_of(body), pin.SE3(self._joint_frame(body) @ _pose(X))]
            spherical = loop.type.name == "spherical"
            kind = pin.ContactType.CONTACT_3D if spherical else pin.ContactType.CONTACT_6D
            models.append(pin.RigidConstraintModel(kind, self.theirs, *ends, pin.LOCAL))
            datas.append(models[len(models) - 1].createData())
        pin.initConstraintDynamics(self.theirs, self.data, models, datas)
        settings = () if proximal is None else (pin.ProximalSettings(*proximal),)
        state = (self.q_of(q), self.v_of(qd), self.v_of(tau))
        result = pin.constraintDynamics(self.theirs, self.data, *state, models, datas, *settings)
        return result[self.at_v]

    def _joint_frame(self, body: int):
        """Return the pose of our body frame in Pinocchio's joint frame: that of the child link."""
        if body < 0:
            return np.eye(4)
        link = self.model.link(self.model.bodies[body].name)
        return np.linalg.inv(_pose(link.placement))


def _pose(X):
    """Return the pose (4, 4) of the frame that a transform of floats leads into."""
    frame = np.eye(4)
    frame[:3, :3] = np.array(X.E.rows, dtype=float).T
    frame[:3, 3] = list(X.r)
    return frame
