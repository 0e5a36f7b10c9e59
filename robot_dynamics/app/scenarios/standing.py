# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Starts of arms at rest beside an object that stands on a surface."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.app.scenarios.cell import pose_matrix
from robot_dynamics.app.scenarios.scenario import Scenario
from robot_dynamics.app.scenarios.surfaces import true_surfaces
from robot_dynamics.arrays import Array
from robot_dynamics.contact.surfaces import gap_and_normal
from robot_dynamics.description.orientations import vector_of_pose
from robot_dynamics.errors import ArgumentError
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.simulation.scene import SurfaceContact
from robot_dynamics.spatial import Vector3
from robot_dynamics.wording import distance

_STANDS = 5e-3  # largest distance of a surface on which the object stands as stated [m]
_UPWARD = 0.5  # least cosine between the vertical and the normal of such a surface
_PASSES = 3  # one sets an object on planes exactly


def standing_start(scenario: Scenario, system: GraspSystem, joints: ArrayLike) -> Array:
    """Return positions (nq,) of arms at rest and of an object that stands on its surfaces.

    The object is at its stated pose with `plant.object_error`, moved along the vertical onto the
    true surfaces that it touches as stated. It is as deep in an elastic surface as its weight
    presses it if all points bear the same.

    Args:
        scenario: The scenario.
        system: Arms and object as they truly are.
        joints: Positions of the arm joints (na,).

    Raises:
        ArgumentError: If the object stands on no surface, or an arm that can only push has no
            `face`.
        RobotDynamicsError: If internal closed chains do not close at `joints`.
    """
    for i, arm in enumerate(scenario.cell.arms):
        if arm.contact.unilateral and arm.contact.face is None:
            raise ArgumentError(
                f"cell.arms[{i}].contact.face is missing: arm {arm.name!r} starts away from the "
                "object; expected the half lengths of the face that it will touch."
            )
    gravity = np.array(system.model.gravity)
    size = float(np.linalg.norm(gravity))
    up = -gravity / size if size else np.array([0.0, 0.0, 1.0])
    bearing = _bearing(scenario, up)
    weight = system.object_mass * size / sum(len(one.points) for one in bearing)
    there = pose_matrix(scenario.cell.object) @ pose_matrix(scenario.plant.object_error)
    for _ in range(_PASSES):
        rises = []
        for one in bearing:
            gaps, cosines = _gaps(one, there, up)
            rises += ((-weight / one.material.stiffness - gaps) / cosines).tolist()
        there[:3, 3] += max(rises) * up
    q = system.positions(joints)
    q[system.object_q] = vector_of_pose(there)
    return q


def _bearing(scenario: Scenario, up: Array) -> list[SurfaceContact]:
    """Return the true surfaces on which the object stands as it is stated."""
    stated = replace(scenario, plant=replace(scenario.plant, surface_error={}))
    at, found, off = pose_matrix(scenario.cell.object), [], {}
    pairs = zip(true_surfaces(stated)[0], true_surfaces(scenario)[0], strict=True)
    for believed, true in pairs:
        gaps, cosines = _gaps(believed, at, up)
        off[true.name] = float(gaps.min())
        if abs(gaps.min()) <= _STANDS and cosines.min() > _UPWARD:
            found.append(true)
    if not found:
        away = ", ".join(f"{name!r} is {distance(abs(gap))} away" for name, gap in off.items())
        raise ArgumentError(
            f"cell.object stands on no surface: {away or 'cell.surfaces is empty'}; expected one "
            f"within {distance(_STANDS)} below it."
        )
    return found


def _gaps(one: SurfaceContact, pose: Array, up: Array) -> tuple[Array, Array]:
    """Return the gap of each point of the object at a pose, and its rate along the vertical."""
    gaps, rates = [], []
    for point in one.points:
        gap, normal = gap_and_normal(one.surface, Vector3.of((pose @ [*point, 1.0])[:3].tolist()))
        gaps.append(float(gap))
        rates.append(float(np.dot([*normal], up)))
    return np.array(gaps), np.array(rates)
