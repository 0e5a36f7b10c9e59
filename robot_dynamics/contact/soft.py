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

Hunt and Crossley's contact is the case D = K d times a constant. The functions of forces are the
book's, for any forward dynamics.

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
from robot_dynamics.compile.routine import Matrix, MutableRecord, Vector, routine


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


class ContactSprings(MutableRecord):
    """Laws of elastic contacts in a step, along their normals, and their surfaces."""

    K: Vector  #: Stiffness (c,) [N/m].
    D: Vector  #: Damping (c,) [N s/m].
    #: The largest damping (c,) [N s/m], 2 m / h, which stops the body in a step and does not
    #: reverse it.
    most: Vector
    held: Vector  #: Impulse in the last step, which D can carry in addition (c,) [N s].
    loss: Vector  #: D of Hunt and Crossley's contacts, over K d (c,) [s/m].
    least: Vector  #: Depth of the patch, beyond which the body touches (c,) [m].
    start: Vector  #: Penetration d0 at the start of the step (c,) [m].
    u: Vector  #: Velocity at the end at which the law was linearised last (c,) [m/s].
    low: Vector  #: Bounds of u (c,) [m/s].
    high: Vector
    left: Vector  #: Part of a displacement of the patch that is left after half the step (c,).
    shear: Matrix  #: Displacements along tangents, of those that give way so (e, 2) [m].
    anew: bool  #: Whether u is sought without bounds.
    missed: bool  #: Whether impulses miss the laws.


def springs_of(contacts: int, giving: int) -> ContactSprings:
    """Return laws for c contacts, of which e give way along their surfaces."""
    c = contacts
    return ContactSprings(
        K=c, D=c, most=c, held=c, loss=c, least=c, start=c, u=c, low=c, high=c, left=c,
        shear=(giving, 2),
    )  # fmt: skip


@routine
def normal_impulse(springs: ContactSprings, i: int, end: float, h: float) -> float:
    """Return the impulse [N s] of a contact along its normal in a step; zero instead of negative.

    With w = max(d, least) and V = K w^2 / 2, from d0 to d1 by the mean velocity, P = h (V1 - V0) /
    (d1 - d0) + min(D (w1 - w0), most (w1 - w0) + held) + loss (V1 - V0).

    Args:
        springs: Laws of contacts.
        i: Index of the contact.
        end: d1.
        h: Time step [s].
    """
    K, least, start = springs.K[i], springs.least[i], springs.start[i]
    first, last = max(start, least), max(end, least)
    way, mean = last - first, 0.5 * K * (first + last)
    push = mean if start >= least and end >= least else 0.0
    if push == 0.0 and way != 0.0:
        push = mean * way / (end - start)
    drag = springs.D[i] * way
    if way > 0.0:
        drag = min(drag, springs.most[i] * way + springs.held[i])
    return h * push + drag + springs.loss[i] * mean * way


@routine
def normal_slope(springs: ContactSprings, i: int, end: float, h: float) -> float:
    """Return the slope of `normal_impulse` by the rate at the end of the step [kg]."""
    K, least, start = springs.K[i], springs.least[i], springs.start[i]
    first, last = max(start, least), max(end, least)
    way, inside, bend, drag = last - first, 0.0, 0.0, 0.0
    if end > least:
        inside = end
        limited = way > 0.0 and springs.D[i] * way > springs.most[i] * way + springs.held[i]
        drag = springs.most[i] if limited else springs.D[i]
    if start >= least and end >= least:
        bend = 0.5
    elif way != 0.0:
        bend = (inside - 0.5 * (first + last) * way / (end - start)) / (end - start)
    return 0.5 * h * (h * K * bend + drag + springs.loss[i] * K * inside)


@routine
def tangential_slope(stiffness: float, damping: float, h: float) -> float:
    """Return the slope [kg] of the law of sticking, f_stick at the end; -h K_t x starts it."""
    return h * (damping + h * stiffness)


@routine
def displaced(stiffness: float, damping: float, x: float, force: float, h: float) -> float:
    """Return a displacement after a step with a force, by (11.77) at its end."""
    return (damping * x - h * force) / (damping + h * stiffness)
