# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Check of a whole plan before the first torque: a rollout of the law compared with the limits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.arrays import Array
from robot_dynamics.control.joint_ranges import JointRanges
from robot_dynamics.control.link_distance import Closest, LinkDistances
from robot_dynamics.control.reference import POSE
from robot_dynamics.control.rollout import Rollout, UnlimitedLaw, rollout
from robot_dynamics.control.settings import SafetySettings
from robot_dynamics.errors import RobotDynamicsError, require_length
from robot_dynamics.manipulation.grasp_map import mean_grasp_distance
from robot_dynamics.manipulation.hybrid import Contact
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.robot.bound_model import quick_constraint_terms
from robot_dynamics.wording import EFFORT_UNITS, apart, outside

SPACING_S = 0.01  # between the instants that are checked
_RATE_SHARE = 0.5  # part of the torque rate that a reference alone may take
_REACHED = 1e-6  # gap [m or rad] that is none: an arm reaches the object, at a singularity


class PathProblem(NamedTuple):
    """A part of a reference that the arms cannot or must not follow.

    Attributes:
        time: Its beginning, on the reference [s].
        joint: Name of the joint concerned.
        sentence: Predicted violation, and the limit.
        cause: Whether other problems follow from it, also earlier ones: joints race where the
            reach of an arm ends.
    """

    time: float
    joint: str
    sentence: str
    cause: bool = False


def in_phase(sentence: str, phase: str) -> str:
    """Return a sentence that begins with the phase of a task."""
    return f"in the phase {phase!r} {sentence}"


class PreflightError(RobotDynamicsError):
    """A reference, or a task, that is refused before the first torque.

    Args:
        problems: All problems.
        what: The refused plan.

    Attributes:
        problems: Everything found: causes of others first, then in the order of time.
        others: A sentence for each but the first, which is the message.
    """

    def __init__(self, problems: Sequence[PathProblem], what: str = "reference") -> None:
        self.problems = tuple(sorted(problems, key=lambda one: (not one.cause, one.time)))
        first = self.problems[0]
        self.others = tuple(f"also at {p.time:.2f} s: {p.sentence}" for p in self.problems[1:])
        more = len(problems) - 1
        rest = f" (and {more} more problem{'s' * (more > 1)})" if more else ""
        if more and first.cause:
            rest = rest[:-1] + ", which may follow from it)"
        super().__init__(f"{what} refused at {first.time:.2f} s: {first.sentence}{rest}")


class PathCheck(NamedTuple):
    """Margins of an accepted plan from each limit, with the joint of the least margin.

    Attributes:
        torque_fraction: Largest needed share of an effort limit, and its joint.
        velocity_fraction: Largest needed share of a velocity limit, and its joint.
        position_margin: Smallest distance from a position limit [rad or m], and its joint.
        smallest_pivot: Smallest relative pivot of an arm's J H^-1 J^T.
        tilt: Largest tilt of a soft finger from its grasp [rad]; 0 without one.
        arm_distance: Smallest distance between links that do not touch at the start [m].
        rollout: The motion.
    """

    torque_fraction: tuple[float, str]
    velocity_fraction: tuple[float, str]
    position_margin: tuple[float, str]
    smallest_pivot: float
    tilt: float
    arm_distance: float
    rollout: Rollout


def path_times(duration: float) -> Array:
    """Return the times (N,) [s] at which a plan of some duration is checked."""
    count = max(2, int(np.ceil(duration / SPACING_S)) + 1)
    return np.linspace(0.0, max(duration, SPACING_S), count)


def check_path(
    system: GraspSystem,
    safety: SafetySettings,
    law: UnlimitedLaw,
    rows: Sequence[Array],
    times: Array,
    q: Array,
    *,
    contacts: Sequence[Contact] | None = None,
    switched: NDArray[np.bool_] | None = None,
    problems: Iterable[PathProblem] = (),
    terms: Any = None,
    soft_fingers: Sequence[str] = (),
) -> PathCheck:
    """Refuse a plan that the arms cannot follow from their positions.

    The whole motion is rolled out with the control law itself and checked for reach, position and
    velocity limits, singularities, torque and its rate, tilt of soft fingers, and distances of
    links.

    Args:
        system: Arms and object.
        safety: The limits.
        law: The control law without limits.
        rows: Rows of the plan at the times, for each body of the object (N, w).
        times: Times from `path_times` (N,) [s].
        q: Positions of the arm joints at the start (na,), the arms at their contacts.
        contacts: How each arm holds the object; rigidly by default.
        switched: Whether control has changed from force to motion or back since the previous
            instant (N,): the torque may jump there, and fades while control runs.
        problems: Other problems to report.
        terms: `Robot.constraint_terms` of the system, if the caller has it already.
        soft_fingers: Names of the arms whose contacts are soft fingers, in the law's order.

    Raises:
        PreflightError: With time and joint of the first problem, or of the cause of others, and
            all others as data.
        ArgumentError: If `q` has the wrong length.
    """
    start = np.asarray(q, dtype=float)
    require_length("q", start.tolist(), len(system.joint_names), "one for each arm joint")
    terms = terms or quick_constraint_terms(system.model)
    motion = rollout(system, terms, law, rows, times, start, contacts)
    blocked = [np.eye(6)] * len(system.arms)
    if contacts is not None:
        blocked = [contact.directions for contact in contacts]
    arms = _ArmJacobians(system, terms, blocked)
    distances = LinkDistances(system, safety.link_radius_m)
    first, path = rows[0][0, POSE], rows[0][: len(motion.times), POSE]
    touching = distances.touching(safety.minimum_arm_distance_m, start, first)
    closest = distances.closest(motion.q, path, touching)
    found = [
        *problems,
        *_motion_problems(system, safety, motion),
        *_torque_problems(system, safety, motion, switched),
        *_tilts(system, safety, motion, soft_fingers),
        *_singularities(system, safety, motion, start, arms),
        *_collisions(distances, safety, motion.times, closest),
    ]
    if found:
        raise PreflightError(found)
    limits, names = system.limits, system.joint_names
    margin = np.minimum(motion.q - limits["lower"], limits["upper"] - motion.q)
    nearest = int(np.argmin(np.min(margin, axis=0)))
    return PathCheck(
        _largest(np.abs(motion.torque) / limits["effort"], names),
        _largest(np.abs(motion.qd) / limits["velocity"], names),
        (float(np.min(margin)), names[nearest]),
        float(np.min(motion.pivot)),
        float(np.max(motion.tilt, initial=0.0)),
        float(np.min(closest.distance)),
        motion,
    )


def _largest(values: Array, names: tuple[str, ...]) -> tuple[float, str]:
    highest = np.max(values, axis=0)
    return float(np.max(highest)), names[int(np.argmax(highest))]


def _first(times: Array, wrong: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """Yield for each column (N, na) with a wrong entry the row of the first, and the column."""
    for j in np.flatnonzero(wrong.any(axis=0)):
        yield int(np.argmax(wrong[:, j])), int(j)


def _motion_problems(
    system: GraspSystem, safety: SafetySettings, motion: Rollout
) -> Iterator[PathProblem]:
    limits, names, times = system.limits, system.joint_names, motion.times
    units = system.joint_units
    ranges = JointRanges(system, safety.position_margin)
    q = ranges.values(motion.at)
    # Written so that a NaN counts as wrong.
    for i, j in _first(times, ~((q >= ranges.lower) & (q <= ranges.upper))):
        name = ranges.names[j]
        would = outside(q[i, j], ranges.lower[j], ranges.upper[j], ranges.units[j])
        yield PathProblem(times[i], name, f"joint {name!r} would be at {would}.")
    speed = limits["velocity"] * safety.velocity_fraction
    for i, j in _first(times, ~(np.abs(motion.qd) <= speed)):
        fastest, most = apart(float(np.max(np.abs(motion.qd[:, j]))), speed[j], digits=4)
        yield PathProblem(
            times[i],
            names[j],
            f"joint {names[j]!r} would have to move at up to {fastest} {units[j]}/s, expected "
            f"at most {most} {units[j]}/s.",
        )


def _torque_problems(
    system: GraspSystem,
    safety: SafetySettings,
    motion: Rollout,
    switched: NDArray[np.bool_] | None,
) -> Iterator[PathProblem]:
    names, times = system.joint_names, motion.times
    units = [EFFORT_UNITS[unit] for unit in system.joint_units]
    effort = system.limits["effort"] * safety.effort_fraction
    lacking = ~(np.abs(motion.support) <= effort)
    for i, j in _first(times, lacking):
        needed, most = apart(abs(motion.support[i, j]), effort[j], digits=4)
        yield PathProblem(
            times[i],
            names[j],
            f"joint {names[j]!r} would need {needed} {units[j]} to hold arm and object up, "
            f"expected at most {most} {units[j]}: the object is too heavy there.",
        )
    task = ~(np.abs(motion.torque) <= effort) & ~lacking.any(axis=0)
    for i, j in _first(times, task):
        largest = float(np.max(np.abs(motion.torque[:, j])))
        needed, most = apart(largest, effort[j], digits=4)
        yield PathProblem(
            times[i],
            names[j],
            f"joint {names[j]!r} would need up to {needed} {units[j]} with squeeze and motion, "
            f"expected at most {most} {units[j]}.",
        )
    if len(times) > 1:
        # Support is held back unless the limit leaves room for corrections.
        rate = np.abs(np.diff(motion.torque, axis=0)) / np.diff(times)[:, None]
        if switched is not None:
            rate[switched[1 : len(times)]] = 0.0
        usable = _RATE_SHARE * safety.torque_rate
        for i, j in _first(times[1:], ~(rate <= usable)):
            changed, most = apart(float(np.max(rate[:, j])), usable, digits=4)
            yield PathProblem(
                times[i + 1],
                names[j],
                f"the torque of joint {names[j]!r} would change by up to {changed} {units[j]}/s, "
                f"expected at most {most} {units[j]}/s.",
            )


def _tilts(
    system: GraspSystem, safety: SafetySettings, motion: Rollout, soft_fingers: Sequence[str]
) -> Iterator[PathProblem]:
    joints = {arm.name: arm.joints for arm in system.arms}
    limit = safety.tilt_limit_deg
    for i, j in _first(motion.times, ~(motion.tilt <= np.radians(limit))):
        arm = soft_fingers[j]
        largest, most = apart(float(np.degrees(np.max(motion.tilt[:, j]))), limit)
        yield PathProblem(
            motion.times[i],
            joints[arm][-1],
            f"the soft finger of arm {arm!r} would tilt by up to {largest} degrees on the "
            f"object, expected at most {most} degrees.",
        )


class _ArmJacobians:
    """Jacobians of the directions that the arms' contacts block, and their singular values.

    Args:
        system: Arms and object.
        terms: `Robot.constraint_terms` of its model.
        directions: Directions that the contact of each arm blocks, in its grasp's frame (6, d).
    """

    def __init__(self, system: GraspSystem, terms: Any, directions: Sequence[Array]) -> None:
        self._system, self._terms = system, terms
        length = max(mean_grasp_distance(system.grasps), 0.1)
        weight = np.array([length] * 3 + [1.0] * 3)
        self._rows = [S.T * weight for S in directions]

    def smallest_singular_value(self, q: Array, arm: int) -> float:
        """Return it for an arm's Jacobian at positions (na,), rotations times a length [m]."""
        system = self._system
        try:
            at = system.positions(q)
        except RobotDynamicsError:  # internal chains of the arms do not close there
            return 0.0
        K = self._terms(at, np.zeros(system.model.nv))[2]
        loop = system.arms[arm].loop
        motions = system.motions(at)[system.arm_slices[arm]]
        J = self._rows[arm] @ K[6 * loop : 6 * loop + 6] @ motions.T
        return float(np.linalg.svd(J, compute_uv=False)[-1])

    def weakest(self, q: Array) -> int:
        """Return the index of the arm that is nearest to a singularity."""
        arms = range(len(self._system.arms))
        return int(np.argmin([self.smallest_singular_value(q, i) for i in arms]))

    def straightening_joint(self, q: Array, arm: int) -> str:
        """Return the joint whose motion would take an arm off its singularity the fastest."""
        step = 0.05  # far enough to leave the flat bottom at the singularity itself
        own = self._system.arm_slices[arm]
        gains = []
        for j in range(own.start, own.stop):
            values = []
            for sign in (1.0, -1.0):
                moved = np.array(q)
                moved[j] += sign * step
                values.append(self.smallest_singular_value(moved, arm))
            gains.append(max(values))
        return self._system.joint_names[own.start + int(np.argmax(gains))]


def _singularities(
    system: GraspSystem,
    safety: SafetySettings,
    motion: Rollout,
    start: Array,
    arms: _ArmJacobians,
) -> Iterator[PathProblem]:
    times = motion.times
    if motion.failed_at is not None:
        worst = int(np.argmax(motion.gaps.sum(axis=1)))
        arm, (distance, angle) = system.arms[worst], motion.gaps[worst]
        q = motion.q[-1] if len(motion.q) else start
        joint = arms.straightening_joint(q, worst)
        far = not max(distance, angle) < _REACHED
        sentence = (
            f"arm {arm.name!r} does not reach the object, {distance:.3g} m and "
            f"{np.degrees(angle):.3g} degrees remain with joint {joint!r} as far as it helps, "
            "expected a path within the reach of all arms."
            if far
            else f"the motion of arm {arm.name!r} cannot be predicted further: it is at a "
            f"singularity, and joint {joint!r} leads out of it."
        )
        yield PathProblem(motion.failed_at, joint, sentence, cause=True)
    low = ~(motion.pivot >= safety.minimum_pivot)
    if low.any():
        i = int(np.argmax(low))
        worst = arms.weakest(motion.q[i])
        joint = arms.straightening_joint(motion.q[i], worst)
        yield PathProblem(
            times[i],
            joint,
            f"arm {system.arms[worst].name!r} would be at a singularity, relative pivot "
            f"{motion.pivot[i]:.2g}, with joint {joint!r} at {_of(system, motion.q[i], joint):.4g}"
            f", expected a pivot of at least {safety.minimum_pivot:g}.",
        )


def _of(system: GraspSystem, q: Array, joint: str) -> float:
    return float(q[system.joint_names.index(joint)])


def _collisions(
    distances: LinkDistances, safety: SafetySettings, times: Array, closest: Closest
) -> Iterator[PathProblem]:
    least = safety.minimum_arm_distance_m
    close = ~(closest.distance >= least)
    if close.any():
        i = int(np.argmax(close))
        pair = int(closest.pair[i])
        sentence = distances.sentence(pair, float(closest.distance[i]), least)
        yield PathProblem(times[i], distances.pairs[pair].first, sentence)
