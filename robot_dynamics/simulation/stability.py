# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Step lengths at which an explicit scheme is stable for friction, springs and dampers."""

from __future__ import annotations

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.rank import constraint_rank
from robot_dynamics.robot import Robot
from robot_dynamics.robot.bound_model import quick_constraint_terms
from robot_dynamics.simulation.runge_kutta import Scheme

# The linearisation is the one at the start: elsewhere motions may be faster by about this factor.
_MARGIN = 1.1
# Displacement for the slope of springs [rad, or lengths]: the cube root of rounding, at which
# central differences are best.
_SMALL = 1e-5
_BISECTIONS = 40


def decay_rates(robot: Robot, q: Array, friction: Array) -> Array:
    """Return the eigenvalues [1/s] of the motions that close the loops, at rest.

    With M = G^T H G, and D and S the slopes of damping and spring forces, they belong to M y'' + D
    y' + S y = 0. Gravity is not included: its motions are as slow as free fall.

    Args:
        robot: The mechanism.
        q: Positions (nq,) that close the loops.
        friction: Friction of each coordinate over its velocity [N m s/rad or N s/m] (nv,);
            dampers of loop joints are added.
    """
    model = robot.model
    H, _, K, _, error, _ = quick_constraint_terms(model)(q, np.zeros(model.nv))
    # A tree has no constraints, and K has no shape.
    K, error = np.reshape(K, (-1, model.nv)), np.reshape(error, -1)
    ranked = constraint_rank(model, K, error, q)
    G = ranked.motions / ranked.column_scales[:, None]
    M, D, S = G.T @ H @ G, G.T * friction @ G, np.zeros((G.shape[1],) * 2)
    damped = any(loop.damped for loop in model.loops)
    elastic = any(joint.elastic for joint in (*(b.joint for b in model.bodies), *model.loops))
    weightless = robot
    if damped or elastic:
        weightless = Robot(model.replace(gravity=(0.0, 0.0, 0.0)))
    rest = np.zeros(model.nv)
    for i, y in enumerate(G.T if damped or elastic else ()):
        if damped:
            # Forces are linear and quadratic in velocities: the difference is the linear part.
            slowed = weightless.bias_forces(q, y) - weightless.bias_forces(q, -y)
            D[:, i] += 0.5 * G.T @ slowed
        if elastic:
            step = _SMALL * y / np.max(np.abs(y * ranked.column_scales)) * ranked.length
            ends = [
                weightless.bias_forces(np.array(model.integrate(q.tolist(), move.tolist())), rest)
                for move in (step, -step)
            ]
            size = np.linalg.norm(step) / np.linalg.norm(y)
            S[:, i] = G.T @ (ends[0] - ends[1]) / (2.0 * size)
    m = len(M)
    A = np.zeros((2 * m, 2 * m))
    A[:m, m:] = np.eye(m)
    A[m:, :m], A[m:, m:] = -np.linalg.solve(M, S), -np.linalg.solve(M, D)
    return np.asarray(np.linalg.eigvals(A))


def largest_step(scheme: Scheme, rates: Array, step: float) -> float:
    """Return the longest step [s], at most a wished one, at which a scheme lets no motion grow.

    Unstable motions may grow.

    Args:
        scheme: The scheme.
        rates: The eigenvalues of the motions [1/s].
        step: The wished step [s].
    """
    if _is_stable(scheme, rates * step):
        return step
    shortest, longest = 0.0, step
    for _ in range(_BISECTIONS):
        middle = 0.5 * (shortest + longest)
        shortest, longest = (
            (middle, longest) if _is_stable(scheme, rates * middle) else (shortest, middle)
        )
    return shortest


def _is_stable(scheme: Scheme, z: Array) -> bool:
    """Return whether the step is stable, given rates times step."""
    z = _MARGIN * z
    A, b = np.zeros((len(scheme.b),) * 2), np.array(scheme.b)
    for i, row in enumerate(scheme.A):
        A[i, : len(row)] = row
    # R(z) = 1 + z b^T (1 - z A)^-1 1, a polynomial since A is strictly triangular.
    growth = np.ones_like(z)
    power = np.ones(len(b))
    factor = z.copy()
    for _ in b:
        growth = growth + factor * (b @ power)
        power, factor = A @ power, factor * z
    # Unstable motions may grow at twice their rate, because of the scheme's errors.
    allowed = np.exp(2.0 * np.maximum(z.real, 0.0))
    # Undamped oscillations neither grow nor decay: to rounding of their eigenvalues.
    return bool(np.all(np.abs(growth) <= allowed * (1.0 + 1e-6)))
