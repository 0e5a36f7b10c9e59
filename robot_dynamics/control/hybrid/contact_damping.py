# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The damping of each contact, and what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.control.normal_damping import gain_warnings, normal_damping
from robot_dynamics.control.settings import ControlSettings
from robot_dynamics.manipulation.hybrid import HybridSystem, surface_masses
from robot_dynamics.model import pose
from robot_dynamics.spatial import Rotation

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ContactDamping:
    """Damping of the motion into each surface.

    Attributes:
        values: b (C,) [N s/m].
        warnings: Sentences about gains that bounce; none if all is well.
    """

    values: Array
    warnings: tuple[str, ...]


def contact_damping(
    system: HybridSystem, settings: ControlSettings, q: Array, start: Array
) -> ContactDamping:
    """Return the damping that settings ask for.

    By default it is what a force servo of the gain needs against elastic walls, for what arms and
    object weigh along each surface's normal; the literal law has none.

    Args:
        system: Arms, object and surfaces.
        settings: Gains, period and delay.
        q: Positions of all joints of the arms (nq,), in the order of their model.
        start: Pose of the object, x y z qx qy qz qw (7,).
    """
    contact = settings.contact_force
    if not system.environment.surfaces:
        return ContactDamping(np.zeros(0), ())
    E = Rotation.from_quaternion(*start[3:].tolist())
    at = pose(start[:3], np.array([list(row) for row in E.transpose().rows]))
    masses = surface_masses(system.terms(q, np.zeros_like(q), at, np.zeros(6)))
    latency = (settings.command_delay_periods + 0.5) * settings.period
    values: list[float] = []
    warnings: list[str] = []
    for mass in masses.tolist():
        if contact.law == "damped" and contact.damping is None:
            found = normal_damping(mass, contact.bandwidth, latency)
            values.append(found.damping)
            warnings += found.warnings
        else:
            own = 0.0 if contact.law == "literal" else contact.damping or 0.0
            values.append(own)
            warnings += gain_warnings(mass, contact.bandwidth, own)
    return ContactDamping(np.array(values), tuple(warnings))
