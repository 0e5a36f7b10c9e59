# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Tracking errors of the object and loads of the drives over a run, from its recording."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.app.recordings.blocking import blocked_error
from robot_dynamics.app.recordings.recording import TICK, Recording
from robot_dynamics.arrays import Array
from robot_dynamics.control.rotation_path import conjugate, product, turn


def position_error(recording: Recording, blocked: Array | None = None) -> Array:
    """Return the object's true distance from the reference (ticks,) [m].

    The part that surfaces block does not count. For an object with a joint it is the larger
    distance of its two parts.

    Args:
        recording: The run.
        blocked: `blocked_error(recording)`, if the caller has it already.
    """
    blocked = blocked_error(recording) if blocked is None else blocked
    distances = [
        np.linalg.norm(wanted[:, :3] - true[:, :3] - blocked[:, 3:], axis=1)
        for true, wanted in _poses(recording)
    ]
    return np.asarray(np.max(distances, axis=0))


def orientation_error(recording: Recording, blocked: Array | None = None) -> Array:
    """Return the object's true angle from the reference (ticks,) [rad]; see `position_error`."""
    blocked = (blocked_error(recording) if blocked is None else blocked)[:, :3]
    angles = []
    for true, wanted in _poses(recording):
        way = product(wanted[:, 3:], conjugate(true[:, 3:]))
        if blocked.any():
            angle = np.linalg.norm(blocked, axis=1)
            axis = blocked / np.maximum(angle, 1e-300)[:, None]
            way = product(turn(axis, -angle), way)
        sine = np.linalg.norm(way[:, :3], axis=1)
        angles.append(2.0 * np.arctan2(sine, np.abs(way[:, 3])))
    return np.asarray(np.max(angles, axis=0))


def _poses(recording: Recording) -> list[tuple[Array, Array]]:
    """Return true and wanted poses (ticks, 7) of the object, or of both its parts."""
    pairs = [(recording["object_pose"], recording["reference_pose"])]
    if "second_pose" in recording:
        pairs.append((recording["second_pose"], recording["reference_second_pose"]))
    return pairs


def torque_fractions(recording: Recording) -> Array:
    """Return applied torques over the joints' limits (ticks, na); 0 without a limit."""
    return np.asarray(np.abs(recording["applied_torque"]) / effort_limits(recording))


def effort_limits(recording: Recording) -> Array:
    """Return the joints' effort limits (na,), infinite without a limit."""
    limits = [np.inf if limit is None else limit for limit in recording.get("effort_limits")]
    return np.array(limits, dtype=float)


def settled(recording: Recording) -> NDArray[np.bool_]:
    """Return whether the reference has settled at each tick (ticks,)."""
    times = recording[TICK] * recording.get("period_s")
    inside = np.zeros(len(times), dtype=bool)
    half = 0.5 * recording.get("period_s")
    for begin, end in recording.get("settled_intervals_s"):
        inside |= (times >= begin - half) & (times <= end + half)
    return inside
