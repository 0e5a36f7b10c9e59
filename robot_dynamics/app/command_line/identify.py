# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The command `robot_dynamics identify`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from robot_dynamics.app.command_line.arguments import add_json, place, positive
from robot_dynamics.app.output_files import STANDARD_OUTPUT, OutputError, require_parent
from robot_dynamics.errors import UnknownNameError

_NOISE = ("position", "torque", "torque_fraction", "torque_gain", "force", "moment")


def add_identify(commands: Any) -> None:
    """Add the command to the subparsers of a command line."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "identify",
        help="identify payload, arms, drives, wrist sensors, frames or surfaces from recordings",
        description="Identify the object that the arms hold: mass, centre of mass and inertia, by "
        "joint torques, wrenches of wrist sensors, or both. Or the arms: links, friction and "
        "rotors by joint torques where they move free. Or the drives: torque constant and sign "
        "of each joint, and delay. Or the wrist sensors: bias, tool and "
        "axes where the arms move free, and scale where they hold an object of known mass. Or "
        "frames: base placements and grasps by joint positions while the arms hold the object; "
        "offsets: offsets of joints as well. Or surfaces: friction, stiffness and place of planes "
        "by wrist sensors while the object presses and wipes them. Prints each value with its "
        "standard deviation, and the parameters that are not observable. Ends with status 2, and "
        "writes nothing, if the recording is of other arms or does not determine the masses.",
    )
    parser.add_argument(
        "files", nargs="+", type=place, metavar="RECORDING", help=".npz, .mcap, bag or run folder"
    )
    parser.add_argument(
        "--scenario",
        metavar="SCENARIO",
        help="the scenario of the cell (default: the recorded one)",
    )
    parser.add_argument(
        "--what",
        choices=("payload", "arms", "drives", "sensors", "frames", "offsets", "surfaces"),
        default="payload",
        help="parameters to identify (default: %(default)s)",
    )
    parser.add_argument(
        "--use",
        choices=("torques", "wrenches", "both"),
        default="both",
        help="measurements of a payload to use (default: %(default)s)",
    )
    parser.add_argument(
        "--no-armature",
        action="store_true",
        help="of arms: keep the inertia of the drives' rotors as described",
    )
    parser.add_argument(
        "--noise",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="standard deviation of samples: position [rad], torque [N m], torque_fraction, force "
        "[N] or moment [N m]; torque_gain: of torque constants; may be repeated",
    )
    parser.add_argument(
        "--cutoff", type=positive, metavar="HZ", help="cut-off frequency of the low-pass (5 Hz)"
    )
    add_json(parser, "the result")
    parser.add_argument("--plot", type=place, metavar="FILE", help="write the figure (.png, .pdf)")
    parser.add_argument(
        "--output",
        type=place,
        metavar="FILE",
        help="write the corrected scenario there, and the URDFs of an identified object or arms "
        "beside it",
    )
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    # Imported here, because other commands start faster without it.
    from robot_dynamics.app.identification.identify import CUTOFF, identify
    from robot_dynamics.app.pictures.figures import require_figure
    from robot_dynamics.app.scenarios.scenario import find_scenario
    from robot_dynamics.identification.motion import Noise
    from robot_dynamics.identification.signals import NothingToCorrectError

    for file in filter(None, (options.json, options.plot, options.output)):
        require_parent(file)
    if options.plot:
        require_figure(options.plot)
    if options.output and options.output.suffix not in (".yaml", ".yml"):
        raise OutputError(f"{options.output}: expected a scenario as .yaml.")
    if options.output and options.scenario is not None:
        base = Path(find_scenario(options.scenario))
        if options.output.resolve() == base.resolve():
            raise OutputError(f"{options.output}: is the scenario itself, expected another file.")
    noise = Noise(**_noise(options.noise))
    own: dict[str, Any] = {"what": options.what, "use": options.use}
    own["armature"] = not options.no_armature
    found = identify(
        options.files,
        options.scenario,
        noise=noise,
        cutoff=options.cutoff or CUTOFF,
        **own,
    )
    print("\n".join(found.lines))
    for sentence in found.warnings:
        print(f"robot_dynamics: warning: {sentence}", file=sys.stderr)
    written: list[Path] = []
    if options.plot:
        written.append(found.plot(options.plot))
    if options.json:
        written.append(found.write_report(options.json))
    if options.output:
        try:
            written = [*found.write_scenario(options.output, options.scenario), *written]
        except NothingToCorrectError as error:
            print(f"{options.output} is not written: {error}")
    written = [path for path in written if path != STANDARD_OUTPUT]
    if written:
        print("written: " + ", ".join(map(str, written)))
    return 0


def _noise(given: list[str]) -> dict[str, float]:
    found = {}
    for one in given:
        key, equals, text = one.partition("=")
        if not equals:
            raise OutputError(f"--noise {one}: expected KEY=VALUE, such as force=0.5.")
        if key not in _NOISE:
            raise UnknownNameError("key", key, _NOISE, "--noise")
        try:
            found[key] = float(text)
        except ValueError as error:
            raise OutputError(f"--noise {one}: {key} is {text!r}, expected a number.") from error
    return found
