# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The hazards of the drill: faults, the required reactions, and their trials."""

from __future__ import annotations

import resource
import signal
import time
from dataclasses import dataclass, replace
from typing import Any, Literal

from robot_dynamics.app.drill import DrillResult
from robot_dynamics.app.scenario import Scenario
from robot_dynamics.control.settings import SafetySettings
from robot_dynamics.nodes.drill.session import (
    CONTROLLER,
    GUARD,
    SIMULATOR,
    DrillError,
    NodeMonitor,
    Session,
)

Bound = Literal["periods", "stale", "heartbeat", "law"]
_RESET, _WITH_GUARD = "controller/reset, controller/start", "guard/reset, controller/start"


@dataclass(frozen=True)
class Hazard:
    """A hazard, and what the nodes have to do about it.

    Attributes:
        name: Its name.
        lockstep: Whether it is tried in lockstep, where every period counts; else on the wall
            clock.
        faults: Value for the simulator's parameter `faults`.
        cause: Text that the diagnostics must contain; empty if control has to go on undisturbed.
        bound: Time until the fallback: two control periods, the declared silence of a stream or of
            the controller, or what the safety layer states for faults that only the motion shows.
        monitor: The node whose diagnostics report it.
        signal: A signal that is sent to a node instead of faults.
        node: The node that gets the signal.
        lasts_s: Duration of the hazard [s].
        restart: Whether the node has to be started again.
        full_disk: Whether the controller's recording cannot be written, instead of faults.
        recovery: What is done to run again, in words.
    """

    name: str
    lockstep: bool
    faults: str = ""
    cause: str = ""
    bound: Bound = "periods"
    monitor: str = CONTROLLER
    signal: int = 0
    node: str = ""
    lasts_s: float = 0.1
    restart: bool = False
    full_disk: bool = False
    recovery: str = _RESET

    @property
    def goes_on(self) -> bool:
        """Whether control has to go on."""
        return self.full_disk or (not self.cause and self.bound == "periods")


_NOTHING = "none"


def _killed(name: str, node: str, recovery: str, **reaction: Any) -> Hazard:
    """Return the hazard that a node is killed, and has to be started again."""
    kill, recovery = signal.SIGKILL, f"{node} started again{recovery}"
    return Hazard(name, False, signal=kill, node=node, restart=True, recovery=recovery, **reaction)


def _stopped(node: str, **reaction: Any) -> Hazard:
    """Return the hazard that a node does not run for a second."""
    name = f"{node} stopped for a second"
    return Hazard(name, False, signal=signal.SIGSTOP, node=node, lasts_s=1.0, **reaction)


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
    Hazard("joints in another order", True, "wrong_order", recovery=_NOTHING),
    Hazard("velocities missing", True, "no_velocities 0.002", "velocity"),
    Hazard("sensors of an arm stuck", True, "stuck_sensors left 0.3", "", "law", lasts_s=0.3),
    Hazard("torque mode drops out", True, "torque_dropout left 0.3", "", "law", lasts_s=0.3),
    Hazard(
        "full disk while recording",
        False,
        cause="no recording",
        full_disk=True,
        node=CONTROLLER,
        restart=True,
        recovery="controller started again, with room for its file",
    ),
    Hazard("wrist sensor silent", False, "wrench_silent left", "no new sample", "stale"),
    Hazard("joint states silent", False, "silent", "no new sample", "stale"),
    Hazard("joint states frozen", False, "frozen", "no new sample", "stale"),
    Hazard("time stamps stand still", False, "stale_stamp", "no new sample", "stale"),
    Hazard("clock jumps back", False, "clock_back", "jumped back"),
    Hazard("every second message dropped", False, "dropped", recovery=_NOTHING),
    Hazard("messages duplicated", False, "duplicated", recovery=_NOTHING),
    Hazard("messages out of order", False, "reordered", recovery=_NOTHING),
    _killed("simulator killed", SIMULATOR, f", {_RESET}", **_NO_SAMPLE),
    _stopped(SIMULATOR, **_NO_SAMPLE),
    _stopped(CONTROLLER, recovery=f"controller/reset, {_WITH_GUARD}", **_NO_HEARTBEAT),
    _killed(
        "controller killed with -9",
        CONTROLLER,
        ", guard/reset, controller/start",
        **_NO_HEARTBEAT,
    ),
    _killed("guard killed", GUARD, ""),
)


_AFTERWARDS_S = 0.3  # for which the fallback is watched
_LONGEST_S = 20.0  # until the fallback
_NANOSECOND_S = 1e-9
_ROUNDING = 1e-9
_ATTEMPTS = 3
_RECORDED_S = 2.0  # of a run that is to be recorded


def bound_s(
    hazard: Hazard, session: Session, period: float, safety: SafetySettings
) -> float | None:
    """Return the longest time until the fallback [s]; None if control has to go on."""
    if hazard.goes_on:
        return None
    declared = {
        "periods": 0.0,
        "stale": session.stale_after_s,
        "heartbeat": session.heartbeat_timeout_s,
        "law": hazard.lasts_s + safety.scaled_for_s,
    }
    return declared[hazard.bound] + 2.0 * period


def problems_of_commands(not_finite: int, largest: float) -> list[str]:
    """Return what was wrong with commands.

    Args:
        not_finite: Number of those that were not finite.
        largest: The largest torque over its limit.
    """
    found = [f"{not_finite} commands were not finite."] if not_finite else []
    if largest > 1.0 + _ROUNDING:
        found.append(f"a torque was {largest:.3f} of its limit.")
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

    def __init__(self, session: Session, monitor: NodeMonitor, scenario: Scenario) -> None:
        self.session, self._monitor = session, monitor
        self._period, self._safety = scenario.control.period, scenario.safety

    def run(self, hazard: Hazard) -> DrillResult:
        """Try a hazard, and go back to a run without it.

        A trial on the wall clock that fails is repeated, because other processes of the machine
        may have disturbed it; errors of the nodes repeat themselves.

        Raises:
            DrillError: If nodes fail for another reason than the hazard.
        """
        result = self._once(hazard)
        for attempt in range(2, _ATTEMPTS + 1):
            if result.ok or self.session.lockstep:
                break
            result = replace(self._once(hazard), attempts=attempt)
        return result

    def _once(self, hazard: Hazard) -> DrillResult:
        monitor = self._monitor
        problems: list[str] = []
        monitor.stalled_s = 0.0
        bound = bound_s(hazard, self.session, self._period, self._safety)
        monitor.reset()
        began = self._inject(hazard)
        fallback, seen = None, ""
        try:
            if bound is not None:
                seen = self._wait_for_report(hazard)
                at = int(monitor.status(hazard.monitor).values["first fault at"])
                unit = self._period if self.session.lockstep else _NANOSECOND_S
                fallback = (at - began) * unit
            elif hazard.full_disk:
                seen = self._wait_for_report(hazard)
        except DrillError as error:
            problems.append(str(error))
        if bound is None:
            self._let_pass(hazard.lasts_s)
            if not self.session.is_active:
                problems.append(f"control ended: {self.session.condition}.")
        stalled = monitor.stalled_s
        self._end(hazard)
        self._let_pass(_AFTERWARDS_S)
        if bound is not None and fallback is not None:
            # On the wall clock, less the time in which the machine did not run this process.
            allowed = 0.0 if self.session.lockstep else stalled
            if fallback > bound + allowed + _ROUNDING:
                problems.append(f"the fallback came after {1e3 * fallback:.1f} ms.")
            if fallback < 0.0:
                problems.append("control had ended before.")
        problems += problems_of_commands(monitor.not_finite, monitor.largest)
        largest, commands = monitor.largest, monitor.commands
        if hazard.full_disk:
            self.session.end_node(hazard.node, signal.SIGINT)
        if hazard.restart:
            self.session.start_nodes(hazard.node)
        try:
            self.session.begin()
        except DrillError as error:
            problems.append(f"no way back: {error}")
        return DrillResult(
            hazard.name,
            self.session.lockstep,
            seen,
            fallback,
            bound,
            stalled,
            largest,
            commands,
            hazard.recovery,
            tuple(problems),
        )

    def _inject(self, hazard: Hazard) -> int:
        """Cause the hazard; return when it began, in ticks or nanoseconds."""
        monitor, session = self._monitor, self.session
        if hazard.faults:
            simulator = monitor.status("simulator")
            simulator.values = {}
            monitor.set_faults(hazard.faults)
            key = "simulated fault since"
            monitor.wait_for(lambda: key in simulator.values, "the simulated fault")
            return int(simulator.values[key])
        if hazard.full_disk:
            session.end_node(hazard.node, signal.SIGINT)
            session.start_nodes(hazard.node, output="drill.npz", duration=_RECORDED_S)
            session.begin()
            # No file may grow any more, as on a full disk.
            limit = (0, resource.getrlimit(resource.RLIMIT_FSIZE)[1])
            resource.prlimit(session.nodes[hazard.node].pid, resource.RLIMIT_FSIZE, limit)
            return 0
        now = time.monotonic_ns()
        if hazard.signal == signal.SIGKILL:
            session.end_node(hazard.node, signal.SIGKILL)
        else:
            session.nodes[hazard.node].send(hazard.signal)
        return now

    def _wait_for_report(self, hazard: Hazard) -> str:
        """Return what the diagnostics say of a hazard: a fault, or anything if control goes on."""
        status = self._monitor.status(hazard.monitor)

        def reported() -> list[str]:
            faults = [text for key, text in status.values.items() if key.startswith("fault ")]
            said = [status.message, *status.values.values()] if hazard.goes_on else faults
            return [text for text in said if hazard.cause in text]

        what = f"{hazard.cause or 'a cause'!r} in the diagnostics"
        self._monitor.wait_for(lambda: bool(reported()), what, _LONGEST_S)
        return reported()[0]

    def _let_pass(self, seconds: float) -> None:
        """Watch for some time [s]: of the wall clock, in lockstep also of the simulation."""
        first = self._monitor.tick
        self._monitor.spin_for(seconds)
        if self.session.lockstep:
            self.session.run_for(seconds - (self._monitor.tick - first) * self._period)

    def _end(self, hazard: Hazard) -> None:
        """End the hazard."""
        if hazard.signal == signal.SIGSTOP:
            self._monitor.spin_for(hazard.lasts_s)
            self.session.nodes[hazard.node].send(signal.SIGCONT)
        elif hazard.faults and not self.session.lockstep:
            self._monitor.set_faults("")
