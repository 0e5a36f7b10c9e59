# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""How contact forces share the object's wrench, and what is left inside the object (12).

F_hS = W^# F + A f_IS. Both maps are constant in the object's axes: they are chosen once, so that
internal forces keep their meaning and their integrals make sense.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.errors import ArgumentError
from robot_dynamics.manipulation.grasp_map import (
    TRANSMITTED,
    force_transform,
    is_moment,
    middle_frame,
)
from robot_dynamics.manipulation.hybrid.contacts import (
    Contact,
    moment_directions,
    wrench_map,
)

if TYPE_CHECKING:
    from robot_dynamics.manipulation.hybrid.system import HybridSystem

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


_ORDER = (3, 4, 5, 0, 1, 2)
# Coordinates that are nearly those before them are taken only if nothing else is left.
_DISTINCT, _INDEPENDENT = 0.1, 1e-9


def internal_coordinates(
    contacts: Sequence[Contact],
    shares: Sequence[float],
    length: float,
    names: Sequence[str] = (),
) -> tuple[tuple[str, ...], Array, Array]:
    """Return names (m,) of internal forces, A (d, m), and what measures them, A^L (m, d).

    Args:
        contacts: The contacts.
        shares: Of the load (k,), for two contacts.
        length: Length [m] at which a moment counts like a force.
        names: Of the contacts; numbers by default.
    """
    called = tuple(names) or tuple(str(i + 1) for i in range(len(contacts)))
    if len(contacts) == 2:
        labels, rows = _transmitted(contacts, shares)
    else:
        labels, rows = _linkage(contacts, called)
    moments = moment_directions(contacts)
    middle = np.mean([contact.pose[:3, 3] for contact in contacts], axis=0)
    basis = null_basis(wrench_map(contacts, middle), moments, length)
    units = np.where([is_moment(label) for label in labels], 1.0 / length, 1.0)
    chosen = _independent((units[:, None] * rows) @ basis, basis.shape[1])
    left = rows[chosen]
    # The dual basis: each column has one of its own coordinate and none of the others.
    return tuple(labels[i] for i in chosen), basis @ np.linalg.inv(left @ basis), left


def null_basis(W: Array, moments: NDArray[np.bool_], length: float) -> Array:
    """Return A (d, m), orthonormal if moments count at a length: contact forces with W_S A = 0.

    Args:
        W: W_S (6, d).
        moments: Which contact forces are moments (d,).
        length: Length [m].
    """
    scale = np.where(moments, 1.0 / length, 1.0)
    rows = np.array([1.0 / length] * 3 + [1.0] * 3)
    _, s, Vt = np.linalg.svd(rows[:, None] * W / scale)
    rank = int(np.sum(s > _INDEPENDENT * s[0]))
    return np.asarray(Vt[rank:].T / scale[:, None])


def _transmitted(contacts: Sequence[Contact], shares: Sequence[float]) -> tuple[list[str], Array]:
    """Return the components of a_2 F_1 - a_1 F_2 in the middle frame, the squeeze first."""
    first, second = at_middle(contacts)
    rows = np.hstack([shares[1] * first, -shares[0] * second])
    return [TRANSMITTED[i] for i in _ORDER], rows[list(_ORDER)]


def _linkage(contacts: Sequence[Contact], names: Sequence[str]) -> tuple[list[str], Array]:
    """Return squeezes along lines, moments at contacts, and forces across them."""
    points = np.array([contact.pose[:3, 3] for contact in contacts])
    k = len(contacts)
    lines, labels = [], []
    for i, j in combinations(range(k), 2):
        distance = float(np.linalg.norm(points[j] - points[i]))
        if distance == 0.0:
            continue
        line = np.zeros((k, 3))
        line[i] = (points[j] - points[i]) / distance
        line[j] = -line[i]
        lines.append(line.ravel())
        labels.append(f"squeeze {names[i]}-{names[j]}")
    E = np.array(lines).reshape(len(lines), 3 * k)
    kept = _independent(E, len(E))
    labels = [labels[i] for i in kept]
    # From contact forces to forces at the contacts in the object's axes (3k, d).
    forces = np.zeros((3 * k, sum(contact.directions.shape[1] for contact in contacts)))
    moments, start = np.zeros_like(forces), 0
    for i, contact in enumerate(contacts):
        at = slice(start, start + contact.directions.shape[1])
        forces[3 * i : 3 * i + 3, at] = contact.pose[:3, :3] @ contact.directions[3:]
        moments[3 * i : 3 * i + 3, at] = contact.directions[:3]
        start = at.stop
    squeezes = np.linalg.pinv(E[kept].T) @ forces
    labels += [f"moment {axis} of {name}" for name in names for axis in "xyz"]
    # Forces less their mean, in the axes of the middle frame.
    rest = forces.reshape(k, 3, -1) - forces.reshape(k, 3, -1).mean(axis=0)
    R = middle_frame([contact.pose for contact in contacts])[:3, :3]
    across = np.einsum("ji,kjd->kid", R, rest).reshape(3 * k, -1)
    labels += [f"force {axis} of {name}" for name in names for axis in "xyz"]
    return labels, np.vstack([squeezes, moments, across])


def _independent(rows: Array, count: int) -> list[int]:
    """Return the first rows, about one in size, that are distinct from those before."""
    chosen: list[int] = []
    for least in (_DISTINCT, _INDEPENDENT):
        for i, row in enumerate(rows):
            if len(chosen) == count:
                break
            if i in chosen:
                continue
            rest = row
            if chosen:
                others = rows[chosen].T
                rest = row - others @ np.linalg.lstsq(others, row, rcond=None)[0]
            if np.linalg.norm(rest) > least:
                chosen.append(i)
    return chosen


# Of entries that are about one: far above rounding.
_ZERO = 1e-9


@dataclass(frozen=True)
class ForceDistribution:
    """The maps between contact forces, the wrench that they make, and the internal force.

    Attributes:
        share: W^# (d, 6): contact forces of a wrench in the object's axes, W_S W^# W_S = W_S.
        internal: A (d, m): contact forces of an internal force, W_S A = 0.
        recovery: A^L (1 - W^# W_S) (m, d): the internal force of contact forces, whatever wrench
            they make besides; recovery A = 1 and recovery W^# = 0.
        names: What each internal force is.
    """

    share: Array
    internal: Array
    recovery: Array
    names: tuple[str, ...]

    @classmethod
    def of(
        cls,
        W: Array,
        share: Array,
        internal: Array,
        left: Array | None = None,
        names: Sequence[str] = (),
    ) -> ForceDistribution:
        """Return a user's own maps, which are checked.

        Args:
            W: W_S (6, d) in the object's axes.
            share: W^# (d, 6).
            internal: A (d, m).
            left: A^L (m, d), any left inverse of A; the least by default. What it does outside
                the internal forces is of no effect.
            names: Of the internal forces; numbers by default.

        Raises:
            ArgumentError: If internal forces make a wrench or depend on one another, forces do not
                share wrenches, or A^L A is not one.
        """
        m = internal.shape[1]
        if internal.shape[0] != W.shape[1] or share.shape != W.T.shape:
            raise ArgumentError(
                f"W^# and A have shapes {share.shape} and {internal.shape}, expected "
                f"{W.T.shape} and ({W.shape[1]}, m)."
            )
        # Units are mixed in them, columns are not: each is compared with itself.
        sizes = np.linalg.norm(internal, axis=0)
        for column in np.flatnonzero(
            np.linalg.norm(W @ internal, axis=0) > _ZERO * np.linalg.norm(W) * sizes
        ):
            made = np.round(W @ internal[:, column], 6) + 0.0
            raise ArgumentError(
                f"internal force {column + 1} makes the wrench {made.tolist()} on the object "
                "[moment; force], expected none: W_S A = 0."
            )
        if m and np.linalg.matrix_rank(internal / np.where(sizes > 0.0, sizes, 1.0)) < m:
            raise ArgumentError(
                f"{m} internal forces depend on one another, expected independent columns of A."
            )
        if not np.allclose(W @ share @ W, W, atol=_ZERO * max(1.0, float(np.abs(W).max()))):
            raise ArgumentError(
                "the sharing of forces does not make the wrench, expected W W^# W = W."
            )
        A_left = np.linalg.pinv(internal) if left is None else np.asarray(left, dtype=float)
        if A_left.shape != (m, len(internal)) or not np.allclose(
            A_left @ internal, np.eye(m), atol=_ZERO
        ):
            raise ArgumentError("A^L is no left inverse of A, expected A^L A = 1.")
        recovery = A_left @ (np.eye(len(internal)) - share @ W)
        called = tuple(names) or tuple(f"internal force {i + 1}" for i in range(m))
        if len(called) != m:
            raise ArgumentError(f"{len(called)} names for {m} internal forces, expected one each.")
        return cls(share, internal, recovery, called)

    @classmethod
    def of_contacts(
        cls,
        system: HybridSystem,
        shares: Sequence[float] | None = None,
        metric: Array | None = None,
    ) -> ForceDistribution:
        """Return internal forces with a physical meaning, and a chosen sharing of the load.

        Args:
            system: Object and contacts. Internal forces are those of `internal_coordinates`.
            shares: Which part of the load each contact takes, in sum 1; equal by default. Rigid
                contacts take exactly that, others as nearly as they can.
            metric: Q (d, d) instead of shares: forces with the least f^T Q f for the load;
                `torque_metric` spares the drives.

        Raises:
            RobotDynamicsError: If the contacts cannot make every wrench.
        """
        system.require_force_closure()
        contacts, length = system.contacts, system.length
        parts = equal_shares(len(contacts)) if shares is None else shares
        if metric is None:
            metric = shares_metric(contacts, parts, length)
        W = system.constant_wrench_map
        share = right_inverse(W, metric, length)
        names, internal, left = internal_coordinates(contacts, parts, length, system.tools)
        return cls.of(W, share, internal, left, names)

    @classmethod
    def least(cls, system: HybridSystem, length: float | None = None) -> ForceDistribution:
        """Return the least forces for a wrench, and an orthonormal basis of internal ones.

        Args:
            system: Object and contacts.
            length: Length [m] at which a moment counts like a force; the mean distance of the
                contacts by default. One metre is the paper's, which mixes units as they are.

        Raises:
            RobotDynamicsError: If the contacts cannot make every wrench.
        """
        system.require_force_closure()
        length = system.length if length is None else length
        moments = moment_directions(system.contacts)
        W = wrench_map(system.contacts, np.asarray(system.held.center, dtype=float))
        metric = np.diag(np.where(moments, 1.0 / length**2, 1.0))
        return cls.of(W, right_inverse(W, metric, length), null_basis(W, moments, length))

    def internal_force(self, contact_forces: Array) -> Array:
        """Return f_IS (..., m) of contact forces (..., d), whatever wrench they make besides."""
        return np.asarray(contact_forces @ self.recovery.T)

    def contact_forces(self, wrench: Array, internal_force: Array) -> Array:
        """Return contact forces (..., d) of a wrench in the object's axes (..., 6) and f_IS."""
        return np.asarray(wrench @ self.share.T + internal_force @ self.internal.T)
