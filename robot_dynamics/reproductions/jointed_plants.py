# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Two arms with a jointed object as plants: the engine, and the reduced-order model.

The integrals of pseudovelocities do not determine joint positions, which are therefore integrated
as well: nu_dot from (40), and qd = Sigma nu (37).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.compile import load_kernel
from robot_dynamics.dynamics.full_rank import SMALLEST_PIVOT
from robot_dynamics.errors import RobotDynamicsError, UnknownNameError
from robot_dynamics.manipulation.jointed_object import JointedObjectSystem
from robot_dynamics.reproductions.joint_space import JointSpaceModel
from robot_dynamics.reproductions.pseudovelocities import PseudoVelocities
from robot_dynamics.reproductions.reduced_order import ReducedOrderTerms
from robot_dynamics.reproductions.study import largest
from robot_dynamics.robot import Robot
from robot_dynamics.simulation.closed_loop_step import step_parameters, step_program
from robot_dynamics.simulation.drives import DriveParameters

#: Integration of a period, which the report does not specify. "runge-kutta" integrates the pair
#: (q, nu) together, with fourth order. "split" holds nu_dot over the period and integrates (37)
#: separately: the positions keep the chain closed, and the motion is of first order. "euler" does
#: both by one step.
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


class JointedPlant(Protocol):
    """Arms and object under torques that are held over control periods.

    Attributes:
        q: Joint positions (n,).
        qd: Joint velocities (n,).
        force: Measured force in the object's joint at the end of the last period (c,); None before
            the first.
        gap: Largest closure error of that joint at ends of periods [rad, m].
    """

    q: Array
    qd: Array
    force: Array | None
    gap: float

    def step(self, torque: Array, wrench: Array | None = None) -> None:
        """Advance by one control period.

        Args:
            torque: Torques of the joints (n,).
            wrench: Wrenches on the parts at their centres of mass (2, 6), world axes; zero by
                default.
        """


class EngineJointedPlant:
    """The closed-loop engine: a Runge-Kutta step of fourth order, loops closed by projection.

    Wrenches on the parts act by their equivalent torques at the start of the period.

    Args:
        system: Arms and object as they truly are.
        start: Joint positions (n,), the object's joint closed; the start is at rest.
        period: Control period [s].
    """

    def __init__(self, system: JointedObjectSystem, start: Array, period: float) -> None:
        self.model = JointSpaceModel(system)
        self._robot = Robot(system.model)
        n = system.model.nv
        drives = DriveParameters(np.arange(n), np.full(n, np.inf), np.zeros(n), np.zeros(n), 1.0)
        kernel = load_kernel(
            b"step\0" + repr(list(range(n))).encode() + system.model.structure_key,
            lambda: step_program(system.model, range(n)),
            lanes=1,
        )
        self._step = kernel.bind(step_parameters(system.model, drives, period))
        self.q, self.qd = np.array(start, dtype=float), np.zeros(n)
        self.force: Array | None = None
        self.gap = 0.0

    def step(self, torque: Array, wrench: Array | None = None) -> None:
        """Go on by one control period; see `JointedPlant`.

        Raises:
            RobotDynamicsError: If the motion grows without bound, or the joint's force is not
                determined.
        """
        if wrench is not None:
            G = self.model.terms(self.q, self.qd).G
            torque = torque + np.einsum("hij,hi->j", G, wrench)
        q, qd, multipliers, closure, _, pivot = self._step(self.q, self.qd, torque)
        if not (pivot >= SMALLEST_PIVOT and np.isfinite(q).all()):
            raise RobotDynamicsError(
                "the simulated motion is not finite, because it diverged or met a singularity "
                "of both arms; expected a stable law and a path away from singularities."
            )
        self.q, self.qd = q, qd
        self.gap = largest(self.gap, float(np.abs(closure).max(initial=0.0)))
        # The engine's multipliers are along other axes: A^T f = -K^T lambda.
        A = self.model.terms(self.q, self.qd).A
        push = -self._robot.constraint_terms(self.q, self.qd)[2].T @ multipliers
        self.force = np.asarray(np.linalg.solve(A @ A.T, A @ push))


class ReducedJointedPlant:
    """The report's discrete-time model, (40) and (37), without projection of the joint.

    Args:
        model: True arms and object.
        choice: The pseudovelocities, for the whole run.
        start: Joint positions (n,), with the object's joint closed; the start is at rest.
        period: Control period [s].
    """

    def __init__(
        self, model: JointSpaceModel, choice: PseudoVelocities, start: Array, period: float
    ) -> None:
        self.model, self._period = model, period
        self._motion = ReducedMotion(model, choice)
        self.q, self.qd = np.array(start, dtype=float), np.zeros(len(start))
        self._nu = np.zeros(model.system.freedoms)
        self.force: Array | None = None
        self.gap = 0.0

    def step(self, torque: Array, wrench: Array | None = None) -> None:
        """Go on by one control period; see `JointedPlant`."""
        if wrench is not None:
            G = self.model.terms(self.q, self.qd).G
            torque = torque + np.einsum("hij,hi->j", G, wrench)
        state = self._motion.step(ReducedState(self.q, self._nu), torque, self._period)
        reduced = self._motion.terms(state)
        self.q, self._nu = state.q, state.nu
        self.qd = reduced.Sigma @ state.nu
        self.force = reduced.forward(torque)[1]
        self.gap = largest(self.gap, float(np.abs(reduced.joint_space.gap).max(initial=0.0)))
