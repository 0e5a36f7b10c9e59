# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The life of a node's process: start, signals, the loop, errors, exit status.

Signals set a flag and leave the context alone, so that a node can send a last command when it is
asked to end; a second signal, which `ros2 launch` sends after the terminal's own, changes nothing.
"""

from __future__ import annotations

import gc
import itertools
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, Protocol

import rclpy
from numpy.linalg import LinAlgError
from rclpy._rclpy_pybind11 import RCLError
from rclpy.exceptions import ROSInterruptException
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from robot_dynamics.app.progress import print_event
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.nodes.services import ServiceExecutor
from robot_dynamics.nodes.topics import Inbox

BAD_INPUT = 2  # exit status for files and settings, as shells use it
FAILED = 1
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
IDLE_PERIOD_S = 0.02  # between looks at services, at who listens, and at signals
_SLACK_S = 0.005  # for which idle work waits for messages, to come after them
# Python lets a thread run for 5 ms before another one may. Threads here check paths and write
# files; the one that controls must not wait for them.
_SWITCH_S = 1e-4


class RunError(RobotDynamicsError):
    """A run that cannot go on: the other side is gone, or somebody has to intervene."""


class RefusedError(RunError):
    """A run that was refused before anything moved."""

    exit_status = BAD_INPUT


class ManagedNode(Protocol):
    """What `run` needs of a node."""

    @property
    def node(self) -> Node:
        """The node."""

    @property
    def inbox(self) -> Inbox:
        """Its subscriptions."""

    @property
    def due(self) -> float | None:
        """When `on_period` is to be called, by the steady clock [s]; None: not at all."""

    @property
    def incomplete(self) -> bool:
        """Whether messages are awaited of which others of the same instant have come."""

    def on_messages(self) -> None:
        """Do what is to be done when all messages that are there have been read."""

    def on_period(self) -> None:
        """Do what the time has come for, and say when it is to be called next."""

    def on_idle(self) -> None:
        """Look after what has time, about every `IDLE_PERIOD_S`."""

    def tell(self) -> None:
        """Publish how things are where that is due, about every `IDLE_PERIOD_S`."""

    def take_error(self, error: Exception) -> None:
        """Go on after an error that nobody expected, or raise it."""

    def close(self) -> None:
        """Send last commands and save what was recorded; the context is still good."""


class Reporter:
    """Tells a launcher on standard output what happens, one JSON object a line, when it asks so.

    Attributes:
        enabled: Whether anybody wants to know.
    """

    def __init__(self) -> None:
        self.enabled = False
        self._launcher = os.getppid()

    def tell(self, event: str, **figures: Any) -> None:
        """Print an event and its figures (JSON values)."""
        if not self.enabled:
            return
        try:
            print_event(event, **figures)
        except OSError:  # the launcher is gone
            self.enabled = False
            # Python flushes again when it ends, and would complain.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    def launcher_is_gone(self) -> bool:
        """Return whether the process that reads the reports has ended and left this one behind."""
        return self.enabled and os.getppid() != self._launcher


class _Signals:
    """SIGINT and SIGTERM: an exception while a node starts, a flag while it runs."""

    def __init__(self) -> None:
        self.received = False
        self.starting = True
        for number in _SIGNALS:
            signal.signal(number, self._take)

    def _take(self, number: int, frame: FrameType | None) -> None:
        first = not self.received
        self.received = True
        if self.starting and first:
            raise KeyboardInterrupt


def run(
    name: str,
    create: Callable[[Reporter], ManagedNode],
    arguments: Sequence[str] | None = None,
) -> int:
    """Run a node until a signal or an error ends it; return the exit status of the process.

    Args:
        name: The node's name, for messages.
        create: Makes the node.
        arguments: The command line, ROS arguments included; that of the process by default.
    """
    signals = _Signals()
    reporter = Reporter()
    sys.setswitchinterval(_SWITCH_S)
    # Shared memory of Fast DDS holds its writers up for a second when a reader is stopped while
    # it has a lock: a guard that was held up like this came a second late.
    os.environ.setdefault("FASTDDS_BUILTIN_TRANSPORTS", "UDPv4")
    managed: ManagedNode | None = None
    try:
        rclpy.init(
            args=None if arguments is None else list(arguments),
            signal_handler_options=SignalHandlerOptions.NO,
        )
        managed = create(reporter)
        _prefer(managed.node)
        signals.starting = False
        reporter.tell("ready")
        if not signals.received:
            _spin(managed, signals, reporter)
        status = 0
    except (KeyboardInterrupt, ExternalShutdownException, ROSInterruptException):
        status = 0
    except (RobotDynamicsError, RCLError) as error:
        _complain(name, reporter, _one_line(error))
        status = BAD_INPUT if managed is None else int(getattr(error, "exit_status", FAILED))
    except (LinAlgError, OverflowError, MemoryError) as error:
        sentence = (
            f"numbers are too large or too far apart ({_one_line(error)}); expected masses, "
            "lengths, gains and durations of a usual size."
        )
        _complain(name, reporter, sentence)
        status = BAD_INPUT if managed is None else FAILED
    except Exception as error:
        _complain(name, reporter, f"unexpected {type(error).__name__}: {_one_line(error)}")
        raise
    finally:
        signals.starting = False
        closed = _end(name, managed)
        # When the interpreter ends it restores the defaults, and a late signal would kill it.
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)
    return status if closed else status or FAILED


def _prefer(node: Node) -> None:
    """Let the process go before others if its parameters want that; say so if it may not."""
    if not node.has_parameter("realtime_priority"):
        return
    priority = int(node.get_parameter("realtime_priority").value)
    if priority and node.get_parameter("mode").value == "wall_clock":
        try:
            go_before_others(priority)
        except PriorityError as error:
            node.get_logger().warning(str(error))


def _spin(managed: ManagedNode, signals: _Signals, reporter: Reporter) -> None:
    # Looking through everything that was made until now takes several control periods.
    gc.collect()
    gc.freeze()
    inbox, executor, clock = managed.inbox, ServiceExecutor(managed.node), time.monotonic
    # One at a time: all of them together would take a good part of a control period.
    chores = itertools.cycle((managed.on_idle, managed.tell, executor.run))
    tidy_at = clock()
    try:
        while rclpy.ok() and not signals.received:
            due = managed.due
            next_at = min(tidy_at + _SLACK_S, math.inf if due is None else due)
            inbox.wait(next_at - clock(), for_any=managed.incomplete)
            heard = _shield(managed, inbox.read)
            if heard:
                _shield(managed, managed.on_messages)
            now, due = clock(), managed.due
            if due is not None and now >= due:
                _shield(managed, managed.on_period)
            # Best after messages: the next ones come a control period later.
            if now >= tidy_at and (heard or now >= tidy_at + _SLACK_S):
                tidy_at = now + IDLE_PERIOD_S / 3.0
                _shield(managed, next(chores))
                if reporter.launcher_is_gone():
                    return
    finally:
        inbox.close()
        executor.close()


def _shield(managed: ManagedNode, work: Callable[[], object]) -> bool:
    """Do some work and return whether it says so; the node decides whether it outlives an error.

    What was read before an error is to be answered.
    """
    try:
        return bool(work())
    except (RunError, ExternalShutdownException, ROSInterruptException):
        raise
    except Exception as error:
        if not rclpy.ok():
            raise
        managed.take_error(error)
    return True


def _complain(name: str, reporter: Reporter, sentence: str) -> None:
    print(f"{name}: {sentence}", file=sys.stderr, flush=True)
    reporter.tell("error", message=sentence)


def _end(name: str, managed: ManagedNode | None) -> bool:
    """Close and destroy whatever is there; what goes wrong now must not hide what went before.

    Returns:
        Whether nothing went wrong while closing, as writing the recording may.
    """
    closed = True
    try:
        if managed is not None:
            managed.close()
    except Exception as error:
        closed = False
        print(f"{name}: while ending: {_one_line(error)}", file=sys.stderr, flush=True)
    try:
        if managed is not None:
            managed.node.destroy_node()
        rclpy.try_shutdown()
    except Exception as error:
        print(f"{name}: while ending: {_one_line(error)}", file=sys.stderr, flush=True)
    return closed


def _one_line(error: BaseException) -> str:
    """Return the message of an error; those of rcl repeat themselves over several lines."""
    text = str(error)
    if isinstance(error, RCLError):
        text = text.partition(", at ")[0]
    return " ".join(text.split()) or type(error).__name__


def seconds_since_process_start() -> float:
    """Return how long ago this process was started [s], its interpreter and imports included."""
    try:
        with open("/proc/self/stat", encoding="ascii") as file:
            ticks = int(file.read().rpartition(")")[2].split()[19])
        begun = ticks / os.sysconf("SC_CLK_TCK")
        return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - begun)
    except (OSError, ValueError, IndexError, AttributeError):  # no Linux
        return time.perf_counter() - _IMPORTED


_IMPORTED = time.perf_counter()


TASKS = "/proc/self/task"


class PriorityError(RobotDynamicsError):
    """A priority that the system does not grant."""


def go_before_others(priority: int) -> None:
    """Give this process a real-time priority, but for what it does on the side.

    The main thread and those of the middleware get it. Other threads of Python do not, and
    neither do threads and processes that are started later.

    Args:
        priority: From 1 to 99, the most urgent.

    Raises:
        PriorityError: If the process has no right to it, or the system has no such thing.
    """
    beside = {
        thread.native_id
        for thread in threading.enumerate()
        if thread is not threading.main_thread()
    }
    try:
        policy = os.SCHED_FIFO | os.SCHED_RESET_ON_FORK
        for task in {int(name) for name in os.listdir(TASKS)} - beside:
            os.sched_setscheduler(task, policy, os.sched_param(priority))
    except (AttributeError, OSError) as error:
        raise PriorityError(
            f"realtime_priority {priority} is not granted ({error}); expected Linux, and the "
            "right to it, as of `rtprio` in /etc/security/limits.conf: this process goes on as "
            "an ordinary one."
        ) from error
