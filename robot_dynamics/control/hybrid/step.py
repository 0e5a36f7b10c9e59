# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Outputs of one step of the hybrid controller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.control.control_law import HeldStep
from robot_dynamics.control.hybrid.law_inputs import Layout
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.manipulation.passive_joints import DEAD_POINT

_NONE: Array = np.zeros(0)
ALL = 1.0 - 1e-9  #: part of the task that is all of it
_ANYTHING = 1e6  # margin recorded of a contact without limits [N]

# Largest closure error of internal closed chains [m or rad]: they are closed to rounding unless a
# drive has moved by a tenth of a radian in a period, or is out of its linkage's range.
_LARGEST_OPENING = 1e-6
# Distance of linkages from their dead points, in periods of their motion: they cannot change to
# another assembly mode unnoticed.
_PERIODS = 4.0


class SlipReport(NamedTuple):
    """Slip margins of the contacts at one instant, in the order of the monitor's names.

    Attributes:
        margins: Current distance of each to its limits (k,) [N]; negative if it slips or opens,
            infinite without measurements.
        ahead: Smallest expected margin from now until the horizon (k,) [N].
        when: Time until the expected margin is first below the declared one (k,) [s]; infinite if
            it never is.
        warnings: Sentences; empty without any.
    """

    margins: Array
    ahead: Array
    when: Array
    warnings: tuple[str, ...]


class OutputPart:
    """A part of a vector of outputs, viewed when it is asked for; see `HybridOutputs`.

    Args:
        name: Of the part; by default that of the attribute.
    """

    def __init__(self, name: str = "") -> None:
        self._name = name

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = self._name or name

    def __get__(self, outputs: HybridOutputs | HybridStep, owner: type | None = None) -> Array:
        return outputs.values[..., outputs.at[self._name]]


class OutputNumber:
    """A number among the outputs of one step, read when it is asked for."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, outputs: HybridStep, owner: type | None = None) -> float:
        return outputs.values.item(outputs.at[self._name].start)


class HybridOutputs:
    """Named parts of the kernel's outputs, of one state (w,) or of many (N, w).

    Attributes:
        values: All parts.
        at: Position of each part; see `Layout.outputs`.
        effort_scale, task_scale, support_torque_ratio: See `HybridStep` (1,).
        pose: Pose of the object, x y z qx qy qz qw in the world (7,).
        twist: Its angular velocity and the velocity of its origin, world axes (6,).
        closure: Object poses of the other arms less the first's (6(k-1),).
        internal_force: Measured internal force (m,).
        contact_force: Forces on the surfaces (C,), measured or estimated; desired without sensors.
        touched: 1 for surfaces whose force is controlled, 0 for others (C,).
        uncontrolled_error: Part of the error of the object's origin that the servo of the motion
            leaves to the forces on touched surfaces (6,); empty without surfaces.
        tilt: Tilt of each soft finger from its grasp (s,) [rad].
        spring_wrench: Wrench of the springs of the law "impedance" (6,); empty for other laws.
        payload: Mass [kg] and centre of mass in the object's frame [m] that the law uses (4,);
            empty if it takes them as stated.
        payload_deviation: Standard deviation of their estimate (4,).
        payload_learned: 1 if the sample counts for the estimate, 0 while it is frozen (1,).
        scales: `law_inputs.SCALES` (8,).
        error: Rotation vector and displacement to the reference, world axes, without
            `uncontrolled_error` (6,).
        distance: Values of the surfaces' functions (C,): negative in free space.
        support: Torque that holds everything up (na,).
        measured_contact_forces: Along the contacts' directions (d,); zero without sensors.
        desired_wrench: Of the contacts on the object (37), with the drag of surfaces, about its
            centre of mass in its axes (6,).
        held_body_wrenches: See `HeldStep`; about the object's centre of mass, in its axes (18,).
        torque_range: Least and largest of the partial sums of the task's torque (2 na,): support
            with internal force, then with the force on surfaces, then with the motion; each less
            the torque of the row's internal force.
        internal_force_torques: Torques of each internal force (na m,).
        linkage: Closure error of the internal closed chains, their pivot, and their motion (3,);
            empty for arms without loops. See `manipulation.passive_joints.DrivenMotion`.
    """

    __slots__ = "at", "values"

    effort_scale = OutputPart()
    task_scale = OutputPart()
    support_torque_ratio = OutputPart()
    error = OutputPart()
    held_body_wrenches = OutputPart()
    tilt = OutputPart()
    closure = OutputPart()
    pose = OutputPart()
    twist = OutputPart()
    internal_force = OutputPart()
    contact_force = OutputPart()
    touched = OutputPart()
    uncontrolled_error = OutputPart()
    spring_wrench = OutputPart()
    payload = OutputPart()
    payload_deviation = OutputPart()
    payload_learned = OutputPart()
    scales = OutputPart()
    distance = OutputPart()
    support = OutputPart()
    measured_contact_forces = OutputPart()
    desired_wrench = OutputPart()
    torque_range = OutputPart()
    internal_force_torques = OutputPart()
    linkage = OutputPart()

    def __init__(self, values: Array, at: Mapping[str, slice]) -> None:
        self.values, self.at = values, at


class HybridStep(HeldStep):
    """Result of a control step of the hybrid law; see `HeldStep`.

    `error` does not lead into surfaces that are touched; `scales` are `law_inputs.SCALES`.

    Attributes:
        memory: Inputs of the next step; see `Layout.memory`.
        values: Outputs of the kernel but torque and memory; `outputs` names their parts.
        at: Position of each part; see `Layout.outputs`.
        added_internal_force: Correction of the row's internal force (m,); see `InternalChoice`.
        internal_force_adapted: Whether torque limits changed the internal force.
        slip: Slip margins of the contacts; None if none can slip.
        more: Values of the columns that a derived law adds.
        effort_scale: Smallest scale of internal force, motion and force on surfaces by the effort
            limits, from 0 to 1.
        task_scale: The same, with the limit of the torque's rate.
        support_torque_ratio: Largest support torque over its limit; above 1 arms and object cannot
            be held up.
        touched: 1 for surfaces whose force is controlled, 0 for others (C,).
    """

    __slots__ = (
        "_layout", "added_internal_force", "at", "internal_force_adapted", "memory", "more",
        "slip", "values",
    )  # fmt: skip

    # Viewed on demand: the safety layer compares `checked` alone in every period.
    support = OutputPart()
    pose = OutputPart()
    twist = OutputPart()
    error = OutputPart()
    closure = OutputPart()
    scales = OutputPart()
    internal_force = OutputPart()
    tilts = OutputPart("tilt")
    touched = OutputPart()
    effort_scale = OutputNumber()
    task_scale = OutputNumber()
    support_torque_ratio = OutputNumber()

    def __init__(
        self,
        torque: Array,
        memory: Array,
        values: Array,
        reference: Array,
        layout: Layout,
        added_internal_force: Array,
    ) -> None:
        self.torque, self.memory, self.reference = torque, memory, reference
        self._layout, self.added_internal_force = layout, added_internal_force
        self.internal_force_adapted = False
        self.slip: SlipReport | None = None
        self.more: tuple[Array, ...] = ()
        self.values, self.at = values, layout.outputs

    @property
    def checked(self) -> Array:
        """Vector that the safety layer compares with limits; see `HeldStep.checked`."""
        return self.values[self._layout.checked]

    @property
    def held_body_wrenches(self) -> Array:  # type: ignore[override]
        """Wrenches of the object (1, 18); see `HeldStep`."""
        return self.outputs.held_body_wrenches[None]

    @property
    def outputs(self) -> HybridOutputs:
        """Named parts of the kernel's outputs."""
        return HybridOutputs(self.values, self._layout.outputs)

    @property
    def fits(self) -> bool:
        """Whether the effort limits leave the task unscaled."""
        return self.effort_scale >= ALL

    @property
    def torque_range(self) -> Array:
        """Least and largest torque of the task (2, na); see `HybridOutputs`."""
        return self.outputs.torque_range.reshape(2, -1)

    @property
    def internal_force_torques(self) -> Array:
        """Torques of each internal force (na, m)."""
        return self.outputs.internal_force_torques.reshape(len(self.torque), -1)

    def require_linkages(self) -> None:
        """Check that internal closed chains are closed, and off their dead points.

        Raises:
            RobotDynamicsError: If not.
        """
        for opening, pivot, moved in self.outputs.linkage.reshape(-1, 3).tolist():
            least = DEAD_POINT + _PERIODS * moved
            if not (opening <= _LARGEST_OPENING and pivot >= least):
                raise RobotDynamicsError(
                    "the internal closed chains of the arms stay open by "
                    f"{opening:.3g} m or rad, expected at most "
                    f"{_LARGEST_OPENING:g}, with drives off their dead points by {pivot:.2g}, "
                    f"expected at least {least:.2g}: a drive is not where it is measured."
                )

    @property
    def payload(self) -> Array:
        """Estimate of the payload: values of its columns (9,); empty if it is taken as stated."""
        at = self.at
        return self.values[at["payload"].start : at["payload_learned"].stop]

    @property
    def slip_margins(self) -> Array:
        """Distance of each contact that can slip to its limits (w,) [N]; empty without any."""
        return _NONE if self.slip is None else self.slip.margins

    def with_torque(self, torque: Array) -> HybridStep:
        """Return the step with the torque (na,) of another controller, which is not scaled."""
        # The law's springs and correction of the internal force have no effect then.
        nothing = np.zeros_like(self.added_internal_force)
        values = self.memory, self.values.copy(), self.reference
        other = HybridStep(torque, *values, self._layout, nothing)
        other.internal_force_adapted = self.internal_force_adapted
        other.slip, other.more = self.slip, self.more
        other.outputs.effort_scale[:] = other.outputs.task_scale[:] = 1.0
        other.scales[:3] = 1.0
        other.outputs.spring_wrench[:] = 0.0
        return other

    @property
    def recorded(self) -> tuple[Array, ...]:
        """Values of the columns of `HybridLaw.columns`, in their order."""
        values = self.values[self._layout.recorded], self.added_internal_force
        if self.slip is None:
            return *values, *self.more
        return *values, np.minimum(self.slip.ahead, _ANYTHING), *self.more
