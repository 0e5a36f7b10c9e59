# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Motions of one free arm that make its links and friction observable.

A motion is a list of moves from rest to rest, as a task has them. Each is the one of many that
adds most information a second, the logarithm of its determinant (D-optimal), within the limits of
positions, velocities and torques and without collisions; its end and speed are then optimised.
Moves are added until the standard deviations are as wanted.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize

from robot_dynamics.app.identification.corrected_scenario import flow, write_corrected
from robot_dynamics.app.scenarios.cell import build_system
from robot_dynamics.app.scenarios.clearances import Clearances
from robot_dynamics.app.scenarios.laws import box_around_object
from robot_dynamics.app.scenarios.scenario import Scenario, load_scenario
from robot_dynamics.arrays import Array
from robot_dynamics.control.link_distance import Proximity
from robot_dynamics.control.task.free_arms import JointMove
from robot_dynamics.errors import ArgumentError, UnknownNameError
from robot_dynamics.identification.arm_links import ArmEquations
from robot_dynamics.identification.motion import Noise
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.robot import Robot

#: Cut-off frequency of the fit, as in `identify` [Hz].
_CUTOFF = 5.0
_CANDIDATES = 24  # moves of which the best is taken
_SLOWEST, _EFFORT = 0.1, 0.8  # shares of the velocity limits, and of the allowed torque
_ROUND = 1.5  # rad or m: farthest a joint moves from where the task begins
_SPACING = 0.02  # s: between samples of a planned move
_POLISH = 40  # evaluations of the optimiser
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
        least = ", ".join(f"{self.names[i]} {_percent(self.shares[i])}" for i in worst)
        count = f"{len(self.moves)} move{'s' * (len(self.moves) != 1)}"
        lines = [
            f"{self.scenario.name}: {count} of arm {self.arm!r} in {self.duration:.3g} s",
            f"  expected standard deviations: {_percent(self.shares.max())} of those before "
            f"at most, {_percent(float(np.median(self.shares)))} in the median",
            f"  least observable: {least}",
        ]
        missed = int(np.sum(self.shares > self.wanted))
        if missed:
            lines.append(
                f"  longest duration reached: {missed} of {len(self.shares)} standard deviations "
                f"are above the wanted {_percent(self.wanted)} of those before"
            )
        return lines

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
    for engine in ("engine", "mujoco"):
        given = vars(getattr(scenario.acceptance, engine))
        kept = ("torque_fraction_of_limit_max",)
        for key, value in given.items():
            if value is not None and key not in kept:
                changes[f"acceptance.{engine}.{key}"] = None
    return changes


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
    if not 0.0 < share < 1.0:
        raise ArgumentError(f"share is {share!r}; expected a number between 0 and 1.")
    if not 0.0 < longest_s < float("inf"):
        raise ArgumentError(f"longest_s is {longest_s!r}; expected a positive number.")
    planner = _Planner(scenario, arm, noise or Noise(), seed, armature=armature)
    while planner.shares.max() > share and planner.duration < longest_s:
        planner.add_move()
    return planner.result(share)


def with_free_arms(scenario: Scenario) -> Scenario:
    """Return a scenario whose arms are free at home: itself if it has a task, see `as_task`."""
    if scenario.task:
        return scenario
    return scenario.changed(f"{key}={flow(one)}" for key, one in as_task(scenario, []).items())


def _percent(share: float) -> str:
    """Return a share in percent, with two digits and without an exponent."""
    value = 100.0 * share
    return f"{value:.0f} %" if value >= 10.0 else f"{value:.2g} %"


class _Planner:
    """Adds moves to a motion.

    Attributes:
        duration: Duration so far, with the way home [s].
    """

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
        self._equations = ArmEquations(robot, joints, noise, _CUTOFF, armature=armature)
        self._free = FreeWay(scenario, system)
        limits, safety = system.limits, scenario.safety
        margin = safety.position_margin
        home = scenario.home
        self._home, self._q = home[self._own], home[self._own]
        self._lower = np.maximum(limits["lower"][self._own] + margin, self._home - _ROUND)
        self._upper = np.minimum(limits["upper"][self._own] - margin, self._home + _ROUND)
        self._velocity = limits["velocity"][self._own]
        self._fastest = safety.velocity_fraction
        self._effort = _EFFORT * safety.effort_fraction * limits["effort"][self._own]
        self._rng = np.random.default_rng(seed)
        self._before = self._equations.deviations_before()
        self._known = np.diag(1.0 / self._before**2)
        self._moves: list[tuple[Array, float]] = []
        self._all = home
        self._v = np.array(
            [robot.model.v_slices[robot.model.joint_index(name)].start for name in joints]
        )
        self._nv = robot.model.nv
        self._passed = 0.0

    @property
    def duration(self) -> float:
        """Duration so far, with the way home [s]."""
        return self._passed + self._path(self._home, 0.3).duration

    @property
    def _wanted(self) -> Array:
        """Indices of the unknowns that are wanted: all but low-speed friction and offsets."""
        names = self._equations.names
        nuisance = ("low-speed friction", "torque offset")
        return np.array([i for i, name in enumerate(names) if not name.startswith(nuisance)])

    @property
    def shares(self) -> Array:
        """Expected standard deviations of the wanted unknowns, over those before."""
        scaled = self._known * np.outer(self._before, self._before)
        deviations = np.sqrt(np.diag(np.linalg.inv(scaled)))
        return np.asarray(deviations[self._wanted])

    def result(self, wanted: float) -> Excitation:
        """Return the motion, of which some shares were wanted."""
        names = tuple(self._equations.names[i] for i in self._wanted)
        return Excitation(
            self._scenario,
            self._arm,
            tuple(self._moves),
            self.duration,
            names,
            self.shares,
            wanted,
        )

    def add_move(self) -> None:
        """Add the best of some moves.

        Raises:
            ArgumentError: If none is possible.
        """
        n = len(self._home)
        found = []
        for _ in range(_CANDIDATES):
            end = self._rng.uniform(self._lower, self._upper)
            speed = float(self._rng.uniform(_SLOWEST, self._fastest))
            found.append((self._gain(end, speed), end, speed))
        found.sort(key=lambda one: -one[0])
        for gain, end, speed in found:
            if not gain > 0.0 or not self._possible(end):
                continue
            size = np.append(0.2 * (self._upper - self._lower), 0.2)
            origin = np.append(end, speed)

            def loss(x: Array, origin: Array = origin, size: Array = size) -> float:
                z = origin + size * x
                return -self._gain(z[:n], float(z[n]))

            simplex = np.vstack([np.zeros(n + 1), np.eye(n + 1)])
            options = {"maxfev": _POLISH, "initial_simplex": simplex}
            z = (
                origin
                + size * minimize(loss, np.zeros(n + 1), method="Nelder-Mead", options=options).x
            )
            if self._possible(z[:n]):
                end, speed = z[:n], float(z[n])
            self._take(end, speed)
            return
        raise ArgumentError(
            f"{self._scenario.name}: none of {_CANDIDATES} moves of arm {self._arm!r} is free of "
            "collisions and within the limits; expected more room around `home`."
        )

    def _take(self, end: Array, speed: float) -> None:
        self._known = self._known + self._told(end, speed)[0]
        self._passed += self._path(end, speed).duration
        self._moves.append((end, speed))
        self._q = end

    def _path(self, end: Array, speed: float) -> JointMove:
        return JointMove(self._q, end, speed * self._velocity)

    def _told(self, end: Array, speed: float) -> tuple[Array, Array]:
        """Return the information of a move, and its torques (N, n)."""
        path, period = self._path(end, speed), self._scenario.control.period
        count = max(round(path.duration / _SPACING), 8)
        times = (np.arange(count) + 0.5) * path.duration / count
        states = np.zeros((3, count, self._nv))
        rows = [path.at(float(time)) for time in times]
        for every, values in zip(states, zip(*rows, strict=True), strict=True):
            every[:, self._v] = values
        information, tau = self._equations.information(states[0], states[1], states[2], period)
        return information * (path.duration / count / period), tau

    def _gain(self, end: Array, speed: float) -> float:
        """Return the growth of the information's logarithm a second; -inf if not allowed."""
        inside = (end >= self._lower).all() and (end <= self._upper).all()
        if not (inside and _SLOWEST <= speed <= self._fastest):
            return -np.inf
        told, tau = self._told(end, speed)
        if (np.abs(tau) > self._effort).any():
            return -np.inf
        scale = np.outer(self._before, self._before)
        before = np.linalg.slogdet(self._known * scale)[1]
        after = np.linalg.slogdet((self._known + told) * scale)[1]
        return float(after - before) / self._path(end, speed).duration

    def _possible(self, end: Array) -> bool:
        """Return whether the way to an end, and home from there, is free."""
        ways = [(self._q, end), (end, self._home)]
        return all(self._free(self._on_line(*way)) for way in ways)

    def _on_line(self, start: Array, end: Array) -> Array:
        """Return positions of all arm joints (N, na) on a straight line of this arm's."""
        count = max(2, round(float(np.abs(end - start).max()) / 0.03))
        found = np.tile(self._all, (count, 1))
        found[:, self._own] = np.linspace(start, end, count)
        return found


class FreeWay:
    """Tells whether a way of free arms is free of collisions.

    Args:
        scenario: A scenario with a task, as `with_free_arms` returns it.
        system: Its arms and object.
    """

    def __init__(self, scenario: Scenario, system: GraspSystem) -> None:
        self._pose, self._home = scenario.object_pose, scenario.home
        self._clearances = Clearances(scenario, system)
        self._proximity = Proximity(system, scenario.safety, box_around_object(scenario))

    def __call__(self, q: Array) -> bool:
        """Return whether positions of the arm joints (N, na) come too close to nothing."""
        q = np.vstack([self._home, q])  # pairs that are close at home do not count
        poses = np.tile(self._pose, (len(q), 1))
        if self._proximity.first_too_close(q, poses) is not None:
            return False
        return self._clearances.first_too_close(q, poses, ["move"] * len(q)) is None
