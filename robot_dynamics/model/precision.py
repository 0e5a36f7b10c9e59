# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Precision of the placements of a mechanism, from the decimals of their numbers.

A length of 0.3 m is exact; a length of 0.31623 m, or an angle of 1.5708 rad, was rounded when it
was written. A number with all digits of double precision gives no precision.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.model.elements import Mechanism

# Numbers with fewer digits and decimals count as exact. Angles and components of axes are rarely
# round numbers.
_LENGTH_DIGITS, _ANGLE_DIGITS = 5, 3
_MOST_DECIMALS = 11
_ROUNDING = 1e-14  # of angles that are computed back from a matrix


def placement_precision(mechanism: Mechanism) -> float:
    """Return the unit of the last decimal of rounded placements [m, rad]; 0.0 if all are exact.

    It is the coarsest unit of origins, angles (roll, pitch and yaw) and axes.
    """
    units = [0.0]
    for joint in mechanism.joints:
        units += [_unit(joint.axis, _ANGLE_DIGITS), _unit_of_pose(joint.placement)]
    for loop in mechanism.loops:
        units += [_unit_of_pose(loop.predecessor_pose), _unit_of_pose(loop.successor_pose)]
    return max(units)


def _unit_of_pose(frame: Array) -> float:
    R = frame[:3, :3]
    # The same rotation has two sets of roll, pitch and yaw: only one has few decimals.
    horizontal = np.hypot(R[0, 0], R[1, 0])
    sets = [
        (
            np.arctan2(side * R[2, 1], side * R[2, 2]),
            np.arctan2(-R[2, 0], side * horizontal),
            np.arctan2(side * R[1, 0], side * R[0, 0]),
        )
        for side in (1.0, -1.0)
    ]
    turned = max(_unit(angles, _ANGLE_DIGITS) for angles in sets)
    return max(_unit(frame[:3, 3], _LENGTH_DIGITS), turned)


def _unit(values: Iterable[float], digits: int) -> float:
    """Return the coarsest unit of numbers with `digits` digits or more; 0.0 if one has all."""
    unit = 0.0
    for value in values:
        for decimals in range(_MOST_DECIMALS + 1):
            shortened = round(float(value), decimals)
            if abs(value - shortened) <= _ROUNDING * max(1.0, abs(value)):
                break
        else:
            return 0.0
        significant = len(str(round(abs(shortened) * 10**decimals)))
        if max(decimals, significant) >= digits:
            unit = max(unit, 10.0**-decimals)
    return unit
