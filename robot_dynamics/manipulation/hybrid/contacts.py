# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Contacts between end-effectors and object: the directions S_i in which forces act (8), (9).

A contact's frame is fixed to the object, its z axis along the inward normal. A direction is one in
which a force can act and relative motion is blocked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.errors import ArgumentError, RobotDynamicsError, UnknownNameError
from robot_dynamics.manipulation.hybrid.friction import ContactLimits

Array = NDArray[np.float64]

# Six-vectors are angular first: [mx, my, mz, fx, fy, fz].
_NAMES = ("mx", "my", "mz", "fx", "fy", "fz")
#: What each kind of contact can transmit.
KINDS = {
    "rigid": ("mx", "my", "mz", "fx", "fy", "fz"),
    "soft finger": ("fx", "fy", "fz", "mz"),
    "frictional point": ("fx", "fy", "fz"),
    "frictionless point": ("fz",),
    "pin": ("fx", "fy", "fz", "mx", "my"),  # turns about z
    "line": ("fx", "fy", "fz", "my", "mz"),  # a line along x: rolls about it
}
# A direction counts as one that forces span if the rest is smaller than this part of it.
_INDEPENDENT = 1e-9


@dataclass(frozen=True)
class Contact:
    """A contact.

    Attributes:
        pose: Pose (4, 4) of its frame in the object.
        directions: S (6, d) in its frame: columns are unit wrenches, angular first.
        kind: What it is called.
        limits: What it bears; anything, pulling included, if None.
    """

    pose: Array
    directions: Array
    kind: str
    limits: ContactLimits | None = None

    @classmethod
    def of_kind(cls, kind: str, pose: Array, limits: ContactLimits | None = None) -> Contact:
        """Return a contact of one of `KINDS`, which bears anything unless limits say otherwise.

        Raises:
            UnknownNameError: If there is no such kind.
        """
        if kind not in KINDS:
            raise UnknownNameError("kind of contact", kind, KINDS)
        columns = [_NAMES.index(name) for name in KINDS[kind]]
        return cls(np.asarray(pose, dtype=float), np.eye(6)[:, columns], kind, limits)

    @classmethod
    def of_directions(
        cls, directions: Array, pose: Array, limits: ContactLimits | None = None
    ) -> Contact:
        """Return a contact with the user's own directions (6, d); they are made unit vectors.

        Raises:
            ArgumentError: If they depend on one another.
        """
        S = np.asarray(directions, dtype=float)
        if S.ndim != 2 or S.shape[0] != 6 or np.linalg.matrix_rank(S) < S.shape[1]:
            raise ArgumentError(
                f"contact directions have shape {S.shape}, expected (6, d): independent columns "
                "[moment; force]."
            )
        return cls(np.asarray(pose, dtype=float), S / np.linalg.norm(S, axis=0), "user's", limits)

    def of_free_directions(self) -> Contact:
        """Return the directions in which the contact leaves the hand free: (I - (S^T)^+ S^T).

        They are an orthonormal basis (6, 6 - d) of the velocities that S^T does not see; axes of
        the frame where the contact's own directions are.
        """
        S = self.directions
        free = np.eye(6) - S @ np.linalg.pinv(S)  # a projector
        U, sizes, _ = np.linalg.svd(free)
        basis = U[:, sizes > 0.5]
        axes = np.abs(np.diag(free)) > 0.5
        if np.allclose(free, np.diag(axes), atol=_INDEPENDENT):
            basis = np.eye(6)[:, axes]
        return Contact(self.pose, basis, f"free of {self.kind}")

    def at(self, pose: Array) -> Contact:
        """Return the same kind of contact at another pose (4, 4) in the object."""
        return replace(self, pose=np.asarray(pose, dtype=float))

    def on_object(self) -> Array:
        """Return the wrenches (6, d) on the object, about its frame's origin and in its axes."""
        R, p = self.pose[:3, :3], self.pose[:3, 3]
        turned = np.vstack([R @ self.directions[:3], R @ self.directions[3:]])
        turned[:3] += np.cross(p, turned[3:], axisa=0, axisb=0, axisc=0)
        return turned


def wrench_map(contacts: Sequence[Contact], center: Array) -> Array:
    """Return W_S (6, d) in the object's axes, about a point: constant while the grasp holds (11).

    Args:
        contacts: The contacts.
        center: The point in the object [m]: its centre of mass.
    """
    W = np.hstack([contact.on_object() for contact in contacts])
    W[:3] -= np.cross(np.asarray(center), W[3:], axisa=0, axisb=0, axisc=0)
    return W


def contact_wrenches(contacts: Sequence[Contact], forces: Array) -> Array:
    """Return the wrenches (..., k, 6) of contact forces (..., d), in the contacts' frames."""
    wrenches, start = [], 0
    for contact in contacts:
        at = slice(start, start + contact.directions.shape[1])
        start = at.stop
        wrenches.append(forces[..., at] @ contact.directions.T)
    return np.stack(wrenches, axis=-2)


def moment_directions(contacts: Sequence[Contact]) -> NDArray[np.bool_]:
    """Return which contact forces (d,) are moments: their directions have no force."""
    S = np.hstack([contact.directions for contact in contacts])
    return np.asarray(np.linalg.norm(S[3:], axis=0) == 0.0)


def require_force_closure(contacts: Sequence[Contact], length: float) -> None:
    """Check that the contacts can make every wrench on the object: W_S has rank six.

    Whether they can push only, and slip, is another question.

    Args:
        contacts: The contacts.
        length: Length [m] at which a rotation counts like a displacement.

    Raises:
        RobotDynamicsError: If they cannot; it tells which motion of the object they leave free.
    """
    points = np.mean([contact.pose[:3, 3] for contact in contacts], axis=0)
    W = wrench_map(contacts, points)
    scaled = np.vstack([W[:3] / length, W[3:]])
    U, s, _ = np.linalg.svd(scaled, full_matrices=True)
    rank = int(np.sum(s > _INDEPENDENT * s[0]))
    if rank == 6:
        return
    kinds = ", ".join(contact.kind for contact in contacts)
    free = [_in_words(u[:3] / length, u[3:], points) for u in U[:, rank:].T]
    raise RobotDynamicsError(
        f"the grasp ({kinds}) spans {rank} of 6 directions and cannot control "
        f"{' and '.join(free)} of the object."
    )


def _in_words(omega: Array, v: Array, point: Array) -> str:
    """Return a motion, as it is at a point, in words."""
    speed = float(np.linalg.norm(omega))
    if speed < _INDEPENDENT * max(float(np.linalg.norm(v)), 1e-300):
        return f"the translation along {_numbers(v / np.linalg.norm(v))}"
    through = point + np.cross(omega, v) / speed**2
    axis = f"about {_numbers(omega / speed)} through {_numbers(through)} m"
    pitch = float(omega @ v) / speed**2
    if abs(pitch) < _INDEPENDENT:
        return f"the rotation {axis}"
    return f"the screw motion {axis} with a pitch of {pitch:.3g} m/rad"


def _numbers(values: Array) -> str:
    rounded = np.round(values, 3) + 0.0  # no minus zeros
    return "(" + ", ".join(f"{value:g}" for value in rounded) + ")"
