# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Interface of control laws: the core that every law has, and the result of a control step.

A law computes the torques of the arms of a `GraspSystem`. It is not safe by itself: the safety
layer decides whether its inputs may be used and whether its torque is sent. Further abilities,
such as holding an object or following streamed references, are separate classes in `abilities.py`;
callers test for them by `isinstance`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.arrays import Array
from robot_dynamics.control.reference import FORCE, POSE, TWIST
from robot_dynamics.manipulation.grasp_map import internal_force_unit
from robot_dynamics.manipulation.system import GraspSystem

Step = TypeVar("Step", bound="LawStep")

#: Meaning of the first five `LawStep.scales`; scales are from 0 to 1.
SCALES = (
    "scale of the internal force by torque limits",
    "scale of the motion",
    "scale of the torque's change by its rate limit",
    "largest support torque over its limit",
    "smallest relative pivot of the arms (0 at a singularity)",
)


class ObjectPlan(Protocol):
    """Planned motion of the object and planned forces."""

    @property
    def duration(self) -> float:
        """Time at which everything has come to rest [s]."""

    @property
    def start(self) -> Array:
        """Pose of the object at time 0, x y z qx qy qz qw (7,); of two parts (2, 7)."""

    def rows(self, times: ArrayLike) -> Array:
        """Return the plan at times (N,) [s]: `row_columns` up to the internal force."""

    def settled_intervals(self, settle_s: float) -> list[tuple[float, float]]:
        """Return the intervals in which the plan has been at rest for `settle_s` [s]."""


@dataclass(slots=True, eq=False)
class LawStep:
    """Result of a control step; arrays over arm joints are (na,).

    Attributes:
        torque: Command [N m or N]; the safety layer sees it before it is sent.
        support: Torque that holds arms and object up at rest.
        reference: Row of the plan that was followed (w,).
        pose: Estimated pose of the object, x y z qx qy qz qw in the world (7,).
        twist: Its angular velocity and velocity, world axes (6,).
        error: Rotation vector and displacement from the object to its reference, world axes (6,).
        scales: `SCALES`, then the law's own (5 or more,); by default nothing is scaled.
        task_scale: Smallest scale of the task by limits, from 0 to 1; from `scales`.
        support_torque_ratio: Largest support torque over its limit, from `scales`; above 1 arms
            and object cannot be held up.
    """

    torque: Array
    support: Array
    reference: Array
    pose: Array
    twist: Array = field(default_factory=partial(np.zeros, 6))
    error: Array = field(default_factory=partial(np.zeros, 6))
    scales: Array = field(default_factory=lambda: np.array([1.0, 1.0, 1.0, 0.0, 1.0]))

    task_scale: float = field(init=False)
    support_torque_ratio: float = field(init=False)

    def __post_init__(self) -> None:
        self.support_torque_ratio = float(self.scales[3])
        self.task_scale = float(self.scales[:3].min())  # NaN where any is NaN

    @property
    def checked(self) -> Array:
        """Vector that the safety layer compares with limits in every period.

        Task scale, support torque ratio, error and pose (15,).
        """
        return np.concatenate(
            [[self.task_scale, self.support_torque_ratio], self.error, self.pose]
        )

    @property
    def poses(self) -> Sequence[Array]:
        """Poses (7,) of the object's bodies: one, or two of a jointed object."""
        return (self.pose,)

    @property
    def recorded(self) -> Sequence[Array]:
        """Vectors that together hold the values of the law's `columns`, in their order."""
        return self.pose, self.twist, self.scales

    def with_torque(self: Step, torque: Array) -> Step:
        """Return the step with the torque (na,) of another controller, which is not scaled."""
        other = copy(self)
        other.torque, other.task_scale = torque, 1.0
        other.scales = np.array([1.0, 1.0, 1.0, *self.scales[3:]])
        return other


@dataclass(slots=True, kw_only=True, eq=False)
class HeldStep(LawStep):
    """Result of a control step of arms that hold an object.

    Attributes:
        closure: Object poses according to the other arms less the pose according to the first
            (6(k-1),): rotation vector and displacement of each.
        internal_force: Measured internal force (m,), in the order of the law's
            `internal_force_names`.
        held_body_wrenches: Wrenches of each held body by the wrist sensors (b, 18), moment and
            force in axes and about a point that stay near the body's [N m, N]: by the arms on it;
            by it on surfaces, as far as that is known; and the residual, which neither planned
            motion nor weight explains.
        tilts: Tilt of each soft finger from its grasp (s,) [rad].
    """

    closure: Array
    internal_force: Array
    held_body_wrenches: Array
    tilts: Array = field(default_factory=partial(np.zeros, 0))

    @property
    def checked(self) -> Array:
        """Vector that the safety layer compares with limits in every period.

        Task scale, support torque ratio, error, wrenches of the held bodies, tilts, closure and
        pose (15 + 18 b + s + 6(k-1),).
        """
        scales, wrenches = [self.task_scale, self.support_torque_ratio], self.held_body_wrenches
        return np.concatenate(
            [scales, self.error, wrenches.ravel(), self.tilts, self.closure, self.pose]
        )

    @property
    def recorded(self) -> Sequence[Array]:
        """Vectors that together hold the values of the law's `columns`, in their order."""
        return self.pose, self.twist, self.closure, self.internal_force, self.scales


class ControlLaw(ABC):
    """A control law: torques for the arms of a system.

    `check_start`, `start`, `update` and `hold_support` must be written; everything else has a
    default. A law that takes over from another is started from the measured state and the torque
    that was sent last, so that the torque does not jump.

    Attributes:
        system: Arms and object according to the model.
        reference: Planned motion of the object; its time 0 is at the end of the start ramp.
    """

    system: GraspSystem
    reference: ObjectPlan

    @abstractmethod
    def check_start(self, q: Array, qd: Array) -> None:
        """Check within a control period whether control may start from a measured state.

        Args:
            q: Positions of the arm joints (na,).
            qd: Their velocities (na,).

        Raises:
            StartError: If not.
        """

    @abstractmethod
    def start(self, q: Array, qd: Array, last: Array | None = None) -> LawStep:
        """Reset the law, and return the step at rest.

        Args:
            q: Positions of the arm joints (na,).
            qd: Their velocities (na,).
            last: Torque that was sent last (na,), from which the torque's rate is limited; by
                default the support torque.
        """

    @abstractmethod
    def update(self, tick: int, q: Array, qd: Array, wrenches: Array | None = None) -> LawStep:
        """Return the step of a control period.

        After any error the fallback takes over.

        Args:
            tick: Control periods since the start.
            q: Measured positions of the arm joints (na,); finite.
            qd: Measured velocities (na,); finite.
            wrenches: Measured grasp wrenches by the arms on the object (k, 6), angular first, in
                tool frames; None if they are not measured.
        """

    @abstractmethod
    def hold_support(self, q: Array) -> Array:
        """Return the torque (na,) that holds arms and object up at rest at positions `q` (na,).

        The fallback calls it: for any finite `q` it must not raise an error, and after the first
        call it must not compile anything.
        """

    @property
    def warnings(self) -> Sequence[str]:
        """Current warnings, one sentence each."""
        return ()

    @property
    def internal_columns(self) -> slice:
        """Columns of the internal force in a row of the plan."""
        return FORCE

    @property
    def internal_force_names(self) -> Sequence[str]:
        """Names of the internal forces (m,)."""
        return self.system.internal_force_names

    @property
    def columns(self) -> Mapping[str, int]:
        """Width of each column that the law adds to a recording; at least 1."""
        return {"estimated_pose": 7, "estimated_twist": 6, "control_scales": len(SCALES)}

    @property
    def units(self) -> Mapping[str, str]:
        """Unit, order and meaning of `columns` and `reference_columns`."""
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
        """Facts about the law for a recording (JSON values)."""
        return {"internal_forces": list(self.internal_force_names)}

    def reference_columns(self, rows: Array) -> dict[str, Array]:
        """Return the columns of a recording that show followed rows.

        Args:
            rows: As `LawStep.reference` (N, w).
        """
        return {
            "reference_pose": rows[:, POSE],
            "reference_twist": rows[:, TWIST],
            "reference_internal_force": rows[:, self.internal_columns],
        }
