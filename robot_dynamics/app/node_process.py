# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Nodes started as processes of their own, in a private ROS domain on this machine."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import importlib.util
import os
import queue
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import yaml

from robot_dynamics.app.progress import event_of
from robot_dynamics.errors import RobotDynamicsError

_PATIENCE_S = 5.0  # for each of SIGINT and SIGTERM before something stronger
_MOST_WAITS = 12  # for a node that works, as at its recording on a busy machine
_LINES_KEPT = 12  # last lines of text
_PR_SET_PDEATHSIG = 1
_BUSY_SHARE = 0.05  # of the silence; a node at work used more of the processor, a waiting one less


class NodeError(RobotDynamicsError):
    """A node that ended early or hangs.

    Attributes:
        details: The last lines it wrote.
        exit_status: Exit status for the command that started it: 2 if the node refused its files
            or settings, 1 otherwise.
    """

    def __init__(self, message: str, details: Sequence[str] = (), exit_status: int = 1) -> None:
        self.details, self.exit_status = tuple(details), exit_status
        super().__init__(message)


class NodeProcess:
    """A node that was started.

    It has a separate process group, so that Ctrl-C in a terminal reaches it only through its
    starter, and gets SIGTERM if the starter is killed.

    Attributes:
        name: Name in messages.
        is_done: Whether it reported that its part is done.

    Args:
        name: Name in messages.
        module: Started as `python -m MODULE`.
        arguments: Its arguments.
        folder: Working directory.
        environment: The whole environment.
    """

    def __init__(
        self,
        name: str,
        module: str,
        arguments: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
    ) -> None:
        self.name = name
        self.is_done = False
        self._error = ""
        self._events: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._lines: deque[str] = deque(maxlen=_LINES_KEPT)
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env=with_this_package(environment),
            cwd=folder,
            start_new_session=True,
            preexec_fn=_begin if sys.platform == "linux" else None,
        )
        self._readers = [
            threading.Thread(target=self._read, args=(stream,), daemon=True)
            for stream in (self._process.stdout, self._process.stderr)
        ]
        for reader in self._readers:
            reader.start()

    @property
    def exit_status(self) -> int | None:
        """The process's exit status, None while it runs; negative for a signal."""
        return self._process.poll()

    def events(self) -> Iterator[dict[str, Any]]:
        """Yield the events that it reported since the last call."""
        while True:
            try:
                event = self._events.get_nowait()
            except queue.Empty:
                return
            if event["event"] == "done":
                self.is_done = True
            elif event["event"] == "error":
                self._error = str(event.get("message", ""))
            yield event

    def last_lines(self) -> list[str]:
        """Return the last lines of text that it wrote."""
        return list(self._lines)

    def failure(self) -> NodeError | None:
        """Return the reason of an early end, or None."""
        status = self.exit_status
        if status is None:
            return None
        for reader in self._readers:
            reader.join(timeout=_PATIENCE_S)  # its last lines may not have been read yet
        for event in list(self.events()):
            self._events.put(event)  # listeners still get earlier events
        if self.is_done:
            return None
        exit_status = 2 if status == 2 else 1
        if self._error:
            return NodeError(self._error, exit_status=exit_status)
        manner = f"with status {status}"
        if status < 0:
            manner = f"by signal {_signal_name(-status)}"
        return NodeError(
            f"the {self.name} ended {manner} before the run was over.",
            self.last_lines(),
            exit_status,
        )

    def interrupt(self) -> None:
        """Ask it to end, as Ctrl-C does; at once for all of several, then `end` each."""
        self.send(signal.SIGINT)

    def end(self) -> None:
        """Wait until it has ended; ask more strongly if it does not."""
        try:
            for stronger in (signal.SIGTERM, signal.SIGKILL):
                if self._ends():
                    break
                self.send(stronger)
            self._process.wait()
        except KeyboardInterrupt:  # a second Ctrl-C: no more patience
            self.send(signal.SIGKILL)
            self._process.wait()
            raise
        finally:
            for reader in self._readers:
                reader.join(timeout=1.0)
            for _ in self.events():
                pass

    def _ends(self) -> bool:
        """Return whether it ends while it is waited for, which is longer if it works."""
        for _ in range(_MOST_WAITS):
            used = self.processor_time()
            try:
                self._process.wait(timeout=_PATIENCE_S)
                return True
            except subprocess.TimeoutExpired:
                if self.processor_time() - used <= _BUSY_SHARE * _PATIENCE_S:
                    break
        return False

    def processor_time(self) -> float:
        """Return the processor time that it and the processes it started used so far [s].

        Processes that it has waited for are counted; 0 where the system has no /proc.
        """
        used = 0
        for file in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):  # the process ended meanwhile
                # The name in brackets may hold spaces; `proc(5)` numbers the fields from 1.
                fields = file.read_text(errors="replace").rpartition(")")[2].split()
                if int(fields[6 - 3]) == self.pid:  # session
                    used += sum(map(int, fields[14 - 3 : 18 - 3]))  # utime, stime, cutime, cstime
        return used / os.sysconf("SC_CLK_TCK") if used else 0.0

    @property
    def pid(self) -> int:
        """The number of its process."""
        return self._process.pid

    def send(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process.pid, number)

    def _read(self, stream: IO[str] | None) -> None:
        if stream is None:
            return
        with stream:
            for line in stream:
                event = event_of(line) if stream is self._process.stdout else None
                if event is not None:
                    self._events.put(event)
                elif line.strip():
                    self._lines.append(line.rstrip())


def start_with_parameters(
    name: str,
    module: str,
    parameters: Mapping[str, object],
    folder: Path,
    environment: Mapping[str, str],
) -> NodeProcess:
    """Start a node with ROS parameters; see `NodeProcess`.

    Args:
        name: Name in messages, and of the file with its parameters.
        module: Started as `python -m MODULE`.
        parameters: Parameters by name.
        folder: Working directory, and folder of the file.
        environment: The whole environment.
    """
    # A file, because values on the command line are read as YAML: a path with a colon would break.
    file = folder / f"{name}.yaml"
    values = {"/**": {"ros__parameters": dict(parameters)}}
    file.write_text(yaml.safe_dump(values), encoding="utf-8")
    return NodeProcess(
        name, module, ["--ros-args", "--params-file", str(file)], folder, environment
    )


def run_until_done(
    started: Iterable[NodeProcess], silence_s: float, on_event: Callable[[dict[str, Any]], None]
) -> None:
    """Run nodes until all are done; all have ended when this returns or raises.

    Args:
        started: Starts the nodes one after the other.
        silence_s: Time after which the run is given up if no node has reported anything or used
            more than a twentieth of it as processor time [s]; nodes that compile on a busy machine
            may take longer.
        on_event: Called with every event.

    Raises:
        NodeError: If a node ends early, or all nodes are silent and idle for too long.
    """
    nodes: list[NodeProcess] = []
    try:
        for node in started:
            nodes.append(node)
        heard, used = time.monotonic(), 0.0
        while True:
            for event in [event for node in nodes for event in node.events()]:
                heard = time.monotonic()
                on_event(event)
            if all(node.is_done for node in nodes):
                return
            failure = first_failure(nodes)
            if failure is not None:
                raise failure
            if time.monotonic() - heard > silence_s:
                before, used = used, sum(node.processor_time() for node in nodes)
                if used - before > _BUSY_SHARE * silence_s:
                    heard = time.monotonic()
                    continue
                waiting = " and the ".join(node.name for node in nodes if not node.is_done)
                raise NodeError(
                    f"the {waiting} reported nothing for {silence_s:g} s and did not use the "
                    "processor; the run was given up.",
                    details=[line for node in nodes for line in node.last_lines()],
                )
            time.sleep(0.02)
    finally:
        end_all(nodes)


def end_all(nodes: Collection[NodeProcess]) -> None:
    """Ask all nodes to end at once, and wait until each has ended."""
    for node in nodes:
        node.interrupt()
    for node in nodes:
        node.end()


def first_failure(nodes: Sequence[NodeProcess]) -> NodeError | None:
    """Return the reason of an early end, preferably of the first node or one with a reason."""
    ended = [node for node in nodes if node.exit_status is not None]
    if not ended:
        return None
    time.sleep(0.2)  # when one ends because of another, the cause is the other
    found = [(node, error) for node in nodes if (error := node.failure()) is not None]
    found.sort(key=lambda pair: (pair[0] not in ended, bool(pair[1].details)))
    return found[0][1] if found else None


def with_this_package(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment with this very package on the child's path."""
    root = str(Path(__file__).resolve().parents[2])
    paths = [root, *filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))]
    return {**environment, "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths))}


_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


def _begin() -> None:
    """Make the kernel end this process together with its starter, and let SIGHUP end it.

    Under `nohup` SIGHUP would be ignored; the terminal's does not reach a separate session.
    """
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM))


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


class RosMissingError(RobotDynamicsError):
    """ROS 2 is not there."""


def require_ros() -> None:
    """Raise unless nodes can be started.

    Raises:
        RosMissingError: If rclpy is not installed.
    """
    if importlib.util.find_spec("rclpy") is None:
        raise RosMissingError(
            "this runs ROS 2 nodes, and there is no rclpy in this Python; expected a sourced "
            "ROS 2 installation or `pip install 'robot_dynamics[ros]'`. `robot_dynamics simulate` "
            "needs no ROS."
        )


@contextlib.contextmanager
def reserved_domain() -> Iterator[int]:
    """Yield a ROS domain that no other process on this machine uses or has reserved here.

    Nodes take seconds to start, and only then use the discovery port of the domain, which is
    checked. To keep the domain until then, a port is reserved that only its 120th node would use.

    Raises:
        NodeError: If no domain is free, or the machine gives no ports.
    """
    # Only domains up to 101 avoid the ports that Linux assigns at random.
    for domain in random.Random().sample(range(1, 102), 101):
        first = 7400 + 250 * domain
        with (
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as kept,
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe,
        ):
            try:
                kept.bind(("127.0.0.1", first + 249))
                probe.bind(("", first))
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise NodeError(
                        f"no port for ROS can be taken on this machine: {error}; expected sockets "
                        "of UDP."
                    ) from error
                continue
            probe.close()
            yield domain
            return
    raise NodeError("all ROS domains from 1 to 101 are in use; expected a free one.")


@contextlib.contextmanager
def private_environment(folder: Path) -> Iterator[dict[str, str]]:
    """Yield the environment of nodes in a domain of their own, with their logs in a folder.

    Raises:
        NodeError: If there is no free domain.
    """
    environment = dict(os.environ)
    environment.pop("ROS_STATIC_PEERS", None)
    environment["ROS_LOG_DIR"] = str(folder / "log")
    environment["PYTHONUNBUFFERED"] = "1"
    if environment.get("ROS_DISTRO") in ("foxy", "galactic", "humble"):
        environment["ROS_LOCALHOST_ONLY"] = "1"
    else:
        environment.pop("ROS_LOCALHOST_ONLY", None)
        environment["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    with reserved_domain() as domain:
        yield environment | {"ROS_DOMAIN_ID": str(domain)}
