# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""How good the experiments must be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics.app.studies.study import Check
from robot_dynamics.app.studies.yoshikawa_zheng.cases import FRICTION, HARD, PERFECT, SOFT, WRONG
from robot_dynamics.app.studies.yoshikawa_zheng.controller import terms_at
from robot_dynamics.app.studies.yoshikawa_zheng.errors import UNITS, Errors
from robot_dynamics.app.studies.yoshikawa_zheng.experiment import Setup
from robot_dynamics.app.studies.yoshikawa_zheng.robots import Hand, Inertias
from robot_dynamics.manipulation.hybrid import hybrid_torque, system_motion

_CLEAR = 0.5  # least force that is wanted on the wall [N]


@dataclass(frozen=True)
class Run:
    """One experiment: what it was run with, its errors, and how it was warned of."""

    setup: Setup
    errors: Errors
    warnings: tuple[str, ...]


_WALL_1, _FREE = "experiment 1", "experiment 2"
_SOFT, _HARD = "experiment 3, wall of 1e4 N/m", "experiment 3, wall of 1e5 N/m, no delay"
#: What the worst of the runs may have, by experiment and what they are held to.
THRESHOLDS: dict[tuple[int, str], tuple[str, dict[str, float]]] = {
    (1, PERFECT): (
        f"{_WALL_1}, perfect model",
        {
            "x max": 0.005,
            "orientation max": 0.01,
            "contact force rms": 1e-3,
            "internal force rms": 1e-3,
            "transient": 25.0,
        },
    ),
    (1, WRONG): (
        f"{_WALL_1}, model off by 20 %, friction 0.2",
        {
            "x max": 0.15,
            "orientation max": 0.8,
            "contact force rms": 5e-3,
            "internal force rms": 2e-3,
        },
    ),
    (1, FRICTION): (
        f"{_WALL_1}, the same with motor friction",
        {
            "x max": 0.2,
            "orientation max": 1.2,
            "contact force rms": 0.02,
            "internal force rms": 5e-3,
        },
    ),
    (2, PERFECT): (
        f"{_FREE}, perfect model",
        {"x max": 0.01, "y max": 0.01, "orientation max": 0.01},
    ),
    (2, WRONG): (
        f"{_FREE}, model off by 20 %",
        {"x max": 0.05, "y max": 0.05, "orientation max": 0.02},
    ),
    (2, FRICTION): (
        f"{_FREE}, the same with motor friction",
        {"x max": 0.25, "y max": 0.25, "orientation max": 1.5},
    ),
    (3, SOFT): (
        _SOFT,
        {
            "contacts": 3.0,
            "peak force": 3.5,
            "settling": 60.0,
            "contact force rms": 5e-3,
            "x max": 0.3,
            "orientation max": 1.2,
            "y after departure": 0.6,
        },
    ),
    (3, HARD): (_HARD, {"contacts": 6.0, "settling": 100.0}),
}


def checks(runs: Sequence[Run]) -> tuple[Check, ...]:
    """Return all claims on experiments that were run."""
    found = [Check("the law's identities, relative error", exactness(50), 1e-9)]
    for (number, thresholds), (what, limits) in THRESHOLDS.items():
        those = [
            run.errors
            for run in runs
            # The literal law is held to no thresholds on elastic walls: it bounces.
            if (run.setup.number, run.setup.thresholds) == (number, thresholds)
            and not (number == 3 and run.setup.law == "literal")
        ]
        found += [_worst(what, those, name, limit) for name, limit in limits.items() if those]
        if thresholds == SOFT and those:
            short = float(np.max([_CLEAR - errors["least force"] for errors in those]))
            found.append(Check(f"{what}, force once steady below 0.5 N by [N]", short, 0.1))
    return (*found, *_warnings(runs))


def exactness(states: int) -> float:
    """Return the largest relative error of (38) to (40) with the law evaluated at the instant."""
    rng, largest = np.random.default_rng(0), 0.0
    wall = 0.17
    free = Hand.of(Inertias.of_paper(), None)
    touching = free.with_wall(wall)
    for number in range(states):
        r = np.array([0.0, 0.14, 0.0]) + np.array([0.025, 0.01, 0.1]) * rng.uniform(-1.0, 1.0, 3)
        rd = rng.uniform(-0.1, 0.1, 3)
        hand = touching if number % 2 else free
        if number % 2:
            r[1] = wall - hand.bar.tip * np.cos(r[2])
        terms, rotation = terms_at(hand, r, rd)
        C = len(terms.environment.p)
        u1, u2, u3 = rng.uniform(-1.0, 1.0, 6 - C), rng.uniform(0.0, 1.0, C), rng.uniform(0, 1, 1)
        u1[3 - C :] = 0.0  # out of the plane the arms can do nothing
        law = hybrid_torque(terms, rotation, hand.distribution, u1, u2, u3)
        motion = system_motion(terms, law.torque)
        seen = terms.environment
        s = seen.E_P @ motion.object_acceleration + seen.E_P_dot_v
        inside = hand.distribution.internal_force(motion.contact_forces)
        moved = max(1.0, np.abs(motion.qdd).max())
        pushed = max(1.0, np.abs(motion.contact_forces).max())
        errors = [np.abs(s - u1).max() / moved, np.abs(inside - u3).max() / pushed]
        errors.append(np.abs(motion.surface_forces - u2).max(initial=0.0) / pushed)
        largest = max(largest, *map(float, errors))
    return largest


def _warnings(runs: Sequence[Run]) -> list[Check]:
    literal = [run for run in runs if run.setup.number == 3 and run.setup.law == "literal"]
    damped = [run for run in runs if run.setup.number == 3 and run.setup.law != "literal"]
    silent = sum(not run.warnings for run in literal)
    loud = sum(bool(run.warnings) for run in damped)
    return [
        Check("literal laws on elastic walls that were not warned of", float(silent), 0.0),
        Check("other laws that were warned of", float(loud), 0.0),
    ]


def _worst(what: str, errors: Sequence[Errors], name: str, limit: float) -> Check:
    unit = f" [{UNITS[name]}]" if UNITS[name] else ""
    # NumPy's maximum is not a number if one is none, as after a run that lost the bar.
    return Check(f"{what}, {name}{unit}", float(np.max([each[name] for each in errors])), limit)
