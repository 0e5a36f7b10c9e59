# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Who watches running nodes from outside: every torque that is sent, and what nodes say."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.srv import SetParameters
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile, QoSReliabilityPolicy
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from robot_dynamics.app import topic_names as topics
from robot_dynamics.app.node_process import NodeProcess, start_with_parameters
from robot_dynamics.app.scenario import Scenario
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.nodes.conversions import read_command
from robot_dynamics.nodes.diagnostics import OK
from robot_dynamics.nodes.topics import Inbox

_PATIENCE_S = 30.0
# After which a request is sent again: an answer to a client that the server has not found yet is
# lost, which happens on busy machines.
_ANSWER_S = 6.0
# Deep enough for everything that comes while this process waits for the machine.
_EVERYTHING = QoSProfile(depth=2000, reliability=QoSReliabilityPolicy.RELIABLE)
_NEVER = 1 << 31  # numbers of ticks beyond it are those of clocks that were set back


class DrillError(RobotDynamicsError):
    """A drill that cannot go on: nodes do not do what they do without any hazard."""


@dataclass
class Status:
    """What a node said last of itself.

    Attributes:
        level: Of the diagnostics.
        message: The sentence.
        values: The figures, as texts.
        heard: Number of messages.
    """

    level: bytes = OK
    message: str = ""
    values: dict[str, str] = field(default_factory=dict)
    heard: int = 0


class Witness:
    """A node that hears commands and diagnostics, and calls services.

    Attributes:
        statuses: What each node said last, by name.
        largest: The largest torque over its limit since `forget`.
        not_finite: Number of commands since then with a number that is none.
        commands: Number of commands since then.
        tick: The last control tick that was answered.
        stalled_s: The longest time for which the machine did not run this process [s]; to be set
            to zero by who asks.

    Args:
        system: The arms.
        hears_commands: Whether to hear commands, which is work for who sends them as well.
    """

    def __init__(self, system: GraspSystem, *, hears_commands: bool = True) -> None:
        self._node = Node("drill")
        self._inbox = Inbox(self._node)
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self._node)
        effort = system.limits["effort"]
        arms = zip(system.arms, system.arm_slices, strict=True) if hears_commands else ()
        for arm, own in arms:
            self._inbox.subscribe(
                Float64MultiArray,
                topics.commands(arm.name),
                partial(self._on_command, effort[own]),
                _EVERYTHING,
                awaited=True,
            )
        self._inbox.subscribe(
            DiagnosticArray, "/diagnostics", self._on_diagnostics, _EVERYTHING, awaited=True
        )
        self._services: dict[str, Any] = {}
        self.stalled_s = 0.0
        self.statuses: dict[str, Status] = {}
        self.forget()

    def close(self) -> None:
        """End."""
        self._inbox.close()
        self._executor.shutdown(timeout_sec=0.5)
        self._node.destroy_node()

    def forget(self) -> None:
        """Begin to count anew."""
        self.largest, self.not_finite, self.commands, self.tick = 0.0, 0, 0, -1

    def status(self, node: str) -> Status:
        """Return what a node said last; an empty status if it has not said anything."""
        return self.statuses.setdefault(node, Status())

    def _on_command(self, effort: np.ndarray, message: Float64MultiArray) -> None:
        number, torque = read_command(message)
        self.commands += 1
        if number < _NEVER:
            self.tick = max(self.tick, number)
        if not torque.size:
            return
        used = float(np.abs(torque / effort[: torque.size]).max())
        if math.isfinite(used):
            self.largest = max(self.largest, used)
        else:
            self.not_finite += 1

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for said in message.status:
            status = self.status(said.name.partition(":")[0])
            status.level, status.message = said.level, said.message
            status.values = {value.key: value.value for value in said.values}
            status.heard += 1

    def look(self, seconds: float = 0.01) -> None:
        """Take in what has come, waiting for something for at most so long [s]."""
        begin = time.monotonic()
        self._inbox.wait(seconds)
        self.stalled_s = max(self.stalled_s, time.monotonic() - begin - seconds)
        self._inbox.read()
        self._executor.spin_once(timeout_sec=0)

    def watch(self, seconds: float, interval: float = 0.01) -> None:
        """Watch for a while [s], with a look at services in every interval [s]."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.look(interval)

    def wait_for(
        self,
        condition: Callable[[], bool],
        what: str,
        seconds: float = _PATIENCE_S,
        check: Callable[[], None] | None = None,
    ) -> None:
        """Wait until something is so.

        Args:
            condition: What is waited for.
            what: In words.
            seconds: The longest wait [s].
            check: Called now and then; raises if it cannot come any more.

        Raises:
            DrillError: If it does not come.
        """
        until = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > until:
                said = "; ".join(f"{name}: {s.message}" for name, s in self.statuses.items())
                raise DrillError(f"{what} did not come in {seconds:g} s ({said}).")
            if check is not None:
                check()
            self.look()

    def call(self, service: str) -> tuple[bool, str]:
        """Call a service without arguments, as "controller/start"; return what it answers.

        Raises:
            DrillError: If it does not answer.
        """
        answer = self._call(Trigger, service, Trigger.Request())
        return bool(answer.success), str(answer.message)

    def insist(self, service: str, meanwhile: Callable[[], None] | None = None) -> None:
        """Call a service until it succeeds.

        Args:
            service: Its name.
            meanwhile: What is done before it is called again.

        Raises:
            DrillError: If it does not; with what it answered last.
        """
        until = time.monotonic() + _PATIENCE_S
        while True:
            success, message = self.call(service)
            if success:
                return
            if time.monotonic() > until:
                raise DrillError(f"{service}: {message}")
            if meanwhile is not None:
                meanwhile()

    def switch_faults(self, faults: str) -> None:
        """Set the simulator's faults.

        Raises:
            DrillError: If it refuses them.
        """
        wish = [Parameter("faults", value=faults).to_parameter_msg()]
        request = SetParameters.Request(parameters=wish)
        (result,) = self._call(SetParameters, "simulator/set_parameters", request).results
        if not result.successful:
            raise DrillError(f"simulator: {result.reason}")

    def _call(self, kind: Any, name: str, request: Any) -> Any:
        if name not in self._services:
            self._services[name] = self._node.create_client(kind, name)
        client = self._services[name]
        self.wait_for(client.service_is_ready, f"the service {name}")
        futures: list[Any] = []
        asked_at = -math.inf

        def answered() -> bool:
            nonlocal asked_at
            if time.monotonic() > asked_at + _ANSWER_S:
                futures.append(client.call_async(request))
                asked_at = time.monotonic()
            return any(future.done() for future in futures)

        self.wait_for(answered, f"the answer of {name}")
        return next(future.result() for future in futures if future.done())

    def forget_services(self) -> None:
        """Let go of services of nodes that have ended."""
        for client in self._services.values():
            self._node.destroy_client(client)
        self._services.clear()


def start_ros() -> None:
    """Start ROS in this process; signals stay Python's."""
    from rclpy.signals import SignalHandlerOptions

    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)


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
