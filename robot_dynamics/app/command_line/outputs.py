# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Output files of a run, checked before it starts."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Collection
from pathlib import Path

from robot_dynamics.app.output_files import (
    RECORDING,
    STANDARD_OUTPUT,
    SUFFIXES,
    OutputError,
    require_parent,
)
from robot_dynamics.app.recordings.recording_files import require_suffix
from robot_dynamics.app.runs.report import summary
from robot_dynamics.app.runs.run import Run, RunInterrupted
from robot_dynamics.errors import RobotDynamicsError

_FILE_SUFFIX = re.compile(r"\.[A-Za-z][A-Za-z0-9]{1,4}")  # "run.foo" is a file, "run.1" is not


class RunOutputs:
    """Output files of a run, checked before it starts.

    As a context manager it removes the folders that it made if the run raises, and writes the
    outputs of an interrupted run.

    Attributes:
        reports: Files of the report.
        plots: Files of the figure.
        recording: File of the recording, if any.

    Args:
        place: File of the recording, or a folder for all outputs.
        report: Further file of the report.
        plot: Further file of the figure.

    Raises:
        RobotDynamicsError: If a place cannot be used, or `plot` is given without Matplotlib.
    """

    def __init__(self, place: Path | None, report: Path | None, plot: Path | None) -> None:
        file = place if place is not None and names_recording(place) else None
        folder = None if file else place
        # A report or figure with a given name is written into the folder as well.
        self.reports = [path for path in (folder and folder / "report.json", report) if path]
        self.plots = [path for path in (folder and folder / "run.png", plot) if path]
        self.recording: Path | None = file or (folder and folder / RECORDING)
        self._made: list[Path] = []  # the innermost folder first
        self._writing = False
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
                require_suffix(file)
            if self.plots:
                self._check_plot(plot)
        except (RobotDynamicsError, KeyboardInterrupt):
            self._remove_folders()
            raise

    def __enter__(self) -> RunOutputs:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: object
    ) -> None:
        wanted = self.reports or self.plots or self.recording
        if isinstance(error, RunInterrupted) and wanted:
            self.finish(error.run)
        elif kind is not None:
            self._remove_folders()
            if kind is KeyboardInterrupt and wanted and not self._writing:
                print(
                    "robot_dynamics: nothing was written: no control period had ended.",
                    file=sys.stderr,
                )

    def _remove_folders(self) -> None:
        with contextlib.suppress(OSError):  # as when a folder is not empty
            for path in self._made:
                path.rmdir()

    def _check_plot(self, wanted: Path | None) -> None:
        from robot_dynamics.app.pictures.figures import PlotError, require_figure

        try:
            for path in self.plots:
                require_figure(path)
        except PlotError as error:
            if wanted is not None:
                raise
            print(f"robot_dynamics: no plot: {error}", file=sys.stderr)
            self.plots = []

    def finish(self, run: Run, printed: Collection[str] = ()) -> bool:
        """Write all outputs, print the summary, and return whether the run was good.

        Args:
            run: The run.
            printed: Warnings that have been printed already.
        """
        for line in summary(run.report):
            print(line)
        for sentence in run.report["warnings"]:
            if sentence not in printed:
                print(f"robot_dynamics: warning: {sentence}", file=sys.stderr)
        self._writing = True
        written = [run.write_report(path) for path in self.reports]
        if self.recording is not None:
            written.append(run.save(self.recording))
        written += [run.plot(path) for path in self.plots]
        written = [path for path in written if path != STANDARD_OUTPUT]
        if written:
            print("written: " + ", ".join(map(str, written)))
        sys.stdout.flush()
        for sentence in run.report["failures"]:
            print(f"robot_dynamics: {sentence}", file=sys.stderr)
        return run.ok


def names_recording(place: Path) -> bool:
    """Return whether a place for outputs is a file, with the suffix of a recording.

    Raises:
        OutputError: If it has the suffix of another file.
    """
    if place.suffix in SUFFIXES:
        return True
    if place.name in SUFFIXES and not place.is_dir():
        raise OutputError(f"{place}: expected a name before {place.name}.")
    if _FILE_SUFFIX.fullmatch(place.suffix) and not place.is_dir():
        raise OutputError(
            f"{place}: expected a recording as {' or '.join(SUFFIXES)}, or a folder; one with "
            "such a name has to be there already."
        )
    return False
