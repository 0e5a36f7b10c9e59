# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Figures of a run's internal forces, contacts, hinges and lines, from its recording.

Laws name their internal forces in the metadata.

A touch of a surface begins when the object first presses on it while a force is desired, and ends
when no force is desired any more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.app.recordings.recording import Recording
from robot_dynamics.arrays import Array
from robot_dynamics.manipulation.grasp_map import is_moment


def squeezes(names: Sequence[str]) -> list[int]:
    """Return which internal forces of some names (m,) are squeezes."""
    return [i for i, name in enumerate(names) if name.startswith("squeeze")]


def moments(recording: Recording) -> NDArray[np.bool_]:
    """Return which internal forces are moments (m,)."""
    return np.array([is_moment(name) for name in recording.get("internal_forces")], dtype=bool)


def internal_force_errors(recording: Recording) -> tuple[Array, Array]:
    """Return the errors of internal forces (ticks,) [N] and moments (ticks,) [N m].

    The error is relative to the reference plus the force that control added to it; see
    `added_internal_forces`. Each is the norm over all forces, or over all moments.
    """
    error = recording["internal_force"] - recording["reference_internal_force"]
    if "added_internal_force" in recording:
        error = error - recording["added_internal_force"]
    return _sizes(recording, error)


def added_internal_forces(recording: Recording) -> tuple[Array, Array] | None:
    """Return the internal forces (ticks,) [N] and moments (ticks,) [N m] that control added.

    Control adds them so that contacts hold and torques stay within limits. Each is the norm over
    all forces, or over all moments; None for laws without this correction. After a fault, rows
    without numbers are omitted.
    """
    if "added_internal_force" not in recording:
        return None
    added = recording["added_internal_force"]
    if recording.metadata.get("fault"):
        added = added[np.isfinite(added).all(axis=1)]
    return _sizes(recording, added)


def _sizes(recording: Recording, error: Array) -> tuple[Array, Array]:
    """Return the sizes of forces (ticks,) and moments (ticks,) among internal forces."""
    turning = moments(recording)
    force, moment = (np.linalg.norm(error[:, at], axis=1) for at in (~turning, turning))
    return force, moment


def largest(values: Array) -> float | None:
    """Return the largest value, or None if there is none or one is not finite."""
    if values.size == 0 or not np.isfinite(values).all():
        return None
    return float(values.max())


def smallest(values: Array) -> float | None:
    """Return the smallest value, or None if there is none or one is not finite."""
    lowest = largest(-values)
    return None if lowest is None else -lowest


SETTLED_PART = (
    0.05  # of the wanted force: a touch has settled when the force stays as near as that
)
SETTLE_S = 0.3  # after a touch, or a change of the wanted force, in which errors do not count yet
_MOVING = 0.02  # speed of the reference from which on the object counts as moving [m/s]
_REST = 1e-6  # speed of the reference below which the object counts as at rest [m/s]


@dataclass(frozen=True)
class Touch:
    """One touch of one surface; ticks are rows of the recording.

    Attributes:
        surface: Index of the surface.
        first: Row of the first touch.
        end: Row after the last with a desired force.
        speed: Speed of the object's origin one row before [m/s].
        contacts: Number of contacts, including the first.
        settled: Row from which the force stayed near the first desired one, until that changed;
            `end` if it never did.
    """

    surface: int
    first: int
    end: int
    speed: float
    contacts: int
    settled: int


def contact_figures(recording: Recording) -> dict[str, Any]:
    """Return figures of contacts by the names of their thresholds; empty without contacts."""
    figures: dict[str, Any] = {}
    force = pushed_surfaces(recording)
    if force.shape[1]:
        figures["contact_force_max_n"] = largest(force)
        if "reference_contact_force" in recording:
            figures |= _surface_figures(recording)
    if "grasp_slip" in recording:
        figures["grasp_slip_max_m"] = largest(recording["grasp_slip"])
    if "grasp_tilt" in recording:
        figures["grasp_tilt_max_deg"] = largest(np.degrees(recording["grasp_tilt"]))
    if "surface_slip" in recording:
        figures["surface_slip_max_m"] = largest(recording["surface_slip"])
    if "slip_margin" in recording:
        figures["slip_margin_min"] = smallest(recording["slip_margin"])
        if "grasp_slip" in recording or "surface_slip" in recording:
            figures["slip_warning_lead_s"] = warning_lead(recording)
    return figures


def touches(recording: Recording) -> list[Touch]:
    """Return the touches of a recording, in the order of surfaces and time."""
    force, wanted = _forces(recording)
    found = []
    for surface in range(wanted.shape[1]):
        for begin, end in spells(wanted[:, surface] > 0.0):
            pressed = force[begin:end, surface] > 0.0
            if pressed.any():
                found.append(_touch(recording, surface, begin + int(np.argmax(pressed)), end))
    return found


def warning_lead(recording: Recording) -> float | None:
    """Return the time from the slip warning to the first slip [s]; None without slip.

    A warning that ended before the slip does not count. Negative if it came only after the slip,
    or not before the end of the run.
    """
    moved = np.concatenate(
        [recording[name] for name in ("grasp_slip", "surface_slip") if name in recording], axis=1
    )
    slipped = np.flatnonzero((moved > recording.get("slip_tolerance_m")).any(axis=1))
    if not len(slipped):
        return None
    warned = np.asarray((recording["slip_margin"] < 0.0).any(axis=1))
    ends = [(begin, end) for begin, end in spells(warned) if end > slipped[0]]
    first = ends[0][0] if ends else len(recording)
    return float(slipped[0] - first) * float(recording.get("period_s"))


def _surface_figures(recording: Recording) -> dict[str, Any]:
    force, wanted = _forces(recording)
    period = float(recording.get("period_s"))
    every = touches(recording)
    quiet = round(SETTLE_S / period)
    speed = np.linalg.norm(recording["reference_twist"][:, 3:], axis=1)
    counted = np.zeros(force.shape, dtype=bool)
    for one in every:
        counted[one.first + quiet : one.end, one.surface] = True
    changing = np.abs(np.diff(wanted, axis=0, prepend=wanted[:1])) > 0.0
    for row, surface in np.argwhere(changing):
        counted[row : row + quiet, surface] = False
    counted &= wanted > 0.0
    part = np.zeros(force.shape)
    np.divide(np.abs(force - wanted), wanted, out=part, where=counted)
    resting = counted & (_since(speed > _REST) * period >= SETTLE_S)[:, None]
    moving = counted & (speed > _MOVING)[:, None]
    guides = ~(wanted > 0.0).any(axis=0)
    of_guides = {"guide_force_max_n": largest(force[:, guides])} if guides.any() else {}
    return {
        **of_guides,
        "contact_force_error_settled_fraction": largest(part[resting]),
        "contact_force_error_moving_fraction": largest(part[moving]),
        "contact_speed_moving_max": largest(speed[moving.any(axis=1)]),
        "touch_speed_max": largest(np.array([one.speed for one in every])),
        "touch_contacts_max": largest(np.array([one.contacts for one in every])),
        "touch_settling_max_s": largest(
            period * np.array([one.settled - one.first for one in every])
        ),
    }


def pushed_surfaces(recording: Recording) -> Array:
    """Return the true normal forces on the surfaces that can only be pushed (ticks, surfaces) [N].

    Hinges and lines are left out: the object is on them throughout.
    """
    if "contact_force" not in recording:
        return np.zeros((len(recording), 0))
    force = recording["contact_force"]
    return force[:, [i for i, _ in _pushed(recording)]]


def _pushed(recording: Recording) -> list[tuple[int, int]]:
    """Return the index of each surface that can only be pushed, with its wanted force's index."""
    count = recording["contact_force"].shape[1]
    first = recording.metadata.get("surface_rows", list(range(count)))
    held = {row for _, row, *_ in recording.metadata.get("holding_rows", [])}
    return [(i, row) for i, row in enumerate(first) if row not in held]


def _forces(recording: Recording) -> tuple[Array, Array]:
    """Return true and wanted normal forces on pushed surfaces (ticks, surfaces) [N]."""
    wanted = recording["reference_contact_force"]
    return pushed_surfaces(recording), wanted[:, [row for _, row in _pushed(recording)]]


def _touch(recording: Recording, surface: int, first: int, end: int) -> Touch:
    force, wanted = (values[first:end, surface] for values in _forces(recording))
    changes = np.flatnonzero(np.diff(wanted) != 0.0)
    until = int(changes[0]) + 1 if len(changes) else len(wanted)
    far = np.flatnonzero(~(np.abs(force - wanted) <= SETTLED_PART * wanted)[:until])
    settled = int(far[-1]) + 1 if len(far) else 0
    pressed = force > 0.0
    anew = int(np.sum(pressed[1:] & ~pressed[:-1])) + 1
    speed = float(np.linalg.norm(recording["object_twist"][max(first - 1, 0), 3:]))
    never = settled == until
    return Touch(surface, first, end, speed, anew, end if never else first + settled)


def spells(inside: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """Yield begin and end of each stretch of true values."""
    edges = np.flatnonzero(np.diff(inside.astype(int), prepend=0, append=0))
    yield from zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)


def _since(event: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return for each row the number of rows since an event; a large number before the first."""
    rows = np.arange(len(event))
    last = np.maximum.accumulate(np.where(event, rows, -(10**9)))
    return np.asarray(rows - last)


class Holding(NamedTuple):
    """The forces, or the moments, of one hinge or line over a run.

    Attributes:
        name: Name of the hinge or the line.
        unit: "N" or "N m".
        axes: Axis of its frame for each component: "x", "y", "z", or "-x" for the opposite sign;
            numbers in recordings without axes.
        force: True forces by the object (ticks, r).
        wanted: Wanted forces (ticks, r); None if the law wants none.
    """

    name: str
    unit: str
    axes: tuple[str, ...]
    force: Array
    wanted: Array | None


def holdings(recording: Recording) -> Iterator[Holding]:
    """Yield the forces, then the moments, of each hinge and line."""
    if "holding_force" not in recording:
        return
    known, force = recording.get("holding_rows"), recording["holding_force"]
    wanted = None
    if "reference_contact_force" in recording:
        wanted = recording["reference_contact_force"][:, [row for _, row, _ in known]]
    stated = recording.metadata.get("holding_axes")
    for name, unit in dict.fromkeys((name, unit) for name, _, unit in known):
        own = [i for i, (one, _, its) in enumerate(known) if (one, its) == (name, unit)]
        axes = tuple(stated[at] if stated else str(i + 1) for i, at in enumerate(own))
        yield Holding(name, unit, axes, force[:, own], None if wanted is None else wanted[:, own])


def holding_error(recording: Recording, unit: str) -> Array | None:
    """Return the largest error of the forces on hinges and lines (ticks,).

    Args:
        recording: The run.
        unit: "N" for forces, "N m" for moments.

    Returns:
        Errors in that unit; None without such forces, or if none are wanted.
    """
    off = [
        np.linalg.norm(one.force - one.wanted, axis=1)
        for one in holdings(recording)
        if one.unit == unit and one.wanted is not None
    ]
    return np.asarray(np.max(off, axis=0)) if off else None


def holding_figures(recording: Recording, settled: NDArray[np.bool_]) -> dict[str, Any]:
    """Return the largest forces and errors by the names of their thresholds; empty without hinges.

    Args:
        recording: The run.
        settled: Mask of rows in which the reference is at rest.
    """
    figures: dict[str, Any] = {}
    for unit, kind, short in (("N", "force", "n"), ("N m", "moment", "nm")):
        every = [one.force for one in holdings(recording) if one.unit == unit]
        if not every:
            continue
        size = np.stack([np.linalg.norm(force, axis=1) for force in every]).max(axis=0)
        figures[f"holding_{kind}_max_{short}"] = largest(size)
        error = holding_error(recording, unit)
        if error is not None:
            figures |= {
                f"holding_{kind}_error_max_{short}": largest(error),
                f"holding_{kind}_error_settled_{short}": largest(error[settled]),
            }
    return figures
