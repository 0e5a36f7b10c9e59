# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Diagnostics on /diagnostics: once a second, and at once when something changes (REP 107)."""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node

from robot_dynamics.control.faults import FaultLatch

OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR
INTERVAL_S = 1.0


class Diagnostics:
    """Publishes one status.

    Args:
        node: The node that speaks.
        hardware: What the status is about.
    """

    def __init__(self, node: Node, hardware: str) -> None:
        self._node = node
        self._publisher = node.create_publisher(DiagnosticArray, "/diagnostics", 10)
        self._status = DiagnosticStatus(
            name=f"{node.get_fully_qualified_name().lstrip('/')}: state", hardware_id=hardware
        )
        self._due = 0.0
        self._said: tuple[bytes, str] | None = None

    def concern(self, hardware: str) -> None:
        """Say what the status is about from now on."""
        self._status.hardware_id = hardware

    def due(self) -> bool:
        """Return whether it is time for the regular message."""
        return time.monotonic() >= self._due

    def changed(self, level: bytes, message: str) -> bool:
        """Return whether this is something else than what was said last."""
        return self._said != (level, message)

    def publish(self, level: bytes, message: str, values: Mapping[str, object]) -> None:
        """Publish the status now."""
        self._due = time.monotonic() + INTERVAL_S
        self._said = (level, message)
        self._status.level = level
        self._status.message = message
        self._status.values = [KeyValue(key=k, value=_text(v)) for k, v in values.items()]
        array = DiagnosticArray(status=[self._status])
        array.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(array)


class Durations:
    """How long something took, over its last repetitions.

    Args:
        limit_s: Duration [s] above which it counts as an overrun.
        window: Number of repetitions that are remembered.
    """

    def __init__(self, limit_s: float, window: int = 1000) -> None:
        self._limit = limit_s
        self._values = np.zeros(window)
        self._count = 0
        self.overruns = 0

    def add(self, duration_s: float) -> None:
        """Remember a duration [s]."""
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
    """How old the samples were that commands answer, when the commands were sent.

    By the machine's clock, from the publication of the samples: what messages and computation
    take together. Between two machines their clocks' difference is in it.
    """

    def __init__(self) -> None:
        self._sampled: dict[str, int] = {}
        self._ages: list[float] = []

    def sampled(self, source: str, published: int) -> None:
        """Note when the last sample of a source was published [ns]; 0 if nobody knows."""
        if published:
            self._sampled[source] = published

    def sent(self) -> None:
        """Note that a command is on its way; the oldest of its samples counts."""
        if self._sampled:
            self._ages.append(1e-3 * (time.time_ns() - min(self._sampled.values())))

    def figures(self) -> dict[str, object]:
        """Return mean and maximum in microseconds since the last call; nothing without any."""
        ages, self._ages = self._ages, []
        if not ages:
            return {}
        return {"latency mean [us]": float(np.mean(ages)), "latency max [us]": max(ages)}


def log(node: Node, level: bytes, sentence: str) -> None:
    """Log a sentence of a status that is not well: an error as such, all else as a warning."""
    if level == ERROR:
        node.get_logger().error(sentence)
    else:  # elsewhere, because rclpy wants one severity of each line of code
        node.get_logger().warning(sentence)


def fault_figures(safety: FaultLatch) -> dict[str, object]:
    """Return the faults since the last reset, and when the first came, as values of a status.

    The time is a control tick in lockstep, else of the machine's steady clock [ns], which all
    processes share.
    """
    if not safety.faults:
        return {}
    found: dict[str, object] = {"first fault at": safety.faults[0][0]}
    return found | {f"fault {n}": fault for n, (_, fault) in enumerate(safety.faults, 1)}


def _text(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
