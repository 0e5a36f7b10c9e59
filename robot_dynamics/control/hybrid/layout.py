# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Where everything stands in the vectors that go into the hybrid law and come out of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from robot_dynamics.manipulation.hybrid.system import HybridSystem


@dataclass(frozen=True)
class Layout:
    """Numbers of joints, contact directions, surfaces and arms, and the vectors they make.

    Attributes:
        joints: n, of all arms; of arms with internal closed chains, drives.
        directions: d, of all contacts.
        surfaces: C.
        arms: k.
        passive_joints: Joints without drives, which arms with loops have.
        free: f, directions that contacts leave free of the hands, where arms can use them.
    """

    joints: int
    directions: int
    surfaces: int
    arms: int
    passive_joints: int = 0
    free: int = 0

    @classmethod
    def of(cls, system: HybridSystem) -> Layout:
        """Return the layout of a system."""
        return cls(
            len(system.drive_names),
            sum(contact.directions.shape[1] for contact in system.contacts),
            len(system.environment.surfaces),
            len(system.contacts),
            system.arms.nv - len(system.drive_names),
            sum(contact.directions.shape[1] for contact in system.free_directions),
        )

    @property
    def internal(self) -> int:
        """m, of internal forces."""
        return self.directions - 6

    @cached_property
    def reference(self) -> Mapping[str, slice]:
        """A row of what is to be done.

        Pose x y z qx qy qz qw, twist and acceleration of the object's origin in world axes;
        forces on the surfaces; 1 for those that are to be touched; internal force; and the forces
        that the measured ones are compared with, which were wanted when they were made.
        """
        C, m = self.surfaces, self.internal
        return _slices(
            pose=7,
            twist=6,
            acceleration=6,
            contact=C,
            wanted=C,
            internal=m,
            compared_contact=C,
            compared_internal=m,
        )

    @cached_property
    def memory(self) -> Mapping[str, slice]:
        """What a step leaves for the next one.

        The object's centre of mass and quaternion, its twist in its axes; integrals; for each
        surface whether it is touched and for how long there was no force; the accelerations that
        were wanted of object and joints, and their changes since the step before; the last torque;
        and where joints without drives were.
        """
        C, n = self.surfaces, self.joints
        return _slices(
            place=7,
            twist=6,
            pose_integral=6,
            contact_integral=C,
            internal_integral=self.internal,
            touched=C,
            without=C,
            acceleration=6,
            joint_acceleration=n,
            acceleration_change=6,
            joint_acceleration_change=n,
            torque=n,
            passive_joints=self.passive_joints,
        )

    @cached_property
    def found(self) -> Mapping[str, slice]:
        """What a step found out; see `HybridStep`."""
        C = self.surfaces
        return _slices(
            pose=7,
            twist=6,
            error=6,
            closure=6 * (self.arms - 1),
            internal_force=self.internal,
            contact_force=C,
            touched=C,
            distance=C,
            support=self.joints,
            scales=8,
            measured_contact_forces=self.directions,
            asked=6,
            exerted=6,
            pushed=6,
            unexplained=6,
            needed=2 * self.joints,
            grip=self.joints * self.internal,
            linkage=3 if self.passive_joints else 0,
        )

    @cached_property
    def sensed(self) -> Mapping[str, slice]:
        """Which sensors there are: of grasp wrenches, of surface forces; and the latter."""
        return _slices(wrenches=1, contact=1, forces=self.surfaces)

    @staticmethod
    def size(parts: Mapping[str, slice]) -> int:
        """Return the length of a vector of parts."""
        return max(part.stop for part in parts.values())


def _slices(**sizes: int) -> Mapping[str, slice]:
    result, start = {}, 0
    for name, size in sizes.items():
        result[name] = slice(start, start + size)
        start += size
    return result
