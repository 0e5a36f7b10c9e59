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
impulse P = start - slope u over the velocity u there, which no stiffness makes unstable.

The book's surface is at rest. Where it belongs to a link that moves, x is kept in the link's
coordinates and turns with it; where its normal turns against the link, along what is curved, x
turns with the normal and keeps its length.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.compile.routine import Mask, Matrix, Tensor, Vector, routine

Array = NDArray[np.float64]

# Compliance of elastic contacts along the face, in parts of what moves there over a step. Corners
# of a face that tilts a little in its springs would else push against one another without bound.
_SHEAR = 1e-3


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


@routine
def normal_slope(stiffness: float, damping: float, h: float) -> float:
    """Return the slope [kg] of the normal law of a step by the trapezoidal rule; see below."""
    return h * (0.5 * damping + 0.25 * h * stiffness)


@routine
def normal_start(stiffness: float, damping: float, depth: float, speed: float, h: float) -> float:
    """Return the start [N s] of the normal law of a step, u separating if positive.

    With the depth d of the middle and the speed w = -u into it,
    P = h K (d + h (w+ - w) / 4) + h D (w + w+) / 2.

    Args:
        stiffness: K.
        damping: D; of Hunt and Crossley's contact K d times a constant.
        depth: d.
        speed: w at the start of the step.
        h: The step [s].
    """
    return h * (stiffness * depth + (0.5 * damping - 0.25 * h * stiffness) * speed)


@routine
def tangential_slope(stiffness: float, damping: float, h: float) -> float:
    """Return the slope [kg] of the law of sticking, f_stick at the end; -h K_t x starts it."""
    return h * (damping + h * stiffness)


@routine
def displaced(stiffness: float, damping: float, x: float, force: float, h: float) -> float:
    """Return a displacement after a step with a force, by (11.77) at its end."""
    return (damping * x - h * force) / (damping + h * stiffness)


@routine
def give_way(
    h: Vector, gap: Vector, before: Vector, leaving: Vector, J: Matrix, HJ: Matrix, within: Mask,
    pressed: Mask,
    elastic: Mask, stiffness: Vector, loss: Vector, damping: Vector, left: Vector, patch: Vector,
    gives: Mask, shear_stiffness: Vector, shear_damping: Vector, axes: Tensor, sheared: Matrix,
    force: Vector, holding: int, width: int, x: Matrix, compliance: Vector, c: Vector,
    touching: Mask,
) -> None:  # fmt: skip
    """Write the rows of soft contacts, u + (P - start) / slope = 0 where they push, and x.

    Args:
        h: The step (1,).
        gap: In its middle (c,).
        before: Velocities of all rows at its start (m,).
        leaving: At the end of the last step (m,). Where rows turn both are as far off, on either
            side of what is true between the steps.
        J: Rows (m, nv).
        HJ: H^-1 J^T, transposed (m, nv).
        within: Which contacts are on their faces (c,).
        pressed: Which of them pushed in the last step (c,).
        elastic: Which give way along their normals (c,).
        stiffness: K (c,).
        loss: D of Hunt and Crossley's contacts, over K d (c,).
        damping: D of the others (c,).
        left: Part of a displacement z that is left after half a step (c,).
        patch: z of those with a damper (c,).
        gives: Which give way along their surfaces, g of them (c,).
        shear_stiffness: K_t (g,).
        shear_damping: D_t (g,).
        axes: Of their tangents, in the coordinates of the body that has the surface (g, 2, 3).
        sheared: Displacements there (g, 3).
        force: Along all rows in the last step (m,).
        holding: Number of rows before those of contacts.
        width: Rows of each contact.
        x: Displacements along the tangents (g, 2).
        compliance: R (m,).
        c: Velocities without impulses (m,).
        touching: Which contacts may push (c,).
    """
    for i in range(len(compliance)):
        compliance[i] = 0.0
    g = 0
    for i in range(len(gap)):
        n = holding + i * width
        if elastic[i]:
            depth = max(-gap[i], 0.0)
            # A patch that is still deeper than the body does not touch it.
            reached = pressed[i] or depth > left[i] * patch[i]
            touching[i] = depth > 0.0 and within[i] and reached
            if touching[i]:
                K, D = stiffness[i], stiffness[i] * depth * loss[i] + damping[i]
                slope = normal_slope(K, D, h[0])
                compliance[n] = 1.0 / slope
                c[n] -= normal_start(K, D, depth, -before[n], h[0]) / slope
            if touching[i] and not gives[i]:
                # A stiff spring along the face: u + R (P - P of the step before) = 0.
                for k in range(n + 1, n + width):
                    R = 0.0
                    for j in range(J.shape[1]):
                        R += _SHEAR * J[k, j] * HJ[k, j]
                    compliance[k] = R
                    c[k] -= R * h[0] * force[k] + 0.5 * (leaving[k] - before[k])
        if gives[i]:
            size, along = 0.0, 0.0
            for k in range(2):
                x[g, k] = 0.0
                for j in range(3):
                    x[g, k] += axes[g, k, j] * sheared[g, j]
                along += x[g, k] * x[g, k]
            for j in range(3):
                size += sheared[g, j] * sheared[g, j]
            # It turns with the normal; by more than 60 degrees that is another place.
            turn = sqrt(size / along) if 4.0 * along > size else 1.0
            slope = tangential_slope(shear_stiffness[g], shear_damping[g], h[0])
            for k in range(2):
                x[g, k] = turn * x[g, k]
                compliance[n + 1 + k] = 1.0 / slope
                turning = 0.5 * (leaving[n + 1 + k] - before[n + 1 + k])
                c[n + 1 + k] += h[0] * shear_stiffness[g] * x[g, k] / slope - turning
            g += 1


@routine
def move_patches(
    h: Vector, gap: Vector, after: Vector, pressed: Mask, damping: Vector, left: Vector,
    patch: Vector, gives: Mask, shear_stiffness: Vector, shear_damping: Vector, axes: Tensor,
    x: Matrix, force: Vector, holding: int, width: int, sheared: Matrix,
) -> None:  # fmt: skip
    """Move patches over a step along with what touches them; see `give_way`.

    `after` are the velocities of all rows at its end, `pressed` those that push in it, `force`
    what they push with.
    """
    g = 0
    for i in range(len(gap)):
        n = holding + i * width
        if damping[i] > 0.0:
            depth = max(-0.5 * h[0] * after[n] - gap[i], 0.0)
            patch[i] = depth if pressed[i] else left[i] * left[i] * patch[i]
        if gives[i]:
            K, D = shear_stiffness[g], shear_damping[g]
            for j in range(3):
                sheared[g, j] = 0.0
            for k in range(2):
                moved = displaced(K, D, x[g, k], force[n + 1 + k], h[0])
                for j in range(3):
                    sheared[g, j] += moved * axes[g, k, j]
            g += 1
