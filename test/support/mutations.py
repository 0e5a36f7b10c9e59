# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Laws of the reproductions with one term of their model wrong, and the claims that then fail.

Run as a program, it prints a table of all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from unittest import mock

import numpy as np

from robot_dynamics.manipulation.hybrid import HybridSystem
from robot_dynamics.manipulation.jointed_object import JointedObjectSystem
from robot_dynamics.reproductions import (
    flexible_base,
    flexible_link,
    mobile_manipulator,
    separability,
    space_robot,
)
from robot_dynamics.reproductions.joint_space import JointSpaceModel
from robot_dynamics.reproductions.jointed_systems import pliers, two_rods, worked_case
from robot_dynamics.reproductions.law_checks import (
    inverse_dynamics_law_check,
    jointed_law_checks,
)
from robot_dynamics.reproductions.study import Check
from robot_dynamics.reproductions.swain_morris import MIRROR, READY, TOOLS, two_armed
from robot_dynamics.reproductions.unified import UnifiedSystem, unified_system
from robot_dynamics.reproductions.unseren import decoupling_checks
from robot_dynamics.reproductions.yoshikawa_zheng import robots
from robot_dynamics.reproductions.yoshikawa_zheng.study import law_checks

GRAVITY = "gravity"  # of the law's model, in the place of one of its terms


@dataclass(frozen=True)
class Law:
    """A law of a reproduction.

    Attributes:
        checks: The checks of the study that see it.
        owner: The class whose method `terms` the law has its model from.
        terms: Names of the values that the law uses of them; dots lead to parts of terms.
    """

    checks: Callable[[], list[Check]]
    owner: type
    terms: tuple[str, ...]


JOINTED = (
    *("D", "C", "H_A", "H_B_qd", "A", "A_dot_qd", "G", "G_dot_qd", "velocity"),
    GRAVITY,
)
ARMS = tuple(f"parts.{name}" for name in ("M_p", "M_ap", "M_a", "C_p", "C_a"))
HELD = (*ARMS, "parts.J_p", "parts.J_a", "parts.J_dot_v", "held.M_o", "held.b_o", "held.W")
HYBRID = (
    *("M", "h", "I_B", "S", "S_dot", "J", "J_dot_qd", "W_S", "W_S_dot_v", "qd"),
    *(f"environment.{name}" for name in ("E_F", "E_F_dot_v", "E_P")),
)
#: Maps of the grasp, which are made once and not at every state.
GRASP = ("share", "internal")


def unseren() -> list[Check]:
    """Return the checks of the studies `unseren` and `unseren-monte-carlo`."""
    return [*decoupling_checks(worked_case()), *jointed_law_checks(worked_case())]


def sprung() -> list[Check]:
    """Return the check of the law of `flexible-base`."""
    robot = two_armed("floating", 250.0, (flexible_base.springs(),))
    system = unified_system(robot, TOOLS, gravity=(0.0, 0.0, -9.81))
    near = system.model.neutral()
    near[7:] = np.concatenate([READY, MIRROR * READY])
    return [inverse_dynamics_law_check(system, near)]


def blocks() -> list[Check]:
    """Return the checks of `separability`."""
    return list(separability.run(True, lambda done, doing: None).checks)


TIMES = (2.0, 2.5, 4.0, 8.0)
LAWS = {
    "yoshikawa-zheng": Law(lambda: law_checks(4), HybridSystem, HYBRID),
    "unseren": Law(unseren, JointSpaceModel, (*JOINTED, "L_s")),
    "fold, rods": Law(lambda: jointed_law_checks(two_rods()), JointSpaceModel, JOINTED),
    "fold, pliers": Law(lambda: jointed_law_checks(pliers()), JointSpaceModel, JOINTED),
    "mobile-manipulator": Law(
        lambda: mobile_manipulator._Vehicle(5.0).law_checks(), UnifiedSystem, (*HELD, GRAVITY)
    ),
    "space-robot": Law(
        lambda: space_robot._Spacecraft(False, TIMES).law_checks(), UnifiedSystem, HELD
    ),
    # Gravity moves a free base and its arms alike: the torques do not depend on it.
    "flexible-base": Law(sprung, UnifiedSystem, ARMS),
    "flexible-link": Law(
        lambda: [inverse_dynamics_law_check(flexible_link._arm(5), spread=0.01)],
        UnifiedSystem,
        ARMS,
    ),
    "separability": Law(blocks, UnifiedSystem, HELD),
}


def scaled(terms: object, path: str, factor: float) -> object:
    """Return terms with one of them, or of their parts, multiplied."""
    name, _, rest = path.partition(".")
    value = getattr(terms, name)
    if value is None:  # a state without an object
        return terms
    return replace(terms, **{name: scaled(value, rest, factor) if rest else factor * value})


def heavier(system: object, factor: float) -> object:
    """Return a system, or a model of one, under another gravity."""
    if isinstance(system, JointSpaceModel):
        own = system.system
        gravity = (factor * np.array(own.model.gravity)).tolist()
        return JointSpaceModel(JointedObjectSystem(own.model.replace(gravity=gravity), own.parts))
    gravity = (factor * np.array(system.model.gravity)).tolist()
    return replace(system, model=system.model.replace(gravity=gravity))


@contextmanager
def wrong(law: Law, term: str, factor: float) -> Iterator[None]:
    """Make one term of a law wrong, with all measurements right."""
    if term in GRASP:
        right = robots.squeeze
        with mock.patch.object(
            robots, "squeeze", lambda system: scaled(right(system), term, factor)
        ):
            yield
        return
    own = law.owner.terms
    others: dict[int, object] = {}

    def terms(self, *state, **options):
        if term != GRAVITY:
            return scaled(own(self, *state, **options), term, factor)
        if id(self) not in others:
            others[id(self)] = heavier(self, factor)
        return own(others[id(self)], *state, **options)

    with mock.patch.object(law.owner, "terms", terms):
        yield


def failing(law: Law, term: str, factor: float) -> list[Check]:
    """Return the checks that fail with a term wrong."""
    with wrong(law, term, factor):
        return [check for check in law.checks() if not check.ok]


def mutations() -> Iterator[tuple[str, str, float]]:
    """Yield the law, the term, and the factor of every mutation."""
    for name, law in LAWS.items():
        for term in (*law.terms, *(GRASP if name == "yoshikawa-zheng" else ())):
            yield name, term, 1.01
    for term in ("h", "W_S_dot_v", "J_dot_qd", "S_dot"):
        yield "yoshikawa-zheng", term, 0.0
    for term in ("C", "H_A", "H_B_qd", "A_dot_qd", "G_dot_qd"):
        yield "unseren", term, 0.0


if __name__ == "__main__":
    for name, term, factor in mutations():
        worst = max(failing(LAWS[name], term, factor), key=lambda c: c.value / c.limit)
        print(f"| {name} | {term} x {factor:g} | {worst.claim} | {worst.value:.2g} |", flush=True)
