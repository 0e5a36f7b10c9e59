# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Unseren's controller of a jointed object as a law that the node can run.

One kernel computes the parts of the torque (`law_program.py`); here are references, limits and
integrals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.compile import load_kernel
from robot_dynamics.control.abilities import GraspFacts
from robot_dynamics.control.control_law import HeldStep
from robot_dynamics.control.gain_ramp import carried_over
from robot_dynamics.control.hybrid.named_forces import refuse_others
from robot_dynamics.control.jointed.fold_plan import FoldPlan, SecondPart
from robot_dynamics.control.jointed.law_program import (
    AXES,
    JointedGains,
    jointed_law_parameters,
    jointed_law_program,
)
from robot_dynamics.control.path_check import PathCheck, check_path, path_times
from robot_dynamics.control.planned_law import PlannedLaw
from robot_dynamics.control.reference import FORCE, POSE, Plan, row_columns
from robot_dynamics.control.resume import Resumed, Way
from robot_dynamics.control.rollout import LawAlongPlan, LawParts, UnlimitedLaw
from robot_dynamics.control.settings import ControlSettings, SafetySettings
from robot_dynamics.control.torque_limits import torque_limits
from robot_dynamics.manipulation.jointed_object import JointedObjectSystem
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.robot.bound_model import quick_constraint_terms

# Largest term of the integral of the parts' errors [rad/s^2, m/s^2].
_LARGEST_CORRECTION = 10.0


class JointedOutputs(NamedTuple):
    """Outputs of `jointed_law_program`, in the order of its ports."""

    pose: Array
    twist: Array
    second_pose: Array
    error: Array
    closure: Array
    force: Array
    held_body_wrenches: Array
    primary: Array
    push: Array
    moving: Array
    acceleration: Array
    pivot: Array


@dataclass(slots=True, kw_only=True, eq=False)
class JointedStep(HeldStep):
    """Result of a control step; see `control_law.HeldStep`.

    `pose` and `twist` are of the first part's link. `error` is of the part that is farther off, in
    each of its two vectors. `closure` is the opening of the object's joint. `internal_force` is in
    the object's joint: measured by the wrists, or as desired without them.

    Attributes:
        second_pose: Pose of the second part's link (7,).
    """

    second_pose: Array

    @property
    def poses(self) -> tuple[Array, Array]:
        """Poses (7,) of both parts' links."""
        return self.pose, self.second_pose

    @property
    def recorded(self) -> tuple[Array, ...]:
        """Values of the columns of `JointedLaw.columns`, in their order."""
        own = self.pose, self.twist, self.closure, self.internal_force, self.scales
        return *own, self.second_pose


class JointedLaw(PlannedLaw):
    """Control law of a jointed object: motion of both parts, and the force in its joint.

    Args:
        system: Arms, parts and grasps according to the model.
        jointed: The same system in the form of Unseren's model.
        plan: Plan of the object.
        settings: Rate, servos and start.
        safety: Limits of torque and of its rate.
    """

    plan: FoldPlan
    _last: Array
    _integral: Array
    grasp = GraspFacts(bodies=2)

    def __init__(
        self,
        system: GraspSystem,
        jointed: JointedObjectSystem,
        plan: FoldPlan,
        settings: ControlSettings,
        safety: SafetySettings,
    ) -> None:
        self.jointed = jointed
        self.gains = JointedGains.of(settings)
        columns = row_columns(surfaces=0, internal=jointed.constraints)
        super().__init__(system, settings, safety, plan, columns, self.gains.lead)
        # Columns of a row: motion and force of the first part, force to compare with the measured
        # one, motion of the second part.
        self._compared = columns["compared_internal"]
        self._motion, self._second = slice(0, FORCE.start + jointed.constraints), slice(-19, None)
        self.kernel = load_kernel(
            b"jointed_law\0" + _layout(jointed) + jointed.arms.structure_key,
            lambda: jointed_law_program(jointed),
            lanes=1,
        )
        n, c = jointed.arms.nv, jointed.constraints
        self._limits = torque_limits(n, 12 + c)
        self._effort = np.minimum(safety.effort_fraction * system.limits["effort"], 1e9)
        self._largest_change = safety.torque_rate * self.period
        self._no_wrenches = np.zeros((2, 6))
        self._forget(system.posture, np.zeros(n))

    @property
    def columns(self) -> dict[str, int]:
        """Width of each column that the law adds to a recording."""
        return {**super().columns, "estimated_second_pose": 7}

    @property
    def metadata(self) -> dict[str, Any]:
        """Gains of the parts' servo, its delay margins, and names of forces."""
        gains = self.gains
        own = {"object_gains": [gains.proportional, gains.derivative, gains.integral]}
        return {**super().metadata, **own}

    @property
    def units(self) -> dict[str, str]:
        """Units of the columns, with those of the second part."""
        return {
            **super().units,
            "estimated_second_pose": "as estimated_pose, of the second part",
            "reference_second_pose": "as reference_pose, of the second part",
        }

    def bodies(self, plan: Plan, tick: int) -> tuple[Plan, Plan]:
        """Return the plans of both parts: the second folds as planned on any path of the first."""
        begin = max(tick - self.ramp_ticks, 0) * self.period
        own = plan if isinstance(plan, (FoldPlan, Resumed)) else self.reference
        if isinstance(own, Resumed):
            fold = own.along(self.plan.path.references[1])
            return plan, SecondPart(self.plan.path, plan, begin, fold, own.duration)
        return plan, SecondPart(self.plan.path, plan, begin)

    def _resumed(self, way: Way, q: Array, ran_for: float) -> Resumed:
        found = super()._resumed(way, q, ran_for)
        # A fold that is not that of the plan there is found by the check of the start.
        found.start = np.stack([body.rows([0.0])[0, POSE] for body in self.bodies(found, 0)])
        return found

    def _poses(self, q: Array) -> Sequence[Array]:
        seen = self._evaluate(self._followed.row(0), q, np.zeros_like(q), None)
        return seen.pose, seen.second_pose

    def internal_forces(self, wrench: Array) -> Array:
        """Return the force in the object's joint (c,) of a wrench (6,), in the joint's order.

        Raises:
            ArgumentError: If it has components that the joint does not transmit.
        """
        blocked = [AXES.index(axis) for axis in self.system.internal_axes]
        refuse_others(wrench, blocked, "the object's joint transmits")
        return np.asarray(wrench[blocked])

    def checked_path(self, q: Array, terms: Any = None) -> PathCheck:
        """Return the margins of the plan; see `PlannedLaw.checked_path`."""
        times = path_times(self.reference.duration)
        rows = [body.rows(times) for body in self.bodies(self.reference, 0)]
        terms = terms or quick_constraint_terms(self.system.model)
        law = self.unlimited(self._near_posture(q), terms)
        return check_path(self.system, self.safety, law, rows, times, q, terms=terms)

    def unlimited(self, posture: Array, terms: Any) -> UnlimitedLaw:
        """Return the law on its plan without limits, delay and integrals; see `control.rollout`.

        Args:
            posture: Positions that the arms stay near (n,).
            terms: `Robot.constraint_terms` of the system.
        """
        system, law = self.system, self.at_once(posture)

        def of_plan(rows: Sequence[Array]) -> LawAlongPlan:
            def at_instant(i: int, at: Array, rate: Array) -> LawParts:
                here = [part[i] for part in rows]
                seen = law(at[system.q_index], rate[system.v_index], *here)
                torque, pivot = seen.primary + seen.push + seen.moving, _pivot(system, terms, at)
                return LawParts(torque, seen.primary, seen.acceleration, pivot, torque[:0])

            return at_instant

        return of_plan

    def at_once(self, posture: Array) -> Callable[[Array, Array, Array, Array], JointedOutputs]:
        """Return the law at the instant of the measurement, without integrals and wrenches.

        It takes positions and velocities of the arm joints (..., n) and the rows of the first
        (..., 19 + c) and the second part (..., 19).

        Args:
            posture: Positions that the arms stay near (n,).
        """
        law = self.kernel.bind(
            jointed_law_parameters(self.jointed, self.gains._replace(lead=0.0), posture)
        )
        still = np.zeros(len(posture))
        offset, learned = np.zeros(12), np.zeros(self.jointed.constraints)

        def evaluate(q: Array, qd: Array, first: Array, second: Array) -> JointedOutputs:
            given = (q, qd, still, self._no_wrenches, first, second, offset, learned)
            return JointedOutputs._make(law(*given))

        return evaluate

    def start(self, q: Array, qd: Array, last: Array | None = None) -> JointedStep:
        """Reset the law, and return the step at rest; see `ControlLaw.start`.

        The present positions become the target of the posture servo.
        """
        self._restart()
        self._forget(self._near_posture(q), self.hold_support(q) if last is None else last)
        row = self._followed.row(0)
        seen = self._evaluate(row, q, qd, None)
        return self._step(row, seen, self._last, np.array([1.0, 1.0, 1.0, self._load(seen)]), None)

    def update(self, tick: int, q: Array, qd: Array, wrenches: Array | None = None) -> JointedStep:
        """Return the step of a control instant and remember it; see `control_law.ControlLaw`."""
        if self._retuning is not None:
            self._retune(self._retuning)
        row = self._followed.row(tick)
        seen = self._evaluate(row, q, qd, wrenches)
        # The wrists measure the effect of an earlier command.
        lacking = row[self._compared] - seen.force
        if wrenches is None:
            lacking = np.zeros(len(lacking))
        ramp = 1.0 if tick >= self.ramp_ticks else tick / self.ramp_ticks
        errors = np.concatenate([seen.error, lacking])
        torque, self._integral, scales = self._limits(
            seen.primary,
            seen.push,
            seen.moving,
            self._last,
            self._effort,
            self._largest_change,
            ramp,
            self._integral,
            self.period * errors,
            self._bound,
        )
        self._last = torque
        self._acceleration = ramp * scales[1] * seen.acceleration
        return self._step(row, seen, torque, scales, wrenches)

    def hold_support(self, q: Array) -> Array:
        """Return the torque (n,) that holds arms and object up at rest at positions `q` (n,)."""
        still, row = np.zeros(len(q)), self._followed.row(0)
        errors = np.zeros(12), np.zeros(self.jointed.constraints)
        rows = row[self._motion], row[self._second]
        return JointedOutputs._make(
            self._law(q, still, still, self._no_wrenches, *rows, *errors)
        ).primary

    def reference_columns(self, rows: Array) -> dict[str, Array]:
        """Return the columns of a recording of rows; see `ControlLaw.reference_columns`."""
        second = rows[:, self._second]
        return {**super().reference_columns(rows), "reference_second_pose": second[:, POSE]}

    def _forget(self, posture: Array, last: Array) -> None:
        self._posture = np.array(posture, dtype=float)
        self._set_gains(JointedGains.of(self.settings))
        self._last = np.array(last, dtype=float)
        self._integral = np.zeros(12 + self.jointed.constraints)
        self._acceleration = np.zeros(len(self._last))

    def _set_gains(self, gains: JointedGains) -> None:
        """Set the gains of the law."""
        self.gains = gains
        block = jointed_law_parameters(self.jointed, gains, self._posture)
        self._law = self.kernel.bind(block)
        bounds = _LARGEST_CORRECTION, self.settings.jointed.force_bound
        strengths = gains.integral, gains.force_integral
        each = [b / max(k, 1e-12) for b, k in zip(bounds, strengths, strict=True)]
        self._bound = np.repeat(each, [12, self.jointed.constraints])

    def _take_gains(self, end: ControlSettings) -> None:
        before, last = self.gains, JointedGains.of(end)
        self._set_gains(JointedGains.of(self.settings))
        motion, force = np.split(self._integral, [12])
        self._integral = np.concatenate(
            [
                carried_over(motion, before.integral, self.gains.integral, last.integral),
                carried_over(
                    force, before.force_integral, self.gains.force_integral, last.force_integral
                ),
            ]
        )

    def _evaluate(self, row: Array, q: Array, qd: Array, wrenches: Array | None) -> JointedOutputs:
        return JointedOutputs._make(
            self._law(
                q,
                qd,
                self._acceleration,
                self._no_wrenches if wrenches is None else wrenches,
                row[self._motion],
                row[self._second],
                self._integral[:12],
                self._integral[12:],
            )
        )

    def _step(
        self,
        row: Array,
        seen: JointedOutputs,
        torque: Array,
        scales: Array,
        wrenches: Array | None,
    ) -> JointedStep:
        error = seen.error
        return JointedStep(
            torque,
            seen.primary,
            row,
            seen.pose,
            seen.twist,
            np.concatenate([_longer(error[:3], error[6:9]), _longer(error[3:6], error[9:])]),
            np.append(scales, seen.pivot),
            closure=seen.closure,
            internal_force=seen.force if wrenches is not None else row[self._compared],
            held_body_wrenches=seen.held_body_wrenches,
            second_pose=seen.second_pose,
        )

    def _load(self, seen: JointedOutputs) -> float:
        return float(np.max(np.abs(seen.primary) / self._effort))


def _longer(a: Array, b: Array) -> Array:
    """Return the longer one of two vectors."""
    return a if a @ a >= b @ b else b


def _pivot(system: GraspSystem, terms: Any, at: Array) -> float:
    """Return the smallest relative pivot of an arm's J H^-1 J^T, as the other law has it."""
    found = 1.0
    H, _, K, _, _, _ = terms(at, np.zeros(system.model.nv))
    for arm in system.arms:
        own = arm.v_index
        J = K[6 * arm.loop : 6 * arm.loop + 6, own]
        # Elimination runs from the last row to the first; pivots are relative to the diagonal.
        flipped = (J @ np.linalg.solve(H[np.ix_(own, own)], J.T))[::-1, ::-1]
        try:
            pivots = np.square(np.diag(np.linalg.cholesky(flipped)))
        except np.linalg.LinAlgError:
            pivots = np.zeros(6)
        found = min(found, float(np.min(pivots / np.diag(flipped))))
    return found


def _layout(system: JointedObjectSystem) -> bytes:
    """Return the part of the kernel's key beyond the model: the joints of each part."""
    parts = [(part.body, part.v_index.tolist()) for part in system.parts]
    return repr(parts).encode()
