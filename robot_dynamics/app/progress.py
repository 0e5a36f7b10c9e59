# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Progress of a run: a bar with live figures, lines of text, or lines of JSON."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TextIO

_LINE_EVERY_S = 10.0
_IMPORTED = time.perf_counter()


@dataclass(frozen=True)
class Progress:
    """Progress of a run, with live figures.

    Attributes:
        tick: Number of completed control periods.
        ticks: Control periods of the run.
        time_s: Simulated time [s].
        servo_error_mm: Distance of the estimated object from the servo's reference [mm]; only
            along surfaces while forces on them are controlled. Reports count the whole distance.
        squeeze_n: Measured squeeze [N]; None unless there is exactly one.
        torque_fraction: The largest torque over its limit at this instant.
    """

    tick: int
    ticks: int
    time_s: float
    servo_error_mm: float
    squeeze_n: float | None
    torque_fraction: float

    def text(self) -> str:
        """Return the figures in one line of fixed width."""
        squeeze = "" if self.squeeze_n is None else f"  squeeze {self.squeeze_n:6.1f} N"
        return (
            f"{self.time_s:6.2f} s  servo error {self.servo_error_mm:7.3f} mm{squeeze}  "
            f"torque {100.0 * self.torque_fraction:3.0f} %"
        )


@dataclass(frozen=True)
class StudyProgress:
    """Progress of a study.

    Attributes:
        tick: Parts that are over.
        ticks: Parts of the study.
        doing: The present activity.
    """

    tick: int
    ticks: int
    doing: str

    def text(self) -> str:
        """Return the present activity."""
        return self.doing


class Listener(Protocol):
    """A callback for the progress of a run or a study."""

    def __call__(self, progress: Progress | StudyProgress) -> None:
        """Take the progress."""


def print_event(event: str, stream: TextIO | None = None, **figures: Any) -> None:
    """Print a line of JSON for the program that started this one, and flush it.

    Args:
        event: "ready", "progress", "done" or "error".
        stream: Where to; standard output by default.
        figures: Its figures (JSON values). Numbers that are not finite become null.
    """
    finite = {
        key: None if isinstance(value, float) and value - value != 0.0 else value
        for key, value in figures.items()
    }
    print(json.dumps({"event": event, **finite}), file=stream or sys.stdout, flush=True)


def event_of(line: str) -> dict[str, Any] | None:
    """Return the event of a line by `print_event`; None for any other line."""
    try:
        event = json.loads(line) if line.lstrip().startswith("{") else None
    except ValueError:
        return None
    return event if isinstance(event, dict) and isinstance(event.get("event"), str) else None


@contextmanager
def display(title: str, stream: TextIO | None = None) -> Iterator[Listener]:
    """Show the progress of a run.

    Args:
        title: Name of the run.
        stream: Where to; standard output by default. A terminal gets a bar with live figures,
            anything else a line every ten seconds.
    """
    stream = stream or sys.stdout
    if not stream.isatty():
        yield _Lines(title, stream)
        return
    # Imported here, because it takes a tenth of a second.
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("[bold]{task.description}"),
        BarColumn(bar_width=30),
        TextColumn("{task.percentage:3.0f} %"),
        TextColumn("{task.fields[figures]}"),
    )
    with Bar(*columns, console=Console(file=stream), refresh_per_second=12) as bar:
        task = bar.add_task(title, total=None, figures="starting")

        def update(progress: Progress | StudyProgress) -> None:
            bar.update(
                task, total=progress.ticks, completed=progress.tick, figures=progress.text()
            )

        yield update


class _Lines:
    """Prints a line every ten seconds, and the last one."""

    def __init__(self, title: str, stream: TextIO) -> None:
        self._title, self._stream = title, stream
        self._last = -_LINE_EVERY_S

    def __call__(self, progress: Progress | StudyProgress) -> None:
        now = time.monotonic()
        if now - self._last < _LINE_EVERY_S and progress.tick < progress.ticks:
            return
        self._last = now
        percent = 100.0 * progress.tick / max(progress.ticks, 1)
        line = f"{self._title}: {percent:3.0f} %  {progress.text()}"
        print(line, file=self._stream, flush=True)


def seconds_since_process_start() -> float:
    """Return the time since the start of this process [s], interpreter and imports included."""
    try:
        fields = Path("/proc/self/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        begun = int(fields[19]) / os.sysconf("SC_CLK_TCK")
        return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - begun)
    except (OSError, ValueError, IndexError, AttributeError):  # no Linux
        return time.perf_counter() - _IMPORTED
