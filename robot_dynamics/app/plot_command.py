# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The command `robot_dynamics plot`: the figure of a recorded run."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from robot_dynamics.app.output_files import require_parent


def add_plot(commands: Any) -> argparse.ArgumentParser:
    """Add the command to the subparsers of a command line, and return its parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "plot",
        help="draw a recorded run",
        description="Draw a run from its recording: .npz or .mcap as this package writes them, "
        "or a bag that `ros2 bag record` made of the controller's topics. Several files of one "
        "run, as of simulator and controller, are merged.",
    )
    parser.add_argument(
        "files", nargs="+", type=Path, metavar="FILE", help="the recording, or the folder of a run"
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help="the figure (.png, .pdf, .svg; default: beside the recording, as .png)",
    )
    return parser


def run_plot(options: argparse.Namespace) -> None:
    """Draw what a command line names, and say where the figure is.

    Raises:
        RobotDynamicsError: If a recording cannot be read, or the figure cannot be written.
    """
    from robot_dynamics.app.figures import require_figure
    from robot_dynamics.app.plots import plot_run
    from robot_dynamics.app.recording_files import load_merged

    first: Path = options.files[0]
    # Of the bag "run.1" the figure is "run.1.png", of the file "run.mcap" it is "run.png".
    beside = first.parent / f"{first.name}.png" if first.is_dir() else first.with_suffix(".png")
    place: Path = options.output or beside
    require_parent(place)
    require_figure(place)
    recording = load_merged(options.files)
    print(f"written: {plot_run(recording, place)}")
