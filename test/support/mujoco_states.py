# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""States and dynamics of MuJoCo in the coordinates of this package."""

from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

#: Forces that are no part of a mechanism.
FORCES = ("CONTACT", "LIMIT", "FRICTIONLOSS", "SPRING", "DAMPER", "ACTUATION", "EQUALITY")


class Converted(NamedTuple):
    """A state of MuJoCo's in our coordinates.

    Attributes:
        q: Positions (nq,).
        qd: Velocities (nv,), `rate @ qvel`.
        rate: Our velocities from MuJoCo's (nv, nv).
        rate_dot: Its time derivative (nv, nv).
    """

    q: np.ndarray
    qd: np.ndarray
    rate: np.ndarray
    rate_dot: np.ndarray


def compiled(mujoco: Any, text: str) -> Any:
    """Return MuJoCo's model of a text, with the forces of a mechanism alone."""
    model = mujoco.MjModel.from_xml_string(text)
    for name in FORCES:
        model.opt.disableflags |= getattr(mujoco.mjtDisableBit, f"mjDSBL_{name}")
    return model


def converted(mujoco: Any, m: Any, qpos: np.ndarray, qvel: np.ndarray) -> Converted:
    """Return a state; free joints have angular velocities first, all in axes of the body."""
    kinds = mujoco.mjtJoint
    q: list[float] = []
    rate, rate_dot = np.eye(m.nv), np.zeros((m.nv, m.nv))
    for joint in range(m.njnt):
        at, dof = m.jnt_qposadr[joint], m.jnt_dofadr[joint]
        if m.jnt_type[joint] == int(kinds.mjJNT_FREE):
            x, y, z, w, i, j, k = qpos[at : at + 7]
            q += [x, y, z, i, j, k, w]
            R = Rotation.from_quat([i, j, k, w]).as_matrix()
            omega = np.cross(np.eye(3), qvel[dof + 3 : dof + 6])  # its cross product matrix
            block = slice(dof, dof + 6)
            rate[block, block] = np.block([[np.zeros((3, 3)), np.eye(3)], [R.T, np.zeros((3, 3))]])
            rate_dot[dof + 3 : dof + 6, dof : dof + 3] = -omega @ R.T
        elif m.jnt_type[joint] == int(kinds.mjJNT_BALL):
            w, i, j, k = qpos[at : at + 4]
            q += [i, j, k, w]
        else:
            q.append(qpos[at])
    return Converted(np.array(q), rate @ qvel, rate, rate_dot)


def inertia(mujoco: Any, m: Any, d: Any) -> np.ndarray:
    """Return M (nv, nv)."""
    M = np.zeros((m.nv, m.nv))
    mujoco.mj_fullM(m, d, M)
    return M


def closed_state(mujoco: Any, m: Any, random: np.random.Generator) -> tuple[Any, np.ndarray]:
    """Return data of MuJoCo with closed equalities and velocities that keep them; J (rows, nv).

    Newton's method on MuJoCo's own residuals and Jacobian.
    """
    m.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_EQUALITY)
    m.opt.jacobian = 0
    d = mujoco.MjData(m)
    qpos = d.qpos.copy()
    mujoco.mj_integratePos(m, qpos, 0.05 * random.normal(size=m.nv), 1.0)
    for _ in range(100):
        d.qpos[:] = qpos
        mujoco.mj_forward(m, d)
        J, residual = d.efc_J.reshape(-1, m.nv)[: d.ne].copy(), d.efc_pos[: d.ne]
        if np.abs(residual).max() < 1e-13:
            break
        mujoco.mj_integratePos(m, qpos, -np.linalg.lstsq(J, residual, rcond=1e-9)[0], 1.0)
    assert np.abs(residual).max() < 1e-12
    d.qvel[:] = null_space(J) @ random.normal(size=null_space(J).shape[1])
    mujoco.mj_forward(m, d)
    return d, J


def null_space(J: np.ndarray) -> np.ndarray:
    """Return a basis (nv, freedoms) of the velocities that constraints allow."""
    _, values, rows = np.linalg.svd(J)
    return rows[int((values > 1e-9 * values[0]).sum()) :].T


def constrained_acceleration(
    mujoco: Any, m: Any, d: Any, J: np.ndarray, tau: np.ndarray
) -> np.ndarray:
    """Return the acceleration of closed loops (nv,): M a + J' f = tau - c, J a = -dJ/dt v.

    The derivative of J is that of differences along the motion, extrapolated twice.
    """

    def slope(h: float) -> np.ndarray:
        sides = []
        for time in (h, -h):
            qpos, other = d.qpos.copy(), mujoco.MjData(m)
            mujoco.mj_integratePos(m, qpos, d.qvel, time)
            other.qpos[:] = qpos
            mujoco.mj_forward(m, other)
            sides.append(other.efc_J.reshape(-1, m.nv)[: other.ne].copy())
        return (sides[0] - sides[1]) / (2.0 * h)

    h = 2e-3 / max(1.0, float(np.abs(d.qvel).max()))
    rough, half, quarter = slope(h), slope(0.5 * h), slope(0.25 * h)
    first, second = (4.0 * half - rough) / 3.0, (4.0 * quarter - half) / 3.0
    J_dot = (16.0 * second - first) / 15.0
    M, Z = inertia(mujoco, m, d), null_space(J)
    particular = np.linalg.lstsq(J, -J_dot @ d.qvel, rcond=1e-9)[0]
    free = Z.T @ (tau - d.qfrc_bias - M @ particular)
    return particular + Z @ np.linalg.solve(Z.T @ M @ Z, free)
