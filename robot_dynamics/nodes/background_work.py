# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Work beside control: displays, recordings, diagnostics. It must not end what arms hang on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from robot_dynamics.app.background_saving import BackgroundSaving
from robot_dynamics.app.recording import Recording
from robot_dynamics.errors import sentence_of
from robot_dynamics.nodes.process import Reporter, RunError


class BackgroundWork:
    """Does work whose errors are told once, while control goes on.

    Args:
        tell: Called with the first error of each work.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._failed: dict[str, str] = {}

    @property
    def warning(self) -> str:
        """What has gone wrong since `forget`; empty if nothing has."""
        return next(iter(self._failed.values()), "")

    def do(self, what: str, work: Callable[[], None]) -> None:
        """Do some work; what it is called says whose error it was.

        Raises:
            RunError: If the work itself finds that the run cannot go on.
        """
        try:
            work()
        except RunError:
            raise
        except Exception as error:
            self.note(what, error)

    def note(self, what: str, error: Exception) -> None:
        """Take note of an error of some work."""
        if what not in self._failed:
            self._failed[what] = f"{what}: {sentence_of(error)}"
            self._tell(self._failed[what])

    def forget(self) -> None:
        """Let errors be told again."""
        self._failed.clear()


class RunFile:
    """Writes the recording of a run; what goes wrong must not disturb who controls.

    Args:
        path: The file; empty for none.
        reporter: Tells a launcher.

    Raises:
        RobotDynamicsError: If there can be no such file.
    """

    def __init__(self, path: str, reporter: Reporter) -> None:
        self._path, self._reporter = path, reporter
        self._saving = BackgroundSaving(path)
        self._due: dict[str, Any] | None = None  # what a launcher is told when it is written

    @property
    def warning(self) -> str:
        """What is wrong with the recording; empty if nothing is."""
        return f"no recording: {self._saving.failure}" if self._saving.failure else ""

    def save(self, make: Callable[[], Recording] | None, **figures: Any) -> None:
        """Begin to write the run that is over; a launcher is told the figures when it is done.

        Args:
            make: Returns the recording; None if there is none.
            figures: What to tell besides.
        """
        if make is not None:
            self._saving.start(make)
        self._due = {"output": self._path, **figures}

    def look(self) -> None:
        """Tell a launcher when the run is written.

        Raises:
            RunError: If it could not be written and a launcher waits for it.
        """
        if self._due is None or self._saving.busy:
            return
        figures, self._due = self._due, None
        if not self._saving.failure:
            self._reporter.tell("done", **figures)
        elif self._reporter.enabled:
            raise RunError(self.warning)

    def close(self, make: Callable[[], Recording] | None) -> None:
        """Return when everything is written, also of a run that was broken off.

        Args:
            make: Returns the recording of such a run; None if there is none.

        Raises:
            RunError: If it could not be written.
        """
        if make is not None:
            self._saving.start(make)
        self._saving.wait()
        if self._saving.failure:
            raise RunError(self.warning)
