# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Frames of two arms: poses, velocities, wrenches, and inverse kinematics.

python examples/frames_and_kinematics.py
"""

import numpy as np

import robot_dynamics as rd

FILE = "package://robot_dynamics/urdf/dual_arm.urdf"
PICTURE = ""  # "frames_and_kinematics.png" draws the arms, with the extra `view`

np.set_printoptions(precision=3, suppress=True)
robot = rd.load(FILE)
start = np.tile([0.1, 0.5, -0.1, 1.2, 0.2, 0.9, 0.1], 2)

# A new frame, 5 cm in front of the left tool.
tip = np.eye(4)
tip[2, 3] = 0.05
robot = robot.with_frame("tip", "left_tool", tip)
print("the tip is at", robot.pose("tip", start)[:3, 3])

# Its velocity (angular, then linear) in axes of the world, and the acceleration at constant qd.
qd = np.full(robot.model.nv, 0.3)
print("its velocity:", robot.velocity("tip", start, qd, "aligned"))
bias = robot.bias_acceleration("tip", start, qd, "aligned", classical=True)
print("its acceleration at constant joint velocities:", bias[3:])

# Joint torques under a force of 10 N on the tip.
push = robot.external_forces(start, {"tip": [0.0, 0.0, 0.0, 0.0, 0.0, -10.0]}, "aligned")
weight = robot.gravity(start)
print(f"largest torque: {np.abs(weight).max():.2f} N m, {np.abs(weight - push).max():.2f} pushed")

# Both hands 10 cm higher, the joints within their limits.
targets = {name: robot.pose(name, start) for name in ("left_tool", "right_tool")}
for target in targets.values():
    target[2, 3] += 0.1
found = robot.inverse_kinematics(targets, q0=start)
print(found)
rise = robot.center_of_mass(found.q) - robot.center_of_mass(start)
print(f"the centre of mass rises by {1e3 * rise[2]:.1f} mm")

if PICTURE:
    from robot_dynamics.app.pictures.render import Camera, render_still, scene_of_robot

    names = robot.model.joint_names
    scene = scene_of_robot(FILE, dict(zip(names, found.q, strict=True)))
    render_still(scene, PICTURE, 0.0, size=(480, 270), camera=Camera())

# A target out of reach is not an error: the result has the remaining distance.
print(robot.inverse_kinematics("tip", [0.0, 0.0, 5.0], start))
