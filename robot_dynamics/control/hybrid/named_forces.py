# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Forces on surfaces, and internal ones, of wrenches in frames that people know."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.control.hybrid.surface_check import SurfaceRow
from robot_dynamics.errors import ArgumentError

_COMPONENTS = ("torque x", "torque y", "torque z", "force x", "force y", "force z")

# Internal forces of two arms as components of a wrench in the middle between their grasps, whose x
# axis points from the first to the last.
_INTERNAL = {
    "squeeze": 3,
    "shear y": 4,
    "shear z": 5,
    "twist": 0,
    "bending y": 1,
    "bending z": 2,
}


def surface_slices(rows: Sequence[SurfaceRow]) -> dict[str, slice]:
    """Return the slice of each surface's rows, by name."""
    names = [row.name for row in rows]
    return {
        name: slice(names.index(name), names.index(name) + names.count(name))
        for name in dict.fromkeys(names)
    }


def contact_forces(rows: Sequence[SurfaceRow], wrench: Array) -> Array:
    """Return the forces (r,) on one surface that a wrench in its frame is.

    Args:
        rows: Of the surface.
        wrench: Moment and force on the surface, in its frame (6,) [N m, N]; z is the push where
            the object can only push.

    Raises:
        ArgumentError: If it has components that the surface does not bear, or pulls.
    """
    refuse_others(wrench, [row.component for row in rows], f"surface {rows[0].name!r} bears")
    for row in rows:
        if row.pushed and wrench[row.component] < 0.0:
            raise ArgumentError(
                f"a force of {wrench[row.component]:g} {row.force_unit} pulls at surface "
                f"{row.name!r}; expected at least 0 {row.force_unit}."
            )
    return np.array(
        [row.sign * wrench[row.component] if row.component >= 0 else 0.0 for row in rows]
    )


def internal_forces(names: Sequence[str], wrench: Array) -> Array:
    """Return the internal forces (m,) that a wrench in the middle between grasps is.

    Force x is every squeeze of a grasp; the other components are internal forces of two arms.

    Args:
        names: Of the internal forces; see `ForceDistribution`.
        wrench: In the middle between the grasps (6,) [N m, N].

    Raises:
        ArgumentError: If it has components that the grasp does not have.
    """
    found = [3 if name.startswith("squeeze") else _INTERNAL.get(name, -1) for name in names]
    refuse_others(wrench, found, "the grasp has the internal forces")
    return np.array([wrench[i] if i >= 0 else 0.0 for i in found])


def wrench_components(names: Sequence[str]) -> list[int] | None:
    """Return the component of a wrench midway for each internal force (m,).

    The wrench is the argument of `internal_forces`. None if it does not contain all internal
    forces: with more than two arms, or an orthonormal basis.
    """
    found = [_INTERNAL.get(name, -1) for name in names]
    return found if found and min(found) >= 0 else None


def refuse_others(wrench: Array, components: Sequence[int], who: str) -> None:
    """Refuse a wrench (6,) with other components than some.

    Raises:
        ArgumentError: With the component, and those that there are.
    """
    expected = sorted(set(components) - {-1})
    for i in np.flatnonzero(wrench):
        if i not in expected:
            every = ", ".join(_COMPONENTS[j] for j in expected) or "none by name"
            raise ArgumentError(f"{_COMPONENTS[i]} is {wrench[i]:g}, but {who} {every}.")
