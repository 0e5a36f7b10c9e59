# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Hazards of the drill: faults, required reactions, and trials."""

from __future__ import annotations

import math
import resource
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from robot_dynamics.app.runs.drill import DrillResult
from robot_dynamics.app.scenarios.scenario import Scenario
from robot_dynamics.control.settings import SafetySettings
from robot_dynamics.nodes.control_session import CLOSE_S
from robot_dynamics.nodes.drill.disturbances import (
    extreme_parameters,
    flood,
    foreign_clock,
    large_messages,
    other_publisher,
    stop_and_put_down,
    stop_and_resume,
)
from robot_dynamics.nodes.drill.session import (
    CONTROLLER,
    GUARD,
    SIMULATOR,
    DrillError,
    DrillSession,
    NodeMonitor,
)
from robot_dynamics.wording import apart

Bound = Literal["periods", "stale", "heartbeat", "law", "close"]
_RESET, _WITH_GUARD = "controller/reset, controller/start", "guard/reset, controller/start"


@dataclass(frozen=True)
class Hazard:
    """A hazard and the required reaction of the nodes.

    Attributes:
        name: Its name.
        lockstep: Whether it is tried in lockstep, where every period counts; else on the wall
            clock.
        faults: Value for the simulator's parameter `faults`.
        cause: Text that the diagnostics must contain; empty for any.
        bound: Longest time until the fallback, beyond two control periods: none, the silence
            limit of a stream or of the controller, the safety layer's time for faults that only
            the motion shows, or the time of last commands of a controller that ends. None if
            control must continue.
        monitor: The node whose diagnostics report it.
        signal: A signal to nodes instead of faults.
        nodes: The nodes that get it, in the order in which they are continued after SIGSTOP.
        disturbance: Action of another node instead of faults, for some seconds.
        lasts_s: Duration of the hazard [s].
        restart: Whether the nodes must be started again.
        parameters: Further parameters of the first node, which is restarted with them before and
            without them afterwards. None without restart.
        full_disk: Whether the controller's recording cannot be written, instead of faults.
        recovery: The way back to a run, in words.
    """

    name: str
    lockstep: bool
    faults: str = ""
    cause: str = ""
    bound: Bound | None = "periods"
    monitor: str = CONTROLLER
    signal: int = 0
    nodes: tuple[str, ...] = ()
    disturbance: Callable[[NodeMonitor, float], None] | None = None
    lasts_s: float = 0.1
    restart: bool = False
    parameters: Mapping[str, object] | None = None
    full_disk: bool = False
    recovery: str = _RESET

    @property
    def commands_stop(self) -> bool:
        """Whether the arms can be without a commanding node for a time."""
        return self.signal != 0 and CONTROLLER in self.nodes and self.bound != "close"


def _goes_on(name: str, faults: str = "", **how: Any) -> Hazard:
    """Return a hazard on the wall clock during which control must continue."""
    return Hazard(name, False, faults, **{"bound": None, "recovery": "none", **how})


def _false(name: str, faults: str, cause: str, lasts_s: float = 0.0) -> Hazard:
    """Return a hazard of false data, detected at once or, if it lasts, only by the motion."""
    if not lasts_s:
        return Hazard(name, True, faults, cause)
    return Hazard(name, True, faults, cause, "law", lasts_s=lasts_s)


def _killed(name: str, node: str, recovery: str, **reaction: Any) -> Hazard:
    """Return the hazard that a node is killed and must be started again."""
    kill, recovery = signal.SIGKILL, f"{node} started again{recovery}"
    nodes = (node,)
    return Hazard(
        name, False, signal=kill, nodes=nodes, restart=True, recovery=recovery, **reaction
    )


def _stopped(node: str, **reaction: Any) -> Hazard:
    """Return the hazard that a node does not run for a second."""
    name = f"{node} stopped for a second"
    return Hazard(name, False, signal=signal.SIGSTOP, nodes=(node,), lasts_s=1.0, **reaction)


def _suspended(*nodes: str) -> Hazard:
    """Return the hazard that controller and guard are suspended, as by `docker pause`."""
    name = f"both suspended, {nodes[0]} continues first"
    return Hazard(name, False, signal=signal.SIGSTOP, nodes=nodes, lasts_s=0.6, bound=None)


_NO_SAMPLE: dict[str, Any] = {"cause": "no new sample", "bound": "stale"}
_NO_HEARTBEAT: dict[str, Any] = {
    "cause": "no heartbeat",
    "bound": "heartbeat",
    "monitor": GUARD,
}

HAZARDS = (
    Hazard("NaN in a position", True, "position_nan left 0.002", "is nan"),
    Hazard("Inf in a velocity", True, "velocity_inf right 0.002", "is inf"),
    Hazard("NaN in a wrench", True, "wrench_nan left 0.002", "wrench"),
    Hazard("wrong joint name", True, "wrong_name left 0.002", "left_joint1"),
    Hazard("missing joint", True, "missing_joint right 0.002", "is missing"),
    Hazard("joints in another order", True, "wrong_order", bound=None, recovery="none"),
    Hazard("velocities missing", True, "no_velocities 0.002", "velocity"),
    _false("joint names of the arms swapped", "swapped_joints 0.002", "names seem swapped"),
    _false(
        "positions in degrees", "position_scale=57.29578 left 0.002", "it seems to be in degrees"
    ),
    _false("a position jumps", "position_offset=0.5 right_joint1 0.002", "jumped by"),
    _false("velocities with the wrong sign", "velocity_scale=-1 left 0.3", "sign seems", 0.3),
    _false("velocities in degrees", "velocity_scale=57.29578 left 0.3", "degrees per second", 0.3),
    _false("velocities stay zero", "velocity_scale=0 right 0.3", "stand still", 0.3),
    _false("wrist sensor tared while holding", "wrench_tared left 0.3", "wrist sensors", 0.3),
    _false("wrist sensor inverted", "wrench_scale=-1 right 0.3", "wrist sensors", 0.3),
    Hazard("sensors of an arm stuck", True, "stuck_sensors left 0.3", "", "law", lasts_s=0.3),
    Hazard("torque mode drops out", True, "drive_gain=0 left 0.3", "", "law", lasts_s=0.3),
    _goes_on(
        "full disk while recording",
        cause="no recording",
        full_disk=True,
        nodes=(CONTROLLER,),
        parameters={"output": "drill.npz", "duration": 2.0},
        recovery="controller started again, with room for its file",
    ),
    Hazard("wrist sensor silent", False, "wrench_silent left", "no new sample", "stale"),
    Hazard("joint states silent", False, "silent", "no new sample", "stale"),
    Hazard("joint states frozen", False, "frozen", "no new sample", "stale"),
    Hazard("time stamps stand still", False, "stale_stamp", "no new sample", "stale"),
    Hazard("clock jumps back", False, "clock_back", "jumped back"),
    _goes_on("stamps half a period late, with jitter", "half_period", lasts_s=1.0),
    _goes_on("every second message dropped", "dropped"),
    _goes_on("messages duplicated", "duplicated"),
    _goes_on("messages out of order", "reordered"),
    _goes_on(
        "joint states with best effort",
        nodes=(SIMULATOR,),
        parameters={"qos_overrides./joint_states.publisher.reliability": "best_effort"},
    ),
    _goes_on("joint states too large", cause="was refused", disturbance=large_messages),
    _goes_on("gripper with another clock", disturbance=foreign_clock, lasts_s=0.5),
    _goes_on("10 000 references a second", disturbance=flood, lasts_s=0.5),
    _goes_on("gains that are no gains", disturbance=extreme_parameters),
    _goes_on(
        "first log line, of another publisher",
        disturbance=other_publisher,
        nodes=(CONTROLLER,),
        parameters={},
    ),
    _goes_on(
        "stop in mid-air, then resumed",
        disturbance=stop_and_resume,
        lasts_s=0.5,
        recovery="controller/reset, controller/resume",
    ),
    _goes_on(
        "stop in mid-air, then put down",
        disturbance=stop_and_put_down,
        lasts_s=0.5,
        recovery="controller/reset, controller/put_down",
    ),
    _killed("simulator killed", SIMULATOR, f", {_RESET}", **_NO_SAMPLE),
    _stopped(SIMULATOR, **_NO_SAMPLE),
    _stopped(CONTROLLER, recovery=f"controller/reset, {_WITH_GUARD}", **_NO_HEARTBEAT),
    _killed(
        "controller killed with -9",
        CONTROLLER,
        ", guard/reset, controller/start",
        **_NO_HEARTBEAT,
    ),
    Hazard(
        "controller's terminal lost (SIGHUP)",
        False,
        signal=signal.SIGHUP,
        nodes=(CONTROLLER,),
        restart=True,
        recovery=f"controller started again, {_WITH_GUARD}",
        cause="it has ended",
        bound="close",
        monitor=GUARD,
    ),
    _suspended(CONTROLLER, GUARD),
    _suspended(GUARD, CONTROLLER),
    _killed("guard killed", GUARD, "", bound=None),
)


_NEXT_NODE_S = 0.03  # time between the continuation of suspended nodes
_AFTERWARDS_S = 0.3  # time for which the fallback is watched
_LONGEST_S = 20.0  # longest wait for the fallback
_NANOSECOND_S = 1e-9
_ROUNDING = 1e-9
_ATTEMPTS = 3
_COMMAND_TIMEOUT_S = 0.05  # default timeout of drives, the longest gap between commands


def bound_s(
    hazard: Hazard, session: DrillSession, period: float, safety: SafetySettings
) -> float | None:
    """Return the longest time until the fallback [s]; None if control must continue."""
    if hazard.bound is None:
        return None
    declared = {
        "periods": 0.0,
        "stale": session.stale_after_s,
        "heartbeat": session.heartbeat_timeout_s,
        "law": hazard.lasts_s + safety.scaled_for_s,
        "close": 2.0 * CLOSE_S,
    }
    return declared[hazard.bound] + 2.0 * period


def gap_bound_s(hazard: Hazard, session: DrillSession, period: float) -> float | None:
    """Return the longest time allowed between two commands to an arm [s]; None without a limit.

    In lockstep, time waits for commands. Without samples the law sends no commands until their
    stream counts as stale. After a controller that ended without a goodbye, the guard waits for
    its heartbeat. While both are suspended, no node commands the arms.
    """
    if session.lockstep or (hazard.commands_stop and hazard.bound is None):
        return None
    if hazard.commands_stop:
        return session.heartbeat_timeout_s + 2.0 * period
    if hazard.bound == "stale":
        return session.stale_after_s + 2.0 * period
    return max(_COMMAND_TIMEOUT_S, 2.0 * period)


def problems_of_commands(
    not_finite: int, largest: float, step: float = 0.0, step_bound: float = math.inf
) -> list[str]:
    """Return the problems of commands, in sentences.

    Args:
        not_finite: Number of commands that were not finite.
        largest: The largest ratio of a torque to its limit.
        step: The largest change of a torque from one command to the next [N m or N].
        step_bound: The largest change allowed [N m or N].
    """
    found = [f"{not_finite} commands were not finite; expected none."] if not_finite else []
    if largest > 1.0 + _ROUNDING:
        found.append(f"a torque was {apart(largest, 1.0)[0]} of its limit; expected at most 1.")
    if step > step_bound + _ROUNDING:
        change, most = apart(step, step_bound)
        found.append(f"a torque changed by {change} N m at once; expected at most {most}.")
    return found


class Trial:
    """Tries hazards in a session, one after the other.

    Attributes:
        session: The running nodes.

    Args:
        session: The running nodes, moving the object.
        monitor: The node that monitors them.
        scenario: The scenario.
    """

    def __init__(self, session: DrillSession, monitor: NodeMonitor, scenario: Scenario) -> None:
        self.session, self._monitor = session, monitor
        self._period, self._safety = scenario.control.period, scenario.safety

    def run(self, hazard: Hazard) -> DrillResult:
        """Try a hazard, and return to a run without it.

        A failed trial on the wall clock is repeated, because other processes of the machine can
        have disturbed it; errors of the nodes would repeat themselves.

        Raises:
            DrillError: If nodes fail for a reason other than the hazard.
        """
        for attempt in range(1, _ATTEMPTS + 1):
            last = attempt == _ATTEMPTS
            try:
                result = replace(self._once(hazard), attempts=attempt)
            except DrillError:  # before the hazard: the machine was too busy for a node
                if last:
                    raise
                continue
            # The load of the machine does not excuse wrong commands.
            wrong = problems_of_commands(
                0, result.largest_torque, result.largest_step, result.step_bound
            )
            if result.ok or last or self.session.lockstep or wrong:
                break
        return result

    def _once(self, hazard: Hazard) -> DrillResult:
        monitor, session = self._monitor, self.session
        if not session.is_active:  # the way back from the last trial failed
            session.begin()
        self._prepare(hazard)
        problems: list[str] = []
        monitor.stalled_s = 0.0
        bound = bound_s(hazard, session, self._period, self._safety)
        monitor.reset()
        fallback, seen = None, ""
        try:
            began = self._inject(hazard)
            if bound is not None:
                seen = self._wait_for_report(hazard)
                at = int(monitor.status(hazard.monitor).values["first fault at"])
                unit = self._period if session.lockstep else _NANOSECOND_S
                fallback = (at - began) * unit
            elif hazard.cause:
                seen = self._wait_for_report(hazard)
        except DrillError as error:
            problems.append(str(error))
        if bound is None:
            self._let_pass(hazard.lasts_s)
            if not session.is_active and not hazard.commands_stop:
                problems.append(f"control ended: {session.condition}.")
        stalled = monitor.stalled_s
        self._end(hazard)
        self._let_pass(_AFTERWARDS_S)
        if hazard.commands_stop and bound is None:
            seen = session.condition
        # On the wall clock, the time in which the machine did not run this process is allowed.
        allowed = 0.0 if session.lockstep else stalled
        if bound is not None and fallback is not None:
            if fallback > bound + allowed + _ROUNDING:
                came, most = apart(1e3 * fallback, 1e3 * (bound + allowed))
                problems.append(f"the fallback came after {came} ms; expected at most {most} ms.")
            if fallback < 0.0:
                problems.append("control had ended before the hazard; expected it to run.")
        step_bound = self._safety.torque_rate * self._period
        step, gap = monitor.largest_step, monitor.largest_gap_s
        gap_bound = gap_bound_s(hazard, session, self._period)
        problems += problems_of_commands(monitor.not_finite, monitor.largest, step, step_bound)
        if gap_bound is not None and gap > gap_bound + allowed:
            came, most = apart(1e3 * gap, 1e3 * (gap_bound + allowed))
            problems.append(f"no command came for {came} ms; expected one within {most} ms.")
        largest, commands = monitor.largest, monitor.commands
        if hazard.parameters:
            session.end_node(hazard.nodes[0], signal.SIGINT)
        if hazard.parameters or hazard.restart:
            session.start_nodes(*hazard.nodes)
        try:
            session.begin()
        except DrillError as error:
            problems.append(f"no way back: {error}")
        return DrillResult(
            hazard.name,
            session.lockstep,
            seen,
            fallback,
            bound,
            stalled,
            largest,
            commands,
            hazard.recovery,
            None if session.lockstep else gap,
            gap_bound,
            step,
            step_bound,
            tuple(problems),
        )

    def _prepare(self, hazard: Hazard) -> None:
        """Restart a node with other parameters, if the hazard needs them."""
        session = self.session
        if hazard.parameters is None:
            return
        (node,) = hazard.nodes
        session.end_node(node, signal.SIGINT)
        session.start_nodes(node, **hazard.parameters)
        session.begin()
        if hazard.full_disk:  # files cannot grow
            limit = (0, resource.getrlimit(resource.RLIMIT_FSIZE)[1])
            resource.prlimit(session.nodes[node].pid, resource.RLIMIT_FSIZE, limit)

    def _inject(self, hazard: Hazard) -> int:
        """Cause the hazard; return its begin in ticks or nanoseconds.

        Raises:
            DrillError: If it has no effect, or a node ends with an error.
        """
        monitor, session = self._monitor, self.session
        if hazard.faults:
            simulator = monitor.status(SIMULATOR)
            simulator.values = {}
            monitor.set_faults(hazard.faults)
            key = "simulated fault since"
            monitor.wait_for(lambda: key in simulator.values, "the simulated fault")
            return int(simulator.values[key])
        if hazard.disturbance is not None:
            hazard.disturbance(monitor, hazard.lasts_s)
            return 0
        now = time.monotonic_ns()
        for node in hazard.nodes if hazard.signal else ():
            if not hazard.restart:
                session.nodes[node].send(hazard.signal)
                continue
            status = session.end_node(node, hazard.signal)
            if status and hazard.signal != signal.SIGKILL:
                raise DrillError(f"the {node} ended with status {status}; expected 0.")
        return now

    def _wait_for_report(self, hazard: Hazard) -> str:
        """Return the report of a hazard in the diagnostics: a fault, if control must end."""
        status = self._monitor.status(hazard.monitor)

        def reported() -> list[str]:
            faults = [text for key, text in status.values.items() if key.startswith("fault ")]
            said = [status.message, *status.values.values()] if hazard.bound is None else faults
            return [text for text in said if hazard.cause in text]

        what = f"{hazard.cause or 'a cause'!r} in the diagnostics"
        self._monitor.wait_for(lambda: bool(reported()), what, _LONGEST_S)
        return reported()[0]

    def _let_pass(self, seconds: float) -> None:
        """Watch for a wall-clock time [s], and in lockstep for the same simulated time."""
        first = self._monitor.tick
        self._monitor.spin_for(seconds)
        if self.session.lockstep:
            self.session.run_for(seconds - (self._monitor.tick - first) * self._period)

    def _end(self, hazard: Hazard) -> None:
        """End the hazard."""
        if hazard.signal == signal.SIGSTOP:
            if hazard.bound is not None:
                self._monitor.spin_for(hazard.lasts_s)
            for node in hazard.nodes:
                self.session.nodes[node].send(signal.SIGCONT)
                self._monitor.spin_for(_NEXT_NODE_S)
        elif hazard.faults and not self.session.lockstep:
            self._monitor.set_faults("")
