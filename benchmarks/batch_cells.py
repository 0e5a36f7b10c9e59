# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Many cells of a scenario at once, beside `mujoco.rollout` of the same cell in the same run.

    python -m benchmarks.batch_cells [SCENARIO] [--cells 1024] [--rounds 8]

Cells a second are counted by processor time: of one thread, and of two by the wall clock where the
machine lets both run (the best of all rounds). Everything takes turns. Scenarios whose cells go
one after the other (contacts, joints, loops) are timed in this process and in two, with the time
to make them: `python -m benchmarks.batch_cells tray --cells 64`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import robot_dynamics as rd
from robot_dynamics.app.batches.batch_simulation import why_separate
from robot_dynamics.app.scenarios.cell import build_system
from robot_dynamics.app.scenarios.plant import make_plant
from robot_dynamics.app.scenarios.scenario import Scenario, load_scenario

_PERIODS = 32  # of a turn
_LONG = 250  # of a turn in which cells run one after the other, with their reports


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenario", nargs="?", default="lift_box")
    parser.add_argument("--cells", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=8)
    options = parser.parse_args()
    n, rng = options.cells, np.random.default_rng(0)
    chosen = load_scenario(options.scenario)
    if why_separate(chosen):
        one_after_the_other(chosen, n, options.rounds)
        return
    varied = {"plant.object_mass_scale": rng.uniform(0.8, 1.2, n)}
    turns: dict[str, tuple[Callable[[], None], int]] = {}
    for name, parameters, threads in (
        ("equal cells", {}, 1),
        ("equal cells", {}, 2),
        ("cells of own masses", varied, 1),
        ("cells of own masses", varied, 2),
    ):
        batch = rd.BatchSimulation(options.scenario, n, parameters, threads=threads)
        torque = batch.control()
        steps = _PERIODS * n * batch._cells.plant.substeps
        turns[f"plant steps, {name}, threads {threads}"] = stepping(batch, torque), steps
        turns[f"the same, call by call, {name}, threads {threads}"] = calling(batch, torque), steps
        turns[f"control periods, {name}, threads {threads}"] = running(batch), _PERIODS * n
        print(f"{name}: {batch.bytes_per_cell / 1024:.1f} KiB a cell")
    for threads in (1, 2):
        step, steps = rolling_out(options.scenario, n, threads)
        turns[f"mujoco.rollout, steps of 0.2 ms, threads {threads}"] = step, steps
    best = {name: [np.inf, np.inf] for name in turns}
    for _ in range(options.rounds):
        for name, (turn, _) in turns.items():
            wall, cpu = time.perf_counter(), time.process_time()
            turn()
            spent = time.perf_counter() - wall, time.process_time() - cpu
            best[name] = [min(a, b) for a, b in zip(best[name], spent, strict=True)]
    for name, (_, count) in turns.items():
        wall, cpu = (count / seconds for seconds in best[name])
        print(f"{name:55} {cpu:10.0f} per s of processor  {wall:10.0f} per s of wall")


def one_after_the_other(scenario: Scenario, n: int, rounds: int) -> None:
    """Print what cells come to that are advanced one after the other."""
    masses = {"plant.object_mass_scale": np.linspace(0.95, 1.05, n)}
    batches, torques = {}, {}
    for threads in (1, 2):
        begin = time.perf_counter()
        batches[threads] = batch = rd.BatchSimulation(scenario, n, masses, threads=threads)
        made = time.perf_counter()
        torques[threads] = np.tile(batch.control(), (_PERIODS, 1, 1))
        plants, laws = made - begin, time.perf_counter() - made
        print(f"plants made in {plants:.2f} s, laws in {laws:.2f} s, threads {threads}")
    turn, steps = rolling_out(scenario.name, n, 1)
    rolled = np.inf
    best = {(what, threads): np.inf for what in ("steps", "control") for threads in batches}
    clocks = {1: time.process_time, 2: time.perf_counter}  # that of this process, and the wall's
    for _ in range(rounds):
        for threads, batch in batches.items():
            clock = clocks[threads]
            batch.reset()
            begin = clock()
            batch.step(torques[threads])
            between = clock()
            batch.run(_LONG * batch.period)
            spent = {"steps": between - begin, "control": clock() - between}
            best |= {(what, threads): min(best[what, threads], t) for what, t in spent.items()}
        begin = time.process_time()
        turn()
        rolled = min(rolled, time.process_time() - begin)
    print(f"mujoco.rollout, steps of 0.2 ms        {steps / rolled:8.0f} per s of processor")
    for threads, where in ((1, "per s of processor, in this process"), (2, "of wall, in two")):
        alone, whole = _PERIODS * n / best["steps", threads], _LONG * n / best["control", threads]
        print(f"control periods of the plant alone {alone:8.0f} {where}")
        print(f"control periods with the law       {whole:8.0f} {where}")


def stepping(batch: rd.BatchSimulation, torque: Any) -> Callable[[], None]:
    """Return a function that steps some periods under torques that hold the cells up, at once."""
    torques = np.tile(torque, (_PERIODS, 1, 1))

    def turn() -> None:
        batch.reset()
        batch.step(torques)

    return turn


def calling(batch: rd.BatchSimulation, torque: Any) -> Callable[[], None]:
    """Return the same with a call for each control period, at whose end threads wait."""

    def turn() -> None:
        batch.reset()
        for _ in range(_PERIODS):
            batch.step(torque)

    return turn


def running(batch: rd.BatchSimulation) -> Callable[[], None]:
    """Return a function that steps some periods with the law in the loop."""
    return lambda: batch.run(_PERIODS * batch.period) and None  # type: ignore[func-returns-value]


def rolling_out(scenario: str, n: int, threads: int) -> tuple[Callable[[], None], int]:
    """Return MuJoCo's batch of the same cell, and its number of steps."""
    import mujoco
    from mujoco import rollout

    chosen = load_scenario(scenario, plant="mujoco")
    plant: Any = make_plant(chosen, build_system(chosen))
    model, data = plant.engine._model, plant.engine._data
    size = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    state = np.zeros(size)
    mujoco.mj_getState(model, data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    count, cells = 10, max(2 * threads, n // 16)
    start = np.tile(state, (cells, 1))
    own = [mujoco.MjData(model) for _ in range(threads)]
    pool = rollout.Rollout(nthread=threads)

    def turn() -> None:
        pool.rollout(model, own, start, nstep=count)

    return turn, cells * count


if __name__ == "__main__":
    main()
