# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""How contact forces share the object's wrench, and what is left inside the object (12).

F_hS = W^# F + A f_IS. Both maps are constant in the object's axes: they are chosen once, so that
internal forces keep their meaning and their integrals make sense.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.errors import ArgumentError
from robot_dynamics.manipulation.hybrid.contacts import moment_directions, wrench_map
from robot_dynamics.manipulation.hybrid.internal_coordinates import (
    internal_coordinates,
    null_basis,
)
from robot_dynamics.manipulation.hybrid.load_sharing import (
    equal_shares,
    right_inverse,
    shares_metric,
)

if TYPE_CHECKING:
    from robot_dynamics.manipulation.hybrid.system import HybridSystem

Array = NDArray[np.float64]

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
