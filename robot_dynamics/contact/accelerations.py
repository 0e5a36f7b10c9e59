# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Accelerations and forces of closed contacts with Coulomb friction at one state, compiled.

With rows J of loops and contacts, and forces P along them,

    H qdd = tau - C + J^T P,   u = J qdd + Jdot qd,

loops hold, u = 0; contacts that stick, or have just closed, meet Signorini's and Coulomb's laws
between u and P; those that slide resist with mu P_n against their slip. That is the problem of
`contact.solver`, with accelerations in the place of velocities. Impulses are of the same rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.compile import Program, load_kernel, trace
from robot_dynamics.compile.routine import Call, Mask, Matrix, Vector, routine
from robot_dynamics.contact.equations import NoContactForces
from robot_dynamics.contact.impact import without_gain
from robot_dynamics.contact.points import Contacts
from robot_dynamics.contact.solver import ContactSolver, velocities
from robot_dynamics.dynamics.closed_loop import terms_of_transforms
from robot_dynamics.dynamics.kinematics import joint_transforms
from robot_dynamics.model.parameters import block_size, pack, unpack
from robot_dynamics.scalar.linear_algebra import dot, factor

Array = NDArray[np.float64]

# Accelerations below this part of what they would be without contact forces are zero.
_NOTHING = 1e-9
# Forces, in parts of the largest, may miss the laws by so much: beyond it there are none.
_MISSED = 1e-8
# How often forces are looked for from others than those of before.
_TRIES = 12


class ContactState(NamedTuple):
    """What contacts do at one state.

    Attributes:
        force: Along n, t1, t2 (m, 3) [N].
        acceleration: Likewise [m/s^2].
        slip: Velocities along t1, t2 (m, 2) [m/s].
        effect: How large accelerations along the tangents are that friction of all contacts may
            make (m,), however much other forces cancel them.
        zero: Less acceleration than this is rounding.
    """

    force: Array
    acceleration: Array
    slip: Array
    effect: Array
    zero: float


class ContactAccelerations:
    """Finds accelerations, forces and impulses, one state after another.

    Of several solutions the one nearest to the forces of the last `keep` is found.

    Args:
        contacts: What may touch; all of it is rigid.

    Attributes:
        direction: What friction of contacts that slide is against, along t1 and t2 (m, 2): the
            slip is taken for the side of this unit vector; zero of what sticks.
        frozen: Of which friction is against `direction`, not against the slip (m,).
    """

    def __init__(self, contacts: Contacts) -> None:
        model, m = contacts.robot.model, len(contacts.names)
        self._contacts, self._b, nv = contacts, model.constraint_count, model.nv
        rows = self._b + 3 * m
        self._solver = solver = ContactSolver(self._b, contacts.friction, 3, nv)
        self.direction, self.frozen = np.zeros((m, 2)), np.zeros(m, dtype=bool)
        self._start = np.zeros(rows)  # forces
        self._q, self._qd, self._tau = np.zeros(model.nq), np.zeros(nv), np.zeros(nv)
        self._free, self._rate = np.zeros(nv), np.zeros(model.nq + nv)
        q_rate, qdd = self._rate[: model.nq], self._rate[model.nq :]
        self._before, self._u = np.zeros(rows), np.zeros(rows)
        program = self._program()
        kernel = load_kernel(b"accelerations\0" + program.fingerprint, lambda: program, lanes=1)
        self._terms = kernel.bind_arrays(
            pack(model), [self._q, self._qd, self._tau],
            [q_rate, self._free, solver.H, solver.J, solver.HJ, self._before, solver.c],
        )  # fmt: skip
        self._find = find_accelerations.bind(
            self._terms, solver.run, self._free, solver.J, solver.HJ, self._before, solver.c,
            solver.compliance, self._start, self.direction, self.frozen, self._b, solver.touching,
            solver.slide, solver.P, qdd, self._u,
        )  # fmt: skip

    def __call__(self, q: Array, qd: Array, tau: Array, which: Sequence[int]) -> Array:
        """Return the rates of positions and velocities (nq + nv,) with some contacts closed.

        Raises:
            ArgumentError: If a gap or a normal is not finite.
            NoContactForces: If there are no forces.
        """
        self._q[:], self._qd[:], self._tau[:] = q, qd, tau
        self._solver.touching[:] = False
        self._solver.touching[which] = True
        self._find()
        if not self._solver.residual <= _MISSED:
            self._contacts(q, qd)  # tells what is not finite
            start, draw = self._start.copy(), np.random.default_rng(0)
            size = np.abs(self._solver.P)
            for _ in range(_TRIES):  # forces of before may lead astray
                self._start[:] = size * draw.normal(size=len(start))
                self._start[self._b :: 3] = np.abs(self._start[self._b :: 3])
                self._find()
                if self._solver.residual <= _MISSED:
                    break
            self._start[:] = start
        if not self._solver.residual <= _MISSED:
            names = ", ".join(repr(self._contacts.names[i]) for i in which)
            raise NoContactForces(
                f"no forces keep apart what touches at {names} with its friction"
            )
        return self._rate.copy()

    def state(self, which: Sequence[int]) -> ContactState:
        """Return more of what was found last."""
        force, u, c, before = (
            values[self._b :].reshape(-1, 3).copy()
            for values in (self._solver.P, self._u, self._solver.c, self._before)
        )
        zero = _NOTHING * max(float(np.abs(c[which]).max(initial=0.0)), 1e-300)
        return ContactState(force, u, before[:, 1:], self._effect(force[:, 0]), zero)

    def _effect(self, normal: Array) -> Array:
        """Return mu P_n (m,) times sizes of the tangents' blocks of J H^-1 J^T, summed."""
        m, nv = len(normal), self._solver.J.shape[1]
        J, HJ = (
            rows[self._b :].reshape(m, 3, nv)[:, 1:] for rows in (self._solver.J, self._solver.HJ)
        )
        W = np.einsum("iak,jbk->ijab", J, HJ)
        most = self._contacts.friction * np.maximum(normal, 0.0)
        return np.asarray(np.sqrt(np.einsum("ijab,ijab->ij", W, W)) @ most)

    def keep(self) -> None:
        """Start from the forces that were found last."""
        self._start[:] = self._solver.P

    def impact(
        self, q: Array, qd: Array, hit: Sequence[int], restitution: Array
    ) -> tuple[Array, Array]:
        """Return impulses (m, 3) of an impact, and what velocities change by (nv,).

        With Newton's restitution, reduced where it would give energy.

        Args:
            q: Positions (nq,).
            qd: Velocities (nv,).
            hit: What takes part (k,).
            restitution: Part of the speed along the normal that is left (k,).

        Raises:
            NoContactForces: If there are no impulses.
        """
        solver = self._solver
        self._q[:], self._qd[:] = q, qd
        self._terms()
        before, normal = self._before.copy(), self._b + 3 * np.asarray(hit)
        bounce = np.zeros(len(before))
        bounce[normal] = -restitution * np.minimum(before[normal], 0.0)
        solver.slide[:] = 0.0
        solver.touching[:] = False
        solver.touching[hit] = True

        def impulses(bounce: Array) -> Array:
            solver.c[:], solver.P[:] = before - bounce, 0.0
            solver.run()
            solver.run()
            if not solver.residual <= _MISSED:
                names = ", ".join(repr(self._contacts.names[i]) for i in hit)
                raise NoContactForces(f"no impulses keep apart what touches at {names}")
            return solver.P.copy()

        P = impulses(bounce)
        if bounce.any():
            P = without_gain(solver.J @ solver.HJ.T, before, impulses(np.zeros_like(bounce)), P)
        return P[self._b :].reshape(-1, 3), P @ solver.HJ

    def _program(self) -> Program:
        model = self._contacts.robot.model

        def run(q: Any, qd: Any, tau: Any, block: Any) -> dict[str, Any]:
            parameters = unpack(model, block)
            terms = terms_of_transforms(model, joint_transforms(model, q), qd, parameters, q)
            H, loops = terms.H, terms.loops
            here, rate, drift = self._contacts.moving(q, qd)
            factors = factor(H)
            free = factors.solve([t - c for t, c in zip(tau, terms.C, strict=True)])
            J = [*loops.K, *(row for of in here for row in of.rows)]
            rest = [*(-k for k in loops.k), *(x for of in drift for x in of)]
            n = range(len(H))
            return {
                "q_rate": model.position_rate(q, qd),
                "free": free,
                "H": [[H[max(i, j)][min(i, j)] for j in n] for i in n],
                "J": J,
                "HJ": [factors.solve(row) for row in J],
                "before": [*(dot(row, qd) for row in loops.K), *(x for of in rate for x in of)],
                "c": [dot(row, free) + x for row, x in zip(J, rest, strict=True)],
            }

        inputs = {"q": model.nq, "qd": model.nv, "tau": model.nv}
        return trace(run, "accelerations", inputs, block_size(model))


@routine
def find_accelerations(
    terms: Call, solve: Call, free: Vector, J: Matrix, HJ: Matrix, before: Vector, c: Vector,
    compliance: Vector, start: Vector, direction: Matrix, frozen: Mask, holding: int,
    touching: Mask, slide: Vector, P: Vector, qdd: Vector, u: Vector,
) -> None:  # fmt: skip
    """Write forces P, accelerations qdd (nv,) and those of rows, u."""
    terms()
    for k in range(len(P)):
        P[k] = start[k]
    for i in range(len(touching)):
        n = holding + 3 * i
        x, y = before[n + 1], before[n + 2]
        size, along = sqrt(x * x + y * y), x * direction[i, 0] + y * direction[i, 1]
        # Where the slip would reverse its direction is gone on with.
        if along < 0.0:
            size = -size
        turns = not frozen[i] and along != 0.0
        slide[n + 1] = x / size if turns else direction[i, 0]
        slide[n + 2] = y / size if turns else direction[i, 1]
    solve()
    solve()  # once more for the last digits, which would turn what slides
    velocities(J, HJ, c, compliance, P, qdd, u)
    for k in range(len(free)):
        qdd[k] += free[k]
