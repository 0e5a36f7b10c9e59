# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What a control law offers, so that it can be supervised, run, recorded and shown like any other.

A law knows arms and object as a `GraspSystem`: it says whose joints the torques are for. What it
computes them from is its own business. It is not safe by itself: `supervised.py` decides whether
its inputs may be used and what to send instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.control.settings import ControlSettings
from robot_dynamics.manipulation.system import GraspSystem

Array = NDArray[np.float64]


class ObjectPlan(Protocol):
    """What the object is to do."""

    @property
    def duration(self) -> float:
        """When everything has come to rest [s]."""

    def rows(self, times: ArrayLike) -> Array:
        """Return what to do at times (N,) [s], in the columns of `Reference.rows`."""

    def settled_intervals(self, settle_s: float) -> list[tuple[float, float]]:
        """Return from when to when it has been at rest for `settle_s` [s]."""


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
        """Measured force within the object, as `reference[FORCE]` has it."""

    @property
    def reference(self) -> Array:
        """The row of the plan that was followed."""

    @property
    def scales(self) -> Array:
        """How limits and singularities come in (5 or more,).

        Parts that are let through of internal force, motion and torque change, then the largest
        support over its limit and the smallest relative pivot; what follows is the law's own.
        """

    @property
    def task_scale(self) -> float:
        """The smallest part of the task that limits let through, from 0 to 1."""

    @property
    def support_torque_ratio(self) -> float:
        """The largest support over its limit; beyond 1 arms and object cannot be held up."""

    @property
    def recorded(self) -> tuple[Array, ...]:
        """The values of the law's columns in a recording, in their order."""


class HeldBodyWrench(NamedTuple):
    """What wrist sensors tell of a body that is held.

    Attributes:
        residual: What holds it exerts beyond what motion, weight and known pushes on surfaces
            take, moment and force in axes and about a point that stay near the body's (6,).
        force: What holds it exerts in all (3,) [N].
        pushed: Force on surfaces [N], which drag.
    """

    residual: Array
    force: Array
    pushed: float = 0.0


@runtime_checkable
class HeldBodyWrenchStep(Protocol):
    """A step of a law that estimates the wrenches on held bodies itself, where sensors are."""

    def held_body_wrenches(self) -> tuple[HeldBodyWrench, ...]:
        """Return the wrench on the object, or on each of its parts."""


@runtime_checkable
class HeldBodyWrenchEstimator(Protocol):
    """A law for several bodies, each of whose steps is a `HeldBodyWrenchStep`."""

    @property
    def held_bodies(self) -> int:
        """For how many held bodies its steps estimate the wrench."""


class ControlLaw(Protocol):
    """A control law: torques for arms that hold an object."""

    @property
    def system(self) -> GraspSystem:
        """Arms and object as they are believed to be."""

    @property
    def reference(self) -> ObjectPlan:
        """What the object is to do; it begins when the ramp of the start is over."""

    @property
    def ticks(self) -> int:
        """Number of control periods of start and reference together."""

    @property
    def ramp_ticks(self) -> int:
        """Number of control periods over which the task ramps in."""

    @property
    def columns(self) -> Mapping[str, int]:
        """Width of each column that the law adds to a recording; 0 for a single number."""

    @property
    def metadata(self) -> Mapping[str, Any]:
        """What a recording tells of the law besides (JSON values)."""

    def check_start(self, q: Array, qd: Array) -> None:
        """Check in a moment whether control may start from a measured state.

        Raises:
            StartError: If the arms are not at their grasps, or not at rest.
        """

    def check_path(self, q: Array) -> None:
        """Check the whole motion from there; that may take a tenth of a second.

        Raises:
            PreflightError: If the arms cannot follow the reference.
        """

    def start(self, q: Array, qd: Array, last: Array | None = None) -> LawStep:
        """Forget what was learned, and return what is seen.

        Args:
            q: Positions of the arm joints (na,).
            qd: Their velocities (na,).
            last: The torque that was sent last (na,), from which the torque's rate is limited;
                what holds arms and object up by default.
        """

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

    def hold(self, tick: int) -> None:
        """Come to rest on the path from a tick on; forces stay what they are then."""

    def hold_support(self, q: Array) -> Array:
        """Return the torque (na,) that holds arms and object up at rest at positions `q` (na,).

        The fallback needs it: it must come without error from any finite `q`, and compile nothing
        after its first call.
        """

    def references(self, times: Array) -> dict[str, Array]:
        """Return the columns of a recording that tell what was to be done at times (N,) [s]."""


@runtime_checkable
class TunableLaw(Protocol):
    """A law whose gains may change while it runs."""

    def retune(self, settings: ControlSettings) -> None:
        """Go to other gains without a jump of the torque.

        Args:
            settings: The new settings; what is no gain in them is left aside.

        Raises:
            GainError: If the sampled loop with its delay does not bear them; nothing changes then.
        """


@runtime_checkable
class FollowingLaw(ControlLaw, Protocol):
    """A law that follows references that come while it runs."""

    @property
    def force_columns(self) -> Mapping[str, slice]:
        """Where forces stand among a row's: "internal"; of a `TouchingLaw` "contact", "wanted"."""

    def follow(self, plan: Any, tick: int) -> None:
        """Follow another plan from a tick on, without a jump of the torque.

        Args:
            plan: What the object is to do; its time 0 is now. It has `duration`, `start` and
                `rows`, with as many columns as the law's own reference.
            tick: Control periods since the start.
        """


@runtime_checkable
class WarningLaw(Protocol):
    """A law that says what will hardly go well."""

    @property
    def warnings(self) -> Sequence[str]:
        """What is known of that at present, a sentence each."""


class PlanCheck(Protocol):
    """Looks at a plan a little at a time."""

    @property
    def done(self) -> bool:
        """Whether everything has been looked at."""

    def advance(self, points: int) -> None:
        """Look at some more points.

        Raises:
            RobotDynamicsError: If the plan is bad.
        """


@runtime_checkable
class TouchingLaw(FollowingLaw, Protocol):
    """A following law whose object touches surfaces, in contacts that can slip."""

    @property
    def surfaces(self) -> Mapping[str, slice]:
        """By name, where the forces on each surface stand among "contact", and "wanted" alike."""

    def contact_forces(self, surface: str, wrench: Array) -> Array:
        """Return the forces on a surface of a wrench (6,) in its frame, angular first.

        Raises:
            RobotDynamicsError: If the surface does not bear it.
        """

    def internal_forces(self, wrench: Array) -> Array:
        """Return the internal forces of a wrench (6,) in the grasp's middle, angular first.

        Raises:
            RobotDynamicsError: If the grasp has no such internal force.
        """

    def plan_check(self, plan: Any) -> PlanCheck:
        """Return a check of whether contacts and surfaces bear a plan."""
