# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The equations of frictionless contact (11.1 to 11.5): M, d, and the forces that solve them.

    phi'' = M lambda + d >= 0,   lambda >= 0,   phi'' . lambda = 0           (11.10), (11.42)
    M = T^T H^-1 T,   d = T^T H^-1 (tau - C) + Tdot^T qd                     (11.35), (11.36)

and, with the same solution, the quadratic programs

    min lambda . M lambda / 2 + lambda . d   for lambda >= 0                 (11.43)
    min (qdd - qdd_f) . H (qdd - qdd_f) / 2  for T^T qdd + Tdot^T qd >= 0    (11.44)

Loops stay closed: "joint space" is that of independent variables (11.3). The computation is in
coordinates x = L^T qdd, H = L L^T, in which H is the identity, projected on the motions that loops
allow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular

from robot_dynamics.arrays import Array
from robot_dynamics.contact.complementarity import force_qp, linear_complementarity
from robot_dynamics.contact.points import Contacts, ContactTerms, closed_contacts, state_of
from robot_dynamics.dynamics.arguments import finite_vector
from robot_dynamics.dynamics.quadratic_program import minimum_within
from robot_dynamics.dynamics.rank import constraint_rank
from robot_dynamics.errors import ArgumentError, RobotDynamicsError, UnknownNameError
from robot_dynamics.robot import Robot

#: A contact whose gap changes more slowly than this [m/s or rad/s] stays closed.
AT_REST = 1e-3
METHODS = ("lcp", "force_qp", "acceleration_qp")
# Distance of a unit normal from the span of others below which it depends on them.
_DEPENDENT = 1e-9
# A contact accelerates nothing if its M_ii is below this share of the largest one.
_NOTHING = 1e-14


class NoContactForces(RobotDynamicsError):
    """No contact forces satisfy the laws: a body is wedged in (Example 11.1), or jams."""


class Metric:
    """Coordinates x = L^T v of velocities or accelerations v, with H = L L^T.

    In them H is the identity. Loops allow the x that are orthogonal to the columns of Q.

    Attributes:
        C: Bias forces (nv,).

    Args:
        robot: The mechanism.
        q: Positions (nq,).
        qd: Velocities (nv,).

    Raises:
        RobotDynamicsError: If H is not positive definite.
    """

    def __init__(self, robot: Robot, q: Array, qd: Array) -> None:
        H, self.C, K, k, error, _ = robot.constraint_terms(q, qd)
        try:
            self._lower = np.linalg.cholesky(H)
        except np.linalg.LinAlgError as failure:
            raise RobotDynamicsError(
                f"{robot.model.name}: the joint-space inertia matrix is not positive definite "
                "(a moving body has no inertia); expected masses of all moving bodies."
            ) from failure
        self._Q = np.zeros((len(H), 0))
        self._held = np.zeros(len(H))  # x that loops demand
        self._K = K.reshape(-1, len(H))
        if len(k):
            ranked = constraint_rank(robot.model, K, error, q)
            rows = ranked.V.T * ranked.column_scales
            self._Q, R = np.linalg.qr(solve_triangular(self._lower, rows.T, lower=True))
            self._ranked, self._R = ranked, R
            self._held = self.along_loops(k)

    def of_force(self, force: Array) -> Array:
        """Return the accelerations x that joint forces (nv,) or (nv, m) cause, loops closed."""
        x = self.of_force_without_loops(force)
        return np.asarray(x - self._Q @ (self._Q.T @ x))

    def of_force_without_loops(self, force: Array) -> Array:
        """Return the accelerations x that joint forces (nv,) or (nv, m) cause, loops cut."""
        return np.asarray(solve_triangular(self._lower, force, lower=True))

    def of_motion(self, qdd: Array) -> Array:
        """Return x of accelerations or velocities (nv,)."""
        return np.asarray(self._lower.T @ qdd)

    def along_loops(self, k: Array) -> Array:
        """Return the least x (nv,) with K qdd = k (n^c,)."""
        if not self._Q.size:
            return np.zeros(len(self._lower))
        b = self._ranked.U.T @ (self._ranked.row_scales * k) / self._ranked.s
        return np.asarray(self._Q @ solve_triangular(self._R, b, trans="T"))

    def loop_rates(self, qd: Array) -> Array:
        """Return the rates K qd (n^c,) at which velocities (nv,) open loops."""
        return np.asarray(self._K @ qd)

    def motion(self, x: Array) -> Array:
        """Return the accelerations or velocities (nv,) of x."""
        return np.asarray(solve_triangular(self._lower, x, lower=True, trans="T"))

    def free(self, tau: Array) -> Array:
        """Return x (nv,) of the acceleration without contact forces."""
        return self.of_force(tau - self.C) + self._held


class ContactEquations(NamedTuple):
    """M and d of closed contacts at one state.

    Attributes:
        names: Of the contacts (m).
        M: T^T H^-1 T (m, m) [1/kg] (11.35).
        d: phi'' without contact forces (m,) [m/s^2] (11.36).
        normals: T in coordinates of the metric (nv, m): M = normals^T normals.
        drift: Tdot^T qd (m,) [m/s^2].
        free: Acceleration without contact forces, in coordinates of the metric (nv,).
        T: Normals in joint space (nv, m): phi' = T^T qd.
        metric: The metric.
    """

    names: tuple[str, ...]
    M: Array
    d: Array
    normals: Array
    drift: Array
    free: Array
    T: Array
    metric: Metric


class ContactSolution(NamedTuple):
    """Forces and accelerations of closed contacts.

    Attributes:
        force: lambda (m,) [N]; if contacts are redundant, one of many that cause the same motion.
        separation: phi'' (m,) [m/s^2].
        qdd: Accelerations (nv,), unique.
        joint_force: T lambda (nv,), unique.
        unique: Whether lambda is unique: M has full rank.
    """

    force: Array
    separation: Array
    qdd: Array
    joint_force: Array
    unique: bool


def contact_equations(
    contacts: Contacts,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    closed: Sequence[int | str] | None = None,
) -> ContactEquations:
    """Return M and d of closed contacts, phi = phi' = 0.

    Args:
        contacts: All possible contacts.
        q: Positions (nq,), loops closed.
        qd: Velocities (nv,).
        tau: Joint forces (nv,).
        closed: Names or indices of the contacts that take part; their gaps are not checked.
            Default: all; then each gap must be within 1 mm, and its rate within 1 mm/s.

    Raises:
        ArgumentError: If an array does not fit or is not finite; if a contact is soft, accelerates
            nothing, or is not closed; or if a gap or a normal is not finite.
        RobotDynamicsError: If a moving body has no inertia.
    """
    q0, qd0 = state_of(contacts, q, qd)
    forces = finite_vector("tau", tau, contacts.robot.model.nv)
    terms = contacts(q0, qd0)
    which = closed_contacts(contacts, terms, closed)
    if closed is None:
        for name, rate in zip(contacts.names, terms.rate.tolist(), strict=True):
            if abs(rate) > AT_REST:
                raise ArgumentError(
                    f"contact {name!r} {'opens' if rate > 0.0 else 'closes'} at {abs(rate):.3g} "
                    f"m/s or rad/s; expected at most {AT_REST:g}: use `impact`, or name the "
                    "contacts that stay closed in `closed`."
                )
    metric = Metric(contacts.robot, q0, qd0)
    return equations_of(metric, terms, contacts.names, which, forces)


def equations_of(
    metric: Metric, terms: ContactTerms, names: Sequence[str], which: Sequence[int], tau: Array
) -> ContactEquations:
    """Return M and d of the contacts with the indices `which`, from the terms of all."""
    T = terms.T[:, list(which)]
    normals, drift = metric.of_force(T), terms.drift[list(which)]
    of_all = metric.of_force(terms.T)
    own = np.einsum("ij,ij->j", normals, normals)
    largest = float(np.einsum("ij,ij->j", of_all, of_all).max(initial=0.0))
    for i, size in zip(which, own, strict=True):
        if not size > _NOTHING * largest:
            raise ArgumentError(
                f"contact {names[i]!r} has a normal along which no joint can move at these "
                "positions; expected a normal along which joints can move."
            )
    free = metric.free(tau)
    M, d = normals.T @ normals, normals.T @ free + drift
    if len(metric._Q.T):  # `normals` have no part along the acceleration that loops demand
        d = T.T @ metric.motion(free) + drift
    return ContactEquations(tuple(names[i] for i in which), M, d, normals, drift, free, T, metric)


def contact_forces(
    equations: ContactEquations,
    method: Literal["lcp", "force_qp", "acceleration_qp"] = "lcp",
) -> ContactSolution:
    """Return forces and accelerations of closed contacts without friction.

    Args:
        equations: M and d, as `contact_equations` returns them.
        method: "lcp": the complementarity problem (11.42) by Lemke's method. "force_qp" (11.43)
            and "acceleration_qp" (11.44): the quadratic programs by DAQP.

    Raises:
        ArgumentError: If `equations` have another type.
        NoContactForces: If no forces meet the laws; it names the contacts whose normals oppose
            each other.
    """
    if not isinstance(equations, ContactEquations):
        raise ArgumentError(
            f"equations are {equations!r:.60}, expected a result of `contact_equations`."
        )
    M, d = equations.M, equations.d
    if method == "lcp":
        force = linear_complementarity(M, d)
    elif method == "force_qp":
        force = force_qp(M, d)
    elif method == "acceleration_qp":
        force = _acceleration_qp(equations)
    else:
        raise UnknownNameError("method", method, METHODS)
    if force is None:
        raise NoContactForces(
            f"{named(_wedged(equations))}: no contact forces satisfy the laws, because normals "
            "oppose each other; expected contacts that can open."
        )
    x = equations.free + equations.normals @ force
    sizes = np.linalg.svd(equations.normals / np.sqrt(np.diagonal(M)), compute_uv=False)
    full = len(d) <= len(equations.free) and bool(np.all(sizes > _DEPENDENT))
    return ContactSolution(
        force, M @ force + d, equations.metric.motion(x), equations.T @ force, full
    )


def _acceleration_qp(equations: ContactEquations) -> Array | None:
    """Return the forces (m,) of (11.44): multipliers of the nearest admissible acceleration."""
    n, scale = len(equations.free), 1.0 / np.sqrt(np.diagonal(equations.M))
    # In y = x - x_f, with N = normals and rows scaled to unit length: N^T y >= -d.
    size = float(np.abs(scale * equations.d).max(initial=0.0)) or 1.0
    rows = (equations.normals * scale).T
    least = -scale * equations.d / size
    found = minimum_within(
        np.eye(n), np.zeros(n), np.ascontiguousarray(rows), least, np.full(len(least), np.inf)
    )
    return None if found is None else scale * np.maximum(-found.multipliers, 0.0) * size


def named(names: Sequence[str]) -> str:
    """Return "contact 'a'", or "contacts 'a', 'b'"."""
    return f"contact{'s' * (len(names) > 1)} {', '.join(map(repr, names))}"


def _wedged(equations: ContactEquations) -> Sequence[str]:
    """Return the names of contacts with normals that oppose each other.

    They have v_i > 0 in a certificate that there are no forces: v >= 0, T v = 0, d . v < 0.
    """
    scale = 1.0 / np.sqrt(np.diagonal(equations.M))
    normals = equations.normals * scale
    d = scale * equations.d
    d = d / np.abs(d).max()
    from scipy.optimize import nnls

    v, _ = nnls(np.vstack([normals, d]), np.append(np.zeros(len(normals)), -1.0))
    used = [name for name, x in zip(equations.names, v, strict=True) if x > 1e-6 * v.max()]
    return used or equations.names


def reduced_contacts(equations: ContactEquations) -> list[int]:
    """Return the indices of sufficient contacts: the others are redundant (11.6).

    A contact is redundant if its normal is a combination of others with coefficients >= 0, and its
    drift is at least the same combination of their drifts. The motion with the sufficient contacts
    is the same as with all. Of contacts that are combinations of each other, the first ones are
    kept. The sufficient contacts can still be linearly dependent, such as the four corners of a
    rectangle.

    Raises:
        ArgumentError: If `equations` are not a result of `contact_equations`.
    """
    from scipy.optimize import nnls

    if not isinstance(equations, ContactEquations):
        raise ArgumentError(
            f"equations are {equations!r:.60}, expected what `contact_equations` returns."
        )
    normals = equations.normals
    drift = equations.d - normals.T @ equations.free  # with what loops demand
    scale = 1.0 / np.sqrt(np.diagonal(equations.M))
    unit = normals * scale
    rate = scale * drift
    rate = rate / max(float(np.abs(rate).max(initial=0.0)), 1e-300)
    kept = list(range(len(scale)))
    for i in reversed(range(len(scale))):
        others = [j for j in kept if j != i]
        if not others:
            continue
        # The last column is the excess of its drift over the drift of the combination.
        A = np.vstack([unit[:, others], rate[others]])
        A = np.hstack([A, np.append(np.zeros(len(unit)), 1.0)[:, None]])
        _, rest = nnls(A, np.append(unit[:, i], rate[i]))
        if rest < _DEPENDENT:
            kept = others
    return kept
