# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Which constraints a compiled step heeds, and which coordinates it lets follow from the others.

Code that factors K H^-1 K^T wants independent rows of K; a planar loop closed by a revolute joint
has two among five. The choice is made at one configuration, and a step checks it: constraints
that are left out have to stay closed, and pivots must not become small.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from robot_dynamics.dynamics.assembly import AssemblyError
from robot_dynamics.dynamics.rank import constraint_rank
from robot_dynamics.dynamics.scaling import coordinate_scales
from robot_dynamics.model import Model
from robot_dynamics.model.joints.base import JointType
from robot_dynamics.robot import Robot

Array = NDArray[np.float64]

# Where the rank drops at the start, rows are chosen this far away [rad, or lengths].
_NEARBY = 0.05
_LOOKS = 4
# How much smaller the pivots may be for joints with quaternions not to be torn.
_PREFERENCE = 100.0


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
    """Return the choice of largest pivots at positions `q` (nq,) with closed loops."""
    K, error = robot.closure(q)
    ranked = constraint_rank(robot.model, K, error, q, length=length)
    if ranked.rank == 0:
        return Choice((), ())
    J = ranked.rows @ ranked.V.T
    _, _, order = qr(J.T, mode="economic", pivoting=True)
    rows = tuple(sorted(int(i) for i in order[: ranked.rank]))
    return Choice(rows, _dependent(robot.model, J[list(rows)]))


def _dependent(model: Model, J: Array) -> tuple[int, ...]:
    """Return the coordinates with the largest pivots of independent rows (8.51).

    Positions of joints with quaternions have no coordinates of their own to keep: such joints
    are independent altogether if that is possible, or else dependent altogether.
    """
    curved = [
        at
        for body, at in zip(model.bodies, model.v_slices, strict=True)
        if type(body.joint.type).integrate is not JointType.integrate
    ]
    for preference in (1.0 / _PREFERENCE, _PREFERENCE):
        weights = np.ones(model.nv)
        for at in curved:
            weights[at] = preference
        _, _, order = qr(J * weights, mode="economic", pivoting=True)
        chosen = tuple(sorted(int(i) for i in order[: len(J)]))
        counts = [(len(set(chosen) & set(range(at.start, at.stop))), at) for at in curved]
        if all(count in (0, at.stop - at.start) for count, at in counts):
            break
    return chosen


def first_choice(robot: Robot, q: Array, length: float) -> Choice:
    """Return the choice to start with: that of a configuration nearby where `q` is singular."""
    found = choose(robot, q, length)
    rng, model = np.random.default_rng(0), robot.model
    scales = length / coordinate_scales(model, length)
    for _ in range(_LOOKS if model.constraint_count > len(found.rows) else 0):
        step = _NEARBY * scales * rng.normal(size=model.nv)
        moved = np.array(model.integrate(q.tolist(), step.tolist()), dtype=float)
        try:
            near = robot.assemble(moved, limits=False, restarts=0, length=length).q
        except AssemblyError:
            continue
        other = choose(robot, near, length)
        found = other if len(other.rows) > len(found.rows) else found
    return found
