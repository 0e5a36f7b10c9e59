# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Predicted motion of the arms along a plan under the control law.

The arms' self-motion follows from the joint accelerations of the law. Positions and velocities are
corrected by closing the contacts on the plan, in the metric of the arms' inertia, so that errors
of rounding and of the step do not accumulate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.control.closed_path import ClosedPath
from robot_dynamics.manipulation.hybrid import Contact
from robot_dynamics.manipulation.system import GraspSystem


class LawParts(NamedTuple):
    """Results of a law without limits at a state on its plan; over na arm joints.

    Attributes:
        torque: Command (na,).
        support: Support torque in it (na,).
        acceleration: Resulting joint accelerations (na,).
        pivot: Smallest relative pivot of an arm's J H^-1 J^T; 0 at a singularity.
        tilt: Tilt of each soft finger from its grasp (s,) [rad].
    """

    torque: Array
    support: Array
    acceleration: Array
    pivot: float
    tilt: Array


#: Of the number of an instant, and the model's positions (nq,) and velocities (nv,) there.
LawAlongPlan = Callable[[int, Array, Array], LawParts]
#: Of the rows of a plan at its instants, for each body of the object (N, w).
UnlimitedLaw = Callable[[Sequence[Array]], LawAlongPlan]


@dataclass(frozen=True)
class Rollout:
    """The arms along a plan; N times, na arm joints.

    Attributes:
        times: Times (N,) [s].
        at: Positions of the whole model (N, nq).
        q: Positions of the arm joints (N, na).
        qd: Velocities (N, na).
        torque: Command of the law without limits (N, na).
        support: Support torque in it (N, na).
        pivot: Smallest relative pivot of an arm's J H^-1 J^T (N,); 0 at a singularity.
        tilt: Tilt of each soft finger from its grasp (N, s) [rad].
        failed_at: Time from which the contacts could not be closed, or None [s].
        gaps: Closure error then: distance [m] and angle [rad] for each arm (k, 2).
    """

    times: Array
    at: Array
    q: Array
    qd: Array
    torque: Array
    support: Array
    pivot: Array
    tilt: Array
    failed_at: float | None
    gaps: Array


def rollout(
    system: GraspSystem,
    terms: Any,
    law: UnlimitedLaw,
    rows: Sequence[Array],
    times: Array,
    q: Array,
    contacts: Sequence[Contact] | None = None,
) -> Rollout:
    """Return the motion along a plan at evenly spaced times.

    Args:
        system: Arms and object.
        terms: `Robot.constraint_terms` of its model.
        law: The control law without limits.
        rows: Rows of the plan at the times, for each body of the object (N, w).
        times: Times of the plan (N,) [s], 10 to 20 ms apart.
        q: Positions of the arm joints at the start (na,).
        contacts: How each arm holds the object; rigidly by default.
    """
    path = ClosedPath(system, terms, contacts)
    path.at = system.positions(q)
    step = float(times[1] - times[0]) if len(times) > 1 else 0.0
    along, na = law(rows), len(q)
    positions, rates, found = [], [], list[LawParts]()
    failed_at, gaps = None, np.zeros((len(system.arms), 2))
    for i, time in enumerate(times.tolist()):
        here = [part[i] for part in rows]
        if not path.close(*here):
            failed_at, gaps = time, path.gaps()
            break
        positions.append(path.at.copy())
        rates.append(path.rate.copy())
        found.append(along(i, path.at, path.rate))
        path.advance(step, found[-1].acceleration)
    count = len(found)
    at = np.reshape(positions, (count, system.model.nq))
    rate = np.reshape(rates, (count, system.model.nv))
    return Rollout(
        times[:count],
        at,
        at[:, system.q_index],
        rate[:, system.v_index],
        np.reshape([each.torque for each in found], (count, na)),
        np.reshape([each.support for each in found], (count, na)),
        np.array([each.pivot for each in found]),
        np.reshape([each.tilt for each in found], (count, len(found[0].tilt) if found else 0)),
        failed_at,
        gaps,
    )
