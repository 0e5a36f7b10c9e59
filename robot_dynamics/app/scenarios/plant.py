# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The simulated plant of a scenario, with slipping grasps and touched surfaces."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robot_dynamics.app.scenarios.cell import (
    cone_of,
    hybrid_system_of,
    wrench_maps,
)
from robot_dynamics.app.scenarios.laws import distribution_of
from robot_dynamics.app.scenarios.scenario import Scenario
from robot_dynamics.app.scenarios.standing import standing_start
from robot_dynamics.app.scenarios.surfaces import scaled_cone, true_surfaces
from robot_dynamics.contact.material import Material
from robot_dynamics.manipulation.assembly import closed_configuration
from robot_dynamics.manipulation.contact_settings import (
    ContactSettings,
)
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.simulation.contact.contact_engine import ContactEngine
from robot_dynamics.simulation.contact.pad import Pad
from robot_dynamics.simulation.plant import ScenePlant
from robot_dynamics.simulation.scene import ArmContact, Scene


def scene_of(scenario: Scenario, system: GraspSystem) -> Scene:
    """Return the scene of a scenario: arms, object, contacts and surfaces.

    Args:
        scenario: The scenario.
        system: Arms and object as they truly are.

    Raises:
        ArgumentError: If a surface cannot be simulated, or the object is off its hinge or line.
    """
    arms = tuple(
        ArmContact(
            contact,
            Material(scaled_cone(cone_of(arm.contact), scenario.plant.grasp_friction_scale)),
            arm.contact.face or (np.inf, np.inf),
            _pad(arm.contact),
        )
        for arm, contact in zip(scenario.cell.arms, system.contacts, strict=True)
    )
    surfaces, environment_joints = true_surfaces(scenario)
    law, forces = scenario.control.law_facts, None
    if law.contacts:  # internal forces are the law's own, with the plant's own grasps
        held = hybrid_system_of(scenario.cell, system)
        forces = wrench_maps(held, distribution_of(scenario, held))
    return Scene(system, arms, surfaces, environment_joints, forces, holds_object=law.holds_object)


#: Settings of a plant that change numbers and not the programs of its steps.
_NUMBERS = {
    "object_mass_scale", "object_center_error", "object_inertia_scale", "gravity_tilt",
    "damping_scale", "friction_scale", "friction_velocity", "command_delay_periods",
    "torque_limit", "sensors", "seed",
}  # fmt: skip


def make_plant(
    scenario: Scenario,
    system: GraspSystem,
    like: tuple[Scenario, ScenePlant] | None = None,
) -> ScenePlant:
    """Return the plant of a scenario at its start: arms at home for a task, else at their grasps.

    Args:
        scenario: The scenario.
        system: Arms and object as they truly are.
        like: A plant, with its tools at their grasps at the start, and its scenario. If the
            scenarios differ in numbers of the plant alone, its start and the programs of its
            contact steps are used again. It is not used for a task.

    Raises:
        ReachError: If an arm does not reach its grasp.
        RobotDynamicsError: If the engine is not installed, or does not know such objects.
    """
    if scenario.task:
        start = standing_start(scenario, system, scenario.home)
    else:
        if like is not None and (plant := _variant(scenario, system, *like)):
            return plant
        start = closed_configuration(system, scenario.object_pose)
    scene = scene_of(scenario, system)
    return ScenePlant(scene, start, scenario.control.period, scenario.plant)


def _variant(
    scenario: Scenario, system: GraspSystem, other: Scenario, like: ScenePlant
) -> ScenePlant | None:
    """Return a plant with the programs of another one's contact steps; None if it has others."""
    own, settings = scenario.plant, other.plant
    fixed = set(vars(own)) - _NUMBERS
    control, theirs = scenario.control, other.control
    same = scenario.cell is other.cell and control.period == theirs.period
    same = same and control.law_facts == theirs.law_facts
    if not (same and all(getattr(own, name) == getattr(settings, name) for name in fixed)):
        return None
    if not isinstance(like.engine, ContactEngine) or own.payloads:
        return None
    defines = control.internal_force, own.object_center_error
    scene = like.scene.variant(system)
    if defines != (theirs.internal_force, settings.object_center_error):
        scene = replace(scene, internal_force=scene_of(scenario, system).internal_force)
    return ScenePlant(scene, like.start, control.period, own, like.engine.variant)


def _pad(settings: ContactSettings) -> Pad | None:
    """Return the pad of a soft finger; None for other contacts, and without torsion."""
    size = settings.pad
    if settings.kind != "soft_finger" or (size is None and not settings.torsional_friction):
        return None
    if size is None:
        radius = 1.5 * settings.torsional_friction / settings.friction
        x, y = settings.face or (np.inf, np.inf)
        size = (min(radius, x), min(radius, y))
    return Pad(size, settings.pad_stiffness)
