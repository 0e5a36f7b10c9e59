# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""How far an experiment was from what was wanted of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.app.studies.yoshikawa_zheng.experiment import Record
from robot_dynamics.app.studies.yoshikawa_zheng.tasks import DURATION, STEPS, task

Array = NDArray[np.float64]

_AFTER_STEP = 0.05  # what follows a step of the forces is no steady error for so long [s]
_GONE = 5e-3  # of a transient of a force [N]: a hundredth of the least force on the wall
_SETTLED = 0.05  # [N]
_STEADY_AFTER = 0.1  # from the first touch on [s]

#: What the figures are, in the order in which they are printed.
UNITS = {
    "x rms": "mm",
    "x max": "mm",
    "y rms": "mm",
    "y max": "mm",
    "orientation rms": "mrad",
    "orientation max": "mrad",
    "contact force rms": "N",
    "contact force max": "N",
    "internal force rms": "N",
    "internal force max": "N",
    "transient": "ms",
    "torque": "N m",
    "lost after": "s",
    "contacts": "",
    "peak force": "N",
    "settling": "ms",
    "least force": "N",
    "y after departure": "mm",
    "y at the end": "mm",
}


@dataclass(frozen=True)
class Errors:
    """Errors of one experiment by the names of `UNITS`; hardly any if the bar was lost.

    Attributes:
        values: The figures.
        lost: Whether the arms let the bar go astray.
    """

    values: dict[str, float]
    lost: bool

    def __getitem__(self, name: str) -> float:
        """Return a figure; not a number if there is none."""
        return self.values.get(name, float("nan"))

    def as_json(self) -> dict[str, object]:
        """Return the figures as JSON has them, units in their names."""
        named: dict[str, object] = {"lost": True} if self.lost else {}
        return named | {f"{n} [{UNITS[n]}]" if UNITS[n] else n: v for n, v in self.values.items()}


def errors_of(number: int, record: Record) -> Errors:
    """Return the errors of an experiment by its number.

    Rms errors of forces leave 50 ms after each step of what is wanted of them out. In experiment 3
    y counts while the bar is free, and the contact force from 0.1 s after the first touch on.
    """
    if record.lost:
        rises = float(np.count_nonzero(_rises(record.fine_press > 0.0)))
        return Errors({"lost after": float(record.time[-1]), "contacts": rises}, True)
    time = record.time
    e = (record.r - record.r_wanted) * 1e3
    # A sample is that at the end of its period.
    steps = [(time > step + 1e-9) & (time <= step + _AFTER_STEP) for step in STEPS]
    far = ~np.logical_or.reduce(steps)
    found = {"x rms": _rms(e[:, 0]), "x max": _largest(e[:, 0])}
    if number != 1:
        y = e[~record.pressing, 1]
        found |= {"y rms": _rms(y), "y max": _largest(y)}
    found |= {"orientation rms": _rms(e[:, 2]), "orientation max": _largest(e[:, 2])}
    inside = record.squeeze - record.squeeze_wanted
    press = record.press - record.press_wanted
    if number == 1:
        found |= {"contact force rms": _rms(press[far]), "contact force max": _largest(press)}
    found |= {"internal force rms": _rms(inside[far]), "internal force max": _largest(inside)}
    if number == 1:
        found["transient"] = max(_lasting(time[at], press[at]) for at in steps) * 1e3
    found["torque"] = _largest(record.torque)
    if number == 3:
        found |= _contact(record, far)
    return Errors(found, False)


def _contact(record: Record, far: NDArray[np.bool_]) -> dict[str, float]:
    """Return the figures of touching down and departing."""
    what, time = task(3), record.time
    f, fine = record.fine_press, record.fine_step * np.arange(1, len(record.fine_press) + 1)
    touching = (f > 0.0) & (fine <= what.leaving)
    if not touching.any():
        return {"contacts": 0.0}
    touch = float(fine[np.argmax(touching)])
    first = fine <= STEPS[0]  # until what is wanted changes
    off = first & (fine >= touch) & (np.abs(f - record.press_wanted[0]) > _SETTLED)
    steady = (time > touch + _STEADY_AFTER) & (time <= what.leaving)
    press = record.press - record.press_wanted
    away = time > what.leaving
    y = np.abs(record.r[away, 1] - record.r_wanted[away, 1]) * 1e3
    return {
        "contacts": float(np.count_nonzero(_rises(touching))),
        "peak force": float(f.max()),
        "settling": float(fine[off].max(initial=touch) - touch) * 1e3,
        "contact force rms": _rms(press[steady & far]),
        "contact force max": _largest(press[steady]),
        "least force": float(f[(fine > touch + _STEADY_AFTER) & (fine <= what.leaving)].min()),
        "y after departure": float(y.max()),
        "y at the end": float(y[-1]),
    }


def _rises(on: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return where something begins."""
    return np.asarray(np.diff(on.astype(int), prepend=0) == 1)


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))


def _largest(values: Array) -> float:
    return float(np.abs(values).max())


def _lasting(time: Array, error: Array) -> float:
    """Return how long [s] an error is above what counts as gone, from the first time on."""
    above = np.flatnonzero(np.abs(error) > _GONE)
    period = DURATION if len(time) < 2 else time[1] - time[0]
    return float(time[above[-1]] - time[0] + period) if len(above) else 0.0
