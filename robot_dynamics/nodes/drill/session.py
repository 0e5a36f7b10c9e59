# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Nodes that run for a drill: started, brought to where something is moved, and ended."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from robot_dynamics.app.node_process import NodeProcess, start_with_parameters
from robot_dynamics.app.scenario import Scenario
from robot_dynamics.nodes.drill.witness import DrillError, Witness

SIMULATOR, CONTROLLER, GUARD = "simulator", "controller", "guard"
MOVING_S = 0.6  # of simulated time from a start until the object moves
_LONGEST_S = 3600.0
_START_S = 60.0
_ON_THEIR_WAY_S = 0.05  # commands of the run that was reset
_ATTEMPTS = 4  # on the wall clock, where a busy machine may spoil a start


class Session:
    """Running nodes, and the way back to a run without faults.

    Attributes:
        nodes: The processes, by name.
        lockstep: Whether simulated time waits for commands.
        stale_after_s: See below.
        heartbeat_timeout_s: See below.

    Args:
        witness: Who watches.
        scenario: What is run.
        folder: Where nodes run.
        lockstep: Whether simulated time waits for commands.
        guarded: On the wall clock, whether drives hold the last torque for ever and there is a
            guard; else they brake when commands cease.
        stale_after_s: On the wall clock, silence of a stream that counts as its loss [s].
        heartbeat_timeout_s: Likewise of the controller [s].
    """

    def __init__(
        self,
        witness: Witness,
        scenario: Scenario,
        folder: Path,
        *,
        lockstep: bool,
        guarded: bool = True,
        stale_after_s: float = 0.1,
        heartbeat_timeout_s: float = 0.25,
    ) -> None:
        self._witness, self._scenario, self._folder = witness, scenario, folder
        self.lockstep = lockstep
        source = folder / "scenario.yaml"
        source.write_text(scenario.text(), encoding="utf-8")
        common: dict[str, Any] = {"scenario": str(source)}
        if lockstep:
            common |= {"mode": "lockstep", "duration": _LONGEST_S}
            self._parameters = {SIMULATOR: common, CONTROLLER: common | {"autostart": "never"}}
        else:
            common |= {"mode": "wall_clock"}
            held = {"on_command_timeout": "hold"} if guarded else {}
            watched = {"heartbeat_timeout": heartbeat_timeout_s, "stale_after": stale_after_s}
            self._parameters = {
                SIMULATOR: common | held,
                **({GUARD: common | watched} if guarded else {}),
                # Every machine may be tried, also one that brings fewer samples.
                CONTROLLER: common
                | held
                | watched
                | {"autostart": "never", "sample_rate_tolerance": 1.0},
            }
        self.stale_after_s, self.heartbeat_timeout_s = stale_after_s, heartbeat_timeout_s
        self.nodes: dict[str, NodeProcess] = {}

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *exception: object) -> None:
        for process in self.nodes.values():
            process.interrupt()
        for process in self.nodes.values():
            process.end()
        self.nodes.clear()

    def start_nodes(self, *names: str, **more: object) -> None:
        """Start nodes, all by default, and wait until they are heard.

        Args:
            names: Their names.
            more: Further parameters.
        """
        for name in names or self._parameters:
            self._witness.statuses.pop(name, None)
            self.nodes[name] = start_with_parameters(
                name,
                f"robot_dynamics.nodes.{name}",
                {**self._parameters[name], **more},
                self._folder,
                os.environ,
            )
        status = self._witness.status
        for name in names or self._parameters:
            heard = partial(lambda name: status(name).heard > 0, name)
            self._witness.wait_for(heard, f"the {name}", _START_S, self.check)

    def end_node(self, name: str, signal_number: int) -> None:
        """Send a signal that ends a node, and forget the node."""
        process = self.nodes.pop(name)
        process.send(signal_number)
        process.end()
        self._witness.forget_services()

    def check(self) -> None:
        """Raise if a node has ended by itself.

        Raises:
            DrillError: With what it said.
        """
        for process in self.nodes.values():
            if process.exit_status is not None:
                words = " | ".join(process.last_words()[-3:])
                raise DrillError(
                    f"the {process.name} ended with status {process.exit_status}: {words}"
                )

    @property
    def has_guard(self) -> bool:
        """Whether a guard belongs to the session."""
        return GUARD in self._parameters

    def begin(self) -> None:
        """Bring the arms to the start, and wait until control moves the object.

        Raises:
            DrillError: If that does not come about.
        """

        def begin() -> None:
            self._recover()
            self._wait_until_moving()

        self._try(begin)

    def recover(self) -> None:
        """Do what the documentation says one does after a fault, and start anew.

        Raises:
            DrillError: If that does not come about.
        """
        self._try(self._recover)

    def _try(self, action: Callable[[], object]) -> None:
        for left in reversed(range(1 if self.lockstep else _ATTEMPTS)):
            try:
                action()
                return
            except DrillError:
                self.check()
                if not left:
                    raise

    def _recover(self) -> None:
        witness = self._witness
        witness.switch_faults("")
        witness.call("controller/stop")
        # Its brakes hold the arms until those who command have been reset as well.
        witness.insist("simulator/reset")
        witness.insist("controller/reset")
        if self.has_guard and witness.status(GUARD).message.startswith("in charge"):
            witness.insist("guard/reset")
        witness.watch(_ON_THEIR_WAY_S)
        witness.forget()
        self._start()

    def _start(self) -> None:
        """Start control; in lockstep nothing changes while one waits, so that it is asked once."""
        if not self.lockstep:
            # A guard may have taken over meanwhile, and holds the arms somewhere else.
            self._witness.insist("controller/start", self._take_from_guard)
            return
        success, message = self._witness.call("controller/start")
        # Asked twice, because an answer was lost, it says that control runs.
        if not success and not message.startswith("start refused: active;"):
            raise DrillError(f"controller/start: {message}")

    def _take_from_guard(self) -> None:
        self._witness.insist("simulator/reset")
        self._witness.call("guard/reset")

    def _wait_until_moving(self) -> None:
        witness, period = self._witness, self._scenario.control.period
        first = max(witness.tick, 0)
        wanted = round(MOVING_S / period)
        witness.wait_for(
            lambda: self.is_active and witness.tick - first >= wanted,
            "moving the object",
            check=self._check_moving,
        )

    def _check_moving(self) -> None:
        self.check()
        refused = "start refused" in self.condition
        if refused or self.condition.startswith(("fallback", "stopped")):
            raise DrillError(f"control ended before any hazard: {self.condition}")

    @property
    def is_active(self) -> bool:
        """Whether the controller says that control runs without a fault."""
        return self.condition.startswith("active")

    @property
    def condition(self) -> str:
        """What the controller says of itself."""
        return self._witness.status(CONTROLLER).message
