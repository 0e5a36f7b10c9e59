# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A controller for two arms and an object: a spring and a damper hold the box.

The wrench of both arms on the object, about its origin, is h_E = K e + D e', with e the rotation
vector and displacement from the object to its reference. A box that is heavier than modelled sinks
by the weight over K. `control.law: impedance` is such a law, shipped, with springs between the
hands, limits and gains by axis; this program shows how to write one.

python examples/object_impedance.py
"""

import numpy as np

import robot_dynamics as rd


class ObjectSpring(rd.Controller):
    """A spring and a damper between object and reference, and the squeeze of the reference.

    Args:
        stiffness: Of the object's position [N/m]; of its orientation a tenth of it [N m/rad].
        damping: Damping of position [N s/m] and, a tenth of it, of orientation [N m s/rad].
    """

    def __init__(self, stiffness=5000.0, damping=700.0):
        self.K, self.D = (np.repeat([0.1 * k, k], 3) for k in (stiffness, damping))

    def torque(self, seen):
        arms, joints = self.task.arms, self.task.joints
        q = np.zeros(arms.model.nv)
        q[joints] = seen.q
        tools = [arm.tool for arm in self.task.system.arms]
        hands = [arms.pose(tool, q)[:3, 3] for tool in tools]
        line = (hands[1] - hands[0]) / np.linalg.norm(hands[1] - hands[0])

        h_E = self.K * seen.error + self.D * (seen.reference_twist - seen.object_twist)
        squeeze = seen.reference_internal_force[0]
        torque = seen.support - 2.0 * self.task.inertia(seen.q) @ seen.qd  # damps self-motion
        for tool, hand, inwards in zip(tools, hands, (line, -line), strict=True):
            force = 0.5 * h_E[3:]  # moved from the object's origin to the hand
            moment = 0.5 * h_E[:3] + np.cross(seen.object_pose[:3] - hand, force)
            J = arms.jacobian(tool, q, axes="aligned")[:, joints]
            torque += J.T @ np.concatenate([moment, force + squeeze * inwards])
        return torque


if __name__ == "__main__":
    ideal = ["reference={}", "acceptance={}", "plant.friction_scale=0"]
    heavy = [*ideal, "plant.object_mass_scale=1.2"]
    run = rd.simulate("lift_box", controller=ObjectSpring(), overrides=heavy, duration=2.5)
    print(*run.report["failures"], sep="\n")
    z = run.recording["object_pose"][:, 2]
    print(f"stiffness: {0.2 * 10.0 * 9.81 / (z[0] - z[-1]):.1f} N/m measured, 5000 commanded")

    from matplotlib.figure import Figure

    axes = Figure(figsize=(6.0, 3.4), layout="constrained").subplots()
    axes.plot(run.recording["time"], 1e3 * (z - z[0]), label="box, 20 % too heavy")
    axes.axhline(-1e3 * 0.2 * 10.0 * 9.81 / 5000.0, color="gray", ls="--", label="weight over K")
    axes.set(xlabel="time [s]", ylabel="height [mm]")
    axes.legend()
    axes.figure.savefig("object_impedance.webp", dpi=80)
