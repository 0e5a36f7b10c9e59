# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Motion of arms along a path of the object, with contacts closed at every point."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.compile.routine import Indices, Matrix, MutableRecord, Vector, routine
from robot_dynamics.contact.dense import along_row, factorise, larger, substitute
from robot_dynamics.control.reference import TWIST
from robot_dynamics.manipulation.hybrid import Contact
from robot_dynamics.manipulation.hybrid.grasp_kinematics import holonomic_rows
from robot_dynamics.manipulation.system import GraspSystem

_CLOSE_ENOUGH = 1e-10  # gap [m, rad] at which contacts count as closed; far below what matters
_LARGEST_STEP = 0.3  # of a Newton step [rad or m]
_STEPS = 60  # of Newton's method; few but where tools have turned far in their contacts
_GOES_ON, _CLOSED, _FAILED = 0, 1, 2
_INFINITE, _NAN = float("inf"), float("nan")


class _PathArrays(NamedTuple):
    """Arrays of a path: n joints of the arms, r rows that contacts block, b bodies."""

    at: Vector  #: Positions (nq,).
    rate: Vector  #: Velocities (nv,).
    H: Matrix  #: Inertia matrix (nv, nv).
    K: Matrix  #: Constraint Jacobian (n^c, nv).
    open_by: Vector  #: Position errors of the constraints (n^c,).
    rows: Matrix  #: From all rows of the constraints to those of the arms (r, n^c).
    holonomic: Vector  #: 1 for rows that block positions, else 0 (r,).
    every_q: Indices  #: Joints of the arms in positions (n,).
    every_v: Indices  #: The same in velocities (n,).
    bodies_q: Indices  #: Where positions of the object's bodies begin (b,).
    bodies_v: Indices  #: Where their velocities begin (b,).
    wanted: Matrix  #: Their poses and twists, in world axes (b, 13).
    J: Matrix  #: The rows of the arms (r, nv).
    error: Vector  #: Their position errors (r,).
    matrix: Matrix  #: Of the smallest motion (n + r, n + r).
    order: Vector  #: Of its rows in its factors (n + r,).
    solution: Vector  #: Right side, then the smallest motion and its multipliers (n + r,).


class _Ahead(MutableRecord):
    """A prediction of na joints with drives."""

    step: float  #: Its time step [s].
    acceleration: Vector  #: Their accelerations (na,).
    q: Indices  #: Their places in positions (na,).
    v: Indices  #: Their places in velocities (na,).


class ClosedPath:
    """Arms and object; contacts, and internal chains of the arms, are closed at every point.

    They are closed by the smallest motion in the metric of inertia. Free directions of contacts do
    not change. A contact that blocks the rotation about one axis only, such as a soft finger,
    blocks a rate and not a position: the rotation follows from the velocities, see `advance`.

    Attributes:
        at: Positions of the model (nq,).
        rate: Its velocities (nv,).

    Args:
        system: Arms and object.
        terms: `Robot.constraint_terms` of its model.
        contacts: Contact of each arm with the object; rigid by default.
    """

    def __init__(
        self, system: GraspSystem, terms: Any, contacts: Sequence[Contact] | None = None
    ) -> None:
        self._system, self._terms = system, terms
        self._at = np.array(system.model.neutral())
        self.rate = np.zeros(system.model.nv)
        held = contacts or [Contact.of_kind("rigid", grasp) for grasp in system.grasps]
        counts = [len(loop.type.rows) for loop in system.model.loops]
        first = np.concatenate([[0], np.cumsum(counts)]).astype(int)
        chains = system.internal_chains
        own = [] if chains is None else list(range(first[chains], first[-1]))
        rows = sum(one.directions.shape[1] for one in held) + len(own)
        self._rows, self._holonomic = np.zeros((rows, first[-1])), np.ones(rows)
        self._grasps: list[tuple[slice, Array]] = []
        row = 0
        for arm, contact in zip(system.arms, held, strict=True):
            S = contact.directions
            at = slice(row, row + S.shape[1])
            self._rows[at, first[arm.loop] : first[arm.loop] + 6] = S.T
            self._holonomic[at] = holonomic_rows(contact)
            self._grasps.append((at, S))
            row = at.stop
        self._rows[np.arange(row, rows), own] = 1.0
        model, bodies = system.model, system.object_bodies
        nv, size = model.nv, len(system.every_v) + rows
        self._motion = _PathArrays(
            at=self._at, rate=self.rate, H=np.zeros((nv, nv)), K=np.zeros((first[-1], nv)),
            open_by=np.zeros(first[-1]), rows=self._rows, holonomic=self._holonomic,
            every_q=system.every_q.astype(np.int64), every_v=system.every_v.astype(np.int64),
            bodies_q=np.array([model.q_slices[b].start for b in bodies]),
            bodies_v=np.array([model.v_slices[b].start for b in bodies]),
            wanted=np.zeros((len(bodies), TWIST.stop)), J=np.zeros((rows, nv)),
            error=np.zeros(rows), matrix=np.zeros((size, size)), order=np.zeros(size),
            solution=np.zeros(size),
        )  # fmt: skip
        na = len(system.q_index)
        self._ahead = _Ahead(acceleration=na, q=na, v=na)
        self._ahead.q[:], self._ahead.v[:] = system.q_index, system.v_index

    @property
    def at(self) -> Array:
        """Positions of the model (nq,)."""
        return self._at

    @at.setter
    def at(self, positions: Array) -> None:
        self._at[:] = positions

    @property
    def position_rows(self) -> Array:
        """Matrix from all constraint rows to the positions that contacts block (r, n^c)."""
        return self._rows[self._holonomic > 0.0]

    @property
    def nonholonomic(self) -> bool:
        """Whether a contact blocks a rate and no position."""
        return not self._holonomic.all()

    def close(self, *rows: Array) -> bool:
        """Move the arms onto reference rows of the object's bodies; return if that was possible.

        Args:
            rows: For each body of the object a row (19 or more,).
        """
        motion, (place, step, _) = self._motion, self._compiled
        for own, row in zip(motion.wanted, rows, strict=True):
            own[:] = row[: TWIST.stop]
        place()
        for _ in range(_STEPS):
            self._terms(motion.at, motion.rate, out=self._found)
            if ended := step():
                return ended == _CLOSED
        return False

    def advance(self, step: float, acceleration: Array | None = None) -> None:
        """Predict the arms one time step ahead; `close` corrects the error.

        Args:
            step: Time step [s].
            acceleration: Acceleration of the arm joints (na,); zero by default, and where it is
                not finite.
        """
        ahead = self._ahead
        ahead.step, ahead.acceleration[:] = step, 0.0 if acceleration is None else acceleration
        self._compiled[-1]()

    def gaps(self) -> Array:
        """Return the closure error of each arm, distance [m] and angle [rad] (k, 2).

        The closure error of internal chains of the arms counts as a distance.
        """
        error = self._motion.error
        open_by = [S @ error[at] for at, S in self._grasps]
        chains = float(np.linalg.norm(error[self._grasps[-1][0].stop :]))
        return np.array([[np.linalg.norm(e[3:]) + chains, np.linalg.norm(e[:3])] for e in open_by])

    @cached_property
    def _found(self) -> tuple[Array, ...]:
        """Arrays for the terms of the constraints."""
        motion, (constraints, nv) = self._motion, self._motion.K.shape
        unused = np.zeros(nv), np.zeros(constraints), np.zeros(constraints)
        return motion.H, unused[0], motion.K, unused[1], motion.open_by, unused[2]

    @cached_property
    def _compiled(self) -> tuple[Callable[[], None], Callable[[], int], Callable[[], None]]:
        """Place the bodies, take a step of Newton's method, and predict, all in place."""
        motion = self._motion
        place, look, take = (
            part.bind(motion) for part in (_place_bodies, _find_error, _take_motion)
        )
        solve = _solve.bind(motion)
        if self._system.internal_chains is not None:  # a hinge in a plane has rows to spare
            solve = self._solve_redundant

        def step() -> int:
            look()
            solve()
            return int(take())

        return place, step, _advance.bind(motion, self._ahead)

    def _solve_redundant(self) -> None:
        """Solve for the smallest motion by least squares."""
        motion = self._motion
        try:
            found = np.linalg.lstsq(motion.matrix, motion.solution, rcond=1e-12)[0]
        except np.linalg.LinAlgError:
            found = np.full(len(motion.solution), np.nan)
        motion.solution[:] = found


@routine
def _place_bodies(motion: _PathArrays) -> None:
    """Place the object's bodies, and give them their velocities."""
    at, rate, wanted = motion.at, motion.rate, motion.wanted
    for b in range(len(wanted)):
        q, v = motion.bodies_q[b], motion.bodies_v[b]
        for k in range(7):
            at[q + k] = wanted[b, k]
        x, y, z, w = wanted[b, 3], wanted[b, 4], wanted[b, 5], wanted[b, 6]
        for i in range(0, 6, 3):  # R^T times the angular, then the linear velocity
            a, c, d = wanted[b, 7 + i], wanted[b, 8 + i], wanted[b, 9 + i]
            rate[v + i] = (
                (1 - 2 * (y * y + z * z)) * a + 2 * (x * y + w * z) * c + 2 * (x * z - w * y) * d
            )
            rate[v + i + 1] = (
                2 * (x * y - w * z) * a + (1 - 2 * (x * x + z * z)) * c + 2 * (y * z + w * x) * d
            )
            rate[v + i + 2] = (
                2 * (x * z + w * y) * a + 2 * (y * z - w * x) * c + (1 - 2 * (x * x + y * y)) * d
            )


@routine
def _advance(motion: _PathArrays, ahead: _Ahead) -> None:
    """Move the arms by a time step."""
    at, rate, h, known = motion.at, motion.rate, ahead.step, True
    for j in range(len(ahead.q)):
        known = known and abs(ahead.acceleration[j]) < _INFINITE
    for j in range(len(motion.every_q)):
        q, v = motion.every_q[j], motion.every_v[j]
        at[q] += h * rate[v]
    for j in range(len(ahead.q) if known else 0):
        q, v = ahead.q[j], ahead.v[j]
        at[q] += 0.5 * h * h * ahead.acceleration[j]
        rate[v] += h * ahead.acceleration[j]


@routine
def _find_error(motion: _PathArrays) -> None:
    """Write rows and position errors of the arms, and the equations of the smallest motion.

    It gives the errors; where these are closed, it gives the rates of the rows.
    """
    J, error, rows, K, rate = motion.J, motion.error, motion.rows, motion.K, motion.rate
    matrix, solution, every, H = motion.matrix, motion.solution, motion.every_v, motion.H
    n, largest = len(every), 0.0
    for r in range(len(error)):
        error[r] = 0.0
        for k in range(len(rate)):
            J[r, k] = 0.0
        for c in range(len(K)):
            if rows[r, c] != 0.0:
                error[r] += rows[r, c] * motion.open_by[c]
                for k in range(len(rate)):
                    J[r, k] += rows[r, c] * K[c, k]
        error[r] *= motion.holonomic[r]
        largest = larger(largest, abs(error[r]))
    for i in range(n):
        row = every[i]
        solution[i] = 0.0
        for j in range(n):
            column = every[j]
            matrix[i, j] = H[row, column]
    for r in range(len(error)):
        solution[n + r] = along_row(J, r, rate) if largest < _CLOSE_ENOUGH else error[r]
        for j in range(n):
            column = every[j]
            matrix[n + r, j] = J[r, column]
            matrix[j, n + r] = J[r, column]
        for k in range(len(error)):
            matrix[n + r, n + k] = 0.0


@routine
def _solve(motion: _PathArrays) -> None:
    """Solve for the smallest motion in the metric of H; NaN if there is none."""
    matrix, order, solution = motion.matrix, motion.order, motion.solution
    if factorise(matrix, order):
        substitute(matrix, order, solution)
    else:
        for k in range(len(solution)):
            solution[k] = _NAN


@routine
def _take_motion(motion: _PathArrays) -> int:
    """Move the arms, or correct their velocities if they are closed; return how to go on."""
    error, solution, largest, size = motion.error, motion.solution, 0.0, 0.0
    every_q, every_v = motion.every_q, motion.every_v
    for r in range(len(error)):
        largest = larger(largest, abs(error[r]))
    if largest < _CLOSE_ENOUGH:
        for j in range(len(every_v)):
            at_v = every_v[j]
            motion.rate[at_v] -= solution[j]
        return _CLOSED
    for j in range(len(every_q)):
        size = larger(size, abs(solution[j]))
    if not size < _INFINITE:
        return _FAILED
    part = min(1.0, _LARGEST_STEP / size)
    for j in range(len(every_q)):
        at_q = every_q[j]
        motion.at[at_q] -= part * solution[j]
    return _GOES_ON
