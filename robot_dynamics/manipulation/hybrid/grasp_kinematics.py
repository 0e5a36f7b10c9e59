# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Kinematics of tools at their contacts: position error, velocity, S^T J; traceable.

The object's pose is a transform: E from world to object axes, r its centre of mass in the world.
Quantities of the object are in object axes about its centre of mass, where W_S, inertia and force
distribution are constant. Quantities of a contact are in contact axes, where S is constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.jacobian import (
    classical_acceleration,
    columns_in_frame,
    jacobian_in_frame,
)
from robot_dynamics.manipulation.hybrid.contacts import Contact
from robot_dynamics.model import Link, Model
from robot_dynamics.scalar.functions import atan2
from robot_dynamics.scalar.linear_algebra import dot, factor, norm, times
from robot_dynamics.spatial import (
    Motion,
    Rotation,
    Scalar,
    Transform,
    Vector3,
    rotation_vector,
)

Matrix = list[list[Scalar]]

# Constants of a contact's frame: rotation from object to contact axes, and the contact point
# relative to the object's centre of mass.
CONTACT_FRAME_SIZE = 12
_ZERO = 1e-12


def pack_contact_frame(contact: Contact, center: Array) -> Array:
    """Return the constants (12,) of a contact's frame."""
    R, p = contact.pose[:3, :3], contact.pose[:3, 3]
    return np.concatenate([R.T.ravel(), p - np.asarray(center)])


@dataclass(frozen=True)
class ContactPoint:
    """A contact on the object and the tool that makes it.

    Attributes:
        contact: Its kind and directions.
        link: The tool.
        E: Rotation from object to contact axes.
        position: The contact point relative to the centre of mass, in object axes.
    """

    contact: Contact
    link: Link
    E: Rotation
    position: Vector3

    @classmethod
    def of(cls, contact: Contact, link: Link, constants: Sequence[Scalar]) -> ContactPoint:
        """Return the contact with the constants of `pack_contact_frame`."""
        rows = [constants[0:3], constants[3:6], constants[6:9]]
        return cls(contact, link, Rotation.of(rows), Vector3.of(constants[9:12]))

    @property
    def selection(self) -> Matrix:
        """S^T (d, 6) in contact axes, as constants: zeros and ones cost no operations."""
        return [[float(value) for value in column] for column in self.contact.directions.T]

    def contact_forces(self, wrench: Sequence[Scalar]) -> list[Scalar]:
        """Return the contact forces (d,) of a wrench (6,) in contact axes: S^+ w."""
        inverse = np.linalg.pinv(self.contact.directions)
        inverse[np.abs(inverse) < _ZERO] = 0.0
        return times([[float(value) for value in row] for row in inverse], wrench)

    def frame(self, pose: Transform, X0: Sequence[Transform]) -> Transform:
        """Return the transform from the tool's body to contact axes at the tool's origin."""
        to_contact = self.E.compose(pose.E)
        of_body = X0[self.link.body].E
        return Transform(to_contact.compose(of_body.transpose()), self.link.placement.r)

    def rotation(self, pose: Transform, X0: Sequence[Transform]) -> Rotation:
        """Return the rotation from tool to contact axes."""
        frame = self.frame(pose, X0)
        return frame.E.compose(self.link.placement.E.transpose())

    def residual(self, pose: Transform, X0: Sequence[Transform]) -> list[Scalar]:
        """Return the position error of the tool in the blocked directions (d,) [m, rad].

        It is zero in velocity-only directions; see `holonomic_rows`.
        """
        rotation = self._rotation_error(self.rotation(pose, X0))
        displacement = self._displacement(pose, X0)
        error = times(self.selection, [*rotation, *displacement])
        rows = zip(error, holonomic_rows(self.contact), strict=True)
        return [value if holonomic else 0.0 for value, holonomic in rows]

    def offset(self, pose: Transform, X0: Sequence[Transform]) -> list[Scalar]:
        """Return rotation vector and displacement (6,) from contact to tool, in contact axes."""
        return [*rotation_vector(self.rotation(pose, X0)), *self._displacement(pose, X0)]

    def tilt(self, pose: Transform, X0: Sequence[Transform]) -> Scalar:
        """Return the angle between the z axes of contact and tool, from 0 to pi [rad]."""
        x, y, z = self.rotation(pose, X0) * Vector3(0.0, 0.0, 1.0)
        return atan2(norm([x, y]), z)

    def _displacement(self, pose: Transform, X0: Sequence[Transform]) -> Vector3:
        """Return the displacement of the tool's origin from the contact point, in contact axes."""
        tool = X0[self.link.body]
        origin = tool.r + tool.E.inverse_times(self.link.placement.r)
        return self.E * (pose.E * (origin - pose.r) - self.position)

    def _rotation_error(self, rotation: Rotation) -> Vector3:
        """Return the blocked part (3,) of the rotation from tool to contact axes."""
        blocked = _blocked_rotations(self.contact)
        if len(blocked) == 3:
            return rotation_vector(rotation)
        if len(blocked) == 2:  # one axis keeps its direction
            axis = np.cross(blocked[0], blocked[1])
            axis[np.abs(axis) < _ZERO] = 0.0
            a = Vector3(*(axis / np.linalg.norm(axis)).tolist())
            return a.cross(rotation * a)
        return Vector3.zero()


def holonomic_rows(contact: Contact) -> list[bool]:
    """Return for each direction (d,) of a contact whether it is blocked in position.

    The others are velocity-only: rotations that a contact blocks without fixing the direction of
    an axis, such as the torsion of a soft finger, and directions that mix rotation and
    displacement.
    """
    enough = len(_blocked_rotations(contact)) >= 2
    found = []
    for column in contact.directions.T:
        force, moment = np.any(np.abs(column[3:]) > _ZERO), np.any(np.abs(column[:3]) > _ZERO)
        found.append(bool(force and not moment) or bool(moment and not force and enough))
    return found


def _blocked_rotations(contact: Contact) -> list[Array]:
    """Return the pure moments that a contact transmits: the rotations that it blocks."""
    return [
        np.asarray(column[:3])
        for column in contact.directions.T
        if not np.any(np.abs(column[3:]) > _ZERO)
    ]


@dataclass(frozen=True)
class ContactMotion:
    """Motion of the tools in the contacts' directions.

    Attributes:
        J: S^T J (d, n).
        bias: The rate of S^T J times qd (d,).
    """

    J: Matrix
    bias: list[Scalar]


def contact_velocity(
    points: Sequence[ContactPoint],
    pose: Transform,
    X0: Sequence[Transform],
    v: Sequence[Motion],
) -> list[Scalar]:
    """Return S^T J qd (d,) of all contacts from the velocities of the bodies."""
    result: list[Scalar] = []
    for point in points:
        velocity = point.frame(pose, X0) * v[point.link.body]
        result += times(point.selection, velocity.components())
    return result


def contact_motion(
    model: Model,
    points: Sequence[ContactPoint],
    pose: Transform,
    omega: Vector3,
    Xup: Sequence[Transform],
    X0: Sequence[Transform],
    v: Sequence[Motion],
    avp: Sequence[Motion],
    gravity: Vector3,
) -> ContactMotion:
    """Return S^T J (15) and its rate times qd (29).

    Args:
        model: The arms.
        points: The contacts.
        pose: Pose of the object.
        omega: Its angular velocity in object axes.
        Xup: Transforms from each body's parent to the body.
        X0: Transforms from world to body coordinates.
        v: Velocities of the bodies, in body coordinates.
        avp: Their accelerations at qdd = 0, minus gravity included.
        gravity: The acceleration of gravity.
    """
    J: Matrix = []
    bias: list[Scalar] = []
    for point in points:
        body, frame = point.link.body, point.frame(pose, X0)
        of_tool = jacobian_in_frame(model, body, Xup, frame)
        columns = [times(point.selection, column) for column in zip(*of_tool, strict=True)]
        J += [list(row) for row in zip(*columns, strict=True)]
        velocity = frame * v[body]
        g = point.E * (pose.E * gravity)
        rate = classical_acceleration(frame * avp[body], velocity, g)
        # S turns with the object: its rate times u is S^T (u x omega), for both halves of u.
        w = point.E * omega
        drift = [*velocity.angular.cross(w), *velocity.linear.cross(w)]
        bias += times(point.selection, [a + b for a, b in zip(rate, drift, strict=True)])
    return ContactMotion(J, bias)


_FINITE = 1e-9  # relative regularization that keeps factors finite at a singularity


def manipulability_gradient(
    model: Model,
    points: Sequence[ContactPoint],
    pose: Transform,
    Xup: Sequence[Transform],
    X0: Sequence[Transform],
) -> list[Scalar]:
    """Return the gradient (n,) of the sum over the arms of log sqrt(det(J J^T)) [1/rad].

    Contact directions are assumed to turn with the tools.

    Args:
        model: The arms.
        points: Their contacts.
        pose: Pose of the object.
        Xup: Transforms from each body's parent to the body.
        X0: Transforms from world to body coordinates.
    """
    gradient: list[Scalar] = [0.0] * model.nv
    for point in points:
        columns = columns_in_frame(model, point.link.body, Xup, point.frame(pose, X0))
        joints = sorted(columns)
        S = point.selection
        J: Matrix = [times(S, columns[j].components()) for j in joints]  # by columns
        rows = [list(row) for row in zip(*J, strict=True)]
        A = [[dot(rows[i], rows[l]) for l in range(i + 1)] for i in range(len(rows))]
        of_A = factor([[*row[:-1], row[-1] * (1.0 + _FINITE)] for row in A])
        Y = [of_A.solve(column) for column in J]
        for before, i in enumerate(joints):
            for j in joints[before + 1 :]:
                change = times(S, columns[i].cross(columns[j]).components())
                gradient[j] = gradient[j] + dot(Y[before], change)
    return gradient
