# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The process of a node: start, signals, loop, errors, exit status, real-time priority.

A signal sets a flag and leaves the ROS context valid, so that a node can send last commands. A
second signal, such as the one that `ros2 launch` adds, has no further effect.
"""

from __future__ import annotations

import gc
import inspect
import itertools
import math
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, Protocol

import rclpy
from numpy.linalg import LinAlgError
from rclpy._rclpy_pybind11 import RCLError
from rclpy.exceptions import ROSInterruptException
from rclpy.executors import ExternalShutdownException
from rclpy.logging import get_logger
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from robot_dynamics.app.progress import print_event
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.nodes.parameters import Entry, help_text
from robot_dynamics.nodes.services import ServiceExecutor
from robot_dynamics.nodes.topics import Inbox

BAD_INPUT = 2  # exit status for wrong files and settings, as in shells
FAILED = 1
IDLE_PERIOD_S = 0.02  # period of services, checks of the graph, and background work
TASKS = "/proc/self/task"
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # SIGHUP: a terminal was lost
_IDLE_DELAY_S = 0.005  # time that idle work waits for messages, to run after them
# By default Python switches threads every 5 ms. Path checks and recordings run in threads, and the
# control thread must not wait for them.
_SWITCH_S = 1e-4


class RunError(RobotDynamicsError):
    """A run that cannot continue: the other node was lost, or a user must intervene."""


class RefusedError(RunError):
    """A run that was refused before anything moved."""

    exit_status = BAD_INPUT


class PriorityError(RobotDynamicsError):
    """A real-time priority that the system does not grant."""


class LoopWork(Protocol):
    """Methods that the loop of `run` calls."""

    @property
    def due(self) -> float | None:
        """Time of the next call of `on_period`, by the steady clock [s]; None for never."""

    @property
    def incomplete(self) -> bool:
        """Whether some messages of an instant have arrived and others are awaited."""

    def on_messages(self) -> None:
        """Act on the messages; called after all that have arrived were read."""

    def on_period(self) -> None:
        """Do periodic work, and set `due` to the time of the next call."""

    def on_idle(self) -> None:
        """Do work that can wait, about every `IDLE_PERIOD_S`."""

    def publish_diagnostics(self) -> None:
        """Publish diagnostics if due; called about every `IDLE_PERIOD_S`."""

    def on_error(self, error: Exception) -> None:
        """Handle an unexpected error of the methods above, or raise it to end the node."""

    def close(self) -> None:
        """Send last commands and save recordings; the ROS context is still valid."""


class ManagedNode(LoopWork, Protocol):
    """Interface of a node for `run`."""

    @property
    def node(self) -> Node:
        """The node."""

    @property
    def inbox(self) -> Inbox:
        """Its subscriptions."""


class Reporter:
    """Reports to the launcher of the process: JSON objects on standard output, one a line.

    Attributes:
        enabled: Whether a launcher wants reports.
    """

    def __init__(self) -> None:
        self.enabled = False
        self._launcher = os.getppid()

    def report(self, event: str, **figures: Any) -> None:
        """Report an event and its figures (JSON values)."""
        if not self.enabled:
            return
        try:
            print_event(event, **figures)
        except OSError:  # the launcher has ended
            self.enabled = False
            # Python flushes standard output at its end, which would fail again.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    def launcher_has_ended(self) -> bool:
        """Return whether the process that reads the reports has ended."""
        return self.enabled and os.getppid() != self._launcher


class _Signals:
    """Signals that end a node: an exception while it starts, a flag while it runs.

    SIGHUP stays ignored if it is ignored already, for instance by `nohup`.
    """

    def __init__(self) -> None:
        self.received = False
        self.starting = True
        for number in _SIGNALS:
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, self._handle)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        first = not self.received
        self.received = True
        if self.starting and first:
            raise KeyboardInterrupt


def run(
    name: str,
    create: Callable[[Reporter], ManagedNode],
    arguments: Sequence[str] | None = None,
    *,
    entries: Sequence[Entry] = (),
) -> int:
    """Run a node until a signal or an error ends it; return the exit status of the process.

    Args:
        name: Name of the node, for messages.
        create: Creates the node.
        arguments: The command line, ROS arguments included; the process's by default.
        entries: Its parameters, which `--help` prints.
    """
    if {"-h", "--help"} & set(sys.argv[1:] if arguments is None else arguments):
        print(help_text(name, entries))
        return 0
    signals = _Signals()
    reporter = Reporter()
    sys.setswitchinterval(_SWITCH_S)
    # With the shared memory transport of Fast DDS, writers wait up to a second for a reader that
    # was stopped while it held a lock: a guard took over a second late.
    os.environ.setdefault("FASTDDS_BUILTIN_TRANSPORTS", "UDPv4")
    managed: ManagedNode | None = None
    status = 0
    try:
        rclpy.init(
            args=None if arguments is None else list(arguments),
            signal_handler_options=SignalHandlerOptions.NO,
        )
        warnings.showwarning = lambda message, *_: get_logger(name).warning(str(message))
        managed = create(reporter)
        _set_priority(managed.node)
        signals.starting = False
        reporter.report("ready")
        if not signals.received:
            _spin(managed, signals, reporter)
        managed.node.get_logger().info("ends")
    except (KeyboardInterrupt, ExternalShutdownException, ROSInterruptException):
        pass
    except Exception as error:
        expected = isinstance(error, (RobotDynamicsError, RCLError))
        sentence = numeric_problem(error) or _one_line(error)
        if not expected and not numeric_problem(error):
            sentence = f"unexpected {type(error).__name__}: {sentence}"
        print(f"{name}: {sentence}", file=sys.stderr, flush=True)
        reporter.report("error", message=sentence)
        if not expected and not numeric_problem(error):
            raise
        status = BAD_INPUT if managed is None else int(getattr(error, "exit_status", FAILED))
    finally:
        signals.starting = False
        closed = _close(name, managed)
        # Python restores the default handlers at its end, and a late signal would kill it.
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)
    return status if closed else status or FAILED


def _spin(managed: ManagedNode, signals: _Signals, reporter: Reporter) -> None:
    # Python looks at the files of all modules when rclpy first asks for the place of a log call,
    # which would take several control periods.
    inspect.getmodule(inspect.currentframe())
    # A collection over all imported modules takes several control periods.
    gc.collect()
    gc.freeze()
    inbox, executor, clock = managed.inbox, ServiceExecutor(managed.node), time.monotonic
    # One at a time: all three together take much of a control period.
    idle_work = itertools.cycle((managed.on_idle, managed.publish_diagnostics, executor.run))
    idle_at = clock()
    try:
        while rclpy.ok() and not signals.received:
            due = managed.due
            wake_at = min(idle_at + _IDLE_DELAY_S, math.inf if due is None else due)
            inbox.wait(wake_at - clock(), for_any=managed.incomplete)
            received = _guarded(managed, inbox.read)
            if received:
                _guarded(managed, managed.on_messages)
            now, due = clock(), managed.due
            if due is not None and now >= due:
                _guarded(managed, managed.on_period)
            # Right after messages: the next ones come a control period later.
            if now >= idle_at and (received or now >= idle_at + _IDLE_DELAY_S):
                idle_at = now + IDLE_PERIOD_S / 3.0
                _guarded(managed, next(idle_work))
                if reporter.launcher_has_ended():
                    return
    finally:
        inbox.close()
        executor.close()


def _guarded(managed: ManagedNode, work: Callable[[], object]) -> bool:
    """Do some work and return its result, true after an error that the node handles."""
    try:
        return bool(work())
    except (RunError, ExternalShutdownException, ROSInterruptException):
        raise
    except Exception as error:
        if not rclpy.ok():
            raise
        managed.on_error(error)
    return True  # messages that were read before the error are acted on


def _close(name: str, managed: ManagedNode | None) -> bool:
    """Close and destroy the node; return whether closing succeeded.

    An error, for instance of writing the recording, is printed: it must not hide an earlier one.
    """

    def attempt(action: Callable[[], object]) -> bool:
        try:
            action()
        except Exception as error:
            print(f"{name}: while ending: {_one_line(error)}", file=sys.stderr, flush=True)
            return False
        return True

    closed = managed is None or attempt(managed.close)
    if managed is None or attempt(managed.node.destroy_node):
        attempt(rclpy.try_shutdown)
    return closed


def numeric_problem(error: BaseException) -> str:
    """Return the message of a numerical failure; empty for any other error."""
    if not isinstance(error, (LinAlgError, OverflowError, MemoryError)):
        return ""
    return (
        f"numbers are too large or too far apart ({_one_line(error)}); expected masses, lengths, "
        "gains and durations of a usual size."
    )


def _one_line(error: BaseException) -> str:
    """Return the message of an error in one line; messages of rcl repeat themselves."""
    text = str(error)
    if isinstance(error, RCLError):
        text = text.partition(", at ")[0]
    return " ".join(text.split()) or type(error).__name__


def _set_priority(node: Node) -> None:
    """Set the real-time priority of the parameters; warn if it is not granted."""
    if not node.has_parameter("realtime_priority"):
        return
    priority = int(node.get_parameter("realtime_priority").value)
    if priority and node.get_parameter("mode").value == "wall_clock":
        try:
            set_realtime_priority(priority)
        except PriorityError as error:
            node.get_logger().warning(str(error))


def set_realtime_priority(priority: int) -> None:
    """Request real-time scheduling of this process from Linux (SCHED_FIFO).

    The main thread and the threads of the middleware get the priority. Other threads of Python,
    and threads and processes started later, do not: path checks and recordings stay ordinary.

    Args:
        priority: From 1 to 99, the most urgent.

    Raises:
        PriorityError: If the process has no right to it, or the system has no such scheduler.
    """
    others = {
        thread.native_id
        for thread in threading.enumerate()
        if thread is not threading.main_thread()
    }
    try:
        policy = os.SCHED_FIFO | os.SCHED_RESET_ON_FORK
        for task in {int(name) for name in os.listdir(TASKS)} - others:
            os.sched_setscheduler(task, policy, os.sched_param(priority))
    except (AttributeError, OSError) as error:
        raise PriorityError(
            f"realtime_priority {priority} is not granted ({error}), and this process runs with "
            "ordinary priority; expected Linux and the right to it, for instance `rtprio` in "
            "/etc/security/limits.conf."
        ) from error
