# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Tracking errors of the object and loads of the drives over a run, from its recording."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.app.recordings.recording import TICK, Recording
from robot_dynamics.arrays import Array
from robot_dynamics.control.rotation_path import conjugate, product, rotation_vector


def position_error(recording: Recording) -> Array:
    """Return the object's true distance from the reference (ticks,) [m].

    Components blocked by touched surfaces do not count: a path may lead into them. For an object
    with a joint it is the larger distance of its two parts.
    """
    blocked = blocked_error(recording)[:, 3:]
    distances = [
        np.linalg.norm(wanted[:, :3] - true[:, :3] - blocked, axis=1)
        for true, wanted in _poses(recording)
    ]
    return np.asarray(np.max(distances, axis=0))


def orientation_error(recording: Recording) -> Array:
    """Return the object's true angle from the reference (ticks,) [rad]; see `position_error`."""
    turns = [product(wanted[:, 3:], conjugate(true[:, 3:])) for true, wanted in _poses(recording)]
    blocked = blocked_error(recording)[:, :3]
    if blocked.any():
        turned = [rotation_vector(turn) - blocked for turn in turns]
        return np.asarray(np.max([np.linalg.norm(one, axis=1) for one in turned], axis=0))
    angles = [
        2.0 * np.arctan2(np.linalg.norm(turn[:, :3], axis=1), np.abs(turn[:, 3])) for turn in turns
    ]
    return np.asarray(np.max(angles, axis=0))


def blocked_error(recording: Recording) -> Array:
    """Return the component of the error that touched surfaces block (ticks, 6).

    Rotation vector and displacement, world axes; zero where control does not run.
    """
    if "blocked_error" not in recording:
        return np.zeros((len(recording), 6))
    return np.nan_to_num(recording["blocked_error"])


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
