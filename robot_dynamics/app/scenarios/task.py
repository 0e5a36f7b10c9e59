# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The law of a scenario's task: its phases, and a law of the held object for each grasp."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from scipy.linalg import block_diag
from scipy.spatial.transform import Rotation

from robot_dynamics.app.scenarios.cell import pose_matrix, surface_rows
from robot_dynamics.app.scenarios.scenario import Scenario
from robot_dynamics.arrays import Array
from robot_dynamics.control.hybrid.law import HybridLaw
from robot_dynamics.control.hybrid_reference import plan_hybrid_reference
from robot_dynamics.control.reference import POSE, plan_reference
from robot_dynamics.control.settings import ReferenceSettings
from robot_dynamics.control.task.follow_phase import Follow
from robot_dynamics.control.task.free_arms import FreeArms, Lines
from robot_dynamics.control.task.free_phases import (
    Approach,
    Grasp,
    Move,
    Release,
    SqueezeWrenches,
)
from robot_dynamics.control.task.gripper_grasp import GripperGrasp
from robot_dynamics.control.task.grippers import Grippers
from robot_dynamics.control.task.held_law import HeldLaw
from robot_dynamics.control.task.held_phases import HeldPhase, Lift, PutBack, PutDown
from robot_dynamics.control.task.held_plan import HeldPlan, Support, plan_back, plan_held
from robot_dynamics.control.task.law import TaskLaw
from robot_dynamics.control.task.phases import PhaseFailed, TaskPhase, Wait
from robot_dynamics.control.task_settings import (
    ApproachSettings,
    CarrySettings,
    GraspSettings,
    LiftSettings,
    MoveSettings,
    PhaseSettings,
    PutDownSettings,
    ReleaseSettings,
    WaitSettings,
)
from robot_dynamics.errors import ArgumentError, UnknownNameError, require_length
from robot_dynamics.manipulation.assembly import closed_configuration
from robot_dynamics.manipulation.settings import PoseSettings
from robot_dynamics.manipulation.system import GraspSystem


def task_law(
    scenario: Scenario, system: GraspSystem, held_law: Callable[[Scenario, GraspSystem], HybridLaw]
) -> TaskLaw:
    """Return the law that runs a scenario's task.

    Args:
        scenario: The scenario.
        system: Arms and object according to the model.
        held_law: Makes the law of a held object from a scenario with its `reference`.

    Raises:
        RobotDynamicsError: If the task is refused.
    """
    arms = FreeArms(system, scenario.control, scenario.safety)
    phases = _Phases(scenario, system, arms, held_law)
    made = phases.every()
    return TaskLaw(
        scenario.control, scenario.safety, arms, made, phases.law, scenario.home,
        scenario.object_pose, phases.places, phases.grippers,
    )  # fmt: skip


def carried_object(scenario: Scenario, system: GraspSystem) -> tuple[int, Scenario]:
    """Return the index of the first `carry` in a task, and the scenario of the object there.

    The scenario has no task: the arms hold the object in the air, squeeze it and rest.

    Args:
        scenario: The scenario.
        system: Its arms and object.

    Raises:
        ArgumentError: If the first grasp of the task has no `carry`.
    """
    task, names = scenario.task, [phase.name for phase in scenario.task]
    first = names[: names.index("put_down")] if "put_down" in names else []
    if "carry" not in first:
        raise ArgumentError(
            f"{scenario.name}: the first grasp of the task has no `carry`; expected one, in which "
            "the arms can move the object."
        )
    at, carry = names.index("grasp"), names.index("carry")
    grasp = task[at].own
    assert isinstance(grasp, GraspSettings)
    start = scenario.object_pose
    reference = _held_scenario(scenario, system, grasp, task[at + 1 : carry], start)[1].reference
    path = plan_reference(ReferenceSettings(reference.segments), start)
    still = ReferenceSettings(force=reference.force)
    return carry, _starting_at(scenario, path.row(path.duration)[POSE], still)


class _Phases:
    """Makes the phases of a task in their order.

    Attributes:
        law: Law of the object in the first grasp; in a task without a grasp, of one that it could
            have where it stands.
        places: Poses (7,) at which the object is put down.
        grippers: Grippers of the arms; None for palms.
    """

    law: HybridLaw

    def __init__(
        self,
        scenario: Scenario,
        system: GraspSystem,
        arms: FreeArms,
        held_law: Callable[[Scenario, GraspSystem], HybridLaw],
    ) -> None:
        self._scenario, self._system, self._arms = scenario, system, arms
        self._held_law = held_law
        self._pose, self.places = scenario.object_pose, list[Array]()
        self.grippers = _grippers(scenario)
        self._weight = system.object_mass * np.array(system.model.gravity)

    def every(self) -> list[TaskPhase]:
        """Return all phases."""
        task, made = self._scenario.task, list[TaskPhase]()
        i = 0
        if all(phase.name != "grasp" for phase in task):
            self.law, _ = self._held(GraspSettings(), ())
        while i < len(task):
            own = task[i].own
            if isinstance(own, GraspSettings):
                held = _held_phases(task[i + 1 :])
                made += self._hold(own, held)
                i += 1 + len(held)
                continue
            if isinstance(own, MoveSettings):
                made.append(self.move(own))
            elif isinstance(own, ApproachSettings):
                made.append(self._approach(own, task[i + 1 :]))
            elif isinstance(own, ReleaseSettings):
                made.append(self.release(own))
            elif isinstance(own, WaitSettings):
                made.append(Wait(own.planned_s, for_operator=own.until is not None))
            i += 1
        for phase in made:  # a squeeze is known by now
            if isinstance(phase, Approach) and phase.on_failure == "retreat":
                phase.safe_end = self._retreat()
        return made

    def move(self, own: MoveSettings) -> Move | Follow:
        """Return a motion of free arms."""
        if own.until is not None:
            return Follow(self._arms, own, self._scenario.safety.position_margin)
        target, system = np.full(len(self._system.joint_names), np.nan), self._system
        names = [arm.name for arm in system.arms]
        for name, joints in own.joints.items():
            if name not in names:
                raise UnknownNameError("arm", name, names, "task.move.joints")
            at = system.arm_slices[names.index(name)]
            what = f"task.move.joints.{name}"
            require_length(what, list(joints), at.stop - at.start, "one for each joint")
            target[at] = joints
        return Move(self._arms, own, target)

    def release(self, own: ReleaseSettings) -> Release:
        """Return the release of the last squeeze."""
        open_hands = None if self.grippers is None else self.grippers.open
        return Release(self._arms, own, self._squeeze, open_hands)

    def _retreat(self) -> tuple[TaskPhase, ...]:
        """Return the phases of the safe end "retreat", with the last squeeze."""
        return self.release(ReleaseSettings()), self.move(MoveSettings(to="home"))

    def _approach(self, own: ApproachSettings, after: tuple[PhaseSettings, ...]) -> Approach:
        """Return the way to the grasps at the object's present place."""
        grasp = next(each.own for each in after if isinstance(each.own, GraspSettings))
        arms, length = self._arms, own.distance_m - grasp.touch_within_m
        q = closed_configuration(self._system, self._pose)[self._system.q_index]
        arms.begin(q, arms.support(q))
        arms.begin_lines()
        lines = Lines(len(self._system.arms), -own.distance_m, own.speed)
        for time in np.arange(0.0, lines.duration, self._scenario.control.period):
            try:
                arms.advance_tools(lines.speeds(float(time)))
            except PhaseFailed as error:
                raise ArgumentError(
                    f"task.approach: distance_m is {own.distance_m:g} m, expected a distance from "
                    f"the grasps in which the tools can move straight: {error}"
                ) from None
        return Approach(arms, own, arms.q.copy(), length)

    def _hold(self, grasp: GraspSettings, task: Sequence[PhaseSettings]) -> list[TaskPhase]:
        """Return a grasp and the phases of the held object after it."""
        law, plan = self._held(grasp, task)
        if not self.places:
            self.law = law
        S = block_diag(*(contact.directions for contact in law.hybrid_system.contacts))
        internal = law.reference.rows(np.zeros(1))[0, law.internal_columns]
        wrenches = (S @ law.distribution.internal @ internal).reshape(-1, 6)
        self._squeeze = SqueezeWrenches(internal, wrenches)
        weight = float(np.linalg.norm(self._weight))
        held, rows = HeldLaw(law, weight), surface_rows(self._scenario.cell)
        made: list[TaskPhase] = []
        if self.grippers is None:
            made.append(Grasp(self._arms, grasp, self._squeeze))
        else:
            made.append(GripperGrasp(self._arms, grasp, self._squeeze, self.grippers))
        if grasp.on_failure == "retreat":
            made[0].safe_end = self._retreat()
        for i, (phase, parts) in enumerate(zip(task, plan.parts, strict=True)):
            own, begins = phase.own, i == 0
            if isinstance(own, LiftSettings):
                on, normal = plan.supports[0], rows[plan.supports[0]].start
                made.append(Lift(held, parts, own, normal, begins=begins))
                back, (down, load) = plan_back(grasp, own, on, self._weight)
                names = law.internal_force_names
                reference = plan_hybrid_reference(
                    back, law.reference.start, names, rows, held_by_squeeze=True
                )
                if own.on_failure == "put_back":
                    put_back = PutBack(held, reference, (down, load), on, normal)
                    made[-1].safe_end = (put_back, *self._retreat())
            elif isinstance(own, PutDownSettings):
                limit, normal = own.time_limit_s, rows[own.on].start
                made.append(PutDown(phase.name, held, parts, own.on, normal, limit))
            else:
                limit = own.time_limit_s if isinstance(own, CarrySettings) else None
                made.append(HeldPhase(phase.name, held, parts, limit, begins=begins))
                made[-1].for_operator = isinstance(own, WaitSettings) and own.until is not None
        self._pose = plan.end
        self.places.append(plan.end)
        return made

    def _held(
        self, grasp: GraspSettings, task: Sequence[PhaseSettings]
    ) -> tuple[HybridLaw, HeldPlan]:
        """Return the law and the plan of the object in a grasp where it stands now."""
        held, plan = _held_scenario(self._scenario, self._system, grasp, task, self._pose)
        return self._held_law(held, self._system), plan


def _grippers(scenario: Scenario) -> Grippers | None:
    """Return the grippers of arms with rigid contacts; None if all arms have palms.

    Raises:
        ArgumentError: If there are both, or other contacts.
    """
    arms = scenario.cell.arms
    palms = [arm.contact.unilateral for arm in arms]
    other = [
        arm.name for arm in arms if not arm.contact.unilateral and arm.contact.kind != "rigid"
    ]
    if other or any(palms) != all(palms):
        name = other[0] if other else arms[palms.index(False)].name
        raise ArgumentError(
            f"the contact of arm {name!r} is {'of another kind' if other else 'rigid'}; a task "
            "expected palms that push for all arms, or grippers, which are rigid."
        )
    return None if all(palms) else Grippers(gripper_arms(scenario))


def gripper_arms(scenario: Scenario) -> tuple[str, ...]:
    """Return the names of the arms whose grippers a task commands."""
    arms = scenario.cell.arms if scenario.task else ()
    return tuple(arm.name for arm in arms if arm.contact.kind == "rigid")


def in_first_grasp(scenario: Scenario, system: GraspSystem) -> Scenario:
    """Return the scenario of the object in the first grasp of a task, with its path as reference.

    Without a grasp the object stays where it stands.

    Args:
        scenario: The scenario with the task.
        system: Arms and object according to the model.

    Raises:
        RobotDynamicsError: If the path is refused.
    """
    for i, phase in enumerate(scenario.task):
        if isinstance(phase.own, GraspSettings):
            held = phase.own, _held_phases(scenario.task[i + 1 :])
            break
    else:
        held = GraspSettings(), ()
    return _held_scenario(scenario, system, *held, scenario.object_pose)[0]


def _held_phases(task: tuple[PhaseSettings, ...]) -> tuple[PhaseSettings, ...]:
    """Return the phases of a held object, until `put_down`; the grasp is before them."""
    names = [phase.name for phase in task]
    return task[: names.index("put_down") + 1]


def _held_scenario(
    scenario: Scenario,
    system: GraspSystem,
    grasp: GraspSettings,
    phases: Sequence[PhaseSettings],
    pose: Array,
) -> tuple[Scenario, HeldPlan]:
    """Return the scenario of an object that is held from a pose (7,) on, and its plan."""
    supports = {
        surface.name: Support(
            pose_matrix(surface)[:3, 2], np.array(surface.xyz), np.array(surface.part.xyz)
        )
        for surface in scenario.cell.surfaces
        if (surface.kind, surface.part.kind) == ("plane", "face")
    }
    weight = system.object_mass * np.array(system.model.gravity)
    plan = plan_held(grasp, phases, pose, supports, weight)
    return _starting_at(scenario, pose, plan.reference), plan


def _starting_at(scenario: Scenario, pose: Array, reference: ReferenceSettings) -> Scenario:
    """Return the scenario of a held object that follows a reference from a pose (7,) on."""
    x, y, z = pose[:3].tolist()
    roll, pitch, yaw = Rotation.from_quat(pose[3:]).as_euler("xyz").tolist()
    standing = replace(scenario.cell.object, xyz=(x, y, z), rpy=(roll, pitch, yaw))
    cell = replace(scenario.cell, object=standing)
    plant = replace(scenario.plant, object_error=PoseSettings())  # of tasks alone
    return replace(scenario, cell=cell, reference=reference, task=(), plant=plant)
