# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Motion of Unseren's reduced-order model in discrete time (section 6.1 of the report).

The integrals of pseudovelocities do not tell where the joints are, so that joint positions are
integrated beside them: nu_dot from (40), and qd = Sigma nu (37).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.errors import UnknownNameError
from robot_dynamics.manipulation.jointed_object import (
    JointSpaceModel,
    PseudoVelocities,
    ReducedOrderTerms,
)

Array = NDArray[np.float64]

#: How a period is integrated; the report fixes none. "runge-kutta" takes the pair (q, nu) together
#: and is of fourth order. "split" holds nu_dot over the period and integrates (37) by itself: the
#: positions keep the chain closed, the motion is of first order. "euler" does both by one step.
SCHEMES = ("runge-kutta", "split", "euler")


@dataclass(frozen=True)
class ReducedState:
    """Joint positions (n,) and pseudovelocities (n - c,)."""

    q: Array
    nu: Array


class ReducedMotion:
    """The reduced model, period by period.

    Attributes:
        model: The joint-space model.
        choice: The pseudovelocities.
        scheme: One of `SCHEMES`.
    """

    def __init__(
        self, model: JointSpaceModel, choice: PseudoVelocities, scheme: str = SCHEMES[0]
    ) -> None:
        if scheme not in SCHEMES:
            raise UnknownNameError("scheme", scheme, SCHEMES)
        self.model, self.choice, self.scheme = model, choice, scheme

    def joint_velocity(self, q: Array, nu: Array) -> Array:
        """Return qd = Sigma(q) nu (n,) (37)."""
        terms = self.model.terms(q, np.zeros(len(q)))
        return self.choice.inverse(terms)[1] @ nu

    def terms(self, state: ReducedState) -> ReducedOrderTerms:
        """Return the reduced model at a state."""
        qd = self.joint_velocity(state.q, state.nu)
        return ReducedOrderTerms.of(self.model.terms(state.q, qd), self.choice)

    def step(self, state: ReducedState, torque: Array, period: float) -> ReducedState:
        """Return the state a period [s] later, under torques (n,) that are held over it."""
        if self.scheme == "runge-kutta":
            q, nu = _runge_kutta(
                lambda t, q, nu: self._rates(q, nu, torque), state.q, state.nu, period
            )
            return ReducedState(q, nu)
        qd, nu_dot = self._rates(state.q, state.nu, torque)
        nu = state.nu + period * nu_dot
        if self.scheme == "euler":
            return ReducedState(state.q + period * qd, nu)

        def along(t: float, q: Array, _: Array) -> tuple[Array, Array]:
            return self.joint_velocity(q, state.nu + t * nu_dot), nu_dot

        q, _ = _runge_kutta(along, state.q, state.nu, period)
        return ReducedState(q, nu)

    def _rates(self, q: Array, nu: Array, torque: Array) -> tuple[Array, Array]:
        reduced = self.terms(ReducedState(q, nu))
        return reduced.Sigma @ nu, reduced.forward(torque)[0]


def _runge_kutta(
    rates: Callable[[float, Array, Array], tuple[Array, Array]], q: Array, nu: Array, h: float
) -> tuple[Array, Array]:
    """Return one step of the classical fourth-order scheme on the pair (q, nu)."""
    k1 = rates(0.0, q, nu)
    k2 = rates(h / 2, q + h / 2 * k1[0], nu + h / 2 * k1[1])
    k3 = rates(h / 2, q + h / 2 * k2[0], nu + h / 2 * k2[1])
    k4 = rates(h, q + h * k3[0], nu + h * k3[1])
    return (
        q + h / 6 * (k1[0] + 2 * k2[0] + 2 * k3[0] + k4[0]),
        nu + h / 6 * (k1[1] + 2 * k2[1] + 2 * k3[1] + k4[1]),
    )
