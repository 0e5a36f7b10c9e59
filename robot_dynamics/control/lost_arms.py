# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Arms whose state is not known: since when, which of them are back, and for which it is late."""

from __future__ import annotations

from collections.abc import Iterator


class LostArms:
    """Numbers of the arms that are lost at present.

    An arm whose samples are good again before its time is over is no longer lost: the fallback may
    damp what it sees moving. One whose time is over stays as it is, because its drive holds it by
    then, and a torque would take it by surprise.

    Attributes:
        ended: Numbers of those whose time is over.

    Args:
        end_after: Time after which a lost arm is given up, in the unit of all times here.
    """

    def __init__(self, end_after: int) -> None:
        self._end_after = end_after
        self._since: dict[int, int] = {}
        self._bad_at: dict[int, int] = {}
        self.ended: tuple[int, ...] = ()

    def __contains__(self, arm: object) -> bool:
        return arm in self._since

    def __iter__(self) -> Iterator[int]:
        return iter(self._since)

    def __len__(self) -> int:
        return len(self._since)

    def lose(self, arm: int, now: int) -> None:
        """Note that an arm's state is not known at time `now`."""
        self._since.setdefault(arm, now)
        self._bad_at[arm] = now

    def take_back(self, arm: int, heard: int) -> None:
        """Let go of an arm whose last sample came at time `heard` and was good."""
        if arm in self._since and arm not in self.ended and heard > self._bad_at[arm]:
            del self._since[arm]

    def give_up(self, now: int) -> None:
        """Give up those that have been lost for too long without a break."""
        late = (arm for arm, since in self._since.items() if now - since >= self._end_after)
        self.ended += tuple(arm for arm in late if arm not in self.ended)
