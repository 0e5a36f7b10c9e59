# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The command `robot_dynamics excite`."""

from __future__ import annotations

import argparse
from typing import Any

from robot_dynamics.app.command_line.arguments import place, positive
from robot_dynamics.app.output_files import OutputError, require_parent


def add_excite(commands: Any) -> None:
    """Add the command to the subparsers of a command line."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "excite",
        help="plan a motion by which an arm or the held object is identified",
        description="Plan moves of one free arm that make its links and friction observable, or "
        "moves of the object that the arms hold rigidly or in the `carry` of a task, which make "
        "its mass, centre and inertia observable: within the limits of positions, velocities and "
        "torques and without collisions. Writes a scenario whose task, reference or `carry` has "
        "the moves; `identify --what arms` or `--what payload` takes its recording.",
    )
    parser.add_argument("scenario", metavar="SCENARIO", help="the scenario of the cell")
    subject = parser.add_mutually_exclusive_group(required=True)
    subject.add_argument("--arm", metavar="NAME", help="name of the arm")
    subject.add_argument("--payload", action="store_true", help="the object that the arms hold")
    parser.add_argument(
        "--use",
        choices=("torques", "wrenches", "both"),
        help="of a payload: measurements that `identify` will use (default: both)",
    )
    parser.add_argument(
        "--share",
        type=positive,
        default=0.1,
        metavar="SHARE",
        help="wanted standard deviations, as a share of those before (default: %(default)s)",
    )
    parser.add_argument(
        "--longest",
        type=positive,
        default=60.0,
        metavar="SECONDS",
        help="duration after which no move is added; the last move can exceed it (default: "
        "%(default)s)",
    )
    parser.add_argument(
        "--output", type=place, required=True, metavar="FILE", help="the scenario to write (.yaml)"
    )
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    # Imported here, because other commands start faster without it.
    from robot_dynamics.app.identification.excitation import Excitation, excite
    from robot_dynamics.app.identification.payload_excitation import (
        PayloadExcitation,
        excite_payload,
    )

    require_parent(options.output)
    if options.output.suffix not in (".yaml", ".yml"):
        raise OutputError(f"{options.output}: expected a scenario as .yaml.")
    if options.arm and options.use:
        raise OutputError("--use applies to a payload; expected none with --arm.")
    wanted = {"share": options.share, "longest_s": options.longest}
    found: Excitation | PayloadExcitation
    if options.payload:
        found = excite_payload(options.scenario, use=options.use or "both", **wanted)
    else:
        found = excite(options.scenario, options.arm, **wanted)
    print("\n".join(found.lines))
    print(f"written: {found.write_scenario(options.output, options.scenario)}")
    return 0
