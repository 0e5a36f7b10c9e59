# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Dynamics in independent coordinates with q = gamma(y): loops cannot open (section 8.11)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from robot_dynamics.compile.kernel import load_kernel
from robot_dynamics.compile.program import Program
from robot_dynamics.dynamics.algorithm import Algorithm
from robot_dynamics.dynamics.closed_loop import closed_loop_terms
from robot_dynamics.dynamics.closure_functions import Closure, ClosureMotion
from robot_dynamics.model.parameters import Parameters, pack
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
        columns: Columns of G (n of length nv).
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
        tau: Joint forces (nv,) of the whole tree, friction already subtracted.
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


def explicit_motion(
    closure: Closure,
    y: Sequence[Scalar],
    yd: Sequence[Scalar],
    ydd: Sequence[Scalar],
    parameters: Parameters,
) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
    """Return q, qd and qdd of the tree: gamma, G yd and G ydd + g."""
    motion = closure.motion(y, yd)
    qdd = [a + g for a, g in zip(times(motion.G, ydd), motion.g, strict=True)]
    return motion.q, motion.qd, qdd


def mass_and_bias(
    closure: Closure, y: Sequence[Scalar], yd: Sequence[Scalar], parameters: Parameters
) -> tuple[list[list[Scalar]], list[Scalar]]:
    """Return M and c of `explicit_terms`."""
    terms = explicit_terms(closure, y, yd, parameters)
    return terms.M, terms.c


def explicit_lengths(closure: Closure, algorithm: Algorithm) -> dict[str, tuple[int, ...]]:
    """Return the lengths of the inputs of an algorithm by name."""
    known = {"y": closure.size, "tau": closure.model.nv}
    return {name: (known.get(name, closure.dimension),) for name in algorithm.inputs}


def explicit_program(closure: Closure, algorithm: Algorithm) -> Program:
    """Return the program of an algorithm of closure functions."""
    return algorithm.traced(closure, closure.model, explicit_lengths(closure, algorithm))


def bind_explicit(closure: Closure, algorithm: Algorithm) -> Callable[..., Any]:
    """Return the compiled function of an algorithm of closure functions.

    The computation of the user's functions, with the constants of their closures, is part of the
    key to the cache: it is read off their trace.
    """
    model, fingerprint = closure.model, explicit_program(closure, POSITIONS).fingerprint
    coordinates = repr([(c.name in model.joint_names, c.nq) for c in closure.coordinates])
    key = b"\0".join((algorithm.name.encode(), coordinates.encode(), fingerprint))
    kernel = load_kernel(key + model.structure_key, lambda: explicit_program(closure, algorithm))
    function: Callable[..., Any] = kernel.bind(pack(model))
    return function


# Their functions take closure functions instead of a model.
POSITIONS = Algorithm(
    "explicit_positions", lambda closure, y, _: closure.positions(y), "y -> q (nq)"
)
MOTION = Algorithm("explicit_motion", explicit_motion, "y, yd, ydd -> q (nq), qd (nv), qdd (nv)")
CLOSURE_DERIVATIVES = Algorithm(
    "explicit_derivatives",
    lambda closure, y, yd, _: tuple(vars(closure.motion(y, yd)).values()),
    "y, yd -> q (nq), qd (nv), G (nv, dimension), g (nv)",
)
TERMS = Algorithm(
    "explicit_terms", mass_and_bias, "y, yd -> M (dimension, dimension), c (dimension)"
)
FORWARD_DYNAMICS = Algorithm(
    "explicit_forward_dynamics", explicit_forward_dynamics, "y, yd, tau -> ydd (dimension)"
)
INVERSE_DYNAMICS = Algorithm(
    "explicit_inverse_dynamics", explicit_inverse_dynamics, "y, yd, ydd -> effort (dimension)"
)
