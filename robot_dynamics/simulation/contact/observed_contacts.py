# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Contacts of a scene as they are observed at a control instant."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from robot_dynamics.arrays import Array, cross, length
from robot_dynamics.compile.routine import (
    Indices,
    Mask,
    Matrix,
    Tensor,
    Vector,
    new_record,
    routine,
    zeros,
)
from robot_dynamics.contact.dense import larger
from robot_dynamics.description.orientations import rotation_of_quaternion
from robot_dynamics.simulation.contact.contact_arrays import ContactMemory, Rows
from robot_dynamics.simulation.contact.report import ContactMode, ContactReport, held
from robot_dynamics.simulation.contact.terms import SceneTerms, StepTerms
from robot_dynamics.simulation.contact.time_stepping import TimeStepping


class ArmContacts(NamedTuple):
    """Constants of the arms' contacts."""

    opens: Indices  #: Index of each among the contacts that open; -1 if it holds (k,).
    first: Indices  #: Its first row (k,).
    size: Indices  #: Number of its rows (k,).
    S: Tensor  #: Directions of contacts that hold, as rows (k, 6, 6).
    spin: Vector  #: Moment about the normal over the force along the row of the spin (k,) [m].
    finger: Matrix  #: Origin of its frame in the tool (k, 3).
    normal: Matrix  #: z axis of its frame in the tool (k, 3).
    pad: Indices  #: Index of its pad; -1 without (k,).


class SeenContacts(NamedTuple):
    """Contacts at one state."""

    forces: Vector  #: Along all rows (b + w c,).
    pads: Matrix  #: Moments of the pads on the object (p, 2) [N m].
    loose: Mask  #: Which of the rows that hold are of open grasps (b,).
    rest: Vector  #: Errors at which rows hold (b,) [m or rad].
    along: Matrix  #: Moment and force of each arm on the object, in the contact's axes (k, 6).
    wrenches: Matrix  #: The same about the origin of the arm's tool, in its axes (k, 6).
    openings: Vector  #: Largest opening of rows that hold and are closed [m], [rad] (2,).
    twist: Vector  #: Angular and linear velocity of the object's origin, world axes (6,).


class _Shown(NamedTuple):
    """Contacts as they are reported: contacts that open, then arms that hold (n)."""

    points: Matrix  #: Their positions in the world (n, 3).
    axes: Tensor  #: Their tangents and normals in the world, as rows (n, 3, 3).
    forces: Matrix  #: Of those that open along the axes (c, 3).
    moments: Matrix  #: About the axes, by arms (c, 3); zero of points on surfaces.
    normals: Matrix  #: The arm's z axis along the axes (c, 3); that of a point is the normal.


class ObservedContacts:
    """The contacts of a scene at one state: wrenches at the wrists, gaps and reports.

    Args:
        layout: Terms of the scene.

    Attributes:
        seen: The contacts at the state.
    """

    def __init__(self, layout: SceneTerms) -> None:
        self._layout, scene = layout, layout.scene
        self._terms, model = layout.output(), scene.model
        self._q, self._v = np.zeros(model.nq), np.zeros(model.nv)
        self._find_terms = layout.bind_at(self._q, self._v, self._terms)
        self._names = [arm.name for arm in scene.system.arms]
        self._arms = arms = _arm_contacts(layout)
        poses = [scene.contacts[i].contact.pose for i in (*scene.pushing, *scene.holding)]
        frames = np.array(poses).reshape(-1, 4, 4)
        count = layout.opening + len(scene.holding)
        rows, k = Rows(layout.holding, layout.width), len(scene.system.arms)
        self.seen = seen = new_record(
            SeenContacts, forces=len(self._terms.before), pads=(len(scene.pads), 2),
            loose=layout.holding, rest=layout.holding, along=(k, 6), wrenches=(k, 6), openings=2,
            twist=6,
        )  # fmt: skip
        self._shown = new_record(
            _Shown, points=(count, 3), axes=(count, 3, 3), forces=(layout.opening, 3),
            moments=(layout.opening, 3), normals=(layout.opening, 3),
        )  # fmt: skip
        self._show = show_contacts.bind(
            self._terms, arms, np.array(scene.pushing, dtype=np.int64), frames,
            scene.system.object_q.start, rows, seen, self._shown,
        )  # fmt: skip
        rotational = [
            [row.rotational for loop in model.loops for row in loop.type.rows],
            [False] * len(model.couplings),
            *(
                (np.abs(scene.contacts[i].contact.directions[:3]).max(axis=0) > 0.5).tolist()
                for i in scene.holding
            ),
        ]
        turned = np.array([flag for flags in rotational for flag in flags], dtype=bool)
        self._see_motion = see_motion.bind(
            self._terms, turned, scene.system.object_q.start, scene.system.object_v.start,
            self._v, seen,
        )  # fmt: skip
        self._see_wrenches = see_wrenches.bind(self._terms, arms, seen)

    def look(self, q: Array, v: Array, contacts: ContactMemory | None = None) -> ObservedContacts:
        """Observe a state, which replaces the previous one.

        Args:
            q: Positions (nq,).
            v: Velocities (nv,).
            contacts: Moments of pads, open grasps, and poses at which the others closed; by
                default pads exert no moments, and all grasps are closed at their places.
        """
        self._q[:], self._v[:], seen = q, v, self.seen
        seen.pads[:], seen.loose[:], seen.rest[:] = (
            (0.0, False, 0.0)
            if contacts is None
            else (contacts.pads, contacts.loose, contacts.rest)
        )
        self._find_terms()
        self._see_motion()
        return self

    def wrenches(self, forces: Array) -> Array:
        """Return the wrenches of the arms on the object in the frames of their tools (k, 6).

        Args:
            forces: Along all rows (b + w c,).
        """
        self.seen.forces[:] = forces
        self._see_wrenches()
        return self.seen.wrenches.copy()

    def forces(self, wrenches: Array) -> Array:
        """Return the forces along all rows (b + w c,) of arms that exert wrenches (k, 6).

        Components that a contact cannot exert are left out; the inverse of `wrenches`.
        """
        layout = self._layout
        forces, arms = np.zeros(layout.holding + layout.width * layout.opening), self._arms
        for i, (first, count) in enumerate(zip(arms.first, arms.size, strict=True)):
            turn, rows = self._terms.turns[i], slice(first, first + count)
            force = turn.T @ wrenches[i, 3:]
            moment = turn.T @ (wrenches[i, :3] - cross(arms.finger[i], wrenches[i, 3:]))
            if arms.opens[i] < 0:
                S, wrench = arms.S[i, :count].T, np.concatenate([moment, force])
                forces[rows] = np.linalg.lstsq(S, wrench, rcond=None)[0]
            elif force[2] > 0.0:
                forces[rows][:3] = force[2], force[0], force[1]
        return forces

    def rows(self, arm: int) -> slice:
        """Return the rows of an arm's contact."""
        first = int(self._arms.first[arm])
        return slice(first, first + int(self._arms.size[arm]))

    def apart(self, arm: int) -> tuple[float, float]:
        """Return distance [m] and angle [rad] between the tool and the grasp of a rigid grasp."""
        error = self._terms.error[self.rows(arm)]
        return length(error[3:]), length(error[:3])

    def openings(self) -> tuple[float, float]:
        """Return the largest opening of closed bilateral contacts [m], [rad]."""
        distance, angle = self.seen.openings.tolist()
        return distance, angle

    def reports(self, forces: Array, motion: TimeStepping) -> tuple[ContactReport, ...]:
        """Return a report of each contact.

        Arms in their order, then points on surfaces, then hinges and lines of the environment.

        Args:
            forces: Along all rows (b + w c,).
            motion: Contact modes, and the resistance of hinges and lines.
        """
        scene, terms = self._layout.scene, self._terms
        arms, self.seen.forces[:] = self._arms, forces
        self._see_wrenches()
        self._show()
        wrenches = self.seen.along.copy()
        points, axes, pushes, moments, normals = (array.copy() for array in self._shown)
        c, pushing = len(pushes), len(scene.pushing)
        tilts = [math.atan2(math.hypot(x, y), z) for x, y, z in normals.tolist()]
        touching = motion.reports(terms, points[:c], axes[:c], pushes, moments, tilts)
        holding, loose = {}, motion.state.contacts.loose
        for n, i in enumerate(scene.holding, c):
            one = held(self._names[i], points[n], axes[n], wrenches[i][3:], wrenches[i][:3])
            if loose[self.rows(i)].any():
                one = one._replace(state=ContactMode.OPEN, gap=self.apart(i)[0])
            holding[i] = one
        found = [holding.get(i) or touching[opens] for i, opens in enumerate(arms.opens.tolist())]
        found += touching[pushing:]
        if scene.environment_joints:
            found += self._environment_reports(forces, motion)
        return tuple(found)

    def _environment_reports(self, forces: Array, motion: TimeStepping) -> list[ContactReport]:
        """Return the reports of hinges and lines; see `reports`."""
        scene, terms, found = self._layout.scene, self._terms, []
        resisted = iter(motion.resisted)
        for one, own in zip(scene.environment_joints, scene.environment_joint_rows, strict=True):
            wrench = one.wrench(forces[own])
            if one.resists:
                wrench[one.free] = next(resisted)
            x, quaternion = np.split(terms.q[scene.system.object_q], [3])
            R = rotation_of_quaternion(quaternion.tolist())
            place = np.asarray(x + R @ one.part[:3, 3])
            found.append(held(one.name, place, one.frame[:3, :3].T, wrench[3:], wrench[:3]))
        return found


@routine
def see_motion(
    terms: StepTerms, turned: Mask, object_q: int, object_v: int, v: Vector, seen: SeenContacts
) -> None:
    """Write the twist of the object and the openings of contacts that hold.

    Args:
        terms: At the state.
        turned: Which gaps are angles (b,).
        object_q: Index of the object's position.
        object_v: Index of its velocity.
        v: Velocities (nv,).
        seen: Is written.
    """
    R = zeros(3, 3)
    write_rotation(R, terms.q, object_q + 3)
    for i in range(3):
        seen.twist[i], seen.twist[3 + i] = 0.0, 0.0
        for j in range(3):
            seen.twist[i] += R[i, j] * v[object_v + j]
            seen.twist[3 + i] += R[i, j] * v[object_v + 3 + j]
    seen.openings[0], seen.openings[1] = 0.0, 0.0
    for i in range(len(turned)):
        if not seen.loose[i]:
            k = 1 if turned[i] else 0
            seen.openings[k] = larger(seen.openings[k], abs(terms.error[i] - seen.rest[i]))


@routine
def see_wrenches(terms: StepTerms, arms: ArmContacts, seen: SeenContacts) -> None:
    """Write the wrenches of the arms on the object."""
    along, forces, turns, wrenches = seen.along, seen.forces, terms.turns, seen.wrenches
    for i in range(len(along)):
        n = arms.first[i]
        for k in range(6):
            along[i, k] = 0.0
        if arms.opens[i] < 0:
            for j in range(arms.size[i]):
                for k in range(6):
                    along[i, k] += arms.S[i, j, k] * forces[n + j]
        else:
            for k in range(2 if arms.pad[i] >= 0 else 0):
                along[i, k] = seen.pads[arms.pad[i], k]
            if arms.spin[i] != 0.0:
                along[i, 2] = forces[n + 3] * arms.spin[i]
            along[i, 3], along[i, 4], along[i, 5] = forces[n + 1], forces[n + 2], forces[n]
        for k in range(3):
            wrenches[i, k], wrenches[i, 3 + k] = 0.0, 0.0
            for j in range(3):
                wrenches[i, k] += turns[i, k, j] * along[i, j]
                wrenches[i, 3 + k] += turns[i, k, j] * along[i, 3 + j]
        for k in range(3):
            one, other = (k + 1) % 3, (k + 2) % 3
            wrenches[i, k] += arms.finger[i, one] * wrenches[i, 3 + other]
            wrenches[i, k] -= arms.finger[i, other] * wrenches[i, 3 + one]


@routine
def write_rotation(R: Matrix, q: Vector, at: int) -> None:
    """Write the rotation matrix (3, 3) of the quaternion x y z w at an index of q."""
    x, y, z, w = q[at], q[at + 1], q[at + 2], q[at + 3]
    part = 2.0 / (x * x + y * y + z * z + w * w)
    R[0, 0], R[0, 1] = 1.0 - part * (y * y + z * z), part * (x * y - w * z)
    R[0, 2] = part * (x * z + w * y)
    R[1, 0], R[1, 1] = part * (x * y + w * z), 1.0 - part * (x * x + z * z)
    R[1, 2], R[2, 0] = part * (y * z - w * x), part * (x * z - w * y)
    R[2, 1], R[2, 2] = part * (y * z + w * x), 1.0 - part * (x * x + y * y)


@routine
def show_contacts(
    terms: StepTerms, arms: ArmContacts, pushes: Indices, frames: Tensor, object_q: int,
    rows: Rows, seen: SeenContacts, shown: _Shown,
) -> None:  # fmt: skip
    """Write places, axes and forces of contacts, after `see_wrenches`.

    Args:
        terms: At the state.
        arms: Constants of the arms' contacts.
        pushes: Indices of the arms that push.
        frames: Of the arms' contacts in the object (k, 4, 4): pushing contacts, then the others.
        object_q: Index of the object's position.
        rows: Of contacts.
        seen: Contacts at the state.
        shown: Is written.
    """
    q, axes, points, contacts = terms.q, shown.axes, shown.points, len(shown.forces)
    forces, pushing = seen.forces, len(pushes)
    R = zeros(3, 3)
    write_rotation(R, q, object_q + 3)
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
        for i in range(3):
            shown.moments[n, i], shown.normals[n, i] = 0.0, 1.0 if i == 2 else 0.0
        if n < pushing:
            arm = pushes[n]
            for i in range(3):
                shown.moments[n, i], shown.normals[n, i] = seen.along[arm, i], 0.0
                for j in range(3):
                    shown.normals[n, i] += terms.turns[arm, j, i] * arms.normal[arm, j]


def _arm_contacts(layout: SceneTerms) -> ArmContacts:
    scene, k = layout.scene, len(layout.scene.system.arms)
    padded = {c: p for p, (c, _) in enumerate(scene.pads)}
    arms = new_record(
        ArmContacts, opens=k, first=k, size=k, S=(k, 6, 6), spin=k, finger=(k, 3), normal=(k, 3),
        pad=k,
    )  # fmt: skip
    arms.opens[:] = arms.pad[:] = -1
    at = scene.model.constraint_count
    for i, contact in enumerate(scene.contacts):
        S = contact.contact.directions
        arms.finger[i] = scene.finger_frames[i][:3, 3]
        arms.normal[i] = scene.finger_frames[i][:3, 2]
        if i in scene.holding:
            arms.first[i], arms.size[i], arms.S[i, : S.shape[1]] = at, S.shape[1], S.T
            at += S.shape[1]
        else:
            opens, cone = scene.pushing.index(i), contact.friction
            arms.opens[i], arms.pad[i] = opens, padded.get(opens, -1)
            arms.first[i], arms.size[i] = layout.holding + opens * layout.width, layout.width
            arms.spin[i] = cone.torsion / cone.friction if cone.torsion > 0.0 else 0.0
    return arms
