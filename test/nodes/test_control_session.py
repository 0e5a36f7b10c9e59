# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A configured controller in this process, beside arms that stand still, on the wall clock."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from fake_arms import FakeArms
from waiting import PATIENCE_S, wait_until

from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.control.faults import SafetyError, State
from robot_dynamics.control.start_check import StartError
from robot_dynamics.nodes import start_preparation, timeouts
from robot_dynamics.nodes.command_topics import CommandTopics
from robot_dynamics.nodes.control_session import ControlSession
from robot_dynamics.nodes.controller import ControllerNode
from robot_dynamics.nodes.diagnostics import Diagnostics
from robot_dynamics.nodes.parameters import CONTROLLER, ParameterError
from robot_dynamics.nodes.process import RefusedError, Reporter
from robot_dynamics.nodes.start_preparation import NotYetError
from robot_dynamics.nodes.topics import Inbox

SCENARIO = load_scenario("lift_box")
VALUES = {entry.name: entry.default for entry in CONTROLLER}
# This process is no source of samples at the control rate.
VALUES |= {"mode": "wall_clock", "autostart": "never", "stale_after": PATIENCE_S}
VALUES |= {"sample_rate_tolerance": 1.0, "command_timeout": PATIENCE_S}


class Bench:
    """A session on a node, and arms on another."""

    def __init__(self, ros, given=None, **values):
        self.node, self.other = ros.create_node("controller"), ros.create_node("arms")
        self.inbox = Inbox(self.node)
        self.session = ControlSession(
            self.node,
            self.inbox,
            Diagnostics(self.node, "test"),
            SCENARIO,
            VALUES | values,
            ("on_command_timeout", "drives_compensate_gravity") if given is None else given,
            Reporter(),
            lambda: self.session.start(),
        )
        self.session._check_limit = PATIENCE_S
        self.loop = self.session.loop
        self.loop.step_time = 0.0  # a slow step has its own test; a busy machine is no error here
        self.arms = FakeArms(self.other, SCENARIO)
        self.arms.wait_for_listener()

    def moving(self, speed):
        """Bring a state in which the joints move, and let the session answer it."""

        def spoil(message):
            message.velocity = [speed] * len(message.name)
            return message

        self.arms.publish(spoil)
        self.loop.joint_states.now = None
        self.read_until(
            lambda: self.loop.joint_states.now is not None and not self.session.incomplete
        )
        self.session.on_messages()

    def read_until(self, happened):
        """Read messages until something has happened."""

        def read():
            self.inbox.wait(0.01)
            self.inbox.read()

        wait_until(happened, read)

    def state(self):
        """Bring a state, and let the session answer it."""
        tick = self.arms.tick
        self.arms.publish()
        self.arms.tick = tick + 1
        self.read_until(lambda: self.loop.complete and self.loop.joint_states.ready)
        self.session.on_messages()

    def live_until(self, happened):
        """Bring states, and run the node's loop, until something has happened."""

        def live():
            self.arms.publish()
            self.arms.tick += 1
            # Arms have a rate; a loop that never rests leaves other threads no time.
            time.sleep(SCENARIO.control.period)
            self.inbox.wait(0.01)
            if self.inbox.read():
                self.session.on_messages()
            if self.session.due is not None and time.monotonic() >= self.session.due:
                self.session.on_period()
            self.session.on_idle()
            self.session.publish_diagnostics()

        wait_until(happened, live, words=lambda: self.session._report._logged)


@pytest.fixture
def make(ros, monkeypatch):
    """Return a function that makes a bench; all are ended after the test."""
    benches = []
    # What comes about on a busy machine as well is waited for.
    for patience in ("PATIENCE_S", "SETTLE_S"):
        monkeypatch.setattr(start_preparation, patience, PATIENCE_S)

    def make(**values):
        benches.append(Bench(ros, **values))
        return benches[-1]

    yield make
    for bench in benches:
        bench.session.destroy()
        bench.inbox.close()
        bench.node.destroy_node()
        bench.other.destroy_node()


def test_the_first_command_answers_the_newest_samples(make, monkeypatch):
    """Those of the start may be too old once the recording is allocated."""
    bench = make()
    bench.state()
    session, tick = bench.session, bench.session._intake.tick

    def slow(ticks):
        bench.arms.publish()
        bench.arms.tick += 1
        bench.inbox.wait(PATIENCE_S)

    monkeypatch.setattr(session._record, "begin", slow)
    session.start()
    assert session._outcome is not None
    assert session._clock.tick == tick + 1


def test_start_pause_and_start_again(make):
    """A pause hands over to the fallback; who starts again need not reset it."""
    bench = make()
    bench.state()
    bench.session.start()
    assert bench.loop.safety.state is State.STARTING
    with pytest.raises(SafetyError, match="expected inactive"):
        bench.loop.require_startable()
    bench.session.pause()
    assert bench.loop.safety.state is State.STOPPED
    bench.state()
    assert bench.loop.safety.in_charge
    bench.loop.require_startable()
    bench.session.start()
    assert bench.loop.safety.law_runs


def test_a_stop_needs_a_reset_before_a_start(make):
    """It latches."""
    bench = make()
    bench.state()
    bench.session.start()
    assert bench.session.stop().startswith("stopped; hold until a reset")
    bench.session.pause()
    with pytest.raises(SafetyError, match="expected inactive"):
        bench.session.start()
    bench.session.reset()
    bench.session.start()


@pytest.mark.parametrize("ticks", [3, 30])
def test_a_start_uses_the_state_of_a_reset_simulator(make, ticks):
    """Arms that moved are reset, and start at once, though nobody has read where they are.

    Simulators that were reset soon after they began go back in time by little.
    """
    bench = make(mode="lockstep")
    bench.arms.tick = ticks
    bench.moving(0.2)
    bench.session.stop()
    bench.arms.tick = 0
    bench.moving(0.2)
    if not bench.loop.complete:  # time has gone back by much
        bench.arms.tick = 1
        bench.moving(0.2)
    bench.session.reset()
    with pytest.raises(StartError, match=r"moves at 0\.2 rad/s"):
        bench.session.start()
    bench.arms.tick = 0
    bench.arms.publish()
    bench.inbox.wait(PATIENCE_S)  # it has come, and has not been read
    bench.session.start()
    assert bench.loop.safety.state is State.STARTING
    assert bench.loop.began == 0


def test_time_waits_after_a_reset_of_the_simulator(make):
    """Nothing is answered in lockstep before a start, which is like the first; a stop stays."""
    bench = make(mode="lockstep")
    bench.moving(0.0)
    bench.session.start()
    first = bench.loop.safety.last
    home, bench.arms.q, bench.arms.tick = bench.arms.q, bench.arms.q + 0.002, 1
    bench.moving(0.0)
    bench.session.stop()
    assert not np.allclose(bench.loop.safety.last, first, rtol=0.0, atol=1e-4)
    bench.arms.q, sent = home, []
    bench.session._output.topics.send = lambda tick, torque, *_: not sent.append(torque)
    bench.arms.tick = 0
    bench.moving(0.0)
    with pytest.raises(SafetyError, match="expected inactive"):
        bench.session.start()
    bench.session.reset()
    bench.arms.tick = 0
    bench.moving(0.0)  # the simulator repeats what nobody answers
    assert not sent
    bench.session.start()
    assert np.array_equal(sent[0], first)


def test_withheld_commands_are_no_steps_of_a_ramp(make):
    """After a suspension commands wait for the guard; the drives hold the last command.

    The first command departs from that, or from the guard's last command.
    """
    bench = make()
    link = SimpleNamespace(may=True, hands_back=False, refusal="", destroy=lambda: None)
    link.require_guard = link.beat_with_command = lambda: None
    link.beat_when_idle = lambda now: None
    link.beat = lambda commanding: None
    link.may_command = lambda now: link.may
    bench.session._output.link, sent = link, []
    send = bench.session._output.topics.send

    def record(tick, torque, *others):
        sent.append(torque.copy())
        return send(tick, torque, *others)

    bench.session._output.topics.send = record
    bench.state()
    bench.session.start()
    bench.state()
    held, step = sent[-1], SCENARIO.safety.torque_rate * SCENARIO.control.period * (1 + 1e-6)
    link.may = False
    bench.arms.q = bench.arms.q + 0.1  # there the fallback wants other torques
    bench.session.stop()
    for _ in range(30):
        bench.state()
    bench.arms.q = bench.arms.q - 0.1
    assert len(sent) == 2
    link.may = True
    bench.state()
    assert np.abs(sent[-1] - held).max() <= step

    link.may = False
    other = CommandTopics(bench.other, bench.loop.system, lambda torque: torque, bench.loop.clock)
    wait_until(lambda: all(way.get_subscription_count() >= 3 for way in other._publishers))
    other.send(0, held + 20.0, (), {})
    wait_until(lambda: np.allclose(bench.session._output.topics.last(), held + 20.0))
    bench.state()
    link.may = True
    bench.state()
    assert np.abs(sent[-1] - held - 20.0).max() <= step
    # A controller that was started anew takes over what the guard hands back.
    bench.session.reset()
    bench.loop.let_go()
    other.send(0, held - 20.0, (), {})
    wait_until(lambda: np.allclose(bench.session._output.topics.last(), held - 20.0))
    link.hands_back = True
    bench.session._output.publisher_monitor.require_none = lambda: True  # as beside a guard
    bench.session.start()
    bench.state()
    assert np.abs(sent[-1] - held + 20.0).max() <= step
    other.destroy()


def test_a_long_path_check_does_not_count_as_missing_joint_states(make, monkeypatch):
    """In lockstep simulated time waits for it, however long it takes."""
    passed = [0.0]
    monkeypatch.setattr(
        timeouts, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + passed[0])
    )
    bench = make(mode="lockstep", silence_limit=PATIENCE_S)
    law = bench.loop.law
    check = law.check_path

    def slow(q):
        passed[0] += 10.0 * PATIENCE_S
        return check(q)

    law.check_path = slow
    bench.moving(0.0)
    bench.session.start()
    bench.session.on_idle()
    assert bench.loop.safety.state is State.STARTING
    assert not bench.loop.safety.faults


def test_the_first_torque_is_that_of_the_support(make):
    """The start itself sends it, in the tick of the newest sample: nothing jumps."""
    bench = make()
    bench.arms.tick = 41
    bench.state()
    bench.session.start()
    assert bench.loop.began == 41
    q, _ = bench.loop.joint_states.state()
    support = bench.loop.law.hold_support(q)
    # What holds up is sent first; the sum is rounded differently.
    assert np.allclose(bench.loop.safety.last, support, rtol=0.0, atol=1e-9)


def test_automatic_start(make):
    """When all is known and good; nothing is tried before a guard is there."""
    bench = make(autostart="always")
    bench.live_until(lambda: bench.loop.safety.law_runs)
    assert not bench.session.start_wanted
    shy = make(autostart="always", guard="required")
    shy.live_until(lambda: shy.arms.tick > 20)
    assert not shy.loop.safety.law_runs
    assert shy.session.start_wanted


def test_a_stop_ends_an_automatic_start(make):
    """Other starts do not wait for it."""
    bench = make(autostart="always")
    bench.live_until(lambda: bench.session.prepares_start)
    bench.session.stop()
    assert not bench.session.prepares_start
    bench.session.reset()
    bench.session.start()
    assert bench.loop.safety.law_runs


def test_a_reset_clears_a_refusal(make):
    """It is not told any more."""
    bench = make()
    bench.state()
    bench.session.refuse("start refused: for a test.")
    bench.session.reset()
    assert bench.session._report.refusal == ""


def test_arms_are_held_while_their_path_is_checked(make):
    """The check takes its time elsewhere: commands and heartbeats go on, and the guard watches."""
    bench = make(guard="wanted")
    bench.state()
    bench.session.start()
    bench.session.pause()
    bench.live_until(lambda: bench.loop.safety.state is State.STOPPED)
    checks = threading.Event()
    law = bench.loop.law
    check = law.check_path
    law.check_path = lambda q: checks.wait(PATIENCE_S) and check(q)
    preparation = bench.session.prepare()
    bench.live_until(lambda: preparation.poll() or preparation._check is not None)
    sent, beats = [], []
    bench.session._output.topics.send = lambda tick, torque, *_: not sent.append(torque)
    bench.session._output.link.beat = lambda *, commanding: beats.append(commanding)
    bench.live_until(lambda: len(sent) >= 20 and beats)
    assert not preparation.poll()
    assert all(np.isfinite(torque).all() for torque in sent)
    assert all(beats)
    checks.set()
    bench.live_until(preparation.poll)
    bench.session.start()
    assert bench.loop.safety.law_runs


def test_a_start_is_refused_if_the_arms_have_moved_since(make):
    """The reference was checked from other positions."""
    bench = make()
    preparation = bench.session.prepare()
    bench.live_until(preparation.poll)
    bench.arms.q = bench.arms.q + 0.002 * np.eye(14)[3]
    tick = bench.arms.tick
    bench.live_until(lambda: bench.arms.tick > tick + 3)
    with pytest.raises(StartError, match="'left_joint4' has moved since the reference was check"):
        bench.session.start()
    assert not bench.loop.safety.in_charge


def test_a_stop_while_the_path_is_checked(make):
    """It counts: the start is refused."""
    bench = make()
    bench.state()
    bench.session.start()
    bench.session.pause()
    preparation = bench.session.prepare()
    bench.live_until(lambda: preparation.poll() or preparation._check is not None)
    bench.session.stop()
    with pytest.raises(SafetyError, match="expected inactive"):
        bench.live_until(preparation.poll)


def test_a_start_waits_for_the_end_of_an_earlier_one(make):
    """The path that was checked is followed, whatever another client asks meanwhile."""
    bench = make()
    bench.state()
    bench.session.start()
    bench.session.pause()
    bench.live_until(lambda: bench.loop.safety.state is State.STOPPED)
    law, go, checked = bench.loop.law, threading.Event(), []
    check = law.check_path

    def slow(q):
        checked.append(law.reference)
        assert go.wait(PATIENCE_S)
        return check(q)

    law.check_path = slow
    controller = object.__new__(ControllerNode)
    controller._session = bench.session
    first, second = controller.prepare("resume"), controller.prepare("put_down")

    def step(call):
        try:
            call.send(None)
        except StopIteration:
            return True
        return False

    bench.live_until(lambda: step(first) or checked)
    ticks = bench.arms.tick + 60
    bench.live_until(lambda: step(second) or bench.arms.tick > ticks)
    go.set()
    bench.live_until(lambda: step(first))
    assert checked == [law.reference]
    bench.session.start()
    assert law.reference is checked[0]
    with pytest.raises(SafetyError, match=r"^put_down refused: starting; expected inactive"):
        bench.live_until(lambda: step(second))


def test_a_start_waits_for_arms_to_come_to_rest(make):
    """And reports their outcome if they do not."""
    bench = make()
    bench.live_until(lambda: bench.loop.complete)
    rest, moving = bench.arms.publish, 0.3

    def publish():
        def spoil(message):
            message.velocity = [moving] * len(message.name)
            return message

        rest(spoil)

    bench.arms.publish = publish
    tick = bench.arms.tick
    bench.live_until(lambda: bench.arms.tick > tick + 3)
    preparation = bench.session.prepare()
    bench.live_until(lambda: preparation.poll() or bench.arms.tick > tick + 100)
    assert preparation._check is None
    moving = 0.0
    bench.live_until(preparation.poll)
    moving = 0.3
    preparation = bench.session.prepare()
    preparation._asked_at -= PATIENCE_S
    tick = bench.arms.tick
    bench.live_until(lambda: bench.arms.tick > tick + 3)
    with pytest.raises(NotYetError, match=r"moves at 0\.3 rad/s; .* waited for \d+ s\."):
        preparation.poll()


def test_errors_of_background_work_do_not_end_control(make):
    """They are told once, and in the diagnostics, until a reset."""
    bench = make()
    bench.state()
    bench.session.start()
    told = []
    bench.session._report.complain = bench.session._background._report = told.append

    def fail(*_, **__):
        raise KeyError("odd")

    bench.session._objects.publish = bench.session._objects.on_idle = fail
    bench.session._record.write = bench.session._report._diagnostics.update = fail
    tick = bench.arms.tick
    bench.live_until(lambda: bench.arms.tick > tick + 20)
    assert bench.loop.safety.law_runs
    assert [words.split(":")[0] for words in told] == [
        *("recording", "topics of the object", "diagnostics")
    ]
    assert bench.session._background.warning == "recording: unexpected KeyError: 'odd'"


def test_an_error_of_the_control_step_ends_in_the_fallback(make, monkeypatch):
    """Latched, with its cause; so does one that the node's loop has caught."""
    bench = make()
    bench.state()
    bench.session.start()

    def fail(*_):
        raise IndexError("out of range")

    monkeypatch.setattr(bench.loop.law, "update", fail)
    bench.live_until(lambda: bench.loop.safety.state is State.FALLBACK)
    assert bench.loop.safety.cause == "controller: unexpected IndexError: out of range"
    assert np.isfinite(bench.loop.safety.last).all()
    monkeypatch.undo()
    bench.session.reset()
    bench.session.start()
    bench.session.on_error(ValueError("odd"))
    assert bench.loop.safety.cause == "controller: unexpected ValueError: odd"
    bench.session.reset()
    bench.session.start()
    monkeypatch.setattr(bench.loop.law, "retune", fail)  # by the service of parameters
    bench.session.retune(SCENARIO.control)
    assert bench.loop.safety.cause == "controller: unexpected IndexError: out of range"


@pytest.mark.parametrize("what", ["messages", "fallback"])
def test_a_node_that_ends_says_goodbye_whatever_fails(make, monkeypatch, what):
    """And keeps its recording; errors of messages leave the last commands alone."""
    bench = make(guard="wanted")
    bench.state()
    bench.session.start()
    done, commands = [], []
    monkeypatch.setattr(bench.session._record, "close", lambda: done.append("recording"))
    monkeypatch.setattr(bench.session._output.link, "say_goodbye", lambda: done.append("goodbye"))
    send = bench.session._output.send
    monkeypatch.setattr(
        bench.session._output, "send", lambda *args: (commands.append(1), send(*args))
    )

    def fail(*_):
        raise ValueError("odd")

    if what == "messages":
        monkeypatch.setattr(bench.inbox, "read", fail)
        bench.session.close()
        assert len(commands) > 2
    else:
        monkeypatch.setattr(bench.loop, "cycle_without_samples", fail)
        with pytest.raises(ValueError, match="odd"):
            bench.session.close()
    assert done == ["goodbye", "recording"]


def test_late_commands_are_the_reported_cause(make):
    """Drives that brake meanwhile would end control later, for another reason."""
    bench = make()
    bench.state()
    bench.session.start()
    bench.session._output.timeout._sent_at -= 2.0 * PATIENCE_S
    bench.live_until(lambda: bench.loop.safety.state is State.FALLBACK)
    assert bench.loop.safety.cause.startswith("controller: no command was sent for ")
    bench.session.reset()
    bench.session.start()
    bench.live_until(lambda: bench.loop.safety.state is State.ACTIVE)


def test_a_refused_start_ends_runs_of_a_launcher(make):
    """The launcher is told by the exit status."""
    bench = make(autostart="always", output="never_written.npz")
    bench.arms.q = bench.arms.q + 0.2 * np.eye(14)[0]
    with pytest.raises(RefusedError, match="start refused: arm 'left' is"):
        bench.live_until(lambda: bench.loop.safety.law_runs)


def test_real_arms_of_unknown_drives_are_refused(make):
    """A start asks who they are."""
    bench = make(given=["drives_compensate_gravity"])
    bench.state()
    with pytest.raises(
        SafetyError, match="come from 'arms', no simulator; expected the parameters on_"
    ):
        bench.session.start()


def test_a_refused_phase_leaves_no_topics(ros):
    """They would stay when the node is configured again, and act for a loop that is gone."""
    node = ros.create_node("controller")
    inbox, before = Inbox(node), len([*node.publishers])
    values = VALUES | {"resume_phase": 3.0}
    told = Diagnostics(node, "test")
    with pytest.raises(ParameterError, match="because the scenario has no `task`"):
        ControlSession(node, inbox, told, SCENARIO, values, (), Reporter(), lambda: None)
    assert len([*node.publishers]) == before + 1  # the diagnostics
    assert not inbox._subscriptions
    node.destroy_node()


def test_destroy_removes_all_topics_of_the_node(make):
    """Topics are there while it is configured, and no longer."""
    bench = make(guard="wanted")
    topics = {
        name for name, _ in bench.node.get_publisher_names_and_types_by_node("controller", "/")
    }
    assert {"/left/commands", "/right/commands", "/object/odometry", "/heartbeat"} <= topics
    bench.session.destroy()
    wait_until(lambda: not bench.arms._joints.get_subscription_count())
    topics = {
        name for name, _ in bench.node.get_publisher_names_and_types_by_node("controller", "/")
    }
    assert not {"/left/commands", "/object/odometry", "/heartbeat"} & topics
