# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""How arms follow their contacts on a reference: joints, singularities, torques, beforehand."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from robot_dynamics.control.hybrid.planned_forces import ObjectMotion
from robot_dynamics.dynamics.kinematics import body_transforms, joint_transforms, link_transform
from robot_dynamics.errors import ArgumentError
from robot_dynamics.manipulation.hybrid import Contact, HybridSystem, HybridTerms
from robot_dynamics.model import pose, pose_of

Array = NDArray[np.float64]

_STEPS, _CLOSED = 12, 1e-9  # of Newton's method; what is left counts as closed [m, rad]


class ArmPath(NamedTuple):
    """Arms along a reference, as far as they can follow.

    Attributes:
        q: Joint positions (M, nq), M <= N.
        torque: What motion, weight and contact forces need (M, n).
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
        system: Arms without loops of their own, object and contacts.
        motion: Of the object's centre of mass (N,).
        forces: Contact forces (N, d).
        times: (N,) [s].
        q: Where the arms begin (nq,); tools at their contacts.

    Raises:
        ArgumentError: If the arms have loops.
    """
    if system.drives or system.arms.nq != system.arms.nv:
        raise ArgumentError("paths are followed by arms whose joints have one coordinate each.")
    center = np.asarray(system.held.center, dtype=float)
    found: list[tuple[Array, Array, Array]] = []
    q, before = np.array(q, dtype=float), motion.twist[0]
    qd = np.zeros(system.arms.nv)
    k = len(system.contacts)
    for i in range(len(times)):
        at = pose(motion.x[i] - motion.R[i] @ center, motion.R[i])
        if i:
            # Velocities that contacts block, but no place, are followed by their rates.
            step = 0.5 * (before + motion.twist[i]) * (times[i] - times[i - 1])
            terms = system.terms(q, qd, at, step)
            q = q + _least(terms.J_S, terms.W_S.T @ step)
        q, gaps = _closed(system, q, at)
        if not np.all(gaps <= _CLOSED):
            return _path(system, found, gaps)
        terms = system.terms(q, qd, at, motion.twist[i])
        qd = _least(terms.J_S, terms.W_S.T @ motion.twist[i])
        terms = system.terms(q, qd, at, motion.twist[i])
        qdd = _least(terms.J_S, terms.W_S.T @ motion.acceleration[i] + terms.drift)
        torque = terms.M @ qdd + terms.h + terms.J_S.T @ forces[i]
        found.append((q, torque, _freedom(system, terms)))
        before = motion.twist[i]
    return _path(system, found, np.zeros(k))


def _path(system: HybridSystem, found: list[tuple[Array, Array, Array]], gaps: Array) -> ArmPath:
    sizes = (system.arms.nq, system.arms.nv, len(system.contacts))
    columns = [
        np.array([row[j] for row in found]).reshape(-1, size) for j, size in enumerate(sizes)
    ]
    return ArmPath(columns[0], columns[1], columns[2], gaps)


def _least(J: Array, velocity: Array) -> Array:
    return np.asarray(np.linalg.lstsq(J, velocity, rcond=1e-9)[0])


def _closed(system: HybridSystem, q: Array, at: Array) -> tuple[Array, Array]:
    """Return joint positions with tools at their contacts, and what is left of each (k,)."""
    still, none = np.zeros(system.arms.nv), np.zeros(6)
    for _ in range(_STEPS):
        errors = _errors(system, q, at)
        gaps = np.array([np.linalg.norm(error) for error in errors])
        if np.all(gaps <= _CLOSED) or not np.all(np.isfinite(gaps)):
            break
        J_S = system.terms(q, still, at, none).J_S
        q = q + _least(J_S, np.concatenate(errors))
    return q, gaps


def _errors(system: HybridSystem, q: Array, at: Array) -> list[Array]:
    """Return how far contacts are from tools in what they block (d_i,) [m, rad]."""
    model = system.arms
    X0 = body_transforms(model, joint_transforms(model, q.tolist()))
    errors = []
    for tool, contact in zip(system.tools, system.contacts, strict=True):
        there = pose_of(link_transform(model.link(tool), X0))
        wanted = at @ contact.pose
        R = wanted[:3, :3]
        turn = _turn(contact, there[:3, :3].T @ R)
        away = np.concatenate([there[:3, :3] @ turn, wanted[:3, 3] - there[:3, 3]])
        own = np.concatenate([R.T @ away[:3], R.T @ away[3:]])
        errors.append(contact.directions.T @ own)
    return errors


def _turn(contact: Contact, R: Array) -> Array:
    """Return the rotation vector from tool to contact, in the tool's axes, as far as it counts.

    A contact that blocks rotation about one axis only blocks a rate, and no place.
    """
    blocked = contact.directions[:3, np.linalg.norm(contact.directions[3:], axis=0) == 0.0]
    rank = int(np.linalg.matrix_rank(blocked)) if blocked.size else 0
    if rank == 3:
        return np.asarray(Rotation.from_matrix(R).as_rotvec())
    if rank == 2:  # one axis keeps its direction
        axis = np.linalg.svd(blocked)[0][:, 2]
        return np.cross(axis, R @ axis)
    return np.zeros(3)


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
