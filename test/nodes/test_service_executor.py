# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Services and events of a node are answered, and no executor runs when there are none."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from std_srvs.srv import Trigger
from waiting import wait_until

from robot_dynamics.nodes import service_executor as module
from robot_dynamics.nodes.services import NextCycle, ServiceExecutor


@pytest.fixture
def node(ros):
    """Return a node with a service."""
    node = ros.create_node("executor")
    node.answered = 0

    def answer(request, response):
        node.answered += 1
        response.success = True
        return response

    node.create_service(Trigger, "~/ask", answer)
    yield node
    node.destroy_node()


def until(condition, executor):
    """Run services until something is so."""
    wait_until(condition, executor.run)


def test_calls_are_answered(node, monkeypatch):
    """Those of services, also of ones made later, and answers to own calls; timers go off."""
    monkeypatch.setattr(module, "EVENTS_S", 1e6)
    executor = ServiceExecutor(node)
    client = node.create_client(Trigger, "services/ask")
    until(client.service_is_ready, executor)
    future = client.call_async(Trigger.Request())
    until(future.done, executor)
    assert (future.result().success, node.answered) == (True, 1)
    node.create_service(Trigger, "~/later", lambda request, response: response)
    later = node.create_client(Trigger, "services/later")
    until(later.service_is_ready, executor)
    until(later.call_async(Trigger.Request()).done, executor)
    ticks = []
    timer = node.create_timer(0.01, lambda: ticks.append(1))
    until(lambda: len(ticks) > 2, executor)
    node.destroy_timer(timer)
    executor.close()


def test_nothing_to_do_costs_no_executor(node, monkeypatch):
    """It runs for events now and then, and not otherwise."""
    executor = ServiceExecutor(node)
    runs = []
    monkeypatch.setattr(executor._executor, "spin_once", lambda timeout_sec: runs.append(1))
    monkeypatch.setattr(module, "EVENTS_S", 1e6)
    for _ in range(20):
        executor.run()
    assert len(runs) == 1
    executor._events_at = 0.0
    executor.run()
    assert len(runs) == 2
    executor.close()


def test_one_that_waits_is_looked_at_again(node, monkeypatch):
    """Although nobody calls: its own callback is what there is to do."""
    monkeypatch.setattr(module, "EVENTS_S", 1e6)
    executor, looks = ServiceExecutor(node), []

    async def wait(request, response):
        for _ in range(5):
            looks.append(NextCycle.awaited)
            await NextCycle()
        response.success = True
        return response

    node.create_service(Trigger, "~/wait", wait)
    client = node.create_client(Trigger, "services/wait")
    until(client.service_is_ready, executor)
    future = client.call_async(Trigger.Request())
    until(future.done, executor)
    assert looks == [0] * 5
    assert NextCycle.awaited == 0
    executor.close()
