# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What the controller's diagnostics say of a recorded run: once a second, and when it stopped."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from robot_dynamics.app.bags.messages import Messages
from robot_dynamics.app.recording import TICK, Recording

_OK, _ERROR = 0, 2  # of diagnostic_msgs/DiagnosticStatus
_INTERVAL_S = 1.0
_NAME = "controller: state"


@dataclass(frozen=True)
class Status:
    """A status of the controller.

    Attributes:
        level: Of diagnostic_msgs/DiagnosticStatus.
        sentence: The state, and what is wrong if something is.
        values: Figures with their names.
        hardware: What it is about.
    """

    level: int
    sentence: str
    values: dict[str, str]
    hardware: str

    def message(self, make: Messages, stamp: int) -> Any:
        """Return the message at a time [ns]."""
        values = [
            make.make("diagnostic_msgs/KeyValue", key=key, value=value)
            for key, value in self.values.items()
        ]
        status = make.make(
            "diagnostic_msgs/DiagnosticStatus",
            level=self.level,
            name=_NAME,
            message=self.sentence,
            hardware_id=self.hardware,
            values=values,
        )
        header = make.header(stamp)
        return make.make("diagnostic_msgs/DiagnosticArray", header=header, status=[status])


def diagnostics_of(recording: Recording) -> dict[int, Status]:
    """Return what there is to say, by row of the recording; nothing without a controller's."""
    if "step_time" not in recording or not len(recording):
        return {}
    period, ticks = recording.get("period_s"), recording[TICK]
    every = max(1, round(_INTERVAL_S / period))
    fault = str(recording.metadata.get("fault", ""))
    stopped = _row_of(fault, ticks * period)
    rows = {*range(0, len(recording), every), *([] if stopped is None else [stopped])}
    found = {}
    for row in sorted(rows):
        over = stopped is not None and row >= stopped
        begin = max(0, row - every + 1)
        level, sentence = (_ERROR, f"fallback: {fault}") if over else (_OK, "active")
        found[row] = Status(
            level, sentence, _figures(recording, begin, row), recording.get("scenario")
        )
    return found


def _figures(recording: Recording, begin: int, row: int) -> dict[str, str]:
    values = recording["step_time"][begin : row + 1]
    values = values[np.isfinite(values)]
    figures = {"tick": f"{recording[TICK][row]:.0f}"}
    if len(values):
        figures["control cycle median [us]"] = f"{np.median(values):.4g}"
        figures["control cycle max [us]"] = f"{values.max():.4g}"
    if "estimated_closure" in recording:
        largest = np.abs(recording["estimated_closure"][row]).max(initial=0.0)
        figures["closure error [m or rad]"] = f"{largest:.4g}"
    return figures


def _row_of(fault: str, times: Any) -> int | None:
    """Return the row in which a fault was found, which begins with its time."""
    match = re.match(r"at ([-+\d.e]+) s: ", fault)
    if match is None:
        return None
    return int(np.argmin(np.abs(times - float(match.group(1)))))
