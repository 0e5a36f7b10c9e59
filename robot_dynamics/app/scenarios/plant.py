# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The simulated plant of a scenario, with slipping grasps and touched surfaces."""

from __future__ import annotations

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
from robot_dynamics.arrays import Array
from robot_dynamics.contact.material import Material
from robot_dynamics.manipulation.assembly import closed_configuration
from robot_dynamics.manipulation.contact_settings import (
    ContactSettings,
)
from robot_dynamics.manipulation.system import GraspSystem
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


def make_plant(scenario: Scenario, system: GraspSystem, start: Array | None = None) -> ScenePlant:
    """Return the plant of a scenario, at its start.

    Args:
        scenario: The scenario.
        system: Arms and object as they truly are.
        start: Positions (nq,) of the start, see `standing_start`; by default the arms
            are at home for a task, else all tools are at their grasps.

    Raises:
        ReachError: If an arm does not reach its grasp.
        RobotDynamicsError: If the engine is not installed, or does not know such objects.
    """
    if start is None and scenario.task:
        start = standing_start(scenario, system, scenario.home)
    elif start is None:
        start = closed_configuration(system, scenario.object_pose)
    scene = scene_of(scenario, system)
    return ScenePlant(scene, start, scenario.control.period, scenario.plant)


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
