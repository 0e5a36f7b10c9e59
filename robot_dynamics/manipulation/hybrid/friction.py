# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What a contact can bear before it slips, opens or breaks: cones of wrenches, and boxes.

Wrenches are on the object, in the contact's frame: z along the object's inward normal, angular
first. A contact pushes, f_z >= 0, and holds sideways while |t| <= mu f_z. A soft finger also holds
the twist about the normal; its limit surface is an ellipsoid, t = (f_x, f_y, (mu / gamma) m_z).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import ConvexHull

from robot_dynamics.errors import ArgumentError

Array = NDArray[np.float64]

#: Sides of the polygon that stands for a circle of tangential forces.
SIDES = 16
_NONE = 1e-12  # tangential force [N] that is none


class Facets(NamedTuple):
    """Planes around the wrenches that a contact bears, `rows @ wrench >= lower`: all inside.

    Attributes:
        rows: (m, 6); each measures a distance [N].
        lower: (m,) [N].
        error: Part of the friction that is given away at most.
    """

    rows: Array
    lower: Array
    error: float


@dataclass(frozen=True)
class FrictionCone:
    """Coulomb friction of a contact that cannot pull.

    Attributes:
        friction: mu; 0 for a contact without friction.
        torsion: gamma [m]: the largest moment about the normal is gamma f_z; 0 for a point, which
            has none.
        most: Largest normal force that object and finger bear [N].
    """

    friction: float
    torsion: float = 0.0
    most: float = np.inf

    def __post_init__(self) -> None:
        if not (0.0 <= self.friction < np.inf and 0.0 <= self.torsion < np.inf):
            raise ArgumentError(
                f"friction of {self.friction:g} and torsion of {self.torsion:g} m, expected "
                "finite numbers that are not negative."
            )
        if self.torsion > 0.0 and self.friction == 0.0:
            raise ArgumentError("a contact with torsion and without friction, expected both.")
        if not self.most > 0.0:
            raise ArgumentError(
                f"the largest normal force is {self.most:g} N, expected it positive."
            )

    def tangential(self, wrench: ArrayLike) -> Array:
        """Return t (..., 3) [N]: forces along the surface and the twist, all limited by mu f_z."""
        w = np.asarray(wrench, dtype=float)
        scale = self.friction / self.torsion if self.torsion > 0.0 else 0.0
        return np.stack([w[..., 3], w[..., 4], scale * w[..., 2]], axis=-1)

    def distance(self, wrench: ArrayLike) -> Array:
        """Return how far wrenches (..., 6) are from the cone's surface [N]: negative outside.

        It is the least change of forces that ends the hold, in the space of normal force and t;
        without friction, the normal force.
        """
        w = np.asarray(wrench, dtype=float)
        normal, t = w[..., 5], np.linalg.norm(self.tangential(w), axis=-1)
        mu = self.friction
        if mu == 0.0:
            inside = np.where(t > _NONE, np.minimum(normal, -t), normal)
        else:
            size = np.hypot(1.0, mu)
            inside = (mu * normal - t) / size
            # Behind the apex the nearest point is the apex.
            behind = normal + mu * t < 0.0
            inside = np.where(behind, -np.hypot(normal, t), inside)
        # A contact that is infinitely firm has infinitely much left.
        left = self.most - normal if np.isfinite(self.most) else np.inf
        return np.asarray(np.minimum(inside, left))

    def used(self, wrench: ArrayLike) -> Array:
        """Return which part of the friction is used (...,): 1 slips; infinite without contact."""
        w = np.asarray(wrench, dtype=float)
        normal, t = w[..., 5], np.linalg.norm(self.tangential(w), axis=-1)
        limit = self.friction * np.maximum(normal, 0.0)
        slipping = np.where((normal > 0.0) & (t <= _NONE), 0.0, np.inf)
        return np.asarray(np.divide(t, limit, out=slipping, where=(limit > 0.0) & (t > _NONE)))

    def facets(self, margin: float = 0.0, sides: int = SIDES) -> Facets:
        """Return planes within the cone, `margin` [N] or more from its surface.

        Args:
            margin: Least distance to the cone.
            sides: Of the polygon that stands for a circle; a point gives away 1 - cos(pi / n).
        """
        pull = np.array([[0.0, 0.0, 0.0, 0.0, 0.0, -1.0]])
        if self.friction == 0.0:
            rows, error = -pull, 0.0
        else:
            directions, heights = _inscribed(3 if self.torsion > 0.0 else 2, sides)
            rows = np.zeros((len(directions), 6))
            rows[:, 3:5] = -directions[:, :2]
            if self.torsion > 0.0:
                rows[:, 2] = -directions[:, 2] * self.friction / self.torsion
            rows[:, 5] = self.friction * heights
            rows /= np.hypot(1.0, rows[:, 5:])
            error = float(1.0 - heights.min())
        lower = np.full(len(rows), margin)
        if np.isfinite(self.most):
            rows, lower = np.vstack([rows, pull]), np.append(lower, margin - self.most)
        return Facets(rows, lower, error)


@dataclass(frozen=True)
class WrenchLimits:
    """What a contact that can pull, a rigid grasp or a pin, bears: a box.

    Attributes:
        moment: Largest moments about x, y and z, either way (3,) [N m].
        force: Largest forces along x, y and z, either way (3,) [N].
        length: Length [m] at which a moment counts like a force.
    """

    moment: tuple[float, float, float] = (np.inf, np.inf, np.inf)
    force: tuple[float, float, float] = (np.inf, np.inf, np.inf)
    length: float = 0.1

    def __post_init__(self) -> None:
        if not (np.all(self._most > 0.0) and 0.0 < self.length < np.inf):
            raise ArgumentError(
                f"a contact bears moments {self.moment} and forces {self.force} at the length "
                f"{self.length:g} m, expected positive numbers."
            )

    @property
    def _most(self) -> Array:
        return np.array([*self.moment, *self.force], dtype=float)

    def distance(self, wrench: ArrayLike) -> Array:
        """Return how far wrenches (..., 6) are from the nearest limit [N]: negative outside."""
        left = self._most - np.abs(np.asarray(wrench, dtype=float))
        left[..., :3] /= self.length
        return np.asarray(np.min(left, axis=-1))

    def used(self, wrench: ArrayLike) -> Array:
        """Return which part of the nearest limit is used (...,)."""
        return np.asarray(np.max(np.abs(wrench) / self._most, axis=-1))

    def facets(self, margin: float = 0.0, sides: int = SIDES) -> Facets:
        """Return the box's planes, `margin` [N] inside; it has no circle for `sides`."""
        scale = np.array([*3 * [1.0 / self.length], *3 * [1.0]])
        limited = np.isfinite(self._most)
        one = np.diag(scale)[limited]
        bound = margin - (self._most * scale)[limited]
        return Facets(np.vstack([one, -one]), np.concatenate([bound, bound]), 0.0)


#: What a contact bears; without it, anything.
ContactLimits = FrictionCone | WrenchLimits


@cache
def _inscribed(dimension: int, sides: int) -> tuple[Array, Array]:
    """Return outward normals (m, dimension) and heights of a polytope in the unit ball."""
    if sides < 3:
        raise ArgumentError(f"a polygon of {sides} sides, expected 3 or more.")
    if dimension == 2:
        angles = 2.0 * np.pi * np.arange(sides) / sides
        normals = np.column_stack([np.cos(angles), np.sin(angles)])
        return normals, np.full(sides, np.cos(np.pi / sides))
    turns = 2.0 * np.pi * np.arange(sides) / sides
    heights = np.linspace(-np.pi / 2, np.pi / 2, max(sides // 2, 2) + 1)[1:-1]
    a, b = (grid.ravel() for grid in np.meshgrid(turns, heights))
    corners = np.column_stack([np.cos(b) * np.cos(a), np.cos(b) * np.sin(a), np.sin(b)])
    corners = np.vstack([corners, [[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]])
    # Faces of four corners come as two triangles of one plane.
    planes = np.unique(np.round(ConvexHull(corners).equations, 12), axis=0)
    return planes[:, :3], -planes[:, 3]
