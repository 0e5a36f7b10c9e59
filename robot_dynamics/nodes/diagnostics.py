# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Diagnostics on /diagnostics: once a second, and at once when something changes (REP 107).

Sentences that differ only in numbers are of one kind. A kind is published and logged at most once
a second, so that a figure or a state that flickers floods neither.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Mapping

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node

from robot_dynamics.control.faults import FaultLatch

OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR
INTERVAL_S = 1.0
_NUMBER = re.compile(r"(?<!\w)\d[\d.]*(e[+-]?\d+)?")  # not the digits of names
_MOST_KINDS = 100  # largest number of remembered sentences


class _RateLimit:
    """Limits sentences of one kind to one a second."""

    def __init__(self) -> None:
        self._passed_at: dict[str, float] = {}

    def passes(self, kind: str) -> bool:
        """Return whether a sentence of this kind is due, which counts as its passing."""
        now = time.monotonic()
        if now < self._passed_at.get(kind, -math.inf) + INTERVAL_S:
            return False
        if len(self._passed_at) >= _MOST_KINDS:
            self._passed_at.clear()
        self._passed_at[kind] = now
        return True


def _kind(sentence: str) -> str:
    """Return a sentence without its numbers."""
    return _NUMBER.sub("#", sentence)


class Diagnostics:
    """Publishes the status of a node.

    Args:
        node: The node.
        hardware: The `hardware_id`: the name of the scenario.
    """

    def __init__(self, node: Node, hardware: str) -> None:
        self._node = node
        self._publisher = node.create_publisher(DiagnosticArray, "/diagnostics", 10)
        self._status = DiagnosticStatus(
            name=f"{node.get_fully_qualified_name().lstrip('/')}: state", hardware_id=hardware
        )
        self._due = 0.0
        self._last: tuple[bytes, str] | None = None
        self._limit = _RateLimit()

    def set_hardware(self, hardware: str) -> None:
        """Set the `hardware_id`."""
        self._status.hardware_id = hardware

    @property
    def due(self) -> bool:
        """Whether it is time for the regular message."""
        return time.monotonic() >= self._due

    def update(
        self,
        level: bytes,
        message: str,
        values: Callable[[], Mapping[str, object]],
        *,
        at_once: bool = False,
    ) -> bool:
        """Publish the status if it has changed or the regular message is due.

        A change of numbers alone waits for the regular message, and so does the return of a
        warning or of OK that was published less than a second ago. Errors never wait.

        Args:
            level: OK, WARN or ERROR.
            message: One sentence.
            values: Returns the figures.
            at_once: Whether to publish even without a change.

        Returns:
            Whether the published level or message has changed.
        """
        changed = self._last != (level, message)
        if not (at_once or self.due or (changed and self._is_new(level, message))):
            return False
        self._due = time.monotonic() + INTERVAL_S
        self._last = (level, message)
        self._status.level = level
        self._status.message = message
        self._status.values = [KeyValue(key=k, value=_text(v)) for k, v in values().items()]
        array = DiagnosticArray(status=[self._status])
        array.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(array)
        return changed

    def _is_new(self, level: bytes, message: str) -> bool:
        """Return whether a change is published at once."""
        kind = level, _kind(message)
        if self._last is not None and kind == (self._last[0], _kind(self._last[1])):
            return False
        return level == ERROR or self._limit.passes(f"{level!r}: {kind[1]}")


class Durations:
    """Statistics of the last durations of a repeated task.

    Args:
        limit_s: Duration above which a repetition counts as an overrun [s].
        window: Number of repetitions.
    """

    def __init__(self, limit_s: float, window: int = 1000) -> None:
        self._limit = limit_s
        self._values = np.zeros(window)
        self._count = 0
        self.overruns = 0

    def add(self, duration_s: float) -> None:
        """Add a duration [s]."""
        self._values[self._count % len(self._values)] = duration_s
        self._count += 1
        self.overruns += duration_s > self._limit

    def figures(self, name: str) -> dict[str, object]:
        """Return median, 99th percentile and maximum in microseconds, and the overruns."""
        values = self._values[: min(self._count, len(self._values))] * 1e6
        if not len(values):
            return {}
        median, high = np.percentile(values, [50, 99])
        return {
            f"{name} median [us]": float(median),
            f"{name} p99 [us]": float(high),
            f"{name} max [us]": float(values.max()),
            f"{name} overruns": self.overruns,
        }


class Latency:
    """Age of samples when the commands that answer them are sent.

    The age counts from the publication of the samples by the machine's clock and includes
    transport and computation; with two machines also the difference of their clocks.
    """

    def __init__(self) -> None:
        self._sampled: dict[str, int] = {}
        self._ages: list[float] = []

    def sampled(self, source: str, published: int) -> None:
        """Note when the last sample of a source was published [ns]; 0 if that is unknown."""
        if published:
            self._sampled[source] = published

    def sent(self) -> None:
        """Note that a command was sent, and the age of its oldest sample."""
        if self._sampled:
            self._ages.append(1e-3 * (time.time_ns() - min(self._sampled.values())))

    def figures(self) -> dict[str, object]:
        """Return mean and maximum since the last call in microseconds; empty without commands."""
        ages, self._ages = self._ages, []
        if not ages:
            return {}
        return {"latency mean [us]": float(np.mean(ages)), "latency max [us]": max(ages)}


class SentenceLog:
    """Logs sentences, at most one a second if they differ only in numbers.

    Args:
        node: The node that logs.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._limit = _RateLimit()

    def __call__(self, level: bytes, sentence: str) -> None:
        """Log the sentence of a status as an error or, for other levels, as a warning."""
        if not self._limit.passes(_kind(sentence)):
            return
        if level == ERROR:
            self._node.get_logger().error(sentence)
        else:  # on a line of its own: rclpy allows one severity per line of code
            self._node.get_logger().warning(sentence)


def fault_figures(safety: FaultLatch) -> dict[str, object]:
    """Return the faults since the last reset as values of a status, and the time of the first.

    The time is a control tick in lockstep, else the machine's steady clock [ns], which all
    processes share.
    """
    if not safety.faults:
        return {}
    found: dict[str, object] = {"first fault at": safety.faults[0][0]}
    return found | {f"fault {n}": fault for n, (_, fault) in enumerate(safety.faults, 1)}


def _text(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
