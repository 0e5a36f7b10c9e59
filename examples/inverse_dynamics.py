# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The torques of any robot, from its URDF: one state, a batch of states, another gravity.

python examples/inverse_dynamics.py
"""

import numpy as np
from matplotlib.figure import Figure

import robot_dynamics as rd

FILE = "package://robot_dynamics/urdf/dual_arm.urdf"  # or the path of another URDF
ANGLE = 0.4  # position of every joint [rad]


robot = rd.load(FILE)
model = robot.model
q = np.full(model.nq, ANGLE)
rest = np.zeros(model.nv)

# The torques that hold the robot up.
tau = robot.inverse_dynamics(q, rest, rest)
for body, torque in zip(model.bodies, tau, strict=True):
    print(f"{body.joint.name:20s} {torque:8.3f} N m")

# Under these torques it does not accelerate.
qdd = robot.forward_dynamics(q, rest, tau)
print(f"largest acceleration under these torques: {np.abs(qdd).max():.1e} rad/s^2")

# A thousand states at once; arrays may have any leading dimensions.
states = np.random.default_rng(0).uniform(-0.5, 0.5, (3, 1000, model.nv))
batch = robot.inverse_dynamics(*states)
print(f"a batch of torques: {batch.shape}")

# The same robot without gravity shares the machine code.
floating = robot.replace(gravity=(0.0, 0.0, 0.0))
print(f"without gravity: {np.abs(floating.inverse_dynamics(q, rest, rest)).max():.1e} N m")

axes = Figure(figsize=(6.0, 3.4), layout="constrained").subplots()
axes.barh(model.joint_names, tau)
axes.invert_yaxis()
axes.set(xlabel="torque that holds the robot up [N m]")
axes.figure.savefig("inverse_dynamics.webp", dpi=80)
