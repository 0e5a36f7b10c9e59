# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The hybrid controller: the law's kernel with its gains, what it follows, and its memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.compile import load_kernel
from robot_dynamics.control.control_law import ControlLaw
from robot_dynamics.control.gains import check_gains
from robot_dynamics.control.hybrid.contact_damping import contact_damping
from robot_dynamics.control.hybrid.followed import FollowedRows
from robot_dynamics.control.hybrid.gains import hybrid_gains
from robot_dynamics.control.hybrid.internal_choice import InternalChoice, holding_force
from robot_dynamics.control.hybrid.law import law_program
from robot_dynamics.control.hybrid.law_inputs import LawOptions, Layout, law_parameters
from robot_dynamics.control.hybrid.named_forces import wrench_components
from robot_dynamics.control.hybrid.planned_forces import object_motion
from robot_dynamics.control.hybrid.rows import HybridPlan
from robot_dynamics.control.hybrid.sensed import finite_array, unit_pose
from robot_dynamics.control.hybrid.step import HybridStep
from robot_dynamics.control.hybrid.surface_check import Grip, SurfaceRow
from robot_dynamics.control.hybrid.task_check import (
    JointLimits,
    TaskCheck,
    TaskOptions,
    check_task,
)
from robot_dynamics.control.hybrid.torque_fade import TorqueFade
from robot_dynamics.control.reference import POSE, TWIST
from robot_dynamics.control.rotation_path import conjugate, product, rotation_vector
from robot_dynamics.control.settings import ControlSettings, SafetySettings
from robot_dynamics.control.start_check import StartError, check_joints
from robot_dynamics.errors import require_length
from robot_dynamics.manipulation.hybrid import Contact, Environment, ForceDistribution
from robot_dynamics.manipulation.hybrid.from_grasps import hybrid_system
from robot_dynamics.manipulation.system import GraspSystem

Array = NDArray[np.float64]

# Steps in which the object is looked for at the start, and when it has been found [m, rad].
_SEARCH, _FOUND = 20, 1e-14


class HybridController(ControlLaw):
    """Yoshikawa and Zheng's controller of motion, force on surfaces and internal force.

    It is not safe by itself: `safety.py` decides whether its inputs may be used and what to send
    instead. The reference starts when the ramp of the start is over.

    Where the object is follows from the arms, through their contacts: see
    `manipulation.hybrid.object_observer`. With `object_pose: sensor` it is what `sense` was given.
    The force on surfaces is what `sense` was given, or else estimated from the grasp wrenches and
    the object's Newton-Euler equations; without either it is fed forward alone.

    Args:
        system: Arms and object as they are believed to be.
        settings: Rate, servos and start.
        safety: Limits of torque and of its rate.
        reference: What the object is to do; see `HybridPlan`.
        contacts: How each arm holds the object; rigidly at its grasp by default.
        environment: Surfaces; none by default. Coordinates along them are complemented, unless it
            has `own_coordinates`.
        distribution: Sharing of forces and internal forces; by default those with a physical
            meaning, shared as the arms' load is.

    Attributes:
        hybrid_system: Arms, object, contacts and surfaces.
        distribution: Sharing of forces and internal forces.
        layout: Where everything stands in its vectors.
        warnings: What is to be known about gains, in sentences; none if all is well.

    Raises:
        RobotDynamicsError: If the grasp cannot do the task, or the servos do not bear the delay.
    """

    reference: HybridPlan
    follows = True

    def __init__(
        self,
        system: GraspSystem,
        settings: ControlSettings,
        safety: SafetySettings,
        reference: HybridPlan,
        *,
        contacts: Sequence[Contact] | None = None,
        environment: Environment | None = None,
        distribution: ForceDistribution | None = None,
    ) -> None:
        check_gains(settings)
        self.system, self.settings, self.safety = system, settings, safety
        self.reference = reference
        self.hybrid_system = hybrid_system(system, contacts, environment)
        self.hybrid_system.require_force_closure()
        self.rigid_grasps = all(
            contact.directions.shape[1] == 6 for contact in self.hybrid_system.contacts
        )
        shares = [arm.load_share for arm in system.arms]
        self.distribution = distribution or ForceDistribution.of_contacts(
            self.hybrid_system, shares
        )
        self.period = settings.period
        self.layout = layout = Layout.of(self.hybrid_system)
        names = self.hybrid_system.drive_names
        #: For each arm joint its index among the drives of the arms' model.
        self._order = [names.index(name) for name in system.joint_names]
        options = LawOptions.of(settings, self.hybrid_system)
        program = law_program(self.hybrid_system, self._order, options)
        # A surface's source does not tell the constants it has caught: the trace does.
        self.kernel = load_kernel(b"hybrid_law\0" + program.fingerprint, lambda: program, lanes=1)
        self._ramp_ticks = max(1, round(settings.start.ramp_s / self.period))
        self._followed = FollowedRows(
            reference,
            layout,
            self.period,
            begin=self._ramp_ticks,
            delay=settings.command_delay_periods,
            blend_s=settings.blend_s,
        )
        self._choice = InternalChoice.of(self.hybrid_system, self.distribution, settings, layout)
        self._fade = TorqueFade(self.period)
        self._sent_at = layout.memory["torque"].start + np.array(self._order)
        self._none_added = np.zeros(layout.internal)
        self._no_wrenches = np.zeros((layout.arms, 6))
        self._sensed = np.zeros(Layout.size(layout.sensed))
        self._seen = np.concatenate([reference.start, np.zeros(6)])
        # The pose from outside is one more input, where it is one.
        self.senses = options.sensor
        self._more = (self._seen,) if self.senses else ()
        self._memory = np.zeros(Layout.size(layout.memory))
        self._limits = self.hybrid_system.drive_limits
        self._begin(system.posture)

    @property
    def ticks(self) -> int:
        """Number of control periods of start and reference together."""
        return self._followed.last

    @property
    def ramp_ticks(self) -> int:
        """Number of control periods over which the task ramps in."""
        return self._ramp_ticks

    @property
    def columns(self) -> dict[str, int]:
        """Width of each column that the law adds to a recording."""
        layout = self.layout
        return {
            "estimated_pose": 7,
            "estimated_twist": 6,
            "estimated_closure": 6 * (layout.arms - 1),
            "estimated_internal_force": layout.internal,
            "added_internal_force": layout.internal,
            "estimated_contact_force": layout.surfaces,
            "touched": layout.surfaces,
            "control_scales": 8,
        }

    @property
    def internal_columns(self) -> slice:
        """Where a row of the reference has the internal force."""
        return self.layout.reference["internal"]

    @property
    def wrench_components(self) -> list[int] | None:
        """Which components of a wrench internal forces are; see `named_forces`."""
        return wrench_components(self.distribution.names)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is to be known of the gains, a sentence each."""
        return self._gain_warnings

    @property
    def metadata(self) -> dict[str, Any]:
        """Gains of the object's servo and of the contact, names of the internal forces."""
        gains = self.gains
        return {
            "object_gains": [gains.proportional, gains.derivative, gains.integral],
            "contact_gain": gains.contact_integral,
            "normal_damping": np.asarray(gains.damping).tolist(),
            "internal_forces": list(self.distribution.names),
            "warnings": list(self.warnings),
        }

    def check_start(self, q: Array, qd: Array) -> None:
        """Refuse a start from afar, from motion, or from joints beyond their limits.

        Raises:
            StartError: With what is worst, and by how much.
        """
        start = self.settings.start
        check_joints(self.system, start, q, qd)
        memory = self._searched(q)
        seen = self._evaluate(
            q, np.zeros_like(q), self._no_wrenches, self._followed.row(0), memory, 0.0
        )
        off = seen.error.reshape(2, 3).copy()
        # Of half a turn, the rotation vector that the law takes from a matrix shows nothing.
        off[0] = rotation_vector(product(seen.reference[POSE][3:], conjugate(seen.pose[3:])))
        gaps = np.vstack([off, seen.closure.reshape(-1, 3)])
        if not np.isfinite(gaps).all():
            self.check_path(q)  # surfaces that block the same motion are told there
        angles, distances = np.linalg.norm(gaps[::2], axis=1), np.linalg.norm(gaps[1::2], axis=1)
        names = ["the object", *(f"arm {arm.name!r}" for arm in self.system.arms[1:])]
        for subject, angle, distance in zip(names, angles, distances, strict=True):
            if not (
                distance <= start.position_tolerance_m and angle <= start.rotation_tolerance_rad
            ):
                raise StartError(
                    subject,
                    float(distance),
                    start.position_tolerance_m,
                    f"{subject} is {distance:.3g} m and {np.degrees(angle):.3g} degrees from "
                    f"where it is to start; expected at most {start.position_tolerance_m:g} m and "
                    f"{np.degrees(start.rotation_tolerance_rad):.3g} degrees.",
                )

    def check_path(self, q: Array) -> None:
        """Refuse a task that grasp, surfaces or arms cannot do from positions `q` (na,)."""
        self.checked_task(q)

    def checked_task(
        self,
        q: Array,
        surfaces: Sequence[SurfaceRow] = (),
        options: TaskOptions | None = None,
        grips: Mapping[str, Grip] | None = None,
    ) -> TaskCheck:
        """Return what is to be known of the task from positions `q` (na,); see `check_task`.

        Raises:
            PreflightError: If grasp, surfaces or arms cannot do it.
        """
        return check_task(
            self.hybrid_system, self.distribution, self.reference, self._joints(q),
            limits=JointLimits.of(self.hybrid_system, self.safety), surfaces=surfaces,
            grips=grips, options=options,
        )  # fmt: skip

    def start(self, q: Array, qd: Array, last: Array | None = None) -> HybridStep:
        """Forget what was learned, and return what is seen.

        The arms' present positions become the posture that they stay near. Surfaces that are to be
        touched and are near count as touched.

        Args:
            q: Positions of the arm joints (na,).
            qd: Their velocities (na,).
            last: The torque that was sent last (na,), from which the torque's rate is limited;
                what holds arms and object up by default.
        """
        q = np.array(q, dtype=float)
        self._followed.restart()
        self._begin(q)
        memory, at = self._searched(q), self.layout.memory
        row = self._followed.row(0)
        seen = self._evaluate(q, qd, self._no_wrenches, row, memory, 0.0)
        wanted = row[self.layout.reference["wanted"]]
        near = np.abs(seen.distance) <= self.settings.start.touch_tolerance
        memory[at["twist"]] = seen.memory[at["twist"]]
        memory[at["touched"]] = wanted * near
        memory[at["torque"]][self._order] = seen.support if last is None else last
        self._memory, self._last, self._leaving = memory, seen, False
        self._fade.forget()
        return seen

    def update(self, tick: int, q: Array, qd: Array, wrenches: Array | None = None) -> HybridStep:
        """Return the step of a control instant and remember it.

        Args:
            tick: Control periods since the start.
            q: Measured positions of the arm joints (na,); finite.
            qd: Measured velocities (na,); finite.
            wrenches: Measured grasp wrenches by the arms on the object (k, 6), angular first, in
                tool frames; without them internal forces are fed forward, with what was learned.

        Raises:
            RobotDynamicsError: If internal closed chains do not close; see `HybridStep`.
        """
        row = self._followed.row(tick)
        wanted = row[self.layout.reference["wanted"]]
        if (self._last.touched > wanted).any():  # it is to be left
            row = self._depart(tick)
        ramp = min(1.0, tick / self._ramp_ticks)
        self._sensed[0] = wrenches is not None
        if wrenches is None:
            wrenches = self._no_wrenches
        step = self._chosen(q, qd, wrenches, row, ramp)
        step.require_linkages()
        if self._leaving:
            self._fade.begin(self._last.torque - step.torque)
        lost = (self._last.touched > step.touched).any() and not self._leaving
        self._fade.apply(step, self._effort, self._sent_at)
        self._memory, self._last = step.memory, step
        self._leaving = False
        if lost:
            self._depart(tick)
        return step

    def sense(
        self,
        *,
        pose: ArrayLike | None = None,
        twist: ArrayLike | None = None,
        contact_force: ArrayLike | None = None,
    ) -> None:
        """Take what sensors besides the arms' own say; it serves for the steps that follow.

        Args:
            pose: Of the object in the world, x y z qx qy qz qw (7,), for `object_pose: sensor`.
            twist: Its angular velocity and the velocity of its origin, world axes (6,).
            contact_force: Forces by the object on the surfaces (C,); None to estimate them again.

        Raises:
            ArgumentError: If one has another shape or a number that is not finite, or the
                quaternion is zero; nothing is taken then.
        """
        C = self.layout.surfaces
        at_pose = None if pose is None else unit_pose(pose)
        moving = None if twist is None else finite_array("twist", twist, 6)
        pushed = None if contact_force is None else finite_array("contact_force", contact_force, C)
        if at_pose is not None:
            self._seen[POSE] = at_pose
        if moving is not None:
            self._seen[TWIST] = moving
        at = self.layout.sensed
        self._sensed[at["contact"]] = pushed is not None
        self._sensed[at["forces"]] = 0.0 if pushed is None else pushed

    def hold(self, tick: int) -> None:
        """Come to rest on the path from a tick on; forces stay what they are then.

        `start` begins the reference anew.

        Args:
            tick: Control periods since the start.
        """
        self._followed.hold(tick)

    def follow(self, reference: HybridPlan, tick: int) -> None:
        """Follow another reference from a tick on, without a jump; see `FollowedRows.follow`.

        `start` begins the first one anew.

        Args:
            reference: What the object is to do from now on; its time 0 is there.
            tick: Control periods since the start.

        Raises:
            ArgumentError: If its rows have another width than those of these contacts and
                surfaces.
        """
        self._followed.follow(reference, tick)

    def hold_support(self, q: Array) -> Array:
        """Return the torque (na,) that holds arms and object up at rest at positions `q` (na,)."""
        memory, still = self._searched(q), np.zeros_like(q)
        return self._evaluate(
            q, still, self._no_wrenches, self._followed.row(0), memory, 0.0
        ).support

    def references(self, times: Array) -> dict[str, Array]:
        """Return what was to be done at times (N,) [s], as columns of a recording."""
        rows, at = self.reference.rows(times), self.layout.reference
        return {
            "reference_pose": rows[:, at["pose"]],
            "reference_twist": rows[:, at["twist"]],
            "reference_internal_force": rows[:, at["internal"]],
            "reference_contact_force": rows[:, at["contact"]],
        }

    def _chosen(self, q: Array, qd: Array, wrenches: Array, row: Array, ramp: float) -> HybridStep:
        """Return the step of a row, with the internal force that contacts and drives need."""
        choice, memory = self._choice, self._memory
        if choice is None:
            return self._evaluate(q, qd, wrenches, row, memory, ramp)
        chosen = choice.row(row, self._last.asked)
        step = self._evaluate(q, qd, wrenches, chosen, memory, ramp)
        other = choice.row_within(row, step, self._effort) if ramp == 1.0 else None
        if other is not None:
            step = self._evaluate(q, qd, wrenches, other, memory, ramp)
            step.gave_way = True
        choice.remember(step, self._effort)
        step.reference, step.added_internal_force = row, choice.added
        return step

    def _evaluate(
        self, q: Array, qd: Array, wrenches: Array, row: Array, memory: Array, ramp: float
    ) -> HybridStep:
        given = (q, qd, wrenches, self._sensed, row, memory, ramp, *self._more)
        torque, after, found = self._law(*given)
        return HybridStep(torque, after, found, row, self.layout.found, self._none_added)

    def _searched(self, q: Array) -> Array:
        """Return a memory at rest in which the object is where arms at `q` (na,) hold it."""
        at, passive = self.layout.memory, list(self.hybrid_system.passive_joints.indices)
        memory = np.zeros(Layout.size(at))
        memory[at["place"]] = self._memory[at["place"]]
        memory[at["passive_joints"]] = self._joints(q)[passive]
        if not memory[at["place"]].any():  # nothing was seen yet: it is where it is to start
            row = self._followed.row(0)[None]
            x = object_motion(row, self.hybrid_system.held.center).x[0]
            memory[at["place"]] = [*x, *row[0, POSE][3:]]
        still = np.zeros(len(self._order))
        for _ in range(_SEARCH):
            seen = self._evaluate(q, still, self._no_wrenches, self._followed.row(0), memory, 0.0)
            moved = np.abs(seen.memory[at["place"]] - memory[at["place"]]).max()
            memory[at["place"]] = seen.memory[at["place"]]
            if moved <= _FOUND:
                break
        return memory

    def _depart(self, tick: int) -> Array:
        """Return the row of a tick, with the path taken up from where the object is.

        What it is off along a surface that was touched was not followed, and must not become an
        error at once; what is an error already remains one.
        """
        self._leaving = True
        last, system = self._last, self.hybrid_system
        rows = np.tile(self._followed.row(tick), (2, 1))  # planned, and seen
        rows[1, POSE], rows[1, TWIST] = last.pose, last.twist
        x, R, twist, _ = object_motion(rows, system.held.center)
        planned, here = (system.environment.terms(x[i], R[i], twist[i]) for i in range(2))
        left = last.touched > 0.0
        E_F = here.E_F[left]
        rate = np.linalg.pinv(E_F) @ E_F @ (twist[1] - twist[0])  # of the centre of mass
        rate[3:] -= np.cross(rate[:3], x[1] - last.pose[:3])
        behind = bool((planned.p[left] > 0.0).any())
        return self._followed.depart(tick, last.pose, last.error, rate, behind=behind)

    def _of_model(self, q: Array) -> Array:
        """Return positions of the arm joints (na,) in the order of the arms' model."""
        own = np.empty(len(q))
        own[self._order] = q
        return own

    def _joints(self, q: Array) -> Array:
        """Return positions (nq,) of all joints of the arms' model for arm joints (na,)."""
        return self.hybrid_system.passive_joints.positions(self._of_model(q))

    def _begin(self, q: Array) -> None:
        """Take the gains for a start at positions `q` (na,)."""
        require_length("q", list(q), len(self._order), "one for each arm joint")
        own, system, settings = self._of_model(q), self.hybrid_system, self.settings
        damping = contact_damping(system, settings, self._joints(q), self.reference.start)
        self._gain_warnings = damping.warnings
        self.gains = hybrid_gains(settings, self.safety, damping.values, own, self._limits)
        holding = holding_force(self.reference, system, self.layout.reference)
        block = law_parameters(system, self.gains, self.distribution, holding)
        self._law = self.kernel.bind(block)
        self._effort = self.gains.effort[self._order]
        if self._choice is not None:
            self._choice.begin()
