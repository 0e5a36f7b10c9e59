# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Nodes are started, monitored and brought back to a run for the drill."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from rclpy.task import Future
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger
from waiting import PATIENCE_S, wait_until

from robot_dynamics.app.recordings import topic_names as topics
from robot_dynamics.app.scenarios.cell import build_system
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.nodes.conversions import CommandWriter
from robot_dynamics.nodes.diagnostics import WARN, Diagnostics
from robot_dynamics.nodes.drill import session as module
from robot_dynamics.nodes.drill.session import (
    CONTROLLER,
    SIMULATOR,
    DrillError,
    DrillSession,
    NodeMonitor,
)
from robot_dynamics.nodes.topics import STREAM
from test.two_arms import two_arms


@pytest.mark.slow
def test_start_recover_and_end(ros, tmp_path):
    """Proves the way back after a fault that throws the arms about, and that a node that ends by
    itself is told of; a trial goes there and back in the short run.
    """
    scenario = load_scenario("lift_box")
    monitor = NodeMonitor(build_system(scenario))
    with DrillSession(monitor, scenario, tmp_path, lockstep=True) as session:
        session.start_nodes()
        processes = list(session.nodes.values())
        session.begin()
        assert session.is_active
        monitor.set_faults("drive_gain=0 right 0.2")
        monitor.wait_for(lambda: session.condition.startswith("fallback"), "the fallback")
        session.begin()
        assert session.is_active
        session.nodes[SIMULATOR].send(9)
        with pytest.raises(DrillError, match="the simulator ended with status -9"):
            monitor.wait_for(lambda: False, "the end", check=session.check)
        assert session.nodes[CONTROLLER].exit_status is None
    assert all(process.exit_status is not None for process in processes)
    monitor.close()


SYSTEM = two_arms()


@pytest.fixture
def monitor(ros):
    """Return a monitor."""
    monitor = NodeMonitor(SYSTEM)
    yield monitor
    monitor.close()


def test_torques_are_counted_against_their_limits(ros, monitor):
    """The largest of both arms; values that are not finite apart; empty commands are commands.

    Steps and times between commands are those of each arm.
    """
    node = ros.create_node("commander")
    send = [
        node.create_publisher(Float64MultiArray, topics.commands(arm.name), STREAM)
        for arm in SYSTEM.arms
    ]
    effort = SYSTEM.limits["effort"]
    left, right = SYSTEM.arm_slices
    monitor.wait_for(lambda: all(s.get_subscription_count() for s in send), "topics")
    monitor.reset()
    send[0].publish(CommandWriter().fill(4, 0.25 * effort[left]))
    send[1].publish(CommandWriter().fill(5, -0.75 * effort[right]))
    send[1].publish(CommandWriter().fill(6, np.full(right.stop - right.start, np.nan)))
    send[0].publish(CommandWriter().fill(-7, np.zeros(0)))
    monitor.wait_for(lambda: monitor.commands == 4, "four commands")
    assert monitor.largest == pytest.approx(0.75)
    assert monitor.not_finite == 1
    assert monitor.tick == 6  # that of a clock that was set back is none
    monitor.reset()
    monitor.spin_for(0.1)
    step = np.zeros(left.stop - left.start)
    step[2] = -3.0
    send[0].publish(CommandWriter().fill(7, 0.25 * effort[left] + step))
    monitor.wait_for(lambda: monitor.commands == 1, "a command")
    assert monitor.largest_step == pytest.approx(3.0)
    assert 0.1 <= monitor.largest_gap_s < PATIENCE_S
    node.destroy_node()


def test_diagnostics_are_stored_by_node(ros, monitor):
    """Level, sentence and figures of the last message."""
    node = ros.create_node("speaker")
    diagnostics = Diagnostics(node, "arms")

    def speak():
        diagnostics.update(WARN, "something", lambda: {"a figure": 3}, at_once=True)
        monitor.spin_for(0.05)

    wait_until(lambda: monitor.status("speaker").count, speak)
    status = monitor.status("speaker")
    assert (status.level, status.message, status.values) == (WARN, "something", {"a figure": "3"})
    node.destroy_node()


class Deaf:
    """A client whose first answer is lost."""

    def __init__(self):
        self.asked = 0

    def service_is_ready(self):
        """Be found."""
        return True

    def call_async(self, request):
        """Answer from the second time on."""
        self.asked += 1
        future = Future()
        if self.asked > 1:
            future.set_result(Trigger.Response(success=True, message=str(self.asked)))
        return future


def test_a_call_is_repeated_if_its_response_is_lost(monitor, monkeypatch):
    """As servers that have not found the client yet lose it."""
    monkeypatch.setattr(module, "_CALL_AGAIN_S", 0.05)
    monitor._clients["arm/stop"] = Deaf()
    assert monitor.call("arm/stop") == (True, "2")
    monitor._clients.clear()


@pytest.mark.parametrize("state", ["starting", "active"])
def test_a_repeated_start_is_refused_because_control_runs(monitor, monkeypatch, state):
    """Under the name of its service; other refusals count."""
    answers = iter(
        [
            f"put_down refused: {state}; expected inactive.",
            f"put_down refused: {state} (left: odd); expected inactive: call the service reset.",
        ]
    )
    monkeypatch.setattr(monitor, "call", lambda service: (False, next(answers)))
    monitor.call_start("controller/put_down")
    with pytest.raises(DrillError, match=r"^controller/put_down: put_down refused: "):
        monitor.call_start("controller/put_down")


def test_a_timeout_names_what_was_awaited(monitor):
    """With the nodes' last messages."""
    monitor.status("arm").message = "asleep"
    with pytest.raises(DrillError, match=r"a sign did not come in 0.05 s \(arm: asleep\)"):
        monitor.wait_for(lambda: False, "a sign", 0.05)
