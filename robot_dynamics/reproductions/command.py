# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The command `robot_dynamics reproduce`: studies of the literature, run, checked and drawn."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robot_dynamics.app.command_line.arguments import add_json, count
from robot_dynamics.app.command_line.main import BAD_RUN, GOOD
from robot_dynamics.app.output_files import (
    STANDARD_OUTPUT,
    OutputError,
    require_parent,
    write_json,
)
from robot_dynamics.errors import UnknownNameError
from robot_dynamics.wording import apart

if TYPE_CHECKING:
    from robot_dynamics.reproductions.study import StudyOutcome

_PARTS = 1000  # of a study, as progress is shown


def add_reproduce(commands: Any) -> None:
    """Add the command to the subparsers of a command line."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "reproduce",
        help="run a study of the literature, check its claims and draw it",
        description="Run a study of the literature, print measured beside "
        "claimed, and draw it. Ends with status 1 if a claim does not hold.",
    )
    parser.add_argument("study", nargs="?", metavar="STUDY", help="its name (see --list)")
    parser.add_argument("--list", action="store_true", help="list the studies, and end")
    add_json(parser, "the figures")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="write the plot (.png, .pdf)")
    parser.add_argument(
        "--samples", type=count, metavar="N", help="of a study that draws samples: how many"
    )
    parser.add_argument(
        "--jobs", type=count, metavar="N", help="and in how many processes (default: all cores)"
    )
    parser.add_argument(
        "--results",
        type=Path,
        metavar="FILE",
        help="file of its results, from which an interrupted study continues (default: in runs/)",
    )
    parser.add_argument(
        "--law", metavar="LAW", help="of a study that compares control laws: the only one to run"
    )
    parser.add_argument("--quick", action="store_true", help="run a short version")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    return GOOD if run_reproduce(options) else BAD_RUN


def run_reproduce(options: argparse.Namespace) -> bool:
    """Run the study of a command line, and return whether its claims hold.

    Raises:
        OutputError: If no study is named, or a file cannot be where it should.
        UnknownNameError: If there is no such study, or law.
    """
    from robot_dynamics.reproductions.study import STUDIES, Sampling, study_called

    if options.list:
        width = max(len(study.name) for study in STUDIES)
        for study in STUDIES:
            print(f"{study.name:{width}}  {study.summary}")
        return True
    if options.study is None:
        names = ", ".join(study.name for study in STUDIES)
        raise OutputError(f"the command names no study, expected one of {names}.")
    study = study_called(options.study)
    for path in filter(None, (options.json, options.plot)):
        require_parent(path)
    more: dict[str, Any] = {}
    if study.sampled:
        more["sampling"] = Sampling(options.samples, options.jobs, options.results)
    elif options.samples or options.jobs or options.results:
        raise OutputError(
            f"study {study.name!r} has no samples, expected a command without --samples, --jobs "
            "and --results."
        )
    if options.law:
        if options.law not in study.laws:
            raise UnknownNameError(f"law of study {study.name!r}", options.law, study.laws)
        more["law"] = options.law
    if options.plot:
        from robot_dynamics.app.pictures.figures import require_figure

        require_figure(options.plot)

    from robot_dynamics.app.progress import StudyProgress, display

    with display(study.name) as show:

        def tell(done: float, doing: str) -> None:
            show(StudyProgress(int(_PARTS * done), _PARTS, doing))

        outcome = study.run(tell, quick=options.quick, **more)
        tell(1.0, "done")
    for name, value in outcome.figures.items():
        print(f"{name}: {_text(value)}")
    written = []
    if options.json:
        place = write_json({"study": study.name, **outcome.as_json()}, options.json)
        written += [place] if place != STANDARD_OUTPUT else []
    if options.plot:
        written.append(outcome.plot(options.plot))
    if written:
        print("written: " + ", ".join(map(str, written)))
    print("\n".join(_table(study.name, outcome)))
    sys.stdout.flush()
    for check in outcome.checks:
        if not check.ok:
            print(f"robot_dynamics: {study.name}: {check}", file=sys.stderr)
    return outcome.ok


def _table(name: str, outcome: StudyOutcome) -> list[str]:
    """Return the lines of a table of all claims, and the verdict."""
    rows = [("claim", "measured", "at most", "holds")]
    for check in outcome.checks:
        value, limit = apart(check.value, check.limit)
        rows.append((check.claim, value, limit, "yes" if check.ok else "NO"))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        f"{claim:{widths[0]}}  {value:>{widths[1]}}  {limit:>{widths[2]}}  {holds}"
        for claim, value, limit, holds in rows
    ]
    count, failed = len(outcome.checks), sum(not check.ok for check in outcome.checks)
    verdict = f"all {count} claims hold" if not failed else f"{failed} of {count} claims FAIL"
    return ["", lines[0], "-" * len(lines[0]), *lines[1:], "", f"{name}: {verdict}"]


def _text(value: Any) -> str:
    """Return a figure as it is printed: numbers with five digits, lists without brackets."""
    if isinstance(value, float):
        return f"{value:.5g}"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_text, value))
    if isinstance(value, dict):
        return ", ".join(f"{name} {_text(entry)}" for name, entry in value.items())
    return str(value)
