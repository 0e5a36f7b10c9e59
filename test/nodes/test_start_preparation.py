# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The way to a start: conditions first, then the check of the path in another thread."""

from __future__ import annotations

import sys
import threading
import time

import pytest
from waiting import PATIENCE_S, wait_until

pytest.importorskip("rclpy", reason="the nodes' modules are not importable without ROS 2")

from robot_dynamics.control.faults import SafetyError
from robot_dynamics.control.preflight import PreflightError, Problem
from robot_dynamics.nodes import start_preparation
from robot_dynamics.nodes.check_thread import CheckThread, NotYetError
from robot_dynamics.nodes.heartbeat import GuardError
from robot_dynamics.nodes.start_preparation import SlowCheckError, StartPreparation


@pytest.fixture(autouse=True)
def _patience(monkeypatch):
    """Wait for what passes as long as a busy machine may take."""
    for name in ("PATIENCE_S", "SETTLE_S"):
        monkeypatch.setattr(start_preparation, name, PATIENCE_S)


class Loop:
    """A loop that refuses what it is told to refuse."""

    def __init__(self):
        self.refusals, self.checks, self.error = [], threading.Event(), None
        self.threads = []

    def require_startable(self):
        """Refuse the next thing."""
        if self.refusals:
            raise self.refusals[0]

    def require_samples(self, now):
        """Have samples."""

    def forget_pause(self, now):
        """Have no pause."""

    def prepare(self, now):
        """Return a check that takes as long as it is told to."""

        def check():
            self.threads.append(threading.current_thread())
            assert self.checks.wait(PATIENCE_S)
            if self.error is not None:
                raise self.error

        return check


def prepare(loop, conditions=lambda: None, meanwhile=None, limit_s=PATIENCE_S, thread=None):
    """Return a preparation with a thread of its own."""
    thread = thread or CheckThread()
    return StartPreparation(loop, conditions, lambda: 0, thread, limit_s, meanwhile)


def test_the_check_is_done_elsewhere():
    """Looks return at once, until it is over."""
    loop = Loop()
    preparation = prepare(loop)
    assert not any(preparation.look() for _ in range(20))
    loop.checks.set()
    preparation.finish(lambda: None)
    assert preparation.look()
    assert loop.threads[0] is not threading.current_thread()


def test_simulated_time_waits_for_the_check():
    """A look returns when it is over, and beats go on meanwhile."""
    loop, beats = Loop(), []

    def beat():
        beats.append(1)
        if len(beats) == 3:
            loop.checks.set()

    preparation = prepare(loop, meanwhile=beat)
    assert preparation.look()
    assert len(beats) >= 3


def test_what_it_finds_is_raised():
    """And nothing is prepared then."""
    loop = Loop()
    loop.error = PreflightError([Problem(1.0, "joint", "too far.")])
    loop.checks.set()
    preparation = prepare(loop)
    with pytest.raises(PreflightError, match="too far"):
        preparation.finish(lambda: None)
    assert not preparation.done


def test_conditions_may_come_about():
    """They are waited for, but not for ever, and not at all where nothing can change."""
    missing = [NotYetError("start refused: no names.")]

    def conditions():
        if missing:
            raise missing[0]

    loop = Loop()
    loop.checks.set()
    preparation = prepare(loop, conditions)
    assert not preparation.look()
    with pytest.raises(NotYetError, match=r"^start refused: no names\.$"):
        preparation.finish(lambda: None)
    preparation._asked_at -= PATIENCE_S
    with pytest.raises(NotYetError, match=r"no names\. It was waited for \d+ s\.$"):
        preparation.look()
    missing.clear()
    preparation.finish(lambda: None)


def test_messages_that_are_on_their_way():
    """Those of a guard that hands back: a second is enough, and its own words are told."""
    loop = Loop()
    loop.refusals.append(GuardError("start refused: the guard is in charge."))
    preparation = prepare(loop)
    assert not preparation.look()
    preparation._asked_at -= PATIENCE_S
    with pytest.raises(GuardError, match=r"in charge\.$"):
        preparation.look()


def test_a_latched_fault_is_told_at_once():
    """Also while the path is checked."""
    loop = Loop()
    preparation = prepare(loop)
    assert not preparation.look()
    loop.refusals.append(SafetyError("start refused: stopped; expected inactive."))
    with pytest.raises(SafetyError, match="expected inactive"):
        preparation.look()
    loop.checks.set()


@pytest.mark.parametrize("beat", [None, lambda: None], ids=["looks", "simulated time waits"])
def test_a_check_that_does_not_end(beat):
    """The start is refused in a sentence; the next one waits until the check is over."""
    loop, thread = Loop(), CheckThread()
    preparation = prepare(loop, meanwhile=beat, limit_s=0.05, thread=thread)
    sentence = r"^start refused: the check of the path was not over after 0\.05 s; expected a sho"
    with pytest.raises(SlowCheckError, match=sentence):
        any(preparation.look() for _ in range(1000))
    again = prepare(loop, thread=thread)
    assert not again.look()
    with pytest.raises(NotYetError, match="an earlier start is still checked"):
        again.finish(lambda: None)
    loop.checks.set()
    thread.close(PATIENCE_S)
    again.finish(lambda: None)
    assert again.done


def test_the_check_comes_to_an_end_beside_a_loop_that_never_rests():
    """Every look gives its thread some time, also where Python would take none from the loop."""
    loop, rounds = Loop(), 50

    def check():
        for _ in range(rounds):
            time.sleep(0.0)  # whoever wants Python has it now

    loop.prepare = lambda now: check
    preparation = prepare(loop)

    def never_rest():
        until = time.perf_counter() + 1e-3
        while time.perf_counter() < until:
            pass

    before = sys.getswitchinterval()
    sys.setswitchinterval(10.0 * PATIENCE_S)
    try:
        wait_until(preparation.look, never_rest)
    finally:
        sys.setswitchinterval(before)
