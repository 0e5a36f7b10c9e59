# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Whether every motion of a mechanism moves some inertia."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.description.diagnosis import Diagnosis
from robot_dynamics.description.tree_checks import Places
from robot_dynamics.model import WORLD, Model
from robot_dynamics.model.builder import build
from robot_dynamics.model.elements import Mechanism
from robot_dynamics.spatial import ArticulatedInertia, Inertia, Motion, Transform

Array = NDArray[np.float64]

# A joint has no inertia of its own if this much or less of what it seems to move remains once
# the joints beyond it are free to give way.
_RELATIVE = 1e-10
_ABSOLUTE = 1e-15  # kg m^2 or kg: far below the inertia of a watch's smallest wheel


def check_motion(mechanism: Mechanism, places: Places, diagnosis: Diagnosis) -> None:
    """Note an error for each joint that moves no inertia."""
    carriers = {joint.child: joint.name for joint in mechanism.joints}
    found: dict[str, str] = {}  # links by the joints that move them
    if len(carriers) == len(mechanism.joints):
        found = {carriers[link]: link for link in joints_without_mass(mechanism)}
    if not found:
        model = build(mechanism)
        bodies = [model.bodies[i] for i in joints_without_inertia(model)]
        found = {body.joint.name: body.name for body in bodies}
    for joint, link in found.items():
        diagnosis.error(
            places.joint(joint),
            f"joint {joint!r}",
            f"nothing that it moves has inertia, expected mass on link {link!r} or beyond it",
            "or lock the joint",
        )


def joints_without_mass(mechanism: Mechanism) -> tuple[str, ...]:
    """Return the links whose joint moves nothing that has mass, inertia or a rotor.

    `joints_without_inertia` would find them too; this takes no numbers and no time.
    """
    carrier = {joint.child: joint for joint in mechanism.joints}
    moved: set[str] = set()  # links that carry some inertia, or are carried by a rotor
    for link in mechanism.links:
        name = link.name
        if link.mass or link.inertia.any():
            while name not in moved:
                moved.add(name)
                if name in carrier:
                    name = carrier[name].parent
    return tuple(
        name
        for name, joint in carrier.items()
        if joint.type != "fixed" and name not in moved and not np.any(joint.armature)
    )


def joints_without_inertia(model: Model) -> tuple[int, ...]:
    """Return the bodies whose joint can move without moving any inertia.

    The inertia matrix of a model is singular exactly if some D = S^T I^A S of the articulated-body
    algorithm is (Featherstone 2008, 7.3). D is computed at one generic configuration: a body on
    the axis of its own joint is found there, while masses that line up at a special
    configuration only are not taken for nothing.

    Args:
        model: A model of a kinematic tree; its loops are not looked at.

    Returns:
        Indices of bodies; empty for a model that can be simulated.
    """
    count = len(model.bodies)
    positions = _generic_positions(model)
    transforms = [
        _transform_matrix(body.joint.type.transform(q).compose(body.placement))
        for body, q in zip(model.bodies, positions, strict=True)
    ]
    articulated = [_matrix(body.inertia) for body in model.bodies]
    composite = [matrix.copy() for matrix in articulated]
    found = []
    for i in reversed(range(count)):
        body = model.bodies[i]
        S = np.array([_column(motion) for motion in body.joint.type.subspace(positions[i])]).T
        U = articulated[i] @ S
        rotor = np.diag(body.joint.of_each_freedom(body.joint.armature))
        D, seeming = S.T @ U + rotor, S.T @ composite[i] @ S + rotor
        apparent = float(np.abs(seeming).max())
        # Angular and linear motions of a floating joint are scaled alike before they are judged.
        scale = np.sqrt(np.maximum(np.diag(seeming), 1e-300))
        smallest = float(np.linalg.eigvalsh(D / np.outer(scale, scale))[0])
        if apparent <= _ABSOLUTE or smallest <= _RELATIVE:
            found.append(i)
            reduced = articulated[i] - U @ np.linalg.pinv(D, rcond=_RELATIVE) @ U.T
        else:
            reduced = articulated[i] - U @ np.linalg.solve(D, U.T)
        if body.parent != WORLD:
            X = transforms[i]
            articulated[body.parent] += X.T @ (0.5 * (reduced + reduced.T)) @ X
            composite[body.parent] += X.T @ composite[i] @ X
    return tuple(reversed(found))


def _generic_positions(model: Model) -> list[list[float]]:
    """Return each joint's positions at a configuration without luck."""
    random = np.random.default_rng(20080)
    kinds = [body.joint.type for body in model.bodies]
    return [k.integrate(k.neutral(), random.uniform(0.3, 0.9, k.nv).tolist()) for k in kinds]


def _transform_matrix(X: Transform) -> Array:
    units = np.eye(6).tolist()
    return np.array([(X * Motion.of(unit)).components() for unit in units], dtype=float).T


def _matrix(inertia: Inertia | ArticulatedInertia) -> Array:
    units = np.eye(6).tolist()
    return np.array([(inertia * Motion.of(unit)).components() for unit in units], dtype=float).T


def _column(motion: Motion) -> list[float]:
    return [float(value) for value in motion.components()]
