# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The motion of the arms along a reference, as the control law will make it, before it is made.

The arms' self-motion follows from the law's own torques and the engine's accelerations; what
rounding and the step would add up to is taken out by closing the grasps on the reference, in the
metric of the arms' inertia, in positions and velocities.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.control.closed_path import ClosedPath
from robot_dynamics.control.control_step import ControlStep
from robot_dynamics.control.law import law_parameters
from robot_dynamics.manipulation.system import GraspSystem

if TYPE_CHECKING:  # it calls this check itself
    from robot_dynamics.control.coordinated import CoordinatedController

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Rollout:
    """The arms along a reference; N times, na arm joints.

    Attributes:
        times: When (N,) [s].
        q: Positions (N, na).
        qd: Velocities (N, na).
        torque: What the law commands without any limit (N, na).
        support: The part of it that holds everything up (N, na).
        pivot: Smallest relative pivot of an arm's J H^-1 J^T (N,); 0 at a singularity.
        failed_at: The time at which the grasps could not be closed any more, or None [s].
        gaps: What remained open then: distance [m] and angle [rad] for each arm (k, 2).
    """

    times: Array
    q: Array
    qd: Array
    torque: Array
    support: Array
    pivot: Array
    failed_at: float | None
    gaps: Array


def rollout(controller: CoordinatedController, terms: Any, q: Array, times: Array) -> Rollout:
    """Return the motion along the controller's reference at evenly spaced times.

    Args:
        controller: The controller; it is not changed.
        terms: `Robot.constraint_terms` of its system.
        q: Positions of the arm joints at the start (na,).
        times: Times of the reference (N,) [s], 10 to 20 ms apart.
    """
    system = controller.system
    rows = controller.reference.rows(times)
    gains = replace(controller.gains, posture=np.array(q, dtype=float))
    law = _unlimited_law(controller, gains)
    path = _Path(system, terms, law, controller.gains.friction_velocity)
    path.at[system.q_index] = q
    step = float(times[1] - times[0]) if len(times) > 1 else 0.0
    positions, rates = [], []
    failed_at, gaps = None, np.zeros((len(system.arms), 2))
    for time, row in zip(times, rows, strict=True):
        if not path.close(row):
            failed_at, gaps = float(time), path.gaps()
            break
        positions.append(path.at[system.q_index])
        rates.append(path.rate[system.v_index])
        path.advance(row, step)
    count = len(positions)
    q_path = np.reshape(positions, (count, len(system.joint_names)))
    qd_path = np.reshape(rates, (count, len(system.joint_names)))
    torque, support, pivot = _evaluate(law, system, q_path, qd_path, rows[:count])
    return Rollout(times[:count], q_path, qd_path, torque, support, pivot, failed_at, gaps)


class _Path(ClosedPath):
    """The state of arms and object on the way along a reference, as the law moves them."""

    def __init__(
        self, system: GraspSystem, terms: Any, law: Any, friction_velocity: float
    ) -> None:
        super().__init__(system, terms)
        self._law = law
        joints = [
            system.model.bodies[system.model.joint_index(n)].joint for n in system.joint_names
        ]
        self._damping = np.array([joint.damping for joint in joints])
        self._friction = np.array([joint.friction for joint in joints])
        self._friction_velocity = friction_velocity

    def advance(self, row: Array, step: float) -> None:
        """Predict the arms one time step on, from the accelerations of the law's torque."""
        system = self._system
        H, C, K, k, _, _ = self._terms(self.at, self.rate)
        v = system.v_index
        torque, _, _ = _evaluate(self._law, system, self.at[system.q_index], self.rate[v], row)
        # Friction acts on the velocity at the end of the step: it is stiff where Coulomb friction
        # changes its sign.
        rate = self.rate[v]
        slope = self._damping + self._friction / np.hypot(rate, self._friction_velocity)
        force = -C
        force[v] += torque - slope * rate
        n, m = len(force), len(k)
        matrix = np.zeros((n + m, n + m))
        matrix[:n, :n], matrix[:n, n:], matrix[n:, :n] = H, -K.T, K
        matrix[v, v] += step * slope
        try:
            acceleration = np.linalg.solve(matrix, np.concatenate([force, k]))[v]
        except np.linalg.LinAlgError:
            acceleration = np.zeros(len(v))
        self.at[system.q_index] += step * (rate + 0.5 * step * acceleration)
        self.rate[v] = rate + step * acceleration


def _unlimited_law(controller: CoordinatedController, gains: Any) -> Any:
    """Return the control law's kernel without limits of torque and of its rate."""
    free = replace(gains, effort=np.full(len(gains.effort), np.inf), torque_rate=np.inf)
    block = law_parameters(controller.system, free, controller.grasp_map)
    return controller.kernel.bind(block)


def _evaluate(
    law: Any, system: GraspSystem, q: Array, qd: Array, rows: Array
) -> tuple[Array, Array, Array]:
    """Return torque, support and smallest pivot of the law on the reference."""
    k = len(system.arms)
    memory = np.zeros(6 + 6 * (k - 1) + len(system.v_index))
    step = ControlStep._make((*law(q, qd, np.zeros((k, 6)), rows, memory, 1.0), rows))
    return step.torque, step.support, step.scales[..., 4]
