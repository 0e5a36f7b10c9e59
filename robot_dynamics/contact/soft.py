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
of the book, for any forward dynamics.

Steps take the mean force of their way into the surface: of the spring what it stores more, over
that way (a discrete gradient), of a damper the integral of its force. With the rate in the middle
of a step these do exactly the work that is stored and lost, also where a contact begins or ends
within a step, however stiff it is. The law is linear in the velocity at the end where a contact
goes on; elsewhere Newton's method finds it, in passes of the problem with all contacts.

No step resolves K above 1 / (h^2 W), W being what a unit of impulse changes the rate by. Springs
are as stiff as that at most, as of when they begin to touch, with dampers in proportion to the
critical one. A damper stops what comes in a step at most, and bears what the last step bore.

The book's surface is at rest. Where it belongs to a link that moves, x is kept in the link's
coordinates and turns with it; where its normal turns against the link, along what is curved, x
turns with the normal and keeps its length.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.compile.routine import Mask, Matrix, Tensor, Vector, routine
from robot_dynamics.contact.solver import along_row, product

Array = NDArray[np.float64]

# Compliance of elastic contacts along the face, in parts of what moves there over a step. Corners
# of a face that tilts a little in its springs would else push against one another without bound.
_SHEAR = 1e-3
# Impulses meet the laws of springs but for this part of the largest one, or are found where these
# were linearised, but for this part of the velocity.
_EXACT = 1e-12
_ROUNDING = 1e-13
# Slopes of those laws, over h^2 K, which is four times that of a spring that is pressed all along:
# less makes rows that others are lost beside.
_LEAST_SLOPE = 2.5e-3
_FLAT = 1e-12  # a patch that is less deep [m] is none
_TINY, _INFINITE = 1e-300, float("inf")


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
def normal_impulse(law: Matrix, i: int, end: float, h: float) -> float:
    """Return the impulse [N s] of a contact along its normal in a step; none where negative.

    With the way w = max(d, least) and V = K w^2 / 2, from d0 to d1 by the mean velocity,
    P = h (V1 - V0) / (d1 - d0) + min(D (w1 - w0), most (w1 - w0) + held) + loss (V1 - V0).

    Args:
        law: Of each contact (c, 10): K; D; the `most` of D, which stops what comes in a step, 2 m
            / h: beyond that it would be turned back; the impulse `held` in the last step, which
            D may bear besides; the `loss` of Hunt and Crossley's contacts, D over K d; the
            `least` depth, of the patch, beyond which the body touches; d0; the velocity u at the
            end at which it was linearised last, and between which two it is to be found.
        i: Which of them.
        end: d1.
        h: The step [s].
    """
    K, least, start = law[i, 0], law[i, 5], law[i, 6]
    first, last = max(start, least), max(end, least)
    way, mean = last - first, 0.5 * K * (first + last)
    push = mean if start >= least and end >= least else 0.0
    if push == 0.0 and way != 0.0:
        push = mean * way / (end - start)
    drag = law[i, 1] * way
    if way > 0.0:
        drag = min(drag, law[i, 2] * way + law[i, 3])
    return h * push + drag + law[i, 4] * mean * way


@routine
def normal_slope(law: Matrix, i: int, end: float, h: float) -> float:
    """Return by how much `normal_impulse` grows with the rate at the end of the step [kg]."""
    K, least, start = law[i, 0], law[i, 5], law[i, 6]
    first, last = max(start, least), max(end, least)
    way, inside, bend, drag = last - first, 0.0, 0.0, 0.0
    if end > least:
        inside = end
        limited = way > 0.0 and law[i, 1] * way > law[i, 2] * way + law[i, 3]
        drag = law[i, 2] if limited else law[i, 1]
    if start >= least and end >= least:
        bend = 0.5
    elif way != 0.0:
        bend = (inside - 0.5 * (first + last) * way / (end - start)) / (end - start)
    return 0.5 * h * (h * K * bend + drag + law[i, 4] * K * inside)


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
    h: Vector, whole: Vector, gaps: Vector, before: Vector, leaving: Vector, free: Vector,
    foreseen: Vector, J: Matrix, HJ: Matrix, within: Mask, pressed: Mask, elastic: Mask,
    stiffness: Vector, loss: Vector, damping: Vector, left: Vector, patch: Vector, used: Vector,
    law: Matrix,
    gives: Mask, shear_stiffness: Vector, shear_damping: Vector, axes: Tensor, sheared: Matrix,
    force: Vector, holding: int, width: int, x: Matrix, compliance: Vector, c: Vector,
    touching: Mask,
) -> None:  # fmt: skip
    """Write the rows of soft contacts, u + (P - start) / slope = 0 where they push, and x.

    Args:
        h: The step (1,).
        whole: The step where it is not divided (1,).
        gaps: At its start (c,).
        before: Velocities of all rows there (m,).
        leaving: At the end of the last step (m,). Where rows turn both are as far off, on either
            side of what is true between the steps.
        free: Those at its end without impulses (m,).
        foreseen: Accelerations (nv,).
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
        used: K as steps resolve it, kept while something is stored (c,).
        law: See `normal_impulse` (c, 10).
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
    for i in range(len(gaps)):
        n = holding + i * width
        if elastic[i]:
            W = product(J, HJ, n)
            if not pressed[i] and patch[i] == 0.0:
                K = used[i] if gaps[i] < 0.0 else stiffness[i]
                used[i] = min(K, 1.0 / (whole[0] * whole[0] * W)) if W > 0.0 else K
            law[i, 0] = used[i]
            law[i, 1] = damping[i] * sqrt(used[i] / stiffness[i])
            law[i, 2] = 2.0 / (h[0] * W) if W > 0.0 else law[i, 1]
            law[i, 3] = h[0] * force[n]
            law[i, 4] = loss[i]
            # A patch that is still deeper than the body does not touch it.
            law[i, 5] = 0.0 if pressed[i] else left[i] * patch[i]
            law[i, 6] = -gaps[i]
            if not gives[i]:
                # A stiff spring along the face: u + R (P - P of the step before) = 0.
                for k in range(n + 1, n + width):
                    compliance[k] = _SHEAR * product(J, HJ, k)
                    c[k] -= compliance[k] * h[0] * force[k] + 0.5 * (leaving[k] - before[k])
            u = before[n] + h[0] * along_row(J, n, foreseen) if pressed[i] else free[n]
            press(h[0], i, n, u, law, before, free, within, compliance, c, touching)
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
def press(
    h: float, i: int, n: int, u: float, law: Matrix, before: Vector, free: Vector, within: Mask,
    compliance: Vector, c: Vector, touching: Mask,
) -> None:  # fmt: skip
    """Write the normal row n of contact i, its law linearised at the velocity u at the end."""
    law[i, 7] = u
    end = law[i, 6] - 0.5 * h * (before[n] + u)
    slope = normal_slope(law, i, end, h)
    touching[i] = within[i] and slope > 0.0
    compliance[n], c[n] = 0.0, free[n]
    if touching[i]:
        slope = max(slope, _LEAST_SLOPE * h * h * law[i, 0])
        compliance[n] = 1.0 / slope
        c[n] -= normal_impulse(law, i, end, h) / slope + u


@routine
def follow_laws(
    h: Vector, law: Matrix, before: Vector, free: Vector, within: Mask, elastic: Mask,
    after: Vector, P: Vector, holding: int, width: int, compliance: Vector, c: Vector,
    touching: Mask, anew: Mask, missed: Mask, error: Vector,
) -> None:  # fmt: skip
    """Linearise laws of elastic contacts anew where a step ends, if impulses P miss them there.

    `missed` says whether they do, and `error`, in parts of the largest, is at least by how much.
    Contacts stay between velocities known to be too small and too large, unless sought `anew`:
    impulses shrink as they separate faster, though those of others may say otherwise.
    """
    largest, worst = _TINY, 0.0
    for i in range(len(elastic)):
        n = holding + i * width
        if elastic[i]:
            end = law[i, 6] - 0.5 * h[0] * (before[n] + after[n])
            expected = max(normal_impulse(law, i, end, h[0]), 0.0) if within[i] else 0.0
            largest = max(largest, P[n])
            # What was linearised there is as near as it comes.
            if abs(after[n] - law[i, 7]) > _ROUNDING * (abs(before[n]) + abs(after[n])):
                worst = max(worst, abs(P[n] - expected))
    missed[0] = worst > _EXACT * largest
    for i in range(len(elastic) if missed[0] else 0):
        n = holding + i * width
        error[0] = max(error[0], worst / largest)
        if elastic[i]:
            u, last = after[n], law[i, 7]
            if anew[0]:
                law[i, 8], law[i, 9] = -_INFINITE, _INFINITE
            law[i, 8 if u > last else 9] = last
            if not (u > law[i, 8] and u < law[i, 9]) and u != last:
                u = 0.5 * (law[i, 8] + law[i, 9])
            press(h[0], i, n, u, law, before, free, within, compliance, c, touching)


@routine
def move_patches(
    h: Vector, gap: Vector, after: Vector, within: Mask, pressed: Mask, damping: Vector,
    left: Vector, patch: Vector, gives: Mask, shear_stiffness: Vector, shear_damping: Vector,
    axes: Tensor, x: Matrix, force: Vector, holding: int, width: int, sheared: Matrix,
) -> None:  # fmt: skip
    """Move patches over a step along with what touches them; see `give_way`.

    `gap` is that of its middle, `after` are the velocities of all rows at its end, `pressed` those
    that push in it, `force` what they push with.
    """
    g = 0
    for i in range(len(gap)):
        n = holding + i * width
        if damping[i] > 0.0:
            depth = max(-0.5 * h[0] * after[n] - gap[i], 0.0) if within[i] else 0.0
            # The body may leave its patch, but not go through it.
            rest = 0.0 if pressed[i] else left[i] * left[i] * patch[i]
            patch[i] = max(depth, rest if rest > _FLAT else 0.0)
        if gives[i]:
            K, D = shear_stiffness[g], shear_damping[g]
            for j in range(3):
                sheared[g, j] = 0.0
            for k in range(2):
                moved = displaced(K, D, x[g, k], force[n + 1 + k], h[0])
                for j in range(3):
                    sheared[g, j] += moved * axes[g, k, j]
            g += 1
