# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A scenario with simulator and controller as two ROS 2 nodes, started and watched here."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from robot_dynamics.app.node_process import (
    NodeProcess,
    private_environment,
    require_ros,
    run_until_done,
    start_with_parameters,
)
from robot_dynamics.app.progress import Listener, Progress
from robot_dynamics.app.recordings.recording import RecordingError
from robot_dynamics.app.recordings.recording_files import load_merged
from robot_dynamics.app.runs.report import report_of
from robot_dynamics.app.runs.run import Run, RunInterrupted, compile_ahead
from robot_dynamics.app.scenarios.controllers import require_leave
from robot_dynamics.app.scenarios.scenario import Scenario

SIMULATOR, CONTROLLER = "simulator", "controller"
MODULES = {name: f"robot_dynamics.nodes.{name}" for name in (SIMULATOR, CONTROLLER)}
SILENCE_S = 60.0  # without an event of any node, after which a run is given up


def demonstrate(
    scenario: Scenario,
    *,
    duration: float | None = None,
    progress: Listener | None = None,
    silence_s: float = SILENCE_S,
    allow_code: bool = False,
) -> Run:
    """Run a scenario on ROS 2 topics: two nodes in separate processes, in lockstep.

    The nodes communicate on this machine only, in a separate ROS domain. They are stopped when
    this function returns or raises. Their functions are compiled before they start.

    Args:
        scenario: The scenario.
        duration: Simulated time [s]; that of start and reference by default.
        progress: Called repeatedly.
        silence_s: Longest time without an event of any node [s].
        allow_code: Whether code that the scenario names as `control.law` may be imported.

    Raises:
        ControllerError: If the scenario names code, and that is not allowed.
        RosMissingError: If rclpy is not installed.
        ArgumentError: If the duration is not a positive number, or too long.
        NodeError: If a node ends early or hangs; the other one is stopped.
        RunInterrupted: On Ctrl-C, a KeyboardInterrupt with the run until then.
    """
    require_ros()
    require_leave(scenario.control, allow_code)
    if duration is not None:
        scenario.ticks(scenario.plan(), duration)
    compile_ahead(scenario)
    with (
        tempfile.TemporaryDirectory(prefix="robot_dynamics-") as name,
        private_environment(Path(name)) as environment,
    ):
        folder = Path(name)
        source = folder / "scenario.yaml"
        source.write_text(scenario.text(), encoding="utf-8")
        files = {node: folder / f"{node}.npz" for node in (SIMULATOR, CONTROLLER)}

        def start(node: str) -> NodeProcess:
            parameters: dict[str, object] = {
                "scenario": str(source),
                "mode": "lockstep",
                "output": str(files[node]),
                "duration": float(duration or 0.0),
                "progress": True,
            }
            if node == CONTROLLER and allow_code:
                parameters["allow_code"] = scenario.control.law
            return start_with_parameters(node, MODULES[node], parameters, folder, environment)

        def on_event(event: dict[str, Any]) -> None:
            if event["event"] == "progress" and progress is not None:
                progress(_progress_of(event))

        try:
            run_until_done(map(start, files), silence_s, on_event)
        except KeyboardInterrupt:
            kept = _interrupted(files.values())
            if kept is None:
                raise
            raise RunInterrupted(kept) from None
        recording = load_merged(files.values())
    return Run(recording, report_of(recording))


def _interrupted(files: Iterable[Path]) -> Run | None:
    """Return the run until its nodes were interrupted; None if it had not begun."""
    try:
        recording = load_merged(files)
    except RecordingError:  # a node that has recorded nothing writes no file
        return None
    if not len(recording):
        return None
    recording.metadata["interrupted_s"] = len(recording) * recording.get("period_s")
    return Run(recording, report_of(recording))


def _progress_of(event: dict[str, Any]) -> Progress:
    """Return the progress in an event; null in JSON is NaN."""
    missing = dict.fromkeys(("time_s", "servo_error_mm", "torque_fraction"), math.nan)
    known = {key: value for key, value in event.items() if key != "event" and value is not None}
    return Progress(**{"squeeze_n": None, **missing, **known})
