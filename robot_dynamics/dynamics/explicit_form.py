# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Dynamics in independent coordinates with q = gamma(y): loops cannot open (section 8.11)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from robot_dynamics.dynamics.closed_loop import closed_loop_terms
from robot_dynamics.dynamics.closure_functions import Closure, ClosureMotion
from robot_dynamics.model.parameters import Parameters
from robot_dynamics.scalar.linear_algebra import dot, factor, times, transposed_times
from robot_dynamics.spatial import Scalar


@dataclass(frozen=True)
class ExplicitTerms:
    """The equation of motion `M ydd + c = G^T tau` at one state (8.45).

    Attributes:
        motion: q, qd, G and g.
        M: G^T H G (dimension, dimension).
        c: G^T (C + H g) (dimension,).
    """

    motion: ClosureMotion
    M: list[list[Scalar]]
    c: list[Scalar]

    def effort(self, tau: Sequence[Scalar]) -> list[Scalar]:
        """Return G^T tau (dimension,), the generalised forces of the independent coordinates."""
        return transposed_times(self.motion.G, tau, len(self.c))


def explicit_terms(
    closure: Closure, y: Sequence[Scalar], yd: Sequence[Scalar], parameters: Parameters
) -> ExplicitTerms:
    """Return the equation of motion at coordinates `y` and velocities `yd`."""
    motion, n = closure.motion(y, yd), closure.dimension
    terms = closed_loop_terms(closure.model, motion.q, motion.qd, parameters)
    columns = [[row[j] for row in motion.G] for j in range(n)]
    return ExplicitTerms(motion, *reduced_equation(columns, motion.g, terms.H, terms.C))


def reduced_equation(
    columns: Sequence[Sequence[Scalar]],
    g: Sequence[Scalar],
    H: list[list[Scalar]],
    C: Sequence[Scalar],
) -> tuple[list[list[Scalar]], list[Scalar]]:
    """Return M = G^T H G (n, n) and c = G^T (C + H g) (n,) (8.45).

    Args:
        columns: Those of G (n of length nv).
        g: Accelerations (nv,) at ydd = 0.
        H: Joint-space inertia matrix (nv, nv).
        C: Bias force (nv,).
    """
    n = len(columns)
    HG = [times(H, column) for column in columns]
    M: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            M[i][j] = M[j][i] = dot(columns[i], HG[j])
    bias = [own + drift for own, drift in zip(C, times(H, g), strict=True)]
    return M, times(columns, bias)


def explicit_forward_dynamics(
    closure: Closure,
    y: Sequence[Scalar],
    yd: Sequence[Scalar],
    tau: Sequence[Scalar],
    parameters: Parameters,
) -> list[Scalar]:
    """Return ydd (dimension,) from G^T H G ydd = G^T (tau - C - H g) (8.45).

    Args:
        closure: The closure functions of a mechanism.
        y: Independent coordinates.
        yd: Their velocities.
        tau: Joint forces (nv,) of the whole tree, friction already taken off.
        parameters: Gravity and inertias.
    """
    terms = explicit_terms(closure, y, yd, parameters)
    force = [e - c for e, c in zip(terms.effort(tau), terms.c, strict=True)]
    return factor(terms.M).solve(force)


def explicit_inverse_dynamics(
    closure: Closure,
    y: Sequence[Scalar],
    yd: Sequence[Scalar],
    ydd: Sequence[Scalar],
    parameters: Parameters,
) -> list[Scalar]:
    """Return G^T tau_ID (dimension,), the value of G^T tau that gives the motion (8.62)."""
    terms = explicit_terms(closure, y, yd, parameters)
    return [a + c for a, c in zip(times(terms.M, ydd), terms.c, strict=True)]
