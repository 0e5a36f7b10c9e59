# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The decoupled control architecture, (42) to (48) of the report."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.manipulation.jointed_object.reduced_order import ReducedOrderTerms

Array = NDArray[np.float64]


@dataclass(frozen=True)
class DecoupledLaw:
    """The torques of the law, in its two parts.

    Attributes:
        primary: tau^p (n,): what makes the model linear (42).
        secondary: tau^s (n,): what the servos ask for (46).
    """

    primary: Array
    secondary: Array

    @property
    def torque(self) -> Array:
        """tau = tau^p + tau^s (n,)."""
        return self.primary + self.secondary


def decoupled_law(estimate: ReducedOrderTerms, motion: Array, force: Array) -> DecoupledLaw:
    """Return the torques for which nu_dot = motion (47) and f = force (48), model permitting.

    Args:
        estimate: The controller's model at the measured, or the desired, state: feedback or
            feed-forward estimates.
        motion: Output of the motion servo, tau_2 (n - c,).
        force: Output of the force servo, tau_1 (c,).
    """
    terms = estimate.joint_space
    primary = terms.C + terms.H_A + terms.H_B_qd - terms.D @ estimate.drift  # (42)
    secondary = terms.A.T @ force + terms.D @ (estimate.Sigma @ motion)  # (46)
    return DecoupledLaw(primary, secondary)
