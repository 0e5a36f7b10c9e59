# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A controller's heartbeats over topics, and what it does about the reports of its guard."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from std_msgs.msg import UInt64MultiArray
from waiting import wait_until

from robot_dynamics.app import topic_names as topics
from robot_dynamics.app.run import make_plant
from robot_dynamics.app.scenario import load_scenario, true_system
from robot_dynamics.control.faults import State
from robot_dynamics.nodes.control_loop import ControlLoop
from robot_dynamics.nodes.conversions import NumberWriter
from robot_dynamics.nodes.heartbeat import Beat, GuardError, GuardLink, GuardReport, GuardState
from robot_dynamics.nodes.topics import STREAM, Inbox

SCENARIO = load_scenario("lift_box")


class Line:
    """A link, the loop behind it, and a guard that says what it is told to."""

    def __init__(self, ros):
        self.node = ros.create_node("line")
        self.loop = ControlLoop(SCENARIO, SCENARIO.control.period)
        self.inbox = Inbox(self.node)
        # A long timeout: what a controller that sleeps does is in test_heartbeat.py.
        self.link = GuardLink(self.node, self.inbox, self.loop, 60.0, required=True)
        self.beats = []
        self.inbox.subscribe(
            UInt64MultiArray,
            topics.HEARTBEAT,
            lambda m: self.beats.append(Beat.of(m.data)),
            STREAM,
            awaited=True,
        )
        self.reports = self.node.create_publisher(UInt64MultiArray, topics.GUARD, STREAM)
        ways = (self.reports, self.link._topic)
        wait_until(lambda: all(way.get_subscription_count() for way in ways))

    def start(self):
        """Start control on what a plant measures at rest."""
        seen = make_plant(SCENARIO, true_system(SCENARIO)).reset()
        for arm, wrench in zip(self.loop.wrenches, seen.wrenches, strict=True):
            self.loop.take_wrench(arm, 0, wrench, 0)
        names = list(self.loop.system.joint_names)
        self.loop.arms.take("joint_states", 0, names, seen.q, seen.qd, 0)
        self.loop.prepare(0)()
        self.loop.start(0, 0)

    def beat(self):
        """Send a beat and return it as it arrives."""
        self.link.beat(commanding=self.link.may_command(0))
        self.beats.clear()
        wait_until(lambda: self.beats, self.inbox.read)
        return self.beats[-1]

    def report(self, state, able=True, sender=0):
        """Let the guard report, and wait until it is heard."""
        writer = NumberWriter(GuardReport._fields)
        before = self.link._custody.report
        self.reports.publish(writer.fill(GuardReport(0, sender, state, able)))
        wait_until(lambda: self.link._custody.report is not before, self.inbox.read)


@pytest.fixture
def line(ros):
    """Return a link whose guard has not said anything yet."""
    line = Line(ros)
    yield line
    line.inbox.close()
    line.node.destroy_node()


def test_beats_say_where_the_controller_stands(line):
    """Nothing to command before the start, not ready after a stop; numbers grow."""
    first = line.beat()
    assert (first.commanding, first.ready, first.held) == (False, True, True)
    line.start()
    second = line.beat()
    assert (second.commanding, second.ready) == (True, True)
    assert second.number > first.number
    line.loop.stop(0)
    assert not line.beat().ready


def test_commands_are_accompanied_now_and_then(line):
    """By a beat that says something new at once, else by some in the time the guard waits."""
    line.start()
    line.link._every = 60.0
    line.link.beat(commanding=True)
    sent = line.link._beat_at
    line.link.accompany()
    assert line.link._beat_at == sent
    line.link._every = 0.0
    line.link.accompany()
    assert line.link._beat_at > sent
    line.link._every = 60.0
    sent = line.link._beat_at
    line.loop.stop(0)
    line.link.accompany()
    assert line.link._beat_at > sent


def test_a_guard_that_is_in_charge_silences_the_controller(line):
    """Once it is heard nothing may be sent, the fault is latched, and starts are refused."""
    line.start()
    line.report(GuardState.WATCHING)
    assert line.link.may_command(0)
    assert line.link.warning == ""
    line.report(GuardState.IN_CHARGE)
    assert not line.link.may_command(0)
    assert line.link.warning == "the guard is in charge"
    assert line.loop.safety.state is State.FALLBACK
    assert "the guard has taken over; expected a heartbeat" in line.loop.safety.cause
    with pytest.raises(GuardError, match="the guard is in charge; expected a reset of it"):
        line.link.require_guard()
    beat = line.beat()
    assert (beat.commanding, beat.ready) == (False, False)
    # A reset is not undone by the next report.
    line.loop.reset(0)
    line.report(GuardState.IN_CHARGE)
    assert not line.link.may_command(0)
    assert line.beat().ready
    line.report(GuardState.HANDING_BACK)
    assert line.beat().commanding
    line.link.require_guard()


def test_arms_that_rely_on_another_controller(line):
    """A second controller neither commands nor starts."""
    line.report(GuardState.WATCHING, sender=line.link._custody.sender)
    assert line.link.may_command(0)
    line.report(GuardState.WATCHING, sender=1)
    assert not line.link.may_command(0)
    assert line.link.warning == "another controller is in charge"
    with pytest.raises(
        GuardError, match="another controller is in charge; expected one controller"
    ):
        line.link.require_guard()


def test_a_guard_is_missed(line):
    """Before it has said anything, and while it could not take over."""
    with pytest.raises(GuardError, match="there is no guard; expected its reports"):
        line.link.require_guard()
    line.report(GuardState.WATCHING, able=False)
    assert line.link.warning == "the guard has not heard of every arm, and could not take over."
    line.report(GuardState.WATCHING)
    line.link.require_guard()


def test_messages_that_are_no_reports(line):
    """They are as if they had not come."""
    heard, count = [], line.reports.get_subscription_count()
    # Read after the link's own subscription.
    line.inbox.subscribe(UInt64MultiArray, topics.GUARD, heard.append, STREAM, awaited=False)
    wait_until(lambda: line.reports.get_subscription_count() > count)
    wrong = ([], [1, 2], [0, 0, 7, 1], [0, 0, 1, 9], [1] * 3)
    for numbers in wrong:
        line.reports.publish(NumberWriter(["x"] * len(numbers)).fill(numbers))
    wait_until(lambda: len(heard) == len(wrong), line.inbox.read)
    line.inbox.read()
    assert line.link._custody.report is None
    assert line.link.may_command(0)
