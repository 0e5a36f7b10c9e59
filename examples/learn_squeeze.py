# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Two arms learn how fast to lift a slippery box and how hard to squeeze it.

The palms hold only by friction, with a coefficient of 0.8, and the box weighs up to a tenth more
or less than modelled. Time and squeeze have costs, and a slipping box has the largest. The
cross-entropy method searches for the pace and the squeeze with the least costs: 32 pairs at a
time, each in eight cells of different boxes, in a vector environment of 256 cells. Grasps stay
closed there: a palm counts as slipping if its measured force leaves the friction cone.

    python examples/learn_squeeze.py

Needs Gymnasium and Matplotlib: pip install 'robot_dynamics[learn,plot]'. It takes a minute of
processor time.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

from robot_dynamics.app.batches.learning import CellVectorEnv, Transition

PAIRS, GENERATIONS = 32, 12
FRICTION, BOXES = 0.8, 8
LIFT_M, LIFT_S = 0.4, 2.0  # the path at pace 1
PATH = [
    f"reference.segments=[{{duration_s: {LIFT_S}, move: [0, 0, {LIFT_M}]}}]",
    "reference.force=[]",
    "plant.sensors.force=0.2",
]
MASSES = np.linspace(0.9, 1.1, BOXES)
LARGEST = np.array([2.0, 110.0])  # pace, squeeze [N]
STEP_S = 0.04


def slips(happened: Transition) -> np.ndarray:
    """Return the cells in which a palm slips; before the lift the box stands on a table."""
    force = happened.after.wrenches[:, :, 3:]  # by each arm, z into the box
    along = np.hypot(force[..., 0], force[..., 1])
    return (along > FRICTION * force[..., 2]).any(axis=1) & (happened.progress > 0.0)


def reward(happened: Transition) -> np.ndarray:
    """Return minus the costs of a step: time, squeeze, a lost box, stopped arms."""
    squeeze = happened.after.wrenches[:, 0, 5]
    lost = slips(happened) | happened.ended
    return -STEP_S * (1.0 + 0.5 * (squeeze / 50.0) ** 2) - 10.0 * lost


def make() -> CellVectorEnv:
    """Return the environment: PAIRS groups of BOXES cells."""
    return CellVectorEnv(
        "lift_box",
        PAIRS * BOXES,
        reward=reward,
        done=lambda happened: slips(happened) | (happened.progress >= 1.0),
        action="reference",
        parameters={"plant.object_mass_scale": np.tile(MASSES, PAIRS)},
        overrides=PATH,
        episode_s=6.0,
        periods=round(STEP_S * 500),
        largest_pace=LARGEST[0],
        largest_squeeze=LARGEST[1],
    )


def returns(envs: CellVectorEnv, pairs: np.ndarray, seed: int) -> np.ndarray:
    """Return the mean return and the share of lost cells (n, 2) of pairs (n, 2)."""
    seen, _ = envs.reset(seed=seed)
    wanted = np.repeat(pairs, BOXES, axis=0)
    total, lost = np.zeros((2, len(wanted)))
    going = np.ones(len(wanted), dtype=bool)
    while going.any():
        action = wanted.copy()
        # First squeeze, then lift.
        action[np.abs(seen["squeeze"][:, 0] - wanted[:, 1]) > 1e-9, 0] = 0.0
        seen, gained, terminated, truncated, _ = envs.step(action)
        total += np.where(going, gained, 0.0)
        lost += going & (gained < -5.0)
        going &= ~(terminated | truncated)
    return np.array([total, lost]).reshape(2, -1, BOXES).mean(axis=2).T


def least_squeeze(pace: np.ndarray) -> np.ndarray:
    """Return the squeeze that the heaviest box needs [N]: the largest m (g + a) / (2 mu)."""
    fastest = 10.0 / np.sqrt(3.0) * LIFT_M / (LIFT_S / pace) ** 2  # of a path of fifth order
    return 10.0 * MASSES.max() * (9.81 + fastest) / (2.0 * FRICTION)


envs, rng = make(), np.random.default_rng(0)
mean, spread = np.array([1.0, 70.0]), np.array([0.5, 25.0])
history = []  # of each generation the pairs tried, with their returns (n, 4)
for generation in range(GENERATIONS):
    begin = time.perf_counter()
    pairs = np.clip(mean + spread * rng.normal(size=(PAIRS, 2)), [0.2, 0.0], LARGEST)
    history.append(np.hstack([pairs, returns(envs, pairs, seed=generation)]))
    gained = history[-1][:, 2]
    best = pairs[np.argsort(gained)[-max(2, PAIRS // 4) :]]
    mean, spread = best.mean(axis=0), best.std(axis=0) + np.array([0.01, 0.3])
    print(
        f"{generation + 1:3}: return {gained.max():7.3f} at best, {np.median(gained):7.3f} in "
        f"the middle; pace {mean[0]:.2f}, squeeze {mean[1]:5.1f} N  "
        f"({time.perf_counter() - begin:.1f} s)"
    )
tried = np.vstack(history)
best = tried[tried[:, 2].argmax(), :2]
print(
    f"found: pace {best[0]:.2f}, squeeze {best[1]:.1f} N; at this pace the heaviest box needs "
    f"{float(least_squeeze(best[0])):.1f} N"
)

figure, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
generation = np.repeat(np.arange(1, GENERATIONS + 1), PAIRS)
lost = tried[:, 3] > 0.0
axes.scatter(*tried[lost, :2].T, c="0.75", marker="x", s=14, label="some boxes slip, or arms stop")
shown = axes.scatter(*tried[~lost, :2].T, c=generation[~lost], s=14, cmap="viridis")
pace = np.linspace(0.2, LARGEST[0], 100)
axes.plot(pace, least_squeeze(pace), "k--", lw=1, label="least squeeze, heaviest box")
axes.plot(*best, "r*", ms=12, label="found")
axes.set(xlabel="pace along the path", ylabel="squeeze [N]", ylim=(0, LARGEST[1] + 5))
axes.legend(loc="lower right")
figure.colorbar(shown, label="generation")
figure.savefig("learn_squeeze.png", dpi=110)
