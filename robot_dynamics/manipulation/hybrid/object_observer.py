# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Where arms that hold an object by any contacts see it, traceable.

What the contacts determine follows from the arms' positions alone, by least squares over all of
them, as if there were no past. What they leave open, as two soft fingers do the turn about their
line, follows from the velocities, integrated by the trapezoidal rule: it drifts, slowly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.manipulation.hybrid.contacts import wrench_map
from robot_dynamics.manipulation.hybrid.grasp_kinematics import (
    ContactPoint,
    Place,
    blocked_velocity,
    holonomic_rows,
)
from robot_dynamics.manipulation.hybrid.system import HybridSystem
from robot_dynamics.model.joints import turn
from robot_dynamics.scalar.linear_algebra import times
from robot_dynamics.spatial import Motion, Rotation, Scalar, Transform, Vector3

Array = NDArray[np.float64]
Matrix = list[list[Scalar]]

# Newton steps: the first leaves the square of what a control period moves, the second nothing.
_STEPS = 2
_INDEPENDENT = 1e-6


@dataclass(frozen=True)
class ObserverMaps:
    """Constant maps from what is seen at the contacts to the object, in its axes.

    Attributes:
        velocity: From velocities in the blocked directions to the twist (6, d).
        position: From residuals to the smallest motion that takes them away (6, d); nothing comes
            of directions without a position.
        open: What positions leave open (6, 6): a projector.
    """

    velocity: Array
    position: Array
    open: Array

    @classmethod
    def of(cls, system: HybridSystem) -> ObserverMaps:
        """Return the maps of a system, rotations counted at the distance of the contacts."""
        W = wrench_map(system.contacts, np.asarray(system.held.center, dtype=float)).T
        if all(contact.directions.shape[1] == 6 for contact in system.contacts):
            # Each rigid grasp alone tells where the object is: the mean of what they say.
            each = [np.linalg.inv(rows) for rows in np.split(W, len(system.contacts))]
            mean = np.hstack(each) / len(each)
            return cls(mean, mean, np.zeros((6, 6)))
        length = system.length
        weights = np.concatenate(
            [_weights(contact.directions, length) for contact in system.contacts]
        )
        scale = np.array([length] * 3 + [1.0] * 3)
        scaled = weights[:, None] * W / scale
        of_position = np.concatenate([holonomic_rows(contact) for contact in system.contacts])
        held = np.where(of_position[:, None], scaled, 0.0)
        inverse = np.linalg.pinv(held, rcond=_INDEPENDENT)
        left = np.eye(6) - inverse @ held
        left[np.abs(left) < 1e-12] = 0.0
        return cls(
            np.linalg.pinv(scaled, rcond=_INDEPENDENT) * weights / scale[:, None],
            inverse * weights / scale[:, None],
            left * scale / scale[:, None],
        )

    @property
    def determined(self) -> bool:
        """Whether positions leave nothing open."""
        return not self.open.any()


def _weights(directions: Array, length: float) -> Array:
    """Return what a residual counts: a rotation as the displacement it makes."""
    turns = np.linalg.norm(directions[3:], axis=0) == 0.0
    return np.where(turns, length, 1.0)


@dataclass(frozen=True)
class Seen:
    """The object as the arms see it.

    Attributes:
        place: Its axes and centre of mass.
        quaternion: Its orientation, x y z w.
        twist: Angular velocity, velocity of the centre of mass, in its own axes.
        residual: What the contacts disagree by (d,).
    """

    place: Place
    quaternion: list[Scalar]
    twist: Motion
    residual: list[Scalar]


def place_of(x: Sequence[Scalar], quaternion: Sequence[Scalar]) -> Place:
    """Return the place of a centre of mass (3,) and a quaternion x y z w."""
    return Place(Rotation.from_quaternion(*quaternion), Vector3.of(x))


def observe(
    points: Sequence[ContactPoint],
    X0: Sequence[Transform],
    v: Sequence[Motion],
    before: Sequence[Scalar],
    twist: Sequence[Scalar],
    period: Scalar,
    velocity: Matrix,
    position: Matrix,
    open_part: Matrix | None,
) -> Seen:
    """Return where the object is and how it moves.

    Args:
        points: The contacts.
        X0: Transforms from world to body coordinates of the arms.
        v: Velocities of the arms' bodies.
        before: Centre of mass and quaternion a period ago (7,), near to which it is looked for.
        twist: Its twist then, in its own axes (6,).
        period: The time since [s].
        velocity: `ObserverMaps.velocity`.
        position: `ObserverMaps.position`.
        open_part: `ObserverMaps.open`; None where positions determine everything.
    """
    x, quaternion = _moved(before[:3], before[3:], [period * value for value in twist])
    if open_part is not None:
        place = place_of(x, quaternion)
        now = times(velocity, blocked_velocity(points, place, X0, v))
        late = [0.5 * period * (a - b) for a, b in zip(now, twist, strict=True)]
        x, quaternion = _moved(x, quaternion, times(open_part, late))
    for _ in range(_STEPS):
        residual = _residual(points, place_of(x, quaternion), X0)
        x, quaternion = _moved(x, quaternion, times(position, residual))
    place = place_of(x, quaternion)
    moving = times(velocity, blocked_velocity(points, place, X0, v))
    residual = _residual(points, place, X0)
    return Seen(place, quaternion, Motion.of(moving), residual)


def _residual(
    points: Sequence[ContactPoint], place: Place, X0: Sequence[Transform]
) -> list[Scalar]:
    return [value for point in points for value in point.residual(place, X0)]


def _moved(
    x: Sequence[Scalar], quaternion: Sequence[Scalar], step: Sequence[Scalar]
) -> tuple[list[Scalar], list[Scalar]]:
    """Return centre of mass and quaternion after a small motion (6,) in the object's axes."""
    E = Rotation.from_quaternion(*quaternion)
    shift = E.inverse_times(Vector3.of(step[3:]))
    return list(Vector3.of(x) + shift), turn(quaternion, step[:3])
