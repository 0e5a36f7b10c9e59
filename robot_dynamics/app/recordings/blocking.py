# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The part of the object's tracking error that surfaces block.

A reference may lead into a wall, or beside a rail or a hinge that is elsewhere than expected. The
object cannot follow it there. The nearest pose that it can have is the reference after the least
motion out of the true surfaces; as surfaces yield, only as far out as the object itself is. The
way from that pose to the reference is blocked. All else between object and reference is an error.

"Least" means the least rotation, then the least displacement of the object's origin: a wall in
front of a point blocks a displacement and no rotation. Friction blocks nothing, and a surface that
can only be pushed does not block the way out of it. The result depends on poses alone, not on
measured forces or the control law.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import numpy as np
from scipy.linalg import null_space

from robot_dynamics.app.recordings.recording import Recording
from robot_dynamics.app.scenarios.scenario import scenario_of_text
from robot_dynamics.app.scenarios.surfaces import true_surfaces
from robot_dynamics.arrays import Array
from robot_dynamics.contact.surfaces import gap_and_normal
from robot_dynamics.control.rotation_path import rotated
from robot_dynamics.simulation.contact.environment_joints import EnvironmentJoint
from robot_dynamics.simulation.scene import SurfaceContact
from robot_dynamics.spatial import Vector3

T = TypeVar("T")
#: Values of a function of the pose (ticks,), and its slopes (ticks, 6) over a rotation about the
#: object's origin and a displacement of it.
_Values = tuple[Array, Array]

# Displacement that counts like a rotation of 1 rad [m]. The least motion then rotates by at most
# 1e-5 rad per metre if a displacement alone is enough.
_SCALE = np.repeat([100.0, 1.0], 3)
_ROUNDING = 1e-12  # [m, rad]


def blocked_error(recording: Recording) -> Array:
    """Return the part of the way from the object to the reference that surfaces block (ticks, 6).

    Rotation vector and displacement of the object's origin, world axes; zero where the reference
    is in free space, and in recordings without surfaces.
    """
    if not recording.metadata.get("surfaces") or "scenario_text" not in recording.metadata:
        return np.zeros((len(recording), 6))
    surfaces, joints = true_surfaces(scenario_of_text(recording.get("scenario_text")))
    true, wanted = recording["object_pose"], recording["reference_pose"]
    held, held_wanted, fixed = _compared(_offsets, joints, true, wanted)
    gap, gap_wanted, slopes = _compared(_gaps, surfaces, true, wanted)
    motion = (np.linalg.pinv(fixed) @ (held - held_wanted)[..., None])[..., 0]
    way = np.minimum(gap, 0.0) - gap_wanted - (slopes @ motion[..., None])[..., 0]
    free, solved, shortest = np.eye(6), b"", np.zeros(6)
    for i in np.flatnonzero((way > _ROUNDING).any(axis=1)):
        at = b"".join(part[i].tobytes() for part in (fixed, slopes, way))
        if at != solved:  # the object often rests
            free = null_space(fixed[i]) if joints else free
            solved, shortest = at, free @ _shortest(slopes[i] @ free, way[i])
        motion[i] += shortest
    blocked = -motion / _SCALE
    blocked[np.abs(blocked) < _ROUNDING] = 0.0
    return blocked


def _compared(
    values: Callable[[T, Array], Iterable[_Values]],
    things: Iterable[T],
    true: Array,
    wanted: Array,
) -> tuple[Array, Array, Array]:
    """Return values at true poses and at wanted ones (ticks, m), and scaled slopes (ticks, m, 6).

    Args:
        values: Yields values and slopes of one of the things at poses (ticks, 7).
        things: Surfaces, or hinges and lines.
        true: True poses of the object (ticks, 7).
        wanted: Those of the reference, where slopes are taken.
    """
    now = [value for thing in things for value, _ in values(thing, true)]
    then = [both for thing in things for both in values(thing, wanted)]
    ticks = len(true)
    return (
        np.array(now).reshape(-1, ticks).T,
        np.array([value for value, _ in then]).reshape(-1, ticks).T,
        np.array([slope for _, slope in then]).reshape(-1, ticks, 6).swapaxes(0, 1) / _SCALE,
    )


def _gaps(surface: SurfaceContact, poses: Array) -> Iterator[_Values]:
    """Yield for each point of the object its distance from a surface, negative inside it."""
    for point in surface.points:
        arm = rotated(poses[:, 3:], np.broadcast_to(point, (len(poses), 3)))
        gap, normal = gap_and_normal(surface.surface, Vector3.of(list((poses[:, :3] + arm).T)))
        along = np.stack([np.broadcast_to(one, len(poses)) for one in normal], axis=1)
        yield np.asarray(gap), np.hstack([np.cross(arm, along), along])


def _offsets(joint: EnvironmentJoint, poses: Array) -> Iterator[_Values]:
    """Yield two lengths by which the object is off a line, or three lengths and two sines."""
    count, hinged = len(poses), joint.kind == "hinge"
    arm = rotated(poses[:, 3:], np.broadcast_to(joint.part[:3, 3], (count, 3)))
    along = rotated(poses[:, 3:], np.broadcast_to(joint.part[:3, 2], (count, 3)))
    place, axes = poses[:, :3] + arm - joint.frame[:3, 3], joint.frame[:3, :3].T
    for axis in axes[: 3 if hinged else 2]:
        yield place @ axis, np.hstack([np.cross(arm, axis), np.tile(axis, (count, 1))])
    for axis in axes[:2] if hinged else ():
        yield along @ axis, np.hstack([np.cross(along, axis), np.zeros((count, 3))])


def _shortest(slopes: Array, way: Array) -> Array:
    """Return the shortest x with slopes x >= way (Lawson and Hanson 1974, section 23.4)."""
    goal, size = np.append(np.zeros(slopes.shape[1]), 1.0), np.linalg.norm(way)
    A = np.vstack([slopes.T, way / size])
    from scipy.optimize import nnls  # here, because importing it delays every start

    multipliers, _ = nnls(A, goal)
    rest = A @ multipliers - goal
    return np.asarray(-size * rest[:-1] / rest[-1])
