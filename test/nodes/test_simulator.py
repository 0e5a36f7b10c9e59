# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The simulator node with the real controller, with wrong commands, and with simulated faults."""

from __future__ import annotations

import signal
import sys
import time

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from calling import Caller
from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import SetBool, Trigger
from waiting import wait_until

from robot_dynamics.app.recordings import topic_names as topics
from robot_dynamics.app.recordings.recording import Recording
from robot_dynamics.app.runs.run import simulate
from robot_dynamics.app.scenarios.cell import build_system
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.control.clock import stamp_of
from robot_dynamics.description.load import load_description
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.nodes.conversions import CommandWriter, JointSample, read_time, write_time
from robot_dynamics.nodes.diagnostics import ERROR, OK, WARN
from robot_dynamics.nodes.lifecycle import SessionNode
from robot_dynamics.nodes.parameters import SIMULATOR
from robot_dynamics.nodes.process import Reporter, RunError
from robot_dynamics.nodes.simulated_run import FaultSwitch, SimulatedRun
from robot_dynamics.nodes.simulator import Simulator
from robot_dynamics.nodes.topics import LATCHED, REPEAT_S, STREAM
from robot_dynamics.simulation.faults import Faults

ARMS = ("left", "right")
REST = (np.zeros(7), np.zeros(7))
SCENARIO = load_scenario("lift_box")
PERIOD = SCENARIO.control.period
JOINTS = {arm.name: arm.joints for arm in build_system(SCENARIO).arms}


class Commander:
    """Commands the arms of a simulator from this process unless silent, and hears its messages."""

    def __init__(self, ros, name="commander", *, silent=False):
        self.ros = ros
        self.node = ros.create_node(name)
        self.states, self.said, self.descriptions, self.times = [], [], [], []
        node, stream = self.node, STREAM
        node.create_subscription(JointState, "joint_states", self.states.append, stream)
        node.create_subscription(
            Clock, "/clock", lambda m: self.times.append(read_time(m.clock)), stream
        )
        node.create_subscription(DiagnosticArray, "/diagnostics", self._hear, 10)
        node.create_subscription(String, "robot_description", self.descriptions.append, LATCHED)
        self.topics = [
            node.create_publisher(Float64MultiArray, topics.commands(arm), stream)
            for arm in (() if silent else ARMS)
        ]
        # As `joint_state_topic_hardware_interface` has it. Beside it no controller starts.
        self.by_name = (
            None
            if silent
            else node.create_publisher(JointState, "joint_commands", QoSProfile(depth=1))
        )
        self.ask = Caller(ros, node)
        self.ask.expect(SetBool, "simulator/pause")
        self.ask.expect(Trigger, "simulator/step", "simulator/reset")
        self.ask.expect(Trigger, "controller/stop", "controller/reset")
        self.ask.expect(SetParameters, "simulator/set_parameters")

    def _hear(self, message):
        self.said += [s.message for s in message.status if s.name == "simulator: state"]

    @property
    def tick(self):
        """The tick of the newest state."""
        return round(read_time(self.states[-1].header.stamp) / (PERIOD * 1e9))

    def spin_until(self, condition):
        """Wait for something."""
        wait_until(
            condition,
            lambda: self.ros.spin_once(self.node, timeout_sec=0.02),
            words=lambda: (self.said[-3:], len(self.states)),
        )

    def spin(self, seconds):
        """Listen for a while."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.ros.spin_once(self.node, timeout_sec=0.02)

    def wait_for_simulator(self):
        """Wait until both sides have found each other."""
        self.spin_until(
            lambda: self.states and all(t.get_subscription_count() for t in self.topics)
        )

    def step(self, tick):
        """Run a control period: command a tick, and again if the first was not received."""
        until = [0.0]

        def stepped():
            if time.monotonic() > until[0]:
                self.command(tick)
                until[0] = time.monotonic() + 2.0
            return self.tick == tick + 1

        self.spin_until(stepped)

    def command(self, tick, torques=REST):
        """Send torques of both arms."""
        for topic, torque in zip(self.topics, torques, strict=True):
            topic.publish(CommandWriter().fill(tick, np.asarray(torque)))

    def command_by_name(self, arms=("left", "right"), stamp=None, **fields):
        """Send commands of joints by name, with the time of this machine's clock or another."""
        names = [joint for arm in arms for joint in JOINTS[arm]]
        stamp = time.time_ns() if stamp is None else stamp
        message = JointState(name=names, **{field: list(x) for field, x in fields.items()})
        write_time(message.header.stamp, stamp)
        self.by_name.publish(message)

    def call(self, name):
        """Call a service; return whether it succeeded and its message."""
        answer = self.ask(Trigger, name)
        return answer.success, answer.message

    def pause(self, whether):
        """Have simulated time stand still, or go on; return as `call`."""
        answer = self.ask(SetBool, "simulator/pause", SetBool.Request(data=whether))
        return answer.success, answer.message

    def switch(self, faults):
        """Set the parameter with the faults; return whether it was taken, and why not."""
        wish = [Parameter("faults", value=faults).to_parameter_msg()]
        request = SetParameters.Request(parameters=wish)
        (result,) = self.ask(SetParameters, "simulator/set_parameters", request).results
        return result.successful, result.reason


@pytest.fixture(scope="module")
def pair(start_node, tmp_path_factory):
    """Return the two nodes after a short run, and the two files they have written."""
    folder = tmp_path_factory.mktemp("run")
    run = {"scenario": "lift_box", "duration": 0.6}
    nodes = [
        start_node("simulator", output=str(folder / "simulator.npz"), **run),
        start_node(
            "controller",
            output=str(folder / "controller.npz"),
            command_interfaces=["effort"],
            **run,
        ),
    ]
    for node in nodes:
        node.wait_for("done")
    return nodes, [Recording.load(folder / f"{node.name}.npz") for node in nodes]


def test_over_topics_is_as_in_one_process(pair):
    """Two processes in lockstep give the same states and torques to the last bit.

    Commands go by joint name; those of a topic for each arm are in `test_interoperability`.
    """
    _, sides = pair
    recording = sides[0].merged(sides[1])
    alone = simulate("lift_box", duration=0.6).recording
    assert len(recording) == len(alone) == 300
    assert recording.get("plant_state_hash") == alone.get("plant_state_hash")
    for name, values in alone.columns.items():
        if name != "step_time":
            assert np.array_equal(recording[name], values), name


def test_two_interrupts_end_both_cleanly(pair):
    """As Ctrl-C under `ros2 launch` sends them."""
    nodes, _ = pair
    for node in nodes:
        node.interrupt()
    time.sleep(0.03)
    for node in nodes:
        if node.process.poll() is None:
            node.interrupt()
    assert [node.wait() for node in nodes] == [0, 0]
    for node in nodes:
        assert "Traceback" not in node.text
        assert "rror" not in node.text


def test_services_and_commands_in_lockstep(ros, start_node):
    """Time moves when all commands of the tick are there, and not by any other message."""
    simulator = start_node("simulator", scenario="lift_box", progress=True)
    simulator.wait_for("ready")
    commander = Commander(ros)
    commander.wait_for_simulator()
    assert commander.tick == 0

    def stands_still():
        commander.spin(0.3)
        return commander.tick

    commander.topics[0].publish(CommandWriter().fill(0, np.zeros(7)))
    assert stands_still() == 0  # the right arm's is missing
    commander.command(7)
    assert stands_still() == 0  # those of another tick
    commander.command(0, (np.zeros(7), np.full(7, np.nan)))
    assert stands_still() == 0
    commander.command(0, (np.zeros(7), np.zeros(6)))
    assert stands_still() == 0
    commander.step(0)
    commander.spin_until(
        lambda: (
            any("right/commands: 6 torques; expected 7 or none." in s for s in commander.said)
            or any("torque 0 is nan" in s for s in commander.said)
        )
    )
    wait_until(
        lambda: "torque 0 is nan; expected a finite number." in simulator.text,
        words=lambda: simulator.text,
    )

    # Commands by joint name count for the tick of their stamp.
    commander.command_by_name(effort=np.zeros(14), stamp=stamp_of(3, PERIOD))
    assert stands_still() == 1
    commander.command_by_name(effort=np.zeros(14), stamp=stamp_of(1, PERIOD))
    commander.spin_until(lambda: commander.tick == 2)
    commander.command_by_name(position=np.zeros(14), stamp=stamp_of(2, PERIOD))
    wait_until(
        lambda: "positions or velocities in lockstep; expected efforts" in simulator.text,
        words=lambda: simulator.text,
    )
    assert stands_still() == 2
    assert commander.call("simulator/reset")[0]
    commander.step(0)

    # Paused, commands wait; a step lets one period pass.
    refused = "step refused: the run is not paused; expected a paused run."
    assert commander.call("simulator/step") == (False, refused)
    assert commander.pause(True) == (True, "paused")
    commander.command(1)
    assert stands_still() == 1
    assert commander.call("simulator/step")[0]
    commander.spin_until(lambda: commander.tick == 2)
    commander.command(2)
    assert stands_still() == 2
    assert commander.pause(False) == (True, "running")
    commander.spin_until(lambda: commander.tick == 3)

    # Faults are switched on while it runs, from the next period on.
    assert commander.switch("silence")[0] is False
    assert "did you mean 'silent'" in commander.switch("silence")[1]
    assert commander.switch("position_nan left 0.002, missing_joint right") == (True, "")
    assert np.isfinite(commander.states[-1].position).all()
    commander.step(3)
    assert np.isnan(commander.states[-1].position[0])
    assert len(commander.states[-1].name) == 13
    commander.step(4)
    assert np.isfinite(commander.states[-1].position).all()
    assert len(commander.states[-1].name) == 13

    # A reset begins anew, without those; stamps are multiples of the period.
    assert commander.call("simulator/reset") == (True, "at the start, brakes on")
    commander.spin_until(lambda: commander.tick == 0)
    # Nor with a step that was asked for and has not been made.
    assert commander.pause(True)[0]
    assert commander.call("simulator/step")[0]
    assert commander.call("simulator/reset")[0]
    commander.command(0)
    assert stands_still() == 0
    assert commander.pause(False)[0]
    commander.spin_until(lambda: commander.tick == 1)
    assert read_time(commander.states[-1].header.stamp) == round(PERIOD * 1e9)
    commander.spin_until(lambda: commander.times[-1] == round(PERIOD * 1e9))
    description = load_description(commander.descriptions[-1].data)
    names = [joint.name for joint in description.mechanism.joints]
    assert set(commander.states[-1].name) <= set(names)
    simulator.process.send_signal(signal.SIGTERM)
    assert simulator.wait() == 0
    commander.node.destroy_node()


@pytest.fixture
def managed(ros):
    """Return an active simulator of `lift_box` in this process, in lockstep."""
    managed = SessionNode("simulator", SIMULATOR, Simulator, Reporter())
    yield managed
    managed.inbox.close()
    managed.node.destroy_node()


def test_time_stands_still_while_it_is_inactive(managed):
    """Neither the end of a pause nor a reset publishes anything; commands that wait count then."""
    simulator, said = managed._session, []
    publish = simulator._states.publish
    simulator._states.publish = lambda tick, *rest: (said.append(tick), publish(tick, *rest))

    def command():
        for arm in simulator._arms:
            simulator._on_command(arm, (0, np.zeros(7)))
        simulator.on_messages()

    simulator._switch(True)
    command()
    managed.node.change(managed.node.trigger_deactivate)
    with pytest.raises(RunError, match="the simulator is inactive; expected a paused run"):
        simulator._step()
    simulator._switch(False)
    assert said == []
    managed.node.change(managed.node.trigger_activate)
    assert said == [1]
    managed.node.change(managed.node.trigger_deactivate)
    simulator._reset()
    assert said == [1]
    managed.node.change(managed.node.trigger_activate)
    assert said == [1, 0]


def test_a_topic_of_refused_commands_commands_no_arm(managed):
    """One that sends NaN, as a controller before it is active, does not lock the other one out."""
    simulator = managed._session
    simulator._on_command("left", (0, np.full(7, np.nan)))
    assert simulator._refused == "left/commands: torque 0 is nan; expected a finite number."
    joints = [joint for arm in simulator._run.plant.system.arms for joint in arm.joints]
    none, torque = np.zeros(0), np.arange(14.0)
    simulator._on_joint_commands(JointSample(0, joints, none, none, torque))
    assert simulator._gate.torque.tolist() == torque.tolist()
    simulator._on_command("left", (0, np.zeros(7)))
    assert "commanded on joint_commands as well; expected one topic" in simulator._refused


def test_a_refused_command_is_a_warning_for_a_while(managed):
    """Not for days, if the commands are good again."""
    simulator, now = managed._session, time.monotonic()
    simulator._answers.started_at = simulator._answers.commanded_at = now
    assert simulator._condition(now) == (OK, "running")
    simulator._on_command("left", (0, np.full(6, 1.0)))
    said = "left/commands: 6 torques; expected 7 or none."
    assert simulator._condition(simulator._refused_at) == (WARN, said)
    later = simulator._refused_at + 1.01 * REPEAT_S
    simulator._answers.commanded_at = later
    assert simulator._condition(later) == (OK, "running")


def test_unreadable_commands_are_told_while_commands_are_awaited(managed):
    """Before the first command and after the last one: they are why none comes."""
    simulator, now = managed._session, time.monotonic()
    odd = "/left/commands: a message was refused: it cannot be read (RMWError)."
    managed.inbox._refusal, managed.inbox._refused_at = odd, now
    assert simulator._condition(now) == (WARN, f"waiting for commands, brakes on: {odd}")
    simulator._answers.started_at = simulator._answers.commanded_at = now
    level, said = simulator._condition(now + 1.01 * simulator._values["silence_limit"])
    assert level == ERROR
    assert said == f"no commands for left, right: simulated time stands still: {odd}"
    managed.inbox._refused_at = now - 1.01 * REPEAT_S
    assert simulator._condition(now + 1.01 * simulator._values["silence_limit"])[1] == (
        "no commands for left, right: simulated time stands still"
    )


def test_a_killed_controller_ends_the_run(ros, start_node):
    """The simulator says so, stands still, and ends when it is asked to."""
    commander = Commander(ros, "witness", silent=True)
    simulator = start_node("simulator", scenario="lift_box", duration=60.0, silence_limit=3.0)
    controller = start_node("controller", scenario="lift_box", duration=60.0)
    controller.wait_for("progress")
    commander.spin_until(lambda: "running" in commander.said)
    commander.said.clear()
    controller.process.kill()
    # It may have sent one of its last two commands.
    commander.spin_until(
        lambda: any(s.endswith("right: simulated time stands still") for s in commander.said)
    )
    assert simulator.process.poll() is None
    simulator.interrupt()
    assert simulator.wait() == 0
    commander.node.destroy_node()


def test_real_time_with_a_controller(ros, start_node, tmp_path):
    """States come at the control rate before any command; then the object is lifted.

    Slowly, so that little happens while a busy machine leaves arms at a torque.
    """
    file = tmp_path / "slow.yaml"
    slow = "reference.segments=[{duration_s: 12.0, move: [0.0, 0.0, 0.3]}]"
    file.write_text(load_scenario("lift_box", [slow]).text())
    commander = Commander(ros, "watcher", silent=True)
    simulator = start_node(
        "simulator",
        scenario=str(file),
        mode="wall_clock",
        command_timeout=2.0,  # nor do its drives brake because a busy machine is late
    )
    commander.wait_for_simulator()
    commander.states.clear()
    begin = time.monotonic()
    commander.spin_until(lambda: commander.states)
    first = commander.tick
    commander.spin_until(lambda: commander.tick >= first + 200)
    # 200 periods of 2 ms; up to 10 states may have been waiting when it began.
    assert time.monotonic() - begin > 0.37
    commander.spin_until(lambda: "waiting for commands, brakes on" in commander.said)
    controller = start_node(
        "controller",
        scenario=str(file),
        mode="wall_clock",
        command_timeout=2.0,
        autostart="always",
        stale_after=2.0,
        sample_rate_tolerance=1.0,  # a busy machine may bring less
    )
    start = np.array(commander.states[-1].position)
    controller.wait_for("progress")
    commander.spin_until(
        lambda: np.abs(np.array(commander.states[-1].position) - start).max() > 0.02
    )
    assert "Traceback" not in simulator.text + controller.text

    # Torques for where the arms were do not move them after a reset, nor do those that follow.
    assert commander.call("controller/stop")[0]
    before = commander.tick
    assert commander.call("simulator/reset")[0]
    commander.spin_until(lambda: commander.tick < before)
    del commander.states[:-1]
    commander.spin_until(
        lambda: any(s.startswith("commands of an earlier run (tick ") for s in commander.said)
    )
    commander.said.clear()
    commander.spin(0.3)
    assert commander.call("controller/reset")[0]
    commander.spin_until(lambda: "running" in commander.said)
    commander.spin(0.3)
    moved = [np.abs(np.array(state.position) - start).max() for state in commander.states]
    # Gravity is compensated to rounding; with the torques from before they move by centimetres.
    assert max(moved) < 1e-6

    # A controller that ends leaves arms that hold themselves up; then the drives brake.
    controller.interrupt()
    assert controller.wait() == 0
    commander.spin_until(lambda: "no commands for left, right: brakes on" in commander.said)
    # To rounding; a joint that falls has 0.01 rad/s after two periods.
    assert np.abs(np.array(commander.states[-1].velocity)).max() < 1e-9
    # Nor has it fallen before the brakes came, by centimetres.
    assert np.abs(np.array(commander.states[-1].position) - start).max() < 1e-6
    commander.node.destroy_node()


def test_one_arm_without_commands(ros, start_node):
    """The commands of the other one act: an arm that is left to its drive stops nobody else."""
    commander = Commander(ros, "one_armed")
    simulator = start_node(
        "simulator",
        scenario="lift_box",
        mode="wall_clock",
        on_command_timeout="hold",
    )
    commander.wait_for_simulator()

    def running():
        commander.command(0)  # again and again: the first may come before it is expected
        return "running" in commander.said

    commander.spin_until(running)
    commander.said.clear()

    def command_the_left():
        commander.topics[0].publish(CommandWriter().fill(0, np.zeros(7)))
        return True

    def only_the_right_is_missing():
        command_the_left()
        return "no commands for right: drives act on their own" in commander.said

    commander.spin_until(only_the_right_is_missing)

    # Commands by joint name are refused as a whole while no controller of ros2_control is active.
    commander.command_by_name(["right"], effort=[np.nan] * 7)
    refused = "joint_commands: effort of joint 'right_joint1' is nan"
    commander.spin_until(lambda: command_the_left() and refused in simulator.text)
    simulator.interrupt()
    assert simulator.wait() == 0
    commander.node.destroy_node()


def test_a_scenario_with_a_typing_error_is_refused_with_its_line(start_node, tmp_path):
    """The key that was probably meant is named."""
    file = tmp_path / "mine.yaml"
    file.write_text("extends: package://robot_dynamics/config/scenarios/lift_box.yaml\nplnt: {}\n")
    node = start_node("simulator", scenario=str(file))
    assert node.wait() == 2
    assert "mine.yaml:2" in node.text
    assert "plant" in node.text
    assert node.wait_for("error")["message"] in node.text


@pytest.mark.parametrize(("ticks", "expected"), [(150_000, 150_000), (sys.maxsize, None)])
def test_a_recording_states_the_length_of_its_run(ticks, expected):
    """However long it is; None where nothing limits it, until its end is known."""
    scenario = load_scenario("gravity")
    run = SimulatedRun(scenario, build_system(scenario), ticks, keep=True)
    run.record()
    assert run.recording(0.0)().get("ticks") == expected
    run.end_at(7, 2)
    assert run.recording(0.0)().get("ticks") == 6


def test_the_onset_of_a_fault_is_reported_once():
    """By the tick of the first message with it; a second one is told anew, no fault is not."""
    faults = Faults({"left": slice(0, 7), "right": slice(7, 14)}, [], 0.002)
    switch = FaultSwitch(faults, in_lockstep=True)
    switch.switch("")
    switch.published(1)
    assert not switch.unreported
    assert switch.figures() == {}
    switch.switch("silent left 1.0, wrench_nan right")
    faults.move(6)
    for tick in (7, 8):
        switch.published(tick)
    assert switch.active
    assert switch.unreported
    assert switch.figures() == {"simulated fault since": 7, "simulated fault is on": True}
    assert not switch.unreported
    switch.switch(" , ")
    faults.move(9)
    switch.published(9)
    assert switch.figures() == {"simulated fault since": 7, "simulated fault is on": False}
    with pytest.raises(RobotDynamicsError, match="did you mean 'silent'"):
        switch.switch("silence")
    switch.reset()
    assert switch.figures() == {}


def test_on_the_wall_clock_it_is_the_steady_clock():
    """Which other processes of the machine have as well."""
    faults = Faults({"left": slice(0, 7)}, [], 0.002)
    switch = FaultSwitch(faults, in_lockstep=False)
    switch.switch("silent")
    faults.move(3)
    before = time.monotonic_ns()
    switch.published(3)
    assert before <= switch.figures()["simulated fault since"] <= time.monotonic_ns()
