# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The plant that our own dynamics moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.simulation.contact.report import ContactReport
from robot_dynamics.simulation.contact.steps import ContactSteps
from robot_dynamics.simulation.plant import Plant, Truth, checked_array
from robot_dynamics.simulation.rigid_motion import RigidMotion
from robot_dynamics.simulation.scene import Scene
from robot_dynamics.simulation.settings import PlantSettings

Array = NDArray[np.float64]


class SimulationError(RobotDynamicsError):
    """The simulation cannot go on; the message says when and why."""


class EnginePlant(Plant):
    """Arms, object and what they touch, moved by our own dynamics.

    What the scene contains decides how: where all grasps are rigid and there is nothing to touch,
    the closed-loop equations are integrated by one kernel call a step (`RigidMotion`); contacts
    that slip or open, surfaces and environment joints need time stepping with impulses
    (`ContactSteps`).

    Attributes:
        motion: What moves.

    Args:
        scene: Arms, object and what they touch, as they truly are.
        start: Positions (nq,) of the start, grasps closed.
        period: Control period [s].
        settings: Step, delay, friction, sensors.

    Raises:
        ArgumentError: If the settings do not fit the scene; see `RigidMotion`, `ContactSteps`.
    """

    def __init__(self, scene: Scene, start: Array, period: float, settings: PlantSettings) -> None:
        super().__init__(scene, start, period, settings)
        self.motion: RigidMotion | ContactSteps
        if scene.rigid:
            self.motion = RigidMotion(scene, self._start, period, settings)
        else:
            self.motion = ContactSteps(scene, self.drives, self._start, period, settings)
        self.reset()

    @property
    def substeps(self) -> int:
        """Integration steps in a control period."""
        return self.motion.substeps

    def linearize(self, torque: Array) -> tuple[Array, Array]:
        """Return A and B of a control period from the present state, see `RigidMotion.linearize`.

        Args:
            torque: Of the arm joints (na,), without delay.

        Raises:
            ArgumentError: If contacts may slip or open, or the torque has another shape.
            RobotDynamicsError: If constraints depend on one another.
        """
        if not isinstance(self.motion, RigidMotion):
            raise ArgumentError(
                "contacts that slip or open have impulses, and a step of theirs has no "
                "derivatives; expected a scenario of rigid grasps without surfaces."
            )
        torque = checked_array("torque", torque, self._torque.shape)
        A, B = self.motion.linearize(np.concatenate([torque, self._passive_torque]))
        return A, B[:, : len(torque)]

    def truth(self) -> Truth:
        """Return the present true state.

        `closure_position` and `closure_rotation` are those of what holds.
        """
        return self.motion.truth(self._torque)

    def passive_joints(self) -> tuple[Array, Array]:
        """Return true positions and velocities of the joints without drives, if there are any."""
        return self.motion.passive_joints()

    def contacts(self) -> tuple[ContactReport, ...]:
        """Return a report of each contact: arms, points, environment joints; none if all hold."""
        return () if isinstance(self.motion, RigidMotion) else self.motion.contacts()

    def _begin(self) -> None:
        self.motion.begin()

    def _run(self, torque: Array, wrenches: Mapping[str, Array] | None = None) -> None:
        try:
            self.motion.run(torque, self._joint_forces(wrenches) if wrenches else None)
        except (RobotDynamicsError, np.linalg.LinAlgError, ValueError) as error:
            raise self._lost() or SimulationError(
                "the simulated motion grew without bound before "
                f"{(self._tick + 1) * self.period:g} s ({str(error).rstrip('.')}); expected "
                "torques that keep it bounded, or a shorter step."
            ) from error
        if lost := self._lost():
            raise lost

    def _lost(self) -> SimulationError | None:
        """Return what there is to say if the gap of a contact is not a number any more."""
        if not (isinstance(self.motion, ContactSteps) and np.isfinite(self.motion.q).all()):
            return None
        for name, gap in self.motion.steps.lost():
            if np.isnan(gap):
                return SimulationError(
                    f"the gap of contact {name!r} is not a number before "
                    f"{(self._tick + 1) * self.period:g} s; expected a surface that is finite "
                    "wherever the object gets."
                )
        return None

    def _joint_forces(self, wrenches: Mapping[str, Array]) -> Array:
        """Return the joint forces (nv,) of external wrenches: the sum of J^T w."""
        robot, q = self.motion.robot, self.motion.q
        total = np.zeros(len(self.motion.qd))
        for name, wrench in wrenches.items():
            R = robot.pose(name, q)[:3, :3]
            own = np.concatenate([R.T @ wrench[:3], R.T @ wrench[3:]])  # in the link's axes
            total += robot.jacobian(name, q).T @ own
        return total

    def _engine_state(self) -> tuple[Mapping[str, Any], ...]:
        return self.motion.state()

    def _restore_engine(self, state: Sequence[Mapping[str, Any]]) -> None:
        self.motion.restore(state)

    def _state(self) -> tuple[Array, Array]:
        return self.motion.q, self.motion.qd

    def _sensed(self) -> tuple[Array, Array, Array]:
        return self.motion.sensed()
