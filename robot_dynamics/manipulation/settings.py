# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Settings of a work cell: robots, arms, and the object that they hold."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from robot_dynamics.errors import ArgumentError
from robot_dynamics.manipulation.contact_settings import (
    ANGLES,
    ContactSettings,
    CoordinateSettings,
    SurfaceSettings,
    Triple,
)


@dataclass(frozen=True)
class PoseSettings:
    """A pose, as in URDF.

    Attributes:
        xyz: Translation [m].
        rpy: Orientation: roll, pitch, yaw about fixed axes [rad].
    """

    xyz: Triple = (0.0, 0.0, 0.0)
    rpy: Triple = field(default=(0.0, 0.0, 0.0), metadata=ANGLES)


@dataclass(frozen=True)
class RobotSettings:
    """A robot description and its place in the world.

    Attributes:
        urdf: File, relative to the scenario or as package://NAME/PATH.
        prefix: Prefix of the names of its links and joints.
        xyz: Position of its root link in the world [m].
        rpy: Orientation of its root link in the world [rad].
        locked: Fixed positions of joints [rad or m], by name without the prefix.
    """

    urdf: str = field(metadata={"path": True})
    prefix: str = ""
    xyz: Triple = (0.0, 0.0, 0.0)
    rpy: Triple = field(default=(0.0, 0.0, 0.0), metadata=ANGLES)
    locked: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class DriveSettings:
    """Behaviour of an arm's drives; defaults are parameters of the nodes.

    Attributes:
        compensates_gravity: Whether it adds the gravity torque, which commands then exclude.
        without_commands: Reaction when commands stop: brake, zero torque, or hold the last torque
            permanently.
    """

    compensates_gravity: bool | None = None
    without_commands: Literal["brake", "zero", "hold"] | None = None


@dataclass(frozen=True)
class SensorToolSettings:
    """The tool that a wrist sensor carries, if its driver does not subtract the weight.

    The tool must be part of the robot's description as well. Its weight at rest is subtracted,
    its inertial force is not.

    Attributes:
        mass: Its mass [kg].
        center: Centre of mass in the frame of the arm's `tool` link [m].
    """

    mass: float = field(default=0.0, metadata={"unit": "kg", "minimum": 0.0, "maximum": 1e3})
    center: Triple = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class ArmSettings:
    """An arm and its grasp.

    Attributes:
        name: Its name, also in its topics.
        tool: The link that holds the object, prefix included.
        grasp: Pose of the tool link in the object while it is held.
        posture: Initial guess of the start configuration [rad or m]: joint positions base to tip,
            or positions of the drives in their order. The self-motion is pulled to the start
            configuration.
        load_share: Share of the object's load that this arm carries; the shares add up to 1.
        contact: Contact of its tool with the object; "rigid" by default.
        drive: Behaviour of its drives.
        sensor_frame: The link in whose frame its wrist sensor measures, prefix included, if its
            messages name none; `tool` by default.
        sensor_tool: The tool that its wrist sensor carries; none by default.
        drives: Joints that move an arm with internal closed chains, in the order of its topics,
            prefix included; empty for other arms, where all joints have drives.
        passive_joints: Approximate positions of the other joints of its loops at the posture
            [rad or m], by name; zero by default. They select the assembly mode of a linkage.
        home: Joint positions at the start of a task, base to tip [rad or m]; needed by `task`
            only.
    """

    name: str
    tool: str
    grasp: PoseSettings
    posture: tuple[float, ...]
    load_share: float = field(default=0.5, metadata={"unit": "", "minimum": 0.0, "maximum": 1.0})
    contact: ContactSettings = field(default_factory=ContactSettings)
    drive: DriveSettings = field(default_factory=DriveSettings)
    sensor_frame: str = ""
    sensor_tool: SensorToolSettings = field(default_factory=SensorToolSettings)
    drives: tuple[str, ...] = ()
    passive_joints: dict[str, float] = field(default_factory=dict)
    home: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if not re.fullmatch("[A-Za-z][A-Za-z0-9_]*", self.name):
            raise ArgumentError(
                f"an arm is named {self.name!r}; expected a letter, then letters, digits and "
                "underscores, as in names of topics."
            )


@dataclass(frozen=True)
class ObjectJointSettings:
    """The joint between the parts of an object, and the second part, which the second arm holds.

    At the start the joint's frames coincide: the second part's link is at the joint.

    Attributes:
        type: Type of the joint; the force in a "fixed" joint is controlled too.
        urdf: File with the second part, one rigid body; its link frame is the joint frame.
        xyz: Position of the joint in the first part [m].
        rpy: Orientation of its frame there [rad].
        axis: Axis of a revolute, prismatic or cylindrical joint in its frame; the axes of a
            universal joint are x of the first part and y of the second.
    """

    type: Literal["spherical", "universal", "revolute", "prismatic", "cylindrical", "fixed"]
    urdf: str = field(metadata={"path": True})
    xyz: Triple = (0.0, 0.0, 0.0)
    rpy: Triple = field(default=(0.0, 0.0, 0.0), metadata=ANGLES)
    axis: Triple = field(default=(0.0, 0.0, 1.0), metadata={"unit": ""})

    def __post_init__(self) -> None:
        if not any(self.axis):
            raise ArgumentError(
                f"the axis of the object's joint is {self.axis}; expected a vector that is not "
                "zero."
            )


@dataclass(frozen=True)
class ObjectSettings:
    """The held object.

    Attributes:
        urdf: File with one rigid body.
        xyz: Position of its root link at the start [m].
        rpy: Orientation at the start [rad].
        mass: Mass of both parts together [kg], instead of the files'; the inertia is scaled too.
        joint: Joint to a second part; a rigid object has none.
    """

    urdf: str = field(metadata={"path": True})
    xyz: Triple
    rpy: Triple = field(default=(0.0, 0.0, 0.0), metadata=ANGLES)
    mass: float | None = field(default=None, metadata={"above": 0.0, "maximum": 1e5, "unit": "kg"})
    joint: ObjectJointSettings | None = None


@dataclass(frozen=True)
class CellSettings:
    """Robots, their arms, and the object between them.

    Attributes:
        robots: The robot descriptions.
        arms: The arms and their grasps.
        object: The object.
        gravity: Acceleration of gravity in the world [m/s^2].
        surfaces: Surfaces of the world that the object can touch.
        coordinates: Coordinates that are controlled along the surfaces: six less the forces of
            all surfaces. By default the law chooses them.
    """

    robots: tuple[RobotSettings, ...]
    arms: tuple[ArmSettings, ...]
    object: ObjectSettings
    gravity: Triple = field(
        default=(0.0, 0.0, -9.81), metadata={"unit": "m/s^2", "minimum": -1e3, "maximum": 1e3}
    )
    surfaces: tuple[SurfaceSettings, ...] = ()
    coordinates: tuple[CoordinateSettings, ...] = ()

    def __post_init__(self) -> None:
        names = [surface.name for surface in self.surfaces]
        for name in names:
            if names.count(name) > 1:
                raise ArgumentError(
                    f"{names.count(name)} surfaces are named {name!r}; expected different names."
                )
        left = 6 - sum(surface.rows for surface in self.surfaces)
        if self.coordinates and len(self.coordinates) != left:
            raise ArgumentError(
                f"{len(self.coordinates)} coordinates with surfaces of {6 - left} forces; "
                f"expected {left} coordinates, or none: the law then chooses them."
            )
