# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Dynamics of any multibody system over the accelerations of its bodies (sections 3.7 and 8.13).

Every joint, in the tree or in a loop, constrains its two bodies. One sparse system is solved for
the accelerations of all bodies and the constraint forces of all joints:

    [[I, P T], [T^T P^T, 0]] [a; -lambda] = [P T_a tau - v x* I v + f_x; -Tdot^T P^T v]   (8.64)

Its cost grows with the number of bodies; the cost of joint-space methods also grows with the
length of chains and loops. It runs on the model's data, without tracing or compilation. Bodies
move in their own coordinates, and each joint's equations are in its successor's frame, so that no
precision is lost far from the base.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import bsr_matrix, csr_matrix, diags

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.active_joint_forces import ActiveJoints
from robot_dynamics.dynamics.arguments import finite_vector
from robot_dynamics.dynamics.joint_equations import JointEquations, joint_equations
from robot_dynamics.dynamics.joint_layout import JointLayout
from robot_dynamics.dynamics.rank import rank_tolerance
from robot_dynamics.dynamics.redundant import ConstrainedMotion
from robot_dynamics.dynamics.saddle import SaddlePoint
from robot_dynamics.dynamics.scaling import constraint_names, constraint_scales, model_length
from robot_dynamics.errors import require_length
from robot_dynamics.model import WORLD, Model
from robot_dynamics.spatial import Force, Inertia, Motion

# Closure error at which the tolerance stops growing: beyond it, results do not apply to the closed
# mechanism.
_LOOSEST = 0.1
# Entry of a null vector below which it does not involve a constraint.
_UNTOUCHED = 1e-5


@dataclass(frozen=True, kw_only=True)
class MaximalMotion(ConstrainedMotion):
    """Accelerations, constraint forces, and the forces transmitted by every joint.

    Unlike in the rank-revealing solution, `tolerance` and `conditioning` are in the metric of
    inertia: the velocity that a constraint takes from its two bodies, as a share of the velocity
    it would take from free bodies. `residual` includes all constraints, those of tree joints too.

    Attributes:
        joint_forces: Force that each joint transmits to its successor, including springs, dampers
            and drives, in the joint's successor frame, tree joints first (joints, 6) [N m, N].
            With redundant constraints it follows from the `multipliers`.
        fill: Number of entries of the factors.
    """

    joint_forces: Array
    fill: int


def maximal_coordinate_solution(
    model: Model,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    *,
    length: float | None = None,
    stabilisation_time: float | None = None,
    tolerance: float | None = None,
    efforts: ArrayLike | None = None,
    external: Sequence[Force] | None = None,
) -> MaximalMotion:
    """Return accelerations and all joint forces, by the sparse matrix method.

    For many states of a model use a `MaximalCoordinates` instead.

    Args:
        model: The mechanism.
        q: Positions (nq,).
        qd: Velocities (nv,).
        tau: Joint forces (nv,), with friction already subtracted.
        length: Length [m] at which a rotation counts like a displacement; that of a typical link
            by default.
        stabilisation_time: T_stab of Baumgarte's method [s]; None for no stabilisation.
        tolerance: Least strength of a constraint that counts, as a share of its strength on free
            bodies; by default from closure error and rounding.
        efforts: Efforts of the drives in loop joints (drives,) [N m or N], in the order of
            `model.loop_drive_names`; zero by default.
        external: External forces on the bodies, each in its body's coordinates.

    Raises:
        RobotDynamicsError: If a number is not finite, or a moving body has no inertia.
    """
    return MaximalCoordinates(model, length=length).solve(
        q,
        qd,
        tau,
        stabilisation_time=stabilisation_time,
        tolerance=tolerance,
        efforts=efforts,
        external=external,
    )


class MaximalCoordinates:
    """A model prepared for the sparse matrix method: the parts that do not depend on the state.

    Attributes:
        model: The mechanism.
        length: Length [m] at which a rotation counts like a displacement.
    """

    def __init__(self, model: Model, *, length: float | None = None) -> None:
        self.model = model
        self.length = model_length(model) if length is None else length
        self._layout = JointLayout(model)
        self._active = ActiveJoints(model)
        self._names = constraint_names(model)
        self._scales = constraint_scales(model, self.length)
        self._inertias = _inertia_matrices([body.inertia for body in model.bodies])
        self._inertia = _block_diagonal(self._inertias)

    def solve(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        *,
        stabilisation_time: float | None = None,
        tolerance: float | None = None,
        efforts: ArrayLike | None = None,
        external: Sequence[Force] | None = None,
    ) -> MaximalMotion:
        """Return the motion at one state; see `maximal_coordinate_solution`."""
        model = self.model
        drives = len(model.loop_drives)
        positions, speeds, active, driving = (
            finite_vector(name, values, count)
            for name, values, count in (
                ("q", q, model.nq),
                ("qd", qd, model.nv),
                ("tau", tau, model.nv),
                ("efforts", np.zeros(drives) if efforts is None else efforts, drives),
            )
        )
        joints = joint_equations(self._layout, model.gravity, positions, speeds)
        k, count = joints.k, len(joints.position_error)
        if stabilisation_time is not None:
            rate = 1.0 / stabilisation_time  # Eq 8.22
            k = k.copy()
            k[len(k) - count :] -= (
                2.0 * rate * joints.velocity_error + rate * rate * joints.position_error
            )
        errors = self._scales * joints.position_error * model.holonomic
        gap = float(np.max(np.abs(errors), initial=0.0))
        if tolerance is None:
            tolerance = min(rank_tolerance(model, gap, 1.0, self.length), _LOOSEST)

        G, armature = joints.G, model.armature
        M = self._inertia
        if armature.any():  # a rotor's force -J qdd, where qdd = G a + g
            M = (M + G.T @ diags(armature) @ G).tocsr()
        active = active + self._active.of_tree(positions, speeds)
        of_loops = self._active.of_loops(joints.loops, driving)
        f = G.T @ (active - armature * joints.g) + self._body_forces(joints, of_loops, external)
        system = SaddlePoint(M, joints.K, self._scales, tolerance)
        a, multipliers = system.solve(f, k)
        residual = float(np.max(np.abs(joints.K @ a - k), initial=0.0))
        qdd = G @ a + joints.g
        return self._motion(joints, system, qdd, multipliers, active, of_loops, residual, gap)

    def _body_forces(
        self, joints: JointEquations, of_loops: Array, external: Sequence[Force] | None
    ) -> Array:
        """Return P T_a tau of the loop joints + f_x - v x* I v of all bodies (6 N_B,)."""
        v, layout = joints.v, self._layout
        momentum = Force.of(list(np.einsum("nij,nj->ni", self._inertias, v).T))
        forces = -np.stack(Motion.of(list(v.T)).cross_force(momentum).components(), axis=-1)
        if external is not None:
            require_length("external", external, len(v), "one force for each body")
            forces += np.array([force.components() for force in external], dtype=float)
        if of_loops.any():
            for ends, to_joint, sign in (
                (layout.successor, joints.loops.of_successor, 1.0),
                (layout.predecessor, joints.loops.of_predecessor, -1.0),
            ):
                on = ends[layout.bodies :]
                body = on != WORLD
                push = sign * np.einsum("nij,ni->nj", to_joint, of_loops)
                np.add.at(forces, on[body], push[body])
        return forces.ravel()

    def _motion(
        self,
        joints: JointEquations,
        system: SaddlePoint,
        qdd: Array,
        multipliers: Array,
        tau: Array,
        of_loops: Array,
        residual: float,
        gap: float,
    ) -> MaximalMotion:
        layout, count = self._layout, len(joints.position_error)
        couplings = layout.couplings.shape[0]
        active = tau - self.model.armature * qdd
        if couplings:
            active = active + layout.couplings.T @ multipliers[len(multipliers) - couplings :]
        transmitted = np.concatenate([np.zeros((layout.bodies, 6)), of_loops])
        bearing = joints.T * multipliers[: layout.joint_rows, None]
        np.add.at(transmitted, layout.joint_of_row, bearing)
        np.add.at(transmitted, layout.joint_of_freedom, joints.T_a * active[:, None])
        idle = system.idle
        undetermined = np.linalg.norm(idle, axis=1) > _UNTOUCHED
        return MaximalMotion(
            qdd=qdd,
            multipliers=multipliers[len(multipliers) - count :],
            rank=count - idle.shape[1],
            redundant=tuple(self._names[i] for i in _implied(idle)),
            determined=~undetermined,
            undetermined=tuple(self._names[i] for i in np.flatnonzero(undetermined)),
            residual=residual,
            closure_error=gap,
            tolerance=system.tolerance,
            conditioning=system.weakest,
            length=self.length,
            joint_forces=transmitted,
            fill=system.fill,
        )


def _implied(idle: Array) -> list[int]:
    """Return the rows that earlier rows imply, from an orthonormal basis (n, d) of null vectors.

    A row is implied by earlier rows exactly if a null vector ends in it.
    """
    basis, found = idle.copy(), []
    for row in range(len(basis) - 1, -1, -1):
        if basis.shape[1] == 0:
            break
        ends = basis[row]
        size = float(np.linalg.norm(ends))
        if size <= _UNTOUCHED:
            continue
        found.append(row)
        # A reflection leaves one vector that ends here; the others end before.
        mirror = ends.copy()
        mirror[0] += np.copysign(size, ends[0])
        basis = basis - np.outer(basis @ mirror, mirror) * (2.0 / (mirror @ mirror))
        basis = basis[:, 1:]
    return found[::-1]


def _inertia_matrices(inertias: Sequence[Inertia]) -> Array:
    """Return rigid-body inertias as matrices (n, 6, 6) (2.63)."""
    values = np.array([inertia.components() for inertia in inertias], dtype=float).reshape(-1, 10)
    merged = Inertia.of(list(values.T))
    columns = [(merged * Motion.of(unit)).components() for unit in np.eye(6).tolist()]
    return np.stack(
        [np.stack([np.broadcast_to(x, len(values)) for x in c], axis=-1) for c in columns], axis=-1
    )


def _block_diagonal(blocks: Array) -> csr_matrix:
    count = len(blocks)
    return bsr_matrix(
        (blocks, np.arange(count), np.arange(count + 1)), shape=(6 * count, 6 * count)
    ).tocsr()
