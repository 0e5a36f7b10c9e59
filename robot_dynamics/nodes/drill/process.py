# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The process of a drill: starts nodes, tries hazards or soaks, and reports lines of JSON."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import rclpy

from robot_dynamics.app.progress import print_event
from robot_dynamics.app.scenarios.cell import build_system
from robot_dynamics.app.scenarios.scenario import Scenario, load_scenario
from robot_dynamics.errors import RobotDynamicsError, UnknownNameError
from robot_dynamics.nodes.drill.hazards import HAZARDS, Trial, problems_of_commands
from robot_dynamics.nodes.drill.session import DrillSession, NodeMonitor, start_ros

WALL_CLOCK_RATE_HZ = 250.0  # control rate that a busy laptop can keep
_FAULTS = sorted({hazard.faults.split()[0] for hazard in HAZARDS if hazard.faults})


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a drill, and return the exit status: 0 if it was completed, whatever it found."""
    parser = argparse.ArgumentParser()
    parser.add_argument("scenario")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--soak", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    start_ros()
    try:
        scenario = load_scenario(options.scenario)
        slower = at_most(scenario, WALL_CLOCK_RATE_HZ)
        monitor = NodeMonitor(build_system(scenario))
        folder = Path.cwd()
        try:
            if options.soak:
                found = Soak(monitor, scenario, folder, options.soak, options.seed).run()
                print_event("soak", **found)
            else:
                try_hazards(monitor, options.only, scenario, slower, folder)
        finally:
            monitor.close()
        print_event("done")
        return 0
    except KeyboardInterrupt:
        return 0
    except RobotDynamicsError as error:
        print_event("error", message=str(error))
        return 2 if isinstance(error, UnknownNameError) else 1
    finally:
        rclpy.try_shutdown()


def at_most(scenario: Scenario, rate_hz: float) -> Scenario:
    """Return the scenario with its control rate limited."""
    control = scenario.control
    return replace(scenario, control=replace(control, rate_hz=min(control.rate_hz, rate_hz)))


def try_hazards(
    monitor: NodeMonitor, only: Sequence[str], scenario: Scenario, slower: Scenario, folder: Path
) -> None:
    """Try hazards in lockstep, then on the wall clock, and report each result.

    Args:
        monitor: The node that monitors them.
        only: Names of hazards; none for all.
        scenario: The scenario in lockstep.
        slower: The scenario on the wall clock.
        folder: The working directory of the nodes.

    Raises:
        UnknownNameError: If no hazard has a name.
        DrillError: If the nodes fail without any hazard.
    """
    names = [hazard.name for hazard in HAZARDS]
    for name in only:
        if name not in names:
            raise UnknownNameError("hazard", name, names)
    hazards = [hazard for hazard in HAZARDS if not only or hazard.name in only]
    print_event("hazards", count=len(hazards))
    done = 0
    for lockstep, run in ((True, scenario), (False, slower)):
        own = [hazard for hazard in hazards if hazard.lockstep is lockstep]
        if not own:
            continue
        print_event("progress", tick=done, ticks=len(hazards), doing="starting nodes")
        with DrillSession(monitor, run, folder, lockstep=lockstep) as session:
            session.start_nodes()
            session.begin()
            trial = Trial(session, monitor, run)
            for hazard in own:
                print_event("progress", tick=done, ticks=len(hazards), doing=hazard.name)
                print_event("result", **asdict(trial.run(hazard)))
                done += 1
        monitor.destroy_clients()
        monitor.statuses.clear()


MOST_GROWTH_MB = 5.0
_WARM_S = 60.0  # simulated time after which all code and data are loaded
_MEGABYTE = 2.0**20


@dataclass
class Usage:
    """Memory and open files of a process.

    Attributes:
        memory_mb: Resident memory, after warming up and at the end [MiB].
        files: Open files, after warming up and at the end.
    """

    memory_mb: list[float] = field(default_factory=list)
    files: list[int] = field(default_factory=list)

    def measure(self, pid: int) -> None:
        """Measure a process; the first and the last values are kept."""
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
        memory = pages * os.sysconf("SC_PAGE_SIZE") / _MEGABYTE
        self.memory_mb[1:] = [memory]
        self.files[1:] = [len(os.listdir(f"/proc/{pid}/fd"))]

    def problems(self, name: str) -> list[str]:
        """Return the growth of memory and open files, in sentences."""
        if len(self.memory_mb) < 2:
            return []
        found = []
        growth = self.memory_mb[1] - self.memory_mb[0]
        if growth > MOST_GROWTH_MB:
            found.append(
                f"memory of the {name} grew by {growth:.4g} MB; expected at most "
                f"{MOST_GROWTH_MB:g} MB."
            )
        if self.files[1] > self.files[0]:
            count = self.files[1] - self.files[0]
            found.append(f"{count} files of the {name} stayed open; expected none.")
        return found


class Soak:
    """Runs of random length in lockstep, each with a random fault, to find growth and crashes.

    Args:
        monitor: The node that monitors them.
        scenario: The scenario.
        folder: The working directory of the nodes.
        seconds: Simulated time [s].
        seed: Seed of the random numbers.
    """

    def __init__(
        self, monitor: NodeMonitor, scenario: Scenario, folder: Path, seconds: float, seed: int
    ) -> None:
        self._monitor, self._seconds = monitor, seconds
        self._period = scenario.control.period
        self._arms = [arm.name for arm in scenario.cell.arms]
        self._session = DrillSession(monitor, scenario, folder, lockstep=True)
        self._random = np.random.default_rng(seed)
        self._faults: Counter[str] = Counter()
        self._simulated = self._largest = 0.0
        self._commands = self._not_finite = 0

    def run(self) -> dict[str, Any]:
        """Run, and return the figures (JSON values).

        Raises:
            DrillError: If a node ends, or does not return to a run.
        """
        begin = time.monotonic()
        usage: dict[str, Usage] = {}
        with self._session as session:
            session.start_nodes()
            while self._simulated < self._seconds:
                self._once()
                if self._simulated >= min(_WARM_S, 0.3 * self._seconds):
                    for name, process in session.nodes.items():
                        usage.setdefault(name, Usage()).measure(process.pid)
                print_event(
                    "progress",
                    tick=int(min(self._simulated, self._seconds)),
                    ticks=int(self._seconds),
                    doing=self._words(usage),
                )
            session.check()
        problems = [line for name, used in usage.items() for line in used.problems(name)]
        problems += problems_of_commands(self._not_finite, self._largest)
        return {
            "simulated_s": self._simulated,
            "wall_s": time.monotonic() - begin,
            "faults": dict(self._faults),
            "commands": self._commands,
            "largest_torque": self._largest,
            "memory_mb": {name: used.memory_mb for name, used in usage.items()},
            "open_files": {name: used.files for name, used in usage.items()},
            "problems": problems,
        }

    def _words(self, usage: dict[str, Usage]) -> str:
        grown = [used.memory_mb[-1] - used.memory_mb[0] for used in usage.values()]
        memory = f", memory {max(grown):+.1f} MB" if grown else ""
        return f"{self._simulated:.0f} s, {sum(self._faults.values())} faults{memory}"

    def _once(self) -> None:
        """Run from the start until after a fault."""
        monitor, draw = self._monitor, self._random
        self._session.recover()
        self._session.run_for(draw.uniform(1.0, 12.0))
        kind = str(draw.choice(_FAULTS))
        arm = str(draw.choice(["", *self._arms]))
        monitor.set_faults(f"{kind} {arm} {10.0 ** draw.uniform(-3.0, 0.0):.4f}")
        self._faults[kind] += 1
        self._session.run_for(1.0)
        monitor.set_faults("")
        self._session.run_for(draw.uniform(0.1, 1.0))
        self._simulated += (monitor.tick + 1) * self._period
        self._largest = max(self._largest, monitor.largest)
        self._commands += monitor.commands
        self._not_finite += monitor.not_finite


if __name__ == "__main__":
    sys.exit(main())
