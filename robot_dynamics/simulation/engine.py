# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The interface of simulation engines: a mechanism that moves by one control period at a time.

`RigidEngine` (rigid grasps), `ContactEngine` (grasps and surfaces that slip or open) and
`MujocoEngine` move the arms and the object of a scene; `RobotEngine` and `RobotContactEngine` move
a robot by itself. A `Plant` adds the clock, drives and sensors.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np

from robot_dynamics.arrays import Array, Mask
from robot_dynamics.errors import RobotDynamicsError

if TYPE_CHECKING:
    from robot_dynamics.robot import Robot
    from robot_dynamics.simulation.contact.report import ContactReport


class SimulationError(RobotDynamicsError):
    """The simulation cannot continue; the message states time and cause."""


class Engine(ABC):
    """Moves a mechanism by one control period at a time; starts at rest at its first state.

    Attributes:
        substeps: Integration steps in a control period.
        contact_names: Names and kinds of a robot's contacts; None without.
        recovers: Whether a period that ends in an error leaves the state unchanged.
    """

    substeps: int
    contact_names: tuple[str, ...] | None = None
    recovers: ClassVar[bool] = False

    @abstractmethod
    def begin(self) -> None:
        """Return to the start."""

    @abstractmethod
    def run(self, time: float, torque: Array, wrenches: Mapping[str, Array] | None = None) -> None:
        """Advance by one control period.

        Args:
            time: At which the period begins [s].
            torque: Torques of the driven joints, passive joints after them; of a robot by itself
                joint forces (nv,). Held over the period.
            wrenches: External wrenches (6,) [N m, N] by the name of their link, about its origin,
                angular first, in world axes. They act as their equivalent joint forces at the
                start of the period.

        Raises:
            SimulationError: If the motion grows without bound.
        """

    @abstractmethod
    def sensed(self) -> tuple[Array, Array, Array]:
        """Return true positions and velocities of the measured joints, and wrenches (k, 6)."""

    def contacts(self) -> tuple[ContactReport, ...]:
        """Return a report of each contact: arms, points, environment joints; empty if all hold."""
        return ()

    @abstractmethod
    def save(self) -> tuple[Any, ...]:
        """Return copies of all variables that the next period depends on."""

    @abstractmethod
    def restore(self, saved: Sequence[Any]) -> None:
        """Set the variables that `save` returned."""


class SceneEngine(Engine):
    """Moves the arms and the object of a scene.

    Constructors take the scene, the positions (nq,) of the start (grasps that hold are closed,
    pushing contacts can be apart), the control period [s] and the plant's settings.
    """

    @abstractmethod
    def state(self) -> tuple[Array, Array]:
        """Return all positions and velocities, in the engine's order."""

    @abstractmethod
    def truth(self, torque: Array) -> Truth:
        """Return the true state, given the torque (na,) that was applied."""

    @abstractmethod
    def passive_joints(self) -> tuple[Array, Array]:
        """Return true positions and velocities of the joints without drives.

        In the order of the system's `passive_joint_names`; empty if all joints have drives.
        """


@runtime_checkable
class SticksJoints(Protocol):
    """An engine whose arm joints can be stuck."""

    def stick(self, joints: Mask) -> None:
        """Have these arm joints (na,) stuck in the next control periods, and no others."""


@runtime_checkable
class Grips(Protocol):
    """An engine whose rigid grasps can be open; they start open if tools are away from them."""

    def grip(self, arm: int, closed: bool) -> bool:
        """Close or open the rigid grasp of an arm; return whether it holds the object now.

        It closes within the `reach` of its contact and holds the object at its present pose;
        beyond the reach it does not hold the object.
        """


@runtime_checkable
class PlacesObject(Protocol):
    """An engine whose object can be put elsewhere while no rigid grasp holds it."""

    def place(self, pose: Array, twist: Array) -> None:
        """Put the object at a pose (7,) in the world, with a twist (6,) in world axes.

        Raises:
            ArgumentError: If a grasp holds it, or it would be deep in something.
        """


@runtime_checkable
class Linearizable(Protocol):
    """An engine whose control period has derivatives."""

    @property
    def robot(self) -> Robot:
        """The mechanism, whose `model` has the order of the joints."""

    def linearize(self, torque: Array) -> tuple[Array, Array]:
        """Return A (2 nv, 2 nv) and B (2 nv, na) of a control period from the present state."""


class Truth(NamedTuple):
    """True state of a scene at one control instant; it never reaches a controller.

    Attributes:
        values: The properties below in one row: `closure_position`, `closure_rotation`,
            `correction`, `object_pose`, `object_twist`, pose and twist of a second part,
            `internal_force`.
        torque: Torque applied over the last period (na,) [N m].
        parts: Number of parts of the object: two if it has a joint.
    """

    values: Array
    torque: Array
    parts: int = 1

    @classmethod
    def of(
        cls,
        object_pose: Array,
        object_twist: Array,
        internal_force: Array,
        gaps: Sequence[float],
        torque: Array,
        second_part: Sequence[Array] = (),
    ) -> Truth:
        """Return the true state with the given properties; `gaps` are the first three values."""
        parts = [np.array(gaps), object_pose, object_twist, *second_part, internal_force]
        return cls(np.concatenate(parts), torque, 2 if second_part else 1)

    @property
    def closure_position(self) -> float:
        """Largest distance [m] between the two sides of a grasp that holds."""
        return float(self.values[0])

    @property
    def closure_rotation(self) -> float:
        """Largest angle [rad] between the two sides of a grasp that holds."""
        return float(self.values[1])

    @property
    def correction(self) -> float:
        """Size of the last step's projection of the positions [m or rad]."""
        return float(self.values[CORRECTION])

    @property
    def object_pose(self) -> Array:
        """Pose x y z qx qy qz qw of the object's body frame in the world (7,)."""
        return self.values[3:10]

    @property
    def object_twist(self) -> Array:
        """Angular and linear velocity of the object's origin, world axes (6,)."""
        return self.values[10:16]

    @property
    def second_part(self) -> tuple[Array, ...]:
        """Pose (7,) and twist (6,) of the second part of an object with a joint."""
        return (self.values[16:23], self.values[23:29]) if self.parts == 2 else ()

    @property
    def internal_force(self) -> Array:
        """Internal force (6(k-1),) with the plant's own grasps.

        Or the force in the object's joint on its second part (c,).
        """
        return self.values[3 + 13 * self.parts :]


CORRECTION = 2  # index of `Truth.correction` in `Truth.values`


def copied(of: object, names: Sequence[str]) -> dict[str, Any]:
    """Return copies of some attributes."""
    return {name: copy.deepcopy(getattr(of, name)) for name in names}


def restore(of: object, state: Mapping[str, Any]) -> None:
    """Give attributes the values that `copied` returned."""
    for name, value in state.items():
        setattr(of, name, copy.deepcopy(value))


def grew_without_bound(end: float, reason: Exception | str) -> SimulationError:
    """Return the error of an unbounded motion in the period that ends at a time [s]."""
    return SimulationError(
        f"the simulated motion grew without bound before {end:g} s ({str(reason).rstrip('.')}); "
        "expected torques that keep it bounded, or a shorter step."
    )


def joint_forces_of(robot: Robot, q: Array, wrenches: Mapping[str, Array]) -> Array:
    """Return the joint forces (nv,) of external wrenches in world axes: the sum of J^T w."""
    total = np.zeros(robot.model.nv)
    for name, wrench in wrenches.items():
        R = robot.pose(name, q)[:3, :3]
        own = np.concatenate([R.T @ wrench[:3], R.T @ wrench[3:]])  # in the link's axes
        total += robot.jacobian(name, q).T @ own
    return total
