# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What the experiments are run with: models that are right and wrong, walls, friction, delay."""

from __future__ import annotations

from dataclasses import replace

from robot_dynamics.app.studies.yoshikawa_zheng.controller import LAWS
from robot_dynamics.app.studies.yoshikawa_zheng.experiment import Setup
from robot_dynamics.app.studies.yoshikawa_zheng.robots import Inertias
from robot_dynamics.simulation.pinned_bar_plant import Imperfections

_MU = 0.2
_FRICTION = Imperfections(motor_friction=5e-3)
_LATE = Imperfections(delay=1)
_NOISY = Imperfections(position_noise=1e-4, velocity_noise=2e-3, seed=1)
#: What the setups of `cases` are held to, beside their experiment.
PERFECT, WRONG, FRICTION, SOFT, HARD = "perfect", "wrong", "friction", "soft", "hard"
_QUICK = (
    "perfect",
    "model x0.8, friction",
    "model x0.8, friction, motor friction",
    "model x0.8",
    "model random 6",
    "model x0.8, motor friction",
    "1e4 N/m, perfect",
    "1e4 N/m, model x1.2, friction, delay",
    "1e5 N/m, model x0.8, friction",
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
    """Return whether a case is in the short version: with all laws only if nothing is wrong."""
    once = setup.law == (law or LAWS[-1])
    return setup.name in _QUICK and (once or "perfect" in setup.name)


def _with(setups: list[Setup], *laws: str) -> list[Setup]:
    return [replace(setup, law=law) for setup in setups for law in laws]


def _scaled() -> tuple[Inertias, Inertias, Inertias]:
    """Return the true inertias, and all of them 20 % too small and too large."""
    true = Inertias.of_paper()
    return true, true.scaled(0.8), true.scaled(1.2)


def _drawn(setup: Setup, name: str) -> list[Setup]:
    """Return a setup with models each of whose inertias is off by up to 20 % by itself."""
    return [
        replace(setup, name=name.format(seed), inertias=setup.inertias.drawn(seed))
        for seed in range(1, 7)
    ]


def _on_rigid_wall() -> list[Setup]:
    true, low, high = _scaled()
    rubbed = Setup(1, "friction", true, friction=_MU)
    wrong = replace(rubbed, thresholds=WRONG)
    setups = [
        Setup(1, "perfect", true, thresholds=PERFECT),
        rubbed,
        replace(wrong, name="model x0.8, friction", inertias=low),
        replace(wrong, name="model x1.2, friction", inertias=high),
        *_drawn(wrong, "model random {}, friction"),
        replace(rubbed, name="model x0.8, friction 0.5", inertias=low, friction=0.5),
        replace(
            rubbed,
            name="model x0.8, friction, motor friction",
            inertias=low,
            imperfections=_FRICTION,
            thresholds=FRICTION,
        ),
        replace(rubbed, name="model x0.8, friction, noise", inertias=low, imperfections=_NOISY),
        replace(rubbed, name="model x1.2, friction, delay", inertias=high, imperfections=_LATE),
    ]
    return _with(setups, *LAWS)


def _free() -> list[Setup]:
    true, low, high = _scaled()
    setups = [
        Setup(2, "perfect", true, thresholds=PERFECT),
        Setup(2, "model x0.8", low, thresholds=WRONG),
        Setup(2, "model x1.2", high, thresholds=WRONG),
        *_drawn(Setup(2, "", true, thresholds=WRONG), "model random {}"),
        Setup(2, "model x0.8, motor friction", low, imperfections=_FRICTION, thresholds=FRICTION),
    ]
    # Without an integral, unequal arms turn the bar by three times as much as the bar for it.
    return [
        replace(one, thresholds="") if "random" in one.name and one.law != "integral" else one
        for one in _with(setups, *LAWS)
    ]


def _transition() -> list[Setup]:
    true, low, high = _scaled()
    setups = []
    for label, stiffness, thresholds in (("1e4 N/m", 1e4, SOFT), ("1e5 N/m", 1e5, HARD)):
        perfect = Setup(3, f"{label}, perfect", true, stiffness=stiffness, thresholds=thresholds)
        setups.append(perfect)
        for name, model in (("model x0.8", low), ("model x1.2", high)):
            rubbed = replace(
                perfect, name=f"{label}, {name}, friction", inertias=model, friction=_MU
            )
            # A stiff wall chatters with delay: that is known, and held to nothing.
            late = replace(
                rubbed,
                name=f"{rubbed.name}, delay",
                imperfections=_LATE,
                thresholds=thresholds if thresholds == SOFT else "",
            )
            setups += [rubbed, late]
        setups.append(
            replace(
                perfect,
                name=f"{label}, model x0.8, friction, motor friction",
                inertias=low,
                friction=_MU,
                imperfections=_FRICTION,
                thresholds="",
            )
        )
    bouncing = Setup(3, "1e5 N/m, restitution 0.8", true, stiffness=1e5, restitution=0.8)
    return _with([*setups, replace(bouncing, thresholds=HARD)], *LAWS)
