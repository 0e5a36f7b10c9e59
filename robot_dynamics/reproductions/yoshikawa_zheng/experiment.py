# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The experiments: one run of the closed loop with one model and one world, and all setups."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.arrays import Array
from robot_dynamics.reproductions.yoshikawa_zheng.contact_phase import Phase
from robot_dynamics.reproductions.yoshikawa_zheng.controller import LAWS, BarController, Law
from robot_dynamics.reproductions.yoshikawa_zheng.pinned_bar_plant import (
    Imperfections,
    PinnedBarPlant,
    Wall,
)
from robot_dynamics.reproductions.yoshikawa_zheng.robots import Inertias, bar, planar_arms
from robot_dynamics.reproductions.yoshikawa_zheng.tasks import DURATION, PERIOD, task

_SETTLING = 0.1  # at rest before the start [s], so that forces are there
# Runge-Kutta's [s]: halved once more, no figure changes by more than a thousandth of itself.
_STEP, _STEP_ELASTIC = 1e-4, 5e-5
_FAR = 0.5  # of the bar from where it should be [m]: arms that lose it end the run


@dataclass(frozen=True)
class Setup:
    """Setup of an experiment.

    Attributes:
        number: 1, 2 or 3.
        name: Name of the case.
        inertias: Inertias in the law.
        thresholds: Its thresholds.
        law: One of `LAWS`.
        stiffness: Stiffness of the wall [N/m]; infinite for a rigid one.
        restitution: Restitution of the wall.
        friction: mu of the wall.
        imperfections: Further effects unknown to the law.
    """

    number: int
    name: str
    inertias: Inertias
    thresholds: str
    law: str = "integral"
    stiffness: float = np.inf
    restitution: float = 0.3
    friction: float = 0.0
    imperfections: Imperfections = field(default_factory=Imperfections)


@dataclass(frozen=True)
class Record:
    """Record of an experiment, by samples; desired forces belong to the acting torque.

    Attributes:
        time: Times of the samples (N,) [s].
        r: x, y [m], phi [rad] (N, 3).
        r_wanted: Desired r (N, 3).
        press: Force on the wall (N,) [N].
        press_wanted: Desired force on the wall (N,) [N].
        squeeze: Internal force (N,) [N].
        squeeze_wanted: Desired internal force (N,) [N].
        torque: Torques of the drives (N, 4) [N m].
        pressing: Whether force was controlled along the wall's normal (N,).
        fine_press: Force on the wall at every step of integration (M,) [N].
        fine_step: Integration step [s].
        lost: Whether the arms lost the bar.
        damping: Normal damping [N s/m].
        mass: Effective mass along the normal [kg].
        warnings: Warnings of the controller.
    """

    time: Array
    r: Array
    r_wanted: Array
    press: Array
    press_wanted: Array
    squeeze: Array
    squeeze_wanted: Array
    torque: Array
    pressing: NDArray[np.bool_]
    fine_press: Array
    fine_step: float
    lost: bool
    damping: float
    mass: float
    warnings: tuple[str, ...]


def experiment(setup: Setup) -> Record:
    """Run an experiment."""
    what = task(setup.number)
    true = Inertias.of_paper()
    controller = BarController(setup.inertias, what, Law(setup.law, setup.imperfections.delay))
    wall = None
    if what.wall is not None:
        wall = Wall(what.wall, setup.stiffness, setup.restitution, friction=setup.friction)
    step = _STEP if what.number != 3 else _STEP_ELASTIC
    plant = PinnedBarPlant(planar_arms(true), bar(true), wall, setup.imperfections, PERIOD, step)
    plant.start(what.wanted(0.0).r.tolist())
    for _ in range(round(_SETTLING / PERIOD)):
        plant.step(controller.torque(0.0, plant.measure()))
    plant.presses.clear()
    rows, lost = [], False
    for k in range(round(DURATION / PERIOD)):
        now, then = what.wanted(k * PERIOD), what.wanted((k + 1) * PERIOD)
        torque = controller.torque(k * PERIOD, plant.measure())
        state = plant.step(torque)
        lost = not (np.abs(state.r - then.r).max() < _FAR)
        if lost:
            break
        pressing = controller.phase is Phase.CONTACT
        rows.append(
            ((k + 1) * PERIOD, state.r, then.r, state.press, now.press, state.squeeze, now.squeeze,
             torque, pressing)
        )  # fmt: skip
    names = (
        "time", "r", "r_wanted", "press", "press_wanted", "squeeze", "squeeze_wanted", "torque",
        "pressing",
    )  # fmt: skip
    columns = {
        name: np.array(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)
    }
    return Record(
        **columns,
        fine_press=np.array(plant.presses),
        fine_step=step,
        lost=lost,
        damping=controller.damping,
        mass=controller.mass,
        warnings=controller.warnings,
    )


_MU = 0.2
_FRICTION = Imperfections(motor_friction=5e-3)
_LATE = Imperfections(delay=1)
_NOISY = Imperfections(position_noise=1e-4, velocity_noise=2e-3, seed=1)
#: Classes of thresholds of the setups of `cases`.
PERFECT, WRONG, FRICTION, SOFT, HARD = "perfect", "wrong", "friction", "soft", "hard"
ROUGH, NOISE, UNEQUAL, RUBBED, CHATTERING = "rough", "noise", "unequal", "rubbed", "chattering"
_QUICK = (
    "perfect",
    "model x0.8, friction",
    "model x0.8, friction, motor friction",
    "model x0.8, friction 0.5",
    "model x0.8, friction, noise",
    "model x0.8",
    "model random 6",
    "model x0.8, motor friction",
    "1e4 N/m, perfect",
    "1e4 N/m, model x1.2, friction, delay",
    "1e4 N/m, model x0.8, friction, motor friction",
    "1e5 N/m, model x0.8, friction",
    "1e5 N/m, model x0.8, friction, delay",
)


def cases(quick: bool = False, law: str | None = None) -> list[Setup]:
    """Return all setups, or a few of every kind.

    Args:
        quick: Whether to return a few.
        law: One of `LAWS`; all by default.
    """
    every = [*_on_rigid_wall(), *_free(), *_transition()]
    chosen = [setup for setup in every if law in (None, setup.law)]
    return [setup for setup in chosen if _is_quick(setup, law)] if quick else chosen


def _is_quick(setup: Setup, law: str | None) -> bool:
    """Return whether a case is in the short version: with all laws only without imperfections."""
    once = setup.law == (law or LAWS[0 if setup.thresholds == UNEQUAL else -1])
    return setup.name in _QUICK and (once or "perfect" in setup.name)


def _with(setups: list[Setup], *laws: str) -> list[Setup]:
    return [replace(setup, law=law) for setup in setups for law in laws]


def _scaled() -> tuple[Inertias, Inertias, Inertias]:
    """Return the true inertias, and all of them 20 % too small and too large."""
    true = Inertias.of_paper()
    return true, true.scaled(0.8), true.scaled(1.2)


def _drawn(setup: Setup, name: str) -> list[Setup]:
    """Return a setup in which each inertia of the model is independently off by up to 20 %."""
    return [
        replace(setup, name=name.format(seed), inertias=setup.inertias.drawn(seed))
        for seed in range(1, 7)
    ]


def _on_rigid_wall() -> list[Setup]:
    true, low, high = _scaled()
    rubbed = Setup(1, "friction", true, WRONG, friction=_MU)
    setups = [
        Setup(1, "perfect", true, PERFECT),
        rubbed,
        replace(rubbed, name="model x0.8, friction", inertias=low),
        replace(rubbed, name="model x1.2, friction", inertias=high),
        *_drawn(rubbed, "model random {}, friction"),
        replace(
            rubbed,
            name="model x0.8, friction 0.5",
            inertias=low,
            friction=0.5,
            thresholds=ROUGH,
        ),
        replace(
            rubbed,
            name="model x0.8, friction, motor friction",
            inertias=low,
            imperfections=_FRICTION,
            thresholds=FRICTION,
        ),
        replace(
            rubbed,
            name="model x0.8, friction, noise",
            inertias=low,
            imperfections=_NOISY,
            thresholds=NOISE,
        ),
        replace(rubbed, name="model x1.2, friction, delay", inertias=high, imperfections=_LATE),
    ]
    return _with(setups, *LAWS)


def _free() -> list[Setup]:
    true, low, high = _scaled()
    setups = [
        Setup(2, "perfect", true, PERFECT),
        Setup(2, "model x0.8", low, WRONG),
        Setup(2, "model x1.2", high, WRONG),
        *_drawn(Setup(2, "", true, WRONG), "model random {}"),
        Setup(2, "model x0.8, motor friction", low, FRICTION, imperfections=_FRICTION),
    ]
    # Without an integral, unequal arms turn the bar by three times as much as the bar for it.
    return [
        replace(one, thresholds=UNEQUAL) if "random" in one.name and one.law != "integral" else one
        for one in _with(setups, *LAWS)
    ]


def _transition() -> list[Setup]:
    true, low, high = _scaled()
    setups = []
    for label, stiffness, thresholds in (("1e4 N/m", 1e4, SOFT), ("1e5 N/m", 1e5, HARD)):
        perfect = Setup(3, f"{label}, perfect", true, thresholds, stiffness=stiffness)
        setups.append(perfect)
        for name, model in (("model x0.8", low), ("model x1.2", high)):
            rubbed = replace(
                perfect, name=f"{label}, {name}, friction", inertias=model, friction=_MU
            )
            # A stiff wall chatters with delay: that is known.
            late = replace(
                rubbed,
                name=f"{rubbed.name}, delay",
                imperfections=_LATE,
                thresholds=thresholds if thresholds == SOFT else CHATTERING,
            )
            setups += [rubbed, late]
        setups.append(
            replace(
                perfect,
                name=f"{label}, model x0.8, friction, motor friction",
                inertias=low,
                friction=_MU,
                imperfections=_FRICTION,
                thresholds=RUBBED if thresholds == SOFT else HARD,
            )
        )
    bouncing = Setup(3, "1e5 N/m, restitution 0.8", true, HARD, stiffness=1e5, restitution=0.8)
    return _with([*setups, bouncing], *LAWS)
