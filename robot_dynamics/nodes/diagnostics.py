# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Diagnostics on /diagnostics: once a second, and at once when something changes (REP 107)."""

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

        Args:
            level: OK, WARN or ERROR.
            message: One sentence.
            values: Returns the figures.
            at_once: Whether to publish even without a change.

        Returns:
            Whether level or message has changed.
        """
        changed = self._last != (level, message)
        if not (changed or self.due or at_once):
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
        self._logged_at: dict[str, float] = {}

    def __call__(self, level: bytes, sentence: str) -> None:
        """Log the sentence of a status as an error or, for other levels, as a warning."""
        now, kind = time.monotonic(), _NUMBER.sub("#", sentence)
        if now < self._logged_at.get(kind, -math.inf) + INTERVAL_S:
            return
        if len(self._logged_at) >= _MOST_KINDS:
            self._logged_at.clear()
        self._logged_at[kind] = now
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
