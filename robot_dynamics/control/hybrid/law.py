# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The hybrid control law of an object that several arms hold."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy, deepcopy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.arrays import Array
from robot_dynamics.control.abilities import (
    AdjustsGrip,
    GraspFacts,
    MonitorsSlip,
    SensesObject,
    TouchesSurfaces,
)
from robot_dynamics.control.control_law import ObjectPlan
from robot_dynamics.control.gain_ramp import carried_over
from robot_dynamics.control.hybrid.contact_damping import ContactDamping, contact_damping
from robot_dynamics.control.hybrid.departures import Departures
from robot_dynamics.control.hybrid.gains import HybridGains, hybrid_gains
from robot_dynamics.control.hybrid.internal_choice import InternalChoice, holding_force
from robot_dynamics.control.hybrid.law_inputs import SCALES, LawOptions, Layout, payload_columns
from robot_dynamics.control.hybrid.law_kernel import LawKernel
from robot_dynamics.control.hybrid.law_program import HybridLawProgram
from robot_dynamics.control.hybrid.named_forces import (
    contact_forces,
    internal_forces,
    surface_slices,
    wrench_components,
)
from robot_dynamics.control.hybrid.payload_estimate import PayloadBounds
from robot_dynamics.control.hybrid.running_kernel import RunningKernel
from robot_dynamics.control.hybrid.sensed import SensorInputs
from robot_dynamics.control.hybrid.slip_monitor import SlipWatch
from robot_dynamics.control.hybrid.step import HybridStep
from robot_dynamics.control.hybrid.task_check import ContactCheck, TaskOptions, check_task
from robot_dynamics.control.path_check import PathCheck, check_path, path_times
from robot_dynamics.control.planned_law import PlannedLaw
from robot_dynamics.control.reference import POSE
from robot_dynamics.control.resume import Resumed
from robot_dynamics.control.rollout import Rollout, UnlimitedLaw
from robot_dynamics.control.settings import ControlSettings, SafetySettings
from robot_dynamics.control.start_check import OBJECT, check_joints, require_near
from robot_dynamics.control.task.free_arms import FreeArms
from robot_dynamics.control.task.wrench_observer import WrenchObserver
from robot_dynamics.errors import ArgumentError, require_length
from robot_dynamics.manipulation.grasp_map import internal_force_unit
from robot_dynamics.manipulation.grasping import hybrid_system
from robot_dynamics.manipulation.hybrid import (
    Contact,
    Environment,
    ForceDistribution,
    HybridSystem,
)
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.wording import EFFORT_UNITS

_OBSERVER_RATE = 500.0  # far above that of the payload's own filters [1/s]


class HybridLaw(PlannedLaw, AdjustsGrip, TouchesSurfaces, MonitorsSlip, SensesObject):
    """Yoshikawa and Zheng's controller of motion, force on surfaces and internal force.

    Without surfaces the object is in free space; with the default contacts the grasps are rigid.
    The reference begins at the end of the start ramp.

    The object's pose is estimated from the arms' joints, through the contacts (see
    `manipulation.hybrid.object_observer`), or given to `sense` with `object_pose: sensor`. The
    force on surfaces is given to `sense`, or estimated from the grasp wrenches and the object's
    Newton-Euler equations; without either it is only fed forward.

    Args:
        system: Arms and object according to the model.
        settings: Rate, servos and start.
        safety: Limits of torque and of its rate.
        reference: Plan of the object; see `ObjectPlan`.
        contacts: Contact of each arm with the object; rigid grasps by default.
        environment: Surfaces; by default there are none. Coordinates along them are complemented,
            unless it has `own_coordinates`.
        distribution: Sharing of forces and internal forces; by default internal forces with a
            physical meaning, shared by the arms' `load_share`.
        task: Limits of an acceptable task.
        like: A law with the same system, contacts and surfaces; its program is used again where
            the options of the step are the same.

    Attributes:
        kernel: The compiled step.
        running: Its gains, measurements and memory.
        slip: Monitor of contacts that can slip; None if no contact can.
        program: Class from which the kernel is compiled.
        stiff: Whether external forces leave the reference unchanged.

    Raises:
        RobotDynamicsError: If the grasp cannot do the task, or the sampled loop with its delay is
            unstable.
    """

    program: type[HybridLawProgram] = HybridLawProgram
    kernel: LawKernel
    stiff: bool = True

    def __init__(
        self,
        system: GraspSystem,
        settings: ControlSettings,
        safety: SafetySettings,
        reference: ObjectPlan,
        *,
        contacts: Sequence[Contact] | None = None,
        environment: Environment | None = None,
        distribution: ForceDistribution | None = None,
        task: TaskOptions | None = None,
        like: HybridLaw | None = None,
    ) -> None:
        held = like.hybrid_system if like else hybrid_system(system, contacts, environment)
        held.require_force_closure()
        options = LawOptions.of(settings, held)
        order = tuple(map(held.drive_names.index, system.joint_names))
        program = self.program(held, order, options)
        ahead = (settings.command_delay_periods + 0.5) * settings.period
        super().__init__(system, settings, safety, reference, program.layout.reference, ahead)
        shares = [arm.load_share for arm in system.arms]
        distribution = distribution or ForceDistribution.of_contacts(held, shares)
        holding = holding_force(reference, held, self.row_columns)
        if like is not None and like.kernel.kind == (type(program), options):
            self.kernel = like.kernel.with_forces(distribution, holding)
        else:
            self.kernel = LawKernel(program, distribution, holding)
        pairs = list(zip(system.arms, held.contacts, strict=True))
        self.grasp = GraspFacts(
            held.contacts,
            rigid=all(contact.directions.shape[1] == 6 for contact in held.contacts),
            soft_fingers=tuple(arm.name for arm, contact in pairs if contact.is_soft_finger),
            wrench_components=wrench_components(distribution.names),
        )
        self._task = task or TaskOptions()
        self.slip: SlipWatch | None = None
        if SlipWatch.needed(held, self._task):
            names = [arm.name for arm in system.arms]
            self.slip = SlipWatch(held, names, self._task, reference, distribution, self.period)
        self._departures: Departures | None = None
        if self.layout.surfaces:
            self._departures = Departures(self.kernel, self._followed, self.period)
        self._row_given: Array | None = None
        self._damping: ContactDamping
        self._next_damping: ContactDamping | None = None
        self._payload_known = False  # whether the payload at the next start is known
        self._observer: WrenchObserver | None = None
        self._observed = 0  # tick of its last measurement
        self.running = RunningKernel(
            self.kernel,
            SensorInputs(self.layout, reference.start, senses=options.sensor),
            InternalChoice.of(held, distribution, settings, self.layout),
        )
        self._begin(system.posture)
        self.running.last = self._at_rest(system.posture)

    def __copy__(self) -> HybridLaw:
        """Return a law with its own memory; plan, correction and sensors are shared."""
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        other.running = copy(self.running)
        return other

    def twin(self) -> HybridLaw:
        """Return a law with the same settings and plan, to run beside this one.

        Neither must have started; what does not change is shared.
        """
        other = copy(self)
        other._followed = copy(self._followed)
        other._followed.restart()
        running = other.running
        running.sensed = deepcopy(running.sensed)
        if running.choice is not None:
            running.choice = copy(running.choice)
            running.choice.begin()
        if self.slip is not None:
            other.slip = self.slip.twin()
        if self._departures is not None:
            other._departures = Departures(self.kernel, other._followed, self.period)
        return other

    @property
    def hybrid_system(self) -> HybridSystem:
        """Arms, object, contacts and surfaces."""
        return self.kernel.system

    @property
    def distribution(self) -> ForceDistribution:
        """Sharing of forces and internal forces."""
        return self.kernel.distribution

    @property
    def layout(self) -> Layout:
        """Positions of the parts in the kernel's inputs and outputs."""
        return self.kernel.layout

    @property
    def gains(self) -> HybridGains:
        """Present gains of the kernel."""
        return self.running.tuned.gains

    @property
    def moves_as_asked(self) -> bool:
        """Whether the object follows the reference against any external force."""
        return self.stiff and not self.layout.surfaces

    @property
    def senses(self) -> bool:
        """Whether the law needs the measured pose of the object."""
        return self.settings.object_pose == "sensor"

    def row(self, tick: int) -> Array:
        """Return the row of the reference that a tick follows, without corrections."""
        return self._followed.row(tick)

    @property
    def columns(self) -> dict[str, int]:
        """Width of each column that the law adds to a recording."""
        layout = self.layout
        # Up to the scales in the order of `Layout.outputs`, as `HybridStep.recorded` takes them.
        every = {
            "estimated_tilt": layout.soft_fingers,
            "estimated_closure": 6 * (layout.arms - 1),
            "estimated_pose": 7,
            "estimated_twist": 6,
            "estimated_internal_force": layout.internal,
            "estimated_contact_force": layout.surfaces,
            "touched": layout.surfaces,
            "uncontrolled_error": 6 if layout.surfaces else 0,
            "spring_wrench": 6 if layout.springs else 0,
            **payload_columns(layout),
            "control_scales": len(SCALES),
            "added_internal_force": layout.internal,
            "slip_margin": len(self.slip_contacts),
        }
        return {name: width for name, width in every.items() if width}

    @property
    def internal_force_names(self) -> tuple[str, ...]:
        """Names of the internal forces (m,); see `ForceDistribution`."""
        return self.distribution.names

    @property
    def units(self) -> dict[str, str]:
        """Unit, order and meaning of `columns` and `reference_columns`."""
        force = internal_force_unit(self.internal_force_names)
        return {
            **super().units,
            "control_scales": ", ".join(SCALES),
            "estimated_contact_force": "N, N m: on the surfaces, as the controller sees it",
            "touched": "1 where the force on a surface is controlled, 0 where motion is",
            "estimated_tilt": "rad: of each soft finger from its grasp, as the controller sees it",
            "uncontrolled_error": "rad, m: part of the way to the reference that control leaves "
            "to the forces on touched surfaces, rotation vector and displacement, world axes",
            "estimated_payload": "kg, m: mass of the object and its centre of mass in its frame, "
            "as control uses them",
            "payload_deviation": "kg, m: standard deviation of their estimate",
            "payload_learned": "1 where the sample counts for the estimate, 0 while it is frozen",
            "added_internal_force": f"{force}: correction of the reference by control",
            "slip_margin": "N: distance of each of `slip_contacts` from slip, as the monitor "
            "expects it",
            "reference_contact_force": "N, N m: desired on the surfaces",
        }

    @property
    def metadata(self) -> dict[str, Any]:
        """Gains of the object's servo and of the contact, names of the internal forces, slip."""
        gains = self.gains
        of_slip = [] if self.slip is None else self.slip.recorded_warnings
        return {
            **super().metadata,
            "object_gains": [gains.proportional, gains.derivative, gains.integral],
            "contact_gain": gains.contact_integral,
            "normal_damping": np.asarray(gains.damping).tolist(),
            "warnings": [*self._damping.warnings, *of_slip],
            "slip_contacts": list(self.slip_contacts),
        }

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about the gains, and about slip: of present danger, or else of the plan."""
        slips = () if self.slip is None else self.slip.warnings
        return (*self._damping.warnings, *slips)

    @property
    def slip_contacts(self) -> tuple[str, ...]:
        """Names of the contacts that can slip, and of surfaces to stick to."""
        return () if self.slip is None else self.slip.names

    @property
    def slip_margins(self) -> Array:
        """Distance of each of them to slip in the last step (w,) [N]."""
        return self.running.last.slip_margins

    @property
    def contact_force(self) -> Array:
        """Forces by the object on the surfaces in the last step (C,)."""
        return self.running.last.outputs.contact_force

    @property
    def surfaces(self) -> dict[str, slice]:
        """By name, columns of the forces on each surface among "contact"."""
        return surface_slices(self._task.surfaces)

    def reference_columns(self, rows: Array) -> dict[str, Array]:
        """Return the columns of a recording of rows; see `ControlLaw.reference_columns`."""
        found = super().reference_columns(rows)
        if self.layout.surfaces:
            found["reference_contact_force"] = rows[:, self.layout.reference["contact"]]
        return found

    def contact_forces(self, surface: str, wrench: Array) -> Array:
        """Return the forces on a surface of a wrench (6,) in its frame; see `named_forces`."""
        return contact_forces(self._task.surfaces[self.surfaces[surface]], wrench)

    def internal_forces(self, wrench: Array) -> Array:
        """Return the internal forces of a wrench (6,) while the law runs; see `named_forces`.

        Raises:
            ArgumentError: If a joint lacks the torque for them, in addition to its current load.
                Forces that need less torque than the current ones are always accepted.
        """
        forces = internal_forces(self.distribution.names, wrench)
        step, effort = self.running.last, self.running.tuned.effort

        def torques(internal: Array) -> Array:
            return np.abs(step.torque_range + step.internal_force_torques @ internal).max(axis=0)

        wanted = torques(forces)
        worst = int(np.argmax(wanted / effort))
        now = torques(step.reference[self.internal_columns]) / effort
        if not wanted[worst] <= effort[worst] * max(1.0, now.max()):
            most, joint = effort[worst], self.system.joint_names[worst]
            unit = EFFORT_UNITS[self.system.joint_units[worst]]
            raise ArgumentError(
                f"an internal force that needs {wanted[worst]:.3g} {unit} at joint {joint!r}; "
                f"expected one that needs at most {most:.3g} {unit}."
            )
        return forces

    def plan_checks(self, plan: ObjectPlan) -> tuple[ContactCheck, ...]:
        """Return a check of whether contacts and surfaces bear a plan."""
        if self.slip is None and not self.layout.surfaces:
            return ()
        return (ContactCheck(self.hybrid_system, self.distribution, plan, self._task),)

    def check_start(self, q: Array, qd: Array) -> None:
        """Refuse a start from afar, from motion, or from joints beyond their limits.

        Raises:
            StartError: With the largest deviation.
        """
        start = self.settings.start
        if self.grasp.rigid and not self.layout.surfaces:
            super().check_start(q, qd)
            return
        check_joints(self.system, start, q, qd)
        memory = self.running.located(q, self._followed.row(0))
        row, still = self._followed.beginning, np.zeros_like(q)
        seen = self.running.evaluate(q, still, None, row, memory, 0.0)
        gaps = np.concatenate([seen.error, seen.closure]).reshape(-1, 3)
        if not np.isfinite(gaps).all():
            self.check_path(q)  # names surfaces that block the same motion
        angles, distances = np.linalg.norm(gaps[::2], axis=1), np.linalg.norm(gaps[1::2], axis=1)
        names = [OBJECT, *(arm.name for arm in self.system.arms[1:])]
        require_near(start, names, np.column_stack([distances, angles]), "its place at the start")

    def checked_path(self, q: Array, terms: Any = None) -> PathCheck:
        """Return the margins of a plan; see `PlannedLaw.checked_path`."""
        require_length("q", list(q), len(self.kernel.order), "one for each arm joint")
        times = path_times(self.reference.duration)
        rows = np.asarray(self.reference.rows(times), dtype=float)
        task = check_task(self.hybrid_system, self.distribution, times, rows, self._task)
        wanted = rows[:, self.row_columns["touch"]]
        switched: NDArray[np.bool_] = np.any(np.diff(wanted, axis=0, prepend=wanted[:1]), axis=1)
        return check_path(
            self.system, self.safety, self.unlimited(self._near_posture(q)), [rows], times, q,
            contacts=self.grasp.contacts, switched=switched, problems=task.problems, terms=terms,
            soft_fingers=self.grasp.soft_fingers,
        )  # fmt: skip

    def unlimited(self, posture: Array) -> UnlimitedLaw:
        """Return the law on its plan without limits, delay and integrals; see `control.rollout`.

        Args:
            posture: Positions of the posture servo (na,).
        """
        gains = self._gains_of(self.settings, self.kernel.of_model(posture), self._damping.values)
        return self.kernel.unlimited(
            self.system, gains, self._more_parameters(), senses=self.senses
        )

    def start(self, q: Array, qd: Array, last: Array | None = None) -> HybridStep:
        """Reset the law, and return the step at rest; see `ControlLaw.start`.

        The present positions become the target of the posture servo. Near surfaces that the
        reference touches count as touched.
        """
        q = np.array(q, dtype=float)
        self._row_given = None
        self._restart()
        self._begin(q)
        same = self._payload_known or isinstance(self.reference, Resumed)
        self.running.begin_payload(same_object=same)
        self._payload_known = False
        if self._observer is not None:
            self._observer.forget()
            self._observer.begin()
            self._observed = 0
        row, tolerance = self._followed.row(0), self.settings.start.touch_tolerance
        seen = self.running.begin(q, qd, row, last, tolerance)
        if self._departures is not None:
            self._departures.forget()
        if self.slip is not None:
            seen.slip = self.slip.begin()
            if self.reference is not self.plan:
                self.slip.leave_plan()
        return seen

    def keep_payload(self) -> None:
        """State that the arms still hold the object of the last run at the next start."""
        self._payload_known = True

    def weigh(self, q: Array, wrenches: Array) -> None:
        """Take the payload from wrenches before a start; see `HoldsObject.weigh`.

        What is known of an object that the arms have held since a stop is kept.
        """
        if self.layout.adapts and not isinstance(self.reference, Resumed):
            bounds = PayloadBounds(*self._more_parameters()[0].tolist())
            self._payload_known = self.running.weigh(q, wrenches, self._followed.row(0), bounds)

    @property
    def mass_ratio(self) -> float:
        """Mass of the object that the next step uses over the stated one."""
        return self.running.mass_ratio

    def sense_by(self, *, wrist_sensors: bool) -> None:
        """Estimate the payload from wrenches, or from torques alone; see `HoldsObject`."""
        self._observer = None
        if self.layout.adapts and not wrist_sensors:
            arms = FreeArms(self.system, self.settings, self.safety)
            delay = self.settings.command_delay_periods
            self._observer = WrenchObserver(arms, self.period, delay, _OBSERVER_RATE)

    def update(self, tick: int, q: Array, qd: Array, wrenches: Array | None = None) -> HybridStep:
        """Return the step of a control period; see `ControlLaw.update`.

        Without wrenches internal forces are fed forward, with their integral.

        Raises:
            RobotDynamicsError: If internal closed chains do not close; see `HybridStep`.
        """
        if self._retuning is not None:
            self._retune(self._retuning)
        row = self._row(tick)
        ramp = 1.0 if tick >= self.ramp_ticks else tick / self.ramp_ticks
        departures, running = self._departures, self.running
        last = running.last
        if departures is not None:
            row = departures.row(tick, row, last)
        if self._observer is not None:
            passed, self._observed = max(tick - self._observed, 1), tick
            running.estimated = self._observer.wrenches(q, qd, passed)
        step = running.step(q, qd, wrenches, row, ramp)
        if self._observer is not None:
            self._observer.sent(step.torque)
        if self.kernel.linked:
            step.require_linkages()
        if departures is not None:
            departures.finish(tick, last, step, running.tuned.effort)
        running.memory, running.last = step.memory, step
        if self.slip is not None:
            self._watch(self.slip, tick, step, wrenches)
        return step

    def follow_row(self, row: Array | None) -> None:
        """Follow this row in later updates, or the rows of the plan again with None.

        Slip is then judged by measurements. The row must not touch surfaces.
        """
        self._row_given = row
        if row is not None and self.slip is not None:
            self.slip.leave_plan()

    def _row(self, tick: int) -> Array:
        """Return the row that a tick follows."""
        return self._followed.row(tick) if self._row_given is None else self._row_given

    def _watch(self, slip: SlipWatch, tick: int, step: HybridStep, wrenches: Array | None) -> None:
        """Add the slip margins to a step."""
        # Before the first torque is measured, arms on their brakes do not squeeze.
        braked = tick <= 1 + self.settings.command_delay_periods
        measured = None if wrenches is None or braked else step
        step.slip = slip.step(tick, max(tick - self.ramp_ticks, 0), measured)

    def sense(
        self,
        *,
        pose: ArrayLike | None = None,
        twist: ArrayLike | None = None,
        contact_force: ArrayLike | None = None,
    ) -> None:
        """Take measurements for the steps that follow; see `SensesObject.sense`."""
        self.running.sensed.take(pose, twist, contact_force)

    def hold(self, tick: int) -> None:
        """Come to rest on the path from a tick on; slip is judged by measurements then.

        Args:
            tick: Control periods since the start.
        """
        super().hold(tick)
        if self.slip is not None:
            self.slip.leave_plan()

    def follow(self, plan: ObjectPlan, tick: int, *, leave: bool = False) -> None:
        """Follow another plan from a tick on; slip is judged by measurements then.

        Args:
            plan: The plan; its time 0 is at the tick.
            tick: Control periods since the start.
            leave: Whether surfaces that the plan does not touch are left at once.
        """
        super().follow(plan, tick, leave=leave)
        if self.slip is not None:
            self.slip.leave_plan()

    def _take_gains(self, end: ControlSettings) -> None:
        before = self.gains
        gains = self._gains_of(self.settings, before.posture, before.damping)
        running = self.running
        running.tune(gains, self._more_parameters())
        last = self._gains_of(end, before.posture, before.damping)
        memory = running.memory = running.memory.copy()
        pose, force = (self.layout.memory[n] for n in ("pose_integral", "internal_integral"))
        memory[pose] = carried_over(
            memory[pose], before.integral, self.gains.integral, last.integral
        )
        # The integral of the internal force is a force already; one without a gain fades.
        if last.internal_integral == 0.0 and before.internal_integral > 0.0:
            memory[force] *= self.gains.internal_integral / before.internal_integral

    def hold_support(self, q: Array) -> Array:
        """Return the torque (na,) that holds arms and object up at rest at positions `q` (na,)."""
        return self._at_rest(q).support

    def grip_support(self, q: Array) -> Array:
        """Return `hold_support` with the last internal force of contacts that only push (na,)."""
        return self.running.grip_support(q, self._followed.row(0))

    def firmer_grip(self, q: Array) -> Array:
        """Return the torque (na,) that makes the grip as firm as control may."""
        return self.running.firmer_grip(q, self._followed.row(0))

    def object_pose(self, q: Array) -> Array:
        """Return the pose of the object (7,) that arms at `q` (na,) hold."""
        return self._at_rest(q).pose

    def _poses(self, q: Array) -> Sequence[Array]:
        return self._at_rest(q).poses

    def _begin_with(self, reference: ObjectPlan) -> None:
        super()._begin_with(reference)
        holding = holding_force(reference, self.hybrid_system, self.row_columns)
        if not np.array_equal(holding, self.kernel.holding):
            self.kernel = self.kernel.with_forces(self.distribution, holding)
            self.running.use(self.kernel, self._more_parameters())

    def _at_rest(self, q: Array) -> HybridStep:
        return self.running.at_rest(q, self._followed.row(0))

    def _load_inertias(self, motion: Rollout, count: int) -> tuple[list[float], Array]:
        """Return up to `count` times of a path (N,) and `HybridSystem.load_inertia` (N, 6, 6)."""
        every = np.unique(np.linspace(0, len(motion.times) - 1, count).round().astype(int))
        poses = np.asarray(self.reference.rows(motion.times[every]))[:, POSE]
        joints = map(self.kernel.joints, motion.q[every])
        inertias = list(map(self.hybrid_system.load_inertia, joints, poses))
        return motion.times[every].tolist(), np.array(inertias)

    def forget(self) -> None:
        """Reset the memory: the next start searches for the object from the plan's start."""
        self.running.memory = np.zeros_like(self.running.memory)

    def prepare_start(self, q: Array) -> None:
        """Compute the damping of the next start, which is at positions `q` (na,), beforehand."""
        self._next_damping = self._damping_at(q)

    def _damping_at(self, q: Array) -> ContactDamping:
        """Return the damping of a start at positions `q` (na,)."""
        kernel, start = self.kernel, self.reference.start
        require_length("q", list(q), len(kernel.order), "one for each arm joint")
        joints = kernel.joints(q)
        return contact_damping(kernel.system, self.settings, joints, start)

    def _begin(self, q: Array) -> None:
        """Take the gains for a start at positions `q` (na,)."""
        kernel, settings = self.kernel, self.settings
        self._damping = self._next_damping or self._damping_at(q)
        self._next_damping = None
        posture = kernel.of_model(self._near_posture(q))
        gains = self._gains_of(settings, posture, self._damping.values)
        self.running.tune(gains, self._more_parameters())
        if self.running.choice is not None:
            self.running.choice.begin()

    def _gains_of(self, settings: ControlSettings, posture: Array, damping: Array) -> HybridGains:
        """Return the gains of settings near to a posture (n,)."""
        return hybrid_gains(settings, self.safety, damping, posture, self.kernel.limits)

    def _more_parameters(self) -> Sequence[Array]:
        """Return the kernel's last parameters: bounds of the payload, or of a derived law."""
        if not self.layout.adapts:
            return ()
        bounds = self.settings.payload_bounds
        return [np.array([bounds.mass_share, bounds.center_m, bounds.change_s])]
