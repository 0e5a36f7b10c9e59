# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Controller and guard agree who commands the arms, whatever process sleeps or dies."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("rclpy", reason="the nodes' modules are not importable without ROS 2")

from std_msgs.msg import UInt64MultiArray
from support.control_loops import sampled_loop
from waiting import wait_until

from robot_dynamics.app.recordings import topic_names as topics
from robot_dynamics.app.scenarios.cell import true_system
from robot_dynamics.app.scenarios.plant import make_plant
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.control.faults import State
from robot_dynamics.nodes.conversions import NumberWriter
from robot_dynamics.nodes.heartbeat import (
    REPORT_S,
    Beat,
    CommandAuthority,
    GuardError,
    GuardLink,
    GuardReport,
    GuardState,
    HeartbeatMonitor,
    OtherGuard,
)
from robot_dynamics.nodes.topics import STREAM, Inbox

TIMEOUT, PERIOD = 0.1, 0.002


FIRST, SECOND = 7, 2**63  # senders


def beat_at(now, *, sender=FIRST, commanding=True, ready=True, ends=False):
    """Return a beat sent at a time [s]."""
    return Beat(round(now * 1e9), sender, commanding, ready, held=True, ends=ends)


def goodbye_at(now, *, sender=FIRST):
    """Return the last beat of a controller."""
    return beat_at(now, sender=sender, commanding=False, ready=False, ends=True)


def look_until(watch, begin, end):
    """Look once a period; return when the guard took over, None if it did not."""
    for now in np.arange(begin, end, PERIOD):
        if watch.check(now):
            return now
    return None


@pytest.fixture
def watch():
    """Return a guard's watch that has heard a controller command at 10 s."""
    watch = HeartbeatMonitor(TIMEOUT)
    look_until(watch, 9.0, 10.0)
    watch.receive(beat_at(10.0), 10.0)
    return watch


def test_it_takes_over_within_a_period_of_the_timeout(watch):
    """And once; the silence is told."""
    taken = look_until(watch, 10.0, 11.0)
    assert TIMEOUT < taken - 10.0 <= TIMEOUT + PERIOD + 1e-9
    assert watch.state is GuardState.IN_CHARGE
    assert (watch.missing, watch.silence) == ("heartbeat", pytest.approx(taken - 10.0))
    assert look_until(watch, 11.0, 12.0) is None


def test_beats_in_time_keep_it_watching(watch):
    """Whatever their numbers are: a controller may be started again."""
    for now in np.arange(10.0, 12.0, 0.9 * TIMEOUT):
        watch.receive(beat_at(now - 9.0), now)
        assert look_until(watch, now, now + 0.9 * TIMEOUT) is None


def test_a_goodbye_is_acted_on_in_the_next_period(watch):
    """Once; until then the guard watches, and afterwards another controller may get the arms."""
    watch.receive(goodbye_at(10.03), 10.03)
    assert watch.state is GuardState.WATCHING
    assert watch.check(10.032)
    assert watch.state is GuardState.IN_CHARGE
    assert (watch.missing, watch.silence) == ("controller", pytest.approx(0.002))
    assert look_until(watch, 10.034, 12.0) is None
    with pytest.raises(GuardError, match="expected a running controller"):
        watch.reset(10.04)  # well within the timeout
    watch.receive(beat_at(12.0, sender=SECOND, commanding=False), 12.0)
    watch.reset(12.01)
    assert watch.receive(beat_at(12.02, sender=SECOND), 12.02)
    assert watch.state is GuardState.WATCHING


def test_goodbyes_that_move_no_arms():
    """Of a controller that never commanded, of another one, and a second one in charge."""
    watch = HeartbeatMonitor(TIMEOUT)
    look_until(watch, 9.0, 10.0)
    watch.receive(goodbye_at(10.0), 10.0)
    assert look_until(watch, 10.0, 11.0) is None
    watch.receive(beat_at(11.0), 11.0)
    watch.receive(goodbye_at(11.01, sender=SECOND), 11.01)
    assert not watch.check(11.012)
    watch.receive(goodbye_at(11.02), 11.02)
    assert watch.check(11.022)
    watch.receive(goodbye_at(11.03), 11.03)
    assert not watch.check(11.032)
    assert watch.conflicts == 0


def test_a_goodbye_hands_nothing_back(watch):
    """While the guard waits for a command of the controller it goes on instead."""
    look_until(watch, 10.0, 11.0)
    watch.receive(beat_at(11.0, commanding=False), 11.0)
    watch.reset(11.0)
    assert not watch.receive(goodbye_at(11.01), 11.01)
    assert watch.check(11.012)
    assert watch.state is GuardState.IN_CHARGE


COMMAND_TIMEOUT = 0.5


def beats_come(watch, begin, end, *, commanding=True, commands=False):
    """Send heartbeats every period, with or without commands; return the takeover's time."""
    for now in np.arange(begin, end, PERIOD):
        watch.receive(beat_at(now, commanding=commanding), now)
        if commands:
            watch.commanded(now)
        if watch.check(now):
            return now
    return None


def test_a_controller_that_beats_and_sends_no_commands_is_lost():
    """Counted from the last command, or from the heartbeat that announced the first."""
    watch = HeartbeatMonitor(TIMEOUT, COMMAND_TIMEOUT)
    assert beats_come(watch, 9.0, 11.0, commanding=False) is None
    taken = beats_come(watch, 11.0, 13.0)
    assert COMMAND_TIMEOUT < taken - 11.0 <= COMMAND_TIMEOUT + PERIOD + 1e-9
    watch = HeartbeatMonitor(TIMEOUT, COMMAND_TIMEOUT)
    assert beats_come(watch, 10.0, 12.0, commands=True) is None
    taken = beats_come(watch, 12.0, 13.0)
    assert COMMAND_TIMEOUT < taken - 12.0 + PERIOD <= COMMAND_TIMEOUT + PERIOD + 1e-9
    assert (watch.state, watch.missing) == (GuardState.IN_CHARGE, "command")
    assert watch.silence == pytest.approx(taken - 12.0 + PERIOD)


def test_arms_that_rely_on_no_commands_need_none():
    """As those that are left to their drives; without a timeout commands are not looked for."""
    watch = HeartbeatMonitor(TIMEOUT, COMMAND_TIMEOUT)
    assert beats_come(watch, 10.0, 11.0, commands=True) is None
    assert beats_come(watch, 11.0, 13.0, commanding=False) is None
    assert beats_come(HeartbeatMonitor(TIMEOUT), 10.0, 13.0) is None


def test_after_handing_back_commands_are_waited_for_anew():
    """And the guard takes over again if they do not come."""
    watch = HeartbeatMonitor(TIMEOUT, COMMAND_TIMEOUT)
    beats_come(watch, 10.0, 11.0)
    assert beats_come(watch, 11.0, 12.0, commanding=False) is None
    watch.reset(12.0)
    taken = beats_come(watch, 12.0, 13.0)
    assert COMMAND_TIMEOUT < taken - 12.0 <= COMMAND_TIMEOUT + PERIOD + 1e-9


def test_a_guard_that_was_suspended_waits_for_commands_again():
    """They may not have been read yet."""
    watch = HeartbeatMonitor(TIMEOUT, COMMAND_TIMEOUT)
    beats_come(watch, 10.0, 11.0, commands=True)
    assert beats_come(watch, 12.0, 13.0) - 12.0 > COMMAND_TIMEOUT


def test_nothing_to_command_is_nothing_to_take_over():
    """A controller that ends before its first start leaves arms on brakes."""
    watch = HeartbeatMonitor(TIMEOUT)
    assert look_until(watch, 0.0, 2.0) is None
    watch.receive(beat_at(2.0, commanding=False), 2.0)
    assert look_until(watch, 2.0, 4.0) is None


def test_a_guard_that_slept_does_not_judge(watch):
    """It grants a whole timeout from when it is awake; then it acts."""
    assert not watch.check(11.0)
    taken = look_until(watch, 11.0, 12.0)
    assert TIMEOUT < taken - 11.0 <= TIMEOUT + 2 * PERIOD


def test_it_hands_back_to_a_controller_that_commands(watch):
    """Only after a reset, which needs a live controller without a latched fault."""
    with pytest.raises(GuardError, match="is watching; expected it in charge"):
        watch.reset(10.0)
    now = look_until(watch, 10.0, 11.0)
    with pytest.raises(GuardError, match="no heartbeat for"):
        watch.reset(now)
    assert not watch.receive(beat_at(now), now)  # woken, and not aware of it yet
    assert (watch.state, watch.conflicts) == (GuardState.IN_CHARGE, 1)
    watch.receive(beat_at(now, commanding=False, ready=False), now)
    with pytest.raises(GuardError, match="a fault is latched in the controller"):
        watch.reset(now)
    watch.receive(beat_at(now, commanding=False), now)
    watch.reset(now)
    assert watch.state is GuardState.HANDING_BACK
    assert not watch.receive(beat_at(now, commanding=False), now)
    assert watch.receive(beat_at(now), now)
    assert watch.state is GuardState.WATCHING


def test_a_second_death_while_handing_back_is_one_more(watch):
    """Between reset and first command the guard is in charge and still watches."""
    now = look_until(watch, 10.0, 11.0)
    watch.receive(beat_at(now, commanding=False), now)
    watch.reset(now)
    assert look_until(watch, now, now + 1.0) is not None
    assert watch.state is GuardState.IN_CHARGE


def listen(watch, begin, end, *beats):
    """Look once a period while beats come; return when the guard took over, None if it did not."""
    for now in np.arange(begin, end, PERIOD):
        for options in beats:
            watch.receive(beat_at(now, **options), now)
        if watch.check(now):
            return now
    return None


IDLE = {"sender": SECOND, "commanding": False}


def test_an_idle_controller_keeps_no_arms_up(watch):
    """The silence of the one that commands counts, whatever another one says meanwhile."""
    assert listen(watch, 10.0, 10.5, IDLE, {}) is None
    taken = listen(watch, 10.5, 11.0, IDLE)
    assert TIMEOUT < taken - 10.5 <= TIMEOUT + 2 * PERIOD
    assert watch.sender == FIRST
    assert watch.conflicts == 0


def test_one_that_waited_before_the_first_command_is_not_relied_on():
    """The order in which they appear does not matter."""
    watch = HeartbeatMonitor(TIMEOUT)
    assert listen(watch, 9.0, 10.0, IDLE) is None
    assert watch.sender == 0
    assert listen(watch, 10.0, 10.5, {}, IDLE) is None
    assert listen(watch, 10.5, 11.0, IDLE) is not None


def test_the_arms_go_to_another_controller_after_a_reset(watch):
    """The one that waits gets them when it commands; from then on its silence counts."""
    now = listen(watch, 10.0, 11.0, IDLE)
    assert listen(watch, now, 11.0, IDLE) is None
    watch.reset(11.0)
    assert watch.state is GuardState.HANDING_BACK
    assert listen(watch, 11.0, 12.0, IDLE) is None  # it may take its time
    assert watch.receive(beat_at(12.0, sender=SECOND), 12.0)
    assert (watch.state, watch.sender) == (GuardState.WATCHING, SECOND)
    # The first one, if it lives again, keeps nothing up either.
    assert listen(watch, 12.0, 13.0, {"commanding": False}) == pytest.approx(
        12.0 + TIMEOUT, abs=2 * PERIOD
    )


def test_one_that_lives_with_a_fault_is_not_passed_over(watch):
    """While the one that the arms relied on lives, a reset needs its own."""
    now = look_until(watch, 10.0, 11.0)
    faulty = {"commanding": False, "ready": False}
    listen(watch, now, now + 0.5, faulty, IDLE)
    with pytest.raises(GuardError, match="a fault is latched"):
        watch.reset(now + 0.5)


def test_a_second_one_that_commands_is_told(watch):
    """It neither gets the arms nor hides the silence of the first."""
    other_publisher = {"sender": SECOND}
    assert not watch.has_conflict(10.0)
    assert listen(watch, 10.0, 10.5, {}, other_publisher) is None
    assert watch.has_conflict(10.5)
    assert watch.conflicts > 100
    assert watch.sender == FIRST
    assert listen(watch, 10.5, 11.0, other_publisher) is not None


def report(heard, state=GuardState.WATCHING, able=True, sender=0):
    """Return a guard's report."""
    return GuardReport(heard, sender, state, able)


def test_a_controller_is_silent_while_the_guard_relies_on_another():
    """As one that was stopped while its arms were given to another controller.

    An answer to the other one's beats is none to its own.
    """
    custody, other = CommandAuthority(TIMEOUT), CommandAuthority(TIMEOUT).sender
    beating(custody, 10.0)
    custody.receive(report(1, sender=custody.sender), 10.0)
    assert beating(custody, 10.05)[0]
    assert not beating(custody, 11.0)[0]
    for now in np.arange(11.0, 13.0, 0.02):
        custody.receive(report(round(now * 1e9) + 1, sender=other), now)
        assert not beating(custody, now)[0]
        assert custody.lost_to(now) == "another controller"
    # A guard that cannot take over may rely on one that is long gone.
    custody.receive(report(1, sender=other, able=False), 13.0)
    assert beating(custody, 13.0)[0]


def beating(custody, now):
    """Ask and beat as a controller does before and after a command; return whether it may."""
    taken = custody.is_lost(now)
    beat = custody.next_beat(now, commanding=not taken, ready=True, held=True)
    return not taken, beat


def test_a_controller_that_slept_waits_for_an_answer_to_a_new_beat():
    """A report from before its sleep that says all is well proves nothing."""
    custody = CommandAuthority(TIMEOUT)
    _, old = beating(custody, 10.0)
    custody.receive(report(old.number), 10.0)
    assert beating(custody, 10.05)[0]
    may, new = beating(custody, 11.0)
    assert not may
    assert custody.suspended_s == pytest.approx(0.95)
    custody.receive(report(old.number), 11.001)  # was on its way when it fell asleep
    assert not beating(custody, 11.002)[0]
    custody.receive(report(new.number, GuardState.IN_CHARGE), 11.01)
    assert not beating(custody, 11.012)[0]
    assert custody.suspended_s == pytest.approx(0.95)
    custody.receive(report(new.number, GuardState.HANDING_BACK), 11.02)
    assert beating(custody, 11.022)[0]


def test_a_short_sleep_that_the_guard_did_not_notice():
    """Control goes on once the guard has said that it still watches."""
    custody = CommandAuthority(TIMEOUT)
    beating(custody, 10.0)
    custody.receive(report(1), 10.0)
    may, new = beating(custody, 10.0 + 1.01 * TIMEOUT)
    assert not may
    custody.receive(report(1), 10.11)  # was on its way
    assert custody.suspended_s == pytest.approx(1.01 * TIMEOUT)
    custody.receive(report(new.number), 10.15)
    assert beating(custody, 10.16)[0]
    assert custody.suspended_s == 0.0  # no cause of what comes later


def test_a_guard_that_does_not_answer_is_no_guard():
    """Somebody has to hold the arms up: the controller goes on after a while."""
    custody = CommandAuthority(TIMEOUT)
    beating(custody, 10.0)
    custody.receive(report(1, GuardState.IN_CHARGE), 10.0)
    assert not beating(custody, 10.05)[0]
    assert custody.guard_is_there(10.05)
    may = [beating(custody, now)[0] for now in np.arange(10.05, 12.0, 0.01)]
    assert may.index(True) == pytest.approx((REPORT_S - 0.05) / 0.01, abs=2)
    assert all(may[may.index(True) :])
    assert not custody.guard_is_there(12.0)


def test_without_any_guard_nothing_is_asked():
    """A controller that has never heard of one is alone, whatever it slept."""
    custody = CommandAuthority(TIMEOUT)
    beating(custody, 10.0)
    assert beating(custody, 20.0)[0]
    assert not custody.guard_is_there(20.0)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 2**64 - 1), max_size=7) | st.lists(st.integers(0, 3), max_size=7))
def test_numbers_from_anywhere(values):
    """A message is valid or ignored; it never raises."""
    beat, said = Beat.of(values), GuardReport.of(values)
    assert beat is None or [int(value) for value in beat] == values
    assert said is None or [int(value) for value in said] == values


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_both_never_command_for_longer_than_messages_take(data):
    """Whatever sleeps, and when: a simulation of both sides, messages one step late.

    Each side is stopped for random times, and a process that wakes up reads nothing for the first
    ten steps, because its receiver was stopped as well. Overlap is counted in steps
    in which both publish: after the guard is in charge, the controller may go on for as long as
    the news is on its way, two steps, and likewise when the arms are handed back.
    """
    custody, watch = CommandAuthority(TIMEOUT), HeartbeatMonitor(TIMEOUT)
    sleeps = data.draw(
        st.lists(st.tuples(st.integers(100, 900), st.integers(1, 200), st.booleans()), max_size=4)
    )
    to_guard, to_controller = [], []
    overlap = longest = 0
    deaf = 0
    for step in range(1200):
        now = 100.0 + step * PERIOD
        awake = [
            not any(a <= step < a + n and who == side for a, n, who in sleeps)
            for side in (True, False)
        ]
        commands = False
        deaf = max(0, deaf - 1) if awake[0] else 10
        if awake[0]:
            if not deaf:
                for message in to_controller:
                    custody.receive(message, now)
                to_controller.clear()
            commands, beat = beating(custody, now)
        # What is sent now arrives in the next step.
        arriving, to_guard[:] = list(to_guard), []
        if awake[0]:
            to_guard.append(beat)
        guards = False
        if awake[1]:
            for message in arriving:
                watch.receive(message, now)
            watch.check(now)
            guards = watch.state is not GuardState.WATCHING
            heard = watch.beat.number if watch.beat else 0
            to_controller.append(report(heard, watch.state, sender=watch.sender))
        else:
            to_guard[:0] = arriving
        overlap = overlap + 1 if commands and guards else 0
        longest = max(longest, overlap)
    assert longest <= 3


SCENARIO = load_scenario("lift_box")


class Line:
    """A link, the loop behind it, and a guard with prescribed messages."""

    def __init__(self, ros):
        self.node = ros.create_node("line")
        self.loop = sampled_loop(SCENARIO)
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
        """Start control on a plant's measurement at rest."""
        seen = make_plant(SCENARIO, true_system(SCENARIO)).reset()
        for arm, wrench in zip(self.loop.wrenches, seen.wrenches, strict=True):
            self.loop.take_wrench(arm, 0, wrench, 0)
        names = list(self.loop.system.joint_names)
        self.loop.joint_states.take("joint_states", 0, names, seen.q, seen.qd, 0)
        self.loop.prepare(0)()
        self.loop.start(0, 0)

    def beat(self):
        """Send a beat and return it as it arrives."""
        self.link.beat(commanding=self.link.may_command(0))
        self.beats.clear()
        wait_until(lambda: self.beats, self.inbox.read)
        return self.beats[-1]

    def report(self, state, able=True, sender=0):
        """Make the guard report, and wait for the report."""
        writer = NumberWriter(GuardReport._fields)
        before = self.link._authority.report
        self.reports.publish(writer.fill(GuardReport(0, sender, state, able)))
        wait_until(lambda: self.link._authority.report is not before, self.inbox.read)


@pytest.fixture
def line(ros):
    """Return a link whose guard has not said anything yet."""
    line = Line(ros)
    yield line
    line.inbox.close()
    line.node.destroy_node()


def test_beats_say_where_the_controller_stands(line):
    """Nothing to command before the start, not ready after a stop; numbers grow.

    Arms that are all left to their drives rely on no commands.
    """
    first = line.beat()
    assert (first.commanding, first.ready, first.held) == (False, True, True)
    line.start()
    second = line.beat()
    assert (second.commanding, second.ready) == (True, True)
    assert second.number > first.number
    line.loop.safety.fallback.released = ("left",)
    assert line.beat().commanding
    line.loop.safety.fallback.released = ("left", "right")
    assert not line.beat().commanding
    line.loop.safety.fallback.released = ()
    line.loop.stop(0)
    assert not line.beat().ready


def test_the_last_beat_says_so(line):
    """With whether the object is held; it commands nothing, and cannot get the arms."""
    line.start()
    line.beats.clear()
    line.link.say_goodbye()
    wait_until(lambda: line.beats, line.inbox.read)
    assert line.beats[-1][2:] == (False, False, True, True)


def test_commands_are_accompanied_now_and_then(line):
    """By a beat that says something new at once, else by some in the time the guard waits."""
    line.start()
    line.link._interval = 60.0
    line.link.beat(commanding=True)
    sent = line.link._beat_at
    line.link.beat_with_command()
    assert line.link._beat_at == sent
    line.link._interval = 0.0
    line.link.beat_with_command()
    assert line.link._beat_at > sent
    line.link._interval = 60.0
    sent = line.link._beat_at
    line.loop.stop(0)
    line.link.beat_with_command()
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
    with pytest.raises(GuardError, match="guard is in charge"):
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
    line.report(GuardState.WATCHING, sender=line.link._authority.sender)
    assert line.link.may_command(0)
    line.report(GuardState.WATCHING, sender=1)
    assert not line.link.may_command(0)
    assert line.link.warning == "another controller is in charge"
    with pytest.raises(GuardError, match="another controller is in charge"):
        line.link.require_guard()


def test_a_guard_is_missed(line):
    """Before it has said anything, and while it could not take over."""
    with pytest.raises(GuardError, match=r"there is no guard, .* 0\.5 s"):
        line.link.require_guard()
    line.report(GuardState.WATCHING, able=False)
    assert line.link.warning.startswith("the guard is inactive or lacks joint states of an arm")
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
    assert line.link._authority.report is None
    assert line.link.may_command(0)


def test_another_guard_is_found_by_its_reports():
    """Within two seconds, whichever of both was there first; and not when it has gone."""
    guard, now = OtherGuard(), 0.0

    def let_pass(seconds, others):
        nonlocal now
        there = []
        for _ in range(round(seconds / 0.02)):
            now += 0.02
            guard.sent()
            for _ in range(1 + others):
                guard.received()
            there.append(guard.is_there(now))
        return there

    assert not any(let_pass(3.0, 0))
    assert all(let_pass(3.0, 1)[100:])
    assert not any(let_pass(3.0, 0)[100:])
