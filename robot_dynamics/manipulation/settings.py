# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What a user states about a work cell: robots, arms, and the object they hold."""

from __future__ import annotations

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
    """A robot description and where it stands.

    Attributes:
        urdf: File, relative to the scenario or as package://NAME/PATH.
        prefix: Put before the names of its links and joints.
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
        compensates_gravity: Whether it holds the arm up on its own, so that commands leave that
            torque out.
        without_commands: What it does when commands stop: brake, zero torque, or hold the last
            torque for ever.
    """

    compensates_gravity: bool | None = None
    without_commands: Literal["brake", "zero", "hold"] | None = None


@dataclass(frozen=True)
class SensorToolSettings:
    """The tool that a wrist sensor carries, as far as its driver does not subtract the weight.

    The tool is part of the robot's description all the same. Its weight is subtracted as at rest;
    what its acceleration takes is not.

    Attributes:
        mass: Its mass [kg].
        center: Centre of mass in the frame of the arm's `tool` link [m].
    """

    mass: float = field(default=0.0, metadata={"unit": "kg", "minimum": 0.0})
    center: Triple = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class ArmSettings:
    """An arm and its grasp.

    Attributes:
        name: Its name, which is that of its topics.
        tool: The link that holds the object, prefix included.
        grasp: Pose of the tool link in the object while it is held.
        posture: Joint positions [rad or m], base to tip, or of the drives in their order, from
            which the start configuration is found; the arms then stay near where they start.
        load_share: Part of the object's load that this arm carries; the shares add up to 1.
        contact: What the grasp can exert; "rigid" by default.
        drive: What its drive does by itself.
        sensor_frame: The link in whose frame its wrist sensor measures, prefix included, where its
            messages name none; `tool` by default.
        sensor_tool: The tool that its wrist sensor carries; none by default.
        drives: Joints that move an arm with internal closed chains, in the order of its topics,
            prefix included; all joints of an arm without.
        passive_joints: About where other joints of its loops are at the posture [rad or m], by
            name; zero by default. They select the assembly mode of a linkage.
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


@dataclass(frozen=True)
class ObjectJointSettings:
    """The joint between the parts of an object, and the second part, which the second arm holds.

    At the start the joint's frames coincide: the second part's link is where the joint is.

    Attributes:
        type: "fixed" is a rigid joint, whose force is controlled all the same.
        urdf: File with the second part, one rigid body; its link's frame is that of the joint.
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
            raise ArgumentError("the axis of the object's joint is zero; expected a direction.")


@dataclass(frozen=True)
class ObjectSettings:
    """The held object.

    Attributes:
        urdf: File with one rigid body.
        xyz: Position of its root link at the start [m].
        rpy: Orientation at the start [rad].
        mass: Replaces the file's mass [kg], the inertia scaled alike; of both parts together.
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
        arms: Which of their links hold the object, and how.
        object: The object.
        gravity: Acceleration of gravity in the world [m/s^2].
        surfaces: What of the world the object may touch.
        coordinates: What is controlled along the surfaces, six less the forces of all surfaces;
            none by default, which leaves the choice to the law.
    """

    robots: tuple[RobotSettings, ...]
    arms: tuple[ArmSettings, ...]
    object: ObjectSettings
    gravity: Triple = (0.0, 0.0, -9.81)
    surfaces: tuple[SurfaceSettings, ...] = ()
    coordinates: tuple[CoordinateSettings, ...] = ()

    def __post_init__(self) -> None:
        names = [surface.name for surface in self.surfaces]
        for name in names:
            if names.count(name) > 1:
                raise ArgumentError(
                    f"two surfaces are called {name!r}; expected a name for each of its own."
                )
        left = 6 - sum(surface.rows for surface in self.surfaces)
        if self.coordinates and len(self.coordinates) != left:
            raise ArgumentError(
                f"{len(self.coordinates)} coordinates beside surfaces with {6 - left} forces; "
                f"expected {left}, which make six together, or none: then the law chooses."
            )
