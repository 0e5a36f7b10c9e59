# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The wrench that contacts must make on the object for a motion and a force on surfaces (37)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.model import LinkElement

Array = NDArray[np.float64]


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
        gravity: In world axes (3,) [m/s^2].
        R: Orientations of the object (..., 3, 3).
        twist: [omega; velocity of the centre of mass] in world axes (..., 6).
        acceleration: Their rates (..., 6).
        on_surfaces: What the object presses surfaces with, in world axes about its centre of mass
            (..., 6): E_F^T u2, and the friction that it overcomes; none by default.
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
