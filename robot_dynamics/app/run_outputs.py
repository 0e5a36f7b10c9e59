# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Where a command writes the results of a run, and what it says of them."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

from robot_dynamics.app.output_files import RECORDING, OutputError, require_parent
from robot_dynamics.errors import RobotDynamicsError

_RECORDINGS = (".npz", ".mcap")
_FILE_SUFFIX = re.compile(r"\.[A-Za-z][A-Za-z0-9]{1,4}")  # "run.foo" is a file, "run.1" is not


class RunOutputs:
    """Where the results of a run go; checked before it starts.

    As a context it takes folders that it made away again when a run raises.

    Attributes:
        reports: Where the report goes.
        plots: Where the figure goes.
        recording: Where the recording goes, if anywhere.

    Args:
        place: The file of the recording, or a folder for everything.
        report: Where the report goes besides.
        plot: Where the figure goes besides.

    Raises:
        RobotDynamicsError: If one of them cannot be used, or a figure was asked for and cannot
            be drawn here.
    """

    def __init__(self, place: Path | None, report: Path | None, plot: Path | None) -> None:
        file = place if place is not None and is_recording(place) else None
        folder = None if file else place
        # A report or figure asked for by name does not leave an older one in the folder.
        self.reports = [path for path in (folder and folder / "report.json", report) if path]
        self.plots = [path for path in (folder and folder / "run.png", plot) if path]
        self.recording: Path | None = file or (folder and folder / RECORDING)
        self._made: list[Path] = []  # the innermost folder first
        if folder is not None:
            missing = [path for path in (folder, *folder.parents) if not path.exists()]
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise OutputError(f"{folder}: cannot be made ({error.strerror}).") from error
            self._made = missing
        try:
            for path in filter(None, (report, plot, file)):
                require_parent(path)
            if file is not None:
                from robot_dynamics.app.recording_files import require_suffix

                require_suffix(file)
            if self.plots:
                self._check_plot(plot)
        except RobotDynamicsError:
            self._take_away()
            raise

    def __enter__(self) -> RunOutputs:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._take_away()

    def _take_away(self) -> None:
        with contextlib.suppress(OSError):  # as when there is something in it by now
            for path in self._made:
                path.rmdir()

    def _check_plot(self, wanted: Path | None) -> None:
        from robot_dynamics.app.figures import PlotError, require_figure

        try:
            for path in self.plots:
                require_figure(path)
        except PlotError as error:
            if wanted is not None:
                raise
            print(f"robot_dynamics: no plot: {error}", file=sys.stderr)
            self.plots = []

    def finish(self, run: Any, told: Collection[str] = ()) -> bool:
        """Write everything, say how the run went, and return whether it was good.

        Args:
            run: The run.
            told: Warnings that have been printed before it.
        """
        from robot_dynamics.app.report import summary

        for line in summary(run.report):
            print(line)
        for sentence in run.report["warnings"]:
            if sentence in told:
                continue
            print(f"robot_dynamics: warning: {sentence}", file=sys.stderr)
        written = []
        written += [run.write_report(path) for path in self.reports]
        if self.recording is not None:
            written.append(run.save(self.recording))
        written += [run.plot(path) for path in self.plots]
        if written:
            print("written: " + ", ".join(map(str, written)))
        sys.stdout.flush()
        for sentence in run.report["failures"]:
            print(f"robot_dynamics: {sentence}", file=sys.stderr)
        return bool(run.ok)


def is_recording(place: Path) -> bool:
    """Return whether a place for results is a file: one that ends like a recording.

    Raises:
        OutputError: If it ends like another file.
    """
    if place.suffix in _RECORDINGS:
        return True
    if place.name in _RECORDINGS and not place.is_dir():
        raise OutputError(f"{place}: expected a name before {place.name}.")
    if _FILE_SUFFIX.fullmatch(place.suffix) and not place.is_dir():
        raise OutputError(
            f"{place}: expected a recording as {' or '.join(_RECORDINGS)}, or a folder; one with "
            "such a name has to be there already."
        )
    return False
