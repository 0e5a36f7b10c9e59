# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Outputs of one step of the hybrid controller."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.manipulation.passive_joints import DEAD_POINT

Array = NDArray[np.float64]

_NONE: Array = np.zeros(0)
ALL = 1.0 - 1e-9  #: part of the task that is all of it
_ANYTHING = 1e6  # margin recorded of a contact without limits [N]

# In `law_inputs.SCALES`: what damping near a singularity takes from the object's acceleration.
_LOST = 6

# Largest closure error of internal closed chains [m or rad]: they are closed to rounding unless a
# drive has moved by a tenth of a radian in a period, or is where its linkage cannot be.
_LARGEST_OPENING = 1e-6
# Linkages must be off their dead points by their motion in so many periods, so that they cannot
# change to another assembly mode unseen.
_PERIODS = 4.0


class SlipReport(NamedTuple):
    """Slip margins of the contacts at one instant, in the order of the monitor's names.

    Attributes:
        margins: Distance of each to its limits now (k,) [N]; negative where it slips or opens,
            infinite without measurements.
        ahead: The smallest expected margin from now until the horizon (k,) [N].
        when: Time until the expected margin is first below the declared one (k,) [s]; infinite if
            it never is.
        warnings: Sentences; none if all is well.
    """

    margins: Array
    ahead: Array
    when: Array
    warnings: tuple[str, ...]


class HybridStep:
    """Command and other outputs of a control step; arrays over arm joints are (na,).

    Attributes:
        torque: The command [N m].
        memory: What the next step needs of this one.
        reference: The row of the reference that was followed.
        added_internal_force: Correction of its internal force (m,); see `InternalChoice`.
        internal_force_adapted: Whether the internal force was changed because of torque limits.
        slip: How safe the contacts are that can slip; None where none can.
        more: Values of columns that a law derived from the hybrid one adds.
        effort_scale: Smallest scale of internal force, motion and force on surfaces by the effort
            limits, from 0 to 1.
        task_scale: The same, with the limit of the torque's rate.
        support_torque_ratio: The largest support over its limit; beyond 1 arms and object cannot
            be held up.
    """

    __slots__ = (
        "_at", "_outputs", "added_internal_force", "effort_scale", "internal_force_adapted",
        "memory", "more", "reference", "slip", "support_torque_ratio", "task_scale", "torque",
    )  # fmt: skip

    def __init__(
        self,
        torque: Array,
        memory: Array,
        outputs: Array,
        reference: Array,
        at: Mapping[str, slice],
        added_internal_force: Array,
    ) -> None:
        self.torque, self.memory, self.reference = torque, memory, reference
        self._outputs, self._at = outputs, at
        self.added_internal_force = added_internal_force
        self.internal_force_adapted = False
        self.slip: SlipReport | None = None
        self.more: tuple[Array, ...] = ()
        # Floats, because they are compared in every period.
        scales: list[float] = outputs[at["checked_scales"]].tolist()
        self.effort_scale, self.task_scale, self.support_torque_ratio = scales

    @property
    def outputs(self) -> Array:
        """All outputs of the kernel but torque and memory; see `Layout.outputs`."""
        return self._outputs

    @property
    def pose(self) -> Array:
        """Pose of the object, x y z qx qy qz qw in the world (7,)."""
        return self._outputs[self._at["pose"]]

    @property
    def poses(self) -> tuple[Array]:
        """The pose of the object, which is one body."""
        return (self.pose,)

    @property
    def twist(self) -> Array:
        """Its angular velocity and the velocity of its origin, world axes (6,)."""
        return self._outputs[self._at["twist"]]

    @property
    def error(self) -> Array:
        """Rotation vector and displacement from it to the reference, world axes (6,).

        As far as it is controlled: not into surfaces that are touched.
        """
        return self._outputs[self._at["error"]]

    @property
    def closure(self) -> Array:
        """Closure error: the other arms' object poses less the first's (6(k-1),)."""
        return self._outputs[self._at["closure"]]

    @property
    def internal_force(self) -> Array:
        """Measured internal force (m,)."""
        return self._outputs[self._at["internal_force"]]

    @property
    def contact_force(self) -> Array:
        """Force on the surfaces (C,), measured or estimated; as desired without any sensor."""
        return self._outputs[self._at["contact_force"]]

    @property
    def touched(self) -> Array:
        """1 for surfaces whose force is controlled, 0 for others (C,)."""
        return self._outputs[self._at["touched"]]

    @property
    def blocked_error(self) -> Array:
        """What `error` leaves out, of the object's origin (6,): into what it touches.

        Empty without surfaces.
        """
        return self._outputs[self._at["blocked_error"]]

    @property
    def tilts(self) -> Array:
        """Tilt of each soft finger from its grasp (s,) [rad]."""
        return self._outputs[self._at["tilt"]]

    @property
    def distance(self) -> Array:
        """Values of the surfaces' functions (C,): negative in free space."""
        return self._outputs[self._at["distance"]]

    @property
    def support(self) -> Array:
        """The part of the torque that holds everything up."""
        return self._outputs[self._at["support"]]

    @property
    def scales(self) -> Array:
        """Scales of the torque's parts, and more (8,); see `law_inputs.SCALES`."""
        return self._outputs[self._at["scales"]]

    @property
    def fits(self) -> bool:
        """Whether the effort limits leave the task unscaled."""
        return self.effort_scale >= ALL

    @property
    def lost_acceleration(self) -> float:
        """What damping near a singularity takes from the object's acceleration [m/s^2]."""
        return float(self.scales[_LOST])

    @property
    def measured_contact_forces(self) -> Array:
        """Measured contact forces (d,), along the contacts' directions; zero without sensors."""
        return self._outputs[self._at["measured_contact_forces"]]

    @property
    def desired_wrench(self) -> Array:
        """Desired wrench of the contacts on the object, about its centre in its axes (6,).

        That of (37), with the drag of surfaces.
        """
        return self._outputs[self._at["desired_wrench"]]

    @property
    def contact_wrench(self) -> Array:
        """Measured wrench of the contacts on the object, about its centre in its axes (6,)."""
        return self.held_body_wrenches[0, :6]

    @property
    def surface_wrench(self) -> Array:
        """Wrench of the object on touched surfaces, by `contact_force`, likewise (6,)."""
        return self.held_body_wrenches[0, 6:12]

    @property
    def residual_wrench(self) -> Array:
        """`contact_wrench` less what planned motion, weight and `surface_wrench` need (6,)."""
        return self.held_body_wrenches[0, 12:]

    @property
    def held_body_wrenches(self) -> Array:
        """`contact_wrench`, `surface_wrench`, `residual_wrench` in one row (1, 18)."""
        return self._outputs[self._at["held_body_wrenches"]].reshape(1, 18)

    @property
    def torque_range(self) -> Array:
        """The least and the largest torque of the task, summed part by part (2, na).

        Support with internal force, then with the force on surfaces, then with the motion; each
        less the torque of the row's internal force, see `internal_force_torques`.
        """
        return self._outputs[self._at["torque_range"]].reshape(2, -1)

    @property
    def internal_force_torques(self) -> Array:
        """Torques of each internal force (na, m)."""
        return self._outputs[self._at["internal_force_torques"]].reshape(len(self.torque), -1)

    @property
    def linkage(self) -> Array:
        """Opening of the internal closed chains, their pivot, and how far they moved (3,).

        Empty for arms without loops; see `manipulation.passive_joints.DrivenMotion`.
        """
        return self._outputs[self._at["linkage"]]

    def require_linkages(self) -> None:
        """Check that internal closed chains are closed, by drives that tell how they move.

        Raises:
            RobotDynamicsError: If not.
        """
        for opening, pivot, moved in self.linkage.reshape(-1, 3).tolist():
            least = DEAD_POINT + _PERIODS * moved
            if not (opening <= _LARGEST_OPENING and pivot >= least):
                raise RobotDynamicsError(
                    "the internal closed chains of the arms stay open by "
                    f"{opening:.3g} m or rad, expected at most "
                    f"{_LARGEST_OPENING:g}, with drives off their dead points by {pivot:.2g}, "
                    f"expected at least {least:.2g}: a drive is not where it is measured."
                )

    @property
    def slip_margins(self) -> Array:
        """Distance of each contact that can slip to its limits (w,) [N]; empty without any."""
        return _NONE if self.slip is None else self.slip.margins

    def with_torque(self, torque: Array) -> HybridStep:
        """Return the step with the torque (na,) of another controller, which nothing scales."""
        other = copy(self)
        other.torque, other.effort_scale, other.task_scale = torque, 1.0, 1.0
        other._outputs = self._outputs.copy()
        other.scales[:3] = 1.0
        # What this law would have done with springs, and added to the reference; the other
        # controller did not.
        other._outputs[self._at["spring_wrench"]] = 0.0
        other.added_internal_force = np.zeros_like(self.added_internal_force)
        return other

    @property
    def recorded(self) -> tuple[Array, ...]:
        """The values of the columns of `HybridLaw.columns`."""
        values = self._outputs[: self._at["scales"].stop], self.added_internal_force
        if self.slip is None:
            return *values, *self.more
        return *values, np.minimum(self.slip.ahead, _ANYTHING), *self.more
