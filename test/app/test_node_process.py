# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Nodes as processes: heard whatever they do, ended, and in a domain of their own."""

import importlib.util
import os
import signal
import socket
import subprocess
import sys
from types import SimpleNamespace

import pytest
from waiting import PATIENCE_S, wait_until

from robot_dynamics.app import node_process
from robot_dynamics.app.node_process import (
    NodeError,
    NodeProcess,
    RosMissingError,
    first_failure,
    private_environment,
    require_ros,
    reserved_domain,
    run_until_done,
)

# A substitute for a node: it says what it is told to and then does one of several things.
NODE = """
import signal, sys, time
print("starting up")
print('{"event": "ready"}')
what = sys.argv[1]
if what == "refuse later":
    time.sleep(1.0)
if what.startswith("refuse"):
    print('{"event": "error", "message": "a.yaml:3: no such key."}'); sys.exit(2)
if what == "crash":
    raise RuntimeError("the reason")
if what == "killed":
    import os; os.kill(os.getpid(), 9)
if what == "deaf":
    signal.signal(signal.SIGINT, signal.SIG_IGN); signal.signal(signal.SIGTERM, signal.SIG_IGN)
try:
    if what in ("done", "deaf", "done at once") or what.startswith("works"):
        print('{"event": "done"}')
    time.sleep(0 if what == "done at once" else 600)
except KeyboardInterrupt:
    if what.startswith("works"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        until = time.process_time() + float(what.split()[1])
        while time.process_time() < until:
            pass
    print("interrupted")
"""


@pytest.fixture
def start(tmp_path):
    """Return a function that starts the substitute; whatever is left is ended."""
    (tmp_path / "fake_node.py").write_text(NODE)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONUNBUFFERED": "1"}
    started = []

    def begin(what, name="simulator"):
        node = NodeProcess(name, "fake_node", [what], tmp_path, environment)
        started.append(node)
        return node

    yield begin
    for node in started:
        node.send(signal.SIGKILL)
        node.end()


def heard(node, event):
    """Return whether a node has said something."""
    return any(said["event"] == event for said in node.events())


def test_a_node_that_is_done(start, monkeypatch):
    """Events are heard, text is kept, and it ends when it is interrupted."""
    monkeypatch.setattr(node_process, "_PATIENCE_S", PATIENCE_S)
    node = start("done")
    wait_until(lambda: heard(node, "done"))
    assert node.failure() is None
    node.interrupt()
    node.end()
    assert node.exit_status == 0
    assert node.last_lines() == ["starting up", "interrupted"]
    assert node.failure() is None


def test_the_last_events_of_a_node_are_read(start):
    """A node that has ended between two looks was done; its events are not lost by asking that."""
    node = start("done at once")
    wait_until(lambda: node.exit_status is not None)
    assert node.failure() is None
    said = []
    run_until_done([node], PATIENCE_S, said.append)
    assert [event["event"] for event in said] == ["ready", "done"]


def test_a_node_that_refuses_its_settings(start):
    """Its own sentence is the error, and its exit status is kept."""
    node = start("refuse")
    wait_until(lambda: node.exit_status is not None)
    error = node.failure()
    assert str(error) == "a.yaml:3: no such key."
    assert error.exit_status == 2


@pytest.mark.parametrize(
    ("what", "manner", "words"),
    [("crash", "with status 1", "RuntimeError: the reason"), ("killed", "by signal SIGKILL", "")],
)
def test_a_node_that_dies(start, what, manner, words):
    """It is said how it ended, with the last lines it wrote."""
    node = start(what)
    wait_until(lambda: node.exit_status is not None)
    error = node.failure()
    assert str(error) == f"the simulator ended {manner} before the run was over."
    assert error.exit_status == 1
    assert words in "\n".join(error.details)


def test_the_one_with_a_reason_is_believed(start):
    """If both end, the message is that of the one that says why."""
    nodes = [start("crash", "simulator"), start("refuse", "controller")]
    assert first_failure([start("done")]) is None
    wait_until(lambda: all(node.exit_status is not None for node in nodes))
    assert str(first_failure(nodes)) == "a.yaml:3: no such key."


def test_the_one_that_ended_first_is_believed(start, monkeypatch):
    """A node that ends because another has gone does not hide why that one ended."""
    crashed = start("crash", "controller")
    wait_until(lambda: crashed.exit_status is not None)
    other = start("refuse later", "simulator")
    assert other.exit_status is None
    monkeypatch.setattr(node_process.time, "sleep", lambda _: other._process.wait())
    assert str(first_failure([other, crashed])).startswith("the controller ended with status 1")


def test_a_node_that_does_not_want_to_end(start, monkeypatch):
    """A node deaf to SIGINT and SIGTERM is killed."""
    monkeypatch.setattr(node_process, "_PATIENCE_S", 0.2)
    node = start("deaf")
    wait_until(lambda: heard(node, "done"))
    node.interrupt()
    node.end()
    assert node.exit_status == -signal.SIGKILL


@pytest.mark.skipif(sys.platform != "linux", reason="reads processor time from /proc")
@pytest.mark.parametrize(("needs_s", "waits", "status"), [(3.0, 1000, 0), (600.0, 1, -9)])
def test_a_node_that_works_at_its_end_is_waited_for(start, monkeypatch, needs_s, waits, status):
    """Writing takes long on a busy machine; a node that works without end is killed."""
    monkeypatch.setattr(node_process, "_PATIENCE_S", 1.0)
    monkeypatch.setattr(node_process, "_BUSY_SHARE", 0.0)
    monkeypatch.setattr(node_process, "_MOST_WAITS", waits)
    node = start(f"works {needs_s}")
    wait_until(lambda: heard(node, "done"))
    node.interrupt()
    node.end()
    assert node.exit_status == status


@pytest.mark.skipif(sys.platform != "linux", reason="asks the Linux kernel for a signal")
def test_nodes_end_with_their_starter(tmp_path):
    """If the starter is killed outright, its nodes do not stay behind."""
    (tmp_path / "fake_node.py").write_text(NODE)
    code = (
        "import os, time; from pathlib import Path\n"
        "from robot_dynamics.app.node_process import NodeProcess\n"
        "node = NodeProcess('n', 'fake_node', ['done'], Path('.'), dict(os.environ))\n"
        "print(node._process.pid, flush=True); time.sleep(600)"
    )
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    starter = subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        text=True,
    )
    pid = int(starter.stdout.readline())
    starter.kill()
    starter.wait()
    starter.stdout.close()

    def gone():
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
                return stat.read().rpartition(")")[2].split()[0] in "ZX"  # nobody has waited yet
        except FileNotFoundError:
            return True

    wait_until(gone)


@pytest.fixture
def one_domain(monkeypatch):
    """Have no other domains than one that is free; return it."""
    with reserved_domain() as domain:
        pass
    draw = SimpleNamespace(sample=lambda among, count: [domain] if domain in among else [])
    monkeypatch.setattr(node_process.random, "Random", lambda: draw)
    return domain


def test_a_domain_that_others_use(one_domain):
    """It keeps off the ports of other programs, and nobody uses it."""
    assert 1 <= one_domain <= 101
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("", 7400 + 250 * one_domain))
        with pytest.raises(NodeError, match="expected a free one"), reserved_domain():
            pass


def test_a_domain_that_is_reserved(one_domain):
    """Nobody else gets it, also before nodes are there; afterwards it is free again."""
    with reserved_domain() as domain:
        assert domain == one_domain
        with pytest.raises(NodeError, match="expected a free one"), reserved_domain():
            pass
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as discovery:
            discovery.bind(("", 7400 + 250 * domain))  # as its first node does
    with reserved_domain() as domain:
        assert domain == one_domain


def test_a_machine_that_gives_no_ports(monkeypatch):
    """It is not said that all domains are in use."""

    class Forbidden(socket.socket):
        def bind(self, address):
            raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(node_process.socket, "socket", Forbidden)
    with pytest.raises(NodeError, match="Permission denied"), reserved_domain():
        pass


def test_without_ros(monkeypatch):
    """Without rclpy the message says how to install it, and which commands work without."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(RosMissingError, match=r"robot_dynamics\[ros\].*simulate"):
        require_ros()


@pytest.mark.parametrize(
    ("distribution", "key"),
    [("humble", "ROS_LOCALHOST_ONLY"), ("jazzy", "ROS_AUTOMATIC_DISCOVERY_RANGE")],
)
def test_private_environment(monkeypatch, tmp_path, distribution, key):
    """Discovery stays on this machine, as the distribution wants to be told, and so do logs."""
    monkeypatch.setenv("ROS_DISTRO", distribution)
    monkeypatch.setenv("ROS_STATIC_PEERS", "elsewhere")
    monkeypatch.delenv("ROS_AUTOMATIC_DISCOVERY_RANGE", raising=False)
    monkeypatch.setenv("ROS_LOCALHOST_ONLY", "0")
    with private_environment(tmp_path) as environment:
        assert "ROS_STATIC_PEERS" not in environment
    assert environment[key] in ("1", "LOCALHOST")
    assert environment["ROS_LOG_DIR"].startswith(str(tmp_path))
    assert 1 <= int(environment["ROS_DOMAIN_ID"]) <= 101
