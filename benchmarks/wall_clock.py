# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Simulator and controller on the wall clock: how many control periods are answered in time.

`python -m benchmarks.wall_clock --seconds 60`, on a machine with nothing else to do: two
processes, and drives that brake when commands cease. With `--busy 2` two processes compute all the
time besides, drives hold the last torque for ever, a guard watches, and what counts is that the
arms stay safe.

Before and after, two bare programs exchange datagrams at the same rate and compute for as long as
the nodes do in between: what they lose, the machine has taken.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

THRESHOLD = 0.999  # of the control periods, on an idle machine
# What the nodes compute in a period before they send [s].
SIMULATED_S, CONTROLLED_S = 0.4e-3, 0.6e-3


def main() -> int:
    """Run it and return the exit status: 0 if the threshold is met, or arms were safe if busy."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--seconds", type=within(1.0, 3600.0, float), default=20.0, help="of each run"
    )
    parser.add_argument("--busy", type=int, default=0, metavar="N", help="processes besides")
    parser.add_argument(
        "--priority", type=within(0, 99, int), default=0, metavar="P",
        help="realtime_priority of the nodes, 1 to 99",
    )  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures as JSON")
    options = parser.parse_args()
    from robot_dynamics.app.node_process import private_environment, require_ros

    require_ros()
    with tempfile.TemporaryDirectory() as name, private_environment(Path(name)) as environment:
        os.environ.update(environment)
        loops = [
            subprocess.Popen([sys.executable, "-c", "while True: pass"])
            for _ in range(options.busy)
        ]
        try:
            figures = measured(
                Path(name), options.seconds, options.priority, guarded=options.busy > 0
            )
        finally:
            for loop in loops:
                loop.kill()
                loop.wait()
    figures["busy processes"] = options.busy
    for key, value in figures.items():
        print(f"{key}: {value:.6g}" if isinstance(value, float) else f"{key}: {value}")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    if options.busy:
        met = bool(figures["safe"])
        print("met: arms stay safe" if met else "NOT met: torques beyond their limits")
    else:
        met = float(str(figures["answered within the period"])) >= THRESHOLD
        print(
            f"{'met' if met else 'NOT met'}: {THRESHOLD:.1%} of the periods answered within them"
        )
    return 0 if met else 1


def within(low: float, high: float, kind: type[float]) -> Callable[[str], float]:
    """Return a reader of a number of a kind between two others."""

    def read(text: str) -> float:
        number = kind(text)
        if not low <= number <= high:
            raise argparse.ArgumentTypeError(f"{text}; expected {low:g} to {high:g}")
        return number

    read.__name__ = "number"  # for what is none
    return read


def measured(folder: Path, seconds: float, priority: int, *, guarded: bool) -> dict[str, object]:
    """Return the measurements of a run.

    Args:
        folder: Where nodes run.
        seconds: How long [s].
        priority: Real-time priority of the nodes; 0 for none.
        guarded: Whether there is a guard.
    """
    import numpy as np
    import rclpy

    from benchmarks.bare_exchange import answered
    from robot_dynamics.app.recordings.recording_files import load_recording
    from robot_dynamics.app.scenarios.cell import build_system
    from robot_dynamics.app.scenarios.scenario import load_scenario
    from robot_dynamics.nodes.drill.session import (
        CONTROLLER,
        GUARD,
        SIMULATOR,
        DrillSession,
        NodeMonitor,
        start_ros,
    )

    start_ros()
    scenario = load_scenario("lift_box")
    period = scenario.control.period
    machine = [answered(seconds / 4.0, period, SIMULATED_S, CONTROLLED_S, priority)]
    system = build_system(scenario)
    # To be heard by a third process would cost the two time.
    monitor = NodeMonitor(system, reads_commands=False)
    recorded = folder / "run.npz"
    try:
        with DrillSession(
            monitor,
            scenario,
            folder,
            lockstep=False,
            guarded=guarded,
            stale_after_s=1.0,
            heartbeat_timeout_s=1.0,
        ) as session:
            more = {"realtime_priority": priority}
            session.start_nodes(SIMULATOR, output=str(recorded), duration=seconds + 60.0, **more)
            session.start_nodes(*([GUARD] if guarded else []), CONTROLLER, **more)
            session.recover()
            monitor.spin_for(seconds, interval=1.0)  # diagnostics come once a second
            seen = monitor.status(SIMULATOR).values
            told = monitor.status(CONTROLLER).values
            state = session.condition
        machine.append(answered(seconds / 4.0, period, SIMULATED_S, CONTROLLED_S, priority))
        # It was written when the session ended.
        torque = load_recording(recorded)["applied_torque"] / system.limits["effort"]
        largest = float(np.abs(torque).max())
        missed = float(seen["missed control periods"])
        periods = int(seen["control periods"]) + missed
        return {
            "rate [Hz]": scenario.control.rate_hz,
            "control periods": round(periods),
            "of which the simulator missed": round(missed),
            "answered within the period": int(seen["answered within the period"]) / periods,
            "the same of bare programs, before": machine[0],
            "the same of bare programs, after": machine[1],
            **{key: value for key, value in seen.items() if key.startswith("latency")},
            **{key: value for key, value in told.items() if key.startswith("control cycle")},
            "state": state,
            "largest torque, of its limit": largest,
            "safe": bool(np.isfinite(torque).all()) and largest <= 1.0 + 1e-9,
        }
    finally:
        monitor.close()
        rclpy.try_shutdown()


if __name__ == "__main__":
    sys.exit(main())
