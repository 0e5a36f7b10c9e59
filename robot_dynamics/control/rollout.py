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
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.control.closed_path import ClosedPath
from robot_dynamics.manipulation.hybrid import Contact
from robot_dynamics.manipulation.system import GraspSystem


class LawParts(NamedTuple):
    """Results of a law without limits at states on its plan; over na arm joints.

    Attributes:
        torque: Command (..., na).
        support: Support torque in it (..., na).
        acceleration: Resulting joint accelerations (..., na).
        pivot: Smallest relative pivot of an arm's J H^-1 J^T (...); 0 at a singularity.
        tilt: Tilt of each soft finger from its grasp (..., s) [rad].
    """

    torque: Array
    support: Array
    acceleration: Array
    pivot: Array
    tilt: Array


#: From positions (..., nq) and velocities (..., nv) of the model, the object's among them, and
#: rows of the plan for each body of the object (..., w).
UnlimitedLaw = Callable[[Array, Array, Sequence[Array]], LawParts]


class LawAlongPlan(Protocol):
    """A law without limits at the instants of a plan, one after the other."""

    def acceleration(self, i: int, at: Array, rate: Array) -> Array:
        """Return the accelerations of the arm joints (na,) at a state at an instant."""

    def parts(self, at: Array, rate: Array) -> LawParts:
        """Return the results at the states (n, nq) and (n, nv) of the first n instants."""


@runtime_checkable
class PreparedLaw(Protocol):
    """An `UnlimitedLaw` with a faster way along a plan."""

    def along(self, rows: Sequence[Array]) -> LawAlongPlan:
        """Return the law along rows of a plan, for each body of the object (N, w)."""


class _AlongPlan(NamedTuple):
    """Any law along a plan."""

    law: UnlimitedLaw
    rows: Sequence[Array]

    def acceleration(self, i: int, at: Array, rate: Array) -> Array:
        return self.law(at, rate, [part[i] for part in self.rows]).acceleration

    def parts(self, at: Array, rate: Array) -> LawParts:
        return self.law(at, rate, [part[: len(at)] for part in self.rows])


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
    along = law.along(rows) if isinstance(law, PreparedLaw) else _AlongPlan(law, rows)
    positions, rates = [], []
    failed_at, gaps = None, np.zeros((len(system.arms), 2))
    for i, time in enumerate(times.tolist()):
        here = [part[i] for part in rows]
        if not path.close(*here):
            failed_at, gaps = time, path.gaps()
            break
        positions.append(path.at.copy())
        rates.append(path.rate.copy())
        acceleration = along.acceleration(i, path.at, path.rate)
        path.advance(step, acceleration)
    count = len(positions)
    at = np.reshape(positions, (count, system.model.nq))
    rate = np.reshape(rates, (count, system.model.nv))
    found = along.parts(at, rate)
    return Rollout(
        times[:count],
        at,
        at[:, system.q_index],
        rate[:, system.v_index],
        found.torque,
        found.support,
        found.pivot,
        found.tilt,
        failed_at,
        gaps,
    )
