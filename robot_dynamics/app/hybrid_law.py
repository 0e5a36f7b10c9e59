# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The hybrid control law of a scenario: its contacts, surfaces, squeeze and reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.app.cell import (
    hybrid_system_of,
    object_frame,
    surface_facts,
    surface_rows,
)
from robot_dynamics.app.scenario import Scenario
from robot_dynamics.control.hybrid.controller import HybridController
from robot_dynamics.control.hybrid.planned_forces import planned_wrenches
from robot_dynamics.control.hybrid.task_check import TaskOptions
from robot_dynamics.control.hybrid_reference import HybridReference, plan_hybrid_reference
from robot_dynamics.control.path_check import path_times
from robot_dynamics.control.settings import ForceStepSettings
from robot_dynamics.errors import ArgumentError
from robot_dynamics.manipulation.hybrid import ForceDistribution, HybridSystem, Squeeze
from robot_dynamics.manipulation.hybrid.force_distribution import torque_metric
from robot_dynamics.manipulation.system import GraspSystem

Array = NDArray[np.float64]


def hybrid_law(scenario: Scenario, system: GraspSystem) -> HybridController:
    """Return the hybrid controller of a scenario.

    Args:
        scenario: The scenario.
        system: Arms and object as they are believed to be.

    Raises:
        RobotDynamicsError: If the grasp cannot do the task, or anything else is refused.
    """
    held = hybrid_system_of(scenario.cell, system)
    held.require_force_closure()
    distribution = distribution_of(scenario, held)
    settings = scenario.control.internal_force
    facts = surface_facts(scenario.cell)
    return HybridController(
        system,
        scenario.control,
        scenario.safety,
        hybrid_reference(scenario, held, distribution),
        contacts=held.contacts,
        environment=held.environment,
        distribution=distribution,
        task=TaskOptions(settings.margin_n, settings.may_slip, facts.rows, facts.grips),
    )


def distribution_of(scenario: Scenario, system: HybridSystem) -> ForceDistribution:
    """Return how contact forces share the load, and the internal forces."""
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
    terms = system.terms(q, still, object_frame(scenario.cell), np.zeros(6))
    return torque_metric(terms.J_S, scenario.safety.effort_fraction * model.limits()["effort"])


def hybrid_reference(
    scenario: Scenario, system: HybridSystem, distribution: ForceDistribution
) -> HybridReference:
    """Return what the object is to do, with the squeeze that is left to us.

    Raises:
        SqueezeError: If no squeeze keeps the contacts in their cones.
        ArgumentError: If something is out of order.
        UnknownNameError: If a surface is not there.
    """
    settings, rows = scenario.reference, surface_rows(scenario.cell)
    names = distribution.names
    if any(step.squeeze_n == "automatic" for step in settings.force):
        without = replace(settings, force=())
        planned = plan_hybrid_reference(without, scenario.object_pose, names, rows)
        internal = _squeeze(scenario, system, distribution, planned)
        settings = replace(settings, force=_with(settings.force, internal))
    pushing = any(contact.limits is not None for contact in system.contacts)
    reference = plan_hybrid_reference(
        settings, scenario.object_pose, names, rows, held_by_squeeze=pushing
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
    """Return changes of the internal force with what is to be chosen filled in."""
    chosen = tuple(internal.tolist())
    return tuple(
        replace(step, squeeze_n=None, wrench=chosen) if step.squeeze_n == "automatic" else step
        for step in steps
    )
