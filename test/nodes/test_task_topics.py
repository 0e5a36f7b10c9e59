# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Services, phase and grippers of a task on topics; the whole of it in lockstep."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from diagnostic_msgs.msg import DiagnosticStatus
from std_srvs.srv import Trigger

from robot_dynamics.app.runs.demo import demonstrate
from robot_dynamics.app.runs.run import RunEnd, simulate
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.control.abilities import TaskError
from robot_dynamics.nodes.conversions import CommandWriter, command_reader
from robot_dynamics.nodes.task_topics import (
    GripperRelay,
    SimulatedGrippers,
    TaskReport,
    flag_of,
    serve_task,
    subscribe_to_end,
)

ARMS = ("left", "right")


class FakeTopics:
    """A node and its inbox: messages, and readers."""

    def __init__(self):
        self.sent, self.readers, self.services = [], {}, {}

    def create_publisher(self, kind, name, quality):
        return SimpleNamespace(publish=lambda message: self.sent.append((name, message)))

    def subscribe(self, kind, name, take, quality, **rest):
        self.readers[name] = take

    def create_service(self, kind, name, answer, **rest):
        self.services[name] = answer

    def call(self, name):
        """Return the answer of a service."""
        return asyncio.run(self.services[name](Trigger.Request(), Trigger.Response()))

    def commands(self):
        """Return and forget the numbers on each topic."""
        read = command_reader()
        found = [(name, *map(np.ravel, read(bytes(text)))) for name, text in self.sent]
        self.sent.clear()
        return [(name, int(number[0]), *values.tolist()) for name, number, values in found]


class FakeTask:
    """A task that repeats its request."""

    phases, phase, state, failure, done = ("approach", "carry"), 1, "running", "", False
    has_operator = True

    def pause(self):
        return "paused"

    def go_on(self):
        return "goes on"

    def abort(self):
        return "aborted"

    def next(self):
        raise TaskError("next refused: no one waits; expected a wait.")


def loop_of(task, *, law_runs=True):
    safety = SimpleNamespace(law_runs=law_runs, cause="stop: stopped on request.", faults=())
    return SimpleNamespace(task=task, safety=safety, began=3)


@pytest.mark.parametrize(
    ("service", "good", "said"),
    [
        ("pause", True, "paused"),
        ("resume", True, "goes on"),
        ("abort", True, "aborted"),
        ("next", False, "next refused: no one waits"),
    ],
)
def test_services_ask_the_task(service, good, said):
    """While control runs; else they are refused."""
    topics = FakeTopics()
    loop = loop_of(FakeTask())
    serve_task(topics, lambda: loop)
    answer = topics.call(f"~/task/{service}")
    assert (answer.success, answer.message[: len(said)]) == (good, said)
    loop.safety.law_runs = False
    assert f"{service} refused: control does not run" in topics.call(f"~/task/{service}").message
    loop.task = None
    assert "the scenario has no task" in topics.call(f"~/task/{service}").message


def test_the_phase_is_published_when_it_changes():
    """With its index, state and reason, and the last tick of a run that is over."""
    topics, task, ends = FakeTopics(), FakeTask(), []
    loop = loop_of(task)
    report = TaskReport(topics, loop, "cell")
    subscribe_to_end(topics, ends.append)
    for tick in (10, 11):
        report.update(tick, None)
    task.state, task.failure = "failed", "phase 2, carry: aborted on request."
    report.update(12, None)
    loop.safety.law_runs, task.failure = False, ""
    report.update(13, 14)
    messages = [message for _, message in topics.sent]
    assert [one.message for one in messages] == [
        "carry: running",
        "carry: failed, phase 2, carry: aborted on request.",
        "carry: stopped, stop: stopped on request.",
    ]
    levels = [DiagnosticStatus.OK, DiagnosticStatus.ERROR, DiagnosticStatus.ERROR]
    assert [one.level for one in messages] == levels
    values = {pair.key: pair.value for pair in messages[0].values}
    assert values == {"task": "running", "phase": "carry", "phase index": "1", "tick": "10"}
    for message in messages:
        topics.readers["task/phase"](message)
    assert ends == [None, None, 14]


def test_grippers_move_once_and_say_what_they_hold():
    """However often a command is repeated; nonsense changes nothing."""
    topics, moved = FakeTopics(), []

    def grip(arm, *, closed):
        moved.append((arm, closed))
        return closed and arm == "left"

    grippers = SimulatedGrippers(topics, topics, ARMS, grip)
    assert not grippers.are_commanded(5)
    for arm in ARMS:
        for values in ([1.0], [1.0], [np.nan], [-1.0], [1.0, 0.0], []):
            topics.readers[f"{arm}/gripper/commands"]((5, np.array(values)))
    assert (grippers.are_commanded(5), grippers.are_commanded(6)) == (True, False)
    grippers.move()
    grippers.move()
    assert moved == [("left", True), ("right", True)]
    grippers.publish(6)
    assert topics.commands() == [
        ("left/gripper/state", 6, 1.0), ("right/gripper/state", 6, 0.0),
    ]  # fmt: skip
    grippers.reset()
    grippers.move()
    assert len(moved) == 2


def test_a_guard_repeats_the_last_command():
    """A gripper that held something when the controller failed holds it still."""
    topics = FakeTopics()
    relay = GripperRelay(topics, topics, ARMS)
    relay.send(8)
    assert not topics.sent  # nothing is known of the grippers
    text = CommandWriter().serialized(7, np.ones(1))
    topics.readers["left/gripper/commands"](command_reader()(bytes(text)))
    relay.send(9)
    assert topics.commands() == [(f"{arm}/gripper/commands", 9, 1.0) for arm in ARMS]
    assert [flag_of(np.array(one)) for one in ([0.5], [0.51], [1.01])] == [False, True, None]


def test_a_run_ends_with_its_task():
    """An operator may go on after a failure or a fault; without one the run ends soon."""
    task, ticks = FakeTask(), 10_000
    task.state, task.done = "done", True
    assert RunEnd(loop_of(task), ticks, 0.002).reached(7)
    task.failure = "aborted"
    assert not RunEnd(loop_of(task), ticks, 0.002).reached(7)
    task.has_operator, task.done = False, False
    end = RunEnd(loop_of(task), ticks, 0.002)
    end._loop.safety.faults = ((3, "stopped"),)
    assert [end.reached(tick) for tick in (7, 256, 257)] == [False, False, True]
    assert RunEnd(loop_of(None), ticks, 0.002).reached(ticks - 1)


def test_a_run_is_expected_to_take_the_planned_time():
    """Not the sum of all time limits; elapsed time and finished phases count as well."""
    task = FakeTask()
    task.planned_s = 2.0
    end = RunEnd(loop_of(task), 10_000, 0.002)
    assert [end.expected(tick) for tick in (0, 999, 1000)] == [1000, 1000, 1001]
    task.done = True
    assert end.reached(499)
    assert end.expected(499) == 500
    assert RunEnd(loop_of(None), 10_000, 0.002).expected(3) == 10_000


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pick_and_place", "pick_and_place_panda"])
def test_a_task_over_topics_is_the_run_without_them(name):
    """To the last bit, with palms and grippers; both sides end in the same period."""
    if name.endswith("panda"):
        pytest.importorskip("example_robot_data")
    scenario = load_scenario(name)
    alone, over_topics = simulate(scenario).recording, demonstrate(scenario).recording
    assert alone.get("plant_state_hash") == over_topics.get("plant_state_hash")
    assert over_topics.get("task_failure") == ""
    for column, values in alone.columns.items():
        if column != "step_time":
            np.testing.assert_array_equal(values, over_topics[column], err_msg=column)


def test_a_task_that_is_cut_short_is_equal_over_topics():
    """Until its hands are on the way."""
    scenario = load_scenario("pick_and_place")
    alone = simulate(scenario, duration=0.3).recording
    over_topics = demonstrate(scenario, duration=0.3).recording
    assert alone.get("plant_state_hash") == over_topics.get("plant_state_hash")
    assert np.ptp(alone["joint_position"], axis=0).max() > 1e-3
    np.testing.assert_array_equal(alone["commanded_torque"], over_topics["commanded_torque"])
