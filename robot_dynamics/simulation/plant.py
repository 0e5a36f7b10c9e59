# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What every simulated plant offers, and what can be read from it."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.simulation.faults import Faults

Array = NDArray[np.float64]


class Measurement(NamedTuple):
    """What the sensors of the arms say at one control instant.

    Attributes:
        tick: Number of control periods since the start.
        time: Simulation time [s]: tick times the period, never accumulated.
        q: Positions of the arm joints (na,) [rad or m].
        qd: Velocities of the arm joints (na,).
        wrenches: Grasp wrenches by the arms on the object (k, 6), angular first, each in the
            frame of the arm's tool [N m, N].
    """

    tick: int
    time: float
    q: Array
    qd: Array
    wrenches: Array


class Truth(NamedTuple):
    """The plant's own knowledge at the same instant; it never reaches a controller.

    Attributes:
        object_pose: x y z qx qy qz qw of the object's body frame in the world (7,).
        object_twist: Angular and linear velocity of the object's origin, world axes (6,).
        internal_force: Internal force (6(k-1),) with the plant's own grasps, or the force in the
            object's joint on its second part (c,).
        closure_position: Largest distance [m] between the two sides of a grasp.
        closure_rotation: Largest angle [rad] between the two sides of a grasp.
        correction: Size of the last step's projection of the positions [m or rad].
        torque: Torque applied over the last period (na,) [N m].
        second_part: Of an object with a joint the pose (7,) and the twist (6,) of its second part,
            as those of the first.
    """

    object_pose: Array
    object_twist: Array
    internal_force: Array
    closure_position: float
    closure_rotation: float
    correction: float
    torque: Array
    second_part: tuple[Array, ...] = ()


class Plant(Protocol):
    """A simulated pair of arms and object that advances one control period at a time.

    The arms are held by their brakes until the first `step`; command delay, torque limits and
    sensors are part of the plant.

    Attributes:
        period: Control period [s].
        faults: What goes wrong at present.
    """

    period: float
    faults: Faults

    def reset(self) -> Measurement:
        """Return to the start and tell what is measured there."""

    def step(self, torque: Array) -> Measurement:
        """Advance by one control period under a new torque command (na,) [N m]."""

    def truth(self) -> Truth:
        """Return the present true state."""

    def passive_joints(self) -> tuple[Array, Array]:
        """Return true positions and velocities of the joints without drives.

        In the order of the system's `passive_joints`; empty where all joints have drives.
        """

    def contacts(self) -> tuple[Any, ...]:
        """Return a `contact.ContactReport` of each contact; none where nothing can open."""

    def state_hash(self) -> str:
        """Return a SHA-256 over the states of all control instants since `reset`."""
