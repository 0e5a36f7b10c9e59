# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What a benchmark reports: one row for each robot, algorithm, way of calling, and peer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from benchmarks.timing import Timing


@dataclass(frozen=True)
class Row:
    """One comparison.

    Attributes:
        robot: Name of the robot.
        algorithm: "rnea", "crba", "aba" or "closed_loop".
        mode: "loop": one state at a time inside a compiled loop, scalar code. "batch": the same
            loop with SIMD code. "call": a call from Python with one state, checks included.
        lanes: States at a time in our code.
        ours_us: Our median time per state [us].
        peer: What we are compared with.
        peer_us: Its median time per state [us].
        ratio: Ours over the peer's; below 1 we are faster.
        ratio_of_best: The same of the fastest rounds.
        max_rel_error: Largest difference of the results, max-norm relative, over all states
            compared before timing; for accelerations divided by the condition of H.
        noise: The larger of the two spreads (distance of quartiles over median).
        bar: The ratio to stay below, if one is set.
    """

    robot: str
    algorithm: str
    mode: str
    lanes: int
    ours_us: float
    peer: str
    peer_us: float
    ratio: float
    ratio_of_best: float
    max_rel_error: float
    noise: float
    bar: float | None = None

    @classmethod
    def of(
        cls,
        ours: Timing,
        theirs: Timing,
        overhead: Timing | None = None,
        **about: object,
    ) -> Row:
        """Return the row of two timings.

        Args:
            ours: Our timing.
            theirs: The peer's.
            overhead: Taken off the peer's: what a call of it costs before any arithmetic.
            about: The other fields.
        """
        median = theirs.median - (overhead.median if overhead else 0.0)
        best = theirs.best - (overhead.best if overhead else 0.0)
        return cls(
            ours_us=ours.median,
            peer_us=median,
            ratio=ours.median / median,
            ratio_of_best=ours.best / best,
            noise=max(ours.spread, theirs.spread),
            **about,  # type: ignore[arg-type]
        )

    @property
    def verdict(self) -> str:
        """Whether the bar is met: "met", "MISSED", or nothing where there is none."""
        if self.bar is None:
            return ""
        return "met" if self.ratio <= self.bar else "MISSED"


def table(rows: Iterable[Row]) -> str:
    """Return the rows as text, one line each."""
    head = ("robot", "algorithm", "mode", "ours us", "peer", "peer us", "times", "error", "noise")
    lines = [
        (
            row.robot,
            row.algorithm,
            row.mode,
            f"{row.ours_us:.3f}",
            row.peer,
            f"{row.peer_us:.3f}",
            f"{1 / row.ratio:.2f}",
            f"{row.max_rel_error:.1e}",
            f"{row.noise:.0%}",
            "" if row.bar is None else f"{row.verdict}: at least {1 / row.bar:.2f} times as fast",
        )
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip((*head, ""), *lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in [(*head, ""), *lines]
    )
