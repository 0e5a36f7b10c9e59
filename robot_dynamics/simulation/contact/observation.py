# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What is told of contacts at a control instant: wrenches at the wrists, reports, openings."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.simulation.contact.motion import ContactMotion
from robot_dynamics.simulation.contact.report import ContactReport, Touch, held
from robot_dynamics.simulation.contact.terms import ContactTerms, StepTerms
from robot_dynamics.spatial import Rotation, Vector3

Array = NDArray[np.float64]


class ContactObservation:
    """Looks at states of a scene.

    Args:
        terms: Of the scene.
    """

    def __init__(self, terms: ContactTerms) -> None:
        self._terms = terms
        self._rest = np.zeros(terms.scene.model.nv)

    def at(self, q: Array, v: Array) -> ObservedContacts:
        """Return what there is to see at positions (nq,) and velocities (nv,)."""
        rest = self._rest
        return ObservedContacts(self._terms, self._terms(q, rest, v, rest, rest, 0.0), v)


class ObservedContacts:
    """All contacts at one state."""

    def __init__(self, layout: ContactTerms, terms: StepTerms, v: Array) -> None:
        self._layout, self._terms = layout, terms
        scene = layout.scene
        pose = terms.q[scene.system.object_q]
        self._R = _matrix(pose[3:])
        self._x = pose[:3]
        own = v[scene.system.object_v]
        #: Angular and linear velocity of the object's origin in world axes (6,).
        self.object_twist = np.concatenate([self._R @ own[:3], self._R @ own[3:]])
        self._rates = terms.J @ v

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

    def reports(self, forces: Array, motion: ContactMotion) -> tuple[ContactReport, ...]:
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
                report = self._report(c, name, point, axes, force, moment, motion)
            found.append(report)
        for c in range(len(scene.pushing), layout.opening):
            rows = forces[self._slice(c)]
            force = np.array([rows[1], rows[2], rows[0]])
            found.append(
                self._report(
                    c, scene.touches[c][0], terms.places[c], terms.axes[c], force, np.zeros(3),
                    motion,
                )
            )  # fmt: skip
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

    def _report(
        self,
        c: int,
        name: str,
        point: Array,
        axes: Array,
        force: Array,
        moment: Array,
        motion: ContactMotion,
    ) -> ContactReport:
        cone = self._layout.scene.touches[c][2]
        rates = self._rates[self._slice(c)]
        state = Touch.OPEN
        if motion.pressed[c]:
            state = Touch.SLIDING if motion.slipping[c] else Touch.STICKING
        scale = cone.torsion / cone.friction if cone.torsion > 0.0 else 0.0
        used = float(cone.used(np.concatenate([moment, force])))
        return ContactReport(
            name=name,
            state=state,
            point=point,
            axes=axes,
            force=force,
            moment=moment,
            slip=rates[1:3],
            spin=float(rates[3] / scale) if scale else 0.0,
            gap=float(self._terms.gaps[c]),
            friction_used=0.0 if not force.any() else used,
            impacts=int(motion.impacts[c]),
        )

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
                rows = forces[self._slice(scene.pushing.index(i))]
                cone = contact.friction
                scale = cone.torsion / cone.friction if cone.torsion > 0.0 else 0.0
                spin = rows[3] * scale if scale else 0.0
                found.append(np.array([0.0, 0.0, spin, rows[1], rows[2], rows[0]]))
        return found

    def _slice(self, c: int) -> slice:
        start = self._layout.holding + c * self._layout.width
        return slice(start, start + self._layout.width)


def _matrix(quaternion: Array) -> Array:
    """Return the matrix (3, 3) of a body's orientation: its axes are the columns."""
    E = Rotation.from_quaternion(*quaternion.tolist())
    return np.array([list(E.inverse_times(Vector3.of(unit))) for unit in np.eye(3).tolist()]).T
