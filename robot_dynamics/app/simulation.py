# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A simulation that the caller steps: torques in, measurements out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.app.run import chosen_scenario, make_plant
from robot_dynamics.app.scenario import Scenario, build_system, true_system
from robot_dynamics.errors import ArgumentError
from robot_dynamics.robot import Robot
from robot_dynamics.simulation.contact.report import ContactReport
from robot_dynamics.simulation.engine_plant import EnginePlant
from robot_dynamics.simulation.plant import Measurement, PlantState
from robot_dynamics.simulation.settings import Engine

Array = NDArray[np.float64]


class Observation(NamedTuple):
    """What is seen of a cell at one control instant.

    Attributes:
        time: Simulated time [s].
        q: Measured positions of the arm joints (na,) [rad or m].
        qd: Measured velocities of the arm joints (na,).
        wrenches: Measured grasp wrenches by the arms on the object (k, 6), angular first, each in
            the frame of the arm's tool [N m, N].
        object_pose: True pose x y z qx qy qz qw of the object in the world (7,).
        object_twist: True angular and linear velocity of the object's origin, world axes (6,).
    """

    time: float
    q: Array
    qd: Array
    wrenches: Array
    object_pose: Array
    object_twist: Array


class StepLinearization(NamedTuple):
    """Small changes over one control period: dx after it is A dx + B dtorque.

    x are the positions, as motions along velocities, and the velocities of all joints, those of
    arms and object alike; motions that would open the grasps are taken away by the step.

    Attributes:
        A: (2 nv, 2 nv).
        B: By the torques of the arm joints (2 nv, na).
        robot: What moves: its `model` has the order of the joints.
    """

    A: Array
    B: Array
    robot: Robot


@dataclass(frozen=True)
class SimulationState:
    """A state of a `Simulation`.

    Attributes:
        observation: What was seen there.
        plant: What the simulation goes on from.
    """

    observation: Observation
    plant: PlantState


class Simulation:
    """The arms and the object of a scenario, advanced one control period at a time.

    No control law and no safety layer stands in between: limits of torque, command delay,
    friction, noise and faults of the scenario's plant do. Brakes hold the arms until the first
    torque acts.

        sim = rd.Simulation("lift_box", plant="engine")
        seen = sim.reset()
        seen = sim.step(torque)

    Attributes:
        scenario: What is simulated.
        period: Control period [s].
        joint_names: The arm joints, in the order of torques and measurements.
        arm_names: The arms, in the order of the wrenches.
        effort_limits: The largest torques of the drives (na,) [N m or N].
        arms: Algorithms of the arms without the object, as they truly are; `arms.model` has its
            own order of joints.

    Args:
        scenario: A scenario, a file, or the name of a shipped one.
        plant: "engine" or "mujoco"; as the scenario says by default.
        overrides: Changes of single values, as "plant.object_mass_scale=1.2".

    Raises:
        RobotDynamicsError: If the scenario is refused, or the engine is not installed.
    """

    def __init__(
        self,
        scenario: Scenario | str | Path,
        plant: Engine | None = None,
        *,
        overrides: Iterable[str] = (),
    ) -> None:
        scenario = chosen_scenario(scenario, plant, overrides)
        self.scenario, self.period = scenario, scenario.control.period
        system = true_system(scenario, build_system(scenario))
        self.joint_names: tuple[str, ...] = tuple(system.joint_names)
        self.arm_names: tuple[str, ...] = tuple(arm.name for arm in system.arms)
        self.effort_limits: Array = np.array(system.limits["effort"])
        self.arms = Robot(system.arms_alone)
        self._plant = make_plant(scenario, system)

        self.reset()

    def reset(self) -> Observation:
        """Return to the start at rest, brakes on; noise and faults begin anew."""
        return self._observe(self._plant.reset())

    def step(
        self, torque: ArrayLike, wrenches: Mapping[str, ArrayLike] | None = None
    ) -> Observation:
        """Advance by one control period.

        Args:
            torque: Command (na,) [N m or N]; it acts after the scenario's command delay, within
                the limits of the drives.
            wrenches: External wrenches (6,) by link name, the object's included: moment [N m]
                and force [N] in world axes about the link's origin, constant over the period.

        Raises:
            ArgumentError: If a shape is wrong, a number is not finite, or a link does not exist.
            SimulationError: If the motion grows without bound.
        """
        return self._observe(self._plant.step(np.asarray(torque, dtype=float), wrenches))

    def linearize(self, torque: ArrayLike) -> StepLinearization:
        """Return how small changes of state and torque go on over the next control period.

        From the present state, which stays as it is, with all limits, friction and the projection
        that closes the grasps; without command delay, noise and brakes.

        Args:
            torque: Of the arm joints (na,) [N m or N].

        Raises:
            ArgumentError: If the shape is wrong, or contacts may slip or open, or the plant is not
                "engine": their steps have no derivatives.
            RobotDynamicsError: If constraints depend on one another.
        """
        if not isinstance(self._plant, EnginePlant):
            raise ArgumentError("only the plant 'engine' has derivatives; expected that.")
        A, B = self._plant.linearize(np.asarray(torque, dtype=float))
        return StepLinearization(A, B, self._plant.motion.robot)

    @property
    def observation(self) -> Observation:
        """What was seen last."""
        return self._seen

    @property
    def contacts(self) -> tuple[ContactReport, ...]:
        """Force, slip and gap of each contact now; none where all grasps are rigid."""
        return self._plant.contacts()

    @property
    def state(self) -> SimulationState:
        """The present state; a simulation that is set to it goes on from there bit for bit.

        Raises:
            ArgumentError: If it is set to the state of another scenario's simulation.
        """
        return SimulationState(self._seen, self._plant.state)

    @state.setter
    def state(self, state: SimulationState) -> None:
        self._plant.state = state.plant
        self._seen = state.observation

    def _observe(self, measured: Measurement) -> Observation:
        truth = self._plant.truth()
        _, time, q, qd, wrenches = measured
        pose, twist = truth.object_pose.copy(), truth.object_twist.copy()
        self._seen = Observation(time, q.copy(), qd.copy(), wrenches.copy(), pose, twist)
        return self._seen
