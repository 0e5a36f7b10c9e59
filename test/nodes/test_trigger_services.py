# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Services that wait leave the others free, and errors of any kind are answers."""

from __future__ import annotations

import time

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from rclpy.executors import SingleThreadedExecutor
from std_srvs.srv import Trigger
from waiting import PATIENCE_S, wait_until

from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.nodes.services import NextCycle, once_it_passes, serve


class Bench:
    """A node with services, and who calls them."""

    def __init__(self, ros):
        self.node = ros.create_node("server")
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.node)

    def call(self, name):
        """Call a service; return what will be its answer."""
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


def test_one_that_waits_does_not_keep_the_others_waiting(bench):
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


def test_errors_are_answers(bench):
    """Those that nobody expected as well: the node goes on."""
    errors = [RobotDynamicsError("not now."), KeyError("odd")]

    def fail():
        raise errors.pop(0)

    serve(bench.node, "fail", fail)
    assert bench.spin_until(bench.call("fail")) == [(False, "not now.")]
    assert bench.spin_until(bench.call("fail")) == [(False, "unexpected KeyError: 'odd'")]


def drive(coroutine):
    """Return what a coroutine comes to, and how often it was looked at."""
    looks = 0
    while True:
        try:
            coroutine.send(None)
        except StopIteration as end:
            return end.value, looks
        looks += 1


def test_what_passes_is_waited_for():
    """And nothing else."""
    refusals = [ArgumentError("1"), ArgumentError("2")]

    def action():
        if refusals:
            raise refusals.pop(0)
        return "done"

    assert drive(once_it_passes(action, (ArgumentError,), PATIENCE_S)) == ("done", 2)
    refusals.append(ArgumentError("no end"))
    with pytest.raises(ArgumentError, match="no end"):
        drive(once_it_passes(action, (ArgumentError,), -1.0))
    refusals.append(RobotDynamicsError("something else"))
    with pytest.raises(RobotDynamicsError, match="something else"):
        drive(once_it_passes(action, (ArgumentError,), PATIENCE_S))
