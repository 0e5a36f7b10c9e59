# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Environments of Gymnasium over cells of a scenario, for learning.

    from robot_dynamics.app.batches.learning import CellVectorEnv

    envs = CellVectorEnv("lift_box", 1000, reward=reward, action="reference")
    seen, info = envs.reset(seed=0)
    seen, rewards, terminations, truncations, info = envs.step(actions)

They need the extra `learn`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.app.batches.batch_simulation import BatchObservation, BatchSimulation
from robot_dynamics.app.recordings.metrics import squeezes
from robot_dynamics.app.scenarios.scenario import Scenario
from robot_dynamics.arrays import Array, Mask
from robot_dynamics.control.reference import ACCELERATION, POSE, TWIST
from robot_dynamics.errors import ArgumentError, RobotDynamicsError, UnknownNameError

try:
    import gymnasium
    from gymnasium.spaces import Box, Dict, Space
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space
except ModuleNotFoundError as error:
    raise RobotDynamicsError(
        "environments for learning need Gymnasium: pip install 'robot_dynamics[learn]'."
    ) from error


_PACE_RATE = 5.0  # by which the pace along the path may change in a second
_OPTIONS = ("reset_mask", "parameters")  # of `reset`
_FORCE_S = 0.2  # time in which the squeeze changes over the whole of its range


class Transition(NamedTuple):
    """One step of the environments; rows are cells.

    Attributes:
        before: Observation before the step.
        after: Observation after the step.
        action: Actions (N, any).
        ended: Cells that the safety layer stopped, or whose motion had no bound (N,).
        progress: Completed share of the scenario's path (N,); 0 for torque actions.
    """

    before: BatchObservation
    after: BatchObservation
    action: Array
    ended: Mask
    progress: Array


#: One number for each cell.
Reward = Callable[[Transition], ArrayLike]
#: Parameters of n cells, drawn anew.
Drawn = Callable[[np.random.Generator, int], Mapping[str, ArrayLike]]


class CellVectorEnv(VectorEnv[Any, Any, Any]):  # type: ignore[misc]
    """N cells of a scenario as a vector environment.

    Observations are a dictionary: measured `q`, `qd` (na,) and `wrenches` (k, 6), the true
    `object_pose` (7,) and `object_twist` (6,); with references the `progress` along the path and
    the desired `squeeze` (2,).

    Actions are torques (na,) [N m or N], which replace the scenario's law; or references for it
    (2,): the pace along the scenario's path, 1 as planned, and the squeeze [N]. Pace and squeeze
    change at bounded rates, so that motion and force stay smooth; the path waits until control has
    ramped in.

    A cell is terminated when `done` returns true or when it ends (see `BatchSimulation`), and
    truncated after `episode_s`. `info` has the `time` of each cell and the `cause` of ended cells.

    Attributes:
        batch: The cells.

    Args:
        scenario: A scenario, a file, or the name of a shipped one.
        num_envs: N.
        reward: From a `Transition` to rewards (N,).
        done: From a `Transition` to a mask of completed cells (N,); by default those at the end of
            the path.
        action: "torque" or "reference".
        parameters: Parameters of the cells; see `BatchSimulation`. Or a function of a random
            generator and a number n that returns the parameters of n cells; it is called for the
            cells in which an episode begins.
        overrides: Changes of single values in all cells.
        episode_s: Simulated time of an episode [s].
        periods: Control periods of a step.
        largest_pace: Largest pace of actions.
        largest_squeeze: Largest squeeze of actions [N].
        autoreset_mode: Reset of cells whose episode is over: in the next step, in which their
            action has no effect (Gymnasium's default), in the same step, with `final_obs` in
            `info`, or by the caller with `reset(options={"reset_mask": mask})`.
        threads: See `BatchSimulation`.

    Raises:
        RobotDynamicsError: If the scenario is refused, or one cell cannot start.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - declared so by Gymnasium
        "autoreset_mode": AutoresetMode.NEXT_STEP,
        "render_modes": [],
    }

    def __init__(
        self,
        scenario: Scenario | str | Path,
        num_envs: int,
        *,
        reward: Reward,
        done: Callable[[Transition], ArrayLike] | None = None,
        action: Literal["torque", "reference"] = "torque",
        parameters: Mapping[str, ArrayLike] | Drawn | None = None,
        overrides: Iterable[str] = (),
        episode_s: float = 5.0,
        periods: int = 10,
        largest_pace: float = 2.0,
        largest_squeeze: float = 100.0,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        threads: int | None = None,
    ) -> None:
        if action not in ("torque", "reference"):
            raise ArgumentError(f"actions are {action!r}, expected 'torque' or 'reference'.")
        if not (episode_s > 0.0 and isinstance(periods, int) and periods >= 1):
            raise ArgumentError(
                f"episodes of {episode_s!r} s in steps of {periods!r} control periods, expected "
                "positive numbers, the second one whole."
            )
        self.num_envs = num_envs
        self._drawn = parameters if callable(parameters) else None
        if callable(parameters):
            parameters = parameters(np.random.default_rng(0), num_envs)
        self.batch = batch = BatchSimulation(
            scenario, num_envs, parameters, overrides=overrides, threads=threads
        )
        self._reward, self._done, self._periods = reward, done, periods
        self._episode_s = episode_s
        mode = AutoresetMode(autoreset_mode)
        self.metadata = {**self.metadata, "autoreset_mode": mode}
        self._mode = mode
        na, k = len(batch.joint_names), len(batch.arm_names)
        shapes: dict[str, tuple[int, ...]] = {
            "q": (na,), "qd": (na,), "wrenches": (k, 6), "object_pose": (7,), "object_twist": (6,),
        }  # fmt: skip
        self._path: _PacedPath | None = None
        if action == "reference":
            self._path = _PacedPath(batch, largest_squeeze)
            shapes |= {"progress": (1,), "squeeze": (1,)}
            low, high = np.zeros(2), np.array([largest_pace, largest_squeeze])
        else:
            high = np.minimum(batch.effort_limits, np.finfo(float).max)
            low = -high
        if batch.endings:
            cell, ending = next(iter(batch.endings.items()))
            raise RobotDynamicsError(f"cell {cell} cannot start: {ending.sentence}")
        self.single_action_space: Space[Any] = Box(low, high, dtype=np.float64)
        self.single_observation_space: Space[Any] = Dict(
            {name: Box(-np.inf, np.inf, shape, np.float64) for name, shape in shapes.items()}
        )
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self._over = np.zeros(num_envs, dtype=bool)
        self._seen = batch.observation

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[dict[str, Array], dict[str, Any]]:
        """Begin episodes; see `gymnasium.vector.VectorEnv.reset`.

        Args:
            seed: Of the sensors' noise: one number for all, or one for each cell.
            options: With `reset_mask` (N,) the cells that begin anew; all by default. With
                `parameters` new ones of these cells, see `BatchSimulation.reset`.

        Raises:
            ArgumentError: If the mask, the seeds or parameters have another shape.
            UnknownNameError: If there is no such option.
            RobotDynamicsError: If a cell cannot start with its parameters.
        """
        if seed is not None and not isinstance(seed, (int, np.integer)):
            if len(seed) != self.num_envs:
                raise ArgumentError(f"{len(seed)} seeds, expected {self.num_envs}.")
            given = [None if one is None else int(one) for one in seed]
        else:
            super().reset(seed=None if seed is None else int(seed))
            given = [None] * self.num_envs
        for name in options or {}:
            if name not in _OPTIONS:
                raise UnknownNameError("option", str(name), _OPTIONS)
        chosen = np.ones(self.num_envs, dtype=bool)
        if options and "reset_mask" in options:
            chosen = np.asarray(options["reset_mask"])
            if chosen.shape != (self.num_envs,) or chosen.dtype != bool:
                raise ArgumentError(
                    f"reset_mask of shape {chosen.shape}, expected booleans ({self.num_envs},)."
                )
        self._begin(chosen, given, (options or {}).get("parameters"))
        return self._observed(), {"time": self._seen.time.copy()}

    def step(
        self, actions: ArrayLike
    ) -> tuple[dict[str, Array], Array, Mask, Mask, dict[str, Any]]:
        """Take one step in all cells; see `gymnasium.vector.VectorEnv.step`.

        Args:
            actions: Action of each cell (N, any), clipped to the action space.

        Raises:
            ArgumentError: If actions, or results of `reward` or `done`, have another shape, or an
                episode is over that is not reset automatically.
        """
        space: Any = self.single_action_space
        given = np.asarray(actions, dtype=float)
        if given.shape != (self.num_envs, *space.shape):
            raise ArgumentError(
                f"actions of shape {given.shape}, expected {(self.num_envs, *space.shape)}."
            )
        given = np.clip(given, space.low, space.high)
        anew = np.zeros(self.num_envs, dtype=bool)
        if self._mode is AutoresetMode.NEXT_STEP and self._over.any():
            anew = self._over.copy()
            self._begin(anew, [None] * self.num_envs)
        elif self._over.any():
            raise ArgumentError("an episode is over; expected a reset of its cell before a step.")
        going, before = ~anew, self._seen
        if self._path is None:
            after = self.batch.step(given, cells=going, periods=self._periods)
        else:
            # NaN ends its cell alone, as in torques.
            invalid = ~np.isfinite(given).all(axis=1)
            rows = self._path.rows(
                np.where(invalid[:, None], 0.0, given), self._periods, before.time, going
            )
            rows[:, invalid] = np.nan
            after = self.batch.follow(rows, cells=going)
        self._seen = after
        ended = ~self.batch.active & going
        progress = np.zeros(self.num_envs) if self._path is None else self._path.progress
        happened = Transition(before, after, given, ended, progress.copy())
        rewards = np.where(going, self._of_cells("rewards", self._reward(happened)), 0.0)
        if not np.isfinite(rewards).all():
            cell = int(np.flatnonzero(~np.isfinite(rewards))[0])
            raise ArgumentError(
                f"the reward of cell {cell} is {rewards[cell]}, expected a finite number."
            )
        come = progress >= 1.0 if self._done is None else self._done(happened)
        terminated = (self._of_cells("ends", come).astype(bool) | ended) & going
        half = 0.5 * self.batch.period
        truncated = (after.time >= self._episode_s - half) & going & ~terminated
        self._over = terminated | truncated
        info: dict[str, Any] = {"time": after.time.copy()}
        if ended.any():
            info["cause"] = np.array([None] * self.num_envs, dtype=object)
            info["_cause"] = ended
            for cell in np.flatnonzero(ended).tolist():
                info["cause"][cell] = self.batch.endings[cell].cause
        if self._mode is AutoresetMode.SAME_STEP and self._over.any():
            last, which = self._observed(), self._over.copy()
            info["final_obs"] = {name: values.copy() for name, values in last.items()}
            info["_final_obs"] = which
            self._begin(which, [None] * self.num_envs)
        return self._observed(), rewards, terminated, truncated, info

    def _of_cells(self, name: str, values: ArrayLike) -> Array:
        """Return the result of a caller's function, one value for each cell (N,)."""
        given = np.asarray(values, dtype=float)
        if given.shape != (self.num_envs,):
            raise ArgumentError(f"{name} of shape {given.shape}, expected ({self.num_envs},).")
        return given

    def _begin(
        self,
        chosen: Mask,
        seeds: Sequence[int | None],
        parameters: Mapping[str, ArrayLike] | None = None,
    ) -> None:
        cells = np.flatnonzero(chosen)
        if parameters is None and self._drawn is not None and len(cells):
            parameters = self._drawn(self.np_random, len(cells))
        drawn = self.np_random.integers(2**31, size=len(cells)).tolist()
        own = [
            new if seeds[cell] is None else seeds[cell]
            for cell, new in zip(cells.tolist(), drawn, strict=True)
        ]
        self._seen = self.batch.reset(cells, [int(seed or 0) for seed in own], parameters)
        for cell in cells.tolist():
            if cell in self.batch.endings:
                why = self.batch.endings[cell].sentence
                raise RobotDynamicsError(f"cell {cell} cannot start: {why}")
        self._over[cells] = False
        if self._path is not None:
            self._path.begin(cells)

    def _observed(self) -> dict[str, Array]:
        seen = self._seen
        found = {
            name: getattr(seen, name).copy()
            for name in ("q", "qd", "wrenches", "object_pose", "object_twist")
        }
        if self._path is not None:
            found["progress"] = self._path.progress[:, None].copy()
            found["squeeze"] = self._path.squeeze[:, None].copy()
        return {name: found[name] for name in self._names}

    @property
    def _names(self) -> list[str]:
        space: Any = self.single_observation_space
        return list(space.spaces)


class CellEnv(gymnasium.Env[Any, Any]):  # type: ignore[misc]
    """One cell of a scenario as an environment; see `CellVectorEnv`, whose arguments it takes.

    Rewards, `done` and parameters have one row.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - declared so by Gymnasium

    def __init__(self, scenario: Scenario | str | Path, **arguments: Any) -> None:
        arguments["autoreset_mode"] = AutoresetMode.DISABLED
        self._one = CellVectorEnv(scenario, 1, threads=1, **arguments)
        self.batch = self._one.batch
        self.action_space = self._one.single_action_space
        self.observation_space = self._one.single_observation_space

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Array], dict[str, Any]]:
        """Begin an episode; see `gymnasium.Env.reset`; options are as in `CellVectorEnv`."""
        super().reset(seed=seed)
        found, info = self._one.reset(seed=[int(self.np_random.integers(2**31))], options=options)
        return {name: values[0] for name, values in found.items()}, _first(info)

    def step(
        self, action: ArrayLike
    ) -> tuple[dict[str, Array], float, bool, bool, dict[str, Any]]:
        """Take one step; see `gymnasium.Env.step`."""
        found, reward, terminated, truncated, info = self._one.step(np.asarray(action)[None])
        seen = {name: values[0] for name, values in found.items()}
        return seen, float(reward[0]), bool(terminated[0]), bool(truncated[0]), _first(info)


def _first(info: Mapping[str, Any]) -> dict[str, Any]:
    return {name: values[0] for name, values in info.items() if not name.startswith("_")}


class _PacedPath:
    """Rows of the scenario's plan at the pace and with the squeeze of actions.

    Attributes:
        squeeze: Desired squeeze (N,) [N].

    Args:
        batch: The cells.
        largest_squeeze: Largest squeeze [N].
    """

    def __init__(self, batch: BatchSimulation, largest_squeeze: float) -> None:
        count, control = batch.count, batch.scenario.control
        found = squeezes(batch.internal_force_names)
        if len(found) != 1:
            raise ArgumentError(
                f"internal forces {', '.join(batch.internal_force_names)}: expected one squeeze, "
                "as of two arms, for actions of the kind 'reference'."
            )
        columns = batch.reference_columns
        self._table, self._period = batch.reference_rows, batch.period
        self._start = batch.scenario.start_tick
        self._last = len(self._table) - 1.0 - self._start
        self._squeeze_at = columns["internal"].start + found[0]
        self._compared_at = columns["compared_internal"].start + found[0]
        self._late = 1 + control.command_delay_periods
        self._change = largest_squeeze * batch.period / _FORCE_S
        self._at, self._pace, self.squeeze = (np.zeros(count) for _ in range(3))
        self._past = np.zeros((self._late, count))
        self.begin(np.arange(count))

    @property
    def progress(self) -> Array:
        """Part of the path that lies behind (N,)."""
        return np.asarray(np.minimum(self._at / self._last, 1.0))

    def begin(self, cells: NDArray[np.intp]) -> None:
        """Return to the beginning in some cells."""
        self._at[cells] = self._pace[cells] = 0.0
        self.squeeze[cells] = self._table[0, self._squeeze_at]
        self._past[:, cells] = self._table[0, self._squeeze_at]

    def rows(self, action: Array, periods: int, time: Array, going: Mask) -> Array:
        """Return the rows of the next control periods (P, N, w), and go on along the path."""
        found = np.empty((periods, len(action), self._table.shape[1]))
        most = _PACE_RATE * self._period
        tick = np.round(time / self._period)
        for row in found:
            moving = going & (tick >= self._start)
            pace = self._pace + np.clip(action[:, 0] - self._pace, -most, most)
            pace = np.where(moving & (self._at < self._last), pace, 0.0)
            slope = np.where(moving, (pace - self._pace) / self._period, 0.0)
            row[:] = self._row(self._at, pace, slope)
            self._pace = pace
            self._at = np.minimum(self._at + pace, self._last)
            off = np.clip(action[:, 1] - self.squeeze, -self._change, self._change)
            self.squeeze = np.where(moving, self.squeeze + off, self.squeeze)
            row[:, self._squeeze_at] = self.squeeze
            row[:, self._compared_at] = self._past[0]
            self._past[:, going] = np.vstack([self._past[1:], self.squeeze])[:, going]
            tick = tick + 1
        return found

    def _row(self, at: Array, pace: Array, slope: Array) -> Array:
        """Return the rows (N, w) of places between rows: x(s), x' s', x'' s'^2 + x' s''."""
        number = at + self._start
        first = np.minimum(number.astype(int), len(self._table) - 2)
        part = (number - first)[:, None]
        row: Array = (1.0 - part) * self._table[first] + part * self._table[first + 1]
        turn = row[:, POSE][:, 3:]
        turn /= np.linalg.norm(turn, axis=1, keepdims=True)
        twist = row[:, TWIST].copy()
        acceleration = row[:, ACCELERATION] * (pace**2)[:, None] + twist * slope[:, None]
        row[:, TWIST], row[:, ACCELERATION] = twist * pace[:, None], acceleration
        return row
