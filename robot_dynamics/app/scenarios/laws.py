# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The control laws of scenarios, by the name that `control.law` gives, and the control loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from robot_dynamics.app.scenarios.cell import (
    build_system,
    hybrid_system_of,
    joint_order,
    jointed_system,
    locked_joints,
    pose_matrix,
    surface_facts,
    surface_rows,
)
from robot_dynamics.app.scenarios.clearances import Clearances
from robot_dynamics.app.scenarios.controllers import running_controller
from robot_dynamics.app.scenarios.scenario import Scenario
from robot_dynamics.app.scenarios.task import task_law
from robot_dynamics.arrays import Array
from robot_dynamics.control.abilities import HoldsObject
from robot_dynamics.control.admittance import AdmittanceLaw
from robot_dynamics.control.clock import Clock, LockstepClock
from robot_dynamics.control.control_law import ControlLaw
from robot_dynamics.control.control_loop import ControlLoop, Streams
from robot_dynamics.control.controller import Controller
from robot_dynamics.control.gravity import GravityLaw
from robot_dynamics.control.hybrid.law import HybridLaw
from robot_dynamics.control.hybrid.planned_forces import planned_wrenches
from robot_dynamics.control.hybrid.task_check import TaskOptions
from robot_dynamics.control.hybrid_reference import HybridReference, plan_hybrid_reference
from robot_dynamics.control.impedance import ImpedanceLaw
from robot_dynamics.control.jointed.fold_plan import FoldPlan
from robot_dynamics.control.jointed.law import JointedLaw
from robot_dynamics.control.path_check import path_times
from robot_dynamics.control.settings import ForceStepSettings
from robot_dynamics.description.load import load_object
from robot_dynamics.errors import ArgumentError
from robot_dynamics.manipulation.assembly import closed_configuration
from robot_dynamics.manipulation.hybrid import ForceDistribution, HybridSystem, Squeeze
from robot_dynamics.manipulation.hybrid.force_distribution import torque_metric
from robot_dynamics.manipulation.system import GraspSystem

#: Makes a law from a scenario and the model of arms and object.
LawMaker = Callable[[Scenario, GraspSystem], ControlLaw]


def make_law(
    scenario: Scenario,
    system: GraspSystem | None = None,
    like: tuple[Scenario, ControlLaw] | None = None,
) -> ControlLaw:
    """Return the control law of a scenario, or the observer of a controller.

    Args:
        scenario: The scenario.
        system: `build_system(scenario)`, if the caller has it already.
        like: A scenario that differs in plant and control alone, and its law for the same system,
            which has not started. The laws share their common parts.

    Raises:
        RobotDynamicsError: If the scenario is refused.
    """
    system = system or build_system(scenario)
    if scenario.task:
        return task_law(scenario, system, partial(hybrid_law, held_by_squeeze=True))
    kind = _KINDS.get(scenario.control.base_law)
    other, law = like or (scenario, None)
    if kind is None or not isinstance(law, HybridLaw) or type(law) is not kind:
        return LAWS[scenario.control.base_law](scenario, system)
    if scenario.control == other.control:
        return law.twin()
    return hybrid_law(scenario, system, kind, like=law)


def control_loop(
    scenario: Scenario,
    system: GraspSystem | None = None,
    clock: Clock | None = None,
    *,
    wrist_sensors: bool = True,
    streams: Streams | None = None,
    controller: Controller | None = None,
    allow_code: bool | str = False,
    law: ControlLaw | None = None,
    like: ControlLoop | None = None,
    clearances: Clearances | None = None,
) -> ControlLoop:
    """Return the control loop of a scenario.

    Args:
        scenario: The scenario.
        system: `build_system(scenario)`, if the caller has it already.
        clock: Meaning of times; by default lockstep.
        wrist_sensors: Whether the arms have sensors of the grasp wrenches.
        streams: Properties of samples over topics; None without topics.
        controller: User-defined controller, if the caller has it already.
        allow_code: Permission to import `control.law`: True, or the exact name.
        law: `make_law(scenario, system)`, if the caller has it already; it is restarted.
        like: A loop of a scenario that differs in plant and control alone, for the same system.
        clearances: `Clearances(scenario, system)`, if the caller has them already.

    Raises:
        RobotDynamicsError: If the scenario is refused.
    """
    if streams is not None:
        ignored = {*locked_joints(scenario), *streams.ignored_joints}
        streams = streams._replace(ignored_joints=ignored)
    if scenario.control.base_law == "admittance" and not wrist_sensors:
        raise ArgumentError(
            "law 'admittance' gives way to measured grasp wrenches, and there are none; expected "
            "arms with sensors of them, or the law 'impedance'."
        )
    law = law or make_law(scenario, system)
    if isinstance(law, HoldsObject):
        law.sense_by(wrist_sensors=wrist_sensors)
    clearances = clearances or Clearances(scenario, law.system)
    loop = ControlLoop(
        law,
        scenario.control,
        scenario.safety,
        clock or LockstepClock(scenario.control.period),
        wrist_sensors=wrist_sensors,
        object_box=box_around_object(scenario) if like is None else like.object_box,
        clearances=clearances,
        friction=max((surface.friction for surface in scenario.cell.surfaces), default=0.0),
        streams=streams,
        controller=running_controller(law, scenario.control, controller, allow_code=allow_code),
        like=like,
    )
    loop.warnings = tuple((0, sentence) for sentence in clearances.warnings)
    return loop


def box_around_object(scenario: Scenario) -> Array | None:
    """Return lower and upper corner (2, 3) of the object's shapes, if there are any."""
    if not scenario.control.law_facts.holds_object:  # it need not be there
        return None
    description = load_object(scenario.cell.object.urdf)
    points = [
        shape.points() for shape in description.shapes if shape.link == description.mechanism.root
    ]
    corners = np.concatenate([np.empty((0, 3)), *points])
    return np.array([corners.min(axis=0), corners.max(axis=0)]) if len(corners) else None


def _gravity(scenario: Scenario, system: GraspSystem) -> ControlLaw:
    return GravityLaw(system, scenario.control, scenario.safety, scenario.plan())


def _jointed(scenario: Scenario, system: GraspSystem) -> ControlLaw:
    jointed = jointed_system(scenario.cell, system)
    start = closed_configuration(system, scenario.object_pose)[system.q_index]
    at = np.empty(len(start))
    at[joint_order(jointed)] = start
    plan = FoldPlan(jointed, jointed.part_poses(at), scenario.reference)
    return JointedLaw(system, jointed, plan, scenario.control, scenario.safety)


def hybrid_law(
    scenario: Scenario,
    system: GraspSystem,
    kind: type[HybridLaw] = HybridLaw,
    *,
    held_by_squeeze: bool = False,
    like: HybridLaw | None = None,
) -> HybridLaw:
    """Return the hybrid controller of a scenario, or a law derived from it.

    Args:
        scenario: The scenario.
        system: Arms and object according to the model.
        kind: The class of the law.
        held_by_squeeze: See `hybrid_reference`.
        like: A law of the same cell and system, which has not started; the kernel is shared.

    Raises:
        RobotDynamicsError: If the grasp cannot do the task, or anything else is refused.
    """
    cell = scenario.cell
    if not scenario.control.law_facts.touches:  # what the object may run into is not its business
        cell = replace(cell, surfaces=())
    held = like.hybrid_system if like else hybrid_system_of(cell, system)
    held.require_force_closure()
    distribution = distribution_of(scenario, held)
    settings = scenario.control.internal_force
    facts = surface_facts(cell)
    return kind(
        system,
        scenario.control,
        scenario.safety,
        hybrid_reference(
            scenario, held, distribution, surface_rows(cell), held_by_squeeze=held_by_squeeze
        ),
        contacts=held.contacts,
        environment=held.environment,
        distribution=distribution,
        task=TaskOptions(settings.margin_n, settings.may_slip, facts.rows, facts.grips),
        like=like,
    )


def distribution_of(scenario: Scenario, system: HybridSystem) -> ForceDistribution:
    """Return the distribution of the load over contact forces, and the internal forces."""
    settings = scenario.control.internal_force
    if settings.basis == "orthonormal":
        return ForceDistribution.least(system)
    shares = [arm.load_share for arm in scenario.cell.arms]
    metric = _drives_metric(scenario, system) if settings.sharing == "drives" else None
    return ForceDistribution.of_contacts(system, shares, metric)


def _drives_metric(scenario: Scenario, system: HybridSystem) -> Array:
    """Return the metric (d, d) that loads drives alike at the arms' postures."""
    model = system.arms
    q, still = np.zeros(model.nv), np.zeros(model.nv)
    for arm in scenario.cell.arms:
        path = model.support(model.link(arm.tool).body)
        q[[model.v_slices[body].start for body in path]] = arm.posture
    pose = pose_matrix(scenario.cell.object)
    terms = system.terms(q, still, pose, np.zeros(6), check=False)  # The posture is a guess.
    return torque_metric(terms.J_S, scenario.safety.effort_fraction * model.limits()["effort"])


def hybrid_reference(
    scenario: Scenario,
    system: HybridSystem,
    distribution: ForceDistribution,
    rows: Mapping[str, slice] | None = None,
    *,
    held_by_squeeze: bool = False,
) -> HybridReference:
    """Return the reference of the object, with automatic squeezes computed.

    Args:
        scenario: The scenario.
        system: Arms, object, contacts and surfaces.
        distribution: Sharing of forces and internal forces.
        rows: Slice of each surface's forces; by default those of the scenario.
        held_by_squeeze: Whether an internal force stated at time 0 acts from the start; it does
            in any case if contacts can only push.

    Raises:
        SqueezeError: If no squeeze keeps the contacts in their cones.
        ArgumentError: If changes or touches are out of order.
        UnknownNameError: If there is no surface of a name.
    """
    settings = scenario.reference
    rows = surface_rows(scenario.cell) if rows is None else rows
    names = distribution.names
    if any(step.squeeze_n == "automatic" for step in settings.force):
        without = replace(settings, force=())
        planned = plan_hybrid_reference(without, scenario.object_pose, names, rows)
        internal = _squeeze(scenario, system, distribution, planned)
        settings = replace(settings, force=_with(settings.force, internal))
    pushing = any(contact.limits is not None for contact in system.contacts)
    reference = plan_hybrid_reference(
        settings, scenario.object_pose, names, rows, held_by_squeeze=pushing or held_by_squeeze
    )
    scenario.ticks(reference)
    return reference


def _squeeze(
    scenario: Scenario,
    system: HybridSystem,
    distribution: ForceDistribution,
    reference: HybridReference,
) -> Array:
    """Return the least internal force (m,) that holds along the whole reference."""
    if all(contact.limits is None for contact in system.contacts):
        raise ArgumentError(
            "reference.force has an automatic squeeze, which is for contacts that can slip; "
            "expected a number."
        )
    chooser = Squeeze(
        system.contacts,
        distribution,
        scenario.control.internal_force.margin_n,
        names=[arm.name for arm in scenario.cell.arms],
        length=system.length,
    )
    times = path_times(reference.duration)
    rows = reference.rows(times)
    return chooser.over(planned_wrenches(system, rows), times=times).internal_force


def _with(steps: Sequence[ForceStepSettings], internal: Array) -> tuple[ForceStepSettings, ...]:
    """Return changes of the internal force with automatic ones replaced."""
    chosen = tuple(internal.tolist())
    return tuple(
        replace(step, squeeze_n=None, wrench=chosen) if step.squeeze_n == "automatic" else step
        for step in steps
    )


#: Laws of which two can share a program.
_KINDS = {"hybrid": HybridLaw, "impedance": ImpedanceLaw}

#: Constructor of each law.
LAWS: dict[str, LawMaker] = {
    "hybrid": hybrid_law,
    "impedance": lambda scenario, system: hybrid_law(scenario, system, ImpedanceLaw),
    "admittance": lambda scenario, system: hybrid_law(scenario, system, AdmittanceLaw),
    "jointed": _jointed,
    "gravity": _gravity,
}
