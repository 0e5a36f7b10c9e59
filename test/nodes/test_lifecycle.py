# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Transitions that are refused, fail or do not exist, over the services of a managed node."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from calling import Caller
from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.srv import SetParameters
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_msgs.msg import UInt64MultiArray
from waiting import PATIENCE_S, wait_until

from robot_dynamics.app.recordings import topic_names as topics
from robot_dynamics.errors import RobotDynamicsError, sentence_of
from robot_dynamics.nodes.lifecycle import StagedNode, TransitionError
from robot_dynamics.nodes.services import NextCycle

CONFIGURE, CLEANUP = Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_CLEANUP
ACTIVATE, DEACTIVATE = Transition.TRANSITION_ACTIVATE, Transition.TRANSITION_DEACTIVATE
SHUTDOWN = Transition.TRANSITION_UNCONFIGURED_SHUTDOWN


class Stages:
    """Stages with prescribed answers that write down the requests."""

    def __init__(self):
        self.asked, self.errors, self.looks = [], {}, 0

    def _do(self, what):
        self.asked.append(what)
        if what in self.errors:
            raise self.errors[what]

    def configure(self):
        """Configure."""
        self._do("configure")

    async def prepare(self):
        """Prepare to activate, over some looks of the loop."""
        for _ in range(self.looks):
            await NextCycle()
        self._do("prepare")

    def activate(self):
        """Activate."""
        self._do("activate")

    def deactivate(self):
        """Deactivate."""
        self._do("deactivate")

    def cleanup(self):
        """Clean up."""
        self._do("cleanup")


class Bench:
    """A managed node, and a client of its service."""

    def __init__(self, ros):
        self.stages = Stages()
        self.node = StagedNode("staged", self.stages)
        self.client_node = ros.create_node("manager")
        self.client = self.client_node.create_client(ChangeState, "staged/change_state")
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.node)
        self.executor.add_node(self.client_node)
        assert self.client.wait_for_service(PATIENCE_S)

    def ask(self, transition):
        """Ask for a transition; return whether it succeeded."""
        request = ChangeState.Request(transition=Transition(id=transition))
        future = self.client.call_async(request)
        wait_until(future.done, lambda: self.executor.spin_once(timeout_sec=0.01))
        return future.result().success


@pytest.fixture
def bench(ros):
    """Return a bench, and end it after the test."""
    bench = Bench(ros)
    yield bench
    bench.executor.shutdown()
    bench.node.destroy_node()
    bench.client_node.destroy_node()


def test_a_whole_life(bench):
    """Every transition asks its stage, and the states follow."""
    for transition, state in (
        (CONFIGURE, "inactive"),
        (ACTIVATE, "active"),
        (DEACTIVATE, "inactive"),
        (CLEANUP, "unconfigured"),
        (SHUTDOWN, "finalized"),
    ):
        assert bench.ask(transition)
        assert bench.node.condition == state
    assert bench.stages.asked == [
        *("configure", "prepare", "activate", "deactivate", "cleanup", "cleanup")
    ]


def test_a_refused_configuration_leaves_nothing_behind(bench):
    """The node is unconfigured, says why in one sentence, and may be configured later."""
    bench.stages.errors["configure"] = RobotDynamicsError("there is no such scenario.")
    assert not bench.ask(CONFIGURE)
    assert bench.node.condition == "unconfigured"
    assert bench.node.refusal == "there is no such scenario."
    assert bench.stages.asked == ["configure", "cleanup"]
    bench.stages.errors.clear()
    assert bench.ask(CONFIGURE)
    assert bench.node.refusal == ""


def test_a_refused_activation_leaves_it_inactive(bench):
    """And it may be tried again."""
    assert bench.ask(CONFIGURE)
    bench.stages.errors["activate"] = RobotDynamicsError("start refused: far from the grasp.")
    assert not bench.ask(ACTIVATE)
    assert bench.node.condition == "inactive"
    assert bench.node.refusal == "start refused: far from the grasp."
    bench.stages.errors.clear()
    assert bench.ask(ACTIVATE)


@pytest.mark.parametrize("error", [RobotDynamicsError("not now."), ValueError("oh")])
def test_an_activation_whose_preparation_is_refused(bench, error):
    """Nothing is activated, and the loop goes on while it is prepared."""
    assert bench.ask(CONFIGURE)
    bench.stages.errors["prepare"], bench.stages.looks = error, 5
    assert not bench.ask(ACTIVATE)
    assert bench.node.condition == "inactive"
    assert bench.node.refusal == sentence_of(error)
    assert bench.stages.asked == ["configure", "prepare"]
    bench.stages.errors.clear()
    assert bench.ask(ACTIVATE)


def test_a_failed_activation_releases_nothing(bench):
    """Arms may hang on a node whose activation fails: it stays configured."""
    assert bench.ask(CONFIGURE)
    bench.stages.errors["activate"] = ZeroDivisionError("division by zero")
    assert not bench.ask(ACTIVATE)
    assert bench.node.condition == "inactive"
    assert bench.stages.asked == ["configure", "prepare", "activate"]


def test_a_cleanup_that_fails_leaves_nothing_configured(bench):
    """What it released is gone: the node can be configured again, and reports the error."""
    assert bench.ask(CONFIGURE)
    bench.stages.errors["cleanup"] = RobotDynamicsError("no recording: the disk is full.")
    assert bench.ask(CLEANUP)
    assert bench.node.condition == "unconfigured"
    assert bench.node.refusal == "no recording: the disk is full."
    assert bench.ask(CONFIGURE)
    assert bench.node.refusal == ""


@pytest.mark.parametrize("transition", [CLEANUP, ACTIVATE, DEACTIVATE, 200])
def test_a_transition_that_the_state_does_not_have(bench, transition):
    """It is answered with no; rclpy would let an error out of the executor and end the node."""
    assert not bench.ask(transition)
    assert bench.node.condition == "unconfigured"
    assert bench.stages.asked == []
    assert bench.ask(CONFIGURE)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ZeroDivisionError("division by zero"), "unexpected ZeroDivisionError: division by zero"),
        (np.linalg.LinAlgError("Singular matrix"), "numbers are too large or too far apart"),
    ],
)
def test_errors_that_nobody_expected(bench, error, words):
    """The node survives them too, and reports them."""
    bench.stages.errors["configure"] = error
    assert not bench.ask(CONFIGURE)
    assert bench.node.condition == "unconfigured"
    assert words in bench.node.refusal
    bench.stages.errors.clear()
    assert bench.ask(CONFIGURE)


def test_the_node_itself_is_told_why(bench):
    """As an error, with the type that the stage raised."""
    bench.stages.errors["configure"] = TransitionError("not now.")
    with pytest.raises(TransitionError, match="not now"):
        bench.node.change(bench.node.trigger_configure)
    bench.stages.errors.clear()
    with pytest.raises(TransitionError, match="activate refused: the node is unconfigured"):
        bench.node.change(bench.node.trigger_activate)
    bench.node.change(bench.node.trigger_configure)
    assert bench.node.condition == "inactive"


@pytest.mark.parametrize("name", ["simulator", "guard"])
def test_simulator_and_guard_are_managed(ros, start_node, name):
    """They wait for transitions, act while active, and may be configured anew."""
    node, heard = ros.create_node("manager"), []
    ask = Caller(ros, node)
    ask.expect_transitions(name)
    ask.expect(SetParameters, f"{name}/set_parameters")
    process = start_node(
        name, scenario="lift_bx", mode="wall_clock", autoconfigure=False, progress=False
    )
    node.create_subscription(
        DiagnosticArray,
        "/diagnostics",
        lambda message: heard.extend(s.message for s in message.status if name in s.name),
        10,
    )
    topic = {"simulator": topics.JOINT_STATES, "guard": topics.GUARD}[name]
    kind = {"simulator": JointState, "guard": UInt64MultiArray}[name]
    samples = []
    node.create_subscription(kind, topic, samples.append, 10)
    spin = partial(ros.spin_once, node, timeout_sec=0.02)

    def wait_for_words(words):
        heard.clear()
        wait_until(lambda: any(words in said for said in heard), spin)

    wait_for_words("unconfigured")
    assert not ask.change(name, "configure")
    wait_for_words("did you mean 'lift_box'?")
    request = SetParameters.Request(
        parameters=[Parameter("scenario", value="lift_box").to_parameter_msg()]
    )
    assert ask(SetParameters, f"{name}/set_parameters", request).results[0].successful
    for _ in range(2):
        assert ask.change(name, "configure")
        wait_for_words("inactive")
        assert ask.change(name, "activate")
        wait_for_words({"simulator": "waiting for commands", "guard": "watching"}[name])
        samples.clear()
        wait_until(lambda: len(samples) > 3, spin)
        assert ask.change(name, "deactivate")
        wait_for_words("inactive")
        assert ask.change(name, "cleanup")
        wait_for_words("unconfigured")
    assert ask.change(name, "shutdown")
    assert process.wait() == 0
    assert "Traceback" not in process.text
    node.destroy_node()
