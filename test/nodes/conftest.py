# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""ROS for the tests of the nodes: a domain of their own, and nodes in processes of their own."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from waiting import PATIENCE_S

from robot_dynamics.app.node_process import reserved_domain

ROOT = Path(__file__).resolve().parents[2]
SILENCE_S = 60.0  # a busy machine leaves the other side without a word for seconds


@pytest.fixture(scope="module")
def domain(tmp_path_factory):
    """Return a ROS domain of this test module, with its logs in a folder of the test."""
    pytest.importorskip("rclpy", reason="ROS 2 is not installed")
    with reserved_domain() as number, pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROS_DOMAIN_ID", str(number))
        patch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
        patch.setenv("ROS_LOG_DIR", str(tmp_path_factory.mktemp("log")))
        yield number


@pytest.fixture(scope="module")
def other_domain():
    """Return a ROS domain that is not that of the test module."""
    with reserved_domain() as number:
        yield number


@pytest.fixture(scope="module")
def ros(domain):
    """Start rclpy in this process, and shut it down after the module."""
    import rclpy
    from rclpy.signals import SignalHandlerOptions

    rclpy.init(domain_id=domain, signal_handler_options=SignalHandlerOptions.NO)
    yield rclpy
    rclpy.try_shutdown()


class NodeUnderTest:
    """A node of the package in a process of its own; its output is read as it comes."""

    def __init__(self, name, folder, *, remappings=(), environment=None, **parameters):
        self.name = name
        file = folder / f"{name}.yaml"
        values = {"progress": True, "silence_limit": SILENCE_S, **parameters}
        lines = "".join(f"    {key}: {json.dumps(value)}\n" for key, value in values.items())
        file.write_text(f"/**:\n  ros__parameters:\n{lines}")
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", f"robot_dynamics.nodes.{name}"),
                *("--ros-args", "--params-file", str(file)),
                *(word for rule in remappings for word in ("-r", rule)),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT),
                "PYTHONUNBUFFERED": "1",
                **(environment or {}),
            },
            cwd=folder,
        )
        self.said, self.words = queue.Queue(), []
        self._readers = [
            threading.Thread(target=self._read, args=(stream, take), daemon=True)
            for stream, take in (
                (self.process.stdout, lambda line: self.said.put(json.loads(line))),
                (self.process.stderr, self.words.append),
            )
        ]
        for reader in self._readers:
            reader.start()

    @staticmethod
    def _read(stream, take):
        for line in stream:
            take(line)

    def wait_for(self, event, seconds=PATIENCE_S):
        """Return the first report of a kind; fail if it does not come."""
        until = time.monotonic() + seconds
        while True:
            try:
                said = self.said.get(timeout=max(0.0, until - time.monotonic()))
            except queue.Empty:
                pytest.fail(f"{self.name} did not say {event!r}; it said: {self.text}")
            if said["event"] == event:
                return said

    def interrupt(self):
        """Send SIGINT."""
        self.process.send_signal(signal.SIGINT)

    def wait(self, seconds=PATIENCE_S):
        """Return the exit status, when all that it said has been read."""
        status = self.process.wait(timeout=seconds)
        for reader in self._readers:
            reader.join(timeout=seconds)
        return status

    @property
    def text(self):
        """The text it wrote on standard error."""
        return "".join(self.words)

    def end(self):
        """End it whatever it does."""
        if self.process.poll() is None:
            self.interrupt()
            try:
                self.process.wait(timeout=20.0)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


@pytest.fixture(scope="module")
def start_node(domain, tmp_path_factory):
    """Return a function that starts a node; all of them are ended after the module, if not before.

    Topics are those of the module: a node that is left hears those of the next test.
    """
    started = []

    def start(name, **options):
        node = NodeUnderTest(name, tmp_path_factory.mktemp(name), **options)
        started.append(node)
        return node

    yield start
    for node in started:
        node.end()
