# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Object impedance as a controller of one's own: two arms hold a box as springs and dampers do.

External impedance (F. Caccavale, P. Chiacchio, A. Marino, L. Villani, IEEE/ASME Transactions on
Mechatronics 13(5), 2008), with the natural inertia, so that no force is measured: the wrench of
both arms on the object, about its origin,

    h_E = K_E e + D_E e',        e: rotation vector and displacement from object to reference.

Internal impedance (R. G. Bonitz, T. C. Hsia, IEEE Transactions on Robotics and Automation 12(1),
1996) along the line between the hands, in the same way: the squeeze

    h_I = h_d + K_I (l - l_0) + D_I l',        l: distance of the hands, l_0: that of their grasps.

Both are measured here: the box is heavier than modelled and sinks by the weight over K_E; a grasp
is elsewhere than modelled, and the squeeze is K_I times as much.
"""

import numpy as np

import robot_dynamics as rd


class ObjectImpedance(rd.Controller):
    """Springs and dampers between object and reference, and between both hands.

    Args:
        stiffness: Of the object's position [N/m].
        damping: Likewise [N s/m].
        rotational_stiffness: Of its orientation [N m/rad].
        rotational_damping: Likewise [N m s/rad].
        internal_stiffness: Of the distance between the hands [N/m].
        internal_damping: Likewise [N s/m].
        joint_damping: Of all joint motion, times the arms' inertia [1/s].
    """

    def __init__(
        self,
        stiffness=5000.0,
        damping=700.0,
        rotational_stiffness=300.0,
        rotational_damping=30.0,
        internal_stiffness=2e4,
        internal_damping=200.0,
        joint_damping=2.0,
    ):
        self.K = np.repeat([rotational_stiffness, stiffness], 3)
        self.D = np.repeat([rotational_damping, damping], 3)
        self.K_I, self.D_I, self.joint_damping = (
            internal_stiffness,
            internal_damping,
            joint_damping,
        )

    def prepare(self, task):
        self.tools = [arm.tool for arm in task.system.arms]
        first, second = (grasp[:3, 3] for grasp in task.system.grasps)
        self.length = np.linalg.norm(second - first)

    def torque(self, seen):
        arms, joints = self.task.arms, self.task.joints
        q = np.zeros(arms.model.nv)
        q[joints] = seen.q
        hands = [arms.pose(tool, q)[:3, 3] for tool in self.tools]
        J = [arms.jacobian(tool, q, axes="aligned")[:, joints] for tool in self.tools]

        h_E = self.K * seen.error + self.D * (seen.reference_twist - seen.object_twist)
        line = hands[1] - hands[0]
        length = np.linalg.norm(line)
        line /= length
        rate = line @ ((J[1] - J[0]) @ seen.qd)[3:]
        squeeze = seen.reference_internal_force[0]
        h_I = squeeze + self.K_I * (length - self.length) + self.D_I * rate

        torque = seen.support - self.joint_damping * self.task.inertia(seen.q) @ seen.qd
        for hand, J_i, inwards in zip(hands, J, (line, -line), strict=True):
            force = 0.5 * h_E[3:]  # moved from the object's origin to the hand
            moment = 0.5 * h_E[:3] + np.cross(seen.object_pose[:3] - hand, force)
            torque += J_i.T @ np.concatenate([moment, force + h_I * inwards])
        return torque


def settled(*changes):
    """Return the run of a box that is held in one place, without friction in the joints."""
    ideal = ["reference={}", "acceptance={}", "plant.friction_scale=0", *changes]
    return rd.simulate("lift_box", controller=ObjectImpedance(), overrides=ideal, duration=2.5)


if __name__ == "__main__":
    heavy = settled("plant.object_mass_scale=1.2")
    z = heavy.recording["object_pose"][:, 2]
    weight = 0.2 * 10.0 * 9.81
    print(*heavy.report["failures"], sep="\n")
    print(f"external stiffness: {weight / (z[0] - z[-1]):.1f} N/m measured, 5000 N/m commanded")

    apart = settled("plant.grasp_error={right: {xyz: [0, 0, -0.001]}}")
    print(*apart.report["failures"], sep="\n")
    squeeze = apart.recording["internal_force"][-1, 0]
    print(f"internal stiffness: {squeeze / 0.001:.0f} N/m measured, 20000 N/m commanded")
