# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Who carries how much: contact forces of a wrench, by shares or by what the drives can.

All are W^# = Q^-1 W^T (W Q^-1 W^T)^-1, the least f^T Q f that makes the wrench, for a Q (d, d).
Within hard limits of torques and friction, the rest is a matter of the internal force: see
`squeeze`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.errors import ArgumentError
from robot_dynamics.manipulation.grasp_map import force_transform, middle_frame
from robot_dynamics.manipulation.hybrid.contacts import Contact

Array = NDArray[np.float64]

_RANK = 1e-9


def equal_shares(count: int) -> list[float]:
    """Return the same share for each contact."""
    return [1.0 / count] * count


def shares_by_strength(strengths: Sequence[float]) -> list[float]:
    """Return shares in proportion to what the arms can carry, in any unit."""
    total = float(np.sum(strengths))
    return [strength / total for strength in strengths]


def shares_metric(contacts: Sequence[Contact], shares: Sequence[float], length: float) -> Array:
    """Return Q (d, d) for which contacts take shares of the load.

    Each contact's wrench is moved to the middle of all, and counts by the inverse of the share.
    Rigid contacts take exactly their shares of any wrench; others, which cannot make every wrench,
    are as near as they can be.

    Args:
        contacts: The contacts.
        shares: Positive, in sum 1.
        length: Length [m] at which a moment counts like a force.

    Raises:
        ArgumentError: If the shares are not that.
    """
    if (
        len(shares) != len(contacts)
        or abs(sum(shares) - 1.0) > 1e-9
        or not all(share > 0.0 for share in shares)
    ):
        raise ArgumentError(
            f"the load shares {[float(f'{share:.4g}') for share in shares]} of {len(contacts)} "
            "contacts, expected a positive one each, 1 in sum."
        )
    wrenches = at_middle(contacts)
    scale = np.array([1.0 / length] * 3 + [1.0] * 3)
    d = sum(wrench.shape[1] for wrench in wrenches)
    Q, start = np.zeros((d, d)), 0
    for wrench, share in zip(wrenches, shares, strict=True):
        at = slice(start, start + wrench.shape[1])
        scaled = scale[:, None] * wrench
        Q[at, at] = scaled.T @ scaled / share
        start = at.stop
    return Q


def torque_metric(J_S: Array, limits: ArrayLike) -> Array:
    """Return Q (d, d) for which drives are loaded alike: the squares of torques over limits.

    Args:
        J_S: S^T J (d, n) at the posture that the load is shared for.
        limits: Torque limits (n,).

    Raises:
        ArgumentError: If a limit is not positive, or an arm is at a singularity.
    """
    most = np.asarray(limits, dtype=float)
    if not np.all((most > 0.0) & (most < np.inf)):
        raise ArgumentError(f"torque limits {most.tolist()}, expected positive finite numbers.")
    scaled = J_S / most
    Q = scaled @ scaled.T
    sizes = np.linalg.eigvalsh(Q)
    if not sizes[0] > _RANK**2 * sizes[-1]:
        raise ArgumentError(
            "an arm is at a singularity and bears some contact forces without torque, expected a "
            "posture for which the load can be shared by torques."
        )
    return np.asarray(Q)


def right_inverse(W: Array, metric: Array, length: float) -> Array:
    """Return W^# (d, 6) with the least f^T Q f; for wrenches that W makes, if it makes not all.

    Args:
        W: W_S (6, d).
        metric: Q (d, d).
        length: Length [m] at which a moment of the object counts like a force.
    """
    lower = np.linalg.cholesky(metric)
    scale = np.array([1.0 / length] * 3 + [1.0] * 3)
    scaled = scale[:, None] * np.linalg.solve(lower, W.T).T  # W L^-T
    return np.asarray(np.linalg.solve(lower.T, np.linalg.pinv(scaled, rcond=_RANK)) * scale)


def at_middle(contacts: Sequence[Contact]) -> list[Array]:
    """Return S of each contact (6, d_i) as wrenches in the frame in the middle of all."""
    frame = middle_frame([contact.pose for contact in contacts])
    to_middle = np.linalg.inv(force_transform(frame))
    return [to_middle @ contact.on_object() for contact in contacts]
