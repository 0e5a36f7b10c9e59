# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Simulations that the caller steps, of a scenario or of a robot by itself."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.app.scenarios.cell import build_system, true_system
from robot_dynamics.app.scenarios.plant import make_plant
from robot_dynamics.app.scenarios.scenario import Scenario, load_scenario
from robot_dynamics.arrays import Array
from robot_dynamics.contact.points import (
    Inequality,
    PointContact,
    named_contacts,
    push_only_loops,
)
from robot_dynamics.contact.shapes import ShapeContact
from robot_dynamics.contact.solver import Cone, Residuals
from robot_dynamics.description.description import Description
from robot_dynamics.description.load import is_robot
from robot_dynamics.dynamics.coulomb import holds_joints
from robot_dynamics.errors import ArgumentError
from robot_dynamics.robot import Robot
from robot_dynamics.simulation import EngineName
from robot_dynamics.simulation.contact.report import ContactReport
from robot_dynamics.simulation.contact.robot_contact_engine import RobotContactEngine
from robot_dynamics.simulation.engine import Linearizable, SimulationError
from robot_dynamics.simulation.plant import Plant, PlantState, ScenePlant
from robot_dynamics.simulation.robot_engine import RobotEngine, start_of_robot
from robot_dynamics.simulation.sensors import Measurement


class Observation(NamedTuple):
    """Measured and true state at one control instant.

    Attributes:
        time: Simulated time [s].
        q: Measured positions of the arm joints (na,) [rad or m]; of a robot all (nq,).
        qd: Measured velocities of the arm joints (na,); of a robot all (nv,).
        wrenches: Measured grasp wrenches by the arms on the object (k, 6), angular first, each in
            the frame of the arm's tool [N m, N]; of a robot (0, 6).
        object_pose: True pose x y z qx qy qz qw of the object in the world (7,); None of a robot.
        object_twist: True angular and linear velocity of the object's origin, world axes (6,);
            None of a robot.
    """

    time: float
    q: Array
    qd: Array
    wrenches: Array
    object_pose: Any
    object_twist: Any


class StepLinearization(NamedTuple):
    """Linearised control period: the change of x at its end is A dx + B dtorque.

    x are the positions, as motions along velocities, and the velocities of all joints of arms and
    object; the step removes motions that would open grasps or closed contacts.

    Attributes:
        A: (2 nv, 2 nv).
        B: By the torques of the arm joints (2 nv, na); of a robot by joint forces (2 nv, nv).
        robot: The mechanism, whose `model` has the order of the joints.
    """

    A: Array
    B: Array
    robot: Robot


@dataclass(frozen=True)
class SimulationState:
    """A state of a `Simulation`.

    Attributes:
        observation: The observation there.
        plant: State of the plant.
    """

    observation: Observation
    plant: PlantState


class Simulation:
    """A scenario, or a robot by itself, advanced one control period at a time.

    *A scenario* moves without control law and safety layer. Torque limits, command delay,
    friction, noise and faults of its plant act; brakes hold the arms until the first torque acts.

        sim = rd.Simulation("lift_box", plant="engine")
        seen = sim.reset()
        seen = sim.step(torque)

    *A robot*, tree or closed loops, moves under joint forces (nv,) as `rd.integrate` moves it by
    default, loops closed by projection. There is neither delay nor a limit of torque or position;
    friction of the joints acts if it is part of the robot's dynamics (`joint_friction=True`). With
    "coulomb" it holds loaded joints, and the robot moves by the time steps of contacts.

        sim = rd.Simulation(robot, period=0.002, q=q, qd=qd)
        seen = sim.step(torque)

    A simulation can be copied and pickled, for processes of a pool, and continues from its state
    bit for bit. The copy is rebuilt, so that functions of contacts must be module-level functions.

    Attributes:
        scenario: The scenario; None of a robot.
        period: Control period [s].
        joint_names: The arm joints, in the order of torques and measurements; of a robot the
            joints of its tree, `robot.model.joint_names`.
        arm_names: The arms, in the order of the wrenches; none of a robot.
        effort_limits: Largest torques of the drives (na,) [N m or N]; of a robot the limits of its
            description (nv,).
        arms: Algorithms of the arms without the object, with their true properties; `arms.model`
            has its own order of joints. Of a robot the robot.

    Args:
        scenario: A scenario, a file, or the name of a shipped one; or a `Robot`.
        plant: Of a scenario "engine" or "mujoco"; as the scenario says by default.
        overrides: Changes of single values of a scenario, as "plant.object_mass_scale=1.2".
        period: Control period [s] of a robot; 2 ms by default. Scenarios state their own.
        q: Positions (nq,) at which a robot starts, loops closed; by default joints at zero, or
            where `Robot.assemble` closes the loops.
        qd: Velocities (nv,) there; at rest by default.
        step: Longest integration step [s] of a robot; by default 1 ms, or less if friction,
            springs and dampers of the joints demand it. With contacts, and with Coulomb friction
            that holds joints, a quarter of a millisecond.
        contacts: Possible contacts of a robot, see `contact.points`: points and balls on surfaces
            of the world and of other links, with friction, restitution and compliance, limits of
            joints, cables. Motion is then computed by time steps with impulses
            (docs/contact.md); `contacts` of the simulation has the forces. Unilateral loop joints
            of the robot are contacts too.
        cone: Friction cone of these contacts: "round", Coulomb's and the default, or "pyramid",
            `|f_1| <= mu f_n` and `|f_2| <= mu f_n` along the tangents of each contact, as in game
            engines: up to 41 % more between them.

    Raises:
        RobotDynamicsError: If the scenario or the start is refused, or the engine is not
            installed.
    """

    scenario: Scenario | None
    period: float
    joint_names: tuple[str, ...]
    arm_names: tuple[str, ...]
    effort_limits: Array
    arms: Robot

    @overload
    def __init__(
        self,
        scenario: Scenario | str | Path,
        plant: EngineName | None = None,
        *,
        overrides: Iterable[str] = (),
    ) -> None: ...

    @overload
    def __init__(
        self,
        scenario: Robot,
        *,
        period: float | None = None,
        q: ArrayLike | None = None,
        qd: ArrayLike | None = None,
        step: float | None = None,
        contacts: Iterable[PointContact | Inequality | ShapeContact] | None = None,
        cone: Cone | None = None,
    ) -> None: ...

    def __init__(
        self,
        scenario: Scenario | str | Path | Robot,
        plant: EngineName | None = None,
        *,
        overrides: Iterable[str] = (),
        period: float | None = None,
        q: ArrayLike | None = None,
        qd: ArrayLike | None = None,
        step: float | None = None,
        contacts: Iterable[PointContact | Inequality | ShapeContact] | None = None,
        cone: Cone | None = None,
    ) -> None:
        of_robot: dict[str, Any] = {
            "period": period, "q": q, "qd": qd, "step": step, "contacts": contacts, "cone": cone,
        }  # fmt: skip
        if isinstance(scenario, Robot):
            _refuse("a robot", "a scenario", plant=plant, overrides=overrides or None)
            if contacts is not None:
                of_robot["contacts"] = named_contacts(contacts)
            self._arguments = copy.deepcopy(of_robot)
            self._plant: Plant = plant_of_robot(scenario, **of_robot)
            self.scenario, self.arm_names, self.arms = None, (), scenario
            self.joint_names = scenario.model.joint_names
            self.effort_limits = scenario.model.limits()["effort"]
        else:
            _require_scenario(scenario)
            _refuse("a scenario", "a robot", **of_robot)
            scenario = load_scenario(scenario, overrides, plant)
            system = true_system(scenario, build_system(scenario))
            self._plant, self._arguments = make_plant(scenario, system), {}
            self.scenario, self.arms = scenario, Robot(system.arms_alone)
            self.joint_names = tuple(system.joint_names)
            self.arm_names = tuple(arm.name for arm in system.arms)
            self.effort_limits = np.array(system.limits["effort"])
        self.period = self._plant.period
        self.reset()

    def __deepcopy__(self, memo: dict[int, Any]) -> Simulation:
        same = object.__new__(type(self))
        same.__setstate__((self.scenario or self.arms, self._arguments, self.state))
        return same

    def __copy__(self) -> Simulation:
        return self.__deepcopy__({})

    def __getstate__(self) -> tuple[Any, ...]:
        return self.scenario or self.arms, self._arguments, self.state

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        what, arguments, now = state
        self.__init__(what, **arguments)  # type: ignore[misc]
        self.state = now

    def grip(self, arm: str, *, closed: bool) -> bool:
        """Close or open the gripper of a scenario's arm; see `ScenePlant.grip`."""
        if not isinstance(self._plant, ScenePlant):
            raise ArgumentError("a robot by itself has no grippers, expected a scenario.")
        return self._plant.grip(arm, closed=closed)

    def reset(self) -> Observation:
        """Return to the start at rest, brakes on; noise and faults begin anew."""
        self._whole = False
        seen = self._observe(self._plant.reset())
        self._whole = True
        return seen

    def step(
        self, torque: ArrayLike, wrenches: Mapping[str, ArrayLike] | None = None
    ) -> Observation:
        """Advance by one control period.

        Args:
            torque: Command (na,) [N m or N]; it acts after the scenario's command delay, within
                the limits of the drives. Of a robot joint forces (nv,), which act at once.
            wrenches: External wrenches (6,) by link name, the object's included: moment [N m]
                and force [N] in world axes about the link's origin, constant over the period.
                Frames of a robot (`Robot.with_frame`) are links as well.

        Raises:
            ArgumentError: If a shape is wrong, a number is not finite, or a link does not exist.
            SimulationError: If the motion grows without bound, or the period before was not
                finished, as by Ctrl-C: `reset` and a state that is set begin anew.
        """
        self._require_whole()
        self._whole = False
        try:
            measured = self._plant.step(torque, wrenches)
        except Exception as error:
            # Arguments are refused before anything moves, and robots without contacts go back.
            ended = isinstance(error, SimulationError)
            self._whole = not ended or self._plant.engine.recovers
            raise
        seen = self._observe(measured)
        self._whole = True
        return seen

    def _require_whole(self) -> None:
        """Refuse to go on from within a period.

        Raises:
            SimulationError: If the last one was not finished.
        """
        if not self._whole:
            name = self.scenario.name if self.scenario else self.arms.model.name
            raise SimulationError(
                f"{name}: period {round(self._seen.time / self.period) + 1} was not finished, "
                "expected `reset`, or a state from before it."
            )

    def linearize(self, torque: ArrayLike) -> StepLinearization:
        """Return the linear model of the next control period: small changes of state and torque.

        It is at the current state, which does not change, with all limits, friction and the
        projection that closes the grasps; without command delay, noise and brakes, and without the
        `wrenches` of `step`. Each contact stays open, sticks or slips, as in a step.

        Args:
            torque: Torques of the arm joints (na,) [N m or N]; of a robot joint forces (nv,).

        Raises:
            ArgumentError: If the shape is wrong, or the plant's steps have no derivatives: MuJoCo,
                contacts other than rigid points, a robot without contacts.
            RobotDynamicsError: If constraints depend on one another, or a contact changes in the
                period, or is about to.
        """
        engine = self._plant.engine
        if not isinstance(engine, Linearizable):
            raise ArgumentError(
                "only the plant 'engine', and robots with contacts or friction that holds, have "
                "derivatives; expected one of these. Those of other robots are Robot.linearize."
            )
        self._require_whole()
        A, B = engine.linearize(np.asarray(torque, dtype=float))
        return StepLinearization(A, B, engine.robot)

    @property
    def observation(self) -> Observation:
        """The last observation."""
        return self._seen

    @property
    def contacts(self) -> tuple[ContactReport, ...]:
        """Current force, slip and gap of each contact; empty if all grasps are rigid."""
        self._require_whole()
        return self._plant.contacts()

    @property
    def contact_residuals(self) -> Residuals:
        """Errors of the contact impulses of a robot's last time step in the laws of contact.

        Raises:
            ArgumentError: If no robot with contacts is simulated.
        """
        engine = self._plant.engine
        if not isinstance(engine, RobotContactEngine):
            raise ArgumentError("residuals are those of a robot with contacts, expected one.")
        return engine.stepping.residuals()

    @property
    def state(self) -> SimulationState:
        """Current state; a simulation that is set to it continues from there bit for bit.

        Raises:
            ArgumentError: If it is set to the state of another scenario's simulation.
        """
        self._require_whole()
        return SimulationState(copy.deepcopy(self._seen), self._plant.state)

    @state.setter
    def state(self, state: SimulationState) -> None:
        if not isinstance(state, SimulationState):
            raise ArgumentError(f"the state is {state!r:.60}, expected one of a simulation.")
        was, self._whole = self._whole, False
        try:
            self._plant.state = state.plant
        except ArgumentError:  # of another simulation
            self._whole = was
            raise
        self._seen = copy.deepcopy(state.observation)
        self._whole = True

    def _observe(self, measured: Measurement) -> Observation:
        _, time, q, qd, wrenches = measured
        pose = twist = None
        if isinstance(self._plant, ScenePlant):
            truth = self._plant.truth()
            pose, twist = truth.object_pose.copy(), truth.object_twist.copy()
        self._seen = Observation(time, q.copy(), qd.copy(), wrenches.copy(), pose, twist)
        return self._seen


def plant_of_robot(
    robot: Robot,
    *,
    contacts: Sequence[PointContact | Inequality | ShapeContact] | None,
    cone: Cone | None,
    q: ArrayLike | None,
    qd: ArrayLike | None,
    **options: Any,
) -> Plant:
    """Return the plant of a robot by itself; arguments as of `Simulation`."""
    own, pushing = push_only_loops(robot)
    engine: RobotEngine | RobotContactEngine
    touches = contacts is not None or bool(pushing)
    if not touches:
        _refuse("no contacts", "contacts", cone=cone)
    if not touches and not holds_joints(own.model):
        engine = RobotEngine(own, q=q, qd=qd, **options)
    else:
        if q is None and pushing:
            q = start_of_robot(robot, q, qd)[0][0]  # unilateral loops are closed there as well
        touching = (*pushing, *(contacts or ()))
        engine = RobotContactEngine(own, touching, q=q, qd=qd, cone=cone or "round", **options)
    return Plant(engine, own.model, engine.period, own.model.structure_key)


def _require_scenario(given: object) -> None:
    """Refuse the description of a robot."""
    if isinstance(given, Description) or (isinstance(given, (str, Path)) and is_robot(given)):
        name = given.mechanism.name if isinstance(given, Description) else given
        raise ArgumentError(
            f"Simulation: {str(name)!r} describes a robot, expected rd.load of it, or a scenario."
        )


def _refuse(given: str, other: str, **arguments: Any) -> None:
    """Refuse arguments that belong to another kind of simulation."""
    for name, value in arguments.items():
        if value is not None:
            raise ArgumentError(
                f"Simulation: {name} belongs to {other}, expected none with {given}."
            )
