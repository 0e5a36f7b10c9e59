# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Settings of the admittance of a held object."""

from __future__ import annotations

from dataclasses import dataclass, field

from robot_dynamics.manipulation.contact_settings import Triple
from robot_dynamics.manipulation.contact_settings import number as _number


@dataclass(frozen=True)
class AdmittanceSettings:
    """Admittance of the object's reference to external wrenches, by world axis.

    Attributes:
        inertia: M of the displacement e of the reference, along the world's axes x y z [kg].
        damping: D of its velocity along these axes [N s/m].
        stiffness: K along these axes [N/m]; with 0 the reference stays where it was pushed to.
        rotational_inertia: M of its rotation about the world's axes x y z [kg m^2].
        rotational_damping: D of its angular velocity [N m s/rad].
        rotational_stiffness: K of its rotation [N m/rad]; with 0 the reference does not turn back.
        wrench_bandwidth: Bandwidth of the first-order filter of the measured wrench [rad/s].
        dead_band_n: Dead band of the force, subtracted from larger forces [N].
        dead_band_nm: Dead band of the moment about the object's origin, subtracted from larger
            moments [N m].
        largest_n: Force at which the measured force is cut off [N].
        largest_nm: Moment at which the measured moment is cut off [N m].
        largest_displacement_m: Largest displacement along each axis [m].
        largest_displacement_rad: Largest rotation about each axis [rad].
        largest_speed: Largest speed along each axis [m/s].
        largest_angular_speed: Largest angular speed about each axis [rad/s].
        surface_stiffness: Stiffest surface on which the object may be pressed [N/m]; settings that
            would chatter on it are refused.
        rotational_surface_stiffness: Largest stiffness against rotation of the pressed object [N
            m/rad].
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
