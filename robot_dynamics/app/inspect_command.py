# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The command `robot_dynamics inspect`: its options, and what it prints."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robot_dynamics.app.output_files import OutputError, require_parent

if TYPE_CHECKING:
    from robot_dynamics.app.inspection import Inspection

#: Between the name and the value of a xacro argument, as xacro and ros2 launch have it.
ASSIGNED = ":="
# More sentences of a kind than this are counted, not printed; --json has them all.
_MOST = 100


def add_inspect(commands: Any) -> argparse.ArgumentParser:
    """Add the command to the subparsers of a command line, and return its parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "inspect",
        help="show what is in a URDF, and what is wrong with it",
        description="Show the tree, loops, masses, limits and mobility of descriptions, and "
        "everything that is wrong or deserves a look, each with its line. Ends with status 2 if "
        "one is refused.",
    )
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="URDF, xacro file, DH table or saved model; NAME:=VALUE among the files is an "
        "argument of the xacro files, as gripper:=true",
    )
    parser.add_argument("--strict", action="store_true", help="refuse files with warnings")
    parser.add_argument("--loops", type=Path, metavar="FILE", help="YAML file with loop joints")
    parser.add_argument(
        "--json", action="store_true", help="print JSON: an object, or a list for several files"
    )
    parser.add_argument(
        "--graph", type=Path, metavar="FILE", help="write what hangs on what (.png, .pdf, .dot)"
    )
    return parser


def run_inspect(options: argparse.Namespace) -> bool:
    """Inspect the files of a command line, and return whether none was refused.

    Raises:
        OutputError: If options contradict each other, or the graph cannot be where it should.
    """
    files, arguments = _split(options.files)
    if len(files) > 1 and (options.loops or options.graph):
        raise OutputError("--loops and --graph are for one file, expected no other beside it.")
    if options.graph:
        require_parent(options.graph)
        from robot_dynamics.app.figures import require_figure
        from robot_dynamics.app.graph import DOT, write_graph

        if options.graph.suffix.lower() not in DOT:
            require_figure(options.graph)

    from robot_dynamics.app.inspection import inspect_file

    found = [
        inspect_file(
            file,
            options.loops,
            strict=options.strict,
            arguments=arguments if file.lower().endswith(".xacro") else None,
        )
        for file in files
    ]
    if options.json:
        import json

        reports = [inspection.as_json() for inspection in found]
        print(json.dumps(reports if len(reports) > 1 else reports[0], indent=2))
    else:
        for inspection in found:
            _show(inspection)
    described = found[0].description
    if options.graph and described is not None:
        write_graph(described.mechanism, options.graph)
    return all(inspection.ok for inspection in found)


def _split(words: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Return the files and the xacro arguments among the words of a command line."""
    files = [word for word in words if ASSIGNED not in word]
    assigned = [word.partition(ASSIGNED) for word in words if ASSIGNED in word]
    for name, _, value in assigned:
        if not name:
            raise OutputError(f"{ASSIGNED}{value}: expected a name before {ASSIGNED}.")
    if not files:
        raise OutputError("there is no file to inspect, expected one beside the xacro arguments.")
    if assigned and not any(file.lower().endswith(".xacro") for file in files):
        raise OutputError(
            f"{''.join(assigned[0])}: only .xacro files take arguments, expected one among the "
            "files."
        )
    return files, {name: value for name, _, value in assigned}


def _show(inspection: Inspection) -> None:
    for line in inspection.lines():
        print(line)
    sys.stdout.flush()
    for kind, sentences in (("error", inspection.errors), ("warning", inspection.warnings)):
        for sentence in _shortened(kind, sentences):
            print(f"{kind}: {sentence}", file=sys.stderr)


def _shortened(kind: str, sentences: Sequence[str]) -> Iterator[str]:
    """Yield the first sentences, and how many more there are."""
    yield from sentences[:_MOST]
    left = len(sentences) - _MOST
    if left > 0:
        yield f"... and {left} more {kind}s; --json lists all of them."
