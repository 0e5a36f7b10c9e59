# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Hours of simulated operation in lockstep with faults at random: nothing may grow or end."""

from __future__ import annotations

import os
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.app.progress import print_event
from robot_dynamics.app.scenario import Scenario
from robot_dynamics.nodes.drill.session import Session
from robot_dynamics.nodes.drill.witness import Witness
from robot_dynamics.simulation.faults import KINDS

MOST_GROWTH_MB = 5.0
_WARM_S = 60.0  # of simulated time, after which nothing new has to be loaded
_STANDSTILL_S = 1.5  # of wall clock: some faults stop simulated time until they are over
_MEGABYTE = 2.0**20


@dataclass
class Usage:
    """What a process holds.

    Attributes:
        memory_mb: Resident memory, after warming up and at the end [MiB].
        files: Open files, likewise.
    """

    memory_mb: list[float] = field(default_factory=list)
    files: list[int] = field(default_factory=list)

    def note(self, pid: int) -> None:
        """Look at a process, the first time and the last."""
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
        memory = pages * os.sysconf("SC_PAGE_SIZE") / _MEGABYTE
        self.memory_mb[1:] = [memory]
        self.files[1:] = [len(os.listdir(f"/proc/{pid}/fd"))]

    def problems(self, name: str) -> list[str]:
        """Return what has grown."""
        if len(self.memory_mb) < 2:
            return []
        found = []
        growth = self.memory_mb[1] - self.memory_mb[0]
        if growth > MOST_GROWTH_MB:
            found.append(f"memory of the {name} grew by {growth:.1f} MB.")
        if self.files[1] > self.files[0]:
            found.append(f"{self.files[1] - self.files[0]} files of the {name} stayed open.")
        return found


class Soak:
    """Runs of random length, each with a fault of a random kind, until enough time has passed.

    Args:
        witness: Who watches.
        scenario: What runs.
        folder: Where nodes run.
        seconds: Simulated time [s].
        seed: Of what is random.
    """

    def __init__(
        self, witness: Witness, scenario: Scenario, folder: Path, seconds: float, seed: int
    ) -> None:
        self._witness, self._seconds = witness, seconds
        self._period = scenario.control.period
        self._arms = [arm.name for arm in scenario.cell.arms]
        self._session = Session(witness, scenario, folder, lockstep=True)
        self._random = np.random.default_rng(seed)
        self._faults: Counter[str] = Counter()
        self._simulated = self._largest = 0.0
        self._commands = self._not_finite = 0

    def run(self) -> dict[str, Any]:
        """Run, and return what was found (JSON values).

        Raises:
            DrillError: If a node ends, or does not get back to a run.
        """
        begin = time.monotonic()
        usage: dict[str, Usage] = {}
        with self._session as session:
            session.start_nodes()
            while self._simulated < self._seconds:
                self._once()
                if self._simulated >= min(_WARM_S, 0.3 * self._seconds):
                    for name, process in session.nodes.items():
                        usage.setdefault(name, Usage()).note(process.pid)
                print_event(
                    "progress",
                    tick=int(min(self._simulated, self._seconds)),
                    ticks=int(self._seconds),
                    doing=self._words(usage),
                )
            session.check()
        problems = [line for name, used in usage.items() for line in used.problems(name)]
        if self._not_finite:
            problems.append(f"{self._not_finite} commands were not finite.")
        if self._largest > 1.0 + 1e-9:
            problems.append(f"a torque was {self._largest:.3f} of its limit.")
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
        witness, draw = self._witness, self._random
        self._session.recover()
        self._let_pass(draw.uniform(1.0, 12.0))
        kind = str(draw.choice(KINDS))
        arm = str(draw.choice(["", *self._arms]))
        witness.switch_faults(f"{kind} {arm} {10.0 ** draw.uniform(-3.0, 0.0):.4f}")
        self._faults[kind] += 1
        self._let_pass(1.0)
        witness.switch_faults("")
        self._let_pass(draw.uniform(0.1, 1.0))
        self._simulated += (witness.tick + 1) * self._period
        self._largest = max(self._largest, witness.largest)
        self._commands += witness.commands
        self._not_finite += witness.not_finite

    def _let_pass(self, seconds: float) -> None:
        """Wait until simulated time has gone on, or has stood still for a while."""
        wanted = self._witness.tick + round(seconds / self._period)
        last, moved = -1, time.monotonic()
        while self._witness.tick < wanted:
            self._witness.look()
            if self._witness.tick != last:
                last, moved = self._witness.tick, time.monotonic()
            elif time.monotonic() - moved > _STANDSTILL_S:
                self._session.check()
                return
