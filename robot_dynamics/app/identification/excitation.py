# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Motions of one free arm that make its links and friction observable.

The moves are those of a task; see `move_planner`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.app.identification.corrected_scenario import flow, write_corrected
from robot_dynamics.app.identification.identify import CUTOFF
from robot_dynamics.app.identification.move_planner import (
    EFFORT,
    HOME_SPEED,
    FreeWay,
    MovePlanner,
    missed,
    percent,
    require_wanted,
    without_thresholds,
)
from robot_dynamics.app.scenarios.cell import build_system
from robot_dynamics.app.scenarios.scenario import Scenario, load_scenario
from robot_dynamics.arrays import Array
from robot_dynamics.control.task.free_arms import JointMove
from robot_dynamics.errors import UnknownNameError
from robot_dynamics.identification.arm_links import ArmEquations
from robot_dynamics.identification.motion import Noise
from robot_dynamics.robot import Robot

_ROUND = 1.5  # rad or m: farthest a joint moves from where the task begins
_SPACING = 0.02  # s: between samples of a planned move
_AWAY = (20.0, 0.0, 0.0)  # m: place of an object that free arms do not reach


@dataclass(frozen=True)
class Excitation:
    """A planned motion of one arm.

    Attributes:
        scenario: The scenario of the cell.
        arm: Name of the arm.
        moves: End of each move (n,), and largest velocity as a share of the limits.
        duration: Time that the moves take, until the arm is back [s].
        names: Names of the identifiable combinations and of viscous and Coulomb friction.
        shares: Standard deviation of each that a recording is expected to leave, over that before
            it.
        wanted: Largest share that was wanted.
    """

    scenario: Scenario
    arm: str
    moves: tuple[tuple[Array, float], ...]
    duration: float
    names: tuple[str, ...]
    shares: Array
    wanted: float

    @property
    def lines(self) -> list[str]:
        """The result as text."""
        worst = np.argsort(self.shares)[::-1][:3]
        least = ", ".join(f"{self.names[i]} {percent(self.shares[i])}" for i in worst)
        count = f"{len(self.moves)} move{'s' * (len(self.moves) != 1)}"
        return [
            f"{self.scenario.name}: {count} of arm {self.arm!r} in {self.duration:.3g} s",
            f"  expected standard deviations: {percent(self.shares.max())} of those before "
            f"at most, {percent(float(np.median(self.shares)))} in the median",
            f"  least observable: {least}",
            *missed(self.shares, self.wanted),
        ]

    def write_scenario(self, place: str | Path, base: str | Path | None) -> Path:
        """Write a scenario whose task are the moves.

        Args:
            place: The scenario file.
            base: File or name of the scenario, which the new one extends; None to write all of
                it.
        """
        moves = [move_phase(self.arm, end, speed) for end, speed in self.moves]
        header = f"Motion of arm {self.arm!r} to be identified, by `robot_dynamics excite`."
        write_corrected(Path(place), base, self.scenario, as_task(self.scenario, moves), header)
        return Path(place)


def move_phase(arm: str, end: Array, speed: float) -> dict[str, Any]:
    """Return a move of a task.

    Args:
        arm: Name of the arm.
        end: Positions of its joints (n,) [rad or m].
        speed: Largest velocity as a share of the limits.
    """
    joints = {arm: np.round(end, 4).tolist()}
    return {"move": {"joints": joints, "velocity_fraction": round(speed, 4)}}


def as_task(scenario: Scenario, phases: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the changes of a scenario whose task are phases of free arms, and then home.

    Arms that hold the object from the start, because the scenario has a reference, are free at
    their postures instead; the object stands away from them, and there are no surfaces.

    Args:
        scenario: The scenario; its thresholds of an object are left out.
        phases: The phases.
    """
    changes: dict[str, Any] = {}
    if not scenario.task:
        for i, arm in enumerate(scenario.cell.arms):
            changes[f"cell.arms.{i}.home"] = list(arm.posture)
        place = {"xyz": list(_AWAY), "rpy": [0.0, 0.0, 0.0]}
        support = {"name": "away", "kind": "plane", **place, "part": {"kind": "face"}}
        changes |= {f"cell.object.{key}": value for key, value in place.items()}
        changes |= {"cell.surfaces": [support], "cell.coordinates": [], "control.law": "hybrid"}
        changes |= {f"reference.{key}": [] for key in ("segments", "force", "touches", "fold")}
        changes["reference.time_law"] = "quintic"
    changes["task"] = [*phases, {"move": {"to": "home"}}]
    return {**changes, **without_thresholds(scenario)}


def excite(
    scenario: Scenario | str | Path,
    arm: str,
    *,
    share: float = 0.1,
    longest_s: float = 60.0,
    noise: Noise | None = None,
    armature: bool = True,
    seed: int = 0,
) -> Excitation:
    """Plan a motion of one arm that makes its links and friction observable.

    The motion ends when the standard deviations of all identifiable combinations, and of viscous
    and Coulomb friction, are a share of those before, or with the first move that exceeds the
    longest duration.

    Args:
        scenario: The scenario of the cell, see `with_free_arms`.
        arm: Name of the arm.
        share: Wanted standard deviations, over those before.
        longest_s: Duration after which no move is added [s].
        noise: Standard deviations of the samples.
        armature: Whether the inertia of rotors is identified too.
        seed: Of the candidates.

    Raises:
        ArgumentError: If no move is possible.
        UnknownNameError: If there is no such arm.
    """
    scenario = load_scenario(scenario)
    require_wanted(share, longest_s)
    planner = _ArmPlanner(scenario, arm, noise or Noise(), seed, armature=armature)
    planner.add_moves(share, longest_s)
    return planner.result(share)


def with_free_arms(scenario: Scenario) -> Scenario:
    """Return a scenario whose arms are free at home: itself if it has a task, see `as_task`."""
    if scenario.task:
        return scenario
    return scenario.changed(f"{key}={flow(one)}" for key, one in as_task(scenario, []).items())


class _ArmPlanner(MovePlanner):
    """Adds moves of one arm, by the positions of its joints at their ends."""

    def __init__(
        self, scenario: Scenario, arm: str, noise: Noise, seed: int, *, armature: bool
    ) -> None:
        self._scenario, self._arm = scenario, arm
        scenario = with_free_arms(scenario)
        system = build_system(scenario)
        names = [one.name for one in system.arms]
        if arm not in names:
            raise UnknownNameError("arm", arm, names)
        self._own = system.arm_slices[names.index(arm)]
        robot = Robot(system.arms_alone)
        joints = system.arms[names.index(arm)].joints
        self._equations = ArmEquations(robot, joints, noise, CUTOFF, armature=armature)
        self._free = FreeWay(scenario, system)
        limits, safety = system.limits, scenario.safety
        self._all = scenario.home
        self._home = self._q = self._all[self._own]
        margin = safety.position_margin
        nuisance = ("low-speed", "torque offset")
        super().__init__(
            self._scenario.name,
            f"arm {arm!r}",
            np.maximum(limits["lower"][self._own] + margin, self._home - _ROUND),
            np.minimum(limits["upper"][self._own] - margin, self._home + _ROUND),
            safety.velocity_fraction,
            self._equations.deviations_before(),
            [not name.startswith(nuisance) for name in self._equations.names],
            seed,
        )
        self._velocity = limits["velocity"][self._own]
        self._effort = EFFORT * safety.effort_fraction * limits["effort"][self._own]
        self._v = np.array(
            [robot.model.v_slices[robot.model.joint_index(name)].start for name in joints]
        )
        self._nv = robot.model.nv
        self._passed = 0.0
        self._moves: list[tuple[Array, float]] = []

    @property
    def duration(self) -> float:
        """See `MovePlanner`."""
        return self._passed + self._path(self._home, HOME_SPEED).duration

    def result(self, wanted: float) -> Excitation:
        """Return the motion, of which some shares were wanted."""
        names = tuple(self._equations.names[i] for i in np.flatnonzero(self.wanted))
        return Excitation(
            self._scenario,
            self._arm,
            tuple(self._moves),
            self.duration,
            names,
            self.shares,
            wanted,
        )

    def _path(self, end: Array, speed: float) -> JointMove:
        return JointMove(self._q, end, speed * self._velocity)

    def _told(self, end: Array, speed: float) -> tuple[Array, float] | None:
        """See `MovePlanner`."""
        path, period = self._path(end, speed), self._scenario.control.period
        count = max(round(path.duration / _SPACING), 8)
        times = (np.arange(count) + 0.5) * path.duration / count
        states = np.zeros((3, count, self._nv))
        rows = [path.at(float(time)) for time in times]
        for every, values in zip(states, zip(*rows, strict=True), strict=True):
            every[:, self._v] = values
        information, tau = self._equations.information(states[0], states[1], states[2], period)
        if (np.abs(tau) > self._effort).any():
            return None
        return information * (path.duration / count / period), path.duration

    def _possible(self, end: Array, speed: float) -> bool:
        """See `MovePlanner`: the way to an end, and home from there, is free."""
        ways = [(self._q, end), (end, self._home)]
        return all(self._free(self._on_line(*way)) for way in ways)

    def _take(self, end: Array, speed: float, told: Array) -> None:
        """See `MovePlanner`."""
        self.known = self.known + told
        self._passed += self._path(end, speed).duration
        self._moves.append((end, speed))
        self._q = end

    def _on_line(self, start: Array, end: Array) -> Array:
        """Return positions of all arm joints (N, na) on a straight line of this arm's."""
        count = max(2, round(float(np.abs(end - start).max()) / 0.03))
        found = np.tile(self._all, (count, 1))
        found[:, self._own] = np.linspace(start, end, count)
        return found
