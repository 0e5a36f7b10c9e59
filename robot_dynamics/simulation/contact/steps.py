# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Control periods of a scene whose contacts push only: they slip, open, drop and bounce."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.model import pose
from robot_dynamics.robot import Robot
from robot_dynamics.simulation.contact.environment_joints import require_independent
from robot_dynamics.simulation.contact.motion import DEEP, FASTEST, ContactForces, ContactMotion
from robot_dynamics.simulation.contact.observation import ContactObservation
from robot_dynamics.simulation.contact.report import ContactReport, EnergyBooks
from robot_dynamics.simulation.plant import Truth
from robot_dynamics.simulation.scene import Scene
from robot_dynamics.simulation.settings import PlantSettings
from robot_dynamics.simulation.step import Drives

Array = NDArray[np.float64]

_LONGEST_STEP_S = 0.00025  # where none is stated
_BRAKES = 1e20  # friction of braked joints over their velocity [N m s/rad]


class ContactSteps:
    """Arms, object, contacts that push only, and surfaces, in steps of a quarter millisecond.

    A grasp that slips, opens or drops the object is no error: the simulation goes on. What is
    measured at a wrist is the force of the last step, impacts as their mean over the control
    period.

    Attributes:
        steps: What advances step by step.

    Args:
        scene: Arms, object, contacts and surfaces as they truly are.
        drives: Friction of the joints.
        start: Positions (nq,) of the start, tools at their grasps.
        period: Control period [s].
        settings: Step (`step_s`); by default the longest part of the period up to a quarter of a
            millisecond.

    Raises:
        ArgumentError: If the control period is no whole number of steps, the object starts within
            something rigid, or hinges and lines repeat one another there.
    """

    def __init__(
        self, scene: Scene, drives: Drives, start: Array, period: float, settings: PlantSettings
    ) -> None:
        x, quaternion = np.split(np.asarray(start, dtype=float)[scene.system.object_q], [3])
        turned = Rotation.from_quat(quaternion).as_matrix()
        require_independent(scene.environment_joints, pose(x, turned))
        self.scene, self.drives, self._start, self._period = scene, drives, start, period
        self.substeps = _substeps(settings, period)
        self._h = period / self.substeps
        self.steps = ContactMotion(scene)
        self._robot = Robot(scene.model)
        self._observation = ContactObservation(self.steps.terms)
        model = scene.system.model
        at = [model.joint_index(name) for name in scene.system.passive_joint_names]
        self._passive_q = np.array([model.q_slices[i].start for i in at], dtype=np.intp)
        self._passive_v = np.array([model.v_slices[i].start for i in at], dtype=np.intp)

    @property
    def robot(self) -> Robot:
        """Arms and object without grasps, as they truly are: for energies and poses."""
        return self._robot

    @property
    def q(self) -> Array:
        """Positions (nq,)."""
        return self.steps.q

    @property
    def qd(self) -> Array:
        """Velocities (nv,)."""
        return self.steps.v

    def begin(self) -> None:
        """Return to the start, at rest."""
        self.steps.start(self._start)
        name, depth = self.steps.deepest()
        if depth > DEEP:
            raise ArgumentError(
                f"at the start the object is {1e3 * depth:.3g} mm deep in rigid {name!r}, "
                f"expected {1e3 * DEEP:g} mm at most: nothing would push it out."
            )
        self._forces = self._resting_forces()
        self._energy_at_start = self.energy()

    def run(self, torque: Array) -> None:
        """Advance by one control period under torques of the drives, passive joints' after them.

        Raises:
            RobotDynamicsError: If the motion grows without bound.
        """
        steps = self.steps
        force = np.zeros(len(steps.v))
        force[self.drives.v_index] = torque
        for _ in range(self.substeps):
            steps.advance(self._h, force, self._friction)
        fastest = np.abs(steps.v).max()
        if not fastest < FASTEST:
            raise RobotDynamicsError(f"a velocity of {fastest:.3g} m/s or rad/s")
        steps.correct()
        self._forces = steps.take_forces()

    def _friction(self, v: Array) -> Array:
        """Return the friction of joints over their velocities, at these (nv,)."""
        drives, drag = self.drives, np.zeros(len(v))
        rate = v[drives.v_index]
        smooth = np.sqrt(rate * rate + drives.friction_velocity**2)
        drag[drives.v_index] = drives.damping + drives.friction / smooth
        return drag

    def sensed(self) -> tuple[Array, Array, Array]:
        """Return positions and velocities of the arm joints, and grasp wrenches (k, 6)."""
        system, steps = self.scene.system, self.steps
        self._now = self._observation.at(steps.q, steps.v)
        self._wrenches = self._now.wrenches(self._measured())
        return steps.q[system.q_index], steps.v[system.v_index], self._wrenches

    def truth(self, torque: Array) -> Truth:
        """Return the true state, for the torque (na,) that was applied."""
        steps, system = self.steps, self.scene.system
        position, rotation = self._now.openings()
        return Truth(
            object_pose=steps.q[system.object_q].copy(),
            object_twist=self._now.object_twist,
            internal_force=self.scene.grasp_map.internal_force(self._wrenches.ravel()),
            closure_position=position,
            closure_rotation=rotation,
            correction=steps.correction,
            torque=torque.copy(),
        )

    def passive_joints(self) -> tuple[Array, Array]:
        """Return positions and velocities of the joints without drives."""
        return self.steps.q[self._passive_q], self.steps.v[self._passive_v]

    def contacts(self) -> tuple[ContactReport, ...]:
        """Return what there is to say of each contact: arms, points, hinges and lines."""
        return self._now.reports(self._measured(), self.steps)

    def books(self) -> EnergyBooks:
        """Return where energy went since the start."""
        return self.steps.books

    def energy(self) -> float:
        """Return kinetic and potential energy of arms and object [J]."""
        kinetic, potential = self._robot.energies(self.steps.q, self.steps.v)
        return float(kinetic + potential)

    def energy_error(self) -> float:
        """Return what the books do not explain of the energy's change since the start [J]."""
        return self.energy() - self._energy_at_start - self.books().total()

    def _measured(self) -> Array:
        """Return forces and moments along all rows, impacts as a mean over the period."""
        return self._forces.force + self._forces.impulse / self._period

    def _resting_forces(self) -> ContactForces:
        """Return the forces at rest, arms on their brakes: those nearest to the shared load.

        Statics leaves them open where contacts hold, and where fingers on brakes might squeeze.
        """
        motion = self.steps
        motion.forces = motion.forces._replace(force=self._shared_load())
        drag = np.zeros(len(motion.v))
        drag[self.scene.system.v_index] = _BRAKES
        motion.advance(self._h, np.zeros(len(motion.v)), lambda v: drag)
        forces = motion.take_forces()
        motion.start(self._start)
        return forces

    def _shared_load(self) -> Array:
        """Return forces along all rows with which the arms share the object's weight."""
        C = self._robot.bias_forces(self._start, np.zeros(self.scene.model.nv))
        wrenches = (self.scene.grasp_map.distribution @ C[self.scene.system.object_v]).reshape(
            -1, 6
        )
        seen = self._observation.at(self._start, self.steps.v)
        return seen.forces(wrenches)


def _substeps(settings: PlantSettings, period: float) -> int:
    """Return how many steps make a period."""
    if settings.step_s is not None:
        return settings.steps("step_s", period)
    if not period > 0.0:
        raise ArgumentError(f"a control period of {period:g} s, expected a positive one.")
    return max(1, int(np.ceil(period / _LONGEST_STEP_S * (1.0 - 1e-9))))
