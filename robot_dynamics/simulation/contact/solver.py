# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Contact impulses of one step: Signorini's and Coulomb's laws on the Delassus matrix.

With u = W P + c the relative velocities after the step and P the impulses,

    rows that hold:   u = 0
    normals:          0 <= P_n,  u_n >= 0,  u_n P_n = 0
    tangents:         P_t is the point of the disc |P_t| <= mu P_n nearest to P_t - r u_t,

the last for any r > 0: within the disc u_t = 0, on its edge the impulse is against the slip. Both
are equations with kinks (Alart and Curnier, 1991), solved by a semi-smooth Newton method, which
ends exactly, after one or two linear systems if it starts from the impulses of the step before.
Where it does not, sweeps over the contacts (projected block Gauss-Seidel) bring it nearer first.

Rows that depend on one another leave impulses open, such as those of four corners of one face. W
is then singular; a shift of its diagonal, whose effect on u is kept out by the last impulses,
chooses impulses near those.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

#: Part of the largest impulse that is left as an error at most.
TOLERANCE = 1e-11
_SHIFT = 1e-10  # of the diagonal, relative to its mean
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

    def solve(self, W: Array, c: Array, start: Array, touching: Mask) -> Impulses:
        """Return the impulses.

        Args:
            W: J H^-1 J^T plus the compliance of elastic normals (b + w c, b + w c).
            c: Velocities without impulses, and what they are to exceed, as u + c (b + w c,).
            start: Impulses to start from (b + w c,).
            touching: Which contacts may push (c,); the others have none.
        """
        b, w = self._b, self._w
        found = np.zeros(len(self._all))
        n = int(np.count_nonzero(touching))
        if b + n == 0:
            nothing = np.zeros(len(touching), dtype=bool)
            return Impulses(found, nothing, nothing, 0.0, 0)
        if n == len(touching):
            rows = self._all
        else:
            rows = self._all[np.concatenate([np.ones(b, dtype=bool), np.repeat(touching, w)])]
        problem = _Problem(W[np.ix_(rows, rows)], c[rows], start[rows], self._mu[touching], b, w)
        P, residual, systems = problem.solve()
        found[rows] = P
        pressed, slipping = touching.copy(), touching.copy()
        normal, tangent, radius = problem.modes(P)
        pressed[touching], slipping[touching] = normal > 0.0, (normal > 0.0) & (tangent > radius)
        return Impulses(found, pressed, slipping, residual, systems)


class _Problem:
    """One problem: b rows that hold, then n contacts of w rows."""

    def __init__(self, W: Array, c: Array, start: Array, mu: Array, b: int, w: int) -> None:
        self._b, self._w, self._n, self._mu = b, w, len(mu), mu
        diagonal = W.diagonal()
        shift = _SHIFT * float(diagonal.sum()) / len(diagonal)
        self._c = c - shift * start
        self._W = W.copy()
        self._W.flat[:: len(W) + 1] += shift
        self._start = start
        r = 1.0 / (diagonal + shift)
        of_contacts = r[b:].reshape(-1, w)
        # One r for all directions of a disc: that of the direction that moves most.
        of_contacts[:, 1:] = of_contacts[:, 1:].min(axis=1, keepdims=True)
        self._r, self._rn, self._rt = r, of_contacts[:, 0], of_contacts[:, 1]
        self._size = max(float(np.abs(r * c).max()), float(np.abs(start).max()), 1e-300)

    def solve(self) -> tuple[Array, float, int]:
        """Return impulses, what is left of the equations, and the number of linear systems."""
        best, systems, P = (self._start, np.inf), 0, self._start
        for _ in range(_ROUNDS):
            P, residual, count = self._newton(P)
            systems += count
            if residual < best[1]:
                best = P, residual
            if residual <= TOLERANCE:
                break
            P = self._swept(best[0])
        return *best, systems

    def modes(self, P: Array) -> tuple[Array, Array, Array]:
        """Return for each contact the normal and tangential trial impulses, and the disc."""
        y = P - self._r * (self._W @ P + self._c)
        y = y[self._b :].reshape(self._n, self._w)
        normal, t = y[:, 0], y[:, 1:]
        tangent = np.sqrt(np.einsum("ij,ij->i", t, t))
        return normal, tangent, self._mu * np.maximum(normal, 0.0)

    def _newton(self, P: Array) -> tuple[Array, float, int]:
        b, w, n, W, r = self._b, self._w, self._n, self._W, self._r
        best, smallest = P, np.inf
        within = np.eye(w - 1)
        for count in range(_NEWTON + 1):
            step = r * (W @ P + self._c)  # r u
            F = step.copy()  # of rows that hold: r u = 0
            p = P[b:].reshape(n, w)
            y = p - step[b:].reshape(n, w)
            normal = y[:, 0]
            closed = normal > 0.0
            radius = self._mu * np.maximum(normal, 0.0)
            t = y[:, 1:]
            size = np.sqrt(np.einsum("ij,ij->i", t, t))
            # Without friction every impulse along the surface is beyond the disc.
            slips = ~(size < radius)
            ratio = np.where(slips, radius / np.maximum(size, 1e-300), 1.0)
            f = F[b:].reshape(n, w)
            f[:, 0] = p[:, 0] - np.maximum(normal, 0.0)
            f[:, 1:] = p[:, 1:] - ratio[:, None] * t
            residual = float(np.abs(F).max()) / max(self._size, float(np.abs(P).max()))
            if residual < smallest:
                best, smallest = P, residual
            if residual <= 0.01 * TOLERANCE or count == _NEWTON or not np.isfinite(residual):
                return best, smallest, count
            if residual <= TOLERANCE and count:
                return best, smallest, count
            # dF = B_P dP + B_u W dP; open: P = 0; closed: r u_n = 0; sticking: r u_t = 0.
            G = r[:, None] * W
            if n:
                B_u, B_P = np.zeros((n, w, w)), np.zeros((n, w, w))
                B_u[:, 0, 0] = closed
                B_P[:, 0, 0] = ~closed
                d = t / np.maximum(size, 1e-300)[:, None]
                slope = np.where(slips, 1.0, 0.0)[:, None, None] * d[:, :, None] * d[:, None, :]
                turned = ratio[:, None, None] * (within - slope)
                B_u[:, 1:, 1:] = turned
                B_P[:, 1:, 1:] = within - turned
                edge = np.where(slips & closed, self._mu, 0.0)[:, None] * d
                B_P[:, 1:, 0] = -edge
                B_u[:, 1:, 0] = edge
                whole = G[b:].reshape(n, w, -1)
                mixed = (B_u @ whole).reshape(n * w, -1)
                for i in range(n):
                    at = slice(b + i * w, b + (i + 1) * w)
                    mixed[i * w : (i + 1) * w, at] += B_P[i]
                G[b:] = mixed
            try:
                P = P - np.linalg.solve(G, F)
            except np.linalg.LinAlgError:
                return best, smallest, count
        return best, smallest, _NEWTON

    def _swept(self, P: Array) -> Array:
        """Return impulses after sweeps over the contacts, each solved with the others held."""
        b, w, W = self._b, self._w, self._W
        P = P.copy()
        for _ in range(_SWEEPS):
            if b:
                P[:b] = np.linalg.solve(W[:b, :b], -self._c[:b] - W[:b, b:] @ P[b:])
            for i in range(self._n):
                at = b + i * w
                tangents = slice(at + 1, at + w)
                P[at] = max(P[at] - self._rn[i] * (W[at] @ P + self._c[at]), 0.0)
                t = P[tangents] - self._rt[i] * (W[tangents] @ P + self._c[tangents])
                size, radius = float(np.linalg.norm(t)), float(self._mu[i] * P[at])
                P[tangents] = t if size <= radius else t * (radius / size)
        return P
