# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The motion of the arms along the plan of a jointed object, before it is made.

Joints follow the path by Newton's method, redundant arms as near to their start as it lets them;
torques are those of the law there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.control.jointed.desired_joints import DesiredJoints
from robot_dynamics.control.reference import POSE
from robot_dynamics.control.rollout import Rollout
from robot_dynamics.errors import RobotDynamicsError

if TYPE_CHECKING:  # it calls this itself
    from robot_dynamics.control.jointed.law import JointedLaw

Array = NDArray[np.float64]

_SPACING = 0.01  # of the instants that are looked at [s]


def fold_rollout(law: JointedLaw, terms: Any, q: Array) -> Rollout:
    """Return the motion along the plan of a law at evenly spaced times.

    Args:
        law: The law; it is not changed.
        terms: `Robot.constraint_terms` of its grasp system.
        q: Positions of the arm joints at the start (n,).
    """
    plan, system = law.reference, law.system
    duration = max(plan.duration, _SPACING)
    times = np.linspace(0.0, duration, int(np.ceil(duration / _SPACING)) + 1)
    path = plan.path.at(times)
    order = np.concatenate([part.v_index for part in law.jointed.parts])
    start = np.empty(len(q))
    start[order] = q
    joints = DesiredJoints(law.model, start)
    positions: list[Array] = []
    rates: list[Array] = []
    failed_at, gaps = None, np.zeros((len(system.arms), 2))
    for tick, time in enumerate(times):
        try:
            at, rate, _ = joints.at(path[tick])
        except RobotDynamicsError:
            near = np.array([positions[-1] if positions else q])
            failed_at, gaps = float(time), _gaps(law, terms, near, times[tick : tick + 1])
            break
        positions.append(at[order])
        rates.append(rate[order])
    count = len(positions)
    q_path, qd_path = (np.reshape(x, (count, len(q))) for x in (positions, rates))
    times = times[:count]
    seen = law.parts(q, q_path, qd_path, plan.rows(times), plan.second_rows(times))
    return Rollout(
        times,
        q_path,
        qd_path,
        seen.primary + seen.push + seen.moving,
        seen.primary,
        _pivots(law, terms, q_path, times),
        failed_at,
        gaps,
    )


def _pivots(law: JointedLaw, terms: Any, q: Array, times: Array) -> Array:
    """Return the smallest relative pivot of an arm's J H^-1 J^T (N,), as the other law has it."""
    system, found = law.system, np.ones(len(q))
    still = np.zeros((len(q), system.model.nv))
    H, _, K, _, _, _ = terms(_positions(law, q, times), still)
    for arm in system.arms:
        own = arm.v_index
        J = K[:, 6 * arm.loop : 6 * arm.loop + 6, own]
        inertia = H[:, own[:, None], own]
        S = J @ np.linalg.solve(inertia, np.swapaxes(J, 1, 2))
        # Elimination runs from the last row to the first; pivots are relative to the diagonal.
        flipped = S[:, ::-1, ::-1]
        diagonal = np.diagonal(flipped, axis1=1, axis2=2)
        for i in range(len(q)):
            try:
                pivots = np.diag(np.linalg.cholesky(flipped[i])) ** 2
            except np.linalg.LinAlgError:
                pivots = np.zeros(6)
            found[i] = min(found[i], float(np.min(pivots / diagonal[i])))
    return found


def _gaps(law: JointedLaw, terms: Any, q: Array, time: Array) -> Array:
    """Return distance [m] and angle [rad] that each arm lacks to its part at a time (2, 2)."""
    at = _positions(law, q, time)[0]
    error = terms(at, np.zeros(law.system.model.nv))[4][:12].reshape(2, 2, 3)
    return np.asarray(np.linalg.norm(error, axis=-1)[:, ::-1])


def _positions(law: JointedLaw, q: Array, times: Array) -> Array:
    """Return positions (N, nq) with the arms at `q` (N, na) and the parts on their path."""
    system, plan = law.system, law.reference
    full = np.tile(system.model.neutral(), (len(q), 1))
    full[:, system.q_index] = q
    both = plan.rows(times), plan.second_rows(times)
    for body, rows in zip(system.object_bodies, both, strict=True):
        full[:, system.model.q_slices[body]] = rows[:, POSE]
    return full
