# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Work beside control: displays, recordings, diagnostics. It must not end what arms hang on."""

from __future__ import annotations

from collections.abc import Callable

from robot_dynamics.errors import sentence_of
from robot_dynamics.nodes.process import RunError


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
