# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Force distribution (12): sharing of the object's wrench among contacts, and internal forces.

F_hS = W^# F + A f_IS. Both maps are constant in the object's axes, so that internal forces keep
their meaning and can be integrated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.arrays import Array
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


_RANK = 1e-9
_LEAST_SHARE = 1e-8  # of the load


def equal_shares(count: int) -> list[float]:
    """Return equal shares for all contacts."""
    return [1.0 / count] * count


def shares_by_strength(strengths: Sequence[float]) -> list[float]:
    """Return shares in proportion to the strengths of the arms, in any unit."""
    total = float(np.sum(strengths))
    return [strength / total for strength in strengths]


def shares_metric(contacts: Sequence[Contact], shares: Sequence[float], length: float) -> Array:
    """Return the metric Q (d, d) for which contacts take their shares of the load.

    Each contact's wrench is moved to the middle of all contacts and weighted by the inverse of its
    share. Rigid contacts take exactly their shares of any wrench. Other contacts, which cannot
    exert every wrench, take them as nearly as they can. A share of 0 counts as 1e-8, so that its
    contact takes the wrenches that the others cannot exert.

    Args:
        contacts: The contacts.
        shares: Load shares with sum 1, none of them negative.
        length: Length [m] at which a moment counts like a force.

    Raises:
        ArgumentError: If a share is negative, or the sum or the number of shares is wrong.
    """
    if (
        len(shares) != len(contacts)
        or abs(sum(shares) - 1.0) > 1e-9
        or not all(share >= 0.0 for share in shares)
    ):
        raise ArgumentError(
            f"the load shares are {[float(f'{share:.4g}') for share in shares]} with sum "
            f"{sum(shares):.10g}; expected {len(contacts)}, one for each contact (`load_share` of "
            "its arm), none negative, with sum 1."
        )
    wrenches = at_middle(contacts)
    scale = np.array([1.0 / length] * 3 + [1.0] * 3)
    d = sum(wrench.shape[1] for wrench in wrenches)
    Q, start = np.zeros((d, d)), 0
    for wrench, share in zip(wrenches, shares, strict=True):
        at = slice(start, start + wrench.shape[1])
        scaled = scale[:, None] * wrench
        Q[at, at] = scaled.T @ scaled / max(share, _LEAST_SHARE)
        start = at.stop
    return Q


def torque_metric(J_S: Array, limits: ArrayLike) -> Array:
    """Return the metric Q (d, d) that loads drives alike: squares of torques over limits.

    Args:
        J_S: S^T J (d, n) at the posture for which the load is shared.
        limits: Torque limits (n,).

    Raises:
        ArgumentError: If a limit is not positive, or an arm is at a singularity.
    """
    most = np.asarray(limits, dtype=float)
    if not np.all((most > 0.0) & (most < np.inf)):
        raise ArgumentError(
            f"the torque limits are {most.tolist()}; expected positive finite numbers."
        )
    scaled = J_S / most
    Q = scaled @ scaled.T
    sizes = np.linalg.eigvalsh(Q)
    if not sizes[0] > _RANK**2 * sizes[-1]:
        raise ArgumentError(
            "an arm is at a singularity and bears some contact forces without torque: the metric "
            f"has eigenvalues from {sizes[0]:.3g} to {sizes[-1]:.3g}; expected a ratio above "
            f"{_RANK**2:g}: choose another posture, or load shares."
        )
    return np.asarray(Q)


def right_inverse(W: Array, metric: Array, length: float) -> Array:
    """Return W^# (d, 6) with the least f^T Q f, for wrenches in the range of W.

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
    """Return S of each contact (6, d_i) as wrenches in the middle frame of all contacts."""
    frame = middle_frame([contact.pose for contact in contacts])
    to_middle = np.linalg.inv(force_transform(frame))
    return [to_middle @ contact.on_object() for contact in contacts]


_ORDER = (3, 4, 5, 0, 1, 2)
# Coordinates that nearly depend on earlier ones are chosen only if no others are left.
_DISTINCT, _INDEPENDENT = 0.1, 1e-9


def internal_coordinates(
    contacts: Sequence[Contact],
    shares: Sequence[float],
    length: float,
    names: Sequence[str] = (),
) -> tuple[tuple[str, ...], Array, Array]:
    """Return internal forces: names (m,), basis A (d, m), and its left inverse A^L (m, d).

    Args:
        contacts: The contacts.
        shares: Load shares (k,), used for two contacts.
        length: Length [m] at which a moment counts like a force.
        names: Names of the contacts; numbers by default.
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
    # The dual basis: each column has coordinate 1 of its own and 0 of the others.
    return tuple(labels[i] for i in chosen), basis @ np.linalg.inv(left @ basis), left


def null_basis(W: Array, moments: NDArray[np.bool_], length: float) -> Array:
    """Return A (d, m), a basis of the contact forces with W_S A = 0.

    It is orthonormal when moments are divided by the length.

    Args:
        W: W_S (6, d).
        moments: Mask of contact forces that are moments (d,).
        length: Length [m] at which a moment counts like a force.
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
    """Return names and rows of squeezes along lines, moments at contacts, and other forces."""
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
    """Return indices of the first independent rows, of size about one."""
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


_ZERO = 1e-9  # tolerance relative to entries of size one, far above rounding


@dataclass(frozen=True)
class ForceDistribution:
    """Maps between contact forces, their wrench on the object, and the internal force.

    Attributes:
        share: W^# (d, 6): contact forces for a wrench in the object's axes, W_S W^# W_S = W_S.
        internal: A (d, m): contact forces of an internal force, W_S A = 0.
        recovery: A^L (1 - W^# W_S) (m, d): the internal force of contact forces, independent of
            their wrench; recovery A = 1 and recovery W^# = 0.
        names: Names of the internal forces.
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
        """Return a distribution with the user's maps, which are checked.

        Args:
            W: W_S (6, d) in the object's axes.
            share: W^# (d, 6).
            internal: A (d, m).
            left: A^L (m, d), any left inverse of A; the pseudoinverse by default. Only its effect
                on internal forces matters.
            names: Names of the internal forces; numbers by default.

        Raises:
            ArgumentError: If shapes differ, W_S A is not 0, columns of A are dependent,
                W_S W^# W_S is not W_S, or A^L A is not 1.
        """
        m = internal.shape[1]
        if internal.shape[0] != W.shape[1] or share.shape != W.T.shape:
            raise ArgumentError(
                f"W^# and A have shapes {share.shape} and {internal.shape}; expected {W.T.shape} "
                f"and ({W.shape[1]}, m)."
            )
        # A mixes units between columns, not within a column: each is compared with its own size.
        sizes = np.linalg.norm(internal, axis=0)
        for column in np.flatnonzero(
            np.linalg.norm(W @ internal, axis=0) > _ZERO * np.linalg.norm(W) * sizes
        ):
            made = np.round(W @ internal[:, column], 6) + 0.0
            raise ArgumentError(
                f"column {column + 1} of A exerts the wrench {made.tolist()} [moment; force] on "
                "the object; expected zero: W_S A = 0."
            )
        if m and np.linalg.matrix_rank(internal / np.where(sizes > 0.0, sizes, 1.0)) < m:
            raise ArgumentError(
                f"the {m} columns of A are linearly dependent; expected independent internal "
                "forces: remove one."
            )
        if not np.allclose(W @ share @ W, W, atol=_ZERO * max(1.0, float(np.abs(W).max()))):
            raise ArgumentError(
                f"W W^# W differs from W by {np.abs(W @ share @ W - W).max():.3g}; expected "
                "W W^# W = W, so that contact forces W^# F exert F."
            )
        A_left = np.linalg.pinv(internal) if left is None else np.asarray(left, dtype=float)
        if A_left.shape != (m, len(internal)) or not np.allclose(
            A_left @ internal, np.eye(m), atol=_ZERO
        ):
            raise ArgumentError(
                f"A^L of shape {A_left.shape} is no left inverse of A; expected shape "
                f"{(m, len(internal))} and A^L A = 1."
            )
        recovery = A_left @ (np.eye(len(internal)) - share @ W)
        called = tuple(names) or tuple(f"internal force {i + 1}" for i in range(m))
        if len(called) != m:
            raise ArgumentError(
                f"{len(called)} names for {m} internal forces; expected {m}, one for each."
            )
        return cls(share, internal, recovery, called)

    @classmethod
    def of_contacts(
        cls,
        system: HybridSystem,
        shares: Sequence[float] | None = None,
        metric: Array | None = None,
    ) -> ForceDistribution:
        """Return internal forces with a physical meaning, and sharing by shares or by a metric.

        Args:
            system: Object and contacts. `internal_coordinates` defines the internal forces.
            shares: Load shares of the contacts, with sum 1; equal by default. Rigid contacts take
                them exactly, others as nearly as they can.
            metric: Q (d, d) instead of shares: forces with the least f^T Q f for the load, for
                instance `torque_metric`.

        Raises:
            RobotDynamicsError: If the contacts cannot exert every wrench.
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
        """Return sharing by the least contact forces, and an orthonormal basis of internal forces.

        Args:
            system: Object and contacts.
            length: Length [m] at which a moment counts like a force; the mean distance of the
                contacts by default. The paper, which adds squares of N and N m, has 1 m.

        Raises:
            RobotDynamicsError: If the contacts cannot exert every wrench.
        """
        system.require_force_closure()
        length = system.length if length is None else length
        moments = moment_directions(system.contacts)
        W = wrench_map(system.contacts, np.asarray(system.held.center, dtype=float))
        metric = np.diag(np.where(moments, 1.0 / length**2, 1.0))
        return cls.of(W, right_inverse(W, metric, length), null_basis(W, moments, length))

    def internal_force(self, contact_forces: Array) -> Array:
        """Return f_IS (..., m) of contact forces (..., d), independent of their wrench."""
        return np.asarray(contact_forces @ self.recovery.T)

    def contact_forces(self, wrench: Array, internal_force: Array) -> Array:
        """Return contact forces (..., d) for a wrench (..., 6) in the object's axes and f_IS."""
        return np.asarray(wrench @ self.share.T + internal_force @ self.internal.T)
