# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Grippers of a task: commands to them, and what they hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence


class Grippers:
    """Grippers of the arms, which open and close all at once.

    Args:
        arms: Names of their arms.
    """

    def __init__(self, arms: Sequence[str]) -> None:
        self._arms, self._holds = tuple(arms), dict[str, bool]()
        self._closed = self._sent = False

    def reset(self) -> None:
        """Begin with open grippers; those that were closed open by the next command."""
        self._closed = False
        self._holds.clear()

    def close(self) -> None:
        """Command them to close."""
        self._closed = True

    def open(self) -> None:
        """Command them to open."""
        self._closed = False

    def send(self, grip: Callable[..., bool]) -> None:
        """Send a command that is new: `grip(arm, closed=...)` returns whether an arm holds."""
        if self._closed != self._sent:
            self._sent = self._closed
            self._holds = {arm: grip(arm, closed=self._closed) for arm in self._arms}

    @property
    def empty(self) -> list[str]:
        """Names of the arms that are known to hold nothing."""
        return [arm for arm, holds in self._holds.items() if not holds]
