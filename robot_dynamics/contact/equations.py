# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The equations of frictionless contact (11.1 to 11.5): M, d, and the forces that solve them.

    phi'' = M lambda + d >= 0,   lambda >= 0,   phi'' . lambda = 0           (11.10), (11.42)
    M = T^T H^-1 T,   d = T^T H^-1 (tau - C) + Tdot^T qd                     (11.35), (11.36)

and, with the same solution, the quadratic programs

    min lambda . M lambda / 2 + lambda . d   for lambda >= 0                 (11.43)
    min (qdd - qdd_f) . H (qdd - qdd_f) / 2  for T^T qdd + Tdot^T qd >= 0    (11.44)

Loops hold: "joint space" is that of independent variables (11.3). Everything is written in
coordinates x = L^T qdd, H = L L^T, in which H is the identity and what loops forbid is taken away.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import solve_triangular

from robot_dynamics.contact.complementarity import linear_complementarity
from robot_dynamics.contact.points import Contacts, ContactTerms, closed_contacts, state_of
from robot_dynamics.dynamics.arguments import finite_vector
from robot_dynamics.dynamics.quadratic_program import minimum_within
from robot_dynamics.dynamics.rank import constraint_rank
from robot_dynamics.errors import ArgumentError, RobotDynamicsError, UnknownNameError
from robot_dynamics.robot import Robot

Array = NDArray[np.float64]

METHODS = ("lcp", "force_qp", "acceleration_qp")
# What of a scaled normal, its length one, others leave over before they are said to make it up.
_DEPENDENT = 1e-9
# A contact whose normal moves less than this part of the others' moves nothing.
_NOTHING = 1e-14


class NoContactForces(RobotDynamicsError):
    """No forces keep bodies apart: contacts wedge something in (Example 11.1)."""


class Metric:
    """Coordinates of accelerations or velocities in which H is the identity and loops hold.

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
                f"{robot.model.name}: the joint-space inertia matrix is not positive definite: "
                "behind a contact a moving body has no inertia."
            ) from failure
        self._Q = np.zeros((len(H), 0))
        self._held = np.zeros(len(H))  # what loops demand, in these coordinates
        self._K = K.reshape(-1, len(H))
        if len(k):
            ranked = constraint_rank(robot.model, K, error, q)
            rows = ranked.V.T * ranked.column_scales
            self._Q, R = np.linalg.qr(solve_triangular(self._lower, rows.T, lower=True))
            self._ranked, self._R = ranked, R
            self._held = self.along_loops(k)

    def of_force(self, force: Array) -> Array:
        """Return what forces (nv,) or (nv, m) do."""
        x = solve_triangular(self._lower, force, lower=True)
        return np.asarray(x - self._Q @ (self._Q.T @ x))

    def of_motion(self, qdd: Array) -> Array:
        """Return accelerations or velocities (nv,) in these coordinates."""
        return np.asarray(self._lower.T @ qdd)

    def along_loops(self, k: Array) -> Array:
        """Return the least motion, in these coordinates, with K qdd = k (n^c,)."""
        if not self._Q.size:
            return np.zeros(len(self._lower))
        b = self._ranked.U.T @ (self._ranked.row_scales * k) / self._ranked.s
        return np.asarray(self._Q @ solve_triangular(self._R, b, trans="T"))

    def loop_rates(self, qd: Array) -> Array:
        """Return K qd (n^c,): how fast velocities (nv,) open loops."""
        return np.asarray(self._K @ qd)

    def motion(self, x: Array) -> Array:
        """Return the accelerations or velocities (nv,)."""
        return np.asarray(solve_triangular(self._lower, x, lower=True, trans="T"))

    def free(self, tau: Array) -> Array:
        """Return the acceleration without contacts, in these coordinates."""
        return self.of_force(tau - self.C) + self._held


class ContactEquations(NamedTuple):
    """M and d of closed contacts at one state.

    Attributes:
        names: Of the contacts (m).
        M: T^T H^-1 T (m, m) (11.35).
        d: phi'' without contact forces (m,) (11.36).
        normals: T in coordinates of the metric (nv, m).
        drift: Tdot^T qd (m,).
        free: The acceleration without contacts, in coordinates of the metric (nv,).
        T: Normals in joint space (nv, m).
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
    """Forces and motion of closed contacts.

    Attributes:
        force: lambda (m,) [N]; of dependent contacts one of many that do the same.
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
    closed: Sequence[int] | None = None,
) -> ContactEquations:
    """Return the equations of closed contacts.

    Args:
        contacts: What may touch.
        q: Positions (nq,), loops closed.
        qd: Velocities (nv,).
        tau: Joint forces (nv,).
        closed: Which contacts are closed, phi = phi' = 0, by their places, taken at their word;
            all by default, which are 1 mm off at most then.

    Raises:
        ArgumentError: If an array does not fit or is not finite, a contact moves nothing, gives
            way or does not touch, or a gap or a normal is not finite.
        RobotDynamicsError: If a moving body has no inertia.
    """
    q0, qd0 = state_of(contacts, q, qd)
    forces = finite_vector("tau", tau, contacts.robot.model.nv)
    terms = contacts(q0, qd0)
    which = closed_contacts(contacts, terms, closed)
    metric = Metric(contacts.robot, q0, qd0)
    return equations_of(metric, terms, contacts.names, which, forces)


def equations_of(
    metric: Metric, terms: ContactTerms, names: Sequence[str], which: Sequence[int], tau: Array
) -> ContactEquations:
    """Return the equations of some contacts at a state whose terms are known."""
    T = terms.T[:, list(which)]
    normals, drift = metric.of_force(T), terms.drift[list(which)]
    of_all = metric.of_force(terms.T)
    own = np.einsum("ij,ij->j", normals, normals)
    largest = float(np.einsum("ij,ij->j", of_all, of_all).max(initial=0.0))
    for i, size in zip(which, own, strict=True):
        if not size > _NOTHING * largest:
            raise ArgumentError(
                f"contact {names[i]!r} moves nothing here, expected a normal along which joints "
                "can give way."
            )
    free = metric.free(tau)
    M, d = normals.T @ normals, normals.T @ free + drift
    if len(metric._Q.T):  # what loops demand is not along `normals`, which loops have left
        d = T.T @ metric.motion(free) + drift
    return ContactEquations(tuple(names[i] for i in which), M, d, normals, drift, free, T, metric)


def contact_forces(
    equations: ContactEquations,
    method: Literal["lcp", "force_qp", "acceleration_qp"] = "lcp",
) -> ContactSolution:
    """Return forces and accelerations of closed contacts without friction.

    Args:
        equations: M and d.
        method: "lcp" by Lemke's method (11.42), "force_qp" (11.43) or "acceleration_qp" (11.44)
            by DAQP.

    Raises:
        ArgumentError: If the equations are something else.
        NoContactForces: If there are none; it names the contacts that wedge something in.
    """
    if not isinstance(equations, ContactEquations):
        raise ArgumentError(
            f"equations are {equations!r:.60}, expected what `contact_equations` returns."
        )
    M, d = equations.M, equations.d
    if method == "lcp":
        force = linear_complementarity(M, d)
    elif method == "force_qp":
        force = _force_qp(M, d)
    elif method == "acceleration_qp":
        force = _acceleration_qp(equations)
    else:
        raise UnknownNameError("method", method, METHODS)
    if force is None:
        raise NoContactForces(
            f"no forces keep apart what touches at {_wedged(equations)}: the accelerations that "
            "are imposed there close them against each other; expected contacts that can open."
        )
    x = equations.free + equations.normals @ force
    sizes = np.linalg.svd(equations.normals / np.sqrt(np.diagonal(M)), compute_uv=False)
    full = len(d) <= len(equations.free) and bool(np.all(sizes > _DEPENDENT))
    return ContactSolution(
        force, M @ force + d, equations.metric.motion(x), equations.T @ force, full
    )


def _force_qp(M: Array, d: Array) -> Array | None:
    """Return the solution of (11.43), in forces that are scaled to about one."""
    scale = 1.0 / np.sqrt(np.diagonal(M))
    size = float(np.abs(scale * d).max(initial=0.0)) or 1.0
    bounds = np.eye(len(d))
    found = minimum_within(
        scale[:, None] * M * scale, scale * d / size, bounds, np.zeros(len(d)),
        np.full(len(d), np.inf),
    )  # fmt: skip
    return None if found is None else scale * np.maximum(found.x, 0.0) * size


def _acceleration_qp(equations: ContactEquations) -> Array | None:
    """Return the multipliers of (11.44): the nearest acceleration that no contact forbids."""
    n, scale = len(equations.free), 1.0 / np.sqrt(np.diagonal(equations.M))
    # y = x - x_f, and rows of length one: scaled N^T y >= - scaled d.
    size = float(np.abs(scale * equations.d).max(initial=0.0)) or 1.0
    rows = (equations.normals * scale).T
    least = -scale * equations.d / size
    found = minimum_within(
        np.eye(n), np.zeros(n), np.ascontiguousarray(rows), least, np.full(len(least), np.inf)
    )
    return None if found is None else scale * np.maximum(-found.multipliers, 0.0) * size


def _wedged(equations: ContactEquations) -> str:
    """Return the names of contacts whose normals hold each other: v >= 0, T v = 0, d . v < 0."""
    scale = 1.0 / np.sqrt(np.diagonal(equations.M))
    normals = equations.normals * scale
    d = scale * equations.d
    d = d / np.abs(d).max()
    from scipy.optimize import nnls

    v, _ = nnls(np.vstack([normals, d]), np.append(np.zeros(len(normals)), -1.0))
    used = [name for name, x in zip(equations.names, v, strict=True) if x > 1e-6 * v.max()]
    return ", ".join(map(repr, used or equations.names))


def reduced_contacts(equations: ContactEquations) -> list[int]:
    """Return which contacts are enough: the others' normals are made up of theirs (11.6).

    A contact is left out if its normal is a combination of others, none of them negative, and if
    it does not close faster than these: then it never carries a load that they could not carry.
    Later ones are left out first. The motion is that of all contacts; what is left may still
    depend on one another, as four corners of a rectangle do.

    Raises:
        ArgumentError: If these are no equations.
    """
    from scipy.optimize import nnls

    if not isinstance(equations, ContactEquations):
        raise ArgumentError(
            f"equations are {equations!r:.60}, expected what `contact_equations` returns."
        )
    normals, drift = equations.normals, equations.drift
    scale = 1.0 / np.sqrt(np.diagonal(equations.M))
    unit = normals * scale
    rate = scale * drift
    rate = rate / max(float(np.abs(rate).max(initial=0.0)), 1e-300)
    kept = list(range(len(scale)))
    for i in reversed(range(len(scale))):
        others = [j for j in kept if j != i]
        if not others:
            continue
        # The last column is how much later it closes than the combination.
        A = np.vstack([unit[:, others], rate[others]])
        A = np.hstack([A, np.append(np.zeros(len(unit)), 1.0)[:, None]])
        _, rest = nnls(A, np.append(unit[:, i], rate[i]))
        if rest < _DEPENDENT:
            kept = others
    return kept
