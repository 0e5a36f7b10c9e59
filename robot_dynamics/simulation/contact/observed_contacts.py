# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Contacts of a scene as they are observed at a control instant."""

from __future__ import annotations

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.description.orientations import rotation_of_quaternion
from robot_dynamics.simulation.contact.report import ContactReport, held, tilt_of
from robot_dynamics.simulation.contact.terms import SceneTerms
from robot_dynamics.simulation.contact.time_stepping import TimeStepping


class ObservedContacts:
    """The contacts of a scene at one state: wrenches at the wrists, gaps and reports.

    Args:
        layout: Terms of the scene.
        q: Positions (nq,).
        v: Velocities (nv,).
        pads: Moments of the pads on the object (p, 2) [N m]; zero by default.
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

        Components that a contact cannot exert are left out; the inverse of `wrenches`.
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
        """Return the largest opening of bilateral contacts [m], [rad]."""
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
        """Return a report of each contact.

        Arms in their order, then points on surfaces, then hinges and lines of the environment.

        Args:
            forces: Along all rows (b + w c,).
            motion: Contact modes, and the resistance of hinges and lines.
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
        resisted = iter(motion.state.resistance.resisted)
        for one, own in zip(scene.environment_joints, scene.environment_joint_rows, strict=True):
            wrench = one.wrench(forces[own])
            if one.resists:
                wrench[one.free] = next(resisted)
            axes = one.frame[:3, :3].T
            found.append(held(one.name, self._place(one.part), axes, wrench[3:], wrench[:3]))
        return tuple(found)

    def _place(self, pose: Array) -> Array:
        """Return the position (3,) in the world of the origin of a frame (4, 4) in the object."""
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
