# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Position limits as bounds on coordinates, of tree joints and loop joints alike.

A limit belongs to a freedom and bounds its coordinate, as a spring pulls at it: an angle, a slide,
the x of a planar joint, a component of the rotation vector of a joint with a quaternion.

The coordinates of a loop joint, and rotation vectors, are functions of the relative placement of
the joint's frames, which determines angles up to whole turns. An angle of a loop joint is taken
within half a turn of the middle of its range; with a single limit the range ends `WIDEST` from it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.algorithm import Algorithm
from robot_dynamics.dynamics.kinematics import joint_transforms
from robot_dynamics.dynamics.loop_frames import loop_frames
from robot_dynamics.model import Joint, LoopJoint, Model
from robot_dynamics.model.parameters import Parameters
from robot_dynamics.spatial import Force, Scalar, Transform
from robot_dynamics.wording import outside

#: Widest range of an angle of a loop joint [rad]: a turn less some room behind both limits.
WIDEST = 6.2
# Distance from a limit of a loop joint that is reached [rad or m]: steps end on it to rounding.
_REACHED = 1e-9


@dataclass(frozen=True)
class BoundedCoordinate:
    """A coordinate of a joint that has a position limit.

    Attributes:
        joint: The tree joint or loop joint.
        freedom: Index of its freedom.
        lower: Lowest value [rad or m].
        upper: Highest value [rad or m].
    """

    joint: Joint | LoopJoint
    freedom: int
    lower: float
    upper: float

    @property
    def name(self) -> str:
        """Name of the joint, with the direction if it has several freedoms."""
        return self.joint.freedom_names[self.freedom]

    @property
    def unit(self) -> str:
        """Unit of the coordinate, "rad" or "m"."""
        return "rad" if self.joint.type.turning[self.freedom] else "m"

    @property
    def doubt(self) -> str:
        """Expected range, if the placement of the joint's frames does not determine this one."""
        kind, freedom = self.joint.type, self.freedom
        if not kind.turning[freedom]:
            return ""
        if kind.nq != kind.nv:  # a rotation vector, which changes its sign at half a turn
            limits = self.joint.of_each_freedom(self.joint.limits)
            turns = [one for one, turn in zip(limits, kind.turning, strict=True) if turn]
            corner = math.hypot(*(max(-one.lower, one.upper) for one in turns))
            opposite = all(one.lower == -one.upper for one in turns)
            return "" if opposite or corner < 0.5 * WIDEST else "the same limit on both sides"
        if isinstance(self.joint, Joint):
            return ""
        for end in filter(math.isfinite, (self.lower, self.upper)):
            if kind.told_by_placement(self._with(end)) != self._with(end):
                return "limits within a right angle"
        here = kind.transform(kind.neutral())
        turned = kind.coordinates(here, self._with(2.0 * math.pi))[freedom]
        if turned > math.pi and WIDEST < self.upper - self.lower < math.inf:
            return f"at most {WIDEST:g} rad in a loop joint, or the joint in the spanning tree"
        return ""

    def of_positions(self, q: Sequence[Scalar]) -> Scalar:
        """Return the value at the positions (nq,) of the tree joint."""
        return self.joint.type.coordinates_of(q)[self.freedom]

    def of_placement(self, X: Transform) -> Scalar:
        """Return the value at the placement sXp of the loop joint's frames."""
        lower = self.upper - WIDEST if math.isinf(self.lower) else self.lower
        upper = self.lower + WIDEST if math.isinf(self.upper) else self.upper
        near = self._with(0.5 * (lower + upper))
        return self.joint.type.coordinates(X, near)[self.freedom]

    def slope(self, X: Transform) -> Force:
        """Return f in the successor's frame with the rate f^T v_J of the coordinate."""
        kind = self.joint.type
        total = Force.zero()
        forces = kind.coordinate_forces(X, self._with(1.0))
        for direction, force in zip(kind.active_forces(X), forces, strict=True):
            total = total + direction * force
        return total

    def _with(self, value: float) -> tuple[float, ...]:
        """Return coordinates (nv,) that are zero except this one."""
        return tuple(value * (i == self.freedom) for i in range(self.joint.type.nv))


def bounded_coordinates(joint: Joint | LoopJoint) -> list[BoundedCoordinate]:
    """Return the coordinates of a joint that have a position limit."""
    limits = joint.of_each_freedom(joint.limits)
    return [
        BoundedCoordinate(joint, i, one.lower, one.upper)
        for i, one in enumerate(limits)
        if math.isfinite(one.lower) or math.isfinite(one.upper)
    ]


class PositionLimits:
    """The bounds of a model's coordinates.

    Attributes:
        lower: Lowest value of each coordinate of the tree (nv,) [rad or m].
        upper: Highest value of each coordinate of the tree (nv,).
        of_loops: The bounded coordinates of loop joints (m,).
    """

    def __init__(self, model: Model, enforced: bool = True) -> None:
        self.model = model
        bounds, none = model.limits(), np.full(model.nv, np.inf)
        self.lower = bounds["lower"] if enforced else -none
        self.upper = bounds["upper"] if enforced else none
        self._bounded = np.isfinite(self.lower) | np.isfinite(self.upper)
        pairs = [*zip(model.q_slices, model.v_slices, strict=True)]
        plain = [(q, v) for q, v in pairs if q.stop - q.start == v.stop - v.start]
        self._turned = [
            (i, q, v) for i, (q, v) in enumerate(pairs) if q.stop - q.start != v.stop - v.start
        ]
        # A quaternion is converted to a rotation vector only if that has bounds, because it takes
        # time.
        self._limited = [at for at in self._turned if self._bounded[at[2]].any()]
        self._plain_q, self._plain_v = (
            np.array([i for at in each for i in range(at.start, at.stop)], dtype=np.intp)
            for each in (zip(*plain, strict=True) if plain else ((), ()))
        )
        loops = enumerate(model.loops if enforced else ())
        found = [(i, one) for i, loop in loops for one in bounded_coordinates(loop)]
        self.of_loops = [one for _, one in found]
        self._bounds = tuple((i, one.freedom, one.lower, one.upper) for i, one in found)
        self._lowest = np.array([one.lower for one in self.of_loops])
        self._highest = np.array([one.upper for one in self.of_loops])

    def values(self, q: Array) -> Array:
        """Return the coordinates of the tree (nv,) that may be bounded, of positions (nq,)."""
        return self._values(q, self._turned)

    def _values(self, q: Array, turned: Sequence[tuple[int, slice, slice]]) -> Array:
        """Return the coordinates (nv,), zero for other joints with a quaternion."""
        result = np.zeros(self.model.nv)
        result[self._plain_v] = q[self._plain_q]
        for body, at_q, at_v in turned:
            result[at_v] = self.model.bodies[body].joint.type.coordinates_of(q[at_q].tolist())
        return result

    def clipped(self, q: Array, free: NDArray[np.bool_]) -> Array:
        """Return positions with the tree's free coordinates moved to their nearest bounds."""
        result = q.copy()
        if not np.any(self._bounded & free):
            return result
        values = self._values(q, self._limited)
        inside = np.where(free, np.clip(values, self.lower, self.upper), values)
        result[self._plain_q] = inside[self._plain_v]
        for _, at_q, at_v in self._limited:
            if np.array_equal(inside[at_v], values[at_v]):
                continue  # a quaternion would only lose digits
            part = inside[at_v]
            result[at_q] = np.concatenate([part[3:], Rotation.from_rotvec(part[:3]).as_quat()])
        return result

    def barriers(self, q: Array, step: Array) -> Array:
        """Return rows (n, nv), one for each bound reached that a step (nv,) would cross.

        A row is the rate of the coordinate; steps orthogonal to it run along the bound.
        """
        values = self._values(q, self._limited)
        reached = (values <= self.lower) | (values >= self.upper)
        rows = []
        for i in np.flatnonzero(reached & self._bounded):
            row = self._rate(q, int(i))
            outwards = -1.0 if values[i] <= self.lower[i] else 1.0
            if outwards * float(row @ step) > 0.0:
                rows.append(row)
        return np.array([*rows, *self.loop_barriers(q, step)]).reshape(-1, self.model.nv)

    def _rate(self, q: Array, index: int) -> Array:
        """Return the rate (nv,) of a coordinate of the tree."""
        model, row = self.model, np.zeros(self.model.nv)
        body = next(i for i, at in enumerate(model.v_slices) if index < at.stop)
        kind, at = model.bodies[body].joint.type, model.v_slices[body]
        X = kind.transform(q[model.q_slices[body]].tolist())
        # The forces of the same power as one along the coordinate.
        row[at] = kind.coordinate_forces(X, [float(i == index) for i in range(at.start, at.stop)])
        return row

    def loop_values(self, q: Array) -> Array:
        """Return the bounded coordinates of loop joints (..., m) at positions (..., nq)."""
        return self._of_loops(q)[0]

    def loop_rates(self, q: Array) -> Array:
        """Return the rates (..., m, nv) of the bounded coordinates of loop joints.

        They are exact where the loops are closed.
        """
        return self._of_loops(q)[1]

    def excess(self, q: Array) -> tuple[Array, Array]:
        """Return distances of loop joints beyond their bounds (m,), and their rates (m, nv).

        Both are zero within the bounds.
        """
        values, rates = self._of_loops(q)
        beyond = values - np.clip(values, self._lowest, self._highest)
        return beyond, np.where(beyond[:, None] != 0.0, rates, 0.0)

    def loop_barriers(self, q: Array, step: Array) -> Array:
        """Return rows (n, nv) of the bounds of loop joints that a step (nv,) would cross."""
        values, rates = self._of_loops(q)
        low, high = values <= self._lowest + _REACHED, values >= self._highest - _REACHED
        change = rates @ step
        return np.asarray(rates[(low & (change < 0.0)) | (high & (change > 0.0))])

    def faults(self, q: Array, most: float) -> list[str]:
        """Return words for loop joints beyond their bounds by more than a number [rad or m]."""
        beyond, _ = self.excess(q)
        found = zip(self.of_loops, self.loop_values(q), np.abs(beyond) > most, strict=True)
        return [
            f"loop joint {one.name!r} is at {outside(value, one.lower, one.upper, one.unit)}"
            for one, value, wrong in found
            if wrong
        ]

    @cached_property
    def _of_loops(self) -> Callable[[Array], tuple[Array, Array]]:
        """The compiled `loop_coordinates` of the model."""
        if not self.of_loops:
            nv = self.model.nv
            return lambda q: (np.zeros((*q.shape[:-1], 0)), np.zeros((*q.shape[:-1], 0, nv)))
        return LOOP_COORDINATES.bind(self.model, self._bounds)


def loop_coordinates(
    model: Model,
    q: Sequence[Scalar],
    parameters: Parameters,
    bounds: Sequence[tuple[int, int, float, float]],
) -> tuple[list[Scalar], list[list[Scalar]]]:
    """Return coordinates (m,) of loop joints and their rates (m, nv), exact in closed loops.

    Args:
        model: The mechanism.
        q: Positions (nq,).
        parameters: The placements of the loop joints.
        bounds: For each coordinate the indices of its loop joint and its freedom, and limits.
    """
    frames = list(loop_frames(model, joint_transforms(model, q), parameters, q))
    values: list[Scalar] = []
    rates: list[list[Scalar]] = []
    for loop, freedom, lower, upper in bounds:
        frame = frames[loop]
        one = BoundedCoordinate(frame.joint, freedom, lower, upper)
        values.append(one.of_placement(frame.placement))
        own = frame.joint_forces(one.slope(frame.placement))
        rates.append([own.get(i, 0.0) for i in range(model.nv)])
    return values, rates


LOOP_COORDINATES = Algorithm("loop_coordinates", loop_coordinates, "q -> x (m), rates (m, nv)")
