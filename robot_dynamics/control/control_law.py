# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What a control law offers, so that it can be supervised, run, recorded and shown like any other.

A law knows arms and object as a `GraspSystem`: it says whose joints the torques are for. What it
computes them from is its own business. It is not safe by itself: the safety layer decides whether
its inputs may be used and what to send instead.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.control.reference import FORCE, POSE, TWIST, Plan
from robot_dynamics.control.rollout import Rollout
from robot_dynamics.control.settings import ControlSettings
from robot_dynamics.errors import ArgumentError
from robot_dynamics.manipulation.grasp_map import internal_force_unit
from robot_dynamics.manipulation.hybrid import Contact
from robot_dynamics.manipulation.system import GraspSystem

Array = NDArray[np.float64]

_NOTHING: Mapping[str, slice] = MappingProxyType({})

#: What the first `LawStep.scales` are; scales are from 0 to 1.
SCALES = (
    "scale of the internal force by torque limits",
    "scale of the motion",
    "scale of the torque's change by its rate limit",
    "largest support torque over its limit",
    "smallest relative pivot of the arms (0 at a singularity)",
)


class ObjectPlan(Protocol):
    """What the object is to do."""

    @property
    def duration(self) -> float:
        """When everything has come to rest [s]."""

    @property
    def start(self) -> Array:
        """Pose of the object at the beginning, x y z qx qy qz qw (7,); of two parts (2, 7)."""

    def rows(self, times: ArrayLike) -> Array:
        """Return what to do at times (N,) [s]: columns of `row_columns`, but those compared."""

    def settled_intervals(self, settle_s: float) -> list[tuple[float, float]]:
        """Return from when to when it has been at rest for `settle_s` [s]."""


class PlanCheck(Protocol):
    """A check of a plan that is done a few points at a time."""

    @property
    def done(self) -> bool:
        """Whether every point has been checked."""

    def advance(self, points: int) -> None:
        """Check some more points.

        Raises:
            RobotDynamicsError: If the plan is refused.
        """


class LawStep(Protocol):
    """What one control step commands, and what it found out; arrays over arm joints are (na,)."""

    @property
    def torque(self) -> Array:
        """The command [N m]; it is sent after the safety layer has seen it."""

    @property
    def support(self) -> Array:
        """The part of the torque that holds everything up."""

    @property
    def pose(self) -> Array:
        """Estimated pose of the object, x y z qx qy qz qw in the world (7,)."""

    @property
    def twist(self) -> Array:
        """Its estimated angular velocity and velocity, world axes (6,)."""

    @property
    def error(self) -> Array:
        """Rotation vector and displacement from the object to its reference, world axes (6,)."""

    @property
    def closure(self) -> Array:
        """Disagreement of the other arms with the first about the object's pose (6(k-1),)."""

    @property
    def internal_force(self) -> Array:
        """Measured internal force (m,), in the order of the law's `internal_columns`."""

    @property
    def reference(self) -> Array:
        """The row of the plan that was followed."""

    @property
    def scales(self) -> Array:
        """How limits and singularities come in (5 or more,): `SCALES`, then the law's own."""

    @property
    def task_scale(self) -> float:
        """The smallest part of the task that limits leave, from 0 to 1."""

    @property
    def support_torque_ratio(self) -> float:
        """The largest support over its limit; beyond 1 arms and object cannot be held up."""

    @property
    def recorded(self) -> tuple[Array, ...]:
        """Vectors that together hold the values of the law's columns, in their order."""

    @property
    def poses(self) -> Sequence[Array]:
        """Poses (7,) of the object's bodies: one, or two of a jointed object."""

    @property
    def contact_force(self) -> Array:
        """Forces by the object on the surfaces (C,); empty without surfaces."""

    @property
    def slip_margins(self) -> Array:
        """Distance of each of the law's `slip_contacts` to slip (w,) [N]; empty without them."""

    @property
    def tilts(self) -> Array:
        """Tilt of each of the law's `soft_fingers` from its grasp (s,) [rad]."""

    @property
    def held_body_wrenches(self) -> Array:
        """What the wrists measure of each held body (b, 18).

        Three wrenches, moment and force in axes and about a point that stay near the body's
        [N m, N]: what holds it exerts; what it exerts on surfaces, as far as that is known; and
        what is exerted beyond that, its planned motion and its weight.
        """

    def with_torque(self, torque: Array) -> LawStep:
        """Return the step with the torque (na,) of another controller, which nothing scales."""


class ControlLaw(ABC):
    """A control law: torques for arms that hold an object.

    What a law may leave out has a default here, so that callers ask for attributes and never for
    types: `follows`, `tunable`, `senses`, `surfaces`, `soft_fingers`, `slip_contacts`, `warnings`.

    Attributes:
        system: Arms and object as they are believed to be.
        reference: What the object is to do; it begins when the ramp of the start is over.
        contacts: How each arm holds the object; None for rigidly at its grasp.
        holds_object: Whether the arms hold an object.
        held_bodies: Number of bodies whose wrenches its steps tell: one, two of a jointed
            object, none without an object.
        rigid_grasps: Whether each grasp alone tells where the object is.
        follows: Whether it follows references that come while it runs; see `follow`.
        tunable: Whether its gains may change while it runs; see `retune`.
        senses: Whether it takes the object's pose from a sensor besides the arms; see `sense`.
        warnings: What is known at present to go hardly well, a sentence each.
        soft_fingers: Names of the arms whose contacts are soft fingers; see `LawStep.tilts`.
        slip_contacts: Names of the contacts whose slip is foreseen; see `LawStep.slip_margins`.
        surfaces: By name, where the forces on each surface stand among `force_columns["contact"]`,
            and `force_columns["touch"]` alike.
        force_columns: Where forces stand among a row's columns of `FORCE`: "internal"; of a law
            with surfaces "contact" and "touch" as well. Empty unless it `follows`.
        set_points: Positions of the arm joints (na,) that belong to the last step, for drives that
            take positions; None of a law that does not compute them.
    """

    system: GraspSystem
    reference: ObjectPlan
    contacts: Sequence[Contact] | None = None
    holds_object: bool = True
    held_bodies: int = 1
    rigid_grasps: bool = False
    follows: bool = False
    tunable: bool = False
    senses: bool = False
    set_points: Array | None = None

    @property
    def warnings(self) -> Sequence[str]:
        """What is known at present to go hardly well, a sentence each."""
        return ()

    @property
    def soft_fingers(self) -> Sequence[str]:
        """Names of the arms whose contacts are soft fingers."""
        return ()

    @property
    def slip_contacts(self) -> Sequence[str]:
        """Names of the contacts whose slip is foreseen."""
        return ()

    @property
    def surfaces(self) -> Mapping[str, slice]:
        """By name, where the forces on each surface stand among "contact"."""
        return _NOTHING

    @property
    def force_columns(self) -> Mapping[str, slice]:
        """Where forces stand among a row's columns of `FORCE`."""
        return _NOTHING

    @property
    @abstractmethod
    def internal_columns(self) -> slice:
        """Where a row of the reference has the internal force."""

    @property
    def wrench_components(self) -> Sequence[int] | None:
        """Which components of a wrench in the middle between the grasps internal forces are.

        None if such a wrench does not tell all of them.
        """
        return None

    @property
    @abstractmethod
    def ticks(self) -> int:
        """Number of control periods of start and reference together."""

    @property
    @abstractmethod
    def ramp_ticks(self) -> int:
        """Number of control periods over which the task ramps in."""

    @property
    @abstractmethod
    def columns(self) -> Mapping[str, int]:
        """Width of each column that the law adds to a recording; at least 1."""

    @property
    def internal_force_names(self) -> Sequence[str]:
        """Names of the internal forces (m,)."""
        return self.system.internal_force_names

    @property
    def units(self) -> Mapping[str, str]:
        """Unit, order and meaning of the law's `columns` and of those of its `references`."""
        force = internal_force_unit(self.internal_force_names)
        return {
            "estimated_pose": "m, -: x y z qx qy qz qw of the object in the world, as the "
            "controller sees it",
            "estimated_twist": "rad/s, m/s: angular velocity, velocity of the origin, world axes",
            "estimated_closure": "rad, m: disagreement of the arms about the object",
            "estimated_internal_force": f"{force}: from the wrist sensors",
            "control_scales": ", ".join(SCALES),
            "reference_pose": "as estimated_pose, desired",
            "reference_twist": "as estimated_twist, desired",
            "reference_internal_force": f"{force}: desired",
        }

    @property
    def metadata(self) -> Mapping[str, Any]:
        """What a recording tells of the law besides (JSON values)."""
        return {"internal_forces": list(self.internal_force_names)}

    @abstractmethod
    def check_start(self, q: Array, qd: Array) -> None:
        """Check in a moment whether control may start from a measured state.

        Raises:
            StartError: If the arms are not at their grasps, or not at rest.
        """

    @abstractmethod
    def check_path(self, q: Array) -> Rollout | None:
        """Check the whole motion from there; that may take a tenth of a second.

        Returns:
            The motion that was checked; None if the law follows no path.

        Raises:
            PreflightError: If the arms cannot follow the reference.
        """

    @abstractmethod
    def start(self, q: Array, qd: Array, last: Array | None = None) -> LawStep:
        """Forget what was learned, and return what is seen.

        Args:
            q: Positions of the arm joints (na,).
            qd: Their velocities (na,).
            last: The torque that was sent last (na,), from which the torque's rate is limited;
                what holds arms and object up by default.
        """

    @abstractmethod
    def update(self, tick: int, q: Array, qd: Array, wrenches: Array | None = None) -> LawStep:
        """Return the step of a control instant and remember it.

        Any error is answered by the fallback.

        Args:
            tick: Control periods since the start.
            q: Measured positions of the arm joints (na,); finite.
            qd: Measured velocities (na,); finite.
            wrenches: Measured grasp wrenches by the arms on the object (k, 6), angular first, in
                tool frames; None while there are none.
        """

    @abstractmethod
    def hold(self, tick: int) -> None:
        """Come to rest on the path from a tick on; forces stay what they are then."""

    @abstractmethod
    def hold_support(self, q: Array) -> Array:
        """Return the torque (na,) that holds arms and object up at rest at positions `q` (na,).

        The fallback needs it: it must come without error from any finite `q`, and compile nothing
        after its first call.
        """

    def grip_support(self, q: Array) -> Array:
        """Return the torque (na,) of `hold_support`, with the last desired internal force.

        The two differ where contacts only push: without internal force the object falls there.
        """
        return self.hold_support(q)

    @property
    def moves_as_asked(self) -> bool:
        """Whether the object follows the reference whatever pushes it."""
        return False

    def firmer_grip(self, q: Array) -> Array:
        """Return the torque (na,) to add to the last one for the firmest grip that is allowed.

        It is zero where no contact can slip, or control must not change the internal force.
        """
        return np.zeros(len(q))

    def references(self, times: Array) -> dict[str, Array]:
        """Return the columns of a recording that tell what is planned for times (N,) [s]."""
        bodies = self.bodies(self.reference, 0)
        return self.reference_columns(np.hstack([body.rows(times) for body in bodies]))

    def reference_columns(self, rows: Array) -> dict[str, Array]:
        """Return the columns of a recording of rows that were to be followed (N, any).

        Args:
            rows: As of `LawStep.reference`; forces that are compared may be left out.
        """
        found = {
            "reference_pose": rows[:, POSE],
            "reference_twist": rows[:, TWIST],
            "reference_internal_force": rows[:, self.internal_columns],
        }
        if "contact" in self.force_columns:
            contact = self.force_columns["contact"]
            found["reference_contact_force"] = rows[:, FORCE][:, contact]
        return found

    def check_gains(self, settings: ControlSettings) -> None:
        """Refuse gains as `retune` does, and change nothing.

        Args:
            settings: The new settings.

        Raises:
            RobotDynamicsError: As `retune` does.
        """
        raise ArgumentError("the gains of this control law do not change while it runs.")

    def retune(self, settings: ControlSettings) -> None:
        """Go to other gains without a jump of the torque, if the law is `tunable`.

        Args:
            settings: The new settings; what is no gain in them is left aside.

        Raises:
            GainError: If the sampled loop with its delay does not bear them; nothing changes then.
            ArgumentError: If the law is not `tunable`.
        """
        raise ArgumentError("the gains of this control law do not change while it runs.")

    def follow(self, plan: Any, tick: int) -> None:
        """Follow another plan from a tick on, without a jump of the torque, if the law `follows`.

        Args:
            plan: What the object is to do; its time 0 is now. It has `duration`, `start` and
                `rows`, with as many columns as the law's own reference.
            tick: Control periods since the start.

        Raises:
            ArgumentError: If the law does not follow, or the plan's rows do not fit.
        """
        raise ArgumentError("the control law follows the scenario alone.")

    def bodies(self, plan: Any, tick: int) -> Sequence[Plan]:
        """Return what each body of the object does on a plan, the first with the forces.

        Args:
            plan: What the object, or its first body, is to do.
            tick: Control periods between the start and the plan's time 0.
        """
        return (plan,)

    def sense(
        self,
        *,
        pose: ArrayLike | None = None,
        twist: ArrayLike | None = None,
        contact_force: ArrayLike | None = None,
    ) -> None:
        """Take what sensors besides the arms' own measure; it serves for the steps that follow.

        Args:
            pose: Of the object in the world, x y z qx qy qz qw (7,), if the law `senses`.
            twist: Its angular velocity and the velocity of its origin, world axes (6,).
            contact_force: Forces by the object on the surfaces (C,); None to estimate them again.

        Raises:
            ArgumentError: If one has another shape or a number that is not finite, the quaternion
                is zero, or the law does not take it; nothing is taken then.
        """
        raise ArgumentError("the control law takes nothing from sensors besides the arms' own.")

    def contact_forces(self, surface: str, wrench: Array) -> Array:
        """Return the forces on a surface of a wrench (6,) in its frame, angular first.

        Raises:
            RobotDynamicsError: If the surface does not bear it, or there is none.
        """
        raise ArgumentError(f"a force on surface {surface!r}: the control law knows no surfaces.")

    def internal_forces(self, wrench: Array) -> Array:
        """Return the internal forces of a wrench (6,) in the grasps' middle, angular first.

        Raises:
            RobotDynamicsError: If the grasp has no such internal force.
        """
        raise ArgumentError("an internal force: the control law follows the scenario alone.")

    def plan_checks(self, plan: Any) -> Sequence[PlanCheck]:
        """Return checks of whether contacts and surfaces bear a plan, besides the arms' reach."""
        return ()
