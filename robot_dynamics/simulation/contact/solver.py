# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Contact impulses of one step: Signorini's and Coulomb's laws on the Delassus matrix.

With u = W P + c the relative velocities after the step and P the impulses,

    rows that hold:   u = 0
    normals:          0 <= P_n,  u_n >= 0,  u_n P_n = 0
    tangents:         |P_t| <= mu P_n; u_t = 0 within the disc, against P_t on its edge.

The laws are equations with kinks (`laws`), solved by a semi-smooth Newton method, which ends
exactly, after one or two linear systems if it starts from the impulses of the step before. Where
it does not, sweeps over the contacts (projected block Gauss-Seidel) bring it nearer first.

Rows that depend on one another leave impulses open, such as those of four corners of one face. W
is then singular; a shift of its diagonal, whose effect on u is kept out by the last impulses,
chooses impulses near those.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.simulation.contact.laws import SHIFT, Residual, contact_laws

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

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
                    P = P - np.linalg.solve(at.G, at.F)
                else:
                    P = P.copy()
                    P[rows] -= np.linalg.solve(at.G[np.ix_(rows, rows)], at.F[rows])
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
