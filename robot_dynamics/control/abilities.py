# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Optional abilities of control laws, one class each.

A law has an ability if it derives from its class; callers test by `isinstance`. A law needs no
placeholder for an ability that it does not have.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from numpy.typing import ArrayLike

from robot_dynamics.arrays import Array
from robot_dynamics.control.control_law import SCALES, ControlLaw, HeldStep
from robot_dynamics.control.reference import Plan
from robot_dynamics.control.resume import Way
from robot_dynamics.control.rollout import Rollout
from robot_dynamics.control.settings import ControlSettings
from robot_dynamics.control.task.grippers import Grippers
from robot_dynamics.control.task.joint_trajectory import JointGoal
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.manipulation.hybrid import Contact


@dataclass(frozen=True)
class GraspFacts:
    """Grasp of the object by the arms of a law.

    Attributes:
        contacts: Contact of each arm with the object; None for rigid grasps.
        bodies: Number of bodies in `HeldStep.held_body_wrenches`.
        rigid: Whether each grasp alone determines the object's pose.
        soft_fingers: Names of the arms whose contacts are soft fingers (s,).
        wrench_components: Components of a wrench midway between two grasps that are the internal
            forces, in their order; None if such a wrench does not contain all of them.
    """

    contacts: Sequence[Contact] | None = None
    bodies: int = 1
    rigid: bool = False
    soft_fingers: Sequence[str] = ()
    wrench_components: Sequence[int] | None = None


class HoldsObject(ControlLaw):
    """A law of arms that hold an object.

    Attributes:
        grasp: Their grasp.
    """

    grasp: GraspFacts

    @property
    def mass_ratio(self) -> float:
        """Mass of the object, as the law estimates it, over the stated one."""
        return 1.0

    def sense_by(self, *, wrist_sensors: bool) -> None:
        """State whether wrist sensors measure grasp wrenches; else torques must tell them."""

    def weigh(self, q: Array, wrenches: Array) -> None:
        """Take the payload from wrenches before a start, if the law estimates it.

        Args:
            q: Positions of the arm joints (na,), which are at rest.
            wrenches: Grasp wrenches (k, 6) by tared sensors, in tool frames.
        """

    @property
    def moves_as_asked(self) -> bool:
        """Whether the object follows the reference against any external force."""
        return False

    @abstractmethod
    def start(self, q: Array, qd: Array, last: Array | None = None) -> HeldStep:
        """Reset the law, and return the step at rest; see `ControlLaw.start`."""

    @abstractmethod
    def update(self, tick: int, q: Array, qd: Array, wrenches: Array | None = None) -> HeldStep:
        """Return the step of a control period; see `ControlLaw.update`."""

    @property
    def columns(self) -> Mapping[str, int]:
        """Width of each column that the law adds to a recording."""
        columns = {
            "estimated_pose": 7,
            "estimated_twist": 6,
            "estimated_closure": 6 * (len(self.system.arms) - 1),
            "estimated_internal_force": len(self.internal_force_names),
            "control_scales": len(SCALES),
        }
        return {name: width for name, width in columns.items() if width}


#: State of a task: "waiting" is for an operator, "failed" includes its safe end.
TaskState = Literal["running", "paused", "waiting", "done", "failed"]


class TaskError(RobotDynamicsError):
    """A request to a task that does not fit its state."""


class RunsTask(HoldsObject):
    """A law that runs the phases of a task; its arms hold the object in some of them.

    Attributes:
        phases: Names of all phases, those of safe ends included.
        done: Whether the task is over, and the arms are at rest.
        failure: Reason why it ended early; empty if it did not.
        grippers: Grippers of the arms; None without them.
        has_operator: Whether an operator ends the phases that wait for one; else they are over
            at once.
        beginning: How the last chosen start begins, in words.
    """

    phases: Sequence[str]
    done: bool
    failure: str
    grippers: Grippers | None
    has_operator: bool
    beginning: str

    @property
    @abstractmethod
    def phase(self) -> int:
        """Index of the running phase among `phases`."""

    @property
    @abstractmethod
    def state(self) -> TaskState:
        """Present state."""

    @property
    @abstractmethod
    def holds_object(self) -> bool:
        """Whether the arms carry the object now, so that its weight counts when control ends."""

    @property
    @abstractmethod
    def planned_s(self) -> float:
        """Time from the start until the task is over if nothing delays it [s]."""

    @property
    @abstractmethod
    def resumes(self) -> bool:
        """Whether the next start continues an interrupted phase."""

    @abstractmethod
    def sent(self, torque: Array) -> None:
        """Take the torque (na,) that was sent after a step, for the law that takes over next."""

    @abstractmethod
    def still_joints(self, q: Array) -> Sequence[int]:
        """Return the numbers of the joints that do not move although they should.

        Joints of arms that hold the object are judged by its motion instead. Must be called every
        `joint_motion.LOOK_S`.

        Args:
            q: Measured positions of the arm joints (na,).
        """

    @abstractmethod
    def take_up(self, number: int) -> None:
        """Set the phase of an earlier process with which the first resume begins.

        Args:
            number: Number of the phase, from 1.

        Raises:
            TaskError: If there is no such phase, or the hands are at the standing object in it.
        """

    @abstractmethod
    def check_hands(self, q: Array, wrenches: Array | None) -> None:
        """Refuse a start whose hands do not measure what its first phase needs.

        The whole task needs free hands, a phase in the air that `take_up` names needs hands that
        carry the object.

        Args:
            q: Positions of the arm joints (na,).
            wrenches: Measured grasp wrenches (k, 6), in tool frames; None without sensors.

        Raises:
            StartError: With the arm, and its force.
        """

    @abstractmethod
    def pause(self) -> str:
        """Come to rest on the way, until `go_on`; return a sentence about it.

        Raises:
            TaskError: If no task is under way.
        """

    @abstractmethod
    def go_on(self) -> str:
        """Go on after a pause; return a sentence about it.

        Raises:
            TaskError: If the task is not paused.
        """

    @abstractmethod
    def abort(self) -> str:
        """Come to rest, then end the task in the safe end of its phase; return a sentence.

        Raises:
            TaskError: If no task is under way.
        """

    @abstractmethod
    def next(self) -> str:
        """End a phase that waits for an operator; return a sentence about it.

        Raises:
            TaskError: If the phase waits for none.
        """

    @abstractmethod
    def follow_joints(self, goals: Mapping[str, JointGoal]) -> None:
        """Follow trajectories of free arms, by the arm's name, instead of those before.

        Raises:
            TaskError: If the task is not in a phase `move: {until: operator}`, or is paused.
            JointTrajectoryError: If a trajectory leaves the limits; none is followed then.
        """

    @abstractmethod
    def follows(self, goal: JointGoal) -> bool:
        """Return whether a goal is under way."""

    @abstractmethod
    def planned_phases(self, times: Array) -> Sequence[str]:
        """Return the names of the phases at times (N,) of the checked plan [s]."""


class AdjustsGrip(ABC):
    """Ability to hold the object with the internal force that it needs when control ends."""

    @abstractmethod
    def grip_support(self, q: Array) -> Array:
        """Return `hold_support` with the last desired internal force (na,).

        The two differ where contacts only push: without internal force the object falls.
        """

    @abstractmethod
    def firmer_grip(self, q: Array) -> Array:
        """Return the torque (na,) to add to the last one for the firmest permitted grip.

        It is zero where no contact can slip, or where control must not change the internal force.
        """


class FollowsPlan(ABC):
    """Ability to follow a planned motion, to come to rest on it, and to take it up again."""

    @abstractmethod
    def choose_start(self, way: Way, q: Array, tick: int) -> None:
        """Choose how the next start begins; it then follows `reference`.

        It must not be called while the law runs.

        Args:
            way: Whether at the beginning of the plan, or where the arms hold the object.
            q: Positions of the arm joints (na,).
            tick: Control periods for which the law ran last.

        Raises:
            ResumeError: If the plan cannot be taken up there.
        """

    @abstractmethod
    def check_path(self, q: Array) -> Rollout:
        """Check the whole motion from positions `q` (na,), and return it.

        Raises:
            PreflightError: If the arms cannot follow the plan.
        """

    @abstractmethod
    def hold(self, tick: int) -> None:
        """Come to rest on the path from a tick on; forces stay as they are then."""


class PlanCheck(Protocol):
    """Check of a plan, done a few points at a time."""

    @property
    def done(self) -> bool:
        """Whether every point has been checked."""

    def advance(self, points: int) -> None:
        """Check the next points.

        Raises:
            RobotDynamicsError: If the plan is refused.
        """


class TakesReferences(HoldsObject):
    """A law that follows references that arrive while it runs."""

    @property
    @abstractmethod
    def force_columns(self) -> Mapping[str, slice]:
        """Columns of forces among a row's columns of `FORCE`.

        "internal"; of a law with surfaces also "contact" and "touch".
        """

    @abstractmethod
    def follow(self, plan: Any, tick: int) -> None:
        """Follow another plan from a tick on, without a jump of the torque.

        Args:
            plan: Its time 0 is at the tick. It has `duration`, `start` and `rows`, with as many
                columns as the law's own reference.
            tick: Control periods since the start.

        Raises:
            ArgumentError: If the plan's rows do not fit.
        """

    def bodies(self, plan: Any, tick: int) -> Sequence[Plan]:
        """Return the plan of each body of the object, the first with the forces.

        Args:
            plan: Plan of the object, or of its first body.
            tick: Control periods from the start to the plan's time 0.
        """
        return (plan,)

    @abstractmethod
    def internal_forces(self, wrench: Array) -> Array:
        """Return the internal forces (m,) of a wrench (6,) midway between the grasps.

        Raises:
            RobotDynamicsError: If the grasp has no such internal force, or drives lack the torque.
        """

    def plan_checks(self, plan: Any) -> Sequence[PlanCheck]:
        """Return checks of contacts and surfaces for a plan, in addition to the arms' reach."""
        return ()


class TouchesSurfaces(ABC):
    """Ability to control forces on surfaces; there may be no surface in a cell."""

    @property
    @abstractmethod
    def surfaces(self) -> Mapping[str, slice]:
        """By name, columns of the forces on each surface among `force_columns["contact"]`."""

    @property
    @abstractmethod
    def contact_force(self) -> Array:
        """Forces by the object on the surfaces in the last step (C,)."""

    @abstractmethod
    def contact_forces(self, surface: str, wrench: Array) -> Array:
        """Return the forces on a surface of a wrench (6,) in its frame, angular first.

        Raises:
            RobotDynamicsError: If the surface cannot exert it.
        """


class MonitorsSlip(ABC):
    """Ability to predict slip of contacts; there may be no contact that can slip."""

    @property
    @abstractmethod
    def slip_contacts(self) -> Sequence[str]:
        """Names of the contacts that can slip (w,)."""

    @property
    @abstractmethod
    def slip_margins(self) -> Array:
        """Distance of each of them to slip in the last step (w,) [N]."""


class SensesObject(ABC):
    """Ability to use sensors other than the arms' own."""

    @property
    @abstractmethod
    def senses(self) -> bool:
        """Whether the law needs the measured pose of the object."""

    @abstractmethod
    def sense(
        self,
        *,
        pose: ArrayLike | None = None,
        twist: ArrayLike | None = None,
        contact_force: ArrayLike | None = None,
    ) -> None:
        """Take measurements for the steps that follow.

        Args:
            pose: Pose of the object in the world, x y z qx qy qz qw (7,), if the law `senses`.
            twist: Its angular velocity and the velocity of its origin, world axes (6,).
            contact_force: Forces by the object on the surfaces (C,); None to estimate them.

        Raises:
            ArgumentError: If one has a wrong shape or is not finite, or the quaternion is zero;
                no measurement is taken then.
        """


class TunesGains(ABC):
    """Ability to change gains while control runs.

    Attributes:
        settings: Settings with the present gains.
    """

    settings: ControlSettings

    @abstractmethod
    def check_gains(self, settings: ControlSettings) -> None:
        """Raise the errors of `retune`, and change nothing."""

    @abstractmethod
    def retune(self, settings: ControlSettings) -> None:
        """Change to other gains without a jump of the torque.

        Args:
            settings: The new settings; only their gains are used.

        Raises:
            GainError: If the sampled loop with its delay is unstable with them; no gain changes.
        """


class CommandsPositions:
    """Ability to compute joint positions for drives that take positions.

    Attributes:
        set_points: Positions of the arm joints (na,) of the last step; None if the arms have
            internal closed chains.
        set_point_rates: Their mean velocities in the last control period (na,); None in the same
            case.
        torques_used: Whether drives follow the torques of the steps. Drives that follow the
            positions alone close the loop themselves: the steps then have the support torque, and
            no integral grows.
    """

    set_points: Array | None = None
    set_point_rates: Array | None = None
    torques_used: bool = True
