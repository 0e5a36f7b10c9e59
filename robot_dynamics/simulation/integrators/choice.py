# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Which constraints a compiled step uses, and which coordinates it lets follow from the others.

Code that factors K H^-1 K^T wants independent rows of K; a planar loop closed by a revolute joint
has two among five. The choice is made at one configuration, and a step checks it: constraints
that are left out have to stay closed, and pivots must not become small.

A choice is a program to be compiled, so it is kept as long as it is right at all. Where G and g
are asked for state by state, a choice costs nothing and is left as soon as it costs digits: that
is `dynamics/coordinate_choice.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.dynamics.assembly import AssemblyError
from robot_dynamics.dynamics.independent import pivots
from robot_dynamics.dynamics.rank import constraint_rank
from robot_dynamics.dynamics.scaling import coordinate_scales
from robot_dynamics.model.joints.base import JointType
from robot_dynamics.robot import Robot
from robot_dynamics.simulation.integrators.trajectory import Trouble

Array = NDArray[np.float64]

# Where the rank drops at the start, rows are chosen this far away [rad, or lengths].
_NEARBY = 0.05
_LOOKS = 4
#: Below this part of the strongest, a constraint leaves the motion to rounding.
WEAK = 1e-5
# How much weaker the weakest constraint may be for joints with quaternions not to be torn.
_STILL_ACTING = 1e-2


@dataclass(frozen=True)
class Choice:
    """Independent constraints, and coordinates that they determine.

    Attributes:
        rows: Rows of K, ascending.
        dependent: As many velocities, ascending, that follow from the others.
    """

    rows: tuple[int, ...]
    dependent: tuple[int, ...]


def choose(robot: Robot, q: Array, length: float) -> Choice:
    """Return the choice of complete pivoting at positions `q` (nq,) with closed loops (8.51).

    Positions of joints with quaternions have no coordinates of their own to keep: such joints are
    independent altogether wherever that is possible.
    """
    model = robot.model
    K, error = robot.closure(q)
    ranked = constraint_rank(model, K, error, q, length=length)
    kept: list[int] = []
    for body, at in zip(model.bodies, model.v_slices, strict=True):
        if type(body.joint.type).integrate is not JointType.integrate:
            wanted = [*kept, *range(at.start, at.stop)]
            left = np.delete(ranked.rows @ ranked.V.T, wanted, axis=1)
            acting = np.linalg.svd(left, compute_uv=False)[: ranked.rank]
            least = _STILL_ACTING * (ranked.smallest or 0.0)
            kept = wanted if len(acting) == ranked.rank and np.all(acting > least) else kept
    chosen = pivots(model, ranked, kept)
    rows, columns = (tuple(sorted(int(pair[i]) for pair in chosen)) for i in (0, 1))
    return Choice(rows, columns)


def require_regular_start(robot: Robot, method: str, time: float, q: Array, length: float) -> None:
    """Refuse a start on which the method cannot tell how the motion goes on.

    Raises:
        Trouble: If fewer constraints act there than nearby.
    """
    if len(choose(robot, q, length).rows) < len(first_choice(robot, q, length)[0].rows):
        raise Trouble(
            time,
            f"the start is on a singular configuration, from which {method!r} cannot start",
            'a start beside it, or "projection"',
        )


def first_choice(robot: Robot, q: Array, length: float) -> tuple[Choice, Array]:
    """Return the choice to start with, and where it was made (nq,).

    That is a configuration nearby where a constraint acts by less than `WEAK` at `q`: how strongly
    it acts, against which margins are measured, is rounding on a singular configuration.
    """
    found, place = choose(robot, q, length), q
    best = (len(found.rows), _weakest(robot, q, length))
    rng, model = np.random.default_rng(0), robot.model
    scales = length / coordinate_scales(model, length)
    doubtful = model.constraint_count > len(found.rows) or best[1] < WEAK
    for _ in range(_LOOKS if doubtful else 0):
        step = _NEARBY * scales * rng.normal(size=model.nv)
        moved = np.array(model.integrate(q.tolist(), step.tolist()), dtype=float)
        try:
            near = robot.assemble(moved, limits=False, restarts=0, length=length).q
        except AssemblyError:
            continue
        other = choose(robot, near, length)
        acting = (len(other.rows), _weakest(robot, near, length))
        if acting[0] > best[0] or (acting[0] == best[0] and best[1] < WEAK < acting[1]):
            found, place, best = other, near, acting
    return found, place


def _weakest(robot: Robot, q: Array, length: float) -> float:
    """Return how strongly the weakest constraint acts, as a part of the strongest."""
    K, error = robot.closure(q)
    ranked = constraint_rank(robot.model, K, error, q, length=length)
    return float(ranked.s[-1] / ranked.s[0]) if ranked.rank else 1.0
