# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Figures of a run whose object is held by hinges or lines: what it exerts on them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.app.extremes import largest
from robot_dynamics.app.recording import Recording

Array = NDArray[np.float64]


class Holding(NamedTuple):
    """The forces, or the moments, of one hinge or line over a run.

    Attributes:
        name: Of the hinge or the line.
        unit: "N" or "N m".
        axes: Of its frame, along or about which each acts: "x", "y", "z" or, for one that counts
            the other way round, "-x"; numbers in recordings that do not say.
        force: True ones by the object (ticks, r).
        wanted: What they were to be (ticks, r).
    """

    name: str
    unit: str
    axes: tuple[str, ...]
    force: Array
    wanted: Array


def holdings(recording: Recording) -> Iterator[Holding]:
    """Yield forces, then moments, of each hinge and line; nothing where there is none."""
    if "holding_force" not in recording:
        return
    known = recording.get("holding_rows")
    force, wanted = recording["holding_force"], recording["reference_contact_force"]
    stated = recording.metadata.get("holding_axes")
    for name, unit in dict.fromkeys((name, unit) for name, _, unit in known):
        own = [i for i, (one, _, its) in enumerate(known) if (one, its) == (name, unit)]
        axes = tuple(stated[at] if stated else str(i + 1) for i, at in enumerate(own))
        yield Holding(name, unit, axes, force[:, own], wanted[:, [known[i][1] for i in own]])


def holding_error(recording: Recording, unit: str) -> Array | None:
    """Return how far the force that is farthest off is from what was wanted (ticks,).

    Args:
        recording: The run.
        unit: "N" for forces, "N m" for moments.

    Returns:
        In that unit; None where no hinge and no line bears any.
    """
    off = [
        np.linalg.norm(one.force - one.wanted, axis=1)
        for one in holdings(recording)
        if one.unit == unit
    ]
    return np.asarray(np.max(off, axis=0)) if off else None


def holding_figures(recording: Recording, settled: NDArray[np.bool_]) -> dict[str, Any]:
    """Return the largest forces and errors by the names of their thresholds; none without hinges.

    Args:
        recording: The run.
        settled: In which rows the reference is at rest.
    """
    figures: dict[str, Any] = {}
    for unit, kind, short in (("N", "force", "n"), ("N m", "moment", "nm")):
        error = holding_error(recording, unit)
        if error is None:
            continue
        every = [one.force for one in holdings(recording) if one.unit == unit]
        size = np.max([np.linalg.norm(force, axis=1) for force in every], axis=0)
        figures |= {
            f"holding_{kind}_max_{short}": largest(size),
            f"holding_{kind}_error_max_{short}": largest(error),
            f"holding_{kind}_error_settled_{short}": largest(error[settled]),
        }
    return figures
