# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The torques of any robot, from its URDF: one state, a batch of states, another gravity.

python examples/inverse_dynamics.py [FILE.urdf [FIGURE.webp]]
"""

import argparse
import sys

import numpy as np

import robot_dynamics as rd
from robot_dynamics.app.command_line.arguments import figure_file

ARMS = "package://robot_dynamics/urdf/dual_arm.urdf"


def main(path: str = ARMS, figure: str | None = None) -> None:
    """Print what holds the robot up, and check the answer by the opposite question."""
    robot = rd.load(path)
    model = robot.model
    q = np.full(model.nq, 0.4)  # every joint at 0.4 rad
    rest = np.zeros(model.nv)

    # The torques that hold the robot up where it is.
    tau = robot.inverse_dynamics(q, rest, rest)
    for body, torque in zip(model.bodies, tau, strict=True):
        print(f"{body.joint.name:20s} {torque:8.3f} N m")

    # What the robot does under them: nothing.
    qdd = robot.forward_dynamics(q, rest, tau)
    print(f"largest acceleration under these torques: {np.abs(qdd).max():.1e} rad/s^2")

    # A thousand states at once; arrays may have any leading dimensions.
    states = np.random.default_rng(0).uniform(-0.5, 0.5, (3, 1000, model.nv))
    batch = robot.inverse_dynamics(*states)
    print(f"a batch of torques: {batch.shape}")

    # The same robot without gravity shares the machine code.
    floating = robot.replace(gravity=(0.0, 0.0, 0.0))
    print(f"without gravity: {np.abs(floating.inverse_dynamics(q, rest, rest)).max():.1e} N m")

    if figure:
        from matplotlib.figure import Figure

        axes = Figure(figsize=(6.0, 3.4), layout="constrained").subplots()
        axes.barh(model.joint_names, tau)
        axes.invert_yaxis()
        axes.set(xlabel="torque that holds the robot up [N m]")
        axes.figure.savefig(figure, dpi=80)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", default=ARMS, help="the URDF of a robot")
    parser.add_argument("figure", nargs="?", type=figure_file, help="the file of a figure to draw")
    options = parser.parse_args()
    try:
        main(options.file, options.figure)
    except rd.RobotDynamicsError as error:
        sys.exit(f"{sys.argv[0]}: {error}")
