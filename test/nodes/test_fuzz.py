# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Messages, files and parameters that nobody would send: no crash, and no torque beyond limits."""

from __future__ import annotations

import math
import string
import time
import warnings

import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from support.control_loops import sampled_loop

from robot_dynamics.app.runs.run import simulate
from robot_dynamics.app.scenarios.cell import true_system
from robot_dynamics.app.scenarios.plant import make_plant
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.control.clock import LockstepClock, WallClock
from robot_dynamics.errors import RobotDynamicsError

SCENARIO = load_scenario("lift_box")
PERIOD = SCENARIO.control.period
LONGEST_S = 120.0  # of a long test
LOOP = {"deadline": None, "suppress_health_check": list(HealthCheck), "derandomize": True}

NUMBERS = st.one_of(
    st.floats(),
    st.floats(-3.0, 3.0),
    st.sampled_from([0.0, -0.0, math.nan, math.inf, -math.inf, 1e308, 5e-324]),
)
SPOILS = st.sampled_from(
    ["nothing", "number", "length", "names", "order", "missing", "twice", "all", "velocity"]
)


class Messages:
    """Messages to a started controller, and its answers."""

    def __init__(self, clock):
        self.loop = sampled_loop(SCENARIO, clock(PERIOD))
        self.step = self.loop.clock.count(PERIOD)
        self.plant = make_plant(SCENARIO, true_system(SCENARIO))
        self.seen = self.plant.reset()
        self.effort = self.loop.system.limits["effort"]
        self.now = self.tick = 0
        self.good()
        self.loop.step_time = 0.0  # a busy machine is no message
        self.loop.prepare(0)()
        self.loop.start(0, 0)
        self.torque = self.loop.safety.last
        self.refusals = []

    def good(self):
        """Send the measurements."""
        self.joints("nothing", self.now, [])
        for arm, wrench in zip(self.loop.wrenches, self.seen.wrenches, strict=True):
            self.loop.take_wrench(arm, self.now, wrench, self.now)

    def joints(self, spoil, stamp, numbers):
        """Send joint states with something wrong."""
        names = list(self.loop.system.joint_names)
        q, qd = self.seen.q.copy(), self.seen.qd.copy()
        at = len(numbers) % len(names)
        if spoil == "number" and numbers:
            (q if len(numbers) % 2 else qd)[at] = numbers[0]
        elif spoil == "all" and numbers:
            q[:], qd[:] = numbers[0], numbers[-1]
        elif spoil == "length":
            q = np.array(numbers, dtype=float)
        elif spoil == "velocity":
            qd = np.array(numbers, dtype=float)
        elif spoil == "names":
            names[at] = "".join(chr(33 + abs(hash(n)) % 90) for n in numbers)
        elif spoil == "order":
            names.reverse()
        elif spoil == "missing":
            names.pop(at)
        elif spoil == "twice":
            names[at] = names[at - 1]
        self.loop.joint_states.take("joint_states", stamp, names, q, qd, self.now)

    def cycle(self, fresh):
        """Advance by a control period; the plant moves under the last command."""
        self.tick += 1
        self.now += self.step
        if fresh:
            self.good()
        outcome = self.loop.cycle(self.now, self.tick)
        self.check(outcome.torque)
        self.check(self.loop.cycle_without_samples(self.now).torque)
        self.seen = self.plant.step(self.torque)

    def check(self, torque):
        """Torque is there, finite and within the limits."""
        assert torque is not None
        assert np.isfinite(torque).all()
        assert (np.abs(torque) <= self.effort * (1.0 + 1e-12)).all()
        self.torque = torque

    def ask(self, what):
        """Call a service; it may be refused."""
        try:
            if what == "start":
                self.loop.start(self.now, self.tick)
            else:
                getattr(self.loop, what)(self.now)
        except RobotDynamicsError as error:
            self.refusals.append(str(error))


ACTIONS = st.one_of(
    st.tuples(st.just("cycle"), st.booleans()),
    st.tuples(st.just("joints"), SPOILS, st.integers(-(2**62), 2**62), st.lists(NUMBERS)),
    st.tuples(st.just("joints now"), SPOILS, st.integers(-3, 3), st.lists(NUMBERS)),
    st.tuples(st.just("wrench"), st.integers(-3, 3), st.lists(NUMBERS, min_size=5, max_size=7)),
    st.tuples(st.just("ask"), st.sampled_from(["start", "stop", "reset", "pause"])),
)


def play(actions, clock):
    """Send a list of actions."""
    messages = Messages(clock)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of numbers near the largest there are
        for action, *how in actions:
            if action == "cycle":
                messages.cycle(*how)
            elif action == "ask":
                messages.ask(*how)
            elif action == "wrench":
                stamp = messages.now + how[0] * messages.step
                arm = next(iter(messages.loop.wrenches))
                messages.loop.take_wrench(arm, stamp, np.array(how[1]), messages.now)
            else:
                spoil, stamp, numbers = how
                if action == "joints now":
                    stamp = messages.now + stamp * messages.step
                messages.joints(spoil, stamp, numbers)
        for _ in range(3):
            messages.cycle(True)
    assert all(messages.refusals)  # in words


def bounded(capfd, count, drawn, check):
    """Check so many examples, or those that `LONGEST_S` is enough for, and say how far it is.

    Failures are made smaller without a bound.
    """
    done, failed, end = 0, False, time.monotonic() + LONGEST_S

    @settings(max_examples=count, **{**LOOP, "derandomize": False})
    @given(one=drawn)
    def every(one):
        nonlocal done, failed
        if time.monotonic() > end and not failed:
            return
        try:
            check(one)
        except BaseException:
            failed = True
            raise
        done += 1
        if done % 50 == 0:
            with capfd.disabled():
                print(f"{done} of {count} examples", flush=True)

    every()
    with capfd.disabled():
        print(f"{done} examples", flush=True)


@pytest.mark.parametrize("clock", [LockstepClock, WallClock])
@settings(max_examples=8, **LOOP)
@example(  # found by the long run: the fallback's damping was no number
    actions=[
        ("ask", "pause"),
        ("cycle", True),
        ("joints now", "all", 3, [1e16, 1e308]),
        ("cycle", False),
    ]
)
@given(actions=st.lists(ACTIONS, max_size=30))
def test_messages(actions, clock):
    """Whatever comes, in whatever order: torques are finite and within the limits."""
    play(actions, clock)


@pytest.mark.slow
@pytest.mark.parametrize("clock", [LockstepClock, WallClock])
def test_many_messages(clock, capfd):
    """Proves the same of up to 250 times as many, and others every time."""
    bounded(capfd, 2000, st.lists(ACTIONS, max_size=60), lambda actions: play(actions, clock))


SECTIONS = ("control", "safety", "plant", "reference", "acceptance", "cell")
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 2000),
    st.floats(-1e3, 1e3),
    st.sampled_from(
        [math.nan, math.inf, 1e-300, 1e300, -1, 0, "", "x", "left", [], {}, [1, 2, 3]]
    ),
    st.text(string.printable, max_size=5),
    st.lists(st.floats(-2.0, 2.0), max_size=4),
)


def places(value, path=()):
    """Yield the paths of all values in a document."""
    if path:
        yield path
    if isinstance(value, (dict, list)):
        for key, more in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(more, (*path, key))


DOCUMENT = yaml.safe_load(SCENARIO.text())
PLACES = [path for path in places(DOCUMENT) if path[0] in SECTIONS]


@st.composite
def documents(draw):
    """Return the scenario's document with a few values that were replaced or taken out."""
    document = yaml.safe_load(SCENARIO.text())
    for _ in range(draw(st.integers(1, 2))):
        path = draw(st.sampled_from(PLACES))
        inside = document
        try:
            for key in path[:-1]:
                inside = inside[key]
            if draw(st.booleans()) or not isinstance(inside, dict):
                value = draw(VALUES)
                # Long paths are checked point by point, and would only take long.
                if str(path[-1]).endswith("_s") and isinstance(value, (int, float)) and value > 9:
                    value = 3.0
                inside[path[-1]] = value
            else:
                inside.pop(path[-1], None)
        except (KeyError, IndexError, TypeError):
            continue
    return document


def run(document, folder):
    """Run a document for a few control periods, unless it is refused with a sentence."""
    file = folder / "scenario.yaml"
    file.write_text(yaml.safe_dump(document))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            scenario = load_scenario(file)
            period = scenario.control.period
            recording = simulate(scenario, duration=8.0 * period).recording
    except RobotDynamicsError:
        return
    except (np.linalg.LinAlgError, OverflowError, MemoryError):
        return  # the commands and nodes say that numbers are too far apart
    torque = recording["commanded_torque"]
    assert np.isfinite(torque).all()
    limits = [np.inf if limit is None else limit for limit in recording.get("effort_limits")]
    assert (np.abs(torque) <= np.array(limits) * (1.0 + 1e-12)).all()


@settings(max_examples=8, **LOOP)
@given(document=documents())
def test_scenarios(document, tmp_path_factory):
    """A file is refused in one sentence, or run with torques within the limits."""
    run(document, tmp_path_factory.mktemp("fuzz"))


@pytest.mark.slow
def test_many_scenarios(capfd, tmp_path_factory):
    """Proves the same of up to fifty times as many, and others every time."""
    bounded(capfd, 400, documents(), lambda one: run(one, tmp_path_factory.mktemp("fuzz")))


@settings(max_examples=60, **LOOP)
@given(
    value=st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4)),
        lambda inner: st.lists(inner, max_size=3),
    )
)
def test_parameters_of_nodes(value):
    """Every value of every type is taken in the type that is meant, or refused."""
    pytest.importorskip("rclpy", reason="ROS 2 is not installed")
    from robot_dynamics.nodes.parameters import CONTROLLER, GUARD, SIMULATOR, ParameterError

    for entry in {entry.name: entry for entry in (*SIMULATOR, *CONTROLLER, *GUARD)}.values():
        try:
            taken = entry.checked(value)
        except ParameterError:
            continue
        assert type(taken) is type(entry.default)
        assert not isinstance(taken, float) or taken >= (entry.minimum or -math.inf)
