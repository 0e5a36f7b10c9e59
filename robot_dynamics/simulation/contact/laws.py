# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Signorini's and Coulomb's laws as equations with kinks, and their slopes: one compiled program.

With u = W P + c, r = 1 / diag(W) and the trial impulses y = P - r u (Alart and Curnier, 1991):

    rows that hold:   F = r u
    normals:          F = P_n - max(y_n, 0)
    tangents:         F = P_t - y_t min(1, mu max(y_n, 0) / |y_t|)

vanish exactly if the laws are met. All directions of a disc have one r, the smallest.
"""

from __future__ import annotations

from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.compile import Program, load_kernel, trace
from robot_dynamics.scalar.functions import absolute, maximum, minimum, sqrt
from robot_dynamics.scalar.linear_algebra import dot
from robot_dynamics.spatial import Scalar

Array = NDArray[np.float64]

#: What is added to the diagonal of W, in parts of its mean: rows may depend on one another.
SHIFT = 1e-10
_TINY = 1e-300


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
    size = sqrt(dot(y, y))
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
