# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The command `robot_dynamics commission`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from robot_dynamics.app.command_line.arguments import add_json, add_overrides, place
from robot_dynamics.app.output_files import STANDARD_OUTPUT, OutputError, require_parent


def add_commission(commands: Any) -> None:
    """Add the command to the subparsers of a command line."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "commission",
        help="check a cell by small motions of its free arms",
        description="Check a cell before its arms hold anything: positions (units, signs, "
        "exchanged arms), velocities, rate, torque constants and signs, delay, gravity and links, "
        "friction and wrist sensors by a small motion of one arm after the other; base placements "
        "by arms that hold one object. Without RECORDING the cell is simulated with the faults of "
        "its `plant`. Prints each check with the measured value, what was expected, and what to "
        "do. Ends with status 1 if one failed.",
    )
    parser.add_argument("scenario", metavar="SCENARIO", help="the scenario of the cell")
    add_overrides(parser)
    parser.add_argument(
        "--motion",
        type=place,
        metavar="FILE",
        help="write the motion as a scenario (.yaml) for nodes, and check nothing",
    )
    parser.add_argument(
        "--recording",
        type=place,
        metavar="RECORDING",
        help="recording of the motion by nodes; the cell is not simulated",
    )
    parser.add_argument(
        "--held",
        nargs="+",
        type=place,
        default=[],
        metavar="RECORDING",
        help="recordings of arms that hold one rigid object and turn it",
    )
    parser.add_argument(
        "--actual",
        metavar="SCENARIO",
        help="scenario of the simulated arms, if they differ from what the controller believes",
    )
    add_json(parser, "the checks")
    parser.add_argument(
        "--output", type=place, metavar="FILE", help="write the corrected scenario there"
    )
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    # Imported here, because other commands start faster without it.
    from robot_dynamics.app.commissioning.commission import commission, write_motion
    from robot_dynamics.app.progress import display
    from robot_dynamics.app.scenarios.scenario import find_scenario
    from robot_dynamics.identification.signals import NothingToCorrectError

    for file in filter(None, (options.json, options.output, options.motion)):
        require_parent(file)
    for file in filter(None, (options.output, options.motion)):
        if file.suffix not in (".yaml", ".yml"):
            raise OutputError(f"{file}: expected a scenario as .yaml.")
        if file.resolve() == Path(find_scenario(options.scenario)).resolve():
            raise OutputError(f"{file}: is the scenario itself, expected another file.")
    if options.motion:
        for name in ("recording", "held", "actual", "json", "output"):
            if getattr(options, name):
                raise OutputError(f"--motion checks nothing; expected it without --{name}.")
        print(f"written: {write_motion(options.motion, options.scenario, options.overrides)}")
        return 0
    with display("commission") as progress:
        found = commission(
            options.scenario,
            options.recording,
            held=options.held,
            actual=options.actual,
            overrides=options.overrides,
            progress=progress,
        )
    print("\n".join(found.lines))
    written = []
    if options.output:
        try:
            written.append(found.write_scenario(options.output, options.scenario))
        except NothingToCorrectError as error:
            print(f"{options.output} is not written: {error}")
    if options.json:
        written.append(found.write_report(options.json))
    written = [path for path in written if path != STANDARD_OUTPUT]
    if written:
        print("written: " + ", ".join(map(str, written)))
    return 0 if found.ok else 1
