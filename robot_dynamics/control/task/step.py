# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Result of a control step of a task, whichever of its laws runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.control.control_law import SCALES, HeldStep
from robot_dynamics.control.hybrid.law import HybridLaw
from robot_dynamics.control.hybrid.step import HybridStep
from robot_dynamics.control.reference import POSE
from robot_dynamics.control.task.free_arms import FreeArms


@dataclass(slots=True, kw_only=True, eq=False)
class TaskStep(HeldStep):
    """Result of a control step of a task.

    Without a held object closure, internal force and wrenches of held bodies are zero.

    Attributes:
        contact_force: Forces by the object on surfaces, as the controller sees them (C,).
        touched: 1 for surfaces whose force is controlled, 0 for others (C,).
        phase: Index of the phase.
        holding: Whether the law of the held object runs.
        payload: See `HybridStep.payload`; zero while it does not run (9 or 0,).
    """

    contact_force: Array
    touched: Array
    phase: int
    holding: bool
    payload: Array

    @property
    def recorded(self) -> Sequence[Array]:
        """Vectors that together hold the values of the law's `columns`, in their order."""
        scales, phase = self.scales[: len(SCALES)], np.array([self.phase, self.holding], float)
        held = self.pose, self.twist, self.closure, self.internal_force
        return *held, scales, self.contact_force, self.touched, phase, self.payload


def free_step(
    arms: FreeArms,
    law: HybridLaw,
    q: Array,
    torque: Array,
    pose: Array,
    internal_force: Array,
    phase: int,
) -> TaskStep:
    """Return the step of free arms, or of hands that press on the standing object.

    Args:
        arms: The arms.
        law: A law of the held object, for the widths of vectors.
        q: Positions of the arm joints (na,).
        torque: Torque of the step (na,).
        pose: Pose of the object (7,).
        internal_force: Internal force by the hands (m,).
        phase: Index of the phase.
    """
    support, layout = arms.support(q), law.layout
    row = np.zeros(len(law.row(0)))
    row[POSE], row[law.internal_columns] = pose, internal_force
    load = float(np.max(np.abs(support) / arms.effort))
    return TaskStep(
        torque=torque,
        support=support,
        reference=row,
        pose=pose,
        scales=np.array([1.0, 1.0, 1.0, load, 1.0]),
        closure=np.zeros(6 * (layout.arms - 1)),
        internal_force=internal_force,
        held_body_wrenches=np.zeros((1, 18)),
        tilts=np.zeros(layout.soft_fingers),
        contact_force=np.zeros(layout.surfaces),
        touched=np.zeros(layout.surfaces),
        phase=phase,
        holding=False,
        payload=np.zeros(9 if layout.adapts else 0),
    )


def held_step(seen: HybridStep, phase: int) -> TaskStep:
    """Return the step of the law of the held object, in a phase of a task."""
    step = TaskStep(
        torque=seen.torque,
        support=seen.support,
        reference=seen.reference,
        pose=seen.pose,
        twist=seen.twist,
        error=seen.error,
        scales=seen.scales,
        closure=seen.closure,
        internal_force=seen.internal_force,
        held_body_wrenches=seen.held_body_wrenches,
        tilts=seen.tilts,
        contact_force=seen.outputs.contact_force,
        touched=seen.touched,
        phase=phase,
        holding=True,
        payload=seen.payload,
    )
    step.task_scale = seen.task_scale
    return step
