# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Tracking errors if the mass of the box differs from the modelled one.

python examples/wrong_payload.py [FIGURE.webp]

Every run uses the same machine code: payloads are parameters, not part of the program.
"""

import sys

from matplotlib.figure import Figure

import robot_dynamics as rd
from robot_dynamics.app.command_line.arguments import picture_argument


def main(figure: str = "", scales: tuple[float, ...] = (0.8, 1.0, 1.2)) -> None:
    """Run the scenario with several true payloads, print the errors, and draw them if asked."""
    axes = Figure(figsize=(6.0, 3.4), layout="constrained").subplots()
    for scale in scales:
        run = rd.simulate("lift_box", overrides=[f"plant.object_mass_scale={scale}"])
        report = run.report
        print(
            f"true mass {scale:.1f} x modelled: "
            f"{1e3 * report['object_position_error_max_m']:6.3f} mm at most, "
            f"{1e3 * report['object_position_error_settled_m']:6.3f} mm at rest, "
            f"{100 * report['torque_fraction_of_limit_max']:.0f} % of the torque limits"
        )
        error = run.recording["object_pose"] - run.recording["reference_pose"]
        axes.plot(run.recording["time"], 1e3 * error[:, 2], label=f"{scale:g} x the modelled mass")
    axes.set(xlabel="time [s]", ylabel="box above its reference [mm]", xlim=(0.0, 1.0))
    axes.legend()
    if figure:
        axes.figure.savefig(figure, dpi=80)


if __name__ == "__main__":
    try:
        main(picture_argument(__doc__))
    except rd.RobotDynamicsError as error:
        sys.exit(f"{sys.argv[0]}: {error}")
