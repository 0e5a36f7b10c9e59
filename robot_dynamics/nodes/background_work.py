# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Background work, such as recordings and displays, whose errors do not end the node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from robot_dynamics.app.recordings.recording import Recording
from robot_dynamics.app.recordings.recording_files import BackgroundSaving
from robot_dynamics.errors import sentence_of
from robot_dynamics.nodes.process import Reporter, RunError


class BackgroundWork:
    """Runs tasks and reports the first error of each, while control continues.

    Args:
        report: Called with the first error of each task.
    """

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._errors: dict[str, str] = {}

    @property
    def warning(self) -> str:
        """The first error since `reset`; empty if there is none."""
        return next(iter(self._errors.values()), "")

    def do(self, task: str, work: Callable[[], object]) -> None:
        """Run a task and report its error with its name.

        Raises:
            RunError: If the task ends the run.
        """
        try:
            work()
        except RunError:
            raise
        except Exception as error:
            self.add_error(task, error)

    def add_error(self, task: str, error: Exception) -> None:
        """Report the first error of a task."""
        if task not in self._errors:
            self._errors[task] = f"{task}: {sentence_of(error)}"
            self._report(self._errors[task])

    def reset(self) -> None:
        """Forget all errors, so that they are reported again."""
        self._errors.clear()


class RecordingFile(BackgroundSaving):
    """Writes the recording of a run in a thread.

    Args:
        path: The file; empty for none.
        reporter: Informs the launcher when the file is written.

    Raises:
        RobotDynamicsError: If the file cannot be created.
    """

    def __init__(self, path: str, reporter: Reporter) -> None:
        super().__init__(path)
        self._output, self._reporter = path, reporter
        self._report: dict[str, Any] | None = None  # for the launcher, once the file is written

    @property
    def warning(self) -> str:
        """Why there is no recording; empty if nothing has failed."""
        return f"no recording: {self.failure}" if self.failure else ""

    def save(self, make: Callable[[], Recording] | None, **figures: Any) -> None:
        """Start writing the recording of a completed run.

        Args:
            make: Returns the recording; None if there is none.
            figures: Reported to the launcher when the file is written.
        """
        if make is not None:
            self.start(make)
        self._report = {"output": self._output, **figures}

    def poll(self) -> None:
        """Inform the launcher if the file has been written.

        Raises:
            RunError: If writing has failed and a launcher waits for the file.
        """
        if self._report is None or self.busy:
            return
        report, self._report = self._report, None
        if not self.failure:
            self._reporter.report("done", **report)
        elif self._reporter.enabled:
            raise RunError(self.warning)

    def close(self, make: Callable[[], Recording] | None) -> None:
        """Write the recording of an interrupted run, and return when it is written.

        Args:
            make: Returns the recording; None if there is none.

        Raises:
            RunError: If writing has failed.
        """
        if make is not None:
            self.start(make)
        self.wait()
        if self.failure:
            raise RunError(self.warning)
