# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Yoshikawa and Zheng's system equation K X = B (31), surface masses, and the object's wrench."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.arrays import Array
from robot_dynamics.manipulation.hybrid.system import HybridTerms
from robot_dynamics.model import LinkElement


def system_matrix(terms: HybridTerms) -> Array:
    """Return K, square of size n + 6 + d + C; twists replace the paper's coordinates, T = 1."""
    J_S, W_S, E_F = terms.J_S, terms.W_S, terms.environment.E_F
    n, d, C = len(terms.h), J_S.shape[0], len(E_F)
    K = np.zeros((n + 6 + d + C,) * 2)
    q, r, F = slice(0, n), slice(n, n + 6), slice(n + 6, n + 6 + d)
    f = slice(n + 6 + d, None)
    K[q, q], K[q, F] = terms.M, J_S.T
    K[r, r], K[r, F], K[r, f] = terms.I_B, -W_S, E_F.T
    K[F, q], K[F, r] = J_S, -W_S.T
    K[f, r] = E_F
    return K


def surface_masses(terms: HybridTerms) -> Array:
    """Return the effective mass of arms and object along each surface's normal (C,) [kg].

    The mass is the force along one normal that gives the object, free of all surfaces, unit
    acceleration along it: the mass that a force servo stops at a touch.
    """
    E_F = terms.environment.E_F
    n, d, C = len(terms.h), len(terms.drift), len(E_F)
    free = system_matrix(terms)[: n + 6 + d, : n + 6 + d]
    unit = np.zeros((n + 6 + d, C))
    unit[n : n + 6] = E_F.T
    moved = np.linalg.solve(free, unit)[n : n + 6]
    return np.asarray(1.0 / np.einsum("ci,ic->c", E_F, moved))


def object_wrench(
    held: LinkElement,
    gravity: ArrayLike,
    R: ArrayLike,
    twist: ArrayLike,
    acceleration: ArrayLike,
    on_surfaces: ArrayLike | None = None,
) -> Array:
    """Return I_B v_dot + Q_B + E_F^T u2 (..., 6) in the object's axes, about its centre of mass.

    Args:
        held: The object.
        gravity: Acceleration of gravity in world axes (3,) [m/s^2].
        R: Orientations of the object (..., 3, 3).
        twist: [omega; velocity of the centre of mass] in world axes (..., 6).
        acceleration: Rates of the twist (..., 6).
        on_surfaces: Wrench by the object on surfaces, in world axes about its centre of mass
            (..., 6): E_F^T u2, and the friction that it overcomes; zero by default.
    """
    R, twist, rate = (np.asarray(a, dtype=float) for a in (R, twist, acceleration))
    back = np.swapaxes(R, -1, -2)

    def own(vectors: Array) -> Array:
        return np.asarray(np.einsum("...ij,...j->...i", back, vectors))

    I = np.asarray(held.inertia, dtype=float)
    omega = own(twist[..., :3])
    moment = own(rate[..., :3]) @ I.T + np.cross(omega, omega @ I.T)
    force = held.mass * own(rate[..., 3:] - np.asarray(gravity, dtype=float))
    result = np.concatenate([moment, force], axis=-1)
    if on_surfaces is not None:
        pushed = np.asarray(on_surfaces, dtype=float)
        result = result + np.concatenate([own(pushed[..., :3]), own(pushed[..., 3:])], axis=-1)
    return np.asarray(result)
