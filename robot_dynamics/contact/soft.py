# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Soft contact (11.8): springs and dampers on a massless patch of surface, with friction.

The patch is pressed in by z and moved along the surface by x, with the body while that touches and
sticks. Along the normal, with the penetration d of the body, its rate d' and no pull,

    f_n = max(0, K d + D d')  where d = z,   else 0                                    (11.74)
    D z' = -(K z - f_n),   z relaxes after the body has left                            (11.73)

and along the surface, f_stick = -K_t x - D_t v being what would make the patch stick,

    f_t = f_stick, but no larger than mu f_n                                     (11.78), (11.79)
    D_t x' = -(K_t x + f_t)                                                             (11.77)

Hunt and Crossley's contact is the case D = K d times a constant. The functions of forces are those
of the book, for any forward dynamics. Those of steps are the same laws at the end of a time step,
impulse P over velocity u, which no stiffness makes unstable.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def normal_force(stiffness: ArrayLike, damping: ArrayLike, depth: Array, rate: Array) -> Array:
    """Return f_n (...,) [N] of what penetrates (11.74).

    Args:
        stiffness: K [N/m].
        damping: D [N s/m].
        depth: d (...,) [m]: positive within the surface.
        rate: d' (...,) [m/s].
    """
    return np.asarray(np.maximum(0.0, np.multiply(stiffness, depth) + np.multiply(damping, rate)))


def relaxed(stiffness: ArrayLike, damping: ArrayLike, z: Array, time: float) -> Array:
    """Return what is left of a displacement z (...,) that nothing holds: z e^(-K t / D)."""
    K, D = np.asarray(stiffness, dtype=float), np.asarray(damping, dtype=float)
    rate = np.divide(K, D, out=np.full(np.broadcast(K, D).shape, np.inf), where=D > 0.0)
    return np.asarray(np.where(z != 0.0, z, 0.0) * np.exp(-rate * time))


def friction_force(
    stiffness: float, damping: float, friction: float, normal: float, x: Array, v: Array
) -> tuple[Array, Array]:
    """Return f_t (2,) [N] and the rate of the patch x' (2,) (11.77) to (11.79).

    The cone is round: f_t has the direction of f_stick.

    Args:
        stiffness: K_t [N/m].
        damping: D_t [N s/m], positive.
        friction: mu.
        normal: f_n [N].
        x: Displacement of the patch along the surface (2,) [m].
        v: Velocity of the body's point along the surface (2,) [m/s].
    """
    stick = -stiffness * x - damping * v  # (11.78)
    size, most = float(np.linalg.norm(stick)), friction * normal
    force = stick if size <= most else stick * (most / size)  # (11.79)
    return force, -(stiffness * x + force) / damping  # (11.77)


class StepLaw(NamedTuple):
    """P = start - slope u: impulse over the velocity at a step's end.

    Attributes:
        slope: (...,) [kg].
        start: (...,) [N s].
    """

    slope: Array
    start: Array


def normal_step(stiffness: Array, damping: Array, depth: Array, speed: Array, h: float) -> StepLaw:
    """Return the normal law of a step by the trapezoidal rule, u separating if positive.

    With the depth d of the middle and the speed w = -u into it,
    P = h K (d + h (w+ - w) / 4) + h D (w + w+) / 2.

    Args:
        stiffness: K (c,).
        damping: D (c,); of Hunt and Crossley's contact K d times a constant.
        depth: d (c,).
        speed: w at the start of the step (c,).
        h: The step [s].
    """
    half = 0.5 * damping
    spring = 0.25 * h * stiffness
    return StepLaw(h * (half + spring), h * (stiffness * depth + (half - spring) * speed))


def tangential_step(stiffness: Array, damping: Array, x: Array, h: float) -> StepLaw:
    """Return the law of sticking of a step, f_stick at its end.

    Args:
        stiffness: K_t (c,).
        damping: D_t (c,).
        x: Displacements (c, 2).
        h: The step [s].
    """
    return StepLaw(h * (damping + h * stiffness), -h * stiffness[:, None] * x)


def displaced(stiffness: Array, damping: Array, x: Array, force: Array, h: float) -> Array:
    """Return displacements (c, 2) after a step with forces (c, 2), by (11.77) at its end."""
    K, D = stiffness[:, None], damping[:, None]
    return np.asarray((D * x - h * force) / (D + h * K))
