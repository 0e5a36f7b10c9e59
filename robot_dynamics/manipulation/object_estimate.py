# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The held object's pose and twist from the arms' joints, through their grasps.

Every arm that holds the object rigidly knows where it is; the mean of what they say is the
estimate, and how far they disagree is the closure residual that safety watches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.model.joints import turn
from robot_dynamics.model.parameters import Parameters
from robot_dynamics.spatial import Motion, Rotation, Scalar, Transform, Vector3, rotation_vector


@dataclass(frozen=True)
class ObjectEstimate:
    """Where the object is and how it moves.

    Attributes:
        transform: From world to object coordinates.
        velocity: Spatial velocity in object coordinates.
        closure: For each arm after the first, how far the pose it sees stands from the one that
            the first arm sees: rotation vector [rad] and displacement [m] in the first's axes
            (6(k-1),). Zero for perfect grasps and kinematics.
    """

    transform: Transform
    velocity: Motion
    closure: list[Scalar]


def estimate_object(
    system: GraspSystem,
    X0: Sequence[Transform],
    v: Sequence[Motion],
    parameters: Parameters,
) -> ObjectEstimate:
    """Return the object's pose and twist as the arms see them.

    The rotations are averaged about the first arm's, to first order in their disagreement.

    Args:
        system: Arms and object.
        X0: Transforms from world to body coordinates; those of the arms are read.
        v: Velocities of the bodies, in body coordinates; those of the arms are read.
        parameters: The placements of the grasps.
    """
    model = system.model
    seen: list[Transform] = []
    velocities: list[Motion] = []
    for arm in system.arms:
        X_P, X_S = parameters.loops[arm.loop]
        tool = model.loops[arm.loop].predecessor
        to_object = X_S.inverse().compose(X_P)  # from tool body to object, the grasp being closed
        seen.append(to_object.compose(X0[tool]))
        velocities.append(to_object * v[tool])

    first = seen[0]
    closure: list[Scalar] = []
    turned, moved = Vector3.zero(), Vector3.zero()
    for other in seen[1:]:
        rotation = rotation_vector(first.E.compose(other.E.transpose()))
        displacement = other.r - first.r
        closure += [*rotation, *(first.E * displacement)]
        turned, moved = turned + rotation, moved + displacement

    share = 1.0 / len(seen)
    mean_turn = Rotation.from_quaternion(*turn([0.0, 0.0, 0.0, 1.0], list(turned * share)))
    transform = Transform(mean_turn.compose(first.E), first.r + moved * share)
    velocity = velocities[0]
    for other_velocity in velocities[1:]:
        velocity = velocity + other_velocity
    return ObjectEstimate(transform, velocity * share, closure)
