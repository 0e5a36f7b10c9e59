# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Scaling of mixed units by one length: rotations count as displacements at that distance.

Norms and ranks of a constraint Jacobian have no meaning with mixed metres and radians. With rows
and columns of rotations scaled by a length of the mechanism, its entries are ratios of distances,
and results depend neither on the unit of length nor on the size of the mechanism.
"""

from __future__ import annotations

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.errors import UnknownNameError
from robot_dynamics.model import Model
from robot_dynamics.model.joints import JointType
from robot_dynamics.model.typical_length import typical_length

#: Gap of a mechanism without rounded placements that counts as closed, as a part of its length.
CLOSED = 1e-9
#: More is not put down to rounding: numbers with four digits leave less.
LARGEST_ROUNDING = 1e-4
# Units of the last decimal: each placement around a loop can be wrong by half of one.
_ROUNDED_PLACEMENTS = 10.0

_DIRECTIONS = ("rx", "ry", "rz", "x", "y", "z")


def model_length(model: Model) -> float:
    """Return the length [m] of a typical link: the median distance between joints of a body.

    It is 1 m for a model all of whose joints are in one point.
    """
    return typical_length(model.placement_distances)


def closing_tolerance(model: Model) -> float:
    """Return the gap that counts as closed, as a share of the length of a typical link.

    It is far above rounding, and far below the gap of a mechanism that does not close. Numbers in
    files are rounded, and overconstrained loops then close only to their last decimals.
    """
    unit = model.precision * max(1.0, 1.0 / model_length(model))
    return float(np.clip(_ROUNDED_PLACEMENTS * unit, CLOSED, LARGEST_ROUNDING))


def tree_length(model: Model) -> float:
    """Return the same for the tree joints only, on which compiled code can rely.

    The frames of loop joints may be parameters of compiled code.
    """
    return typical_length(model.placement_distances[: len(model.bodies)])


def model_reach(model: Model) -> float:
    """Return a distance [m] that no joint's frame exceeds, measured through the chain of links.

    Rounding errors of positions are this times the precision of numbers.
    """
    return float(sum(model.placement_distances))


def constraint_scales(model: Model, length: float) -> Array:
    """Return the scales of rows of K (n^c,) as displacements: `length` for rotations, else 1."""
    return np.where(model.turning_constraints, length, 1.0)


def coordinate_scales(model: Model, length: float) -> Array:
    """Return the scales of comparable velocities (nv,): `length` for rotations, else 1."""
    return np.where(model.turning_freedoms, length, 1.0)


def freedom_scales(kind: JointType, length: float) -> list[float]:
    """Return for each freedom of a joint type `length` if it turns, else 1."""
    return [length if turns else 1.0 for turns in kind.turning]


def coordinate_names(model: Model) -> tuple[str, ...]:
    """Return a name for each velocity (nv,): the joint's, with the direction if it has several."""
    return tuple(name for body in model.bodies for name in body.joint.freedom_names)


def constraint_names(model: Model) -> tuple[str, ...]:
    """Return a name for each row: the loop joint and the direction it blocks, or the coupling."""
    of_loops = [f"{loop.name}.{row.direction}" for loop in model.loops for row in loop.type.rows]
    return (*of_loops, *(coupling.name for coupling in model.couplings))


def coordinates_of(model: Model, name: str) -> list[int]:
    """Return the indices of the velocities of a joint, or of one coordinate by its name.

    Raises:
        UnknownNameError: If there is neither a joint nor a coordinate of that name.
    """
    if name in model.joint_names:
        at = model.v_slices[model.joint_index(name)]
        return list(range(at.start, at.stop))
    names = coordinate_names(model)
    if name not in names:
        valid = dict.fromkeys((*model.joint_names, *names))
        raise UnknownNameError("joint or coordinate", name, valid, model.name)
    return [names.index(name)]


def constraint_groups(model: Model) -> list[tuple[str, slice]]:
    """Return the rows of each loop joint by its name, and every other row by its own name."""
    groups, start = [], 0
    for loop in model.loops:
        groups.append((loop.name, slice(start, start + len(loop.type.rows))))
        start += len(loop.type.rows)
    rest = constraint_names(model)[start:]
    return groups + [(name, slice(i, i + 1)) for i, name in enumerate(rest, start)]
