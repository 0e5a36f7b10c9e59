# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The least internal force that keeps every contact inside its cone.

Contact forces are W^# w + A f_IS. For a wrench w that motion and surfaces need, f_IS is the
internal force nearest to a desired one at which all contacts keep a margin to their cones. This is
a quadratic program over inscribed polygons; margins are then computed with the cones. Polygons
leave a fraction of the friction unused (1 - cos(pi / n) for points), so that the result is larger
than the least.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.arrays import Array
from robot_dynamics.compile.routine import Matrix, Vector, new_record, routine, zeros
from robot_dynamics.dynamics.quadratic_program import nearest_within
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.manipulation.hybrid.closure import contact_planes, deepest
from robot_dynamics.manipulation.hybrid.contacts import (
    SIDES,
    Contact,
    contact_wrenches,
    moment_directions,
)
from robot_dynamics.manipulation.hybrid.force_distribution import ForceDistribution
from robot_dynamics.wording import apart

_STILL = 1e-12  # largest change of a contact force that counts as zero [N]
_LARGEST = 1.0e300  # of a number; sums of larger ones can overflow


class SqueezeError(RobotDynamicsError):
    """No internal force holds the object with the margin and within the limits.

    Attributes:
        contacts: Names of the contacts that would slip or open.
        margin: The largest possible margin [N].
    """

    def __init__(self, contacts: tuple[str, ...], margin: float, sentence: str) -> None:
        self.contacts, self.margin = contacts, margin
        super().__init__(sentence)


class TorqueBounds(NamedTuple):
    """Bounds of contact forces by the drives: -limits <= rest + J_S^T F_hS <= limits.

    Attributes:
        J_S: S^T J (d, n).
        rest: Torques without contact forces, M qdd + h (n,).
        limits: Largest torques (n,); infinite for drives without a limit.
    """

    J_S: Array
    rest: Array
    limits: Array

    def left(self, wrench: Array, distribution: ForceDistribution) -> InternalForceBounds:
        """Return the bounds of internal forces while the contacts exert a wrench (6,)."""
        taken = self.rest + self.J_S.T @ (distribution.share @ wrench)
        return InternalForceBounds(self.J_S.T @ distribution.internal, taken, taken, self.limits)


class InternalForceBounds(NamedTuple):
    """Bounds of internal forces by the drives.

    They are -limits <= least + grip f_IS and most + grip f_IS <= limits.

    Attributes:
        grip: Torques of each internal force (n, m).
        least: Least torque of each drive without internal forces (n,).
        most: Largest one (n,).
        limits: Largest torques (n,); infinite for drives without a limit.
    """

    grip: Array
    least: Array
    most: Array
    limits: Array


class CorrectionLimit(NamedTuple):
    """Limit of the distance to an internal force: |contact forces of f_IS - around| <= most.

    It holds for each component in the contacts' axes, moments divided by the length.

    Attributes:
        around: The internal force (m,).
        most: The largest component [N].
    """

    around: Array
    most: float


class SqueezeInputs(NamedTuple):
    """Inputs of a `BoundedSqueeze`, in arrays that the caller rewrites.

    Attributes:
        wrench: Wrench of the contacts on the object, in its axes (6,).
        desired: f_IS (m,).
        around: Of a `CorrectionLimit` (m,).
        size: Its largest component (1,) [N]; infinite without a limit.
        grip: Of `InternalForceBounds` (n, m), as the next three (n,).
        least: Least torques.
        most: Largest torques.
        limits: Limits of both.
    """

    wrench: Vector
    desired: Vector
    around: Vector
    size: Vector
    grip: Matrix
    least: Vector
    most: Vector
    limits: Vector


class AskedForce(NamedTuple):
    """A requested internal force.

    Attributes:
        wrench: Wrench of the contacts on the object, in its axes (6,).
        internal_force: f_IS (m,).
    """

    wrench: Vector
    internal_force: Vector


class SqueezeChoice(NamedTuple):
    """An internal force.

    Attributes:
        internal_force: f_IS (m,).
        margins: Distance of each contact to its cone at the worst wrench (k,) [N]; infinite for
            contacts without limits.
        worst: Index of the worst wrench of each contact (k,).
    """

    internal_force: Array
    margins: Array
    worst: NDArray[np.int_]


class Squeeze:
    """Chooses internal forces for one grasp.

    Args:
        contacts: The contacts, with their limits.
        distribution: Sharing of the load, and internal forces.
        margin: Distance that each contact keeps to its cone [N]: the error of its force, in the
            worst direction, at which it slips.
        names: Names of the contacts.
        length: Length [m] at which a moment counts like a force in the size of the squeeze.
        sides: Sides of the polygons that stand for cones.

    Raises:
        ArgumentError: If the margin is negative, or the distribution is of another grasp.
    """

    def __init__(
        self,
        contacts: Sequence[Contact],
        distribution: ForceDistribution,
        margin: float,
        *,
        names: Sequence[str] = (),
        length: float = 0.1,
        sides: int = SIDES,
    ) -> None:
        if not 0.0 <= margin < np.inf:
            raise ArgumentError(
                f"the margin of contacts is {margin:g} N; expected a finite number from 0 up."
            )
        self._contacts, self._distribution, self.margin = tuple(contacts), distribution, margin
        moments = moment_directions(contacts)
        if len(moments) != len(distribution.internal):
            raise ArgumentError(
                f"the distribution has {len(distribution.internal)} contact forces; expected "
                f"{len(moments)}, as many as the contacts."
            )
        self.names = tuple(names) or tuple(str(i + 1) for i in range(len(contacts)))
        planes = contact_planes(contacts, margin, sides)
        A, scale = distribution.internal, np.where(moments, 1.0 / length, 1.0)
        # The size of an internal force is the size of its contact forces: |y| with y = L^T f_IS.
        self._scaled = scaled = scale[:, None] * A
        self._to_scaled = np.asarray(np.linalg.cholesky(scaled.T @ scaled).T, dtype=float)
        self._to_internal = np.asarray(np.linalg.inv(self._to_scaled), dtype=float)
        self._rows = planes.rows @ (A @ self._to_internal)
        self._components = scaled @ self._to_internal
        self._loads = planes.rows @ distribution.share
        self._bounds, self._owners = planes.lower, planes.contact
        self.slips = bool(len(self._owners))
        self._none = np.full(len(planes.lower), np.inf)
        self._programs: dict[int, BoundedSqueeze] = {}  # by the number of drives
        self._asked = asked = new_record(AskedForce, wrench=6, internal_force=A.shape[1])
        of_force = np.ascontiguousarray(planes.rows @ A)
        self._holds = holds.bind(asked, self._loads, of_force, self._bounds)
        self._sized = np.zeros(scaled.shape[1])
        self._size = largest_component.bind(np.ascontiguousarray(scaled), self._sized)

    def at(
        self,
        wrench: ArrayLike,
        desired: ArrayLike | None = None,
        torque_bounds: TorqueBounds | None = None,
    ) -> SqueezeChoice:
        """Return the internal force for one wrench, nearest to a desired one.

        Args:
            wrench: Wrench of the contacts on the object, in its axes (6,).
            desired: f_IS (m,); zero by default, for the least internal force.
            torque_bounds: Torque limits of the drives; none by default.

        Raises:
            SqueezeError: If none exists, with the contacts that cannot hold and their margin.
        """
        w = np.asarray(wrench, dtype=float)
        f_IS = np.zeros(len(self._to_scaled)) if desired is None else np.asarray(desired, float)
        left = None if torque_bounds is None else torque_bounds.left(w, self._distribution)
        program = self._program(w, f_IS, left)
        program.write()
        return self._solve(w[None], f_IS, program.rows, program.lower, program.upper)

    def in_loop(
        self,
        wrench: Array,
        desired: Array,
        torque_bounds: InternalForceBounds | None = None,
        correction_limit: CorrectionLimit | None = None,
    ) -> Array | None:
        """Return the internal force of `at` without margins, fast enough for every control period.

        In most periods the desired force holds already, which is found first.

        Args:
            wrench: Wrench of the contacts on the object, in its axes (6,).
            desired: f_IS (m,), within the correction limit.
            torque_bounds: Bounds by the drives.
            correction_limit: Limit of its distance to another internal force.

        Returns:
            f_IS (m,); None if no internal force holds the object, a number is not finite, or the
            solver fails.
        """
        if torque_bounds is None:
            self._asked.wrench[:], self._asked.internal_force[:] = wrench, desired
            if self._holds():
                return desired
        if not len(desired):
            return None
        return self._program(wrench, desired, torque_bounds, correction_limit).nearest()

    def bounded(self, given: SqueezeInputs) -> BoundedSqueeze:
        """Return the quadratic program of `in_loop` for arrays that the caller rewrites."""
        return BoundedSqueeze(
            given, self._rows, self._loads, self._bounds, self._scaled, self._to_scaled,
            self._to_internal,
        )  # fmt: skip

    def size(self, internal_force: Array) -> float:
        """Return the largest component of the contact forces [N] of an internal force (m,).

        Components are in the contacts' axes, moments divided by the length.
        """
        self._sized[:] = internal_force
        return float(self._size())

    def part_within(self, start: Array, change: Array, most: float) -> float:
        """Return the largest fraction, up to 1, of a change that stays within a size.

        Args:
            start: f_IS (m,), within the size.
            change: Change of f_IS (m,).
            most: Largest `size` [N].
        """
        there, ways = (self._scaled @ start).tolist(), (self._scaled @ change).tolist()
        moved = ((x, way) for x, way in zip(there, ways, strict=True) if abs(way) > _STILL)
        return max(0.0, min([1.0, *(most / abs(way) - x / way for x, way in moved)]))

    def _program(
        self,
        wrench: Array,
        desired: Array,
        torque_bounds: InternalForceBounds | None,
        correction_limit: CorrectionLimit | None = None,
    ) -> BoundedSqueeze:
        """Return the quadratic program with these inputs; the next call changes it."""
        drives = 0 if torque_bounds is None else len(torque_bounds.grip)
        program = self._programs.get(drives)
        if program is None:
            m = len(self._to_scaled)
            given = new_record(
                SqueezeInputs, wrench=6, desired=m, around=m, size=1, grip=(drives, m),
                least=drives, most=drives, limits=drives,
            )  # fmt: skip
            program = self._programs[drives] = self.bounded(given)
        given = program.given
        given.wrench[:], given.desired[:] = wrench, desired
        given.around[:], given.size[0] = correction_limit or (desired, np.inf)
        if torque_bounds is not None:
            given.grip[:], given.least[:], given.most[:], given.limits[:] = torque_bounds
        return program

    def over(
        self,
        wrenches: ArrayLike,
        desired: ArrayLike | None = None,
        times: ArrayLike | None = None,
    ) -> SqueezeChoice:
        """Return one internal force for all wrenches (N, 6) of a plan, nearest to a desired one.

        Args:
            wrenches: Wrenches of the contacts on the object (N, 6), in the order of time.
            desired: f_IS (m,); zero by default, for the least internal force.
            times: Their times (N,) [s], for error messages, which else count wrenches.

        Raises:
            SqueezeError: As `at`, with the number or time of the wrench.
        """
        w = np.asarray(wrenches, dtype=float)
        # One internal force holds for all wrenches: each plane needs only its worst wrench.
        lower = np.max(self._bounds - w @ self._loads.T, axis=0, initial=-np.inf)
        return self._solve(w, desired, self._rows, lower, self._none, times)

    def margins(self, wrenches: ArrayLike, internal_force: ArrayLike) -> Array:
        """Return the exact margins of the contacts to their cones (..., k) [N]."""
        forces = self._distribution.contact_forces(
            np.asarray(wrenches, dtype=float), np.asarray(internal_force, dtype=float)
        )
        return contact_margins(self._contacts, forces)

    def _solve(
        self,
        w: Array,
        desired: ArrayLike | None,
        rows: Array,
        lower: Array,
        upper: Array,
        times: ArrayLike | None = None,
    ) -> SqueezeChoice:
        f_IS = np.asarray(np.zeros(len(self._to_scaled)) if desired is None else desired, float)
        if not (np.all(np.isfinite(w)) and np.all(np.isfinite(f_IS))):
            raise ArgumentError(
                "the wrench of contacts or the desired internal force has a number that is not "
                "finite; expected finite numbers."
            )
        goal = self._to_scaled @ f_IS
        y: Array | None
        if len(goal) and len(rows):
            y = nearest_within(goal, rows, lower, upper)
        else:  # without internal forces, or without limits, there is no choice
            y = goal if np.all((lower <= 0.0) & (upper >= 0.0)) else None
        if y is None:
            raise self._refusal(w, rows, lower, times)
        internal = self._to_internal @ y
        margins = self.margins(w, internal)
        return SqueezeChoice(internal, margins.min(axis=0), np.argmin(margins, axis=0))

    def _refusal(
        self, w: Array, rows: Array, lower: Array, times: ArrayLike | None
    ) -> SqueezeError:
        """Return the error: the largest margin and the contacts that limit it."""
        cones = len(self._rows)
        found = deepest(
            rows[:cones],
            lower[:cones] - self.margin,
            self.margin + 1.0,
            (np.zeros((0, len(self._to_scaled))), np.zeros(0)),
        )
        assert found is not None  # without equations it is feasible
        if found.margin >= self.margin:
            return SqueezeError(
                (),
                found.margin,
                f"the contacts keep their margin of {self.margin:g} N only beyond the torque "
                "limits of the drives; expected a smaller load or margin.",
            )
        owners = dict.fromkeys(self._owners[list(found.tight)].tolist())
        names = tuple(self.names[i] for i in owners)
        # The worst wrench for the plane with the largest multiplier.
        worst = int(np.argmin(w @ self._loads[found.tight[0]]))
        where = f" at wrench {worst + 1} of {len(w)}" if len(w) > 1 else ""
        if times is not None:
            where = f" at {np.asarray(times)[worst]:.3g} s"
        load = np.round(w[worst], 3) + 0.0
        margin, least = apart(found.margin, self.margin)
        return SqueezeError(
            names,
            found.margin,
            f"the best internal force leaves {' and '.join(map(repr, names))} a margin of "
            f"{margin} N{where}, with the wrench {load.tolist()} [moment; force] on the object; "
            f"expected {least} N.",
        )


class BoundedSqueeze:
    """Quadratic program for the internal force nearest to a desired one, in permanent arrays.

    Its rows belong to the cones (c,), limited components (d,) and the drives (n,).

    Args:
        given: Inputs.
        cones: Rows of the cones (c, m).
        loads: Loads of the cones by a wrench (c, 6).
        bounds: Lower bounds of the cones without a wrench (c,).
        scaled: From internal forces to limited components of contact forces (d, m).
        to_scaled: From internal forces to the unknowns (m, m).
        to_internal: The inverse of it (m, m).

    Attributes:
        given: Inputs.
        rows: (c + d + n, m).
        lower: Their lower bounds.
        upper: Their upper bounds; infinite of cones.
    """

    def __init__(
        self,
        given: SqueezeInputs,
        cones: Array,
        loads: Array,
        bounds: Array,
        scaled: Array,
        to_scaled: Array,
        to_internal: Array,
    ) -> None:
        m = len(to_internal)
        self.given, self._to_internal = given, to_internal
        self.rows = np.vstack([cones, scaled @ to_internal, np.zeros((len(given.limits), m))])
        self.upper = np.full(len(self.rows), np.inf)
        self.lower, self._goal = -self.upper, np.zeros(m)
        self._found, self._most_change = np.zeros(m), np.full(1, np.inf)
        loads, scaled, to_scaled, to_internal = map(
            np.ascontiguousarray, (loads, scaled, to_scaled, to_internal)
        )
        self.write = write_program.bind(
            given, loads, bounds, scaled, to_scaled, to_internal, self.rows, self.lower,
            self.upper, self._goal,
        )  # fmt: skip
        self._approach = approach.bind(given, self._found, scaled, to_internal, self._most_change)

    def nearest(self) -> Array | None:
        """Return the internal force (m,) for the present inputs.

        None if no internal force holds the object, a number is not finite, or the solver fails.
        """
        y = self._solution()
        return None if y is None else self._to_internal @ y

    def approach(self, most: float) -> float | None:
        """Move the desired internal force towards `nearest`, and return the part of the way.

        Args:
            most: Largest component of the change; see `Squeeze.size` [N].

        Returns:
            The part, up to 1; None without `nearest`.
        """
        y = self._solution()
        if y is None:
            return None
        self._found[:], self._most_change[0] = y, most
        return float(self._approach())

    def _solution(self) -> Array | None:
        """Return the unknowns of `nearest`."""
        if not self.write():
            return None
        try:
            return nearest_within(self._goal, self.rows, self.lower, self.upper)
        except RobotDynamicsError:
            return None


@routine
def write_program(
    given: SqueezeInputs, loads: Matrix, bounds: Vector, scaled: Matrix, to_scaled: Matrix,
    to_internal: Matrix, rows: Matrix, lower: Vector, upper: Vector, goal: Vector,
) -> bool:  # fmt: skip
    """Write goal, bounds, and rows of the drives; return whether the goal is finite.

    Rows of drives are scaled to size one by themselves: a drive can be without limits.
    """
    m, drives = len(goal), len(given.limits)
    total = 0.0
    for k in range(len(given.wrench)):
        total += given.wrench[k]
    for i in range(m):
        goal[i] = 0.0
        for k in range(m):
            goal[i] += to_scaled[i, k] * given.desired[k]
        total += goal[i]
    if not abs(total) <= _LARGEST:
        return False
    for i in range(len(bounds)):
        lower[i] = bounds[i]
        for k in range(len(given.wrench)):
            lower[i] -= loads[i, k] * given.wrench[k]
    first = len(bounds)
    for i in range(len(scaled)):
        x = 0.0
        for k in range(m):
            x += scaled[i, k] * given.around[k]
        lower[first + i], upper[first + i] = x - given.size[0], x + given.size[0]
    first = len(rows) - drives
    for i in range(drives):
        size = 0.0
        for j in range(m):
            x = 0.0
            for k in range(m):
                x += given.grip[i, k] * to_internal[k, j]
            rows[first + i, j] = x
            size += x * x
        size = sqrt(size) if size > 0.0 else 1.0
        for j in range(m):
            rows[first + i, j] = rows[first + i, j] / size
        lower[first + i] = (-given.limits[i] - given.least[i]) / size
        upper[first + i] = (given.limits[i] - given.most[i]) / size
    return True


@routine
def approach(
    given: SqueezeInputs, found: Vector, scaled: Matrix, to_internal: Matrix, most: Vector
) -> float:
    """Move the desired internal force towards `found` unknowns; return the part of the way."""
    m, size = len(found), 0.0
    change = zeros(m)
    for i in range(m):
        change[i] = -given.desired[i]
        for k in range(m):
            change[i] += to_internal[i, k] * found[k]
    for i in range(len(scaled)):
        x = 0.0
        for k in range(m):
            x += scaled[i, k] * change[k]
        size = max(size, abs(x))
    part = most[0] / size if size > most[0] else 1.0
    for i in range(m):
        given.desired[i] += part * change[i]
    return part


@routine
def holds(asked: AskedForce, loads: Matrix, of_force: Matrix, bounds: Vector) -> bool:
    """Return whether contacts exert a wrench with an internal force; false if one is not finite.

    Args:
        asked: The wrench and the internal force.
        loads: Distances from the planes of the cones by a wrench (c, 6).
        of_force: By an internal force (c, m).
        bounds: Least distances (c,).
    """
    size = 0.0
    for k in range(len(asked.wrench)):
        size += abs(asked.wrench[k])
    for k in range(len(asked.internal_force)):
        size += abs(asked.internal_force[k])
    if not size < _LARGEST:
        return False
    for i in range(len(bounds)):
        x = 0.0
        for k in range(len(asked.wrench)):
            x += loads[i, k] * asked.wrench[k]
        for k in range(len(asked.internal_force)):
            x += of_force[i, k] * asked.internal_force[k]
        if not x >= bounds[i]:
            return False
    return True


@routine
def largest_component(scaled: Matrix, internal_force: Vector) -> float:
    """Return the largest component of the contact forces of an internal force (m,)."""
    largest = 0.0
    for i in range(len(scaled)):
        x = 0.0
        for k in range(len(internal_force)):
            x += scaled[i, k] * internal_force[k]
        largest = max(largest, abs(x))
    return largest


def contact_margins(contacts: Sequence[Contact], forces: ArrayLike) -> Array:
    """Return the margins (..., k) [N] of contact forces (..., d) to the limits of the contacts.

    Raises:
        ArgumentError: If the number of forces differs from the directions of the contacts.
    """
    expected = sum(contact.directions.shape[1] for contact in contacts)
    forces = np.asarray(forces, dtype=float)
    if forces.shape[-1:] != (expected,):
        raise ArgumentError(
            f"contact forces have shape {forces.shape}; expected (..., {expected})."
        )
    wrenches = contact_wrenches(contacts, forces)
    margins = [
        np.full(forces.shape[:-1], np.inf)
        if contact.limits is None
        else contact.limits.distance(wrenches[..., i, :])
        for i, contact in enumerate(contacts)
    ]
    return np.stack(margins, axis=-1)
