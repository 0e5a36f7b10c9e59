# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Motions of an object that arms hold, which make its mass, centre and inertia observable.

The moves are segments of a reference, or of the first `carry` of a task; see `move_planner`. The
arms' motion follows from the hybrid law, and each move must pass its check of the path.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import yaml

from robot_dynamics.app.identification.corrected_scenario import write_corrected
from robot_dynamics.app.identification.identify import CUTOFF
from robot_dynamics.app.identification.inputs import Source
from robot_dynamics.app.identification.move_planner import (
    EFFORT,
    HOME_SPEED,
    FreeWay,
    MovePlanner,
    missed,
    require_wanted,
    without_thresholds,
)
from robot_dynamics.app.scenarios.cell import build_system, pose_matrix, surface_rows
from robot_dynamics.app.scenarios.laws import hybrid_law
from robot_dynamics.app.scenarios.scenario import Scenario, load_scenario
from robot_dynamics.app.scenarios.task import carried_object
from robot_dynamics.arrays import Array
from robot_dynamics.control.hybrid_reference import HybridReference, plan_hybrid_reference
from robot_dynamics.control.path_check import SPACING_S, PreflightError
from robot_dynamics.control.reference import POSE
from robot_dynamics.control.rollout import Rollout, rollout
from robot_dynamics.control.rotation_path import (
    axis_and_angle,
    conjugate,
    product,
    turn,
)
from robot_dynamics.control.settings import ReferenceSettings, SegmentSettings, TurnSettings
from robot_dynamics.dynamics.regressor import PER_BODY
from robot_dynamics.errors import ArgumentError, UnknownNameError
from robot_dynamics.identification.held_object import HeldObject
from robot_dynamics.identification.motion import ArmKinematics, Noise, RecordedMotion
from robot_dynamics.identification.payload import deviations_about_center
from robot_dynamics.identification.signals import Filters
from robot_dynamics.manipulation.assembly import closed_configuration
from robot_dynamics.robot.bound_model import quick_constraint_terms

_MOVE, _TURN = 0.2, 0.8  # m, rad: farthest from where the motion begins
_NEAREST = 0.2  # of these, of candidates that are near
_INSTANTS = 15  # at which the speed of a move is found
_SHORTEST_S = 0.5  # of a move, which the low-pass passes
_LONGEST_S = 10.0  # of a move: slower ones pass close to a singularity, where joints are fast
_EASILY = 1e-4  # m, rad: less is no move


@dataclass(frozen=True)
class PayloadExcitation:
    """A planned motion of the object that arms hold.

    Attributes:
        scenario: The scenario of the cell.
        use: Measurements that are expected.
        segments: The motion, which ends where it begins.
        carry: Index of the phase of the task that begins with it; None without a task.
        deviations: Standard deviations that a recording is expected to leave: of mass, centre (3)
            and inertia about it (6) [kg, m, kg m^2].
        shares: The same of the parameters of the object in its frame (10,), over those before.
        wanted: Largest share that was wanted.
    """

    scenario: Scenario
    use: Source
    segments: tuple[SegmentSettings, ...]
    carry: int | None
    deviations: Array
    shares: Array
    wanted: float

    @property
    def duration(self) -> float:
        """Duration of the motion [s]."""
        return sum(one.duration_s for one in self.segments)

    @property
    def lines(self) -> list[str]:
        """The result as text."""
        used = {"both": "torques and wrist sensors", "wrenches": "wrist sensors"}
        centre = ", ".join(f"{1e3 * one:.2g}" for one in self.deviations[1:4])
        return [
            f"{self.scenario.name}: {len(self.segments)} moves of the object in "
            f"{self.duration:.3g} s",
            f"  expected standard deviations by {used.get(self.use, 'torques')}: mass "
            f"{self.deviations[0]:.2g} kg, centre {centre} mm, inertia at most "
            f"{self.deviations[4:].max():.2g} kg m^2",
            *missed(self.shares, self.wanted),
        ]

    def write_scenario(self, place: str | Path, base: str | Path | None) -> Path:
        """Write a scenario whose reference is the motion, or whose `carry` begins with it.

        Args:
            place: The scenario file.
            base: File or name of the scenario, which the new one extends; None to write all of
                it.
        """
        entries = [_entry(one) for one in self.segments]
        changes: dict[str, Any] = {"reference.segments": entries}
        if self.carry is not None:
            phase = yaml.safe_load(self.scenario.text())["task"][self.carry]
            changes = {f"task.{self.carry}.carry.segments": entries + phase["carry"]["segments"]}
        elif self.scenario.reference.force:
            changes["reference.force"] = []
        header = "Motion of the object to be identified, by `robot_dynamics excite`."
        changes |= without_thresholds(self.scenario)
        write_corrected(Path(place), base, self.scenario, changes, header)
        return Path(place)


def _entry(segment: SegmentSettings) -> dict[str, Any]:
    assert segment.move is not None
    assert segment.rotate is not None
    rotate = {"axis": list(segment.rotate.axis), "degrees": segment.rotate.degrees}
    return {"duration_s": segment.duration_s, "move": list(segment.move), "rotate": rotate}


def excite_payload(
    scenario: Scenario | str | Path,
    *,
    use: Source = "both",
    share: float = 0.1,
    longest_s: float = 60.0,
    noise: Noise | None = None,
    seed: int = 0,
) -> PayloadExcitation:
    """Plan a motion of the held object that makes its mass, centre and inertia observable.

    The motion ends when the standard deviations of the ten parameters are a share of those before:
    of the described mass, of this mass times the object's size, and times its square. Otherwise
    it ends with the first move that exceeds the longest duration.

    Args:
        scenario: The scenario of the cell, whose arms hold one object rigidly.
        use: Measurements of the recording: torques, wrenches of wrist sensors, or both.
        share: Wanted standard deviations, over those before.
        longest_s: Duration after which no move is added [s].
        noise: Standard deviations of the samples.
        seed: Of the candidates.

    Raises:
        ArgumentError: If the arms do not hold an object rigidly and in the air, or no move is
            possible.
    """
    if use not in get_args(Source):
        raise UnknownNameError("use", use, get_args(Source))
    require_wanted(share, longest_s)
    scenario = load_scenario(scenario)
    if not scenario.task:
        _require_held(scenario)
    planner = _PayloadPlanner(scenario, use, noise or Noise(), seed)
    planner.add_moves(share, longest_s)
    return planner.result(share)


def _require_held(scenario: Scenario) -> None:
    """Refuse references of arms that do not hold one object rigidly and in the air."""
    expected = "expected arms that hold one object rigidly from the start, by a reference"
    cell = scenario.cell
    if not scenario.control.law_facts.holds_object:
        found = f"has the law {scenario.control.base_law!r}, which holds no object"
    elif cell.surfaces:
        found = f"has the surface {cell.surfaces[0].name!r}"
    elif cell.object.joint is not None:
        found = "has an object with a joint"
    else:
        loose = [arm for arm in cell.arms if arm.contact.kind != "rigid"]
        if not loose:
            return
        found = f"has arm {loose[0].name!r} hold it by a {loose[0].contact.kind} contact"
    raise ArgumentError(f"{scenario.name} {found}; {expected}.")


class _PayloadPlanner(MovePlanner):
    """Adds moves of the object, by displacement [m] and rotation vector [rad] from its start."""

    def __init__(self, scenario: Scenario, use: Source, noise: Noise, seed: int) -> None:
        self._scenario, self._use = scenario, use
        system = build_system(scenario)
        self._system, self._terms = system, quick_constraint_terms(system.model)
        self._free = FreeWay(scenario, system)
        self._carry: int | None = None
        self._reference = ReferenceSettings(time_law=scenario.reference.time_law)
        self._rows: Mapping[str, slice] = {}
        if scenario.task:
            self._carry, scenario = carried_object(scenario, system)
            self._reference, self._rows = scenario.reference, surface_rows(scenario.cell)
        effort = EFFORT * scenario.safety.effort_fraction
        weaker = scenario.changed([f"safety.effort_fraction={effort}"])
        # Arms of other laws follow the same path; theirs take longer to check it.
        self._law = hybrid_law(weaker, system, held_by_squeeze=self._carry is not None)
        # Samples of the plan are further apart than those of a recording.
        fewer = np.sqrt(scenario.control.period / SPACING_S)
        scaled = replace(
            noise,
            position=noise.position * fewer,
            torque=noise.torque * fewer,
            torque_fraction=noise.torque_fraction * fewer,
            force=noise.force * fewer,
            moment=noise.moment * fewer,
        )
        grasps = [pose_matrix(arm.grasp) for arm in scenario.cell.arms]
        self._equations = HeldObject(ArmKinematics(system), grasps, scaled, CUTOFF)
        filters = Filters(SPACING_S, CUTOFF)
        self._rest = len(filters.lowpass) // 2 + len(filters.derivative(2)) // 2
        before = self._equations.deviations_before()
        size = np.array([_MOVE] * 3 + [_TURN] * 3)
        super().__init__(
            scenario.name,
            "the object",
            -size,
            size,
            scenario.safety.velocity_fraction,
            before,
            [i < PER_BODY for i in range(len(before))],
            seed,
        )
        self._pose = self._start = scenario.object_pose
        self._q = self._home = closed_configuration(system, self._start, terms=self._terms)[
            system.q_index
        ]
        self._segments: list[SegmentSettings] = []
        self._whole: tuple[list[SegmentSettings], Rollout | None] = [], None

    @property
    def duration(self) -> float:
        """See `MovePlanner`."""
        return float(sum(one.duration_s for one in self._whole[0]))

    def result(self, wanted: float) -> PayloadExcitation:
        """Return the motion, of which some shares were wanted."""
        covariance = np.linalg.inv(self._scaled(self.known)) * np.outer(self._before, self._before)
        deviations = deviations_about_center(
            self._equations.prior, covariance[:PER_BODY, :PER_BODY]
        )
        return PayloadExcitation(
            self._scenario,
            self._use,
            tuple(self._whole[0]),
            self._carry,
            deviations,
            self.shares,
            wanted,
        )

    def _candidate(self) -> tuple[Array, float]:
        """See `MovePlanner`: the nearer ones are within the limits more often."""
        end, speed = super()._candidate()
        return self._rng.uniform(_NEAREST, 1.0) * end, speed

    def _content(self, known: Array) -> float:
        """See `MovePlanner`: of the object's parameters, whatever friction and biases are."""
        rest = self._scaled(known)[PER_BODY:, PER_BODY:]
        return super()._content(known) - float(np.linalg.slogdet(rest)[1])

    def _told(self, end: Array, speed: float) -> tuple[Array, float] | None:
        """See `MovePlanner`."""
        segment = self._segment(self._pose, self._q, end, speed)
        try:
            motion = self._rolled_out([segment], self._pose, self._q) if segment else None
        except PreflightError:
            motion = None
        if segment is None or motion is None:
            return None
        return self._information(motion), segment.duration_s

    def _possible(self, end: Array, speed: float) -> bool:
        """See `MovePlanner`: the motion from its start to its end passes the check of the path."""
        return self._with_move(end, speed) is not None

    def _take(self, end: Array, speed: float, told: Array) -> None:
        """See `MovePlanner`; the information is that of the whole motion."""
        found = self._with_move(end, speed)
        assert found is not None
        self._whole = found
        segments, motion = found
        self._segments = segments[: len(self._segments) + 1]
        until = sum(one.duration_s for one in self._segments)
        self._q = motion.q[int(np.argmin(np.abs(motion.times - until)))]
        self._pose = self._planned(self._segments, self._start).rows([until])[0, POSE]
        self.known = np.diag(1.0 / self._before**2) + self._information(motion)

    def _with_move(self, end: Array, speed: float) -> tuple[list[SegmentSettings], Rollout] | None:
        """Return the whole motion with one more move, and home; None if it is not possible."""
        segment = self._segment(self._pose, self._q, end, speed)
        if segment is None:
            return None
        segments = [*self._segments, segment]
        try:
            out = self._rolled_out(segments, self._start, self._home)
            pose = self._planned(segments, self._start).rows([1e9])[0, POSE]
            home = self._segment(pose, out.q[-1], np.zeros(6), HOME_SPEED)
            if home is not None:
                segments.append(home)
                out = self._rolled_out(segments, self._start, self._home)
        except PreflightError:
            return None
        poses = self._planned(segments, self._start).rows(out.times)[:, POSE]
        phases = () if self._carry is None else ["carry"] * len(poses)
        return (segments, out) if self._free.with_object(out.q, poses, phases) else None

    def _planned(self, segments: list[SegmentSettings], pose: Array) -> HybridReference:
        """Return the plan of segments that begin at a pose (7,)."""
        return plan_hybrid_reference(
            replace(self._reference, segments=tuple(segments)),
            pose,
            self._law.distribution.names,
            self._rows,
            held_by_squeeze=self._carry is not None,
        )

    def _rolled_out(self, segments: list[SegmentSettings], pose: Array, q: Array) -> Rollout:
        """Return the arms' motion along segments from a pose (7,), with the arms at `q` (na,).

        Raises:
            PreflightError: If the arms cannot follow.
        """
        self._law.begin_with(self._planned(segments, pose))
        try:
            return self._law.checked_path(q, self._terms).rollout
        except PreflightError as error:
            self._problems[error.problems[0].sentence] += 1
            raise

    def _segment(self, pose: Array, q: Array, end: Array, speed: float) -> SegmentSettings | None:
        """Return a move from a pose (7,) to coordinates (6,), with the arms at `q` (na,).

        The result is None if the arms do not reach the end in time, or it is at the pose.
        """
        move = np.round(self._start[:3] + end[:3] - pose[:3], 4)
        angle = float(np.linalg.norm(end[3:]))
        axis = end[3:] / angle if angle > 0.0 else np.array([1.0, 0.0, 0.0])
        goal = product(turn(axis, np.array(angle)), self._start[3:])
        axis, angle = axis_and_angle(product(goal, conjugate(pose[3:])))
        if max(np.abs(move).max(), angle) < _EASILY:
            return None
        degrees = round(float(np.degrees(angle)), 2)
        rotate = TurnSettings(tuple(np.round(axis, 4).tolist()), degrees)
        segment = SegmentSettings(1.0, move=tuple(move.tolist()), rotate=rotate)
        plan, times = self._planned([segment], pose), np.linspace(0.0, 1.0, _INSTANTS)
        contacts, law = self._law.grasp.contacts, self._law.unlimited(q)
        coarse = rollout(self._system, self._terms, law, [plan.rows(times)], times, q, contacts)
        if coarse.failed_at is not None:
            return None
        share = float(np.max(np.abs(coarse.qd) / self._system.limits["velocity"]))
        duration = max(round(share / speed, 2), _SHORTEST_S)
        return replace(segment, duration_s=duration) if duration <= _LONGEST_S else None

    def _information(self, motion: Rollout) -> Array:
        """Return the information (u, u) of a motion that begins and ends at rest."""
        q, torque = (
            np.pad(one, ((self._rest, self._rest), (0, 0)), mode="edge")
            for one in (motion.q, motion.torque)
        )
        wrenches = np.zeros((len(q), len(self._system.arms), 6))
        return self._equations.information(
            RecordedMotion(
                float(motion.times[1] - motion.times[0]),
                q,
                None if self._use == "wrenches" else torque,
                None if self._use == "torques" else wrenches,
            )
        )
