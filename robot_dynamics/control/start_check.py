# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Check of a start: each arm must be at its grasp, and at rest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.arrays import Array
from robot_dynamics.control.rotation_path import distance_between
from robot_dynamics.control.settings import StartSettings
from robot_dynamics.description.orientations import vector_of_pose
from robot_dynamics.dynamics.kinematics import body_transforms, joint_transforms
from robot_dynamics.errors import RobotDynamicsError, require_length
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.model import pose_of
from robot_dynamics.wording import apart, outside

OBJECT = "the object"


class StartError(RobotDynamicsError):
    """The state does not allow a start.

    Attributes:
        subject: Name of the arm or joint, or `OBJECT`.
        value: Its deviation [m, rad, or rad/s or m/s].
        expected: Largest allowed deviation.
    """

    def __init__(self, subject: str, value: float, expected: float, sentence: str) -> None:
        self.subject, self.value, self.expected = subject, value, expected
        self._sentence = sentence
        super().__init__(f"start refused: {sentence}")

    def with_remedy(self, sentence: str) -> StartError:
        """Return the error with a further sentence, about the remedy."""
        return StartError(self.subject, self.value, self.expected, f"{self._sentence} {sentence}")


class NotAtRestError(StartError):
    """A start from motion, which may come to rest by itself."""


def check_start(
    system: GraspSystem, settings: StartSettings, start: ArrayLike, q: ArrayLike, qd: ArrayLike
) -> None:
    """Refuse a start far from the reference, in motion, or with joints beyond their limits.

    The object's pose according to each arm, with its grasp closed, must be at the start of the
    reference; then the arms also agree with one another.

    Args:
        system: Arms and object.
        settings: Tolerances of a start.
        start: Pose of the object at the start of the reference, x y z qx qy qz qw (7,); for an
            object with a joint the poses of both parts (2, 7).
        q: Measured positions of the arm joints (na,).
        qd: Their velocities (na,).

    Raises:
        StartError: With the arm or joint of the largest deviation, and the deviation.
        ArgumentError: If an array has the wrong length.
    """
    q, qd = np.asarray(q, dtype=float), np.asarray(qd, dtype=float)
    poses = np.broadcast_to(np.asarray(start, dtype=float), (len(system.arms), 7))
    for name, values in (("q", q), ("qd", qd)):
        require_length(name, values.tolist(), len(system.joint_names), "one for each arm joint")
    check_joints(system, settings, q, qd)
    gaps = [distance_between(*pair) for pair in zip(_poses_seen(system, q), poses, strict=True)]
    require_near(settings, [arm.name for arm in system.arms], gaps, "its grasp")


def require_near(
    settings: StartSettings, subjects: Sequence[str], gaps: ArrayLike, place: str
) -> None:
    """Refuse a start if the largest of some distances and angles is beyond the tolerances.

    Args:
        settings: Tolerances of a start.
        subjects: Names of arms, or `OBJECT`.
        gaps: Their distances [m] and angles [rad] from the place (n, 2).
        place: The place, in words.

    Raises:
        StartError: With the largest deviation.
    """
    most, turn = settings.position_tolerance_m, settings.rotation_tolerance_rad
    shares = np.max(np.asarray(gaps) / [most, turn], axis=1)  # a NaN is the largest
    worst = int(np.argmax(shares))
    if shares[worst] <= 1.0:
        return
    subject, (distance, angle) = subjects[worst], np.asarray(gaps)[worst].tolist()
    words = subject if subject == OBJECT else f"arm {subject!r}"
    raise StartError(
        subject,
        distance,
        most,
        f"{words} is {distance:.3g} m and {np.degrees(angle):.3g} degrees from {place}; expected "
        f"at most {most:g} m and {np.degrees(turn):.3g} degrees.",
    )


def check_joints(system: GraspSystem, settings: StartSettings, q: Array, qd: Array) -> None:
    """Refuse joints beyond their limits or in motion.

    Raises:
        StartError: With the joint, and by how much; a `NotAtRestError` if it moves.
    """
    lower, upper = system.limits["lower"], system.limits["upper"]
    for i, joint in enumerate(system.joint_names):
        for what, value in (("position", q[i]), ("velocity", qd[i])):
            if not np.isfinite(value):
                raise StartError(
                    joint,
                    float(value),
                    0.0,
                    f"{what} of joint {joint!r} is {value}; expected a finite number.",
                )
        if not lower[i] <= q[i] <= upper[i]:
            unit = system.joint_units[i]
            raise StartError(
                joint,
                float(q[i]),
                float(lower[i] if q[i] < lower[i] else upper[i]),
                f"joint {joint!r} is at {outside(q[i], lower[i], upper[i], unit)}.",
            )
    fastest = int(np.argmax(np.abs(qd)))
    if abs(qd[fastest]) > settings.velocity_tolerance:
        joint, unit = system.joint_names[fastest], system.joint_units[fastest]
        speed, most = apart(abs(qd[fastest]), settings.velocity_tolerance)
        raise NotAtRestError(
            joint,
            float(abs(qd[fastest])),
            settings.velocity_tolerance,
            f"joint {joint!r} moves at {speed} {unit}/s; expected at most {most} {unit}/s.",
        )


def disagreement(system: GraspSystem, q: Array) -> float:
    """Return the larger of `disagreements` [m or rad]."""
    return max(disagreements(system, q))


def disagreements(system: GraspSystem, q: Array) -> tuple[float, float]:
    """Return the disagreement of the arms about a rigid object in their grasps [m] [rad].

    Both are zero for a single arm, and infinite if internal loops of an arm do not close.

    Args:
        system: Arms and object.
        q: Positions of the arm joints (na,).
    """
    try:
        first, *others = _poses_seen(system, np.asarray(q, dtype=float))
    except RobotDynamicsError:  # loops of an arm's own do not close there
        return np.inf, np.inf
    gaps = [distance_between(seen, first) for seen in others]
    distances, angles = zip((0.0, 0.0), *gaps, strict=True)
    return max(distances), max(angles)


def _poses_seen(system: GraspSystem, q: Array) -> list[Array]:
    """Return for each arm the pose (7,) that the object has if the arm's grasp is closed."""
    model = system.model
    full = system.positions(q)
    X0 = body_transforms(model, joint_transforms(model, full.tolist()))
    poses = []
    for arm in system.arms:
        loop = model.loops[arm.loop]
        to_grasp = loop.predecessor_placement.compose(X0[loop.predecessor])
        seen = pose_of(loop.successor_placement.inverse().compose(to_grasp))
        poses.append(vector_of_pose(seen))
    return poses
