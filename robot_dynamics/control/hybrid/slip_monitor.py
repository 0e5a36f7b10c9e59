# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Foresees slip: which contact, when, and how much is left until then.

Two sources tell of it. The *plan* tells how far every contact will be inside its cone; *measured*
wrenches tell how far it is. What the plan did not know shows in their difference, and is taken to
last: the margin to come is the planned one and that difference.

Contacts of arms with the object are watched alike with places where the object is to stick to a
surface: whatever has a cone and a wrench in its frame.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.errors import ArgumentError
from robot_dynamics.manipulation.hybrid import ContactLimits

Array = NDArray[np.float64]

_ROUNDING = 1e-6  # a squeeze that is as small as can be leaves the margin to within this [N]


class SlipReport(NamedTuple):
    """How safe contacts are at one instant, in the order of the monitor's names.

    Attributes:
        margins: Distance of each to what it bears, now (k,) [N]; negative where it slips or opens,
            infinite if nothing is known of it.
        ahead: The smallest that is expected from now on until the horizon (k,) [N].
        when: After how long the expected margin falls short of the declared one first (k,) [s];
            infinite if it does not.
        warnings: Sentences; none if all is well.
    """

    margins: Array
    ahead: Array
    when: Array
    warnings: tuple[str, ...]


class SlipMonitor:
    """Watches contacts over a reference.

    Args:
        watched: What each bears, by name.
        margin: Least distance that is expected, of all or of each (k,) [N].
        period: Of control [s].
        horizon_s: How far ahead is looked [s].
    """

    def __init__(
        self,
        watched: Mapping[str, ContactLimits],
        margin: ArrayLike,
        period: float,
        horizon_s: float = 0.5,
    ) -> None:
        least = np.broadcast_to(np.asarray(margin, dtype=float), len(watched))
        if not (np.all(least >= 0.0) and period > 0.0 and horizon_s >= 0.0):
            raise ArgumentError(
                f"slip is watched with margins of {least.tolist()} N, every {period:g} s, "
                f"{horizon_s:g} s ahead; expected a positive period and nothing negative."
            )
        self.names, self._limits = tuple(watched), tuple(watched.values())
        self._margin, self._period = least, period
        self._ahead = round(horizon_s / period)
        self._plan(np.full((1, len(self.names)), np.inf))

    def expect(self, wrenches: ArrayLike) -> tuple[str, ...]:
        """Take the wrenches that are planned, a row a period, and return what is wrong with them.

        Args:
            wrenches: On the object, in each contact's frame (N, k, 6).
        """
        planned = np.asarray(wrenches, dtype=float)
        if planned.ndim != 3 or planned.shape[1:] != (len(self.names), 6) or not len(planned):
            raise ArgumentError(
                f"planned wrenches have shape {planned.shape}, expected (N, {len(self.names)}, 6)."
            )
        self._plan(self._distances(planned))
        return tuple(
            self._sentence(
                i,
                f"{self._period * np.argmax(short):.3g} s after the reference's start",
                self._planned[:, i].min(),
            )
            for i, short in enumerate((self._planned < self._margin - _ROUNDING).T)
            if short.any()
        )

    def step(self, tick: int, wrenches: ArrayLike | None = None) -> SlipReport:
        """Return how safe contacts are at a row of the plan.

        Args:
            tick: Row of the plan; the last one stays.
            wrenches: Measured, on the object, in each contact's frame (k, 6); without them the
                plan is believed.
        """
        first = min(max(tick, 0), len(self._planned) - 1)
        planned = now = self._planned[first]
        if wrenches is not None:
            now = self._distances(np.asarray(wrenches, dtype=float)[None])[0]
        # Contacts that are firm as planned, or of which nothing is measured, are as planned.
        known = np.isfinite(planned) & np.isfinite(now)
        unplanned = np.subtract(now, planned, out=np.zeros(len(now)), where=known)
        ahead = np.minimum(self._lowest[first] + unplanned, now)
        least = self._margin - _ROUNDING
        if (ahead >= least).all():
            return SlipReport(now, ahead, np.full(len(now), np.inf), ())
        short = self._planned[first : first + self._ahead + 1] + unplanned < least
        short[0] |= now < least
        when = np.where(short.any(axis=0), self._period * np.argmax(short, axis=0), np.inf)
        warnings = tuple(
            self._sentence(
                int(i), f"in {when[i]:.3g} s" if when[i] > 0.0 else "now", float(ahead[i])
            )
            for i in np.flatnonzero(np.isfinite(when))
        )
        return SlipReport(now, ahead, when, warnings)

    def _plan(self, margins: Array) -> None:
        """Take planned margins (N, k), and the smallest from each row to the horizon."""
        self._planned = margins
        after = np.vstack([margins, np.repeat(margins[-1:], self._ahead, axis=0)])
        windows = np.lib.stride_tricks.sliding_window_view(after, self._ahead + 1, axis=0)
        self._lowest = windows.min(axis=-1)

    def _distances(self, wrenches: Array) -> Array:
        """Return distances (N, k); those of numbers that are none are as bad as can be."""
        found = [limits.distance(wrenches[:, i]) for i, limits in enumerate(self._limits)]
        distances = np.stack(found, axis=-1) if found else np.zeros((len(wrenches), 0))
        return np.where(np.isnan(distances), -np.inf, distances)

    def _sentence(self, i: int, when: str, left: float) -> str:
        name = self.names[i]
        what = f"{-left:.3g} N are missing to hold" if left < 0.0 else f"{left:.3g} N are left"
        verdict = "slips" if left < 0.0 else "is near to slipping"
        return (
            f"contact {name!r} {verdict}: it falls short of its margin of {self._margin[i]:g} N "
            f"{when}; {what} at worst."
        )


def wrench_in_frame(frame: ArrayLike, wrench: ArrayLike, center: ArrayLike) -> Array:
    """Return a wrench on the object in one of its frames, from its axes and about a point.

    Args:
        frame: Pose (4, 4) in the object.
        wrench: In the object's axes, about `center` (..., 6), angular first.
        center: The point, in the object (3,) [m].
    """
    X, w = np.asarray(frame, dtype=float), np.asarray(wrench, dtype=float)
    arm = X[:3, 3] - np.asarray(center, dtype=float)
    moment = w[..., :3] - np.cross(arm, w[..., 3:])
    return np.concatenate([moment @ X[:3, :3], w[..., 3:] @ X[:3, :3]], axis=-1)
