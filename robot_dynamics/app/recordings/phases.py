# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Figures of the phases of a task, from its recording alone."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.app.recordings.metrics import largest, pushed_surfaces
from robot_dynamics.app.recordings.recording import Recording
from robot_dynamics.arrays import Array
from robot_dynamics.control.rotation_path import distance_between

_GRAVITY = 9.80665  # standard gravity [m/s^2]


class RecordedPhase(NamedTuple):
    """A phase of a recorded task.

    Attributes:
        name: Its name.
        first: Its first row.
        end: The row after its last.
    """

    name: str
    first: int
    end: int


def running_phases(column: Array) -> NDArray[np.intp]:
    """Return the running phases (N,) of a column `phase`, as indices among all phases.

    While the law of a controller node does not run, as after a fault, its values are NaN: the last
    phase before counts.
    """
    values = column.ravel()
    known = np.where(np.isnan(values), 0, np.arange(len(values)))
    return np.nan_to_num(values[np.maximum.accumulate(known)]).astype(np.intp)


def recorded_phases(recording: Recording) -> list[RecordedPhase]:
    """Return the phases of a task in the order of time; empty without a task."""
    if "phase" not in recording:
        return []
    index, names = running_phases(recording["phase"]), recording.get("phases")
    edges = [0, *(np.flatnonzero(np.diff(index)) + 1).tolist(), len(index)]
    pairs = pairwise(edges)
    return [RecordedPhase(names[index[first]], first, end) for first, end in pairs if first < end]


def phase_figures(recording: Recording) -> dict[str, Any]:
    """Return figures of a task by the names of their thresholds; empty without a task.

    A figure of a phase that the task did not reach is None.
    """
    phases = recorded_phases(recording)
    if not phases:
        return {}
    period = recording.get("period_s")
    poses, force = recording["object_pose"], pushed_surfaces(recording)
    moved = {name: _moved(recording, phases, name) for name in ("grasp", "release")}
    downs = [one for one in phases if one.name in ("put_down", "put_back: put_back")]
    down = [np.arange(one.first, one.end) for one in downs]
    figures: dict[str, Any] = {
        "phases": [
            {"name": one.name, "from_s": one.first * period, "to_s": one.end * period}
            for one in phases
        ],
        "failed_phase": _failed_phase(recording, phases),
        "grasp_displacement_max_m": largest(moved["grasp"]),
        "release_displacement_max_m": largest(moved["release"]),
        "put_down_force_max_n": largest(force[np.concatenate(down)]) if down else None,
        "drop_height_max_m": _drop_height(recording),
        "phase_torque_rate_max_fraction": _torque_rate(recording, phases),
        "place_error_m": None,
        "place_error_deg": None,
    }
    places, released = recording.get("places"), [one for one in phases if one.name == "release"]
    back = phases[-1].name.startswith("put_back: ")
    if back or (released and len(released) == len(places)):
        place = poses[0] if back and not released else np.array(places[len(released) - 1])
        off, turn = distance_between(poses[-1], place)
        figures["place_error_m"] = largest(np.array([off]))
        figures["place_error_deg"] = largest(np.degrees([turn]))
    return figures


def _failed_phase(recording: Recording, phases: list[RecordedPhase]) -> str:
    """Return the name of the phase in which a task failed, or was stopped; empty if in none.

    Only phases of safe ends follow it; their names are "end: phase".
    """
    facts = ("task_failure", "fault", "task_unfinished")
    if not any(recording.metadata.get(name) for name in facts):
        return ""
    return next((one.name for one in reversed(phases) if ": " not in one.name), phases[0].name)


def _drop_height(recording: Recording) -> float | None:
    """Return the height [m] of the free fall that leads to the object's largest downward speed."""
    downward = np.maximum(-recording["object_twist"][:, 5], 0.0)
    return largest(downward**2 / (2.0 * _GRAVITY))


def _moved(recording: Recording, phases: list[RecordedPhase], name: str) -> Array:
    """Return distances [m] of the object from its place before each such phase, in its rows."""
    paths = [
        recording["object_pose"][one.first : one.end, :3] for one in phases if one.name == name
    ]
    every = [np.linalg.norm(path - path[0], axis=1) for path in paths]
    return np.concatenate(every) if every else np.empty(0)


def _torque_rate(recording: Recording, phases: list[RecordedPhase]) -> float | None:
    """Return the largest change of a torque from a phase to the next, over the largest allowed."""
    torque, most = recording["commanded_torque"], recording.get("torque_rate")
    first = [one.first for one in phases[1:]]
    steps = np.abs(torque[first] - torque[np.array(first, dtype=int) - 1])
    return largest(np.append(steps, 0.0) / (most * recording.get("period_s")))
