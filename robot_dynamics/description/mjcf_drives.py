# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Actuators of MJCF as drives of joints, with the largest effort that they allow."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from robot_dynamics.description.mjcf_source import MjcfSource, listed


@dataclass
class JointDrives:
    """Drives of the joints of a model.

    Attributes:
        stated: Whether the file has actuators.
        efforts: Largest effort of each driven joint, by its index [N m or N].
        armatures: Reflected inertia of its actuators [kg m^2 or kg].
    """

    stated: bool
    efforts: dict[int, float] = field(default_factory=dict)
    armatures: dict[int, float] = field(default_factory=dict)

    def active(self, joint: int) -> bool | None:
        """Return whether a joint has a drive; None if the file has no actuators."""
        return joint in self.efforts if self.stated else None

    def effort(self, joint: int) -> float:
        """Return the largest effort of a joint's drive; infinite if it is not stated."""
        return self.efforts.get(joint, math.inf)

    def armature(self, joint: int) -> float:
        """Return the reflected inertia of a joint's actuators."""
        return self.armatures.get(joint, 0.0)


def read_drives(source: MjcfSource) -> JointDrives:
    """Return the drives of a model; actuators that drive no single joint are listed.

    Efforts of several actuators of one joint add up. A range of efforts that is not symmetric
    counts with its smaller side, with a warning; a side of zero does not count.
    """
    m = source.model
    drives, others, uneven = JointDrives(bool(m.nu)), [], []
    damped = []
    for actuator in range(m.nu):
        name = source.stated_name("actuator", actuator) or f"actuator_{actuator}"
        joint = int(m.actuator_trnid[actuator][0])
        transmission = source.kind("Trn", m.actuator_trntype[actuator])
        if transmission not in ("joint", "jointinparent") or source.kind(
            "Joint", m.jnt_type[joint]
        ) not in ("hinge", "slide"):
            others.append(name)
            continue
        gear = float(m.actuator_gear[actuator][0])
        low, high = _range(source, actuator)
        if not math.isclose(-low, high) and math.isfinite(low + high):
            uneven.append(name)
        effort = abs(gear) * _size(low, high)
        drives.efforts[joint] = drives.efforts.get(joint, 0.0) + effort
        rotor = gear * gear * float(m.actuator_armature[actuator])
        drives.armatures[joint] = drives.armatures.get(joint, 0.0) + rotor
        if np.any(m.actuator_damping[actuator]) or np.any(m.actuator_dampingpoly[actuator]):
            damped.append(name)
    for joint in drives.efforts:
        if m.jnt_actfrclimited[joint]:
            bound = _size(*(float(x) for x in m.jnt_actfrcrange[joint]))
            drives.efforts[joint] = min(drives.efforts[joint], bound)
        if drives.efforts[joint] == 0.0:
            drives.efforts[joint] = math.inf
    for names, message in (
        (others, "actuators that do not drive one hinge or slide are left out"),
        (uneven, "ranges of effort that are not symmetric count with their smaller side"),
        (damped, "damping of actuators is left out"),
    ):
        if names:
            source.diagnosis.warning(source.file, "", f"{message}: {listed(names)}")
    carrying = [source.kind("Joint", kind) for kind in m.jnt_type]
    if not drives.stated and any(kind != "free" for kind in carrying):
        source.diagnosis.warning(
            source.file, "", "has no actuators, every joint but free ones is taken to have a drive"
        )
    return drives


def _range(source: MjcfSource, actuator: int) -> tuple[float, float]:
    """Return the smallest and largest force of an actuator [N m or N], before its gear."""
    m = source.model
    low, high = -math.inf, math.inf
    if m.actuator_forcelimited[actuator]:
        low, high = (float(x) for x in m.actuator_forcerange[actuator])
    direct = (
        source.kind("Gain", m.actuator_gaintype[actuator]) == "fixed"
        and source.kind("Bias", m.actuator_biastype[actuator]) == "none"
        and source.kind("Dyn", m.actuator_dyntype[actuator]) == "none"
    )
    if direct and m.actuator_ctrllimited[actuator]:
        gain = float(m.actuator_gainprm[actuator][0])
        ends = sorted(gain * float(x) for x in m.actuator_ctrlrange[actuator])
        low, high = max(low, ends[0]), min(high, ends[1])
    return low, high


def _size(low: float, high: float) -> float:
    """Return the smaller side of a range, of those that are not zero."""
    sides = [abs(side) for side in (low, high) if side]
    return min(sides, default=0.0)
