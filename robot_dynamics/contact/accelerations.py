# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Accelerations and forces of closed contacts with Coulomb friction at one state, compiled.

With rows J of loops (n^c) and of contacts (normal and two tangents each), and forces P along them,

    H qdd = tau - C + J^T P,   u = J qdd + Jdot qd,

loops hold, u = 0. Contacts that stick, or have just closed, meet Signorini's and Coulomb's laws
between u and P. Sliding contacts have the friction mu P_n against their slip. Freedoms of joints
that Coulomb friction holds, see `dynamics.coulomb`, have a row each: they count as contacts that
are always closed, with a slip along one direction and a normal force that never changes. This is
the problem of `contact.solver` with accelerations in place of velocities. Impulses of impacts are
found with the same rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.compile import Program, load_kernel, trace
from robot_dynamics.compile.routine import Call, Mask, Matrix, MutableRecord, Vector, routine
from robot_dynamics.contact.equations import (
    NoContactForces,
    contact_equations,
    contact_forces,
    named,
)
from robot_dynamics.contact.impact import impact_with_friction
from robot_dynamics.contact.points import Contacts, Inequality
from robot_dynamics.contact.solver import ContactProblem, ContactSolver, velocities
from robot_dynamics.dynamics.closed_loop import terms_of_transforms
from robot_dynamics.dynamics.coulomb import friction_rows
from robot_dynamics.dynamics.kinematics import joint_transforms
from robot_dynamics.model.parameters import block_size, pack, unpack
from robot_dynamics.scalar.derivatives import directional_derivative
from robot_dynamics.scalar.linear_algebra import dot, factor

# Accelerations below this share of the largest one without contact forces are rounding errors.
_NOTHING = 1e-9
# Largest error of the laws: in forces, as a share of the largest force, ...
_MISSED = 1e-8
# ... and in accelerations along normals (in impacts, velocities), as a share of the largest one
# without contact forces. Wedged contacts have no solution, but forces that grow until the first,
# relative error is small.
_APPROACH = 1e-6
# Accelerations below this [m/s^2, rad/s^2] count as zero, for example of a body at rest without
# load.
_NO_ACCELERATION = 1e-12
# Accelerations above this [m/s^2] belong to an unbounded motion; their squares may overflow.
_UNBOUNDED = 1e100
# Random starts of the solver if it fails from the last forces.
_TRIES = 12


class ContactState(NamedTuple):
    """Forces and motion of all contacts and rubbing joints; open contacts have no force.

    Attributes:
        force: Along n, t1, t2 (m + f, 3) [N], of joints along t1.
        acceleration: Relative acceleration along n, t1, t2 (m + f, 3) [m/s^2].
        slip: Relative velocity along t1, t2 (m + f, 2) [m/s].
        friction_bound: Upper bound of the tangential acceleration that all friction forces cause
            (m + f,): sum over j of |W_ij| mu_j P_nj [m/s^2].
        zero: Accelerations below this are rounding errors [m/s^2].
    """

    force: Array
    acceleration: Array
    slip: Array
    friction_bound: Array
    zero: float


class _Accelerations(MutableRecord):
    """Forces and accelerations of a state, beside its contact problem."""

    free: Vector  #: Accelerations without contact forces (nv,).
    before: Vector  #: Velocities along rows (b + 3 m,) [m/s].
    start: Vector  #: Forces to start from (b + 3 m,).
    direction: Matrix  #: See `ContactAccelerations`, as `fixed`.
    fixed: Mask
    qdd: Vector  #: Accelerations (nv,).
    u: Vector  #: Accelerations along rows (b + 3 m,) [m/s^2].
    approach: float  #: Remaining approach of closed contacts, in parts of the largest c.


class ContactAccelerations:
    """Finds accelerations, forces and impulses, one state after another.

    If forces are not unique, it finds the forces nearest to those of the last `keep`.

    Args:
        contacts: All possible contacts (m), rigid, of a robot with f rubbing joints.

    Attributes:
        direction: Unit slip direction of each sliding contact and joint (m + f, 2); friction acts
            against it. Zero: sticking.
        fixed: Mask (m + f,) of contacts and joints whose friction acts against `direction`. The
            friction of the others acts against their current slip or, if it has reversed, against
            `direction`.
    """

    def __init__(self, contacts: Contacts) -> None:
        model, m = contacts.robot.model, len(contacts.names)
        self._friction = np.array([*contacts.joints.values()])
        self._contacts, nv, f = contacts, model.nv, len(self._friction)
        self._joints = slice(model.constraint_count, model.constraint_count + f)
        self._b = self._joints.stop
        rows = self._b + 3 * m
        self._solver = solver = ContactSolver(self._b, contacts.friction, 3, nv)
        # First tangents in the world, of the last step and of the state: slip directions are
        # relative to them. They follow the surfaces from step to step, because any frame that
        # depends on the normal alone jumps somewhere. Inequalities have none.
        self._along, self._t1 = np.zeros((m, 3)), np.zeros((m, 3))
        self._points = np.array([not isinstance(x, Inequality) for x in contacts.items], bool)
        self._q, self._qd, self._tau = np.zeros(model.nq), np.zeros(nv), np.zeros(nv)
        self._rate = np.zeros(model.nq + nv)
        q_rate, qdd = self._rate[: model.nq], self._rate[model.nq :]
        self._now = now = _Accelerations(
            free=nv, before=rows, start=rows, direction=(m + f, 2), fixed=m + f, qdd=qdd, u=rows
        )
        self.direction, self.fixed = now.direction, now.fixed
        program = self._program()
        kernel = load_kernel(b"accelerations\0" + program.fingerprint, lambda: program, lanes=1)
        self._terms = kernel.bind_arrays(
            pack(model), [self._q, self._qd, self._tau, self._along],
            [q_rate, now.free, solver.H, solver.J, solver.HJ, now.before, solver.c,
             self._t1.reshape(-1)],
        )  # fmt: skip
        self._find = find_accelerations.bind(self._terms, solver.run, solver.problem, now)

    def __call__(self, q: Array, qd: Array, tau: Array, closed: Sequence[int]) -> Array:
        """Return the derivative of positions and velocities (nq + nv,); NaN if it is unbounded.

        Args:
            q: Positions (nq,).
            qd: Velocities (nv,).
            tau: Joint forces (nv,).
            closed: Indices of the closed contacts, and of joints, which are always closed.

        Raises:
            ArgumentError: If a gap or a normal is not finite.
            NoContactForces: If no forces meet the laws; it names the contacts.
        """
        self._q[:], self._qd[:], self._tau[:] = q, qd, tau
        closed = [i for i in closed if i < len(self._solver.touching)]
        self._solver.touching[:] = False
        self._solver.touching[closed] = True
        self._solver.bound[self._joints] = self._friction
        self._find()
        if not self._met:
            self._contacts(q, qd)  # raises where a gap or a normal is not finite
            if not np.abs(self._solver.c).max(initial=0.0) < _UNBOUNDED:
                return np.full_like(self._rate, np.nan)
            if self._contacts.friction[closed].any():  # else the problem is convex
                self._try_others()
        if not self._met:
            raise self._contradiction(closed)
        return self._rate.copy()

    @property
    def _met(self) -> bool:
        """Whether the last forces satisfy the laws."""
        return self._solver.residual <= _MISSED and self._now.approach <= _APPROACH

    def _try_others(self) -> None:
        """Find forces from random starts of the size of the last forces."""
        start, draw = self._now.start.copy(), np.random.default_rng(0)
        size = np.abs(self._solver.P)
        for _ in range(_TRIES):
            self._now.start[:] = size * draw.normal(size=len(start))
            self._now.start[self._b :: 3] = np.abs(self._now.start[self._b :: 3])
            self._find()
            if self._met:
                break
        self._now.start[:] = start

    def _contradiction(self, closed: Sequence[int]) -> NoContactForces:
        """Return the error that names the contacts whose laws contradict each other."""
        if not closed:
            return NoContactForces(
                "no forces keep loops closed; expected constraints that do not contradict each "
                "other."
            )
        at = contact_equations(self._contacts, self._q, self._qd, self._tau, closed)
        try:
            contact_forces(at)
        except NoContactForces as error:  # without friction as well
            return error
        return NoContactForces(
            f"{named(at.names)}: no contact forces satisfy the laws, as sliding contacts jam "
            "(Painleve's paradox); expected less friction, or rd.Simulation, whose impulses can "
            "stop a slip at once."
        )

    def state(self, closed: Sequence[int]) -> ContactState:
        """Return forces and motion of contacts, as the last call with `closed` found them."""
        force, u, c, before = map(
            self._of_each, (self._solver.P, self._now.u, self._solver.c, self._now.before)
        )
        bound = self._friction_bound(force[:, 0])
        # Friction of joints acts without a load as well, of which c knows nothing.
        largest = max(np.abs(c[closed]).max(initial=0.0), bound[len(self._t1) :].max(initial=0.0))
        return ContactState(force, u, before[:, 1:], bound, _NOTHING * max(float(largest), 1e-300))

    def _of_each(self, rows: Array) -> Array:
        """Return values of rows (b + 3 m, ...) along n, t1, t2 of contacts and joints."""
        m, more = len(self._t1), rows.shape[1:]
        found = np.zeros((m + len(self._friction), 3, *more))
        found[:m] = rows[self._b :].reshape(m, 3, *more)
        found[m:, 1] = rows[self._joints]
        return found

    def _friction_bound(self, normal: Array) -> Array:
        """Return sum over j of |W_ij| mu_j P_nj [m/s^2], of the tangents' W = J H^-1 J^T."""
        m = len(self._t1)
        loads = self._contacts.friction * np.maximum(normal[:m], 0.0)
        most = np.concatenate([loads, self._friction])
        if not most.any():
            return most
        J, HJ = (self._of_each(rows)[:, 1:] for rows in (self._solver.J, self._solver.HJ))
        W = np.einsum("iak,jbk->ijab", J, HJ)
        return np.asarray(np.sqrt(np.einsum("ijab,ijab->ij", W, W)) @ most)

    def follow(self, q: Array, qd: Array) -> None:
        """Move the tangents with the surfaces to a state; must be called once in every step."""
        self._q[:], self._qd[:] = q, qd
        self._terms()
        lost = self._points & ~(np.abs(self._t1).sum(axis=1) > 0.0)  # not a number, or none yet
        if lost.any():
            self._t1[lost] = self._contacts(q, qd).axes[lost, 0]
        self._along[:] = self._t1

    def slip(self, q: Array, qd: Array) -> Array:
        """Return the velocity of contacts and joints along t1, t2 (m + f, 2) [m/s] at a state."""
        self._q[:], self._qd[:] = q, qd
        self._terms()
        return self._of_each(self._now.before)[:, 1:]

    def joint_rows(self, q: Array, qd: Array) -> Array:
        """Return the rows (f, nv) of the joints with friction at a state."""
        self._q[:], self._qd[:] = q, qd
        self._terms()
        return self._solver.J[self._joints].copy()

    def keep(self) -> None:
        """Store the forces of the last call; later calls return the nearest ones to them."""
        self._now.start[:] = self._solver.P

    def impact(
        self, q: Array, qd: Array, hit: Sequence[int], restitution: Array
    ) -> tuple[Array, Array]:
        """Return impulses (m, 3) [N s] of an impact, and the change of velocities (nv,).

        Args:
            q: Positions (nq,).
            qd: Velocities (nv,) before the impact.
            hit: Indices of the contacts that take part (k,).
            restitution: e of each of them (k,).

        Raises:
            NoContactForces: If no impulses meet the laws; it names the contacts.
        """
        self._q[:], self._qd[:] = q, qd
        self._terms()
        before, m = self._now.before, len(self._contacts.names)
        closed, bounce = np.zeros(m, dtype=bool), np.zeros(m)
        closed[hit] = True
        bounce[hit] = -restitution * np.minimum(before[self._b :: 3][hit], 0.0)
        self._solver.bound[self._joints] = 0.0  # forces that are finite have no impulse
        found = impact_with_friction(self._solver, before, bounce, closed, _MISSED)
        if not (found.error <= _MISSED and found.approach <= _APPROACH):
            raise NoContactForces(
                f"{named([self._contacts.names[i] for i in hit])}: the best impulses violate the "
                f"laws of impact by {max(found.error, found.approach):.3g}; expected contacts "
                "that can open."
            )
        return found.impulse[self._b :].reshape(-1, 3), found.change

    def _program(self) -> Program:
        model = self._contacts.robot.model
        damping = np.zeros(model.nv)
        if self._contacts.joints:  # damping is left in C without the smooth law of friction
            damping, model = model.damping, model.replace(joint_friction=False)

        def run(q: Any, qd: Any, tau: Any, along: Any, block: Any) -> dict[str, Any]:
            parameters = unpack(model, block)
            Xup = joint_transforms(model, q)
            terms = terms_of_transforms(model, Xup, qd, parameters, q)
            H, loops = terms.H, terms.loops
            here, rate, drift = self._contacts.moving(q, qd, along)

            def rubbing_rates(q: Any) -> list[Any]:
                rows = friction_rows(model, joint_transforms(model, q), parameters, q)
                return [dot(row, qd) for row in rows]

            rubbing: list[list[Any]] = []
            turning: list[Any] = []
            if self._contacts.joints:
                rubbing = friction_rows(model, Xup, parameters, q)
                _, turning = directional_derivative(rubbing_rates, q, model.position_rate(q, qd))
            factors = factor(H)
            push = [t - c for t, c in zip(tau, terms.C, strict=True)]
            for k, d in enumerate(damping.tolist()):
                push[k] = push[k] - d * qd[k] if d else push[k]
            free = factors.solve(push)
            J = [*loops.K, *rubbing, *(row for of in here for row in of.rows)]
            rest = [*(-k for k in loops.k), *turning, *(x for of in drift for x in of)]
            n = range(len(H))
            return {
                "q_rate": model.position_rate(q, qd),
                "free": free,
                "H": [[H[max(i, j)][min(i, j)] for j in n] for i in n],
                "J": J,
                "HJ": [factors.solve(row) for row in J],
                "before": [
                    *(dot(row, qd) for row in (*loops.K, *rubbing)),
                    *(x for of in rate for x in of),
                ],
                "c": [dot(row, free) + x for row, x in zip(J, rest, strict=True)],
                "t1": [x for of in here for x in of.axes[0]],
            }

        m = len(self._contacts.names)
        inputs: dict[str, int | tuple[int, int]] = {
            "q": model.nq, "qd": model.nv, "tau": model.nv, "along": (m, 3),
        }  # fmt: skip
        return trace(run, "accelerations", inputs, block_size(model))


@routine
def find_accelerations(
    terms: Call, solve: Call, problem: ContactProblem, found: _Accelerations
) -> None:
    """Write forces P, accelerations qdd (nv,) and accelerations u along rows.

    Also the remaining approach of closed contacts: the largest -u_n over the largest |c|.
    """
    c, P, slide, touching = problem.c, problem.P, problem.slide, problem.touching
    before, direction, holding = found.before, found.direction, problem.holding
    free, qdd, u = found.free, found.qdd, found.u
    terms()
    fastest = 0.0
    for k in range(len(c)):
        fastest = max(fastest, abs(c[k]))
    for k in range(len(P)):
        P[k] = found.start[k]
        if fastest < _NO_ACCELERATION:
            c[k], P[k] = 0.0, 0.0
    for i in range(len(touching), len(direction)):  # joints
        slide[holding + i - len(direction)] = direction[i, 0]
    for i in range(len(touching)):
        n = holding + 3 * i
        x, y = before[n + 1], before[n + 2]
        size, along = sqrt(x * x + y * y), x * direction[i, 0] + y * direction[i, 1]
        # A reversed slip has the friction of the unreversed one.
        if along < 0.0:
            size = -size
        turns = not found.fixed[i] and along != 0.0
        slide[n + 1] = x / size if turns else direction[i, 0]
        slide[n + 2] = y / size if turns else direction[i, 1]
    solve()
    solve()  # once more for the last digits, whose error would turn slips
    velocities(problem.J, problem.HJ, c, problem.compliance, P, qdd, u)
    for k in range(len(free)):
        qdd[k] += free[k]
    largest, deepest = _NO_ACCELERATION, 0.0
    for k in range(holding):
        largest = max(largest, abs(c[k]))
    for i in range(len(touching)):
        n = holding + 3 * i
        if touching[i]:
            for k in range(n, n + 3):
                largest = max(largest, abs(c[k]))
            deepest = max(deepest, -u[n])
    found.approach = deepest / largest
