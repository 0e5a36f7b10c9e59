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

from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import SetBool

from robot_dynamics.app.recordings import topic_names as topics
from robot_dynamics.app.recordings.recording import Recording
from robot_dynamics.app.scenarios.cell import build_system, true_system
from robot_dynamics.app.scenarios.robot_description import robot_description
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.app.scenarios.task import gripper_arms
from robot_dynamics.arrays import Array
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.nodes.background_work import RecordingFile
from robot_dynamics.nodes.command_topics import rival_commanders
from robot_dynamics.nodes.conversions import JointSample, command_reader
from robot_dynamics.nodes.diagnostics import ERROR, OK, WARN, Diagnostics, SentenceLog
from robot_dynamics.nodes.drives import (
    CommandGate,
    DriveGravityCompensation,
    DriveProperties,
    EarlierRunFilter,
    OneTopicFilter,
    SimulatedDrives,
)
from robot_dynamics.nodes.joint_commands import (
    CommandError,
    answered_tick,
    joint_commands,
    subscribe_to_joint_commands,
)
from robot_dynamics.nodes.joint_servos import JointServos
from robot_dynamics.nodes.lifecycle import SessionNode
from robot_dynamics.nodes.mujoco_services import MujocoServices, serve_names_of_mujoco
from robot_dynamics.nodes.parameters import FAULTS, SIMULATOR
from robot_dynamics.nodes.process import IDLE_PERIOD_S, Reporter, RunError, run
from robot_dynamics.nodes.services import serve
from robot_dynamics.nodes.simulated_run import (
    CommandAnswers,
    FaultSwitch,
    Pause,
    SimulatedRun,
)
from robot_dynamics.nodes.state_topics import StateTopics
from robot_dynamics.nodes.task_topics import SimulatedGrippers, subscribe_to_end
from robot_dynamics.nodes.topics import LATCHED, REPEAT_S, STREAM, Inbox, MissingPublishers

REPEAT_AFTER_S = 0.2  # wall-clock time without an answer after which a state is repeated
HUNG_AFTER_S = 10.0  # time without a command after which a run is ended
_DESCRIBE_AFTER_S = 1.0  # after which the description is published, if no control has started


class Simulator:
    """A configured simulator. Simulated time advances only while the node is active.

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
        self._node, self._inbox, self._values = node, inbox, values
        self._active, self._rivals = False, ""
        self._refused, self._refused_at = "", 0.0  # the last refused command, and when it came
        self._lockstep = values["mode"] == "lockstep"
        self._file = RecordingFile(values["output"], reporter)

        scenario = load_scenario(values["scenario"])
        system = true_system(scenario, build_system(scenario))
        limited = self._lockstep or values["output"] or values["duration"] > 0.0
        duration = values["duration"] or None
        # A task takes as long as it takes; the controller says when it is over.
        endless = not limited or (scenario.task and duration is None)
        ticks = sys.maxsize if endless else scenario.ticks(scenario.plan(), duration)
        self.due = None if self._lockstep else time.monotonic()
        self._run = SimulatedRun(scenario, system, ticks, keep=bool(values["output"]))
        self._answers, self._pause = CommandAnswers(self._run.plant.period), Pause()
        plant, arms = self._run.plant, [arm.name for arm in system.arms]
        self._arms = arms
        self._faults = FaultSwitch(plant.faults, in_lockstep=self._lockstep)
        self._gate = CommandGate(arms, system.arm_slices)
        timeout = round(values["command_timeout"] / plant.period)
        facts = DriveProperties(scenario.cell.arms, values, ())
        behaviours = [facts.without_commands[arm] for arm in arms]
        self._drives = SimulatedDrives(system.arm_slices, behaviours, timeout)
        self._gravity = DriveGravityCompensation(
            system, facts.compensate_gravity, lambda: self._run.measurement.q
        )
        self._servos = JointServos(system, plant.period, held=not scenario.task)
        self._tracked = scenario.control.object_pose == "sensor"
        self._earlier = EarlierRunFilter()
        self._topic_filter = OneTopicFilter(values["command_timeout"])

        self._states = StateTopics(
            node,
            system,
            scenario.plant.sensors,
            plant.faults,
            values["joint_state_topics"],
            plant.period,
            skip=not self._lockstep,
            tracked=self._tracked,
        )
        self._scenario, self._born, self._described = scenario, time.monotonic(), False
        self._description_topic = node.create_publisher(String, topics.ROBOT_DESCRIPTION, LATCHED)
        self._grippers = SimulatedGrippers(node, inbox, gripper_arms(scenario), plant.grip)
        if scenario.task:
            subscribe_to_end(inbox, self._on_end)
        for arm in arms:
            # The command of the last arm arrives last; on the wall clock none is awaited.
            inbox.subscribe(
                Float64MultiArray,
                topics.commands(arm),
                partial(self._on_command, arm),
                STREAM,
                awaited=self._lockstep and arm == arms[-1],
                reader=command_reader(),
            )
        subscribe_to_joint_commands(inbox, self._on_joint_commands, awaited=self._lockstep)
        self._missing_publishers = MissingPublishers(node, map(topics.commands, arms))
        node.create_service(SetBool, "~/pause", self._on_pause)
        serve(node, "~/step", self._step)
        serve(node, "~/reset", self._reset)
        serve_names_of_mujoco(
            node,
            MujocoServices(self._run, self._pause, self._switch, self._ask_steps, self._reset),
        )
        node.add_on_set_parameters_callback(self._on_parameters)
        self._log = SentenceLog(node)
        self._diagnostics = Diagnostics(node, scenario.name)
        self._faults.switch(values["faults"])
        node.get_logger().info(
            f"configured: {scenario.name} at {scenario.control.rate_hz:g} Hz, "
            f"{values['mode'].replace('_', ' ')}; brakes on"
        )
        if not self._lockstep:
            self._describe()  # now, because it takes longer than a control period

    def activate(self) -> None:
        """Continue simulated time."""
        self._active = True
        self._answers.commanded_at = time.monotonic()
        if self._pause.held_back and not self._pause.paused:
            self._advance()
        elif self._lockstep:
            self._publish_state()
        else:
            self.due = time.monotonic()

    def deactivate(self) -> None:
        """Stop simulated time; nothing is published."""
        self._active = False

    def on_error(self, error: Exception) -> None:
        """Raise an unexpected error: no real arm depends on this node."""
        raise error

    def close(self) -> None:
        """Save the recording."""
        self._node.remove_on_set_parameters_callback(self._on_parameters)
        self._file.close(None if self._run.over else self._recording())

    # -- a run --------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Go to the start of a run."""
        self._run.begin()
        self._grippers.reset()
        self._pause.reset()
        self._gate.reset()
        self._drives.reset()
        self._servos.reset()
        self._earlier = EarlierRunFilter()
        self._answers.reset()
        self._faults.reset()
        self._refused = ""

    def _advance(self) -> None:
        """Simulate one control period with the torques of the gate (lockstep)."""
        run = self._run
        self._pause.held_back = False
        if run.tick == 0:
            run.record()
        self._grippers.move()
        run.advance(self._gravity.to_torques(self._gate.torque))
        self._gate.expect(run.tick)
        self._publish_state()
        if run.lasts(0):
            run.record()  # while the controller computes
        else:
            self._finish()

    def on_period(self) -> None:
        """Simulate one control period, whatever has arrived (wall clock)."""
        run, first = self._run, self._answers.first_tick
        if self.due is not None:  # missed periods are not caught up
            missed = max(0.0, time.monotonic() - self.due - run.plant.period)
            self._answers.missed += missed if first is not None else 0.0
            self.due += missed + run.plant.period
        if not self._active or not self._pause.lets_pass():
            return
        torque = self._drives.next()
        if torque is None:  # the brakes hold the arms while time goes on
            run.advance(None)
        else:
            run.record()
            self._grippers.move()
            for i in self._drives.limp:
                self._servos.release(run.plant.system.arms[i].name)
            seen, torque = run.measurement, self._gravity.to_torques(torque)
            run.advance(self._servos.torques(torque, seen.q, seen.qd))
        self._publish_state()
        if not run.over and not run.lasts(run.tick if first is None else first):
            self._finish()  # the arms stay held

    def _publish_state(self) -> None:
        run, tracked = self._run, None
        if self._tracked:
            truth = run.plant.truth()
            tracked = truth.object_pose, truth.object_twist
        self._grippers.publish(run.tick)
        self._states.publish(run.tick, run.measurement, run.plant.passive_joints(), tracked)
        self._answers.published_at = time.monotonic()
        self._faults.published(run.tick)

    def _finish(self) -> None:
        self._run.over = True
        self._node.get_logger().info(f"the run is over after {self._run.time:g} s")
        self._file.save(self._recording(), state_hash=self._run.plant.state_hash())

    def _recording(self) -> Callable[[], Recording] | None:
        return self._run.recording(self._answers.wall_time())

    # -- messages and services ----------------------------------------------------------------

    def _on_command(self, arm: str, command: tuple[int, Array]) -> None:
        if self._is_taken(topics.commands(arm), arm, *command):
            self._servos.release(arm)

    def _on_joint_commands(self, sample: JointSample) -> None:
        run, arms = self._run, self._run.plant.system.arms
        try:
            found = joint_commands(sample, {arm.name: arm.joints for arm in arms})
            for command in found:
                self._servos.check(command)
                if self._lockstep and command.moves:
                    raise CommandError(
                        topics.JOINT_COMMANDS,
                        "positions or velocities in lockstep; expected efforts, or the mode "
                        "wall_clock.",
                    )
        except CommandError as error:
            self._refuse(str(error))
            return
        number = answered_tick(sample, run.plant.period)
        for command in found:
            if self._is_taken(topics.JOINT_COMMANDS, command.arm, number, command.effort):
                self._servos.take(command, run.measurement.q)

    def _is_taken(self, topic: str, arm: str, number: int, torque: Array) -> bool:
        """Return whether the gate takes the torques of an arm, numbered by a tick."""
        braked = not self._lockstep and self._drives.braked
        if braked and self._earlier.refuses(arm, number, self._run.tick):
            return False
        try:
            self._gate.check(arm, torque)  # before the topic counts as the one of the arm
            self._topic_filter.require(arm, topic, time.monotonic())
        except CommandError as error:
            self._refuse(str(error))
            return False
        self._answers.numbers[arm] = number
        self._gate.take(arm, number if self._lockstep else None, torque)
        return True

    @property
    def incomplete(self) -> bool:
        """Whether the commands of some arms have arrived, and others are awaited."""
        if not self._lockstep:
            return False
        return self._gate.incomplete or (
            self._gate.complete and not self._grippers.are_commanded(self._gate.tick)
        )

    @property
    def _commanded(self) -> bool:
        """Whether the commands of all arms have arrived; of silent ones only in lockstep."""
        gate = self._gate
        if self._lockstep:
            return gate.complete and self._grippers.are_commanded(gate.tick)
        if gate.complete:
            return True
        arms = self._run.plant.system.arms
        return len(gate.missing) < len(arms) and set(gate.missing) <= set(self._silent)

    @property
    def _silent(self) -> tuple[str, ...]:
        """Names of the arms whose commands have stopped."""
        if self._lockstep:
            return self._gate.missing
        arms = enumerate(self._run.plant.system.arms)
        return tuple(arm.name for i, arm in arms if self._drives.is_silent(i))

    def on_messages(self) -> None:
        """Act on the commands when those of all arms have arrived."""
        run, answers, now = self._run, self._answers, time.monotonic()
        answers.commanded_at = now
        over = not self._active or (self._lockstep and run.over)
        if over or not self._commanded or self._pause.held_back:
            return
        if answers.complete(run.tick, now):
            self._node.get_logger().info("commands have come: brakes off")
        if not self._lockstep:
            if answers.first_tick is None:
                answers.first_tick = run.tick
            self._drives.command(self._gate.torque, self._gate.arrived)
            self._gate.expect(run.tick)
        elif self._pause.lets_pass():
            self._advance()
        else:
            self._pause.held_back = True  # until the simulation goes on

    def _on_end(self, last_tick: int | None) -> None:
        """Set the last tick of the run; with None it continues."""
        run = self._run
        run.end_at(last_tick, self._answers.first_tick or 0)
        if not run.over and self._lockstep and run.tick > 0 and not run.lasts(0):
            self._finish()

    def _refuse(self, sentence: str) -> None:
        if sentence != self._refused:
            self._log(ERROR, sentence)
        self._refused, self._refused_at = sentence, time.monotonic()

    def _on_pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        response.success, response.message = True, self._switch(bool(request.data))
        return response

    def _switch(self, paused: bool) -> str:
        """Pause simulated time, or let it go on; return the service's message."""
        pause = self._pause
        pause.switch(paused)
        if not paused and pause.held_back and self._active:
            self._advance()
        return "paused" if paused else "running"

    def _step(self) -> str:
        """Simulate one control period of a paused run; return the service's message."""
        self._ask_steps(1)
        return f"one control period from tick {self._run.tick}"

    def _ask_steps(self, steps: int) -> None:
        """Ask for control periods of a paused run.

        Raises:
            RunError: If it is not paused, or over, or the node is inactive.
        """
        for found, wrong in (
            ("the run is over", self._run.over),
            ("the simulator is inactive", not self._active),
            ("the run is not paused", not self._pause.paused),
        ):
            if wrong:
                raise RunError(f"step refused: {found}; expected a paused run.")
        if self._pause.held_back:
            self._advance()
            steps -= 1
        self._pause.ask_steps(steps)

    def _reset(self, prepare: Callable[[], None] = lambda: None) -> str:
        """Go back to the start of a run; return the service's message.

        Args:
            prepare: Called at the start, before its state is published.
        """
        self._begin()
        try:
            prepare()
        finally:
            if self._lockstep and self._active:
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
        now, answers = time.monotonic(), self._answers
        self._states.check_subscribers()
        self._file.poll()
        if not self._active:
            return
        waits = self._lockstep and not self._run.over
        first = answers.started_at is None
        # Before the first answer the other side may not have discovered all topics.
        if waits and now - answers.published_at > (IDLE_PERIOD_S if first else REPEAT_AFTER_S):
            answers.repeats += not first
            self._publish_state()
        waits = waits and first and not self._node.count_publishers(topics.JOINT_COMMANDS)
        self._missing_publishers.check(waiting=waits)
        if not self._described and (not first or now - self._born > _DESCRIBE_AFTER_S):
            self._describe()
        has_launcher = self._values["progress"] or self._values["output"]
        if has_launcher and not self._run.over and not self._pause.paused:
            self._end_if_hung(now)

    def publish_diagnostics(self) -> None:
        """Publish diagnostics once a second and on change."""
        now = time.monotonic()
        if self._diagnostics.due:
            self._rivals = rival_commanders(self._node, self._arms)
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
        if self._run.over:
            return OK, "the run is over"
        if not self._active:
            return OK, "inactive"
        if self._pause.paused:
            return OK, "paused"
        if self._answers.started_at is None:
            earlier = self._earlier.number
            if earlier is not None:
                return (
                    WARN,
                    f"commands of an earlier run (tick {earlier}) are not taken, brakes on",
                )
            trouble = self._missing_publishers.warning or self._inbox.refusal
            waiting = "waiting for commands, brakes on"
            return (WARN, f"{waiting}: {trouble}") if trouble else (OK, waiting)
        silence = now - self._answers.commanded_at
        if silence > self._values["silence_limit"] or self._drives.timed_out:
            does = "simulated time stands still"
            if not self._lockstep:
                does = "brakes on" if self._drives.braked else "drives act on their own"
            missing = ", ".join(self._silent) or "any arm"
            why = f": {self._inbox.refusal}" if self._inbox.refusal else ""
            return ERROR, f"no commands for {missing}: {does}{why}"
        refused = self._refused if now < self._refused_at + REPEAT_S else ""
        trouble = refused or self._inbox.refusal or self._rivals
        if trouble:
            return WARN, trouble
        if self._faults.active:
            return WARN, "running with simulated faults"
        return OK, "running"

    def _figures(self, now: float) -> dict[str, object]:
        return self._answers.figures(self._run.tick, now) | self._faults.figures()

    def _end_if_hung(self, now: float) -> None:
        limit = HUNG_AFTER_S if self._answers.started_at else self._values["patience"]
        if now - self._answers.commanded_at > limit:
            missing = " and ".join(self._gate.missing) or "the arms"
            raise RunError(
                f"no commands for {missing} at tick {self._run.tick} for {limit:g} s; expected a "
                "controller of the same scenario and mode in the same ROS domain."
            )


def main() -> None:
    """Run the node `simulator`."""
    create = partial(SessionNode, "simulator", SIMULATOR, Simulator)
    sys.exit(run("simulator", create, entries=SIMULATOR))
