# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The fault drill: start of its process, and its results as a table and as JSON."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from robot_dynamics.app.node_process import NodeProcess, private_environment, run_until_done
from robot_dynamics.app.progress import Listener, StudyProgress
from robot_dynamics.app.runs.run import compile_ahead
from robot_dynamics.app.scenarios.scenario import Scenario

MODULE = "robot_dynamics.nodes.drill.process"
SILENCE_S = 600.0  # without an event of the drill's process, after which it is given up


class DrillInterrupted(KeyboardInterrupt):
    """Ctrl-C in a drill.

    Attributes:
        found: The results of `drill` until then.
    """

    def __init__(self, found: tuple[list[DrillResult], int, dict[str, Any]]) -> None:
        super().__init__()
        self.found = found


def drill(
    scenario: Scenario,
    arguments: Sequence[str],
    progress: Listener,
    *,
    silence_s: float = SILENCE_S,
) -> tuple[list[DrillResult], int, dict[str, Any]]:
    """Run the process of the drill in a separate domain, and return its results.

    The functions of its nodes are compiled before it starts.

    Args:
        scenario: The scenario.
        arguments: Arguments of the process.
        progress: Called repeatedly.
        silence_s: Longest time without an event [s].

    Returns:
        The results of the hazards, the number of hazards planned, and the figures of a soak.

    Raises:
        NodeError: If it ends early or hangs; all its processes are ended.
        DrillInterrupted: On Ctrl-C after the first result.
    """
    results: list[DrillResult] = []
    hazards = 0
    soak: dict[str, Any] = {}
    compile_ahead(scenario)
    with (
        tempfile.TemporaryDirectory(prefix="robot_dynamics-") as name,
        private_environment(Path(name)) as environment,
    ):
        folder = Path(name)
        source = folder / "drill.yaml"
        source.write_text(scenario.text(), encoding="utf-8")

        def on_event(event: dict[str, Any]) -> None:
            nonlocal hazards, soak
            if event["event"] == "progress":
                progress(StudyProgress(event["tick"], event["ticks"], event["doing"]))
            elif event["event"] == "hazards":
                hazards = event["count"]
            elif event["event"] == "result":
                results.append(result_of(event))
            elif event["event"] == "soak":
                soak = event

        process = NodeProcess("drill", MODULE, [str(source), *arguments], folder, environment)
        try:
            run_until_done([process], silence_s, on_event)
        except KeyboardInterrupt:
            if not results:
                raise
            raise DrillInterrupted((results, hazards, {"ok": False})) from None
    return results, hazards, {**soak, "ok": bool(soak) and not soak["problems"]}


_TITLES = (
    "hazard",
    "clock",
    "tries",
    "fallback",
    "at most",
    "torque",
    "command gap",
    "torque step",
    "seen in the diagnostics",
    "recovery",
)


@dataclass(frozen=True)
class DrillResult:
    """The result of one hazard.

    Attributes:
        hazard: Its name.
        lockstep: Whether simulated time waited for commands.
        seen: The fault in the diagnostics; empty if control went on.
        fallback_s: Time from the hazard to the fallback [s]; None if control went on.
        bound_s: Longest allowed time [s]; None if control must continue.
        stalled_s: Time for which the machine did not run the drill itself [s].
        largest_torque: The largest torque over its limit.
        commands: Number of observed commands.
        recovery: Recovery after the hazard.
        largest_gap_s: The longest time between two commands to an arm [s]; None in lockstep,
            where time waits for commands.
        gap_bound_s: Longest allowed time [s]; None without a limit.
        largest_step: The largest change of a joint's torque from one command to the next
            [N m or N].
        step_bound: The largest allowed [N m or N].
        problems: Requirements that were not met.
        attempts: Number of trials: on the wall clock a busy machine can spoil a trial.
    """

    hazard: str
    lockstep: bool
    seen: str
    fallback_s: float | None
    bound_s: float | None
    stalled_s: float
    largest_torque: float
    commands: int
    recovery: str
    largest_gap_s: float | None
    gap_bound_s: float | None
    largest_step: float
    step_bound: float
    problems: tuple[str, ...] = ()
    attempts: int = 1

    @property
    def ok(self) -> bool:
        """Whether all requirements were met."""
        return not self.problems


def result_of(event: dict[str, Any]) -> DrillResult:
    """Return the result that a JSON object holds."""
    fields = {name: event[name] for name in DrillResult.__dataclass_fields__}
    return DrillResult(**{**fields, "problems": tuple(fields["problems"])})


def drill_report(results: Sequence[DrillResult], hazards: int) -> dict[str, Any]:
    """Return the report of a drill (JSON values).

    Args:
        results: Results of the tried hazards.
        hazards: Number of planned hazards.
    """
    return {
        "ok": len(results) == hazards and all(result.ok for result in results),
        "hazards": [{**asdict(result), "ok": result.ok} for result in results],
    }


def drill_table(results: Sequence[DrillResult]) -> str:
    """Return the results as a table in Markdown."""
    rows = [_TITLES, *(_row(result) for result in results)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(_TITLES))]
    rows.insert(1, tuple("-" * width for width in widths))
    lines = [
        "| " + " | ".join(f"{cell:{w}}" for cell, w in zip(row, widths, strict=True)) + " |"
        for row in rows
    ]
    return "\n".join(lines)


def _row(result: DrillResult) -> tuple[str, ...]:
    goes_on = result.bound_s is None
    seen = result.seen or ("control continues" if goes_on else "nothing")
    return (
        result.hazard,
        "lockstep" if result.lockstep else "wall",
        str(result.attempts),
        "none" if result.fallback_s is None else f"{1e3 * result.fallback_s:.1f} ms",
        "" if result.bound_s is None else f"{1e3 * result.bound_s:g} ms",
        f"{100.0 * result.largest_torque:.0f} %",
        "" if result.largest_gap_s is None else f"{1e3 * result.largest_gap_s:.0f} ms",
        f"{result.largest_step:.2f} of {result.step_bound:g} N m",
        seen.replace("|", "/") if result.ok else "FAILED: " + " ".join(result.problems),
        result.recovery,
    )


def soak_lines(soak: dict[str, Any]) -> list[str]:
    """Return the figures of a soak in sentences."""
    faults = sum(soak["faults"].values())
    lines = [
        f"{soak['simulated_s']:.0f} s simulated in {soak['wall_s']:.0f} s with {faults} faults, "
        f"{soak['commands']} commands, the largest {100 * soak['largest_torque']:.0f} % of its "
        "limit"
    ]
    for name, memory in soak["memory_mb"].items():
        files = soak["open_files"][name]
        lines.append(
            f"{name}: memory {memory[0]:.1f} MB after warming up, {memory[-1]:.1f} MB at the end; "
            f"{files[0]} files open, then {files[-1]}"
        )
    return lines + [f"FAILED: {problem}" for problem in soak["problems"]]
