# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Masses that are added to a simulated object or taken away while it is held."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.simulation.faults import interval_of
from robot_dynamics.simulation.settings import PayloadSettings
from robot_dynamics.spatial import Inertia
from robot_dynamics.spatial.vector3 import Symmetric3, Vector3, cross_products


def payload_schedule(
    payloads: Sequence[PayloadSettings], period: float
) -> list[tuple[int, tuple[PayloadSettings, ...]]]:
    """Return the payloads on the object from each control period on in which they change.

    Args:
        payloads: All of them.
        period: Control period [s].
    """
    stays = [interval_of(one.time_s, one.duration_s, period) for one in payloads]
    changes = sorted({0, *(at for ends in stays for at in ends if np.isfinite(at))})
    return [
        (
            int(at),
            tuple(
                one for one, (begin, end) in zip(payloads, stays, strict=True) if begin <= at < end
            ),
        )
        for at in changes
    ]


def with_payloads(system: GraspSystem, payloads: Sequence[PayloadSettings]) -> GraspSystem:
    """Return a system with point masses on its object.

    Args:
        system: Arms and object.
        payloads: The masses; their times are not used.

    Raises:
        RobotDynamicsError: If the object has no positive mass or inertia with them.
    """
    if not payloads:
        return system
    total = system.model.bodies[system.object_body].inertia
    for one in payloads:
        center = Vector3.of(one.center)
        total = total + Inertia.from_center_of_mass(one.mass, center, Symmetric3.zero())
    about_center = np.full((3, 3), -1.0)
    if total.mass > 0.0:
        center = total.h * (1.0 / total.mass)
        about_center = np.array(
            (total.I + cross_products(center, total.h, Vector3.zero())).rows(), dtype=float
        )
    if not np.linalg.eigvalsh(about_center)[0] > 0.0:
        raise RobotDynamicsError(
            f"plant.payloads: from {max(one.time_s for one in payloads):g} s on the object has a "
            f"mass of {total.mass:g} kg with principal moments that are not all positive; "
            "expected payloads that leave a rigid body."
        )
    return system.with_object(inertia=total)
