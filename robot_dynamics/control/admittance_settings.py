# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What a user states about how the reference of a held object gives way to wrenches."""

from __future__ import annotations

from dataclasses import dataclass, field

from robot_dynamics.manipulation.contact_settings import Triple
from robot_dynamics.manipulation.contact_settings import number as _number


@dataclass(frozen=True)
class AdmittanceSettings:
    """How the reference of the object gives way to wrenches from outside, by world axis.

    Attributes:
        inertia: M of the displacement e of the reference, along the world's axes x y z [kg].
        damping: D of its velocity, likewise [N s/m].
        stiffness: K, likewise [N/m]; 0 where the reference stays where it was pushed to.
        rotational_inertia: Of its rotation, about the world's axes x y z [kg m^2].
        rotational_damping: Likewise [N m s/rad].
        rotational_stiffness: Likewise [N m/rad]; 0 where it stays.
        wrench_bandwidth: Of the filter of first order that the measured wrench passes [rad/s].
        dead_band_n: Force that counts as none, and is taken from larger ones [N].
        dead_band_nm: Likewise the moment about the object's origin [N m].
        largest_n: Largest force that counts; what is more is cut [N].
        largest_nm: Likewise the moment [N m].
        largest_displacement_m: How far the reference gives way along each axis [m].
        largest_displacement_rad: About each axis [rad].
        largest_speed: How fast it does along each axis [m/s].
        largest_angular_speed: About each axis [rad/s].
        surface_stiffness: Stiffest surface that the object may be pressed on [N/m]: what would
            chatter there is refused.
        rotational_surface_stiffness: Likewise of what resists its rotation [N m/rad].
    """

    inertia: Triple = field(default=(20.0, 20.0, 20.0), metadata={"unit": "kg", "above": 0.0})
    damping: Triple = field(
        default=(600.0, 600.0, 600.0), metadata={"unit": "N s/m", "above": 0.0}
    )
    stiffness: Triple = field(
        default=(1000.0, 1000.0, 1000.0), metadata={"unit": "N/m", "minimum": 0.0}
    )
    rotational_inertia: Triple = field(
        default=(1.0, 1.0, 1.0), metadata={"unit": "kg m^2", "above": 0.0}
    )
    rotational_damping: Triple = field(
        default=(20.0, 20.0, 20.0), metadata={"unit": "N m s/rad", "above": 0.0}
    )
    rotational_stiffness: Triple = field(
        default=(50.0, 50.0, 50.0), metadata={"unit": "N m/rad", "minimum": 0.0}
    )
    wrench_bandwidth: float = _number(100.0, "rad/s", above=0.0)
    dead_band_n: float = _number(0.5, "N", minimum=0.0)
    dead_band_nm: float = _number(0.05, "N m", minimum=0.0)
    largest_n: float = _number(50.0, "N", above=0.0)
    largest_nm: float = _number(5.0, "N m", above=0.0)
    largest_displacement_m: float = _number(0.1, "m", above=0.0)
    largest_displacement_rad: float = _number(0.3, "rad", above=0.0, maximum=1.0)
    largest_speed: float = _number(0.1, "m/s", above=0.0)
    largest_angular_speed: float = _number(0.3, "rad/s", above=0.0)
    surface_stiffness: float = _number(2e4, "N/m", above=0.0)
    rotational_surface_stiffness: float = _number(200.0, "N m/rad", above=0.0)
