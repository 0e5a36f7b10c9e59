# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What the hybrid law knows of object, contacts and sharing of forces: its parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.control.hybrid.gains import HybridGains
from robot_dynamics.control.hybrid.layout import Layout
from robot_dynamics.manipulation.hybrid import ForceDistribution, HybridSystem
from robot_dynamics.manipulation.hybrid.contacts import wrench_map
from robot_dynamics.manipulation.hybrid.grasp_kinematics import (
    PLACE_SIZE,
    ContactPoint,
    Matrix,
    pack_place,
)
from robot_dynamics.manipulation.hybrid.object_observer import ObserverMaps
from robot_dynamics.model.parameters import pack
from robot_dynamics.spatial import Scalar, Symmetric3, Vector3

Array = NDArray[np.float64]


def law_parameters(
    system: HybridSystem,
    gains: HybridGains,
    distribution: ForceDistribution,
    holding: Array | None = None,
) -> Array:
    """Return the parameter block of `law_program`.

    Args:
        system: Arms, object, contacts and surfaces.
        gains: Gains and limits.
        distribution: Sharing of forces and internal forces.
        holding: Internal force (m,) without which contacts that only push let the object fall: a
            part of what holds everything up. None by default.
    """
    held, maps = system.held, ObserverMaps.of(system)
    inertia = np.asarray(held.inertia, dtype=float)
    about = [[held.mass], held.center, inertia.ravel(), np.linalg.inv(inertia).ravel()]
    W = system.constant_wrench_map
    matrices = [W, distribution.share, distribution.internal, distribution.recovery]
    matrices += [maps.velocity, maps.position, maps.open]
    places = [pack_place(contact, np.asarray(held.center)) for contact in system.contacts]
    parts = [pack(system.arms), gains.pack(), *about, *places, *(m.ravel() for m in matrices)]
    parts.append(wrench_map(system.free_directions, np.asarray(held.center, dtype=float)).ravel())
    parts.append(np.zeros(distribution.internal.shape[1]) if holding is None else holding)
    return np.concatenate([np.asarray(part, dtype=float) for part in parts])


@dataclass(frozen=True)
class LawConstants:
    """The part of the block that follows the gains, taken apart.

    Attributes:
        mass: Of the object.
        center: Its centre of mass, in its axes.
        inertia: Its inertia about that.
        inverse: The inverse of it.
        points: The contacts.
        free_points: Those contacts in the directions that they leave free; none that leave
            nothing.
        W: W_S (6, d).
        share: W^# (d, 6).
        internal: A (d, m).
        recovery: (m, d).
        velocity: `ObserverMaps.velocity`.
        position: `ObserverMaps.position`.
        open_part: `ObserverMaps.open`; None where positions determine the object.
        W_free: The same as W_S of the free directions (6, f).
        holding: Internal force (m,) that belongs to the support.
    """

    mass: Scalar
    center: Vector3
    inertia: Symmetric3
    inverse: Symmetric3
    points: list[ContactPoint]
    free_points: list[ContactPoint]
    W: Matrix
    share: Matrix
    internal: Matrix
    recovery: Matrix
    velocity: Matrix
    position: Matrix
    open_part: Matrix | None
    W_free: Matrix
    holding: list[Scalar]

    @classmethod
    def size(cls, layout: Layout) -> int:
        """Return the length of this part of the block."""
        of_object = 1 + 3 + 9 + 9
        matrices = 4 * 6 * layout.directions + 2 * layout.directions * layout.internal + 36
        return of_object + layout.arms * PLACE_SIZE + matrices + 6 * layout.free + layout.internal

    @classmethod
    def unpack(cls, system: HybridSystem, block: Sequence[Scalar]) -> LawConstants:
        """Return the constants of a block that `law_parameters` made."""
        layout, taken = Layout.of(system), _Taken(block)
        d, m = layout.directions, layout.internal
        mass, center = taken.some(1)[0], Vector3.of(taken.some(3))
        inertia, inverse = Symmetric3.of(taken.matrix(3, 3)), Symmetric3.of(taken.matrix(3, 3))
        points = [
            ContactPoint.of(contact, system.arms.link(tool), taken.some(PLACE_SIZE))
            for contact, tool in zip(system.contacts, system.tools, strict=True)
        ]
        free_points = [
            replace(point, contact=free)
            for point, free in zip(points, system.free_directions, strict=True)
            if free.directions.shape[1]
        ]
        W, share, internal, recovery, velocity, position, open_part, W_free = (
            taken.matrix(*shape)
            for shape in ((6, d), (d, 6), (d, m), (m, d), (6, d), (6, d), (6, 6), (6, layout.free))
        )
        determined = ObserverMaps.of(system).determined
        return cls(
            mass, center, inertia, inverse, points, free_points, W, share, internal, recovery,
            velocity, position, None if determined else open_part, W_free, taken.some(m),
        )  # fmt: skip


class _Taken:
    """A flat list that is taken apart from its beginning."""

    def __init__(self, values: Sequence[Scalar]) -> None:
        self._rest = list(values)

    def some(self, count: int) -> list[Scalar]:
        """Take some values off."""
        taken, self._rest = self._rest[:count], self._rest[count:]
        return taken

    def matrix(self, rows: int, columns: int) -> Matrix:
        """Take a matrix off."""
        flat = self.some(rows * columns)
        return [flat[i * columns : (i + 1) * columns] for i in range(rows)]
