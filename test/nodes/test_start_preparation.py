# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The way to a start: conditions first, then the check of the path in another thread."""

from __future__ import annotations

import sys
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from waiting import PATIENCE_S, wait_until

pytest.importorskip("rclpy", reason="the nodes' modules are not importable without ROS 2")

from robot_dynamics.app.scenarios.laws import control_loop
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.control.clock import LockstepClock, WallClock
from robot_dynamics.control.faults import SafetyError
from robot_dynamics.control.gains import largest_sample_age
from robot_dynamics.control.path_check import PathProblem, PreflightError
from robot_dynamics.nodes import start_preparation
from robot_dynamics.nodes.heartbeat import GuardError
from robot_dynamics.nodes.start_preparation import (
    CheckThread,
    NotYetError,
    SlowCheckError,
    StartConditions,
    StartPreparation,
)


@pytest.fixture(autouse=True)
def _patience(monkeypatch):
    """Wait for an event as long as a busy machine may take."""
    for name in ("PATIENCE_S", "SETTLE_S"):
        monkeypatch.setattr(start_preparation, name, PATIENCE_S)


class Loop:
    """A loop with prescribed refusals."""

    def __init__(self):
        self.refusals, self.checks, self.error = [], threading.Event(), None
        self.threads, self.begun = [], 0
        self.clock = LockstepClock(0.002)

    def require_startable(self, way):
        """Refuse the next thing."""
        if self.refusals:
            raise self.refusals[0]

    def require_samples(self, now):
        """Have samples."""

    def forget_pause(self, now):
        """Have no pause."""

    def prepare(self, now, way="start"):
        """Return a check that takes as long as it is told to."""
        self.begun += 1

        def check():
            self.threads.append(threading.current_thread())
            assert self.checks.wait(PATIENCE_S)
            if self.error is not None:
                raise self.error

        return check


def prepare(loop, conditions=lambda: None, meanwhile=None, limit_s=PATIENCE_S, thread=None):
    """Return a preparation with a thread of its own."""
    thread = thread or CheckThread()
    return StartPreparation(loop, conditions, thread, limit_s, meanwhile)


def test_the_path_is_checked_in_another_thread():
    """Looks return at once, until it is over."""
    loop = Loop()
    preparation = prepare(loop)
    assert not any(preparation.poll() for _ in range(20))
    loop.checks.set()
    preparation.finish(lambda: None)
    assert preparation.poll()
    assert loop.threads[0] is not threading.current_thread()


def test_simulated_time_waits_for_the_check():
    """A look returns when it is over, and beats go on meanwhile."""
    loop, beats = Loop(), []

    def beat():
        beats.append(1)
        if len(beats) == 3:
            loop.checks.set()

    preparation = prepare(loop, meanwhile=beat)
    assert preparation.poll()
    assert len(beats) >= 3


def test_errors_of_the_path_check_are_raised():
    """And nothing is prepared then."""
    loop = Loop()
    loop.error = PreflightError([PathProblem(1.0, "joint", "too far.")])
    loop.checks.set()
    preparation = prepare(loop)
    with pytest.raises(PreflightError, match="too far"):
        preparation.finish(lambda: None)
    assert not preparation.done


def test_conditions_are_waited_for():
    """They are waited for, but not for ever, and not at all where nothing can change."""
    missing = [NotYetError("start refused: no names.")]

    def conditions():
        if missing:
            raise missing[0]

    loop = Loop()
    loop.checks.set()
    preparation = prepare(loop, conditions)
    assert not preparation.poll()
    with pytest.raises(NotYetError, match=r"^start refused: no names\.$"):
        preparation.finish(lambda: None)
    preparation._asked_at -= PATIENCE_S
    with pytest.raises(NotYetError, match=r"no names\. The start waited for \d+ s\.$"):
        preparation.poll()
    missing.clear()
    preparation.finish(lambda: None)


def test_messages_in_transit_are_waited_for():
    """Those of a guard that hands back: a second is enough, and its own words are told."""
    loop = Loop()
    loop.refusals.append(GuardError("start refused: the guard is in charge."))
    preparation = prepare(loop)
    assert not preparation.poll()
    preparation._asked_at -= PATIENCE_S
    with pytest.raises(GuardError, match=r"in charge\.$"):
        preparation.poll()


def test_a_latched_fault_refuses_at_once():
    """Also while the path is checked."""
    loop = Loop()
    preparation = prepare(loop)
    assert not preparation.poll()
    loop.refusals.append(SafetyError("start refused: stopped; expected inactive."))
    with pytest.raises(SafetyError, match="expected inactive"):
        preparation.poll()
    loop.checks.set()


@pytest.mark.parametrize(
    ("beat", "sentence"),
    [
        (None, r"(0\.5 s|0\.05 s of processor time); expected less"),
        (lambda: None, r"(0\.5 s|0\.05 s of processor time); expected less"),
        (lambda: sum(range(10**6)), r"0\.05 s of processor time; .* reference"),
    ],
    ids=["looks", "simulated time waits", "busy"],
)
def test_a_path_check_that_takes_too_long(beat, sentence, monkeypatch):
    """The start is refused in a sentence; the next one waits until the check is over."""
    loop, thread = Loop(), CheckThread()
    preparation = prepare(loop, meanwhile=beat, limit_s=0.05, thread=thread)
    if "reference" in sentence:  # by the clock it may take as long as a busy machine does
        monkeypatch.setattr(start_preparation, "_LEAST_SHARE", 0.05 / PATIENCE_S)
    sentence = rf"^start refused: the path check takes more than {sentence}"
    with pytest.raises(SlowCheckError, match=sentence):
        any(preparation.poll() for _ in range(1000))
    again = prepare(loop, thread=thread)
    began = loop.begun
    assert not again.poll()
    with pytest.raises(NotYetError, match="an earlier start still runs"):
        again.finish(lambda: None)
    assert loop.begun == began  # the law is left alone
    loop.checks.set()
    thread.close(PATIENCE_S)
    again.finish(lambda: None)
    assert again.done


def test_the_path_check_makes_progress_while_the_loop_is_busy():
    """Every look gives its thread some time, also where Python would take none from the loop."""
    loop, rounds = Loop(), 50

    def check():
        for _ in range(rounds):
            time.sleep(0.0)  # whoever wants Python has it now

    loop.prepare = lambda now, way: check
    preparation = prepare(loop)

    def never_rest():
        until = time.perf_counter() + 1e-3
        while time.perf_counter() < until:
            pass

    before = sys.getswitchinterval()
    sys.setswitchinterval(10.0 * PATIENCE_S)
    try:
        wait_until(preparation.poll, never_rest)
    finally:
        sys.setswitchinterval(before)


# -- conditions around the controller


class World:
    """A guard, other command publishers, drives and samples that are as they are told to be."""

    def __init__(self, clock=WallClock):
        self.guard = self.slow = ""
        self.other_publishers_known = self.drives_known = self.rates_known = True
        self.received_at = time.monotonic() + 1.0
        loop = SimpleNamespace(joint_states=self, clock=clock(0.002), law=None)
        self.conditions = StartConditions(
            None,
            loop,
            self,
            self,
            self,
            ["states"],
            lambda: self.received_at,
        )

    def require_guard(self):
        """Be its line to a guard."""
        if self.guard:
            raise GuardError(self.guard)

    @property
    def refusal(self):
        """Be its line to a guard."""
        return self.guard

    def require_none(self):
        """Be its other command publishers."""
        return self.other_publishers_known

    def require_known(self, node, topics):
        """Be the known facts of drives."""
        return self.drives_known

    @property
    def rate_warning(self):
        """Be its samples."""
        return self.slow


def test_all_conditions_are_met():
    """Known, and with a state that is newer than the wish."""
    World().conditions.require_known(time.monotonic())


@pytest.mark.parametrize("what", ["other_publishers_known", "drives_known", "rates_known"])
def test_conditions_that_cannot_be_checked_yet(what):
    """It is waited for, except where simulated time waits for everything."""
    world = World()
    setattr(world, what, False)
    assert not world.conditions.require()
    with pytest.raises(NotYetError, match="not known yet"):
        world.conditions.require_known(time.monotonic())
    patient = World(LockstepClock)
    setattr(patient, what, False)
    assert patient.conditions.require()


def test_violated_conditions_are_refused():
    """Guards and rates are refused in their own words."""
    world = World()
    world.slow = "arm 'left' is slow."
    with pytest.raises(NotYetError, match="start refused: arm 'left' is slow"):
        world.conditions.require()
    world.guard = "the guard is in charge."
    with pytest.raises(GuardError, match="the guard is in charge"):
        world.conditions.require()
    assert world.conditions.guard_refusal() == "the guard is in charge."
    world.guard = ""
    assert world.conditions.guard_refusal() == ""


@pytest.mark.parametrize("bandwidth", [40.0, 80.0])
def test_samples_that_are_too_old_for_the_gains(bandwidth):
    """An age that is just below the largest of a bandwidth passes, and just above is refused."""
    scenario = load_scenario("lift_box", [f"control.object.bandwidth={bandwidth}"])
    servo, largest = largest_sample_age(scenario.control)
    loop = control_loop(scenario, clock=WallClock(scenario.control.period))
    world, states = World(), loop.joint_states
    loop.clock.stamp_seconds = lambda now: 1e9 + 1e-9 * now  # exact on a busy machine too
    world.conditions._loop = SimpleNamespace(joint_states=world, clock=loop.clock, law=loop.law)
    world.age_warning = states.age_warning
    for age, refused in ((0.99 * largest, False), (1.01 * largest, True), (2.0, False)):
        states._ages.clear()
        now = loop.clock.now()
        for name, arm in states.arms.items():
            arm.watch.forget()
            zeros = np.zeros(len(arm.joints))
            stamp = round(1e9 * (loop.clock.stamp_seconds(now) - age))
            states.take(name, stamp, list(arm.joints), zeros, zeros, now)
        states.use(now)
        if not refused:
            assert world.conditions.require()
            continue
        with pytest.raises(NotYetError) as caught:
            world.conditions.require()
        assert f"are {1e3 * age:.3g} ms old" in str(caught.value)
        assert f"at most {1e3 * largest:.3g} ms with the gains of control.{servo}:" in str(
            caught.value
        )
    world.age_warning, world.rates_known = lambda limit: "old", False
    assert not world.conditions.require()  # half a second is not over
    slower = scenario.changed([f"control.object.bandwidth={0.5 * bandwidth}"])
    loop.law.retune(slower.control)  # the gains that the start will use count
    assert largest_sample_age(loop.law.requested_settings)[1] > 1.5 * largest


def test_a_state_newer_than_the_request_is_waited_for():
    """A simulator that was reset is elsewhere; in lockstep time may stand still."""
    world = World()
    now = time.monotonic()
    world.received_at = now - 1.0
    with pytest.raises(NotYetError, match="no joint states since the request"):
        world.conditions.require_known(now + 60.0)
    world.conditions.require_known(now - 0.5)


# -- the thread of the check


def test_outcomes_of_a_check():
    """A check's error is raised in the thread that asks for it."""
    thread = CheckThread()
    thread.submit(lambda: None).result(PATIENCE_S)

    def check():
        raise ValueError("found")

    with pytest.raises(ValueError, match="found"):
        thread.submit(check).result(PATIENCE_S)
    thread.close(0.0)


def test_a_second_check_is_refused_while_one_runs():
    """Nothing waits for it for ever, not even the process; another one has to."""
    thread, begun, over = CheckThread(), threading.Event(), threading.Event()
    thread.close(PATIENCE_S)  # none has begun

    def check():
        begun.set()
        over.wait(PATIENCE_S)

    outcome = thread.submit(check)
    assert begun.wait(PATIENCE_S)
    thread.close(0.01)
    assert not outcome.done()
    assert all(t.daemon for t in threading.enumerate() if t.name == "start check")
    with pytest.raises(NotYetError, match="an earlier start still runs"):
        thread.require_idle()
    over.set()
    outcome.result(PATIENCE_S)
    thread.submit(lambda: None).result(PATIENCE_S)
