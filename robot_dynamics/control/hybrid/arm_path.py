# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""How arms follow their contacts on a reference: joints, singularities, torques, beforehand."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from robot_dynamics.compiled_model import CompiledModel
from robot_dynamics.control.hybrid.planned_forces import ObjectMotion
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.manipulation.hybrid import Contact, HybridSystem, HybridTerms
from robot_dynamics.manipulation.passive_joints import PassiveJoints
from robot_dynamics.model import pose

Array = NDArray[np.float64]

_STEPS, _CLOSED = 12, 1e-9  # of Newton's method; what is left counts as closed [m, rad]


class ArmPath(NamedTuple):
    """Arms along a reference, as far as they can follow.

    Attributes:
        q: Joint positions (M, nq), M <= N.
        torque: What motion, weight and contact forces need of the drives (M, n).
        freedom: How well each arm moves in the worst of the directions that its contact blocks, as
            part of the best (M, k); 0 at a singularity.
        gaps: What is left between each tool and its contact where the path ends early (k,)
            [m, rad]; zero if it does not.
    """

    q: Array
    torque: Array
    freedom: Array
    gaps: Array


def follow_contacts(
    system: HybridSystem, motion: ObjectMotion, forces: Array, times: Array, q: Array
) -> ArmPath:
    """Return the arms' path from joint positions, by the smallest steps.

    Args:
        system: Arms, object and contacts.
        motion: Of the object's centre of mass (N,).
        forces: Contact forces (N, d).
        times: (N,) [s].
        q: Where the arms begin (nq,); tools at their contacts.

    Raises:
        ArgumentError: If an arm has joints of several degrees of freedom.
    """
    if system.arms.nq != system.arms.nv:
        raise ArgumentError("paths are followed by arms whose joints have one coordinate each.")
    center = np.asarray(system.held.center, dtype=float)
    found: list[tuple[Array, Array, Array]] = []
    tools = CompiledModel(system.arms)
    kept = [_kept_axis(contact) for contact in system.contacts]
    arms = system.passive_joints
    q, before = np.array(q, dtype=float), motion.twist[0]
    qd = np.zeros(system.arms.nv)
    k = len(system.contacts)
    for i in range(len(times)):
        at = pose(motion.x[i] - motion.R[i] @ center, motion.R[i])
        if i:
            # Velocities that contacts block, but no place, are followed by their rates.
            step = 0.5 * (before + motion.twist[i]) * (times[i] - times[i - 1])
            terms = system.terms(q, qd, at, step)
            q = _moved(arms, q, _least(terms.J_S, terms.W_S.T @ step))
        q, gaps = _closed(system, tools, kept, q, at)
        if not np.all(gaps <= _CLOSED):
            return _path(system, found, gaps)
        terms = system.terms(q, qd, at, motion.twist[i])
        qd = arms.rates(q, _least(terms.J_S, terms.W_S.T @ motion.twist[i]))
        terms = system.terms(q, qd, at, motion.twist[i])
        qdd = _least(terms.J_S, terms.W_S.T @ motion.acceleration[i] + terms.drift)
        torque = terms.M @ qdd + terms.h + terms.J_S.T @ forces[i]
        found.append((q, torque, _freedom(system, terms)))
        before = motion.twist[i]
    return _path(system, found, np.zeros(k))


def _path(system: HybridSystem, found: list[tuple[Array, Array, Array]], gaps: Array) -> ArmPath:
    sizes = (system.arms.nq, len(system.drive_names), len(system.contacts))
    columns = [
        np.array([row[j] for row in found]).reshape(-1, size) for j, size in enumerate(sizes)
    ]
    return ArmPath(columns[0], columns[1], columns[2], gaps)


def _least(J: Array, velocity: Array) -> Array:
    return np.asarray(np.linalg.lstsq(J, velocity, rcond=1e-9)[0])


def _closed(
    system: HybridSystem, tools: CompiledModel, kept: list[Array | None], q: Array, at: Array
) -> tuple[Array, Array]:
    """Return joint positions with tools at their contacts, and what is left of each (k,)."""
    still, none = np.zeros(system.arms.nv), np.zeros(6)
    for _ in range(_STEPS):
        errors = [
            _error(contact, tools.pose(tool, q), at @ contact.pose, axis)
            for tool, contact, axis in zip(system.tools, system.contacts, kept, strict=True)
        ]
        gaps = np.array([np.linalg.norm(error) for error in errors])
        if np.all(gaps <= _CLOSED) or not np.all(np.isfinite(gaps)):
            break
        J_S = system.terms(q, still, at, none).J_S
        q = _moved(system.passive_joints, q, _least(J_S, np.concatenate(errors)))
    return q, gaps


def _moved(arms: PassiveJoints, q: Array, step: Array) -> Array:
    """Return positions (nq,) of all joints after a small step (n,) of the drives.

    Where the internal closed chains of the arms would not close they stay: contacts are left as
    far as they are.
    """
    try:
        return arms.positions(q[list(arms.drives)] + step, q)
    except RobotDynamicsError:
        return q


def _error(contact: Contact, there: Array, wanted: Array, kept: Array | None) -> Array:
    """Return how far a contact is from its tool in what it blocks (d,) [m, rad]."""
    R = wanted[:3, :3]
    turn = np.zeros(3)  # in the contact's axes
    if kept is not None:
        back = R.T @ there[:3, :3]
        turn = (
            np.cross(back @ kept, kept) if kept.any() else -Rotation.from_matrix(back).as_rotvec()
        )
    away = np.concatenate([turn, R.T @ (wanted[:3, 3] - there[:3, 3])])
    return np.asarray(contact.directions.T @ away)


def _kept_axis(contact: Contact) -> Array | None:
    """Return which axis keeps its place where a contact blocks rotation about the two others.

    Zero where it blocks all three; None where it blocks fewer, rates and no places.
    """
    alone = np.linalg.norm(contact.directions[3:], axis=0) == 0.0
    blocked = contact.directions[:3, alone]
    rank = int(np.linalg.matrix_rank(blocked)) if blocked.size else 0
    if rank == 3:
        return np.zeros(3)
    return np.linalg.svd(blocked)[0][:, 2] if rank == 2 else None


def _freedom(system: HybridSystem, terms: HybridTerms) -> Array:
    """Return the ratio of the extreme singular values of each arm's rows of S^T J (k,)."""
    ratios, start = [], 0
    for contact in system.contacts:
        at = slice(start, start + contact.directions.shape[1])
        start = at.stop
        turns = np.linalg.norm(contact.directions[3:], axis=0) == 0.0
        rows = terms.J_S[at] * np.where(turns, system.length, 1.0)[:, None]
        s = np.linalg.svd(rows, compute_uv=False)
        enough = len(s) == len(rows) and s[0] > 0.0
        ratios.append(s[-1] / s[0] if enough else 0.0)
    return np.array(ratios)
