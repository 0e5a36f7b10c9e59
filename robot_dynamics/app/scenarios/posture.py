# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Postures of a cell's arms from their grasps alone: random starts, the best on the whole path."""

from __future__ import annotations

import contextlib
import math
import os
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from robot_dynamics.app.output_files import OutputError, whole_file
from robot_dynamics.app.progress import Listener, StudyProgress
from robot_dynamics.app.scenarios.cell import build_system
from robot_dynamics.app.scenarios.laws import make_law
from robot_dynamics.app.scenarios.scenario import SUFFIXES, Scenario, load_scenario
from robot_dynamics.app.scenarios.task import in_first_grasp
from robot_dynamics.arrays import Array
from robot_dynamics.control.hybrid.contact_damping import SingularArmError
from robot_dynamics.control.path_check import PathCheck, PreflightError
from robot_dynamics.control.planned_law import PlannedLaw
from robot_dynamics.control.settings import SafetySettings
from robot_dynamics.dynamics.assembly import Gap
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.manipulation.assembly import ReachError, closed_configuration
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.robot.bound_model import quick_constraint_terms

STARTS = 200
_FRESH = 30  # starts without a good one after which arms are looked for elsewhere
_NEARBY = 0.3  # of starts from the best so far, each joint [rad or m]
# Values at which a margin counts as full: distance from joint limits [rad or m], between links
# [m], and smallest pivot of an arm over the least allowed one.
_LIMIT, _DISTANCE, _PIVOT = 0.3, 0.2, 1e3
_LEVER = 0.1  # m: a gap turned by an angle counts like that at this distance
_DIGITS = 6  # of postures in files; the start is solved for from there


class PostureError(RobotDynamicsError):
    """No posture was found; the message names the limiting factor."""

    exit_status = 1


@dataclass(frozen=True)
class Posture:
    """A posture with which the arms can do the whole task, with its margins.

    Attributes:
        joints: Positions of each arm, by its name [rad or m].
        margins: From 0, at the limit, to 1: remaining share of the allowed "torque" and
            "velocity", "joint limits" over 0.3 rad or m, "distance of links" over 0.2 m,
            "singularity" as the logarithm of the smallest pivot over the least, over 1000.
        starts: Numbers of random starts, of starts that reached the grasps, and of those that
            could do the task.
    """

    joints: dict[str, tuple[float, ...]]
    margins: dict[str, float]
    starts: tuple[int, int, int]

    @property
    def measure(self) -> float:
        """The smallest margin; the best posture has the largest one."""
        return min(self.margins.values())

    @property
    def limited_by(self) -> str:
        """Name of the smallest margin."""
        return min(self.margins, key=lambda name: self.margins[name])

    @property
    def json(self) -> dict[str, Any]:
        """All of it as JSON values."""
        return {
            "posture": {name: list(values) for name, values in self.joints.items()},
            "measure": self.measure,
            "limited_by": self.limited_by,
            "margins": self.margins,
            "starts": dict(zip(("tried", "at_grasps", "good"), self.starts, strict=True)),
        }

    def __str__(self) -> str:
        tried, reached, good = self.starts
        lines = [
            f"  {name:<14} [{', '.join(f'{value:.4f}' for value in values)}]"
            for name, values in self.joints.items()
        ]
        margins = ", ".join(f"{name} {value:.2f}" for name, value in self.margins.items())
        return "\n".join(
            [
                f"measure {self.measure:.3f}, limited by {self.limited_by}; "
                f"{tried} starts, {reached} at the grasps, {good} good",
                *lines,
                f"  margins        {margins}",
            ]
        )


@dataclass
class Reach:
    """Starts from which an arm reached its grasp.

    Attributes:
        count: Number of these starts.
        nearest: The smallest gap of the others; None without one.
    """

    count: int = 0
    nearest: Gap | None = None

    def note(self, gap: Gap | None) -> None:
        """Take note of the gap that remains after a start; None if the arm reached its grasp."""
        if gap is None:
            self.count += 1
        elif self.nearest is None or _size(gap) < _size(self.nearest):
            self.nearest = gap

    def words(self, arm: str, tried: int) -> str:
        """Return the number of starts in which an arm reached its grasp, or its smallest gap."""
        if self.count or self.nearest is None:
            return f"arm {arm!r} reaches its grasp in {self.count} of {tried} starts"
        return f"arm {arm!r} in none, at best {self.nearest} away"


def _size(gap: Gap) -> float:
    return gap.position + _LEVER * gap.rotation


def find_posture(
    scenario: Scenario,
    *,
    starts: int = STARTS,
    seed: int = 0,
    listener: Listener | None = None,
) -> Posture:
    """Return the best posture from random starts.

    Initial guesses are random at first, then near the best so far, with one arm elsewhere or
    slightly displaced. Until one is good, the best guess of each arm is the one that reaches
    farthest along the path. Each guess is closed on the grasps within the joint limits, and the
    law's check follows the whole reference from there, of a task the path in its first grasp:
    reach, limits of positions, velocities and torques, singularities and distances of links. The
    postures of the scenario are used only as the first initial guess. Ctrl-C ends the search and
    keeps the results.

    Args:
        scenario: The scenario.
        starts: Number of random starts.
        seed: Their seed.
        listener: Called with the progress.

    Raises:
        PostureError: If no start leads to one; with the most common limit.
        ArgumentError: If the arms hold nothing, or have internal closed chains.
    """
    if not scenario.control.law_facts.holds_object:
        raise ArgumentError(
            f"the law {scenario.control.base_law!r} holds no object; expected a scenario whose "
            "arms do, because postures follow from grasps."
        )
    system = build_system(scenario, any_posture=True)
    system.require_plain_arms("a posture from the grasps")
    if scenario.task:
        scenario = in_first_grasp(scenario, system)
    law: PlannedLaw | None = None
    given = np.clip(system.posture, system.limits["lower"], system.limits["upper"])
    terms, rng = quick_constraint_terms(system.model), np.random.default_rng(seed)
    best: tuple[dict[str, float], Array] | None = None
    reached, good, tried, reasons = 0, 0, 0, Counter[str]()
    reaches = {arm.name: Reach() for arm in system.arms}
    near: Array | None = None  # the best so far, of each arm
    ways = np.full(len(system.arms), -1.0)  # how far it leads each along the path [s]
    try:
        for tried in range(1, starts + 1):
            if best is None and tried % _FRESH == 0:  # arms that do not get to the end begin anew
                ways[np.isfinite(ways)] = -1.0
            guess = given if tried == 1 else _start(system, near, ways, tried, rng)
            try:
                q = closed_configuration(system, scenario.object_pose, guess, terms=terms)
                q = q[system.q_index]
                reached += 1
                for reach in reaches.values():
                    reach.count += 1
                if law is None:  # what it takes from the posture of the file is not there yet
                    own = _with_joints(scenario, _joints(system, q))
                    law = cast(PlannedLaw, make_law(own))  # as all are that hold an object
                margins = _margins(law.checked_path(q, terms), scenario.safety)
                good += 1
                if best is None or min(margins.values()) > min(best[0].values()):
                    best, near = (margins, q), q
                ways[:] = math.inf
            except ReachError as error:
                for name, reach in reaches.items():
                    reach.note(error.gaps.get(name))
            except (np.linalg.LinAlgError, SingularArmError):
                reasons["an arm is at a singularity"] += 1
            except PreflightError as error:
                reasons[error.problems[0].sentence] += 1
                if best is None:  # what arms can do does not depend on one another until then
                    near = q.copy() if near is None else near
                    for i, part in enumerate(system.arm_slices):
                        way = _way(error, system, part)
                        if way > ways[i]:
                            near[part], ways[i] = q[part], way
            if listener is not None:
                measure = "none yet" if best is None else f"{min(best[0].values()):.3f}"
                figures = f"{reached} at the grasps, {good} good, best {measure}"
                listener(StudyProgress(tried, starts, figures))
    except KeyboardInterrupt:
        if best is None:
            raise
    if best is None:
        raise PostureError(_why(scenario, tried, reached, reasons, reaches))
    return Posture(_joints(system, best[1]), best[0], (tried, reached, good))


def _joints(system: GraspSystem, q: Array) -> dict[str, tuple[float, ...]]:
    """Return positions (na,) by the names of the arms, as files have them."""
    return {
        arm.name: tuple((np.round(q[part], _DIGITS) + 0.0).tolist())  # no -0.0
        for arm, part in zip(system.arms, system.arm_slices, strict=True)
    }


def _with_joints(scenario: Scenario, joints: Mapping[str, tuple[float, ...]]) -> Scenario:
    """Return a scenario with other postures."""
    arms = tuple(replace(arm, posture=joints[arm.name]) for arm in scenario.cell.arms)
    return replace(scenario, cell=replace(scenario.cell, arms=arms))


def _way(error: PreflightError, system: GraspSystem, part: slice) -> float:
    """Return the time of a path until an arm has a problem [s]."""
    others = {*system.joint_names} - {*system.joint_names[part]}
    return min((p.time for p in error.problems if p.joint not in others), default=math.inf)


def _start(
    system: GraspSystem, near: Array | None, ways: Array, number: int, rng: np.random.Generator
) -> Array:
    """Return an initial guess (na,): random, or from the best so far.

    The arm that reaches least far, or a random arm if all reach the end, starts elsewhere or
    slightly displaced.
    """
    anywhere = _scattered(system, rng)
    if near is None:
        return anywhere
    guess = near.copy()
    short = np.flatnonzero(ways == ways.min())
    part = system.arm_slices[rng.choice(short)]
    if number % 2:
        guess[part] = anywhere[part]
    else:
        guess[part] += _NEARBY * rng.normal(size=part.stop - part.start)
    return guess


def _scattered(system: GraspSystem, rng: np.random.Generator) -> Array:
    """Return random positions (na,) within the limits, and within a turn."""
    lower = np.maximum(system.limits["lower"], -np.pi)
    upper = np.minimum(system.limits["upper"], np.pi)
    return np.asarray(rng.uniform(np.minimum(lower, upper), upper))


def _margins(check: PathCheck, safety: SafetySettings) -> dict[str, float]:
    """Return the margins of a path, see `Posture`."""
    pivot = math.log(max(check.smallest_pivot / max(safety.minimum_pivot, 1e-12), 1.0))
    return {
        "torque": 1.0 - check.torque_fraction[0] / safety.effort_fraction,
        "velocity": 1.0 - check.velocity_fraction[0] / safety.velocity_fraction,
        "joint limits": min((check.position_margin[0] - safety.position_margin) / _LIMIT, 1.0),
        "distance of links": min(
            (check.arm_distance - safety.minimum_arm_distance_m) / _DISTANCE, 1.0
        ),
        "singularity": min(pivot / math.log(_PIVOT), 1.0),
    }


def _why(
    scenario: Scenario,
    tried: int,
    reached: int,
    reasons: Counter[str],
    reaches: Mapping[str, Reach],
) -> str:
    """Return why initial guesses were rejected, in a sentence."""
    none = (
        f"{scenario.name}: none of {tried} starts leads to a posture, {reached} of them reached "
        "the grasps"
    )
    if reasons and (reached or all(reach.count for reach in reaches.values())):
        # The grasps are within reach: what happens on the path says more.
        reason, count = reasons.most_common(1)[0]
        return (
            f"{none}; {count} times: {reason.rstrip('.')}; expected grasps and a path that the "
            "arms can follow."
        )
    each = ", ".join(reach.words(name, tried) for name, reach in reaches.items())
    far = [name for name, reach in reaches.items() if not reach.count]
    if far:
        names = " and ".join(map(repr, far))
        needed = f"the object, or the base of {names}, moved or turned by at least that much"
    else:
        needed = "more starts, because all arms never reached theirs at once"
    return f"{none}: {each}; expected {needed}."


_POSTURE = re.compile(r"(\bposture:\s*)\[[^\]]*\]")


def require_place(scenario: Scenario, place: Path) -> None:
    """Check that a scenario can be written, before the search for postures.

    Raises:
        OutputError: If the name is not that of a scenario file, or it is the scenario's own file
            and postures cannot be changed without rewriting the whole file.
    """
    if place.suffix not in SUFFIXES:
        raise OutputError(f"{place}: expected a scenario file, {' or '.join(SUFFIXES)}.")
    source = _source(scenario)
    own = source.is_file() and place.exists() and place.samefile(source)
    if own and not _edited(scenario, scenario, place):
        raise OutputError(
            f"{place}: it does not list the posture of every arm as posture: [...], or --set "
            "changes what it says; expected another file, to which all of the scenario is written."
        )


def _source(scenario: Scenario) -> Path:
    """Return the file that a scenario was read from; the text after its last colon is no part."""
    return Path(scenario.source.rpartition(":")[0])


def _edited(scenario: Scenario, wanted: Scenario, place: Path) -> str:
    """Return the text of a scenario's file with other postures; "" if it would mean another.

    Args:
        scenario: The scenario.
        wanted: Required meaning of the text.
        place: File for the text, to which its relative paths refer.
    """
    text, arms = _source(scenario).read_text(encoding="utf-8"), wanted.cell.arms
    listed = [
        one
        for one in _POSTURE.finditer(text)
        if "#" not in text[text.rfind("\n", 0, one.start()) + 1 : one.start()]
    ]
    if len(listed) != len(arms):
        return ""
    for one, arm in reversed(list(zip(listed, arms, strict=True))):
        text = f"{text[: one.start()]}{one[1]}{list(arm.posture)}{text[one.end() :]}"
    beside = place.with_name(f".{place.stem}.{os.getpid()}.yaml")
    try:
        with contextlib.suppress(RobotDynamicsError, OSError):
            beside.write_text(text, encoding="utf-8")
            return text if load_scenario(beside) == wanted else ""
        return ""
    finally:
        beside.unlink(missing_ok=True)


def write_postures(
    scenario: Scenario, found: Mapping[str, tuple[float, ...]], place: Path
) -> bool:
    """Write a scenario file with other postures; return whether its comments were kept.

    They are where the scenario's own file lists the posture of every arm, and its text means the
    same in the new place. Otherwise all of the scenario is written out.

    Args:
        scenario: The scenario.
        found: Positions of each arm, by its name.
        place: The file, which may be the scenario's own if that lists the postures.

    Raises:
        OutputError: See `require_place`; or if the file cannot be written.
    """
    require_place(scenario, place)
    wanted = _with_joints(scenario, found)
    text = _edited(scenario, wanted, place) if _source(scenario).is_file() else ""
    with whole_file(place) as part:
        part.write_text(text or wanted.text(), encoding="utf-8")
    return bool(text)
