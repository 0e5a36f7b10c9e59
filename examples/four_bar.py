# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A four-bar linkage swings under gravity; its loop stays closed.

python examples/four_bar.py
"""

from pathlib import Path

import numpy as np

import robot_dynamics as rd

FILE = Path(__file__).with_name("four_bar.urdf")
DURATION = 5.0  # [s]
RATE = 20  # pictures per second
FILM = ""  # "four_bar.webp" makes a film, with the extra `view`


robot = rd.load(FILE)
# Turns about y take x towards -z: the crank begins 60 degrees up, turning.
start = robot.assemble(
    [-1.0, 0.5, -1.5], held={"crank_joint": -np.pi / 3}, velocities={"crank_joint": 8.0}
)
run = rd.integrate(robot, start.q, start.qd, DURATION, outputs=int(DURATION * RATE))
energy = np.abs(run.energy - run.energy[0]).max()
closed = run.closure_error.max() < 1e-9
print(f"closed to a nanometre: {closed}; energy kept to 1e-9 J: {energy < 1e-9}")
turns = np.abs(run.q[-1, 0] - run.q[0, 0]) / (2.0 * np.pi)
print(f"the crank made {turns:.1f} turns")

if FILM:
    from robot_dynamics.app.pictures.render import Camera, render_film, scene_of_robot

    scene = scene_of_robot(FILE, dict(zip(robot.model.joint_names, run.q.T, strict=True)), run.t)
    render_film(scene, FILM, RATE, size=(480, 270), camera=Camera(-75.0, 12.0))
