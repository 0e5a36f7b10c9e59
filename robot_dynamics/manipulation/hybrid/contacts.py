# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Contacts between hands and object: directions S_i (8), (9), and limits of their wrenches.

A contact's frame is fixed to the object, its z axis along the inward normal. Along a direction a
force can act, and relative motion is blocked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import ConvexHull

from robot_dynamics.arrays import Array
from robot_dynamics.errors import ArgumentError, RobotDynamicsError, UnknownNameError

#: Sides of the polygon that stands for a circle of tangential forces.
SIDES = 16
_NONE = 1e-12  # largest tangential force that counts as zero [N]


class Facets(NamedTuple):
    """Planes that bound admissible wrenches of a contact, `rows @ wrench >= lower`.

    Attributes:
        rows: (m, 6); each measures a distance [N].
        lower: (m,) [N].
        error: Largest fraction of the friction that the planes leave unused.
    """

    rows: Array
    lower: Array
    error: float


@dataclass(frozen=True)
class FrictionCone:
    """Coulomb friction of a contact that cannot pull.

    Attributes:
        friction: mu; 0 for a contact without friction.
        torsion: gamma [m]: the largest moment about the normal is gamma f_z; 0 for a point.
        most: Largest admissible normal force [N].
    """

    friction: float
    torsion: float = 0.0
    most: float = np.inf

    def __post_init__(self) -> None:
        if not (0.0 <= self.friction < np.inf and 0.0 <= self.torsion < np.inf):
            raise ArgumentError(
                f"a contact has friction {self.friction:g} and torsion {self.torsion:g} m; "
                "expected finite numbers from 0 up."
            )
        if self.torsion > 0.0 and self.friction == 0.0:
            raise ArgumentError(
                f"a contact has torsion {self.torsion:g} m and friction 0; expected both "
                "positive, or torsion 0."
            )
        if not self.most > 0.0:
            raise ArgumentError(
                f"the largest normal force of a contact is {self.most:g} N; expected a positive "
                "number."
            )

    def tangential(self, wrench: ArrayLike) -> Array:
        """Return t (..., 3) [N]: tangential forces and scaled torsion, at most mu f_z in size."""
        w = np.asarray(wrench, dtype=float)
        scale = self.friction / self.torsion if self.torsion > 0.0 else 0.0
        return np.stack([w[..., 3], w[..., 4], scale * w[..., 2]], axis=-1)

    def distance(self, wrench: ArrayLike) -> Array:
        """Return the distance of wrenches (..., 6) to the cone's surface [N]: negative outside.

        It is the least change of normal force and t that makes the contact slip or open; without
        friction, the normal force.
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
        # Without a limit of the normal force the distance to it is infinite.
        left = self.most - normal if np.isfinite(self.most) else np.inf
        return np.asarray(np.minimum(inside, left))

    def distance_of_one(self, wrench: Sequence[float]) -> float:
        """Return `distance` of one wrench (6,), fast enough for every control period."""
        _, _, moment, f_x, f_y, normal = wrench
        mu = self.friction
        t = math.hypot(f_x, f_y, mu / self.torsion * moment if self.torsion > 0.0 else 0.0)
        if mu == 0.0:
            inside = min(normal, -t) if t > _NONE else normal
        elif normal + mu * t < 0.0:
            inside = -math.hypot(normal, t)
        else:
            inside = (mu * normal - t) / math.hypot(1.0, mu)
        return min(inside, self.most - normal) if math.isfinite(self.most) else inside

    def used(self, wrench: ArrayLike) -> Array:
        """Return the used fraction of the friction (...,): 1 at slip; infinite without contact."""
        w = np.asarray(wrench, dtype=float)
        normal, t = w[..., 5], np.linalg.norm(self.tangential(w), axis=-1)
        limit = self.friction * np.maximum(normal, 0.0)
        slipping = np.where((normal > 0.0) & (t <= _NONE), 0.0, np.inf)
        return np.asarray(np.divide(t, limit, out=slipping, where=(limit > 0.0) & (t > _NONE)))

    def used_by_one(self, wrench: Sequence[float]) -> float:
        """Return `used` of one wrench (6,), fast enough for every control period."""
        _, _, moment, f_x, f_y, normal = wrench
        t = math.hypot(f_x, f_y, self.friction / self.torsion * moment if self.torsion else 0.0)
        limit = self.friction * max(normal, 0.0)
        if limit > 0.0 and t > _NONE:
            return t / limit
        return 0.0 if normal > 0.0 and t <= _NONE else math.inf

    def facets(self, margin: float = 0.0, sides: int = SIDES) -> Facets:
        """Return planes inside the cone, at least `margin` [N] from its surface.

        Args:
            margin: Least distance to the cone.
            sides: Sides n of the polygon; a point loses 1 - cos(pi / n) of its friction.
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
    """Wrench limits of a contact that can pull, such as a rigid grasp or a pin: a box.

    Attributes:
        moment: Largest absolute moments about x, y and z (3,) [N m].
        force: Largest absolute forces along x, y and z (3,) [N].
        length: Length [m] at which a moment counts like a force.
    """

    moment: tuple[float, float, float] = (np.inf, np.inf, np.inf)
    force: tuple[float, float, float] = (np.inf, np.inf, np.inf)
    length: float = 0.1

    def __post_init__(self) -> None:
        if not (np.all(self._most > 0.0) and 0.0 < self.length < np.inf):
            raise ArgumentError(
                f"the limits of a contact are moments {self.moment}, forces {self.force} and "
                f"length {self.length:g} m; expected positive numbers, the length finite."
            )

    @property
    def _most(self) -> Array:
        return np.array([*self.moment, *self.force], dtype=float)

    def distance(self, wrench: ArrayLike) -> Array:
        """Return the distance of wrenches (..., 6) to the nearest limit [N]: negative outside."""
        left = self._most - np.abs(np.asarray(wrench, dtype=float))
        left[..., :3] /= self.length
        return np.asarray(np.min(left, axis=-1))

    def used(self, wrench: ArrayLike) -> Array:
        """Return the used fraction of the nearest limit (...,)."""
        return np.asarray(np.max(np.abs(wrench) / self._most, axis=-1))

    def facets(self, margin: float = 0.0, sides: int = SIDES) -> Facets:
        """Return the box's planes, `margin` [N] inside; `sides` has no effect."""
        scale = np.array([*3 * [1.0 / self.length], *3 * [1.0]])
        limited = np.isfinite(self._most)
        one = np.diag(scale)[limited]
        bound = margin - (self._most * scale)[limited]
        return Facets(np.vstack([one, -one]), np.concatenate([bound, bound]), 0.0)

    def distance_of_one(self, wrench: Sequence[float]) -> float:
        """Return `distance` of one wrench (6,)."""
        return float(self.distance(wrench))


#: Limits of a contact's wrench.
ContactLimits = FrictionCone | WrenchLimits


@cache
def _inscribed(dimension: int, sides: int) -> tuple[Array, Array]:
    """Return outward normals (m, dimension) and heights of a polytope in the unit ball."""
    if sides < 3:
        raise ArgumentError(f"the friction polygon has {sides} sides; expected 3 or more.")
    if dimension == 2:
        angles = 2.0 * np.pi * np.arange(sides) / sides
        normals = np.column_stack([np.cos(angles), np.sin(angles)])
        return normals, np.full(sides, np.cos(np.pi / sides))
    turns = 2.0 * np.pi * np.arange(sides) / sides
    heights = np.linspace(-np.pi / 2, np.pi / 2, max(sides // 2, 2) + 1)[1:-1]
    a, b = (grid.ravel() for grid in np.meshgrid(turns, heights))
    corners = np.column_stack([np.cos(b) * np.cos(a), np.cos(b) * np.sin(a), np.sin(b)])
    corners = np.vstack([corners, [[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]])
    # A face of four corners appears as two triangles in one plane.
    planes = np.unique(np.round(ConvexHull(corners).equations, 12), axis=0)
    return planes[:, :3], -planes[:, 3]


# Six-vectors are angular first: [mx, my, mz, fx, fy, fz].
_NAMES = ("mx", "my", "mz", "fx", "fy", "fz")
#: Components of the wrench that each kind of contact can transmit.
KINDS = {
    "rigid": ("mx", "my", "mz", "fx", "fy", "fz"),
    "soft finger": ("fx", "fy", "fz", "mz"),
    "frictional point": ("fx", "fy", "fz"),
    "frictionless point": ("fz",),
    "pin": ("fx", "fy", "fz", "mx", "my"),  # turns about z
    "line": ("fx", "fy", "fz", "my", "mz"),  # a line along x: rolls about it
}
# Relative tolerance of ranks and of parallel directions.
_INDEPENDENT = 1e-9


@dataclass(frozen=True)
class Contact:
    """A contact between hand and object.

    Attributes:
        pose: Pose (4, 4) of its frame in the object.
        directions: S (6, d) in its frame: columns are unit wrenches, angular first.
        kind: Name of its kind.
        limits: Limits of its wrench; None if it is unlimited, pulling included.
    """

    pose: Array
    directions: Array
    kind: str
    limits: ContactLimits | None = None

    @property
    def is_soft_finger(self) -> bool:
        """Whether it is a pad that lies flat on a face, so that a tilted hand lifts it off."""
        return self.kind == "soft finger"

    @classmethod
    def of_kind(cls, kind: str, pose: Array, limits: ContactLimits | None = None) -> Contact:
        """Return a contact of one of `KINDS`, without limits by default.

        Raises:
            UnknownNameError: If `kind` is not in `KINDS`.
        """
        if kind not in KINDS:
            raise UnknownNameError("kind of contact", kind, KINDS)
        columns = [_NAMES.index(name) for name in KINDS[kind]]
        return cls(np.asarray(pose, dtype=float), np.eye(6)[:, columns], kind, limits)

    @classmethod
    def of_directions(
        cls, directions: Array, pose: Array, limits: ContactLimits | None = None
    ) -> Contact:
        """Return a contact with the user's directions (6, d), which are normalized.

        Raises:
            ArgumentError: If they have another shape or are linearly dependent.
        """
        S = np.asarray(directions, dtype=float)
        if S.ndim != 2 or S.shape[0] != 6 or np.linalg.matrix_rank(S) < S.shape[1]:
            raise ArgumentError(
                f"contact directions of shape {S.shape} are {S.tolist()!s:.200}; expected shape "
                "(6, d) with independent columns [moment; force]."
            )
        return cls(np.asarray(pose, dtype=float), S / np.linalg.norm(S, axis=0), "user's", limits)

    def of_free_directions(self) -> Contact:
        """Return the free directions of the hand, which span I - (S^T)^+ S^T.

        They are an orthonormal basis (6, 6 - d) of the null space of S^T; axes of the contact
        frame if the contact's directions are axes.
        """
        S = self.directions
        free = np.eye(6) - S @ np.linalg.pinv(S)  # a projector
        U, sizes, _ = np.linalg.svd(free)
        basis = U[:, sizes > 0.5]
        axes = np.abs(np.diag(free)) > 0.5
        if np.allclose(free, np.diag(axes), atol=_INDEPENDENT):
            basis = np.eye(6)[:, axes]
        return Contact(self.pose, basis, f"free of {self.kind}")

    def at(self, pose: Array) -> Contact:
        """Return the same kind of contact at another pose (4, 4) in the object."""
        return replace(self, pose=np.asarray(pose, dtype=float))

    def on_object(self) -> Array:
        """Return the unit wrenches (6, d) on the object, about its frame's origin, in its axes."""
        R, p = self.pose[:3, :3], self.pose[:3, 3]
        turned = np.vstack([R @ self.directions[:3], R @ self.directions[3:]])
        turned[:3] += _cross(p, turned[3:])
        return turned


def wrench_map(contacts: Sequence[Contact], center: Array) -> Array:
    """Return W_S (6, d) (11) in the object's axes, about a point; constant while the grasp holds.

    Args:
        contacts: The contacts.
        center: The point in the object [m]: its centre of mass.
    """
    W = np.hstack([contact.on_object() for contact in contacts])
    W[:3] -= _cross(np.asarray(center), W[3:])
    return W


def _cross(p: Array, columns: Array) -> Array:
    """Return the cross products p x column (3, d), 40 us faster than `np.cross`."""
    (x, y, z), (a, b, c) = p, columns
    return np.array([y * c - z * b, z * a - x * c, x * b - y * a])


def contact_wrenches(contacts: Sequence[Contact], forces: Array) -> Array:
    """Return the wrenches (..., k, 6) of contact forces (..., d), in the contacts' frames."""
    wrenches, start = [], 0
    for contact in contacts:
        at = slice(start, start + contact.directions.shape[1])
        start = at.stop
        wrenches.append(forces[..., at] @ contact.directions.T)
    return np.stack(wrenches, axis=-2)


def moment_directions(contacts: Sequence[Contact]) -> NDArray[np.bool_]:
    """Return a mask (d,) of contact forces that are moments: their directions have no force."""
    S = np.hstack([contact.directions for contact in contacts])
    return np.asarray(np.linalg.norm(S[3:], axis=0) == 0.0)


def require_force_closure(contacts: Sequence[Contact], length: float) -> None:
    """Check that W_S has rank six, so that the contacts can exert every wrench on the object.

    Limits of the contacts are not considered; see `closure.require_closure`.

    Args:
        contacts: The contacts.
        length: Length [m] at which a rotation counts like a displacement.

    Raises:
        RobotDynamicsError: If the rank is less, with the motion of the object that stays free.
    """
    points = np.mean([contact.pose[:3, 3] for contact in contacts], axis=0)
    W = wrench_map(contacts, points)
    scaled = np.vstack([W[:3] / length, W[3:]])
    U, s, _ = np.linalg.svd(scaled, full_matrices=True)
    rank = int(np.sum(s > _INDEPENDENT * s[0]))
    if rank == 6:
        return
    kinds = ", ".join(contact.kind for contact in contacts)
    free = [_in_words(u[:3] / length, u[3:], points) for u in U[:, rank:].T]
    raise RobotDynamicsError(
        f"the grasp ({kinds}) spans {rank} of 6 directions and cannot control "
        f"{' and '.join(free)} of the object; expected 6 directions: add or change contacts."
    )


def _in_words(omega: Array, v: Array, point: Array) -> str:
    """Return the motion [omega; v at a point] in words."""
    speed = float(np.linalg.norm(omega))
    if speed < _INDEPENDENT * max(float(np.linalg.norm(v)), 1e-300):
        return f"the translation along {_numbers(v / np.linalg.norm(v))}"
    through = point + np.cross(omega, v) / speed**2
    axis = f"about {_numbers(omega / speed)} through {_numbers(through)} m"
    pitch = float(omega @ v) / speed**2
    if abs(pitch) < _INDEPENDENT:
        return f"the rotation {axis}"
    return f"the screw motion {axis} with a pitch of {pitch:.3g} m/rad"


def _numbers(values: Array) -> str:
    rounded = np.round(values, 3) + 0.0  # no minus zeros
    return "(" + ", ".join(f"{value:g}" for value in rounded) + ")"
