# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The simulator node: arms that hold an object, on the topics of real arms.

On the wall clock a control period begins every period, whatever has arrived. In lockstep the
simulator publishes the state of tick n, stamped n times the period: a joint state and a wrench
for each arm. It steps when the commands of all arms for that tick have arrived, and repeats the
state after a while without them; the controller repeats its answer to a repeated state. The wall
clock decides when a message is repeated, and repetitions change nothing.
"""

from __future__ import annotations

if __name__ == "__main__":  # by `python -m`: a signal during the imports below ends it as well
    from robot_dynamics.nodes.entry_points import simulator

    simulator()

import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import SetBool

from robot_dynamics.app.recordings import topic_names as topics
from robot_dynamics.app.recordings.recording import Recording
from robot_dynamics.app.runs.recorders import PlantRecorder
from robot_dynamics.app.scenarios.cell import build_system, true_system
from robot_dynamics.app.scenarios.plant import make_plant
from robot_dynamics.app.scenarios.robot_description import robot_description
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.nodes.background_work import RecordingFile
from robot_dynamics.nodes.conversions import answers, command_reader
from robot_dynamics.nodes.diagnostics import ERROR, OK, WARN, Diagnostics, Durations, SentenceLog
from robot_dynamics.nodes.drives import (
    CommandError,
    CommandGate,
    DriveGravityCompensation,
    DriveProperties,
    EarlierRunFilter,
    SimulatedDrives,
)
from robot_dynamics.nodes.lifecycle import SessionNode
from robot_dynamics.nodes.parameters import FAULTS, SIMULATOR
from robot_dynamics.nodes.process import IDLE_PERIOD_S, Reporter, RunError, run
from robot_dynamics.nodes.services import serve
from robot_dynamics.nodes.state_topics import StateTopics
from robot_dynamics.nodes.topics import LATCHED, STREAM, Inbox, MissingPublishers
from robot_dynamics.simulation.faults import Faults, fault_of
from robot_dynamics.simulation.plant import Measurement

Array = NDArray[np.float64]

REPEAT_AFTER_S = 0.2  # wall-clock time without an answer after which a state is repeated
HUNG_AFTER_S = 10.0  # without a command in a run after which the run is ended
_DESCRIBE_AFTER_S = 1.0  # after which the description is published, if no control has started


class Simulator:
    """A configured simulator. Simulated time goes on only while the node is active.

    Attributes:
        due: When the next control period begins, by the steady clock [s]; None in lockstep.

    Args:
        node: The node `simulator`.
        inbox: Its subscriptions.
        values: Its parameters.
        reporter: Reports to a launcher.

    Raises:
        RobotDynamicsError: If the scenario is refused.
    """

    def __init__(
        self, node: Node, inbox: Inbox, values: Mapping[str, Any], reporter: Reporter
    ) -> None:
        self._node, self._inbox = node, inbox
        self._active = False
        self._lockstep = values["mode"] == "lockstep"
        self._file = RecordingFile(values["output"], reporter)
        self._keep = bool(values["output"])
        self._silence_limit = values["silence_limit"]
        self._patience = values["patience"]
        self._has_launcher = bool(values["progress"] or values["output"])

        self._scenario = scenario = load_scenario(values["scenario"])
        believed = build_system(scenario)
        self._system = system = true_system(scenario, believed)
        self._period = scenario.control.period
        self.due = None if self._lockstep else time.monotonic()
        self._plant = make_plant(scenario, system)
        self._faults = FaultSwitch(self._plant.faults, in_lockstep=self._lockstep)
        limited = self._lockstep or values["output"] or values["duration"] > 0.0
        ticks = scenario.ticks(scenario.plan(), values["duration"] or None)
        self._ticks = ticks if limited else sys.maxsize
        arms = [arm.name for arm in system.arms]
        self._gate = CommandGate(arms, system.arm_slices)
        timeout = round(values["command_timeout"] / self._period)
        facts = DriveProperties(scenario.cell.arms, values, ())
        behaviours = [facts.without_commands[arm] for arm in arms]
        self._drives = SimulatedDrives(system.arm_slices, behaviours, timeout)
        self._gravity = DriveGravityCompensation(
            system, facts.compensate_gravity, lambda: self._measurement.q
        )
        self._tracked = scenario.control.object_pose == "sensor"
        self._paused = False
        self._born = time.monotonic()
        self._described = False
        self._begin()

        self._states = StateTopics(
            node,
            system,
            scenario.plant.sensors,
            self._plant.faults,
            values["joint_state_topics"],
            self._period,
            skip=not self._lockstep,
            tracked=self._tracked,
        )
        self._create_topics(arms)
        self._faults.switch(values["faults"])
        node.get_logger().info(
            f"configured: {scenario.name} at {scenario.control.rate_hz:g} Hz, "
            f"{values['mode'].replace('_', ' ')}; brakes on"
        )
        if not self._lockstep:
            self._describe()  # now, because it takes longer than a control period

    def activate(self) -> None:
        """Let simulated time go on."""
        self._active = True
        self._commanded_at = time.monotonic()
        if self._lockstep:
            self._publish_state()
        else:
            self.due = time.monotonic()

    def deactivate(self) -> None:
        """Let simulated time stand still; nothing is published."""
        self._active = False

    def on_error(self, error: Exception) -> None:
        """Raise an unexpected error: no real arm depends on this node."""
        raise error

    def close(self) -> None:
        """Save the recording."""
        self._node.remove_on_set_parameters_callback(self._on_parameters)
        self._file.close(None if self._done else self._recording())

    def _create_topics(self, arms: list[str]) -> None:
        node = self._node
        self._description_topic = node.create_publisher(String, topics.ROBOT_DESCRIPTION, LATCHED)
        for arm in arms:
            # The command of the last arm arrives last; on the wall clock none is awaited.
            self._inbox.subscribe(
                Float64MultiArray,
                topics.commands(arm),
                partial(self._on_command, arm),
                STREAM,
                awaited=self._lockstep and arm == arms[-1],
                reader=command_reader(),
            )
        self._missing_publishers = MissingPublishers(node, map(topics.commands, arms))
        node.create_service(SetBool, "~/pause", self._on_pause)
        serve(node, "~/step", self._step)
        serve(node, "~/reset", self._reset)
        node.add_on_set_parameters_callback(self._on_parameters)
        self._log = SentenceLog(node)
        self._diagnostics = Diagnostics(node, self._scenario.name)

    # -- a run --------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Go to the start of a run."""
        self._measurement = self._plant.reset()
        self._tick = self._steps_wanted = 0
        self._gate.reset()
        self._drives.reset()
        self._earlier = EarlierRunFilter()
        self._done = self._held_back = False
        self._started_at: float | None = None
        self._first_tick: int | None = None  # of a command, in wall-clock mode
        self._commanded_at = self._published_at = time.monotonic()
        self._repeats, self._refused = 0, ""
        self._faults.reset()
        self._latency = Durations(self._period)
        self._numbers: dict[str, int] = {}  # the tick that the last command answers, by arm
        self._prompt, self._prompt_tick = 0, -1  # periods that were answered within the period
        self._missed = 0.0  # real time in which no control period was simulated [s]
        capacity = min(self._ticks, 100_000)
        self._recorder = (
            PlantRecorder(self._plant.scene, self._scenario, capacity) if self._keep else None
        )

    def _advance(self) -> None:
        """Simulate one control period with the torques of the gate (lockstep)."""
        self._held_back = False
        if self._tick == 0:
            self._record()
        self._measurement = self._plant.step(self._gravity.to_torques(self._gate.torque))
        self._tick += 1
        self._gate.expect(self._tick)
        self._publish_state()
        if self._tick >= self._ticks:
            self._finish()
        else:
            self._record()  # while the controller computes

    def on_period(self) -> None:
        """Simulate one control period, whatever has arrived (wall clock)."""
        if self.due is not None:  # missed periods are not caught up
            missed = max(0.0, time.monotonic() - self.due - self._period)
            self._missed += missed if self._first_tick is not None else 0.0
            self.due += missed + self._period
        if not self._active or (self._paused and not self._steps_wanted):
            return
        self._steps_wanted = max(0, self._steps_wanted - 1)
        torque = self._drives.next()
        if torque is None:  # the brakes hold the arms while time goes on
            self._measurement = self._measurement._replace(qd=0.0 * self._measurement.qd)
        else:
            self._record()
            self._measurement = self._plant.step(self._gravity.to_torques(torque))
        self._tick += 1
        self._publish_state()
        first = self._tick if self._first_tick is None else self._first_tick
        if self._tick - first >= self._ticks and not self._done:  # the arms stay held
            self._finish()

    def _record(self) -> None:
        if self._recorder is not None and not self._done:
            seen: Measurement = self._measurement
            if seen.tick != self._tick:
                seen = seen._replace(tick=self._tick, time=self._tick * self._period)
            plant = self._plant
            self._recorder.write(seen, plant)

    def _publish_state(self) -> None:
        tracked = None
        if self._tracked:
            truth = self._plant.truth()
            tracked = truth.object_pose, truth.object_twist
        self._states.publish(self._tick, self._measurement, self._plant.passive_joints(), tracked)
        self._published_at = time.monotonic()
        self._faults.published(self._tick)

    def _finish(self) -> None:
        self._done = True
        self._node.get_logger().info(f"the run is over after {self._tick * self._period:g} s")
        self._file.save(self._recording(), state_hash=self._plant.state_hash())

    def _recording(self) -> Callable[[], Recording] | None:
        """Return what makes the recording, if there is to be one and anything to write."""
        recorder = self._recorder
        if recorder is None or not recorder.recorder.count:
            return None
        figures: dict[str, Any] = {
            "wall_time_s": time.monotonic() - (self._started_at or time.monotonic()),
            "plant_state_hash": self._plant.state_hash(),
        }
        return lambda: recorder.finish(**figures)

    # -- messages and services ----------------------------------------------------------------

    def _on_command(self, arm: str, command: tuple[int, Array]) -> None:
        number, torque = command
        braked = not self._lockstep and self._drives.braked
        if braked and self._earlier.refuses(arm, number, self._tick):
            return
        self._numbers[arm] = number
        try:
            self._gate.offer(arm, number if self._lockstep else None, torque)
        except CommandError as error:
            self._refuse(str(error))

    @property
    def incomplete(self) -> bool:
        """Whether the commands of some arms have arrived and those of others are awaited."""
        return self._lockstep and self._gate.incomplete

    @property
    def _commanded(self) -> bool:
        """Whether the commands of all arms have arrived; of silent ones only in lockstep."""
        gate = self._gate
        if self._lockstep or gate.complete:
            return gate.complete
        return len(gate.missing) < len(self._system.arms) and set(gate.missing) <= set(
            self._silent
        )

    @property
    def _silent(self) -> tuple[str, ...]:
        """Names of the arms whose commands have stopped."""
        if self._lockstep:
            return self._gate.missing
        arms = enumerate(self._system.arms)
        return tuple(arm.name for i, arm in arms if self._drives.is_silent(i))

    def on_messages(self) -> None:
        """Act on the commands when those of all arms have arrived."""
        now = time.monotonic()
        self._commanded_at = now
        over = not self._active or (self._lockstep and self._done)
        if over or not self._commanded or self._held_back:
            return
        if self._started_at is None:
            self._started_at = now
            self._node.get_logger().info("commands have come: brakes off")
        prompt = all(answers(number, self._tick) for number in self._numbers.values())
        if prompt and self._prompt_tick != self._tick:
            self._prompt_tick = self._tick
            self._prompt += 1
            self._latency.add(now - self._published_at)
        if not self._lockstep:
            if self._first_tick is None:
                self._first_tick = self._tick
            self._drives.command(self._gate.torque, self._gate.arrived)
            self._gate.expect(self._tick)
        elif not self._paused or self._steps_wanted:
            self._steps_wanted = max(0, self._steps_wanted - 1)
            self._advance()
        else:
            self._held_back = True  # until the simulation goes on

    def _refuse(self, sentence: str) -> None:
        if sentence != self._refused:
            self._log(ERROR, sentence)
        self._refused = sentence

    def _on_pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        self._paused = bool(request.data)
        self._steps_wanted = 0
        if not self._paused and self._held_back:
            self._advance()
        response.success = True
        response.message = "paused" if self._paused else "running"
        return response

    def _step(self) -> str:
        """Simulate one control period of a paused run; return the service's message."""
        if not self._paused or self._done:
            raise RunError("step refused: not paused.")
        if self._held_back:
            self._advance()
        else:
            self._steps_wanted += 1
        return f"one control period from tick {self._tick}"

    def _reset(self) -> str:
        """Go back to the start of a run; return the service's message."""
        self._begin()
        if self._lockstep:
            self._publish_state()
        if self._node.get_parameter("faults").value:
            self._node.set_parameters([Parameter("faults", value="")])
        return "at the start, brakes on"

    # -- faults -------------------------------------------------------------------------------

    def _on_parameters(self, parameters: list[Parameter]) -> SetParametersResult:
        try:
            for parameter in parameters:
                if parameter.name == "faults":
                    self._faults.switch(FAULTS.checked(parameter.value))
        except RobotDynamicsError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    # -- on the wall clock --------------------------------------------------------------------

    def on_idle(self) -> None:
        """Repeat states without an answer, end a run that hangs, save the recording."""
        now = time.monotonic()
        self._states.check_subscribers()
        self._file.poll()
        if not self._active:
            return
        waits = self._lockstep and not self._done
        first = self._started_at is None
        # Before the first answer the other side may not have discovered all topics.
        if waits and now - self._published_at > (IDLE_PERIOD_S if first else REPEAT_AFTER_S):
            self._repeats += not first
            self._publish_state()
        self._missing_publishers.check(waiting=waits and first)
        if not self._described and (not first or now - self._born > _DESCRIBE_AFTER_S):
            self._describe()
        if self._has_launcher and not self._done and not self._paused:
            self._end_if_hung(now)

    def publish_diagnostics(self) -> None:
        """Publish diagnostics once a second and on change."""
        now = time.monotonic()
        level, message = self._condition(now)
        changed = self._diagnostics.update(
            level, message, lambda: self._figures(now), at_once=self._faults.unreported
        )
        if changed and level != OK:
            self._log(WARN, message)

    def _describe(self) -> None:
        self._described = True
        text = robot_description(self._scenario.cell, self._scenario.name)
        self._description_topic.publish(String(data=text))

    def _condition(self, now: float) -> tuple[bytes, str]:
        """Return the level and the sentence of the diagnostics."""
        if self._file.warning:
            return WARN, self._file.warning
        if self._done:
            return OK, "the run is over"
        if not self._active:
            return OK, "inactive"
        if self._paused:
            return OK, "paused"
        if self._started_at is None:
            earlier = self._earlier.number
            if earlier is not None:
                return (
                    WARN,
                    f"commands of an earlier run (tick {earlier}) are not taken, brakes on",
                )
            missing = self._missing_publishers.warning
            waiting = "waiting for commands, brakes on"
            return (WARN, f"{waiting}: {missing}") if missing else (OK, waiting)
        if now - self._commanded_at > self._silence_limit or self._drives.timed_out:
            does = "simulated time stands still"
            if not self._lockstep:
                does = "brakes on" if self._drives.braked else "drives act on their own"
            missing = ", ".join(self._silent) or "any arm"
            return ERROR, f"no commands for {missing}: {does}"
        if self._refused:
            return WARN, self._refused
        if self._faults.active:
            return WARN, "running with simulated faults"
        return OK, "running"

    def _figures(self, now: float) -> dict[str, object]:
        begun = self._started_at or now
        controlled = (self._tick - (self._first_tick or 0)) * self._period
        return {
            "tick": self._tick,
            "time [s]": self._tick * self._period,
            "real time factor": controlled / (now - begun) if now > begun else 0.0,
            "repeated states": self._repeats,
            "control periods": self._tick - (self._first_tick or 0),
            "answered within the period": self._prompt,
            "missed control periods": self._missed / self._period,
            **self._faults.figures(),
            **self._latency.figures("latency"),
        }

    def _end_if_hung(self, now: float) -> None:
        limit = self._patience if self._started_at is None else HUNG_AFTER_S
        if now - self._commanded_at > limit:
            missing = " and ".join(self._gate.missing) or "the arms"
            raise RunError(
                f"no commands for {missing} at tick {self._tick} for {limit:g} s; expected a "
                "controller of the same scenario and mode in the same ROS domain."
            )


class FaultSwitch:
    """Switches the faults of a simulated plant, and notes when messages show them first.

    Args:
        faults: The faults of the plant.
        in_lockstep: Whether times are control ticks; else those of the steady clock [ns].
    """

    def __init__(self, faults: Faults, *, in_lockstep: bool) -> None:
        self._faults, self._in_lockstep = faults, in_lockstep
        self.reset()

    def reset(self) -> None:
        """Forget when faults were shown."""
        self._began: int | None = None
        self._shown: int | None = None
        self._reported: int | None = None

    @property
    def active(self) -> bool:
        """Whether any fault is on."""
        return bool(self._faults.active)

    @property
    def unreported(self) -> bool:
        """Whether messages show a fault that `figures` has not returned yet."""
        return self._reported != self._shown

    def switch(self, text: str) -> None:
        """Switch on the faults that a text names, separated by commas, and no others.

        Raises:
            RobotDynamicsError: If the text names an unknown fault.
        """
        texts = [part for part in text.split(",") if part.strip()]
        if texts or self._faults.active:
            self._faults.switch([fault_of(part) for part in texts])

    def published(self, tick: int) -> None:
        """Note that the state of a tick was published."""
        if self._began != self._faults.began:
            self._began = self._faults.began
            self._shown = tick if self._in_lockstep else time.monotonic_ns()

    def figures(self) -> dict[str, object]:
        """Return since when messages show a fault, for the diagnostics; empty if none has."""
        self._reported = self._shown
        if self._shown is None:
            return {}
        return {"simulated fault since": self._shown, "simulated fault is on": self.active}


def main() -> None:
    """Run the node `simulator`."""
    create = partial(SessionNode, "simulator", SIMULATOR, Simulator)
    sys.exit(run("simulator", create, entries=SIMULATOR))
