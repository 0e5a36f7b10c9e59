# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Drives, in joints of the tree and in loop joints, and the motions that they can force (8.63)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.rank import ConstraintRank
from robot_dynamics.dynamics.scaling import (
    coordinate_names,
    coordinate_scales,
    coordinates_of,
    freedom_scales,
)
from robot_dynamics.errors import UnknownNameError
from robot_dynamics.model import Model


@dataclass(frozen=True)
class Drives:
    """The drives of a mechanism: tau = B u.

    Attributes:
        names: Their names: coordinates of the tree in the order of the model, then loop joints.
        B: Joint forces of unit efforts (nv, p) (8.28).
        limits: Largest effort of each (p,) [N m or N]; infinite where unknown.
        scales: Scales of comparable efforts (p,): efforts over these are forces [N]. The length
            for torques, else 1.
        in_tree: Coordinates of the tree with drives.
        in_loops: Indices of the drives in loop joints in `model.loop_drive_names`; they come last.
    """

    names: tuple[str, ...]
    B: Array
    limits: Array
    scales: Array
    in_tree: tuple[int, ...]
    in_loops: tuple[int, ...]

    def loop_efforts(self, efforts: Array, count: int) -> Array:
        """Return the efforts of all `count` drives in loop joints; zero for those not used."""
        result = np.zeros(count)
        result[list(self.in_loops)] = efforts[len(efforts) - len(self.in_loops) :]
        return result


def drives_of(
    model: Model, loop_drives: Array, length: float, names: Iterable[str] | None = None
) -> Drives:
    """Return the drives of a mechanism.

    Args:
        model: The mechanism.
        loop_drives: B of the drives in its loop joints (nv, drives), see `loop_drive_matrix`.
        length: Length [m] at which a torque counts like a force.
        names: Joints, coordinates or drives in loop joints that act; by default those with a drive
            in the model.

    Raises:
        UnknownNameError: If there is no joint, coordinate or drive of a name.
    """
    active = model.active
    of_loops = model.loop_drive_names
    used = list(range(len(of_loops)))
    if names is not None:
        preferred = list(names)
        used = [i for i in used if of_loops[i] in preferred]
        active = np.zeros(model.nv, dtype=bool)
        for name in preferred:
            if name not in of_loops:
                active[_coordinates_of(model, name)] = True
    tree = np.flatnonzero(active)
    coordinates = coordinate_names(model)
    scales = coordinate_scales(model, length)
    in_loop_joints = [
        freedom_scales(model.loops[loop].type, length)[freedom]
        for loop, freedom in model.loop_drives
    ]
    return Drives(
        names=(*(coordinates[i] for i in tree), *(of_loops[i] for i in used)),
        B=np.hstack([np.eye(model.nv)[:, tree], loop_drives[:, used]]),
        limits=np.concatenate([model.limits()["effort"][tree], model.loop_drive_effort[used]]),
        scales=np.concatenate([scales[tree], np.array(in_loop_joints, dtype=float)[used]]),
        in_tree=tuple(tree.tolist()),
        in_loops=tuple(used),
    )


@dataclass(frozen=True)
class Actuation:
    """Motions that drives can force: A = G_u^T = G^T B = left diag(strength) right^T diag(1/d).

    G are the free motions, orthonormal with rotations scaled by the length, and d the scales of
    the drives, so that strengths are ratios of distances.

    Attributes:
        G: Free motions (nv, n - r): qd = G y (8.51).
        left: Orthonormal columns (n - r, rank): motions y that the drives can force.
        strength: Strength of the drives along them (rank,), descending.
        right: Orthonormal columns (p, rank): scaled efforts that force them.
        free: Orthonormal columns (n - r, n - r - rank): motions that no drive does work on.
    """

    G: Array
    left: Array
    strength: Array
    right: Array
    free: Array

    @property
    def rank(self) -> int:
        """Number of independent motions that the drives can force, rank of G_u."""
        return len(self.strength)

    def words(self) -> str:
        """Return the kind of actuation, see `actuation_words`."""
        return actuation_words(len(self.left), len(self.right), self.rank)


def actuation(ranked: ConstraintRank, drives: Drives) -> Actuation:
    """Return the motions that drives can force.

    Args:
        ranked: The rank of the constraints, with the free motions.
        drives: The drives, scaled with the same length.
    """
    G = ranked.motions / ranked.column_scales[:, None]
    scaled = G.T @ drives.B * drives.scales
    if scaled.size == 0:
        m, p = scaled.shape
        return Actuation(G, np.zeros((m, 0)), np.zeros(0), np.zeros((p, 0)), np.eye(m))
    U, s, Vt = np.linalg.svd(scaled)
    rank = int(np.sum(s > ranked.doubt))
    return Actuation(G, U[:, :rank], s[:rank], Vt[:rank].T, U[:, rank:])


def actuation_words(mobility: int, drives: int, driven: int) -> str:
    """Return one of "none", "fully", "underactuated", "redundantly", "underactuated, redundantly".

    Args:
        mobility: Number of independent motions.
        drives: Number of drives.
        driven: Number of independent motions that they can force.
    """
    words = ["underactuated"] if driven < mobility else []
    words += ["redundantly"] if drives > driven else []
    if not drives:
        return "none"
    return ", ".join(words) or "fully"


def _coordinates_of(model: Model, name: str) -> list[int]:
    try:
        return coordinates_of(model, name)
    except UnknownNameError as error:
        valid = (*error.valid, *model.loop_drive_names)
        raise UnknownNameError("joint or drive", name, valid, model.name) from None
