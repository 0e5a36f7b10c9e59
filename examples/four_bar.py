# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A four-bar linkage swings under gravity, its loop closed all the time, and a film is made of it.

python examples/four_bar.py [FILM.webp]
"""

import sys
from pathlib import Path

import numpy as np

import robot_dynamics as rd
from robot_dynamics.app.command_line.arguments import film_file, picture_argument

FILE = Path(__file__).with_name("four_bar.urdf")
RATE = 20  # pictures a second


def main(film: str = "") -> None:
    """Integrate the motion, print how exact it is, and make a film if a file is named."""
    robot = rd.load(FILE)
    # Turns about y take x towards -z: the crank begins 60 degrees up, turning.
    start = robot.assemble(
        [-1.0, 0.5, -1.5], held={"crank_joint": -np.pi / 3}, velocities={"crank_joint": 8.0}
    )
    run = rd.integrate(robot, start.q, start.qd, duration=5.0, outputs=5 * RATE)
    energy = np.abs(run.energy - run.energy[0]).max()
    closed = run.closure_error.max() < 1e-9
    print(f"closed to a nanometre: {closed}; energy kept to 1e-9 J: {energy < 1e-9}")
    turns = np.abs(run.q[-1, 0] - run.q[0, 0]) / (2.0 * np.pi)
    print(f"the crank made {turns:.1f} turns")

    if film:
        from robot_dynamics.app.pictures.render import Camera, render_film
        from robot_dynamics.app.pictures.visual_scene import scene_of_robot

        scene = scene_of_robot(
            FILE, dict(zip(robot.model.joint_names, run.q.T, strict=True)), run.t
        )
        render_film(scene, film, RATE, size=(480, 270), camera=Camera(-75.0, 12.0))
        print(f"written: {film}")


if __name__ == "__main__":
    try:
        main(picture_argument(__doc__, film_file))
    except rd.RobotDynamicsError as error:
        sys.exit(f"{sys.argv[0]}: {error}")
