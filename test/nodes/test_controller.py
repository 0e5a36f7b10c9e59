# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The controller node, in a process of its own, against arms that lie to it over real topics."""

from __future__ import annotations

import time

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from calling import Caller
from diagnostic_msgs.msg import DiagnosticArray
from fake_arms import FakeArms
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from spoiled_messages import at_time, renamed, reorder, with_field, with_number, without
from std_srvs.srv import Trigger
from waiting import wait_until

from robot_dynamics.app.scenarios.scenario import load_scenario

SCENARIO = load_scenario("lift_box")


class Bench:
    """A controller, the arms that it sees, and its messages."""

    def __init__(self, ros, start_node, **parameters):
        self.ros = ros
        self.node = ros.create_node("bench")
        self.arms = FakeArms(self.node, SCENARIO)
        self.ask = Caller(ros, self.node)
        self.ask.expect(
            Trigger, *(f"controller/{name}" for name in ("start", "stop", "reset", "tare"))
        )
        self.ask.expect(SetParameters, "controller/set_parameters")
        self.ask.expect_transitions("controller")
        self.controller = start_node("controller", **parameters)
        self.said = []
        self.node.create_subscription(DiagnosticArray, "/diagnostics", self._hear, 10)
        self.controller.wait_for("ready")
        if parameters.get("autoconfigure", True):
            self.arms.wait_for_listener()

    def _hear(self, message):
        self.said += [s.message for s in message.status if s.name == "controller: state"]

    def call(self, name):
        """Call a service; return whether it succeeded and its message."""
        answer = self.ask(Trigger, f"controller/{name}")
        return answer.success, answer.message

    def change(self, transition):
        """Go through a transition; return whether it succeeded, and the state then."""
        return self.ask.change("controller", transition), self.condition

    @property
    def condition(self):
        """The lifecycle's state."""
        return self.ask.state("controller")

    def set(self, name, value):
        """Set a parameter; return whether that succeeded, and why not."""
        parameters = [Parameter(name, value=value).to_parameter_msg()]
        request = SetParameters.Request(parameters=parameters)
        answer = self.ask(SetParameters, "controller/set_parameters", request)
        return answer.results[0].successful, answer.results[0].reason

    def wait_for_words(self, words, meanwhile=lambda: None):
        """Wait until diagnostics say something."""

        def listen():
            meanwhile()
            self.ros.spin_once(self.node, timeout_sec=0.05)

        wait_until(
            lambda: any(words in said for said in self.said),
            listen,
            words=lambda: (words, self.said),
        )

    def start(self):
        """Start control on the present tick, as soon as that has arrived."""

        def started():
            success, words = self.call("start")
            return success or words.startswith("start refused: active;")  # an answer was lost

        wait_until(started, self.arms.publish, words=lambda: self.said)

    def restart(self):
        """Reset, start again, and let some good ticks pass; return the torque of the last."""
        if self.arms.torque:
            self.call("stop")
            for _ in range(2):  # the first after a pause says that time has jumped
                self.arms.step()
            assert self.call("reset") == (
                True,
                "faults are cleared; the fallback stays in charge until the next start",
            )
            self.arms.step()
        self.start()
        for _ in range(5):
            torque = self.arms.step()
        self.said.clear()
        return torque


@pytest.fixture(scope="module")
def bench(ros, start_node):
    """Return a bench whose controller waits to be started."""
    bench = Bench(ros, start_node, scenario="lift_box", autostart="never")
    yield bench
    bench.node.destroy_node()


@pytest.fixture(scope="module")
def support():
    """Return the torques that hold arms and box up at the start."""
    from robot_dynamics.app.scenarios.cell import build_system
    from robot_dynamics.app.scenarios.laws import control_loop
    from robot_dynamics.manipulation.assembly import closed_configuration

    system = build_system(SCENARIO)
    loop = control_loop(SCENARIO, system)
    q = closed_configuration(system, SCENARIO.object_pose)[system.q_index]
    return loop.law.hold_support(q)


def test_nothing_is_sent_before_the_start(bench):
    """Arms on brakes stay on brakes, also when their states come."""
    bench.arms.publish()
    time.sleep(0.3)
    bench.arms._inbox.read()
    assert bench.arms.torque == {}
    bench.wait_for_words("inactive")


def test_a_start_without_states_is_refused(bench):
    """In one sentence that names the service and the arm."""
    bench.arms.tick = 1000
    spoil = renamed("left_joint3", "left_joint33")
    bench.wait_for_words("left: unknown joint 'left_joint33'", lambda: bench.arms.publish(spoil))
    for service in ("start", "resume"):
        success, words = bench.call(service)
        assert not success
        assert words.startswith(f"{service} refused: left: unknown joint 'left_joint33'; did you")
    bench.arms.tick = 0


def test_wrist_sensors_are_tared_before_the_grasp(bench):
    """Readings without the object are subtracted; the object's weight is not."""
    bench.arms.tick = 1
    bench.arms.publish()
    bench.wait_for_words("inactive", bench.arms.publish)
    refused, words = bench.call("tare")
    assert not refused
    assert words.startswith("taring refused: the wrist sensors carry 98.1 N together")
    bench.arms.tick = 2
    empty = np.array([0.0, 0.0, -0.125, 2.0, 0.0, 0.0])

    def tared():
        bench.arms.publish(wrench=empty)
        return bench.call("tare") == (
            True,
            "tared by 1 samples of each sensor: up to 2 N and 0.125 N m are subtracted",
        )

    wait_until(tared, lambda: None)
    bench.arms.tick = 3
    wait_until(
        lambda: bench.call("tare")[1].startswith("tared by 1 samples of each sensor: up to 0 N"),
        lambda: bench.arms.publish(wrench=np.zeros(6)),
    )
    bench.arms.tick = 0


def test_the_first_torque_holds_everything_up(bench, support):
    """Servo terms and squeeze ramp in from there."""
    bench.arms.publish()
    bench.call("reset")  # the tick is collected anew; the start answers it before it has come
    bench.start()
    for _ in range(2):  # as the tick is published again, the law does not take a second step
        bench.arms.tick = 0
        torque = bench.arms.step()
        # At tick 0 the ramp is 0: what remains is the support, to the rounding of its sum.
        assert np.allclose(torque, support, rtol=0.0, atol=1e-9)


def test_order_does_not_matter(bench):
    """The same state in another order gives the same torque to the last bit."""
    one = bench.restart()
    again = bench.restart()
    assert np.array_equal(one, again)
    bench.restart()
    turned = bench.arms.step(reorder)
    bench.restart()
    assert np.array_equal(turned, bench.arms.step())


FAULTS = {
    "NaN position": (
        with_number("position", 3, float("nan")),
        "left: position of joint 'left_joint4' is nan; expected a finite number.",
    ),
    "infinite velocity": (
        with_number("velocity", 9, float("inf")),
        "right: velocity of joint 'right_joint3' is inf; expected a finite number.",
    ),
    "unknown joint": (
        renamed("right_joint5", "right_jiont5"),
        "right: unknown joint 'right_jiont5'; did you mean 'right_joint5'?",
    ),
    "missing joint": (without("left_joint2"), "left: joint 'left_joint2' is missing"),
    "too few positions": (
        with_field("position", [0.0] * 13),
        "left: position has 13 entries, expected 14.",
    ),
    "no velocities": (with_field("velocity", []), "A velocity is needed for every joint."),
    "clock back": (at_time(-50.0), "jumped back by"),
    "clock ahead": (at_time(50.0), "jumped ahead by"),
}


@pytest.mark.parametrize("fault", [f for f in FAULTS if not f.startswith("clock")])
def test_a_bad_joint_state_ends_in_the_fallback(bench, support, fault):
    """At once, with finite torques within the limits, and with the cause in the diagnostics."""
    spoil, words = FAULTS[fault]
    before = bench.restart()
    first = bench.arms.step(spoil)
    limit = bench.arms.system.limits["effort"]
    largest = SCENARIO.safety.torque_rate * SCENARIO.control.period
    assert np.isfinite(first).all()
    assert (np.abs(first - before) <= largest * (1 + 1e-12)).all()
    for _ in range(30):
        torque = bench.arms.step()
        assert np.isfinite(torque).all()
        assert (np.abs(torque) <= limit).all()
    # Good states do not bring it back: a fault is latched. The arms stand still, and what holds
    # them up is reached through the torque rate.
    assert np.allclose(torque, support, atol=1e-9)
    bench.wait_for_words(words)
    bench.wait_for_words("fallback: ")


@pytest.mark.parametrize("fault", ["clock back", "clock ahead"])
def test_a_jump_of_time_ends_in_the_fallback(bench, fault):
    """Both arms are lost; a new time is accepted after a reset."""
    bench.restart()
    tick = bench.arms.tick
    bench.arms.tick = tick + 20000 if fault == "clock ahead" else 3
    torque = bench.arms.step()
    assert np.isfinite(torque).all()
    bench.wait_for_words(FAULTS[fault][1])
    bench.restart()


def test_a_silent_arm_is_lost_after_the_declared_periods(bench):
    """Messages with the joints of one arm alone leave the other stale."""

    def right_only(message):
        message.name = message.name[7:]
        message.position = message.position[7:]
        message.velocity = message.velocity[7:]
        return message

    bench.restart()
    for _ in range(SCENARIO.safety.stale_after_periods):
        bench.arms.step(right_only)
    # Of what state it is in now; diagnostics may say it later.
    assert bench.call("start")[1].startswith("start refused: starting;")
    for _ in range(2):
        bench.arms.step(right_only)
    bench.wait_for_words("fallback: left: no new sample for")


def test_a_lost_wrist_sensor_holds_the_pose(bench):
    """A wrench that is no number is never used: control goes on without it, to a stop."""
    bench.restart()
    torque = bench.arms.step(wrench=np.full(6, np.nan))
    assert np.isfinite(torque).all()
    for _ in range(20):
        assert np.isfinite(bench.arms.step()).all()
    bench.wait_for_words("wrench: entry 0 of values is nan; expected a finite number.")


def test_a_wrench_in_another_frame_is_refused(bench):
    """It ends control as a lost sensor does, and no start is possible before good ones come."""
    bench.restart()
    good = bench.arms.wrench_frames
    bench.arms.wrench_frames = ["left_link6", "right_tool"]
    for _ in range(20):
        assert np.isfinite(bench.arms.step()).all()
    words = "left/wrench: its frame 'left_link6' moves relative to the tool"
    bench.wait_for_words(words)
    bench.call("stop")
    for _ in range(20):
        bench.arms.step()
    assert words in bench.call("reset")[1] + bench.call("start")[1]
    bench.arms.wrench_frames = good
    bench.arms.step()
    bench.restart()


def test_taring_is_refused_while_arms_hold_the_object(bench):
    """While control runs, and in the fallback; the tared values stay."""
    words = "taring refused: the arms hold the object; expected wrist sensors that carry nothing"
    bench.restart()
    assert bench.call("tare")[1].startswith(words)
    bench.call("stop")
    bench.arms.step(wrench=np.zeros(6))
    assert bench.call("tare")[1].startswith(words)


def test_a_stop_latches(bench, support):
    """The fallback goes on until a reset; a start before it is refused."""
    bench.restart()
    assert bench.call("stop")[0]
    for _ in range(30):
        torque = bench.arms.step()
    assert np.allclose(torque, support, atol=1e-9)
    success, words = bench.call("start")
    assert not success
    assert "expected inactive" in words
    bench.wait_for_words("stopped: ")


def test_a_start_far_from_the_grasp_is_refused(bench):
    """The sentence names the arm and the distance; the fallback goes on."""
    bench.restart()
    bench.call("stop")
    bench.arms.step()
    assert bench.call("reset")[0]
    home = bench.arms.q
    bench.arms.q = home + 0.2 * np.eye(14)[0]
    for _ in range(3):
        bench.arms.step()
    success, words = bench.call("start")
    assert not success
    assert words.startswith("start refused: arm 'left' is ")
    assert np.isfinite(bench.arms.step()).all()
    bench.arms.q = home
    bench.restart()


def test_last_commands_hold_the_arms_up(bench, support):
    """The last command is that of the fallback, and the exit status after two SIGINTs is 0."""
    bench.restart()
    tick = bench.arms.tick
    bench.controller.interrupt()
    time.sleep(0.02)
    if bench.controller.process.poll() is None:
        bench.controller.interrupt()
    assert bench.controller.wait() == 0
    bench.arms._inbox.read()
    last = np.concatenate(list(bench.arms.torque.values()))
    assert np.isfinite(last).all()
    assert bench.arms.tick == tick
    assert "Traceback" not in bench.controller.text
    for said in ("configured: lift_box", "control starts", "ends"):  # INFO lines
        assert said in bench.controller.text


def test_a_killed_simulator_ends_control(ros, start_node):
    """The controller falls back, says so, and ends with status 1 when a launcher waits for it."""
    bench = Bench(ros, start_node, scenario="lift_box", autostart="in_lockstep", silence_limit=3.0)
    for _ in range(5):
        bench.arms.step()
    said = bench.controller.wait_for("error")
    assert "the simulator was lost" in said["message"]
    assert bench.controller.wait() == 1
    bench.arms._inbox.read()
    assert np.isfinite(np.concatenate(list(bench.arms.torque.values()))).all()
    assert "Traceback" not in bench.controller.text
    bench.node.destroy_node()


def test_lifecycle_transitions(ros, start_node, support):
    """Every refusal leaves it where it was, in one sentence; every way back is open."""
    bench = Bench(ros, start_node, scenario="lift_bx", autoconfigure=False, autostart="never")
    assert bench.change("configure") == (False, "unconfigured")
    bench.wait_for_words("unconfigured: unknown scenario 'lift_bx'; did you mean 'lift_box'?")
    assert bench.call("start")[1] == (
        "the controller is unconfigured; expected inactive or active: configure it."
    )
    assert bench.change("activate") == (False, "unconfigured")
    assert bench.set("scenario", "lift_box") == (True, "")
    assert bench.change("configure") == (True, "inactive")
    assert "'scenario' is 'lift_box' while" in bench.set("scenario", "lift_box_panda")[1]

    bench.arms.wait_for_listener()
    assert bench.change("activate") == (False, "inactive")
    bench.wait_for_words("inactive: start refused: left: no sample has come yet")
    wait_until(lambda: bench.change("activate") == (True, "active"), bench.arms.publish)
    assert np.allclose(bench.arms.step(), support, rtol=0.0, atol=1e-9)
    assert bench.set("control.object.bandwidth", 30) == (True, "")
    assert "is too high at 500 Hz" in bench.set("control.object.bandwidth", 900.0)[1]

    assert bench.change("cleanup") == (False, "active")  # rclpy by itself would die of this
    assert bench.change("deactivate") == (True, "inactive")
    for _ in range(30):
        torque = bench.arms.step()
    assert np.allclose(torque, support, atol=1e-9)
    assert bench.change("activate") == (True, "active")
    bench.arms.step(with_number("position", 3, float("nan")))
    bench.wait_for_words("fallback: left: position of joint 'left_joint4' is nan")
    wait_until(lambda: bench.condition == "inactive")  # its loop does one thing after the other
    assert bench.change("activate") == (False, "inactive")
    bench.arms.step()
    assert bench.call("reset")[0]
    assert bench.change("activate") == (True, "active")
    assert bench.call("stop")[0]
    assert bench.condition == "inactive"

    assert bench.change("cleanup") == (True, "unconfigured")
    assert bench.change("configure") == (True, "inactive")
    assert bench.ask.change("controller", "shutdown")
    assert bench.controller.wait() == 0
    assert "Traceback" not in bench.controller.text
    bench.node.destroy_node()
