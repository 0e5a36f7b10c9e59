# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Soft contact (11.8): springs and dampers on a massless patch of surface, with friction.

The patch is pressed in by z and moved along the surface by x, together with the body while it
touches and sticks. Along the normal, with the penetration d of the body, its rate d' and no pull,

    f_n = max(0, K d + D d')  where d = z,   else 0                                    (11.74)
    D z' = -(K z - f_n),   z relaxes after the body has left                            (11.73)

and along the surface, with f_stick = -K_t x - D_t v the force of a sticking patch,

    f_t = f_stick, but no larger than mu f_n                                     (11.78), (11.79)
    D_t x' = -(K_t x + f_t)                                                             (11.77)

Hunt and Crossley's contact is the case D = K d times a constant. The functions of forces are those
of the book, for any forward dynamics.

Steps use the mean force over the penetration of the step: for the spring the increase of its
energy over the penetration (a discrete gradient), for a damper the integral of its force. With the
rate in the middle of a step these do exactly the work that is stored and lost, also if a contact
begins or ends within a step, for any stiffness. The law is linear in the velocity at the end of
the step while a contact persists; otherwise Newton's method solves it, in passes of the problem
with all contacts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.arrays import Array
from robot_dynamics.compile.routine import Matrix, routine


def normal_force(stiffness: ArrayLike, damping: ArrayLike, depth: Array, rate: Array) -> Array:
    """Return f_n (...,) [N] of a penetrating body (11.74).

    Args:
        stiffness: K [N/m].
        damping: D [N s/m].
        depth: d (...,) [m]: positive within the surface.
        rate: d' (...,) [m/s].
    """
    return np.asarray(np.maximum(0.0, np.multiply(stiffness, depth) + np.multiply(damping, rate)))


def relaxed(stiffness: ArrayLike, damping: ArrayLike, z: Array, time: float) -> Array:
    """Return the relaxation of a free displacement z (...,): z e^(-K t / D)."""
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
    """Return the impulse [N s] of a contact along its normal in a step; zero instead of negative.

    With w = max(d, least) and V = K w^2 / 2, from d0 to d1 by the mean velocity, P = h (V1 - V0) /
    (d1 - d0) + min(D (w1 - w0), most (w1 - w0) + held) + loss (V1 - V0).

    Args:
        law: Parameters of each contact (c, 10): K; D; the largest D, `most` = 2 m / h, which stops
            the body in a step and does not reverse it; the impulse `held` in the last step, which
            D can carry in addition; the `loss` of Hunt and Crossley's contacts, D over K d; the
            `least` depth, of the patch, beyond which the body touches; d0; the velocity u at the
            end at which it was linearised last, and the two bounds of u.
        i: Index of the contact.
        end: d1.
        h: Time step [s].
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
    """Return the slope of `normal_impulse` by the rate at the end of the step [kg]."""
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
