# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Nodes of a drill: their processes, and a node that monitors and controls them."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from numpy.typing import NDArray
from rcl_interfaces.srv import SetParameters
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile, QoSReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from robot_dynamics.app.node_process import NodeProcess, end_all, start_with_parameters
from robot_dynamics.app.recordings import topic_names as topics
from robot_dynamics.app.scenarios.scenario import Scenario
from robot_dynamics.control.clock import SECOND
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.nodes.conversions import read_command
from robot_dynamics.nodes.diagnostics import OK
from robot_dynamics.nodes.services import RepeatedCall
from robot_dynamics.nodes.topics import STREAM, Inbox

SIMULATOR, CONTROLLER, GUARD = "simulator", "controller", "guard"
GRIPPER_JOINT = "gripper_joint"  # a joint that controller and guard ignore
MOVING_S = 0.6  # simulated time from a start until the object moves
_TIMEOUT_S = 30.0
_START_S = 60.0
_LONGEST_S = 3600.0
_IN_TRANSIT_S = 0.05  # time in which commands of the run before the reset arrive
_STANDSTILL_S = 2.0  # wall-clock wait, as some faults stop simulated time until they end
_ATTEMPTS = 4  # on the wall clock, where a busy machine can spoil a start
_CALL_AGAIN_S = 6.0
# Deep enough for all messages that arrive while this process waits for the machine.
_DEEP = QoSProfile(depth=2000, reliability=QoSReliabilityPolicy.RELIABLE)
_NEGATIVE = 1 << 31  # numbers above it are ticks of clocks that were set back


class DrillError(RobotDynamicsError):
    """A drill that cannot continue: the nodes fail without a hazard."""


def start_ros() -> None:
    """Initialise ROS in this process; Python keeps handling signals."""
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)


@dataclass
class NodeStatus:
    """The last diagnostics of a node.

    Attributes:
        level: The level.
        message: The sentence.
        values: The figures, as texts.
        count: Number of messages.
    """

    level: bytes = OK
    message: str = ""
    values: dict[str, str] = field(default_factory=dict)
    count: int = 0


class NodeMonitor:
    """A node that reads commands and diagnostics of other nodes, and calls their services.

    Attributes:
        statuses: The last diagnostics of each node, by its name.
        largest: The largest ratio of a torque to its limit since `reset`.
        not_finite: Number of commands since `reset` that were not finite.
        commands: Number of commands since `reset`.
        tick: The last answered control tick since `reset`.
        largest_step: The largest change of a joint's torque from one command to the next since
            `reset` [N m or N].
        largest_gap_s: The longest time between two commands to an arm since `reset`, as the
            middleware received them [s].
        command_topic: Type and name of the commands of an arm.
        lockstep: Whether there is a command for every control period.
        stalled_s: The longest time in which the machine did not run this process [s]; reset by
            the caller.

    Args:
        system: The arms.
        reads_commands: Whether to subscribe to commands, which costs their publishers time.
    """

    def __init__(self, system: GraspSystem, *, reads_commands: bool = True) -> None:
        self._node = Node("drill")
        self._inbox = Inbox(self._node)
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self._node)
        effort = system.limits["effort"]
        arms = zip(system.arms, system.arm_slices, strict=True) if reads_commands else ()
        self._received: dict[str, int] = {}  # when the last command to an arm came [ns]
        self._torques: dict[str, tuple[int, NDArray[np.float64]]] = {}  # the last command
        self.lockstep = False
        self.command_topic = Float64MultiArray, topics.commands(system.arms[0].name)
        for arm, own in arms:
            callback = partial(self._on_command, arm.name, effort[own])
            topic = topics.commands(arm.name)
            self._inbox.subscribe(Float64MultiArray, topic, callback, _DEEP, awaited=True)
        self._inbox.subscribe(
            DiagnosticArray, "/diagnostics", self._on_diagnostics, _DEEP, awaited=True
        )
        self._clients: dict[str, Any] = {}
        self.stalled_s = 0.0
        self.statuses: dict[str, NodeStatus] = {}
        self.reset()

    def close(self) -> None:
        """Destroy the node."""
        self._inbox.close()
        self._executor.shutdown(timeout_sec=0.5)
        self._node.destroy_node()

    def reset(self) -> None:
        """Reset the counts of commands."""
        self.largest, self.not_finite, self.commands, self.tick = 0.0, 0, 0, -1
        self.largest_step = self.largest_gap_s = 0.0

    def status(self, node: str) -> NodeStatus:
        """Return the last diagnostics of a node; an empty status if there are none."""
        return self.statuses.setdefault(node, NodeStatus())

    def _on_command(
        self, arm: str, effort: NDArray[np.float64], message: Float64MultiArray
    ) -> None:
        number, torque = read_command(message)
        self.commands += 1
        if number < _NEGATIVE:
            self.tick = max(self.tick, number)
        if not torque.size:
            return
        received = self._inbox.received
        gap = (received - self._received.get(arm, received)) / SECOND
        self.largest_gap_s = max(self.largest_gap_s, gap)
        last, before = self._torques.get(arm, (number, torque))
        # The middleware can drop commands to a slow reader; in lockstep their numbers show it.
        periods = max(1, number - last) if self.lockstep else 1
        step = float(np.abs(torque - before).max()) / periods
        self.largest_step = max(self.largest_step, step)
        self._received[arm], self._torques[arm] = received, (number, np.array(torque))
        used = float(np.abs(torque / effort[: torque.size]).max())
        if math.isfinite(used):
            self.largest = max(self.largest, used)
        else:
            self.not_finite += 1

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for received in message.status:
            status = self.status(received.name.partition(":")[0])
            status.level, status.message = received.level, received.message
            status.values = {value.key: value.value for value in received.values}
            status.count += 1

    def spin_once(self, seconds: float = 0.01) -> None:
        """Read the messages, after waiting for one up to a timeout [s]."""
        begin = time.monotonic()
        self._inbox.wait(seconds)
        self.stalled_s = max(self.stalled_s, time.monotonic() - begin - seconds)
        self._inbox.read()
        self._executor.spin_once(timeout_sec=0)

    def spin_for(self, seconds: float, interval: float = 0.01) -> None:
        """Read messages for a time [s], and run services at least once per interval [s]."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.spin_once(interval)

    def wait_for(
        self,
        condition: Callable[[], bool],
        what: str,
        seconds: float = _TIMEOUT_S,
        check: Callable[[], None] | None = None,
    ) -> None:
        """Wait for a condition.

        Args:
            condition: The condition.
            what: Its name, for the error.
            seconds: The timeout [s].
            check: Called meanwhile; raises if the condition cannot be met any more.

        Raises:
            DrillError: After the timeout.
        """
        until = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > until:
                last = "; ".join(f"{name}: {s.message}" for name, s in self.statuses.items())
                raise DrillError(f"{what} did not come in {seconds:g} s ({last}).")
            if check is not None:
                check()
            self.spin_once()

    def call(self, service: str) -> tuple[bool, str]:
        """Call a `Trigger` service, such as "controller/start"; return success and message.

        Raises:
            DrillError: If it does not answer.
        """
        response = self._call(Trigger, service, Trigger.Request())
        return bool(response.success), str(response.message)

    def call_start(self, service: str) -> None:
        """Call a service that starts control.

        Raises:
            DrillError: If the start is refused.
        """
        success, message = self.call(service)
        # Control runs already if the call was repeated because its answer was lost.
        if not success and not message.endswith("; expected inactive."):
            raise DrillError(f"{service}: {message}")

    def call_until_success(self, service: str, between: Callable[[], None] | None = None) -> None:
        """Call a `Trigger` service until it succeeds.

        Args:
            service: Its name.
            between: Called before every further call.

        Raises:
            DrillError: After the timeout, with the last message of the service.
        """
        until = time.monotonic() + _TIMEOUT_S
        while True:
            success, message = self.call(service)
            if success:
                return
            if time.monotonic() > until:
                raise DrillError(f"{service}: {message}")
            if between is not None:
                between()

    def set_faults(self, faults: str) -> None:
        """Set the parameter `faults` of the simulator.

        Raises:
            DrillError: If the simulator refuses it.
        """
        refusal = self.set_parameter(SIMULATOR, "faults", faults)
        if refusal:
            raise DrillError(f"simulator: {refusal}")

    def set_parameter(self, node: str, name: str, value: str | float) -> str:
        """Set a parameter of a node; return the reason of a refusal, empty without.

        Raises:
            DrillError: If the node does not answer.
        """
        parameter = Parameter(name, value=value).to_parameter_msg()
        request = SetParameters.Request(parameters=[parameter])
        (result,) = self._call(SetParameters, f"{node}/set_parameters", request).results
        return "" if result.successful else str(result.reason) or "refused"

    @contextmanager
    def publisher(self, kind: Any, topic: str) -> Iterator[Publisher]:
        """Return a publisher that a node has discovered, and destroy it afterwards.

        Raises:
            DrillError: If no node discovers it.
        """
        publisher = self._node.create_publisher(kind, topic, STREAM)
        try:
            self.wait_for(lambda: publisher.get_subscription_count() > 0, f"a reader of {topic}")
            yield publisher
        finally:
            self._node.destroy_publisher(publisher)

    def _call(self, kind: Any, name: str, request: Any) -> Any:
        if name not in self._clients:
            self._clients[name] = self._node.create_client(kind, name)
        client = self._clients[name]
        self.wait_for(client.service_is_ready, f"the service {name}")
        call = RepeatedCall(client, request, _CALL_AGAIN_S)
        self.wait_for(call.is_answered, f"the answer of {name}")
        return call.response()

    def destroy_clients(self) -> None:
        """Destroy the clients of services whose nodes have ended."""
        for client in self._clients.values():
            self._node.destroy_client(client)
        self._clients.clear()


class DrillSession:
    """The processes of the nodes, and the way back to a run without faults.

    Attributes:
        nodes: The processes, by name.
        lockstep: Whether simulated time waits for commands.
        stale_after_s: As in the arguments.
        heartbeat_timeout_s: As in the arguments.

    Args:
        monitor: The node that monitors them.
        scenario: The scenario.
        folder: The working directory of the processes.
        lockstep: Whether simulated time waits for commands.
        guarded: On the wall clock, whether drives hold the last torque without a timeout and there
            is a guard; else drives brake when commands stop.
        stale_after_s: On the wall clock, time after which a silent stream is lost [s].
        heartbeat_timeout_s: On the wall clock, time after which a silent controller is lost [s].
    """

    def __init__(
        self,
        monitor: NodeMonitor,
        scenario: Scenario,
        folder: Path,
        *,
        lockstep: bool,
        guarded: bool = True,
        stale_after_s: float = 0.1,
        heartbeat_timeout_s: float = 0.25,
    ) -> None:
        self._monitor, self._folder = monitor, folder
        self._period = scenario.control.period
        self.lockstep = monitor.lockstep = lockstep
        self.stale_after_s, self.heartbeat_timeout_s = stale_after_s, heartbeat_timeout_s
        self.nodes: dict[str, NodeProcess] = {}
        source = folder / "scenario.yaml"
        source.write_text(scenario.text(), encoding="utf-8")
        common: dict[str, Any] = {"scenario": str(source)}
        if lockstep:
            common |= {"mode": "lockstep", "duration": _LONGEST_S}
            self._parameters = {SIMULATOR: common, CONTROLLER: common | {"autostart": "never"}}
        else:
            common |= {"mode": "wall_clock"}
            held = {"on_command_timeout": "hold"} if guarded else {}
            watched = {
                "heartbeat_timeout": heartbeat_timeout_s,
                "stale_after": stale_after_s,
                "ignored_joints": [GRIPPER_JOINT],
            }
            # Tolerant of slow machines. References of the scenario are followed until others come.
            started = {
                "autostart": "never",
                "sample_rate_tolerance": 1.0,
                "references": "topics",
            }
            self._parameters = {
                SIMULATOR: common | held,
                **({GUARD: common | watched} if guarded else {}),
                CONTROLLER: common | held | watched | started,
            }

    def __enter__(self) -> DrillSession:
        return self

    def __exit__(self, *exception: object) -> None:
        end_all(self.nodes.values())
        self.nodes.clear()

    def start_nodes(self, *names: str, **more: object) -> None:
        """Start nodes, all by default, and wait for their diagnostics.

        Args:
            names: Their names.
            more: Further parameters.
        """
        names = names or tuple(self._parameters)
        for name in names:
            self._monitor.statuses.pop(name, None)
            self.nodes[name] = start_with_parameters(
                name,
                f"robot_dynamics.nodes.{name}",
                {**self._parameters[name], **more},
                self._folder,
                os.environ,
            )
        for name in names:
            runs = partial(lambda name: self._monitor.status(name).count > 0, name)
            self._monitor.wait_for(runs, f"the {name}", _START_S, self.check)

    def end_node(self, name: str, signal_number: int) -> int:
        """End a node by a signal; return its exit status."""
        process = self.nodes.pop(name)
        process.send(signal_number)
        process.end()
        self._monitor.destroy_clients()
        return process.exit_status or 0

    def check(self) -> None:
        """Check that all nodes are running.

        Raises:
            DrillError: If a node has ended, with its last output.
        """
        for process in self.nodes.values():
            if process.exit_status is not None:
                words = " | ".join(process.last_lines()[-3:])
                raise DrillError(
                    f"the {process.name} ended with status {process.exit_status}; expected it to "
                    f"run: {words}"
                )

    def begin(self) -> None:
        """Bring the arms to the start, start control, and wait until it moves the object.

        Raises:
            DrillError: If a step fails.
        """
        self._attempt(self._recover, self._wait_until_moving)

    def recover(self) -> None:
        """Reset and start all nodes as documented for faults.

        Raises:
            DrillError: If a step fails.
        """
        self._attempt(self._recover)

    def _attempt(self, *actions: Callable[[], object]) -> None:
        for left in reversed(range(1 if self.lockstep else _ATTEMPTS)):
            try:
                for action in actions:
                    action()
                return
            except DrillError:
                self.check()
                if not left:
                    raise

    def _recover(self) -> None:
        monitor = self._monitor
        monitor.set_faults("")
        monitor.call("controller/stop")
        # Its brakes hold the arms until controller and guard are reset as well.
        monitor.call_until_success("simulator/reset")
        monitor.call_until_success("controller/reset")
        if monitor.status(GUARD).message.startswith("in charge"):
            monitor.call_until_success("guard/reset")
        monitor.spin_for(_IN_TRANSIT_S)
        monitor.reset()
        if not self.lockstep:
            # A guard can have taken over meanwhile, and then holds the arms at other positions.
            monitor.call_until_success("controller/start", self._take_from_guard)
            return
        # Called once: in lockstep the state does not change meanwhile.
        monitor.call_start("controller/start")

    def _take_from_guard(self) -> None:
        self._monitor.call_until_success("simulator/reset")
        self._monitor.call("guard/reset")

    def _wait_until_moving(self) -> None:
        wanted = max(self._monitor.tick, 0) + round(MOVING_S / self._period)
        self._monitor.wait_for(
            lambda: self.is_active and self._monitor.tick >= wanted,
            "moving the object",
            check=self._check_moving,
        )

    def _check_moving(self) -> None:
        self.check()
        refused = "start refused" in self.condition
        if refused or self.condition.startswith(("fallback", "stopped")):
            raise DrillError(f"control ended before any hazard: {self.condition}")

    def run_for(self, seconds: float) -> None:
        """Return after a simulated time [s] in lockstep, or when simulated time stands still.

        Raises:
            DrillError: If simulated time stands still because a node has ended.
        """
        wanted = self._monitor.tick + round(seconds / self._period)
        last, moved_at = self._monitor.tick, time.monotonic()
        while self._monitor.tick < wanted:
            self._monitor.spin_once()
            if self._monitor.tick != last:
                last, moved_at = self._monitor.tick, time.monotonic()
            elif time.monotonic() - moved_at > _STANDSTILL_S:
                self.check()
                return

    @property
    def is_active(self) -> bool:
        """Whether control runs without a fault, by the controller's diagnostics."""
        return self.condition.startswith("active")

    @property
    def condition(self) -> str:
        """The message of the controller's diagnostics."""
        return self._monitor.status(CONTROLLER).message
