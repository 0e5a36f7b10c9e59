# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Check that every motion of a kinematic tree moves some inertia."""

from __future__ import annotations

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model.connectivity import WORLD
from robot_dynamics.model.model import Model
from robot_dynamics.spatial import ArticulatedInertia, Inertia, Motion, Transform

# A joint moves no inertia if the articulated-body inertia along it is at most this part of the
# composite inertia.
_RELATIVE = 1e-10
_ABSOLUTE = 1e-15  # kg m^2 or kg: far below the inertia of a watch's smallest wheel


def require_inertia(model: Model) -> None:
    """Check that every joint of the tree moves some inertia, as forward dynamics need.

    Raises:
        RobotDynamicsError: If a joint moves no inertia; it names the link that lacks it.
    """
    for index in joints_without_inertia(model):
        body = model.bodies[index]
        lacks = "rotational inertia" if body.inertia.mass > 0.0 else "mass"  # points just turn
        raise RobotDynamicsError(
            f"joint {body.joint.name!r} moves no inertia, expected {lacks} on link "
            f"{body.name!r} or beyond it."
        )


def joints_without_inertia(model: Model) -> tuple[int, ...]:
    """Return the bodies whose joints move no inertia.

    The inertia matrix of a model is singular exactly if some D = S^T I^A S of the articulated-body
    algorithm is (Featherstone 2008, 7.3). D is computed at one generic configuration: it finds a
    body on the axis of its own joint, but not masses that line up at a special configuration.

    Args:
        model: A model of a kinematic tree; its loops are ignored.

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
    """Return each joint's positions at a generic configuration."""
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
