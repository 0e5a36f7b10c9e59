# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The control laws of scenarios, by the name that `control.law` gives."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.app.cell import joint_order, jointed_system
from robot_dynamics.app.scenario import Scenario, build_system, locked_joints
from robot_dynamics.control.clock import Clock, LockstepClock
from robot_dynamics.control.control_law import ControlLaw
from robot_dynamics.control.control_loop import ControlLoop, Streams
from robot_dynamics.control.gravity import GravityLaw
from robot_dynamics.control.jointed.fold_plan import FoldPlan
from robot_dynamics.control.jointed.law import JointedLaw
from robot_dynamics.description.load import load_description
from robot_dynamics.manipulation.assembly import closed_configuration
from robot_dynamics.manipulation.jointed_object import JointSpaceModel
from robot_dynamics.manipulation.system import GraspSystem

Array = NDArray[np.float64]


def make_law(scenario: Scenario, system: GraspSystem | None = None) -> ControlLaw:
    """Return the control law of a scenario.

    Args:
        scenario: The scenario.
        system: `build_system(scenario)`, if the caller has it already.

    Raises:
        RobotDynamicsError: If the scenario is refused.
    """
    return LAWS[scenario.control.law](scenario, system or build_system(scenario))


def control_loop(
    scenario: Scenario,
    system: GraspSystem | None = None,
    clock: Clock | None = None,
    *,
    wrist_sensors: bool = True,
    streams: Streams | None = None,
) -> ControlLoop:
    """Return the control loop of a scenario.

    Args:
        scenario: The scenario.
        system: `build_system(scenario)`, if the caller has it already.
        clock: What times mean; that of lockstep by default.
        wrist_sensors: Whether the arms have sensors of the grasp wrenches.
        streams: How samples come over topics; None if they do not.

    Raises:
        RobotDynamicsError: If the scenario is refused.
    """
    if streams is not None:
        ignored = {*locked_joints(scenario), *streams.ignored_joints}
        streams = streams._replace(ignored_joints=ignored)
    return ControlLoop(
        make_law(scenario, system),
        scenario.control,
        scenario.safety,
        clock or LockstepClock(scenario.control.period),
        wrist_sensors=wrist_sensors,
        object_box=_box_around_object(scenario),
        friction=max((surface.friction for surface in scenario.cell.surfaces), default=0.0),
        streams=streams,
    )


def _box_around_object(scenario: Scenario) -> Array | None:
    """Return lower and upper corner (2, 3) of the object's shapes, if there are any."""
    if not scenario.control.law_facts.holds_object:  # it need not be there
        return None
    description = load_description(scenario.cell.object.urdf)
    points = [
        shape.points() for shape in description.shapes if shape.link == description.mechanism.root
    ]
    corners = np.concatenate([np.empty((0, 3)), *points])
    return np.array([corners.min(axis=0), corners.max(axis=0)]) if len(corners) else None


def _gravity(scenario: Scenario, system: GraspSystem) -> ControlLaw:
    return GravityLaw(system, scenario.control, scenario.safety, scenario.plan())


def _hybrid(scenario: Scenario, system: GraspSystem) -> ControlLaw:
    from robot_dynamics.app.hybrid_law import hybrid_law

    return hybrid_law(scenario, system)


def _jointed(scenario: Scenario, system: GraspSystem) -> ControlLaw:
    jointed = jointed_system(scenario.cell, system)
    start = closed_configuration(system, scenario.object_pose)[system.q_index]
    at = np.empty(len(start))
    at[joint_order(jointed)] = start
    terms = JointSpaceModel(jointed).terms(at, np.zeros(len(at)))
    plan = FoldPlan(jointed, terms, scenario.reference)
    return JointedLaw(system, jointed, plan, scenario.control, scenario.safety)


#: What makes a law of a scenario and of arms and object as they are believed to be.
LAWS: dict[str, Callable[[Scenario, GraspSystem], ControlLaw]] = {
    "hybrid": _hybrid,
    "jointed": _jointed,
    "gravity": _gravity,
}
