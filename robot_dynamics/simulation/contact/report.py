# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What can be asked of contacts: their state, forces, slip and gaps, and where energy went."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.manipulation.hybrid import FrictionCone

Array = NDArray[np.float64]


class ContactMode(Enum):
    """The state of a contact."""

    HELD = "held"  # it cannot open
    OPEN = "open"
    STICKING = "sticking"
    SLIDING = "sliding"


class ContactReport(NamedTuple):
    """One contact at one instant; axes are those of the contact.

    An arm's contact has its frame on the object, z into it, and forces are by the arm on the
    object. A point on a surface has the surface's normal as its z, out of the surface, and forces
    are by the surface on the object: those on the surface are their opposites. So are those of a
    hinge or a line, which are along the axes of its frame; friction and damping are in them.

    Attributes:
        name: Of the arm or the surface.
        state: Whether it holds, is open, sticks or slides.
        point: Where it is in the world (3,) [m].
        axes: Tangents and normal in the world, as rows (3, 3).
        force: Along these axes (3,) [N]: those of an arm include impacts, as a mean over the
            control period.
        moment: About the point, likewise (3,) [N m].
        slip: Velocity of the object relative to the arm or the world, along the tangents (2,)
            [m/s].
        spin: The same about the normal [rad/s].
        gap: Distance [m]; negative where the contact is pressed in, infinite for a point of shapes
            that are not near.
        cone: What it can bear along the tangents; None if it cannot slip.
        impacts: Number of impacts since the start.
        tilt: Of an arm's contact the angle between the z axes of arm and object [rad].
    """

    name: str
    state: ContactMode
    point: Array
    axes: Array
    force: Array
    moment: Array
    slip: Array
    spin: float
    gap: float
    cone: FrictionCone | None
    impacts: int
    tilt: float = 0.0

    @property
    def friction_used(self) -> float:
        """Part of the friction that is used; see `friction_used`."""
        return float(friction_used(self.cone, np.concatenate([self.moment, self.force])))


def friction_used(cone: FrictionCone | None, wrenches: Array) -> Array:
    """Return which part of a contact's friction is used (...,): tangential force over mu f_n.

    It is 0 if nothing is pressed, and infinite without friction and with a tangential force. That
    of a soft finger counts its moment.

    Args:
        cone: What the contact can bear; None if it cannot slip.
        wrenches: Moment and force along the contact's axes (..., 6).
    """
    pressed = wrenches[..., 3:].any(axis=-1)
    return np.where(pressed, 0.0 if cone is None else cone.used(wrenches), 0.0)


def tilt_of(axis: Array) -> float:
    """Return the angle [rad] between a contact's z axis and a unit vector (3,) in its axes."""
    x, y, z = axis.tolist()
    return math.atan2(math.hypot(x, y), z)


def held(name: str, point: Array, axes: Array, force: Array, moment: Array) -> ContactReport:
    """Return the report of what cannot open."""
    still = np.zeros(2)
    return ContactReport(
        name, ContactMode.HELD, point, axes, force, moment, still, 0.0, 0.0, None, 0
    )


@dataclass(frozen=True)
class EnergyBooks:
    """Work since the start [J]; what a contact takes has a minus.

    Kinetic and potential energy change by the sum of all, to the accuracy of the time steps.

    Attributes:
        drives: By joint forces, springs of the joints and brakes apart.
        joint_friction: By friction of joints.
        contact_friction: By friction of contacts, impacts included.
        impacts: By the normals of rigid contacts.
        elastic: By the normals of elastic contacts, and by the moments of pads: minus what they
            store and what they lose.
        holding: By contacts and loops that hold: only rounding and the time steps' error.
    """

    drives: float = 0.0
    joint_friction: float = 0.0
    contact_friction: float = 0.0
    impacts: float = 0.0
    elastic: float = 0.0
    holding: float = 0.0

    def total(self) -> float:
        """Return the sum."""
        return (
            self.drives
            + self.joint_friction
            + self.contact_friction
            + self.impacts
            + self.elastic
            + self.holding
        )
