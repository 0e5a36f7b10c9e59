# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Grippers of a task: commands to them, and whether they hold the object."""

from __future__ import annotations

from collections.abc import Callable, Sequence


class Grippers:
    """Grippers of the arms, which open and close all at once.

    Args:
        arms: Names of their arms.

    Attributes:
        arms: Names of their arms.
        closed: Whether they are commanded to be closed, else open.
        rehearsing: Whether the phases run without arms: nothing is commanded then.
    """

    def __init__(self, arms: Sequence[str]) -> None:
        self.arms, self._holds = tuple(arms), dict[str, bool]()
        self.closed = self._sent = self.rehearsing = False

    def reset(self) -> None:
        """Begin with open grippers; those that were closed open by the next command."""
        self.open()

    def close(self) -> None:
        """Command them to close."""
        self._command(closed=True)

    def open(self) -> None:
        """Command them to open."""
        self._command(closed=False)

    def send(self, grip: Callable[..., bool]) -> None:
        """Send a command that is new: `grip(arm, closed=...)` returns whether an arm holds."""
        if self.closed != self._sent:
            self._sent = self.closed
            for arm in self.arms:
                self.report(arm, holds=grip(arm, closed=self.closed))

    def report(self, arm: str, *, holds: bool) -> None:
        """Note whether the gripper of an arm holds something."""
        self._holds[arm] = holds

    @property
    def silent(self) -> list[str]:
        """Names of the arms whose grippers have reported nothing since the last command."""
        return [] if self.rehearsing else [arm for arm in self.arms if arm not in self._holds]

    @property
    def empty(self) -> list[str]:
        """Names of the arms that are not known to hold something since the last command."""
        if self.rehearsing:
            return []
        return [arm for arm in self.arms if not self._holds.get(arm, False)]

    @property
    def unknown_loads(self) -> list[str]:
        """Names of the arms that hold something although they were not commanded to close."""
        return [] if self.closed else [arm for arm in self.arms if self._holds.get(arm, False)]

    def _command(self, *, closed: bool) -> None:
        if self.rehearsing or closed == self.closed:
            return
        self.closed = closed
        self._holds.clear()
