# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Rows of a benchmark: one for each robot, algorithm, way of calling, and peer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from benchmarks.timing import Timing


@dataclass(frozen=True)
class Row:
    """One comparison.

    Attributes:
        robot: Name of the robot.
        algorithm: "rnea", "crba", "aba", "closed_loop_forward_dynamics",
            "closed_loop_derivatives", "hybrid_control_step" or "contact_plant_step".
        mode: "step", "relieved step", "relieving step", "held-back step": an update of a
            controller, called from Python, by what limits make of it.
            "rigid", "soft finger": a step of a simulated plant, called from Python.
            "loop": one state at a time inside a compiled loop, scalar code. "batch": the same
            loop with SIMD code. "all cores": that in several threads, on the clock. "call": a call
            from Python with one state, checks included.
            "sparse": the same of the sparse matrix method, which is not compiled.
        lanes: States at a time in our code.
        ours_us: Our median time per state [us].
        peer: What we are compared with; none where there is nothing of the kind.
        peer_us: Its median time per state [us].
        ratio: Ours over the peer's; below 1 we are faster.
        ratio_of_best: The same of the fastest rounds.
        max_rel_error: Largest difference of the results, max-norm relative, over all states
            compared before timing; for accelerations divided by the condition of H. Without a
            peer, what constraints and accelerations leave of each other's equations.
        noise: The larger of the two spreads (distance of quartiles over median).
        threshold: The ratio to stay below, if one is set.
        threshold_us: A time [us] to stay below instead, if one is set.
        rungs: Of a ladder, how many.
        us_per_rung: Our time over them [us].
        p99_us: The 99th percentile of our time, on the clock [us].
        bodies: Of a large model, how many.
        compiled_s: From this model to machine code, processor time without a cache [s].
        slope: Growth of our time from the ladder before, d log(time) / d log(rungs): 1 is linear.
    """

    robot: str
    algorithm: str
    mode: str
    lanes: int
    ours_us: float
    peer: str | None
    peer_us: float | None
    ratio: float | None
    ratio_of_best: float | None
    max_rel_error: float
    noise: float
    threshold: float | None = None
    threshold_us: float | None = None
    rungs: int | None = None
    us_per_rung: float | None = None
    slope: float | None = None
    p99_us: float | None = None
    bodies: int | None = None
    compiled_s: float | None = None

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

    @classmethod
    def alone(cls, ours: Timing, **about: object) -> Row:
        """Return the row of a timing that has no peer."""
        nothing = dict.fromkeys(("peer", "peer_us", "ratio", "ratio_of_best"))
        return cls(ours_us=ours.median, noise=ours.spread, **nothing, **about)  # type: ignore[arg-type]

    @property
    def verdict(self) -> str:
        """Whether a threshold is met: "met", "MISSED", or nothing where there is none."""
        if self.ratio is None and self.threshold_us is not None:
            return "met" if self.ours_us <= self.threshold_us else "MISSED"
        if self.threshold is None or self.ratio is None:
            return ""
        fast = self.threshold_us is not None and self.ours_us <= self.threshold_us
        return "met" if fast or self.ratio <= self.threshold else "MISSED"

    @property
    def remark(self) -> str:
        """The verdict and what it is about, or how time grows with a ladder."""
        if self.us_per_rung is not None:
            grows = "" if self.slope is None else f", grows with the power {self.slope:.2f}"
            return f"{self.us_per_rung:.0f} us a rung{grows}"
        if self.bodies is not None:
            each = 1e3 * self.ours_us / self.bodies
            return f"{each:.0f} ns a body, compiled in {self.compiled_s:.1f} s"
        if self.p99_us is not None:
            return (
                f"{self.verdict}: at most {self.threshold_us:g} us; "
                f"99 % within {self.p99_us:.1f} us"
            )
        if self.threshold is None:
            return ""
        least = "" if self.threshold_us is None else f" or at most {self.threshold_us} us"
        return f"{self.verdict}: at least {1 / self.threshold:.2f} times as fast{least}"


def table(rows: Iterable[Row]) -> str:
    """Return the rows as text, one line each."""
    head = ("robot", "algorithm", "mode", "ours us", "peer", "peer us", "times", "error", "noise")
    lines = [
        (
            row.robot,
            row.algorithm,
            row.mode,
            f"{row.ours_us:.3f}",
            row.peer or "",
            "" if row.peer_us is None else f"{row.peer_us:.3f}",
            "" if row.ratio is None else f"{1 / row.ratio:.2f}",
            f"{row.max_rel_error:.1e}",
            f"{row.noise:.0%}",
            row.remark,
        )
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip((*head, ""), *lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in [(*head, ""), *lines]
    )
