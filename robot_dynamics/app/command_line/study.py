# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The command `robot_dynamics study`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from robot_dynamics.app.command_line.arguments import count, place
from robot_dynamics.app.output_files import OutputError, require_parent


def add_study(commands: Any) -> None:
    """Add the command to the subparsers of a command line."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "study",
        help="run a scenario many times with other values, and report failures and their causes",
        description="Run a scenario as often as a study file says, each time with other values, "
        "on all cores or on a cluster, and write a table (samples.parquet), pictures and "
        "report.html. After Ctrl-C the same command continues. Ends with status 0 "
        "when all samples have been run, whether or not some of them failed.",
    )
    parser.add_argument(
        "study",
        type=place,
        metavar="STUDY",
        help="a YAML file of values to vary, or a name of a shipped study (lift, fold, wipe, "
        "delay_bandwidth, fold_bandwidth, wipe_bandwidth, wipe_stiffness, pick_and_place)",
    )
    parser.add_argument(
        "--output",
        type=place,
        metavar="FOLDER",
        help="where everything is written (default: runs/NAME of the study)",
    )
    parser.add_argument(
        "--jobs", type=count, metavar="N", help="processes at a time (default: one a core)"
    )
    parser.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="of a scheduler of Dask, whose workers run the samples (extra `cluster`)",
    )
    parser.add_argument(
        "--allow-code",
        action="store_true",
        help="import the controller that control.law names, MODULE:NAME or FILE.py:NAME",
    )
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    # Imported here, because other commands start faster without it.
    from robot_dynamics.app.pictures.figures import require_matplotlib
    from robot_dynamics.app.progress import StudyProgress, display
    from robot_dynamics.app.studies.pictures import write_pictures
    from robot_dynamics.app.studies.report import summary, write_report
    from robot_dynamics.app.studies.settings import load_study
    from robot_dynamics.app.studies.statistics import sensitivity
    from robot_dynamics.app.studies.study import run_study
    from robot_dynamics.app.studies.table import require_parquet, write_table

    study = load_study(options.study)
    require_matplotlib()
    require_parquet()
    folder: Path = options.output or Path("runs") / study.name
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be made ({error.strerror}).") from error
    journal = folder / "samples.jsonl"
    require_parent(journal)
    parts = 1000
    try:
        with display(study.name) as show:

            def tell(done: float, doing: str) -> None:
                show(StudyProgress(int(parts * done), parts, doing))

            result = run_study(
                study,
                journal,
                tell,
                jobs=options.jobs,
                scheduler=options.scheduler,
                allow_code=options.allow_code,
            )
    except KeyboardInterrupt:
        if journal.exists():
            print(f"results so far are in {journal}: the same command resumes from there.")
        raise
    found = sensitivity(result)
    written = [write_table(result, folder / "samples.parquet")]
    pictures = write_pictures(result, found, folder)
    written += [*pictures.values(), write_report(result, found, pictures, folder / "report.html")]
    print("\n".join(summary(result)))
    print("written: " + ", ".join(map(str, written)))
    sys.stdout.flush()
    return 0
