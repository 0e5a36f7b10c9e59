# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""One experiment with one model and one world: the loop, closed, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.app.studies.yoshikawa_zheng.controller import Controller, Law
from robot_dynamics.app.studies.yoshikawa_zheng.robots import Inertias, bar, planar_arms
from robot_dynamics.app.studies.yoshikawa_zheng.tasks import DURATION, PERIOD, task
from robot_dynamics.control.contact_phase import Phase
from robot_dynamics.simulation.pinned_bar_plant import Imperfections, PinnedBarPlant, Wall

Array = NDArray[np.float64]

_SETTLING = 0.1  # at rest before the start [s], so that forces are there
# Runge-Kutta's [s]: halved once more, no figure changes by more than a thousandth of itself.
_STEP, _STEP_ELASTIC = 1e-4, 5e-5
_FAR = 0.5  # of the bar from where it should be [m]: arms that lose it end the run


@dataclass(frozen=True)
class Setup:
    """What an experiment is run with.

    Attributes:
        number: 1, 2 or 3.
        name: What is special about it.
        inertias: What the law believes.
        law: One of `LAWS`.
        stiffness: Of the wall [N/m]; infinite for a rigid one.
        restitution: Of the wall.
        friction: mu of the wall.
        imperfections: What the law does not know of besides.
        thresholds: Which thresholds it is held to; none if empty.
    """

    number: int
    name: str
    inertias: Inertias
    law: str = "integral"
    stiffness: float = np.inf
    restitution: float = 0.3
    friction: float = 0.0
    imperfections: Imperfections = field(default_factory=Imperfections)
    thresholds: str = ""


@dataclass(frozen=True)
class Record:
    """What happened, sample by sample; forces beside what was wanted as their torque was computed.

    Attributes:
        time: Of the samples (N,) [s].
        r: x, y [m], phi [rad] (N, 3).
        r_wanted: Likewise.
        press: Force on the wall (N,) [N].
        press_wanted: Likewise.
        squeeze: Internal force (N,) [N].
        squeeze_wanted: Likewise.
        torque: Of the drives (N, 4) [N m].
        pressing: Whether force was controlled along the wall's normal (N,).
        fine_press: Force on the wall at every step of integration (M,) [N].
        fine_step: Of integration [s].
        lost: Whether the arms let the bar go astray.
        damping: Normal damping [N s/m].
        mass: Effective mass along the normal [kg].
        warnings: Of the controller.
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
    controller = Controller(setup.inertias, what, Law(setup.law, setup.imperfections.delay))
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
