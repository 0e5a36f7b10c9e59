# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The command `robot_dynamics drill`: everything that may go wrong, tried on running nodes."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from robot_dynamics.app.output_files import require_parent


def add_drill(commands: Any) -> argparse.ArgumentParser:
    """Add the command to the subparsers of a command line, and return its parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "drill",
        help="try everything that may go wrong on running nodes",
        description="Start simulator, controller and guard as ROS 2 nodes, let everything go "
        "wrong that may, one after the other, and print what was seen, how soon, and the largest "
        "torque. Ends with status 1 unless all went as it has to.",
    )
    parser.add_argument(
        "scenario",
        nargs="?",
        default="lift_box",
        metavar="SCENARIO",
        help="a YAML file, or the name of a shipped scenario (default: %(default)s)",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was found as JSON")
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="HAZARD",
        help="only this, as 'controller killed with -9' (any other word lists all); "
        "may be repeated",
    )
    parser.add_argument(
        "--soak",
        type=_seconds,
        metavar="S",
        help="run for so many simulated seconds instead, with faults at random, and watch memory "
        "and files",
    )
    parser.add_argument("--seed", type=int, default=0, help="of what is random there")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        dest="overrides",
        metavar="KEY=VALUE",
        help="change a value of the scenario; may be repeated",
    )
    return parser


def run_drill(options: argparse.Namespace) -> bool:
    """Run the drill of a command line, and return whether all went as it has to.

    Raises:
        RosMissingError: If rclpy is not installed.
        OutputError: If the file cannot be where it should.
        NodeError: If the drill cannot go on.
    """
    from robot_dynamics.app.drill import drill
    from robot_dynamics.app.drill_report import drill_report, drill_table, soak_lines
    from robot_dynamics.app.progress import display
    from robot_dynamics.app.ros_environment import require_ros
    from robot_dynamics.app.scenario import load_scenario

    require_ros()
    scenario = load_scenario(options.scenario, options.overrides)
    if options.json:
        require_parent(options.json)
    title = "soak" if options.soak else "drill"
    arguments = [f"--only={name}" for name in options.only]
    if options.soak:
        arguments += [f"--soak={options.soak}", f"--seed={options.seed}"]
    with display(title) as progress:
        results, hazards, soak = drill(scenario, arguments, progress)
    report = soak if options.soak else drill_report(results, hazards)
    if options.json:
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    print("\n".join(soak_lines(soak)) if options.soak else drill_table(results))
    for result in results:
        for problem in result.problems:
            print(f"robot_dynamics: {result.hazard}: {problem}", file=sys.stderr)
    return bool(report["ok"])


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text}: expected seconds, more than 0")
    return value
