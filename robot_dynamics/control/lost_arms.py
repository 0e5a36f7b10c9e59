# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Arms whose state is not known."""

from __future__ import annotations

from collections.abc import Collection, Iterator


class LostArms:
    """Numbers of the arms that are lost.

    An arm whose samples are good again is no longer lost, and the fallback can damp its motion. An
    arm that was given up before stays lost: its drive holds it, and a torque would be unexpected.

    Attributes:
        ended: Numbers of the arms that were given up.

    Args:
        end_after: Time after which a lost arm is given up, in the unit of all times of this class.
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
        """Mark an arm as lost at time `now`."""
        self._since.setdefault(arm, now)
        self._bad_at[arm] = now

    def take_back(self, arm: int, heard: int) -> None:
        """Remove an arm whose last sample came at time `heard` and was good."""
        if arm in self._since and arm not in self.ended and heard > self._bad_at[arm]:
            del self._since[arm]

    def give_up(
        self,
        now: int,
        arms: Collection[int],
        hopeless: Collection[int] = (),
        settling: int = 0,
    ) -> None:
        """Give up arms that have been lost for too long without interruption.

        Args:
            now: Current time.
            arms: Arms that may be given up.
            hopeless: Arms that will not come back.
            settling: Shorter time for these.
        """
        for arm, since in self._since.items():
            short = settling if arm in hopeless else self._end_after
            long = now - since >= min(short, self._end_after)
            if long and arm in arms and arm not in self.ended:
                self.ended += (arm,)
