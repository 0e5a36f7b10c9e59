# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Control periods of a scene with contacts, which slip, open, drop and bounce, and what is told.

Told at a control instant are wrenches at the wrists, a report of each contact, and how far open is
what holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.description.orientations import rotation_of_quaternion
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.model import pose
from robot_dynamics.robot import Robot
from robot_dynamics.simulation.contact.environment_joints import require_independent
from robot_dynamics.simulation.contact.report import (
    ContactReport,
    EnergyBooks,
    held,
    tilt_of,
)
from robot_dynamics.simulation.contact.terms import SceneTerms
from robot_dynamics.simulation.contact.time_stepping import TimeStepping
from robot_dynamics.simulation.plant import Truth
from robot_dynamics.simulation.scene import Scene
from robot_dynamics.simulation.settings import PlantSettings
from robot_dynamics.simulation.step import DriveParameters

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
        robot: Arms and object without grasps, as they truly are: for energies and poses.

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
        self,
        scene: Scene,
        drives: DriveParameters,
        start: Array,
        period: float,
        settings: PlantSettings,
    ) -> None:
        x, quaternion = np.split(np.asarray(start, dtype=float)[scene.system.object_q], [3])
        there = pose(x, rotation_of_quaternion(quaternion.tolist()))
        require_independent(scene.environment_joints, there)
        self.scene, self.drives, self._start, self._period = scene, drives, start, period
        self.substeps = _substeps(settings, period)
        self._h = period / self.substeps
        self.steps = TimeStepping(scene)
        self.steps.damping[drives.v_index] = drives.damping
        self.steps.friction[drives.v_index] = drives.friction
        self.steps.friction_velocity[0] = drives.friction_velocity
        self.robot = Robot(scene.model)
        model = scene.system.model
        at = [model.joint_index(name) for name in scene.system.passive_joint_names]
        self._passive_q = np.array([model.q_slices[i].start for i in at], dtype=np.intp)
        self._passive_v = np.array([model.v_slices[i].start for i in at], dtype=np.intp)

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
        self.steps.require_shallow()
        # Along all rows over the last step, impacts as their mean over the period.
        self._forces = self._resting_forces()

    def run(self, torque: Array, force: Array | None = None) -> None:
        """Advance by one control period.

        Args:
            torque: Of the drives, passive joints' after them.
            force: Joint forces of external wrenches (nv,), if there are any.

        Raises:
            RobotDynamicsError: If the motion grows without bound.
        """
        steps = self.steps
        force = np.zeros(len(steps.v)) if force is None else force
        force[self.drives.v_index] += torque
        forces = steps.run(force, self._period, self.substeps)
        if forces is None:
            raise RobotDynamicsError(f"a velocity of {steps.fastest:.3g} m/s or rad/s")
        self._forces = forces

    def state(self) -> tuple[Any, ...]:
        """Return copies of what changes."""
        return self._forces.copy(), self.steps.saved()

    def restore(self, state: Sequence[Any]) -> None:
        """Take up what `state` returned."""
        self._forces = state[0].copy()
        self.steps.restore(state[1])
        self.sensed()

    def sensed(self) -> tuple[Array, Array, Array]:
        """Return positions and velocities of the arm joints, and grasp wrenches (k, 6)."""
        system, steps = self.scene.system, self.steps
        self._now = ObservedContacts(self.steps.terms, steps.q, steps.v, steps.pads)
        self._wrenches = self._now.wrenches(self._forces)
        return steps.q[system.q_index], steps.v[system.v_index], self._wrenches

    def truth(self, torque: Array) -> Truth:
        """Return the true state, for the torque (na,) that was applied."""
        steps, system = self.steps, self.scene.system
        return Truth.of(
            steps.q[system.object_q],
            self._now.object_twist,
            self.scene.grasp_map.internal_force(self._wrenches.ravel()),
            (*self._now.openings(), steps.correction),
            torque.copy(),
        )

    def passive_joints(self) -> tuple[Array, Array]:
        """Return positions and velocities of the joints without drives."""
        return self.steps.q[self._passive_q], self.steps.v[self._passive_v]

    def contacts(self) -> tuple[ContactReport, ...]:
        """Return what there is to say of each contact: arms, points, hinges and lines."""
        return self._now.reports(self._forces, self.steps)

    def books(self) -> EnergyBooks:
        """Return where energy went since the start."""
        return self.steps.books

    def energy(self) -> float:
        """Return kinetic and potential energy of arms and object [J]."""
        kinetic, potential = self.robot.energies(self.steps.q, self.steps.v)
        return float(kinetic + potential)

    def _resting_forces(self) -> Array:
        """Return the forces at rest, arms on their brakes: those nearest to the shared load.

        Statics leaves them open where contacts hold, and where fingers on brakes might squeeze.
        """
        motion = self.steps
        motion.state.force[:] = self._shared_load()
        damping, friction = motion.damping.copy(), motion.friction.copy()
        motion.damping[:] = motion.friction[:] = 0.0
        motion.damping[self.scene.system.v_index] = _BRAKES
        motion.advance(self._h, np.zeros(len(motion.v)))
        forces = motion.take_forces(self._period)
        motion.damping[:], motion.friction[:] = damping, friction
        motion.start(self._start)
        return forces

    def _shared_load(self) -> Array:
        """Return forces along all rows with which the arms share the object's weight."""
        C = self.robot.bias_forces(self._start, np.zeros(self.scene.model.nv))
        wrenches = (self.scene.grasp_map.distribution @ C[self.scene.system.object_v]).reshape(
            -1, 6
        )
        seen = ObservedContacts(self.steps.terms, self._start, self.steps.v)
        return seen.forces(wrenches)


def _substeps(settings: PlantSettings, period: float) -> int:
    """Return how many steps make a period."""
    if settings.step_s is not None:
        return settings.steps("step_s", period)
    if not period > 0.0:
        raise ArgumentError(f"a control period of {period:g} s, expected a positive one.")
    return max(1, int(np.ceil(period / _LONGEST_STEP_S * (1.0 - 1e-9))))


class ObservedContacts:
    """All contacts at one state.

    Args:
        layout: Terms of the scene.
        q: Positions (nq,).
        v: Velocities (nv,).
        pads: Moments of the pads on the object (p, 2) [N m]; none by default.
    """

    def __init__(self, layout: SceneTerms, q: Array, v: Array, pads: Array | None = None) -> None:
        self._layout, self._terms = layout, layout.at(q, v)
        #: Moments about x and y by each arm that pushes with a pad, by its place among those.
        self._pads: dict[int, Array] = {}
        if pads is not None:
            self._pads = {
                c: own.copy() for (c, _), own in zip(layout.scene.pads, pads, strict=True)
            }
        scene = layout.scene
        pose = self._terms.q[scene.system.object_q]
        self._R, self._x = rotation_of_quaternion(pose[3:].tolist()), pose[:3]
        own = v[scene.system.object_v]
        #: Angular and linear velocity of the object's origin in world axes (6,).
        self.object_twist = np.concatenate([self._R @ own[:3], self._R @ own[3:]])

    def wrenches(self, forces: Array) -> Array:
        """Return the wrenches of the arms on the object in the frames of their tools (k, 6).

        Args:
            forces: Along all rows (b + w c,).
        """
        scene = self._layout.scene
        result = np.empty((len(scene.contacts), 6))
        for i, at_contact in enumerate(self._along_axes(forces)):
            turn, point = self._terms.turns[i], scene.finger_frames[i][:3, 3]
            moment, force = turn @ at_contact[:3], turn @ at_contact[3:]
            result[i, :3], result[i, 3:] = moment + np.cross(point, force), force
        return result

    def forces(self, wrenches: Array) -> Array:
        """Return the forces along all rows (b + w c,) of arms that exert wrenches (k, 6).

        What a contact cannot exert is left out; the wrenches are those of `wrenches`.
        """
        scene, layout = self._layout.scene, self._layout
        forces = np.zeros(layout.holding + layout.width * layout.opening)
        at = scene.model.constraint_count
        for i, contact in enumerate(scene.contacts):
            turn, point = self._terms.turns[i], scene.finger_frames[i][:3, 3]
            force = turn.T @ wrenches[i, 3:]
            moment = turn.T @ (wrenches[i, :3] - np.cross(point, wrenches[i, 3:]))
            if i in scene.holding:
                S = contact.contact.directions
                forces[at : at + S.shape[1]] = np.linalg.lstsq(
                    S, np.concatenate([moment, force]), rcond=None
                )[0]
                at += S.shape[1]
            elif force[2] > 0.0:
                rows = self._slice(scene.pushing.index(i))
                forces[rows][:3] = force[2], force[0], force[1]
        return forces

    def openings(self) -> tuple[float, float]:
        """Return by how much contacts that hold are open at most [m], [rad]."""
        scene, error = self._layout.scene, self._terms.error
        rotational = [
            [row.rotational for loop in scene.model.loops for row in loop.type.rows],
            [False] * len(scene.model.couplings),
            *(
                (np.abs(scene.contacts[i].contact.directions[:3]).max(axis=0) > 0.5).tolist()
                for i in scene.holding
            ),
        ]
        turned = np.array([flag for flags in rotational for flag in flags], dtype=bool)
        sizes = np.abs(error)
        return float(sizes[~turned].max(initial=0.0)), float(sizes[turned].max(initial=0.0))

    def reports(self, forces: Array, motion: TimeStepping) -> tuple[ContactReport, ...]:
        """Return what there is to say of each contact.

        Arms come in their order, then points on surfaces, then what holds the object in the world.

        Args:
            forces: Along all rows (b + w c,).
            motion: Which of them push and slip, and what hinges and lines resisted with.
        """
        scene, layout, terms = self._layout.scene, self._layout, self._terms
        wrenches = self._along_axes(forces)
        found: list[ContactReport] = []
        for i, contact in enumerate(scene.contacts):
            pose = contact.contact.pose
            axes = (self._R @ pose[:3, :3]).T
            moment, force = wrenches[i][:3], wrenches[i][3:]
            name = scene.system.arms[i].name
            if i in scene.holding:
                report = held(name, self._place(pose), axes, force, moment)
            else:
                c = scene.pushing.index(i)
                place = -terms.places[c]  # of the finger, in the contact's frame
                point = self._x + self._R @ (pose[:3, :3] @ place + pose[:3, 3])
                z = terms.turns[i].T @ scene.finger_frames[i][:3, 2]
                report = motion.report(c, terms, point, axes, force, moment)
                report = report._replace(tilt=tilt_of(z))
            found.append(report)
        for c in range(len(scene.pushing), layout.opening):
            rows = forces[self._slice(c)]
            force = np.array([rows[1], rows[2], rows[0]])
            place, axes = terms.places[c], terms.axes[c]
            found.append(motion.report(c, terms, place, axes, force, np.zeros(3)))
        resisted = iter(motion.resisted)
        for one, own in zip(scene.environment_joints, scene.environment_joint_rows, strict=True):
            wrench = one.wrench(forces[own])
            if one.resists:
                wrench[one.free] = next(resisted)
            axes = one.frame[:3, :3].T
            found.append(held(one.name, self._place(one.part), axes, wrench[3:], wrench[:3]))
        return tuple(found)

    def _place(self, pose: Array) -> Array:
        """Return where the origin of a frame in the object (4, 4) is in the world (3,)."""
        return np.asarray(self._x + self._R @ pose[:3, 3])

    def _along_axes(self, forces: Array) -> list[Array]:
        """Return for each arm [moment; force] (6,) on the object, in the contact's axes."""
        scene = self._layout.scene
        at = scene.model.constraint_count
        found = []
        for i, contact in enumerate(scene.contacts):
            if i in scene.holding:
                S = contact.contact.directions
                found.append(S @ forces[at : at + S.shape[1]])
                at += S.shape[1]
            else:
                c = scene.pushing.index(i)
                rows, cone = forces[self._slice(c)], contact.friction
                scale = cone.torsion / cone.friction if cone.torsion > 0.0 else 0.0
                spin = rows[3] * scale if scale else 0.0
                m_x, m_y = self._pads.get(c, (0.0, 0.0))
                found.append(np.array([m_x, m_y, spin, rows[1], rows[2], rows[0]]))
        return found

    def _slice(self, c: int) -> slice:
        start = self._layout.holding + c * self._layout.width
        return slice(start, start + self._layout.width)
