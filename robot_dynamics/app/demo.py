# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A scenario with simulator and controller as two ROS 2 nodes, started and watched here."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from robot_dynamics.app.node_process import (
    NodeError,
    NodeProcess,
    first_failure,
    private_environment,
    require_ros,
    start_with_parameters,
)
from robot_dynamics.app.progress import Listener, Progress
from robot_dynamics.app.recording import Recording
from robot_dynamics.app.report import report_of
from robot_dynamics.app.run import Run
from robot_dynamics.app.scenario import Scenario

SIMULATOR, CONTROLLER = "simulator", "controller"
MODULES = {name: f"robot_dynamics.nodes.{name}" for name in (SIMULATOR, CONTROLLER)}
SILENCE_S = 60.0  # without a word from any node, a run is given up


def demonstrate(
    scenario: Scenario,
    *,
    duration: float | None = None,
    progress: Listener | None = None,
    silence_s: float = SILENCE_S,
) -> Run:
    """Run a scenario on ROS 2 topics: two nodes in processes of their own, in lockstep.

    The nodes talk to each other on this machine alone, in a domain that nobody uses. They are
    stopped when this function returns or raises.

    Args:
        scenario: The scenario.
        duration: Simulated time [s]; that of start and reference by default.
        progress: Called now and then.
        silence_s: How long nodes may say nothing before the run is given up [s].

    Raises:
        RosMissingError: If rclpy is not installed.
        ArgumentError: If the duration is no positive number, or too long.
        NodeError: If a node ends early or hangs; the other one is stopped.
    """
    require_ros()
    if duration is not None:
        scenario.ticks(scenario.plan(), duration)
    with tempfile.TemporaryDirectory(prefix="robot_dynamics-") as name:
        folder = Path(name)
        source = folder / "scenario.yaml"
        source.write_text(scenario.text(), encoding="utf-8")
        environment = private_environment(folder)
        nodes = []
        try:
            for node in (SIMULATOR, CONTROLLER):
                parameters = {
                    "scenario": str(source),
                    "mode": "lockstep",
                    "output": str(folder / f"{node}.npz"),
                    "duration": float(duration or 0.0),
                    "progress": True,
                }
                nodes.append(
                    start_with_parameters(node, MODULES[node], parameters, folder, environment)
                )
            _wait(nodes, progress, silence_s)
        finally:
            for process in nodes:
                process.interrupt()
            for process in nodes:
                process.end()
        sides = [Recording.load(folder / f"{process.name}.npz") for process in nodes]
    recording = sides[0].merged(sides[1])
    return Run(recording, report_of(recording))


def _wait(nodes: list[NodeProcess], progress: Listener | None, silence_s: float) -> None:
    """Return when both nodes are done.

    Raises:
        NodeError: If one ends before that, or none says anything for too long.
    """
    heard = time.monotonic()
    while not all(node.is_done for node in nodes):
        for node in nodes:
            for said in node.events():
                heard = time.monotonic()
                if said["event"] == "progress" and progress is not None:
                    progress(_progress_of(said))
        failure = first_failure(nodes)
        if failure is not None:
            raise failure
        if time.monotonic() - heard > silence_s:
            waiting = " and the ".join(node.name for node in nodes if not node.is_done)
            raise NodeError(
                f"the {waiting} said nothing for {silence_s:g} s; the run was given up.",
                details=[line for node in nodes for line in node.last_words()],
            )
        time.sleep(0.02)


def _progress_of(said: dict[str, object]) -> Progress:
    def number(key: str) -> float:
        value = said.get(key)
        return float(value) if isinstance(value, (int, float)) else float("nan")

    squeeze = said.get("squeeze_n")
    return Progress(
        int(number("tick")) if said.get("tick") is not None else 0,
        int(number("ticks")) if said.get("ticks") is not None else 1,
        number("time_s"),
        number("servo_error_mm"),
        float(squeeze) if isinstance(squeeze, (int, float)) else None,
        number("torque_fraction"),
    )
