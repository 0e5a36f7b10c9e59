# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Services are answered between control periods, also those whose answer takes a while."""

from __future__ import annotations

import time

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from rcl_interfaces.msg import Parameter, ParameterValue
from rcl_interfaces.srv import SetParameters
from rclpy.executors import SingleThreadedExecutor
from std_srvs.srv import Trigger
from waiting import PATIENCE_S, wait_until

from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.nodes import services as module
from robot_dynamics.nodes.services import NextCycle, ServiceExecutor, retry_while, serve


@pytest.fixture
def node(ros):
    """Return a node with a service."""
    node = ros.create_node("services")
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


def test_a_request_that_cannot_be_read_ends_nothing(node):
    """rclpy raises for a parameter of an unknown type; others are answered afterwards."""
    executor, said = ServiceExecutor(node), []
    executor._log = lambda level, sentence: said.append(sentence)
    odd = Parameter(name="odd", value=ParameterValue(type=77))
    setting = node.create_client(SetParameters, "services/set_parameters")
    client = node.create_client(Trigger, "services/ask")
    until(lambda: setting.service_is_ready() and client.service_is_ready(), executor)
    setting.call_async(SetParameters.Request(parameters=[odd]))
    until(lambda: said, executor)
    assert said == ["a request failed: unexpected ValueError: 77 is not a valid Parameter.Type"]
    until(client.call_async(Trigger.Request()).done, executor)
    executor.close()


def test_a_waiting_callback_is_continued(node, monkeypatch):
    """Although nobody calls: its own callback is the only work."""
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


class Bench:
    """A node with services, and who calls them."""

    def __init__(self, ros):
        self.node = ros.create_node("server")
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.node)

    def call(self, name):
        """Call a service; return its future."""
        client = self.node.create_client(Trigger, name)
        assert client.wait_for_service(PATIENCE_S)
        return client.call_async(Trigger.Request())

    def spin_until(self, *futures):
        """Look after services as nodes do, until answers have come."""
        wait_until(
            lambda: all(future.done() for future in futures),
            lambda: self.executor.spin_once(timeout_sec=0.001),
        )
        return [(future.result().success, future.result().message) for future in futures]


@pytest.fixture
def bench(ros):
    """Return a bench, and end it after the test."""
    bench = Bench(ros)
    yield bench
    bench.executor.shutdown()
    bench.node.destroy_node()


def test_a_waiting_callback_does_not_block_other_services(bench):
    """They are answered between its looks."""
    stopped = []

    async def start():
        while not stopped:
            await NextCycle()
        return "started"

    def stop():
        stopped.append(True)
        return "stopped"

    serve(bench.node, "start", start)
    serve(bench.node, "stop", stop)
    begun = bench.call("start")
    for _ in range(50):
        bench.executor.spin_once(timeout_sec=0)
        time.sleep(0.001)
    assert not begun.done()
    assert bench.spin_until(begun, bench.call("stop")) == [(True, "started"), (True, "stopped")]


def test_errors_are_returned_in_the_response(bench):
    """Those that nobody expected as well: the node goes on."""
    errors = [RobotDynamicsError("not now."), KeyError("odd")]

    def fail():
        raise errors.pop(0)

    serve(bench.node, "fail", fail)
    assert bench.spin_until(bench.call("fail")) == [(False, "not now.")]
    assert bench.spin_until(bench.call("fail")) == [(False, "unexpected KeyError: 'odd'")]


def drive(coroutine):
    """Return a coroutine's result, and the number of polls."""
    looks = 0
    while True:
        try:
            coroutine.send(None)
        except StopIteration as end:
            return end.value, looks
        looks += 1


def test_transient_errors_are_waited_for():
    """And nothing else."""
    refusals = [ArgumentError("1"), ArgumentError("2")]

    def action():
        if refusals:
            raise refusals.pop(0)
        return "done"

    assert drive(retry_while(action, (ArgumentError,), PATIENCE_S)) == ("done", 2)
    refusals.append(ArgumentError("no end"))
    with pytest.raises(ArgumentError, match="no end"):
        drive(retry_while(action, (ArgumentError,), -1.0))
    refusals.append(RobotDynamicsError("something else"))
    with pytest.raises(RobotDynamicsError, match="something else"):
        drive(retry_while(action, (ArgumentError,), PATIENCE_S))
