# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The guard node beside the real controller and simulator, each in a process of its own.

The drives hold the last torque for ever. Figures of the wall clock are printed; thresholds on them
are wide, because the machine may be busy: exact times are tested in simulated time, in
test_heartbeat.py and test_guard_loop.py.
"""

from __future__ import annotations

import signal
import time
from functools import partial

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from calling import Caller
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, UInt64MultiArray
from std_srvs.srv import Trigger
from waiting import wait_until

from robot_dynamics.app.recordings import topic_names as topics
from robot_dynamics.app.recordings.recording import Recording
from robot_dynamics.app.runs.run import simulate
from robot_dynamics.app.scenarios.cell import build_system
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.control.clock import tick_of
from robot_dynamics.nodes.conversions import NumberWriter, read_command, read_time
from robot_dynamics.nodes.guard import _raised, _timeouts
from robot_dynamics.nodes.heartbeat import Beat, GuardReport, GuardState
from robot_dynamics.nodes.topics import STREAM

SCENARIO = load_scenario("lift_box")
PERIOD = SCENARIO.control.period
ARMS = ("left", "right")
TIMEOUT = 0.25  # wide, so that a busy machine makes no false alarm
WALL_CLOCK = {
    "scenario": "lift_box",
    "mode": "wall_clock",
    "heartbeat_timeout": TIMEOUT,
    "on_command_timeout": "hold",
    "stale_after": 10.0,  # longer than anything is stopped here
    "sample_rate_tolerance": 1.0,  # a busy machine may bring less
}
SILENCE_S = 3.0  # in lockstep, for the same reason
OF_GUARD = ("scenario", "mode", "heartbeat_timeout", "stale_after")


class Witness:
    """Hears everything that goes over topics, and calls services."""

    def __init__(self, ros):
        self.ros, self.node = ros, ros.create_node("witness")
        self.tick = -1
        self.position = self.velocity = np.zeros(14)
        self.commands = {arm: [] for arm in ARMS}  # tick at the arrival, number, torques
        self.said = {"controller: state": [], "guard: state": []}
        self.report = None
        node, stream = self.node, STREAM
        node.create_subscription(JointState, "joint_states", self._see, stream)
        node.create_subscription(DiagnosticArray, "/diagnostics", self._hear, 10)
        node.create_subscription(UInt64MultiArray, topics.GUARD, self._read, stream)
        for arm in ARMS:
            node.create_subscription(
                Float64MultiArray,
                topics.commands(arm),
                lambda m, arm=arm: self.commands[arm].append((self.tick, *read_command(m))),
                QoSProfile(depth=2000, reliability=STREAM.reliability),  # none is missed
            )
        self.ask = Caller(ros, node)
        self.ask.expect(Trigger, *(f"controller/{what}" for what in ("start", "stop", "reset")))
        self.ask.expect(Trigger, "guard/reset", "simulator/reset")

    def _see(self, message):
        self.tick = tick_of(read_time(message.header.stamp), PERIOD)
        self.position, self.velocity = np.array(message.position), np.array(message.velocity)

    def _hear(self, message):
        for status in message.status:
            self.said.get(status.name, []).append(status.message)

    def _read(self, message):
        self.report = GuardReport.of(message.data)

    def spin_until(self, condition):
        """Listen until something is so."""

        def words():
            return self.tick, self.report, {name: said[-3:] for name, said in self.said.items()}

        listen = partial(self.ros.spin_once, self.node, timeout_sec=0.02)
        wait_until(condition, listen, words=words)

    def wait_for_words(self, node, words):
        """Listen until the diagnostics of a node say something."""
        self.spin_until(lambda: any(words in said for said in self.said[f"{node}: state"]))

    def call(self, name):
        """Call a service; return whether it succeeded and its message."""
        answer = self.ask(Trigger, name)
        return answer.success, answer.message

    def require_good_torques(self):
        """Wait for commands of each arm; all torques are finite and within its limits."""
        # Diagnostics of a command may come before the command.
        self.spin_until(lambda: all(any(t.size for *_, t in s) for s in self.commands.values()))
        system = build_system(SCENARIO)
        for arm, own in zip(ARMS, system.arm_slices, strict=True):
            sent = np.array([torque for *_, torque in self.commands[arm] if torque.size])
            assert np.isfinite(sent).all()
            assert (np.abs(sent) <= system.limits["effort"][own]).all()

    def come_to_rest(self):
        """Listen until the arms stand still; return their largest speed until then."""
        speeds = [0.0]

        def rest():
            speeds.append(float(np.abs(self.velocity).max()))
            return speeds[-1] < 1e-3

        self.spin_until(rest)
        return max(speeds)


@pytest.fixture
def witness(ros):
    """Return a witness, and end it after the test."""
    witness = Witness(ros)
    yield witness
    witness.node.destroy_node()


@pytest.fixture
def start(start_node):
    """Return a function that starts a node; all of them are ended after the test."""
    started = []

    def start(name, **parameters):
        started.append(start_node(name, **parameters))
        return started[-1]

    yield start
    for node in started:
        if node.process.poll() is None:
            node.process.send_signal(signal.SIGCONT)
            node.interrupt()
    for node in started:
        node.end()


def start_trio(start, witness, **changes):
    """Start simulator, guard and controller, and return them when they are heard."""
    values = WALL_CLOCK | {"scenario": "lift_box"} | changes
    nodes = (
        start(
            "simulator",
            scenario=values["scenario"],
            mode="wall_clock",
            on_command_timeout="hold",
        ),
        start("guard", **{name: values[name] for name in OF_GUARD}),
        start("controller", autostart="always", **values),
    )
    witness.spin_until(lambda: witness.tick > 0 and witness.report is not None)
    return nodes


@pytest.fixture
def trio(start, witness):
    """Return simulator, guard and controller while the object moves."""
    nodes = start_trio(start, witness)
    begin = witness.position
    witness.spin_until(lambda: np.abs(witness.position - begin).max() > 0.05)
    assert witness.report.state is GuardState.WATCHING
    return nodes


@pytest.mark.slow  # of the wall clock: a busy machine may miss its thresholds
def test_a_killed_controller(start, witness, trio):
    """Its arms are taken over and come to rest; the way back needs a reset and a live controller.

    They must not move faster than the silence explains, which a busy machine makes longer: in
    every second without a guard they gain at least 3 rad/s.
    """
    simulator, guard, controller = trio
    controller.process.kill()
    controller.wait()
    silence = guard.wait_for("took over")["silence_s"]
    largest = witness.come_to_rest()
    print(f"silence {silence:.3f} s of {TIMEOUT} s; largest speed {largest:.2f} rad/s")
    assert silence > TIMEOUT
    assert largest < 1.5 + 3.0 * silence
    witness.require_good_torques()
    witness.wait_for_words("guard", "in charge: controller: no heartbeat for")
    assert witness.report.state is GuardState.IN_CHARGE

    success, words = witness.call("guard/reset")
    assert not success
    assert words.startswith("reset refused: no heartbeat for")
    second = start("controller", autostart="never", **WALL_CLOCK)
    second.wait_for("ready")
    witness.wait_for_words("controller", "inactive")
    witness.spin_until(lambda: witness.call("controller/start")[1].endswith("its reset."))
    assert witness.call("guard/reset") == (
        True,
        "the guard stays in charge until the controller commands",
    )
    witness.spin_until(lambda: witness.report.state is GuardState.HANDING_BACK)
    # Where they are now is not where the reference starts.
    success, words = witness.call("controller/start")
    assert not success
    assert "start refused" in words
    assert witness.call("simulator/reset")[0]
    witness.spin_until(lambda: witness.call("controller/start")[0])
    guard.wait_for("handed back")
    witness.spin_until(lambda: witness.report.state is GuardState.WATCHING)
    assert "Traceback" not in guard.text + simulator.text + second.text


@pytest.mark.slow  # of the wall clock: a busy machine may miss its thresholds
def test_a_stopped_controller(witness, trio):
    """SIGSTOP for a second: the guard has the arms, and the controller finds that it has not."""
    simulator, guard, controller = trio
    controller.process.send_signal(signal.SIGSTOP)
    guard.wait_for("took over")
    until = time.monotonic() + 1.0
    witness.spin_until(lambda: time.monotonic() > until)
    for sent in witness.commands.values():
        sent.clear()
    controller.process.send_signal(signal.SIGCONT)
    # What it sees first is named: the takeover, or an object that is not where it left it.
    witness.wait_for_words("controller", "fallback: ")
    assert witness.come_to_rest() < 2.0
    witness.require_good_torques()
    # What the controller had computed before it was stopped may still be sent: one command.
    stale = [sum(tick - number > 200 for tick, number, _ in witness.commands[a]) for a in ARMS]
    print(f"stale commands after the wake-up: {stale}")
    assert max(stale) <= 2

    assert witness.call("guard/reset")[1].startswith("reset refused: a fault is latched")
    # One right after the other, as documented: the second waits for what the first has set going.
    assert witness.call("controller/reset")[0]
    assert witness.call("guard/reset") == (
        True,
        "the guard stays in charge until the controller commands",
    )
    guard.wait_for("handed back")
    witness.spin_until(lambda: witness.report.state is GuardState.WATCHING)
    for sent in witness.commands.values():
        sent.clear()
    witness.spin_until(lambda: all(len(sent) > 100 for sent in witness.commands.values()))
    # The controller's own fallback now: the arms stay where they are.
    assert np.abs(witness.velocity).max() < 1e-3
    witness.require_good_torques()
    assert "Traceback" not in guard.text + simulator.text + controller.text


@pytest.mark.slow  # of the wall clock: a busy machine may miss its thresholds
@pytest.mark.parametrize("first", ["controller", "guard"])
def test_both_suspended(witness, trio, first):
    """As containers are, for 0.6 s: whoever wakes first departs from the drives' last command.

    The limit is 2 N m in a command; one that a busy witness misses is allowed for.
    """
    nodes = dict(zip(("simulator", "guard", "controller"), trio, strict=True))
    pair = [nodes.pop(first), nodes.pop("guard" if first == "controller" else "controller")]
    for node in pair:
        node.process.send_signal(signal.SIGSTOP)
    until = time.monotonic() + 0.6
    witness.spin_until(lambda: time.monotonic() > until)
    before = {arm: sent[-1][2] for arm, sent in witness.commands.items()}
    for node in pair:
        node.process.send_signal(signal.SIGCONT)
        until = time.monotonic() + 0.1
        witness.spin_until(lambda until=until: time.monotonic() > until)
    count = {arm: len(sent) for arm, sent in witness.commands.items()}
    witness.spin_until(lambda: all(len(witness.commands[a]) > count[a] + 100 for a in ARMS))
    steps = []
    for arm, sent in witness.commands.items():
        torques = np.array([before[arm], *(torque for *_, torque in sent)])[-300:]
        steps.append(float(np.abs(np.diff(torques, axis=0)).max()))
    print(f"{first} first: largest steps {steps} N m")
    assert max(steps) <= 2.1 * SCENARIO.safety.torque_rate * PERIOD
    witness.require_good_torques()


def test_a_controller_without_commands(start, witness):
    """It is alive and says that arms rely on it: the guard takes over, and holds them."""
    beats = witness.node.create_publisher(UInt64MultiArray, topics.HEARTBEAT, STREAM)
    writer = NumberWriter(Beat._fields)
    witness.node.create_timer(
        0.02,
        lambda: beats.publish(writer.fill(Beat(time.monotonic_ns(), 1, True, True, True))),
    )
    patient = {**WALL_CLOCK, "heartbeat_timeout": 2.0, "command_timeout": 2.0}
    start("simulator", **WALL_CLOCK)
    start("guard", **{name: patient[name] for name in (*OF_GUARD, "command_timeout")})
    witness.wait_for_words("guard", "in charge: controller: heartbeats, but no command for")
    witness.require_good_torques()


def test_a_controller_that_ends_says_goodbye(start, witness):
    """The guard has the arms at once, not after the timeout, which is a minute here."""
    _, guard, controller = start_trio(start, witness, heartbeat_timeout=60.0)
    said = witness.said["controller: state"]
    witness.spin_until(lambda: any(words.startswith("active") for words in said))
    controller.interrupt()
    assert guard.wait_for("took over")["silence_s"] < 1.0
    witness.wait_for_words("guard", "in charge: controller: it has ended")
    witness.spin_until(lambda: witness.report.state is GuardState.IN_CHARGE)
    controller.wait()
    witness.require_good_torques()


def test_a_killed_guard(start, witness, tmp_path):
    """The controller goes on and says so; a start without a guard is refused.

    The object stands still, and the guard is patient: arms that keep a torque for as long as a
    busy machine makes them stay where they are.
    """
    file = tmp_path / "still.yaml"
    file.write_text(load_scenario("lift_box", ["reference.segments=[{duration_s: 7.0}]"]).text())
    patient = {"scenario": str(file), "heartbeat_timeout": 10.0}
    _, guard, controller = start_trio(start, witness, **patient)
    said = witness.said["controller: state"]
    witness.spin_until(lambda: any(words.startswith("active") for words in said))
    witness.said["controller: state"].clear()  # before the start it was missed as well
    guard.process.kill()
    witness.wait_for_words("controller", "active: there is no guard, as no report came for 0.5 s")
    assert controller.process.poll() is None
    assert witness.call("controller/start")[1] == "start refused: active; expected inactive."
    assert witness.call("controller/stop")[0]
    assert witness.call("controller/reset")[0]
    success, words = witness.call("controller/start")
    assert not success
    assert words.startswith("start refused: there is no guard")


def test_in_lockstep_it_changes_nothing(start, witness, tmp_path):
    """Watched runs are as those in one process to the last bit."""
    ends = {name: str(tmp_path / f"{name}.npz") for name in ("simulator", "controller")}
    simulator = start("simulator", output=ends["simulator"], duration=0.4)
    start("guard")
    controller = start("controller", output=ends["controller"], duration=0.4, guard="required")
    for node in (simulator, controller):
        node.wait_for("done")
    recording = Recording.load(ends["simulator"]).merged(Recording.load(ends["controller"]))
    alone = simulate("lift_box", duration=0.4).recording
    assert len(recording) == len(alone) == 200
    assert recording.get("plant_state_hash") == alone.get("plant_state_hash")
    assert np.array_equal(recording["commanded_torque"], alone["commanded_torque"])


def test_in_lockstep_time_waits_for_it(start, witness):
    """A killed controller costs no simulated time: the guard answers the tick that is due.

    Beats of an idle controller beside it change nothing.
    """
    idle = witness.node.create_publisher(UInt64MultiArray, topics.HEARTBEAT, STREAM)
    writer = NumberWriter(Beat._fields)
    witness.node.create_timer(
        0.02,
        lambda: idle.publish(writer.fill(Beat(time.monotonic_ns(), 1, False, True, True))),
    )
    start("simulator", duration=60.0)
    guard = start("guard", silence_limit=SILENCE_S)
    controller = start("controller", guard="required", duration=60.0)
    witness.spin_until(lambda: witness.tick > 500 and witness.report is not None)
    controller.process.kill()
    witness.spin_until(lambda: witness.report.state is GuardState.IN_CHARGE)
    guard.wait_for("took over")
    speed = witness.come_to_rest()
    print(f"largest speed {speed:.2f} rad/s")
    # The reference's own reaches 1.52 rad/s; had periods gone by without an answer, above 3.
    assert speed < 1.6
    witness.require_good_torques()


@pytest.mark.parametrize(
    ("commands", "taken", "words"),
    [(0.1, 0.2, "command_timeout is 0.1 s"), (0.3, 0.3, ""), (0.0, np.inf, "")],
)
def test_a_command_timeout_below_that_of_heartbeats_is_told(commands, taken, words):
    """It is raised, which is said."""
    values = {"heartbeat_timeout": 0.2, "command_timeout": commands}
    assert _timeouts(values) == (0.2, taken)
    assert words in _raised(values)
    assert bool(_raised(values)) == bool(words)
