# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Contacts of a scene as they are observed at a control instant."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_dynamics.arrays import Array, cross, length
from robot_dynamics.compile.routine import Matrix, Tensor, Vector, new_record, routine, zeros
from robot_dynamics.description.orientations import rotation_of_quaternion
from robot_dynamics.simulation.contact.contact_arrays import ContactMemory, Rows
from robot_dynamics.simulation.contact.report import ContactMode, ContactReport, held, tilt_of
from robot_dynamics.simulation.contact.terms import SceneTerms, StepTerms
from robot_dynamics.simulation.contact.time_stepping import TimeStepping


class _ArmContact(NamedTuple):
    """Constants of an arm's contact.

    Attributes:
        name: Name of the arm.
        opens: Index of the contact among those that open; None if it holds.
        rows: Its rows among all.
        S: Directions of a contact that holds (6, d).
        spin: Moment about the normal over the force along the row of the spin [m].
        finger: Origin of its frame in the tool (3,).
        normal: z axis of its frame in the tool (3,).
    """

    name: str
    opens: int | None
    rows: slice
    S: Array
    spin: float
    finger: Array
    normal: Array


class _Shown(NamedTuple):
    """Contacts as they are reported: those that open, then arms that hold (n)."""

    points: Matrix  #: Their positions in the world (n, 3).
    axes: Tensor  #: Their tangents and normals in the world, as rows (n, 3, 3).
    forces: Matrix  #: Of those that open along the axes (c, 3).


class ObservedContacts:
    """The contacts of a scene at one state: wrenches at the wrists, gaps and reports.

    Args:
        layout: Terms of the scene.

    Attributes:
        object_twist: Angular and linear velocity of the object's origin in world axes (6,).
    """

    def __init__(self, layout: SceneTerms) -> None:
        self._layout, scene = layout, layout.scene
        self._terms, model = layout.output(), scene.model
        self._q, self._v = np.zeros(model.nq), np.zeros(model.nv)
        self._find_terms = layout.bind_at(self._q, self._v, self._terms)
        self._arms = _arm_contacts(layout)
        poses = [scene.contacts[i].contact.pose for i in (*scene.pushing, *scene.holding)]
        frames = np.array(poses).reshape(-1, 4, 4)
        count = layout.opening + len(scene.holding)
        self._forces = np.zeros(len(self._terms.before))
        self._shown = new_record(
            _Shown, points=(count, 3), axes=(count, 3, 3), forces=(layout.opening, 3)
        )
        self._show = show_contacts.bind(
            self._terms, frames, scene.system.object_q.start, len(scene.pushing),
            Rows(layout.holding, layout.width), self._forces, self._shown,
        )  # fmt: skip
        self._padded = {c: p for p, (c, _) in enumerate(scene.pads)}
        rotational = [
            [row.rotational for loop in model.loops for row in loop.type.rows],
            [False] * len(model.couplings),
            *(
                (np.abs(scene.contacts[i].contact.directions[:3]).max(axis=0) > 0.5).tolist()
                for i in scene.holding
            ),
        ]
        self._turned = np.array([flag for flags in rotational for flag in flags], dtype=bool)
        self._no_pads = np.zeros((len(scene.pads), 2))

    def look(self, q: Array, v: Array, pads: Array | None = None) -> ObservedContacts:
        """Observe a state, which replaces the one before.

        Args:
            q: Positions (nq,).
            v: Velocities (nv,).
            pads: Moments of the pads on the object (p, 2) [N m]; zero by default.
        """
        self._q[:], self._v[:] = q, v
        self._find_terms()
        #: Moments about x and y by each arm that pushes with a pad.
        self._pads = (self._no_pads if pads is None else pads).tolist()
        system = self._layout.scene.system
        pose, own = self._terms.q[system.object_q], v[system.object_v]
        self._R, self._x = rotation_of_quaternion(pose[3:].tolist()), pose[:3]
        self.object_twist = np.concatenate([self._R @ own[:3], self._R @ own[3:]])
        return self

    def wrenches(self, forces: Array) -> Array:
        """Return the wrenches of the arms on the object in the frames of their tools (k, 6).

        Args:
            forces: Along all rows (b + w c,).
        """
        result = np.empty((len(self._arms), 6))
        for i, (arm, at_contact) in enumerate(
            zip(self._arms, self._along_axes(forces), strict=True)
        ):
            turn = self._terms.turns[i]
            moment, force = turn @ at_contact[:3], turn @ at_contact[3:]
            result[i, :3], result[i, 3:] = moment + cross(arm.finger, force), force
        return result

    def forces(self, wrenches: Array) -> Array:
        """Return the forces along all rows (b + w c,) of arms that exert wrenches (k, 6).

        Components that a contact cannot exert are left out; the inverse of `wrenches`.
        """
        layout = self._layout
        forces = np.zeros(layout.holding + layout.width * layout.opening)
        for i, arm in enumerate(self._arms):
            turn = self._terms.turns[i]
            force = turn.T @ wrenches[i, 3:]
            moment = turn.T @ (wrenches[i, :3] - cross(arm.finger, wrenches[i, 3:]))
            if arm.opens is None:
                forces[arm.rows] = np.linalg.lstsq(
                    arm.S, np.concatenate([moment, force]), rcond=None
                )[0]
            elif force[2] > 0.0:
                forces[arm.rows][:3] = force[2], force[0], force[1]
        return forces

    def rows(self, arm: int) -> slice:
        """Return the rows of an arm's contact."""
        return self._arms[arm].rows

    def apart(self, arm: int) -> tuple[float, float]:
        """Return distance [m] and angle [rad] between the tool and the grasp of a rigid grasp."""
        error = self._terms.error[self.rows(arm)]
        return length(error[3:]), length(error[:3])

    def openings(self, contacts: ContactMemory | None = None) -> tuple[float, float]:
        """Return the largest opening of bilateral contacts [m], [rad].

        Args:
            contacts: Which of these are open, and where the others closed; by default all are
                closed at their places.
        """
        sizes, turned = np.abs(self._terms.error), self._turned
        if contacts is not None:
            closing = len(sizes)
            sizes = np.abs(self._terms.error - contacts.rest[:closing])
            sizes[contacts.loose[:closing]] = 0.0
        return float(sizes[~turned].max(initial=0.0)), float(sizes[turned].max(initial=0.0))

    def reports(self, forces: Array, motion: TimeStepping) -> tuple[ContactReport, ...]:
        """Return a report of each contact.

        Arms in their order, then points on surfaces, then hinges and lines of the environment.

        Args:
            forces: Along all rows (b + w c,).
            motion: Contact modes, and the resistance of hinges and lines.
        """
        scene, layout, terms = self._layout.scene, self._layout, self._terms
        wrenches, arms = self._along_axes(forces), self._arms
        self._forces[:] = forces
        self._show()
        points, axes, along = (array.copy() for array in self._shown)
        c, pushing = layout.opening, [wrenches[i] for i in scene.pushing]
        tilts = [tilt_of(terms.turns[i].T @ arms[i].normal) for i in scene.pushing]
        rest = c - len(pushing)
        touching = motion.reports(
            terms,
            points[:c],
            axes[:c],
            [*(one[3:] for one in pushing), *along[len(pushing) :]],
            [*(one[:3] for one in pushing), *np.zeros((rest, 3))],
            [*tilts, *[0.0] * rest],
        )
        holding, loose = {}, motion.state.contacts.loose
        for n, i in enumerate(scene.holding, c):
            one = held(arms[i].name, points[n], axes[n], wrenches[i][3:], wrenches[i][:3])
            if loose[arms[i].rows].any():
                one = one._replace(state=ContactMode.OPEN, gap=self.apart(i)[0])
            holding[i] = one
        found = [holding.get(i) or touching[arm.opens or 0] for i, arm in enumerate(arms)]
        found += touching[len(pushing) :]
        resisted = iter(motion.resisted)
        for one, own in zip(scene.environment_joints, scene.environment_joint_rows, strict=True):
            wrench = one.wrench(forces[own])
            if one.resists:
                wrench[one.free] = next(resisted)
            place = np.asarray(self._x + self._R @ one.part[:3, 3])
            found.append(held(one.name, place, one.frame[:3, :3].T, wrench[3:], wrench[:3]))
        return tuple(found)

    def _along_axes(self, forces: Array) -> list[Array]:
        """Return for each arm [moment; force] (6,) on the object, in the contact's axes."""
        found = []
        for arm in self._arms:
            if arm.opens is None:
                found.append(arm.S @ forces[arm.rows])
                continue
            normal, x, y, *spin = forces[arm.rows].tolist()
            moment = spin[0] * arm.spin if arm.spin else 0.0
            pad = self._padded.get(arm.opens)
            about = (0.0, 0.0) if pad is None else self._pads[pad]
            found.append(np.array([*about, moment, x, y, normal]))
        return found


@routine
def show_contacts(
    terms: StepTerms, frames: Tensor, object_q: int, pushing: int, rows: Rows, forces: Vector,
    shown: _Shown,
) -> None:  # fmt: skip
    """Write places, axes and forces of contacts.

    Args:
        terms: At the state.
        frames: Of the arms' contacts in the object (k, 4, 4): of those that push, then the others.
        object_q: Index of the object's position.
        pushing: Number of arms that push.
        rows: Of contacts.
        forces: Along all rows.
        shown: Is written.
    """
    q, axes, points, contacts = terms.q, shown.axes, shown.points, len(shown.forces)
    R = zeros(3, 3)
    x, y, z = q[object_q + 3], q[object_q + 4], q[object_q + 5]
    w = q[object_q + 6]
    part = 2.0 / (x * x + y * y + z * z + w * w)
    R[0, 0], R[0, 1] = 1.0 - part * (y * y + z * z), part * (x * y - w * z)
    R[0, 2] = part * (x * z + w * y)
    R[1, 0], R[1, 1] = part * (x * y + w * z), 1.0 - part * (x * x + z * z)
    R[1, 2], R[2, 0] = part * (y * z - w * x), part * (x * z - w * y)
    R[2, 1], R[2, 2] = part * (y * z + w * x), 1.0 - part * (x * x + y * y)
    for n in range(len(points)):
        if n >= pushing and n < contacts:
            for i in range(3):
                points[n, i] = terms.places[n, i]
                for j in range(3):
                    axes[n, i, j] = terms.axes[n, i, j]
            continue
        arm = n if n < pushing else n - contacts + pushing
        for i in range(3):
            points[n, i] = q[object_q + i]
        for k in range(3):
            at = frames[arm, k, 3]  # in the object
            for j in range(3 if n < pushing else 0):
                at -= frames[arm, k, j] * terms.places[n, j]
            for i in range(3):
                points[n, i] += R[i, k] * at
        for i in range(3):
            for j in range(3):
                along = 0.0
                for k in range(3):
                    along += R[j, k] * frames[arm, k, i]
                axes[n, i, j] = along
    for n in range(contacts):
        first = rows.holding + n * rows.width
        shown.forces[n, 0], shown.forces[n, 1] = forces[first + 1], forces[first + 2]
        shown.forces[n, 2] = forces[first]


def _rows_of(layout: SceneTerms, c: int) -> slice:
    """Return the rows of a contact that opens."""
    start = layout.holding + c * layout.width
    return slice(start, start + layout.width)


def _arm_contacts(layout: SceneTerms) -> list[_ArmContact]:
    scene = layout.scene
    found, at = [], scene.model.constraint_count
    for i, (arm, contact) in enumerate(zip(scene.system.arms, scene.contacts, strict=True)):
        finger, S = scene.finger_frames[i], contact.contact.directions
        opens, rows, spin = None, slice(at, at + S.shape[1]), 0.0
        if i in scene.holding:
            at = rows.stop
        else:
            opens, cone = scene.pushing.index(i), contact.friction
            rows = _rows_of(layout, opens)
            spin = cone.torsion / cone.friction if cone.torsion > 0.0 else 0.0
        found.append(_ArmContact(arm.name, opens, rows, S, spin, finger[:3, 3], finger[:3, 2]))
    return found
