# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The engine of scenes with contacts that slip, open and bounce."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from robot_dynamics.arrays import Array, Mask
from robot_dynamics.description.orientations import matrix_of_pose, rotation_of_quaternion
from robot_dynamics.dynamics.arguments import finite_vector
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.robot import Robot
from robot_dynamics.simulation.contact.environment_joints import require_independent
from robot_dynamics.simulation.contact.observed_contacts import ObservedContacts
from robot_dynamics.simulation.contact.report import ContactReport, EnergyBooks
from robot_dynamics.simulation.contact.rigid_steps import BRAKES, brake, set_friction
from robot_dynamics.simulation.contact.stopped_steps import StoppedSteps
from robot_dynamics.simulation.contact.time_stepping import TimeStepping
from robot_dynamics.simulation.drives import drives_of
from robot_dynamics.simulation.engine import (
    SceneEngine,
    SimulationError,
    Truth,
    grew_without_bound,
    joint_forces_of,
)
from robot_dynamics.simulation.rigid_engine import joint_places
from robot_dynamics.simulation.scene import APART, Scene
from robot_dynamics.simulation.settings import PlantSettings
from robot_dynamics.simulation.stops import Stops


class _SharedSteps:
    """Steps of engines that differ in numbers alone; they belong to one engine at a time.

    Attributes:
        stepping: Takes the time steps.
        stopped: The same, with stops if joints reach them.
        contacts: The contacts at a state.
        user: The engine whose numbers and state they have.

    Args:
        scene: The scene of one of the engines.
        start: Positions (nq,) of the start.
        coulomb: Whether friction of joints holds them at rest.
    """

    def __init__(self, scene: Scene, start: Array, coulomb: bool) -> None:
        self.stepping = TimeStepping(scene, coulomb=coulomb)
        self.stopped = StoppedSteps(self.stepping, Stops(scene.model, start))
        self.contacts = ObservedContacts(self.stepping.terms)
        self.user: ContactEngine | None = None


class ContactEngine(SceneEngine):
    """Arms, object, pushing contacts and surfaces, in steps of a quarter millisecond.

    A grasp that slips, opens or drops the object is not an error: the simulation continues. Wrist
    sensors measure the mean over the control period, impacts included.

    Args:
        scene: Arms, object and their contacts, with their true properties.
        start: Positions (nq,) of the start: grasps that hold are closed, pushing contacts can be
            apart.
        period: Control period [s].
        settings: Step (`step_s`) and friction; by default the step is the longest part of the
            period up to a quarter of a millisecond.
        like: An engine whose steps are used in turn with it; see `variant`.

    Raises:
        ArgumentError: If the control period is not a whole number of steps, the object starts
            inside a rigid surface, or hinges and lines block the same motion.
    """

    def __init__(
        self,
        scene: Scene,
        start: Array,
        period: float,
        settings: PlantSettings,
        like: ContactEngine | None = None,
    ) -> None:
        self.scene, self._start, self._period = scene, np.asarray(start, dtype=float), period
        coulomb = settings.joint_friction == "coulomb"
        if like is None:
            there = matrix_of_pose(self._start[scene.system.object_q])
            require_independent(scene.environment_joints, there)
        self._shared: _SharedSteps
        self._shared = like._shared if like else _SharedSteps(scene, self._start, coulomb)
        self._numbers: Sequence[Array] | None = None  # of its scene
        self._left: tuple[Any, ...] | None = None  # the state, while another engine moves
        self.substeps = settings.contact_steps(period)
        self._h = period / self.substeps
        self._drives, self._settings = drives_of(scene.system, settings), settings
        self._stuck: Mask = np.zeros(0, dtype=bool)  # arm joints
        self._passive_at = joint_places(scene.system.model, scene.system.passive_joint_names)
        self._forces = np.zeros(0)  # along all rows, means over the period

    @cached_property
    def robot(self) -> Robot:
        """Arms and object without grasps, for energies and poses."""
        return Robot(self.scene.model)

    @property
    def stepping(self) -> TimeStepping:
        """Takes the time steps."""
        return self._steps.stepping

    @property
    def _steps(self) -> _SharedSteps:
        """The steps, with the numbers and the state of this engine."""
        shared = self._shared
        if shared.user is self:
            return shared
        if shared.user is not None:
            shared.user._left = shared.user.save()
        shared.user = self
        set_friction(shared.stepping, self._drives, self._settings)
        brake(shared.stepping, self._drives, self._stuck)
        self._numbers = shared.stopped.tune(self.scene.model, self._numbers)
        if self._left is not None:
            self.restore(self._left)
        return shared

    def variant(
        self, scene: Scene, start: Array, period: float, settings: PlantSettings
    ) -> ContactEngine:
        """Return an engine whose scene differs in numbers alone, at the same start.

        Both use the same steps in turn, in one thread: numbers and state of the one make way for
        those of the other, which takes less than 0.1 ms. See `SceneTerms.tune` for the numbers.
        """
        return ContactEngine(scene, start, period, settings, self)

    def begin(self) -> None:
        """Return to the start, at rest."""
        self._return()
        self.stepping.require_shallow()
        self._steps.stopped.begin()
        self._forces = self._resting_forces.copy()

    def run(self, time: float, torque: Array, wrenches: Mapping[str, Array] | None = None) -> None:
        """Advance by one control period; see `Engine.run`.

        Raises:
            SimulationError: If the motion grows without bound, or a gap is not a number.
        """
        steps, end = self.stepping, time + self._period
        try:
            force = joint_forces_of(self.robot, steps.q, wrenches or {})
            force[self._drives.v_index] += torque
            forces = self._steps.stopped.run(force, self._period, self.substeps)
        except (RobotDynamicsError, np.linalg.LinAlgError, ValueError) as error:
            raise self._lost(end) or grew_without_bound(end, error) from error
        if lost := self._lost(end):
            raise lost
        if forces is None:
            raise grew_without_bound(end, f"a velocity of {steps.fastest:.3g} m/s or rad/s")
        self._forces = forces

    def linearize(self, torque: Array) -> tuple[Array, Array]:
        """Return A (2 nv, 2 nv) and B (2 nv, na) of a period; see `TimeStepping.linearize`.

        Args:
            torque: Torques of the arm joints (na,), without delay.
        """
        na, force = len(self.scene.system.joint_names), np.zeros(self.scene.model.nv)
        driven = self._drives.v_index[:na]
        force[driven] = finite_vector("torque", torque, na)
        A, B = self._steps.stopped.linearize(force, self._period, self.substeps)
        return A, B[:, driven]

    def stick(self, joints: Mask) -> None:
        """Have these arm joints (na,) stuck; see `SticksJoints`."""
        self._stuck = joints
        brake(self.stepping, self._drives, joints)

    def grip(self, arm: int, closed: bool) -> bool:
        """Close or open the rigid grasp of an arm; see `Grips`."""
        steps, now = self.stepping, self._steps.contacts
        apart = now.look(steps.q, steps.v).apart(arm)
        closed = closed and self.scene.contacts[arm].reaches(*apart)
        steps.hold(now.rows(arm), closed=closed)
        self.sensed()
        return closed

    def place(self, pose: Array, twist: Array) -> None:
        """Put the object elsewhere; see `PlacesObject`."""
        steps, now, system = self.stepping, self._steps.contacts, self.scene.system
        grippers = [now.rows(arm) for arm in self.scene.grippers]
        if not all(steps.state.contacts.loose[rows].all() for rows in grippers):
            raise ArgumentError("a gripper holds the object, expected open ones to place it.")
        before, q, v = self.save(), steps.q.copy(), steps.v.copy()
        q[system.object_q] = pose
        to_body = rotation_of_quaternion(pose[3:].tolist()).T
        v[system.object_v] = [*to_body @ twist[:3], *to_body @ twist[3:]]
        steps.start(q, v)
        now.look(q, v)
        for rows in grippers:
            steps.hold(rows, closed=False)
        try:
            steps.require_shallow()
        except ArgumentError:
            self.restore(before)
            raise
        self._forces = np.zeros_like(self._forces)
        self.sensed()

    def _return(self) -> None:
        """Return to the start; rigid grasps are open if they are apart there."""
        steps, now = self.stepping, self._steps.contacts
        steps.start(self._start)
        now.look(self._start, steps.v)
        for arm in self.scene.grippers:
            steps.hold(now.rows(arm), closed=max(now.apart(arm)) <= APART)

    def _lost(self, end: float) -> SimulationError | None:
        """Return the error of a contact whose gap is not a number, if there is one."""
        for name, gap in self.stepping.lost():
            if np.isnan(gap) and np.isfinite(self.stepping.q).all():
                return SimulationError(
                    f"the gap of contact {name!r} is not a number before {end:g} s; expected a "
                    "surface that is finite wherever the object gets."
                )
        return None

    def state(self) -> tuple[Array, Array]:
        """Return positions and velocities."""
        return self.stepping.q, self.stepping.v

    def save(self) -> tuple[Any, ...]:
        """Return copies of the variables."""
        return self._forces.copy(), self._steps.stopped.saved()

    def restore(self, saved: Sequence[Any]) -> None:
        """Set the variables that `save` returned."""
        steps = self._steps.stopped  # its state of the last turn comes first, and is replaced
        self._forces = saved[0].copy()
        steps.restore(saved[1])
        self.sensed()

    def sensed(self) -> tuple[Array, Array, Array]:
        """Return positions and velocities of the arm joints, and grasp wrenches (k, 6)."""
        system, steps, now = self.scene.system, self.stepping, self._steps.contacts
        now.look(steps.q, steps.v, steps.state.contacts)
        self._wrenches = now.wrenches(self._forces)
        return steps.q[system.q_index], steps.v[system.v_index], self._wrenches

    def truth(self, torque: Array) -> Truth:
        """Return the true state, given the torque (na,) that was applied."""
        steps, now = self.stepping, self._steps.contacts
        return Truth.of(
            steps.q[self.scene.system.object_q],
            now.seen.twist.copy(),
            self.scene.grasp_map.internal_force(self._wrenches.ravel()),
            (*now.openings(), steps.correction),
            torque.copy(),
        )

    def passive_joints(self) -> tuple[Array, Array]:
        """Return positions and velocities of the joints without drives."""
        q_at, v_at = self._passive_at
        return self.stepping.q[q_at].copy(), self.stepping.v[v_at].copy()

    def contacts(self) -> tuple[ContactReport, ...]:
        """Return a report of each contact: arms, points, hinges and lines."""
        return self._steps.contacts.reports(self._forces, self.stepping)

    def books(self) -> EnergyBooks:
        """Return the energy balance since the start."""
        return self.stepping.books

    def energy(self) -> float:
        """Return kinetic and potential energy of arms and object [J]."""
        kinetic, potential = self.robot.energies(self.stepping.q, self.stepping.v)
        return float(kinetic + potential)

    @cached_property
    def _resting_forces(self) -> Array:
        """Return the forces at rest, arms on their brakes, nearest to the shared load.

        Statics does not determine them if contacts hold, or fingers on brakes might squeeze.
        """
        motion, rub = self.stepping, self.stepping.friction
        motion.state.contacts.force[:] = self._shared_load()
        most, dry = motion.step.laws.bound, slice(motion.terms.closing, None)
        damping, coulomb, bound = rub.damping.copy(), rub.coulomb.copy(), most.copy()
        rub.damping[:] = rub.coulomb[:] = most[dry] = 0.0
        rub.damping[self.scene.system.v_index] = BRAKES
        motion.advance(self._h, np.zeros(len(motion.v)))
        forces = motion.take_forces(self._h)
        rub.damping[:], rub.coulomb[:], most[:] = damping, coulomb, bound
        self._return()
        return forces

    def _shared_load(self) -> Array:
        """Return forces along all rows with which the arms share the object's weight."""
        C = self.robot.bias_forces(self._start, np.zeros(self.scene.model.nv))
        wrenches = (self.scene.grasp_map.distribution @ C[self.scene.system.object_v]).reshape(
            -1, 6
        )
        return self._steps.contacts.look(self._start, self.stepping.v).forces(wrenches)
