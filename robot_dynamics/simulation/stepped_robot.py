# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A robot by itself, tree or closed loops, moved one period at a time by the integrators."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.dynamics.arguments import positive_number
from robot_dynamics.dynamics.passive import FRICTION_VELOCITY
from robot_dynamics.dynamics.scaling import model_length
from robot_dynamics.errors import ArgumentError
from robot_dynamics.model.moved_inertia import require_inertia
from robot_dynamics.robot import Robot
from robot_dynamics.simulation.contact.report import ContactReport
from robot_dynamics.simulation.engine_plant import SimulationError
from robot_dynamics.simulation.integrators.choice import Choice
from robot_dynamics.simulation.integrators.fixed_steps import FixedSteps
from robot_dynamics.simulation.integrators.integrate import closed_start
from robot_dynamics.simulation.integrators.method import Method
from robot_dynamics.simulation.integrators.trajectory import Trouble
from robot_dynamics.simulation.plant import Measurement, checked_array, checked_wrenches
from robot_dynamics.simulation.runge_kutta import scheme_of_order
from robot_dynamics.simulation.step import decay_rates, largest_step

Array = NDArray[np.float64]

#: Period and longest integration step [s] where none is given.
PERIOD, STEP = 2e-3, 1e-3
# More steps than this in a period are a mistake in the friction of a description.
_MOST_STEPS = 10_000


class Identity(NamedTuple):
    """What simulations have in common whose states fit each other.

    Attributes:
        structure: Of the model.
        period: The period [s].
        contacts: Names and kinds of all that may touch; None of a robot without contacts.
    """

    structure: bytes
    period: float
    contacts: tuple[str, ...] | None = None

    def require(self, state: object, robot: str) -> None:
        """Refuse the state of a simulation that differs, and say in what.

        Args:
            state: The state.
            robot: Name of the robot that it is to be of.

        Raises:
            ArgumentError: If it does.
        """
        of = getattr(state, "identity", None)
        if not isinstance(of, Identity) or of.structure != self.structure:
            raise ArgumentError(f"the state is of another simulation, expected one of {robot!r}.")
        if of.contacts != self.contacts:
            given, own = ("none" if c is None else f"{[*c]!r:.200}" for c in (of[2], self[2]))
            raise ArgumentError(
                f"the state is of a simulation of {robot!r} with other contacts, {given}, "
                f"expected {own}."
            )
        if of.period != self.period:
            raise ArgumentError(
                f"the state is of a simulation of {robot!r} with a period of {of.period:g} s, "
                f"expected {self.period:g} s."
            )


@dataclass(frozen=True)
class SteppedRobotState:
    """All that changes while a robot moves; see `SteppedRobot.state`.

    Attributes:
        tick: Number of periods since the start.
        identity: Which simulations can take it.
        q: Positions (nq,).
        qd: Velocities (nv,).
        memory: What else the next steps depend on, see `FixedSteps.memory`.
    """

    tick: int
    identity: Identity
    q: Array
    qd: Array
    memory: tuple[Choice, float, int]


def start_of_robot(
    robot: Robot, q: ArrayLike | None, qd: ArrayLike | None
) -> tuple[tuple[Array, Array], Any]:
    """Return the state to start from, as `closed_start` does, with what is not given chosen.

    Args:
        robot: What moves.
        q: Positions (nq,); by default joints at zero, or where `Robot.assemble` closes the loops.
        qd: Velocities (nv,); at rest by default.
    """
    model = robot.model
    at = robot.assemble().q if q is None and model.constraint_count else q
    at = model.neutral() if at is None else at
    return closed_start(robot, at, np.zeros(model.nv) if qd is None else qd)


def joint_forces(
    robot: Robot, q: Array, tau: ArrayLike, wrenches: Mapping[str, ArrayLike] | None
) -> Array:
    """Return the joint forces (nv,) that torques and external wrenches amount to.

    Raises:
        ArgumentError: If a shape is wrong, a number is not finite, or there is no such frame.
    """
    force = checked_array("torque", tau, (robot.model.nv,))
    if wrenches is not None:
        force += robot.external_forces(q, checked_wrenches(robot.model, wrenches), "aligned")
    return force


class SteppedRobot:
    """A robot that is advanced one period at a time, as `rd.integrate` does by default.

    Attributes:
        robot: What moves.
        period: The period [s].
        substeps: Integration steps in a period.

    Args:
        robot: What moves.
        period: The period [s].
        q: Positions (nq,) at the start, loops closed; by default joints at zero, or where
            `Robot.assemble` closes the loops.
        qd: Velocities (nv,) there; at rest by default.
        step: Longest integration step [s]; by default 1 ms, or what friction, springs and dampers
            of the joints allow.

    Raises:
        ArgumentError: If an argument does not fit, the start is open, or a stated step is too
            long for friction, springs and dampers.
        RobotDynamicsError: If a joint moves no inertia; it names the link that lacks it.
    """

    def __init__(
        self,
        robot: Robot,
        period: float | None = None,
        q: ArrayLike | None = None,
        qd: ArrayLike | None = None,
        step: float | None = None,
    ) -> None:
        model = robot.model
        require_inertia(model)
        self.robot = robot
        self.period = PERIOD if period is None else positive_number("period", period)
        (q, qd), limit = start_of_robot(robot, q, qd)
        self.substeps = self._checked_substeps(q, step)
        method, h = Method("projection", scheme_of_order(8), 1.0), self.period / self.substeps
        at_rest = np.zeros(model.nv)
        self._steps = FixedSteps(robot, method, at_rest, h, q, limit, model_length(model))
        self._tick, self._q, self._qd = 0, q.copy(), qd.copy()
        self._start = self.state

    def reset(self) -> Measurement:
        """Return to the start."""
        self.state = self._start
        return self._measurement()

    def step(self, tau: ArrayLike, wrenches: Mapping[str, ArrayLike] | None = None) -> Measurement:
        """Advance by one period.

        Args:
            tau: Joint forces (nv,) [N m, N].
            wrenches: External wrenches (6,) [N m, N] by the name of the frame on which they act,
                about its origin, angular first, in world axes. They act as the joint forces that
                they amount to at the start of the period.

        Raises:
            ArgumentError: If a shape is wrong, a number is not finite, or there is no such frame.
            SimulationError: If the motion grows without bound.
        """
        force = joint_forces(self.robot, self._q, tau, wrenches)
        before = self._steps.memory
        self._steps.force = force
        try:
            self._q, self._qd = self._steps.advance(
                self._tick * self.period, 0, self.substeps, self._q, self._qd
            )
        except Trouble as trouble:
            self._steps.memory = before
            raise SimulationError(
                f"{self.robot.model.name}: the simulated motion ended at {trouble.time:.6g} s: "
                f"{trouble.reason}; expected torques that keep it bounded, or a shorter step."
            ) from trouble
        self._tick += 1
        return self._measurement()

    def truth(self) -> None:
        """Return what is known of an object: there is none."""

    def contacts(self) -> tuple[ContactReport, ...]:
        """Return reports of contacts: there are none."""
        return ()

    @property
    def state(self) -> SteppedRobotState:
        """The present state; a robot of the same structure that is set to it goes on bit for bit.

        Raises:
            ArgumentError: If it is set to the state of another robot, or of another period.
        """
        return SteppedRobotState(
            self._tick, self._identity, self._q.copy(), self._qd.copy(), self._steps.memory
        )

    @state.setter
    def state(self, state: SteppedRobotState) -> None:
        self._identity.require(state, self.robot.model.name)
        self._tick, self._steps.memory = state.tick, state.memory
        self._q, self._qd = state.q.copy(), state.qd.copy()

    @property
    def _identity(self) -> Identity:
        return Identity(self.robot.model.structure_key, self.period)

    def _measurement(self) -> Measurement:
        time = self._tick * self.period
        return Measurement(self._tick, time, self._q, self._qd, np.zeros((0, 6)))

    def _checked_substeps(self, q: Array, step: float | None) -> int:
        """Return steps in a period at which friction, springs and dampers are stable."""
        model = self.robot.model
        wish = STEP if step is None else positive_number("step", step)
        wish = self.period / max(1, math.ceil(self.period / wish * (1.0 - 1e-12)))
        friction = np.zeros(model.nv)
        if model.joint_friction:
            friction = model.damping + model.friction / FRICTION_VELOCITY
        joints = (*(body.joint for body in model.bodies), *model.loops)
        longest = wish
        if friction.any() or any(j.elastic or np.any(j.damping) for j in joints):
            without = Robot(model.replace(joint_friction=False))  # that is in `friction`
            rates = decay_rates(without, q, friction)
            longest = largest_step(scheme_of_order(8), rates, wish)
        steps = math.ceil(self.period / max(longest, 1e-300) * (1.0 - 1e-9))
        if (longest < wish and step is not None) or steps > _MOST_STEPS:
            raise ArgumentError(
                f"{model.name}: integration steps of {wish:g} s are too long for the friction, "
                f"springs and dampers of the joints; expected at most {longest:.2g} s"
                + ("." if steps <= _MOST_STEPS else ", and weaker ones: it would take minutes.")
            )
        return steps
