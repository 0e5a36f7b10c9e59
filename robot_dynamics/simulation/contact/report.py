# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reports of contacts: mode, forces, slip and gap; and the energy balance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.manipulation.hybrid import FrictionCone


class ContactMode(Enum):
    """Whether a contact holds, is open, sticks or slides."""

    HELD = "held"  # it cannot open
    OPEN = "open"
    STICKING = "sticking"
    SLIDING = "sliding"


class ContactReport(NamedTuple):
    """One contact at the end of a control period, in its own axes.

    The frame of an arm's contact is on the object, z into it; forces act by the arm on the object.
    The z axis of a point on a surface is the surface's normal, out of the surface; forces act by
    the surface on the object. Forces of a hinge or a line act on the object along the axes of its
    frame, friction and damping included.

    Attributes:
        name: Name of the arm or the surface.
        state: Its mode.
        point: Its position in the world (3,) [m].
        axes: Tangents and normal in the world, as rows (3, 3).
        force: Force along these axes (3,) [N]: mean over the control period, impacts included; in
            MuJoCo at the end of the period.
        moment: Moment about the point along these axes (3,) [N m], as the force; of a pad in the
            last time step.
        slip: Velocity of the object relative to the arm or the world, along the tangents (2,)
            [m/s].
        spin: Relative angular velocity about the normal [rad/s].
        gap: Distance [m]; negative if the contact is pressed in, infinite for a point of shapes
            that are not near.
        cone: Its friction cone; None if it cannot slip.
        impacts: Number of impacts since the start.
        tilt: Angle between the z axes of arm and object of an arm's contact [rad].
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
    """Return the used part of a contact's friction (...,): tangential force over mu f_n.

    It is 0 without a normal force, and infinite for a tangential force without friction. A soft
    finger's moment counts.

    Args:
        cone: The friction cone; None if it cannot slip.
        wrenches: Moment and force along the contact's axes (..., 6).
    """
    pressed = wrenches[..., 3:].any(axis=-1)
    return np.where(pressed, 0.0 if cone is None else cone.used(wrenches), 0.0)


def tilt_of(axis: Array) -> float:
    """Return the angle [rad] between a contact's z axis and a unit vector (3,) in its axes."""
    x, y, z = axis.tolist()
    return math.atan2(math.hypot(x, y), z)


def held(name: str, point: Array, axes: Array, force: Array, moment: Array) -> ContactReport:
    """Return the report of a contact that cannot open."""
    still = np.zeros(2)
    return ContactReport(
        name, ContactMode.HELD, point, axes, force, moment, still, 0.0, 0.0, None, 0
    )


@dataclass(frozen=True)
class EnergyBooks:
    """Work since the start [J]; energy taken by a contact is negative.

    Kinetic and potential energy change by the sum, to the accuracy of the time steps.

    Attributes:
        drives: Work of joint forces, without springs of the joints and brakes.
        joint_friction: Work of friction in joints.
        contact_friction: Work of friction in contacts, impacts included.
        impacts: Work of the normals of rigid contacts.
        elastic: Work of the normals of elastic contacts and of the moments of pads: the negative
            of the stored and the lost energy.
        holding: Work of contacts and loops that hold: rounding and the time steps' error.
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
