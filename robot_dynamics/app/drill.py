# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The drill's process, started and listened to."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from robot_dynamics.app.drill_report import DrillResult, result_of
from robot_dynamics.app.node_process import NodeError, NodeProcess
from robot_dynamics.app.progress import Listener, StudyProgress
from robot_dynamics.app.ros_environment import private_environment
from robot_dynamics.app.scenario import Scenario

MODULE = "robot_dynamics.nodes.drill.process"
SILENCE_S = 180.0  # without a word from the drill's process, it is given up


def drill(
    scenario: Scenario,
    arguments: Sequence[str],
    progress: Listener,
    *,
    silence_s: float = SILENCE_S,
) -> tuple[list[DrillResult], int, dict[str, Any]]:
    """Run the process of the drill in a domain of its own, and return what it found.

    Args:
        scenario: What is run.
        arguments: Of the process.
        progress: Called now and then.
        silence_s: How long it may say nothing before it is given up [s].

    Returns:
        The results of the hazards, how many there were to be, and the figures of a soak.

    Raises:
        NodeError: If it ends early or hangs; everything it has started is ended.
    """
    results: list[DrillResult] = []
    hazards, soak = 0, {}
    with tempfile.TemporaryDirectory(prefix="robot_dynamics-") as name:
        folder = Path(name)
        source = folder / "drill.yaml"
        source.write_text(scenario.text(), encoding="utf-8")
        environment = private_environment(folder)
        process = NodeProcess("drill", MODULE, [str(source), *arguments], folder, environment)
        try:
            heard = time.monotonic()
            while not process.is_done:
                for said in process.events():
                    heard = time.monotonic()
                    if said["event"] == "progress":
                        progress(StudyProgress(said["tick"], said["ticks"], said["doing"]))
                    elif said["event"] == "hazards":
                        hazards = said["count"]
                    elif said["event"] == "result":
                        results.append(result_of(said))
                    elif said["event"] == "soak":
                        soak = said
                failure = process.failure()
                if failure is not None:
                    raise failure
                if time.monotonic() - heard > silence_s:
                    words = process.last_words()
                    raise NodeError(
                        f"the drill said nothing for {silence_s:g} s; it was given up.", words
                    )
                time.sleep(0.05)
        finally:
            process.interrupt()
            process.end()
    return results, hazards, {**soak, "ok": bool(soak) and not soak["problems"]}
