# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Contact impulses of one step: Signorini's and Coulomb's laws on the Delassus matrix.

With u = W P + c the relative velocities after the step and P the impulses,

    rows that hold:   u = 0
    normals:          0 <= P_n,  u_n >= 0,  u_n P_n = 0
    tangents:         |P_t| <= mu P_n; u_t = 0 within the disc, against P_t on its edge.

With r = 1 / diag(W) and the trial impulses y = P - r u (Alart and Curnier, 1991) these are
equations with kinks,

    rows that hold:   F = r u
    normals:          F = P_n - max(y_n, 0)
    tangents:         F = P_t - y_t min(1, mu max(y_n, 0) / |y_t|)

which vanish exactly if the laws are met. All directions of a disc have one r, the smallest. One
compiled program gives F and its slopes. A semi-smooth Newton method solves them, which ends
exactly, after one or two linear systems if it starts from the impulses of the step before. Where
it does not, sweeps over the contacts (projected block Gauss-Seidel) bring it nearer first.

In terms of cones: with the velocity u' = (u_n + mu |u_t|, u_t), P is in the friction cone, u' in
its dual, and P . u' = 0 (de Saxce). This complementarity of cones is not that of a quadratic
program, which would lift what slides. `residuals` says how well impulses meet it, and
`pyramid_impulses` solves the same with pyramids in the place of cones, by another method.

Rows that depend on one another leave impulses open, such as those of four corners of one face. W
is then singular; a shift of its diagonal, whose effect on u is kept out by the last impulses,
chooses impulses near those.
"""

from __future__ import annotations

from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.compile import Program, load_kernel, trace
from robot_dynamics.contact.complementarity import copositive_complementarity
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.scalar.functions import absolute, maximum, minimum
from robot_dynamics.scalar.linear_algebra import dot, norm
from robot_dynamics.spatial import Scalar

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

#: What is added to the diagonal of W, in parts of its mean: rows may depend on one another.
SHIFT = 1e-10
_TINY = 1e-300
#: What is added to the slopes besides: motion along impulses that rows which depend on one another
#: leave open, and which rounding gives, would else turn tangential ones from system to system.
_DAMPING = 1e-7
#: Part of the largest impulse that is left as an error at most.
TOLERANCE = 1e-11
_NEWTON = 20  # linear systems before sweeps are asked
_SWEEPS = 60
_ROUNDS = 4


class Impulses(NamedTuple):
    """What acts at the contacts in one step.

    Attributes:
        P: Impulses (b + w c,) [N s; those of torsion scaled like the rows].
        pressed: Which contacts push (c,).
        slipping: Which of them are at the edge of their disc (c,).
        residual: How far the equations are from being met, in parts of the largest impulse.
        systems: Linear systems that it took.
    """

    P: Array
    pressed: Mask
    slipping: Mask
    residual: float
    systems: int


class Residuals(NamedTuple):
    """How well impulses meet the laws of contact: zero if they do.

    Attributes:
        separation: The largest speed at which something goes into something else [m/s].
        cone: The largest part of a tangential impulse that is outside of its cone [N s], or of a
            normal one that pulls.
        complementarity: The largest P_n u_n of a contact [J].
        dissipation: The largest of `P_t . u_t + mu P_n |u_t|` [J]: what slip loses too little.
        holding: The largest velocity of rows that hold [m/s].
    """

    separation: float
    cone: float
    complementarity: float
    dissipation: float
    holding: float


def residuals(
    W: Array, c: Array, P: Array, friction: Array, holding: int = 0, width: int = 3
) -> Residuals:
    """Return how well impulses meet the laws.

    Args:
        W: (b + w c, b + w c).
        c: Velocities without impulses (b + w c,).
        P: Impulses (b + w c,).
        friction: mu of each contact (c,).
        holding: Number of rows that hold, b.
        width: Rows of each contact, w.
    """
    u = W @ P + c
    of_u, of_P = u[holding:].reshape(-1, width), P[holding:].reshape(-1, width)
    normal, slip = of_P[:, 0], np.linalg.norm(of_u[:, 1:], axis=1)
    size = np.linalg.norm(of_P[:, 1:], axis=1)
    work = np.einsum("ci,ci->c", of_P[:, 1:], of_u[:, 1:]) + friction * normal * slip

    def largest(values: Array) -> float:
        return float(np.max(values, initial=0.0))

    return Residuals(
        largest(-of_u[:, 0]),
        max(largest(size - friction * np.maximum(normal, 0.0)), largest(-normal)),
        largest(np.abs(normal * of_u[:, 0])),
        largest(np.abs(work)),
        largest(np.abs(u[:holding])),
    )


def pyramid_impulses(
    W: Array, c: Array, friction: Array, sides: int = 16, holding: int = 0
) -> Array:
    """Return impulses (b + 3 c,) with pyramids within the cones, by Lemke's method.

    The complementarity problem of Stewart and Trinkle (1996), for comparison and for problems of
    few contacts: it needs no start and is exact for its pyramids, whose tangential impulses are
    up to 1 - cos(pi / sides) too small, and directions as far off as half a side.

    Args:
        W: (b + 3 c, b + 3 c), rows that hold independent of each other.
        c: Velocities without impulses (b + 3 c,).
        friction: mu of each contact (c,).
        sides: Of a pyramid, four at least.
        holding: Number of rows that hold, b.

    Raises:
        ArgumentError: If there are too few sides.
        RobotDynamicsError: If there is no solution.
    """
    if sides < 4:
        raise ArgumentError(f"a pyramid of {sides} sides, expected four at least.")
    b, n, k = holding, len(friction), sides
    into = np.linalg.solve(W[:b, :b], W[:b, b:]) if b else np.zeros((0, 3 * n))
    start = np.linalg.solve(W[:b, :b], c[:b]) if b else np.zeros(0)
    A, d = W[b:, b:] - W[b:, :b] @ into, c[b:] - W[b:, :b] @ start
    angles = 2.0 * np.pi * np.arange(k) / k
    N, D = np.zeros((n, 3 * n)), np.zeros((n * k, 3 * n))
    for i in range(n):
        N[i, 3 * i] = 1.0
        D[i * k : (i + 1) * k, 3 * i + 1] = np.cos(angles)
        D[i * k : (i + 1) * k, 3 * i + 2] = np.sin(angles)
    # Unknowns: normal impulses, those along each side, and the slip of each contact.
    E = np.kron(np.eye(n), np.ones((k, 1)))
    rows = np.vstack([N, D])
    M = np.block([[rows @ A @ rows.T, np.vstack([np.zeros((n, n)), E])],
                  [np.diag(friction), -E.T, np.zeros((n, n))]])  # fmt: skip
    z = copositive_complementarity(M, np.concatenate([rows @ d, np.zeros(n)]))
    if z is None:
        raise RobotDynamicsError("no impulses meet the laws of contact: something is wedged in.")
    P = rows.T @ z[: n + n * k]
    return np.concatenate([-start - into @ P, P])


class ContactSolver:
    """Solves one contact problem after another.

    Args:
        holding: Number of rows that hold, b.
        friction: mu of each contact that opens (c,).
        width: Rows of each of those, w: normal, tangents, and spin or not.
    """

    def __init__(self, holding: int, friction: Array, width: int) -> None:
        self._b, self._mu, self._w = holding, np.asarray(friction, dtype=float), width
        self._all = np.arange(holding + width * len(self._mu))
        if len(self._all):
            self._laws = contact_laws(holding, self._mu, width)

    def solve(self, W: Array, c: Array, start: Array, touching: Mask) -> Impulses:
        """Return the impulses.

        Args:
            W: J H^-1 J^T plus the compliance of elastic normals (b + w c, b + w c).
            c: Velocities without impulses, and what they are to exceed, as u + c (b + w c,).
            start: Impulses to start from (b + w c,).
            touching: Which contacts may push (c,); the others have none.
        """
        b, w, rows = self._b, self._w, self._all
        if not touching.all():
            rows = rows[np.concatenate([np.ones(b, dtype=bool), np.repeat(touching, w)])]
            nothing = np.zeros(len(self._all))
            nothing[rows] = start[rows]
            start = nothing
        if not len(rows):
            none = np.zeros(len(touching), dtype=bool)
            return Impulses(start, none, none, 0.0, 0)
        best, systems, P = (start, np.inf, touching, touching), 0, start
        for _ in range(_ROUNDS):
            found, count = self._newton(W, c, P, start, touching, rows)
            systems += count
            if found[1] < best[1]:
                best = found
            if best[1] <= TOLERANCE:
                break
            P = self._swept(W, c, best[0], touching)
        return Impulses(best[0], best[2], best[3], best[1], systems)

    def _newton(
        self, W: Array, c: Array, P: Array, start: Array, touching: Mask, rows: NDArray[np.intp]
    ) -> tuple[tuple[Array, float, Mask, Mask], int]:
        """Return the best impulses with error, who pushes and who slips, and linear systems."""
        best = (P, np.inf, touching, touching)
        n, whole = len(self._mu), len(rows) == len(self._all)
        may_push = touching.astype(float) if n else np.zeros(1)
        damping = _DAMPING * np.eye(len(rows))
        for count in range(_NEWTON + 1):
            at = Residual._make(self._laws(W, c, P, start, may_push))
            if at.error < best[1]:
                pressed = at.normal[:n] > 0.0
                best = P, float(at.error), pressed, pressed & (at.beyond[:n] > 0.0)
            # One system more than needed makes the last digits right.
            if at.error <= (TOLERANCE if count else 0.01 * TOLERANCE) or not at.error < np.inf:
                return best, count
            try:
                if whole:
                    P = P - np.linalg.solve(at.G + damping, at.F)
                else:
                    P = P.copy()
                    P[rows] -= np.linalg.solve(at.G[np.ix_(rows, rows)] + damping, at.F[rows])
            except np.linalg.LinAlgError:
                break
        return best, count

    def _swept(self, W: Array, c: Array, P: Array, touching: Mask) -> Array:
        """Return impulses after sweeps over the contacts, each solved with the others held."""
        b, w, P = self._b, self._w, P.copy()
        shift = SHIFT * float(np.mean(W.diagonal()))
        r = 1.0 / (W.diagonal() + shift)
        held = W[:b, :b] + shift * np.eye(b)
        for _ in range(_SWEEPS):
            if b:
                P[:b] -= np.linalg.solve(held, W[:b] @ P + c[:b])
            for i in np.flatnonzero(touching):
                at = b + i * w
                tangents = slice(at + 1, at + w)
                P[at] = max(P[at] - r[at] * (W[at] @ P + c[at]), 0.0)
                t = P[tangents] - r[tangents].min() * (W[tangents] @ P + c[tangents])
                size, radius = float(np.linalg.norm(t)), float(self._mu[i] * P[at])
                P[tangents] = t if size <= radius else t * (radius / size)
        return P


class Residual(NamedTuple):
    """How far impulses are from the laws, and how that changes with them.

    Attributes:
        F: The equations (m,) [N s].
        G: Their slopes (m, m).
        error: The largest of F in parts of the largest impulse.
        normal: Trial impulses of the normals (c,): contacts push where they are positive.
        beyond: By how much tangential trial impulses are beyond their disc (c,).
    """

    F: Array
    G: Array
    error: float
    normal: Array
    beyond: Array


def contact_laws(holding: int, friction: Array, width: int) -> Any:
    """Return compiled `(W, c, P, start, touching) -> Residual` fields in order.

    Args:
        holding: Number of rows that hold, b.
        friction: mu of each contact (c,).
        width: Rows of each contact, w.
    """
    program = law_program(holding, [mu > 0.0 for mu in friction.tolist()], width)
    mu = friction if len(friction) else np.zeros(1)
    return load_kernel(b"laws\0" + program.fingerprint, lambda: program, lanes=1).bind(mu)


def law_program(holding: int, rough: list[bool], width: int) -> Program:
    """Return the program; its parameters are mu of each contact, one zero without contacts.

    Inputs: W (m, m), c (m,), impulses P (m,), those that the diagonal's shift keeps near (m,), and
    for each contact 1 if it may push, 0 if not; one number without contacts.

    Args:
        holding: Number of rows that hold.
        rough: For each contact whether it has friction.
        width: Rows of each contact.
    """
    b, w, n = holding, width, len(rough)
    m = b + w * n

    def run(W: Any, c: Any, P: Any, start: Any, touching: Any, mu: Any) -> dict[str, Any]:
        shift = sum((W[i][i] for i in range(1, m)), W[0][0]) * (SHIFT / m)
        r: list[Scalar] = [1.0 / (W[i][i] + shift) for i in range(m)]
        for i in range(n):
            at = range(b + i * w + 1, b + (i + 1) * w)
            least = reduce(minimum, [r[j] for j in at])
            for j in at:
                r[j] = least
        u = [dot(W[i], P) + c[i] + shift * (P[i] - start[i]) for i in range(m)]
        step = [ri * ui for ri, ui in zip(r, u, strict=True)]
        slope = [
            [r[i] * (W[i][j] + (shift if i == j else 0.0)) for j in range(m)] for i in range(m)
        ]
        F, G = step[:b], slope[:b]
        size = [absolute(x) for i in range(b) for x in (r[i] * c[i], P[i])]
        normals, beyond = [], []
        for i in range(n):
            at = range(b + i * w, b + (i + 1) * w)
            f, g, normal, excess = _contact(
                [P[j] for j in at],
                [step[j] for j in at],
                [slope[j] for j in at],
                at.start,
                touching[i],
                mu[i] if rough[i] else 0.0,
            )
            F += f
            G += g
            size += [touching[i] * absolute(x) for j in at for x in (r[j] * c[j], P[j])]
            normals.append(normal)
            beyond.append(excess)
        largest = reduce(maximum, size) + _TINY
        return {
            "F": F,
            "G": G,
            "error": reduce(maximum, [absolute(x) for x in F]) / largest,
            "normal": normals or [0.0],
            "beyond": beyond or [0.0],
        }

    inputs: dict[str, int | tuple[int, ...]]
    inputs = {"W": (m, m), "c": m, "P": m, "start": m, "touching": max(n, 1)}
    return trace(run, "laws", inputs, max(n, 1))


def _contact(
    p: list[Scalar],
    step: list[Scalar],
    slope: list[list[Scalar]],
    first: int,
    touching: Scalar,
    mu: Scalar,
) -> tuple[list[Scalar], list[list[Scalar]], Scalar, Scalar]:
    """Return F, its slopes, the normal trial impulse and what is beyond the disc, for one contact.

    Args:
        p: Its impulses (w,).
        step: r u (w,).
        slope: Of r u over all impulses (w, m).
        first: Its first row.
        touching: Whether it may push: 1 or 0.
        mu: Its friction; the constant zero if there is none.
    """
    w, m = len(p), len(slope[0])
    # What may not push is open: its trial impulse is negative.
    y_n = touching * (p[0] - step[0] + 1.0) - 1.0
    closed = _positive(y_n)
    pushing = maximum(y_n, 0.0)
    y = [p[k] - step[k] for k in range(1, w)]
    size = norm(y)
    d = [x / maximum(size, _TINY) for x in y]
    radius = mu * pushing
    rough = not (isinstance(mu, float) and mu == 0.0)
    slips = _positive(size - radius) if rough else 1.0
    ratio = minimum(radius / maximum(size, _TINY), 1.0) if rough else 0.0
    F = [p[0] - pushing, *(p[k] - ratio * y[k - 1] for k in range(1, w))]
    # dF_n = dP_n - closed (dP_n - d(r u_n)).
    G = [[closed * s for s in slope[0]]]
    G[0][first] = G[0][first] + (1.0 - closed)
    edge = closed * slips * mu
    for k in range(1, w):
        # dF_t = dP_t - T (dP_t - d(r u_t)) - slips mu d (dP_n - d(r u_n)), T = ratio (1 - d d^T).
        T = [ratio * ((1.0 if k == j else 0.0) - slips * d[k - 1] * d[j - 1]) for j in range(1, w)]
        push = edge * d[k - 1]
        row = [
            dot(T, [slope[j][column] for j in range(1, w)]) + push * slope[0][column]
            for column in range(m)
        ]
        row[first] = row[first] - push
        for j in range(1, w):
            row[first + j] = row[first + j] + (1.0 if k == j else 0.0) - T[j - 1]
        G.append(row)
    return F, G, y_n, size - radius


def _positive(x: Scalar) -> Scalar:
    """Return 1 for a positive number and 0 for another, without a branch."""
    return maximum(x, 0.0) / (absolute(x) + _TINY)
