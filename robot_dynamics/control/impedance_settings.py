# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Settings of springs and dampers of a held object."""

from __future__ import annotations

from dataclasses import dataclass, field

from robot_dynamics.manipulation.contact_settings import Triple
from robot_dynamics.manipulation.contact_settings import number as _number


@dataclass(frozen=True)
class ImpedanceSettings:
    """Springs and dampers between the object and its reference, and between the hands.

    Attributes:
        stiffness: K of the position of the object's origin, along the world's axes x y z [N/m]: a
            constant force on the object moves it by the force over this.
        damping: D of its velocity along these axes [N s/m].
        rotational_stiffness: K of the object's orientation, about the world's axes x y z [N
            m/rad].
        rotational_damping: D of its angular velocity [N m s/rad].
        internal_stiffness: Stiffness of the distances between the hands [N/m]: change of an
            internal force if hands are further apart, or closer, than their grasps. Stability of
            the springs between the hands is not checked, because the object keeps the hands in
            place; they only have upper bounds.
        internal_damping: Damping of the distances between the hands [N s/m].
        internal_rotational_stiffness: Stiffness of the angles between the hands [N m/rad].
        internal_rotational_damping: Damping of the angles between the hands [N m s/rad].
    """

    stiffness: Triple = field(
        default=(2000.0, 2000.0, 2000.0), metadata={"unit": "N/m", "minimum": 0.0}
    )
    damping: Triple = field(
        default=(500.0, 500.0, 500.0), metadata={"unit": "N s/m", "minimum": 0.0}
    )
    rotational_stiffness: Triple = field(
        default=(100.0, 100.0, 100.0), metadata={"unit": "N m/rad", "minimum": 0.0}
    )
    rotational_damping: Triple = field(
        default=(20.0, 20.0, 20.0), metadata={"unit": "N m s/rad", "minimum": 0.0}
    )
    internal_stiffness: float = _number(2e4, "N/m", minimum=0.0, maximum=1e6)
    internal_damping: float = _number(200.0, "N s/m", minimum=0.0, maximum=1e4)
    internal_rotational_stiffness: float = _number(200.0, "N m/rad", minimum=0.0, maximum=1e4)
    internal_rotational_damping: float = _number(2.0, "N m s/rad", minimum=0.0, maximum=100.0)
