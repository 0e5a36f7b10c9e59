# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The subcommand `convert`: a description as a file of another format."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from robot_dynamics.app.command_line.arguments import place
from robot_dynamics.app.output_files import OutputError, require_parent

_MODEL = (".yaml", ".yml", ".json")


def add_convert(commands: Any) -> None:
    """Add the command to the subparsers of a command line."""
    parser = commands.add_parser(
        "convert",
        help="write a description as URDF, MJCF or model file",
        description="Write a description in the format of the output's suffix: .urdf, with loop "
        "joints and gears in OUT_loops.yaml; .xml for MJCF; .yaml or .json for a model file, "
        "which keeps everything.",
    )
    parser.add_argument("file", metavar="IN", help="a description, as for `inspect`")
    parser.add_argument("output", type=place, metavar="OUT", help="the file to write")
    parser.add_argument("--loops", type=Path, metavar="FILE", help="YAML file with loop joints")
    parser.set_defaults(run=_convert)


def _convert(options: argparse.Namespace) -> int:
    from robot_dynamics.description.load import load_saved
    from robot_dynamics.description.mjcf_writer import write_mjcf
    from robot_dynamics.description.model_file import write_model
    from robot_dynamics.description.urdf_writer import write_urdf

    output: Path = options.output
    suffix = output.suffix.lower()
    if suffix not in (".urdf", ".xml", *_MODEL):
        raise OutputError(f"{output}: expected a file ending in .urdf, .xml, .yaml or .json.")
    loops = output.with_name(f"{output.stem}_loops.yaml")
    given = [Path(one).resolve() for one in (options.file, options.loops) if one]
    for one in (output, loops) if suffix == ".urdf" else (output,):
        if one.resolve() in given:
            raise OutputError(f"{one}: is the file to convert, expected another output file.")
    require_parent(output)
    saved = load_saved(options.file, options.loops)
    saved.description.diagnosis.issue_warnings(saved.description.source)
    written = [output]
    if suffix == ".xml":
        write_mjcf(output, saved.description, gravity=saved.gravity)
    elif suffix in _MODEL:
        write_model(output, saved.description, gravity=saved.gravity, variable=saved.variable)
    elif write_urdf(output, saved.description, loops):
        written.append(loops)
    print(f"written: {', '.join(map(str, written))}")
    return 0
