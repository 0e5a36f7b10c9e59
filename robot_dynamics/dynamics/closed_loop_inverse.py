# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Inverse dynamics of closed loops: efforts of the drives that give a motion (section 8.12).

Constraint forces do no work on the free motions G, so that efforts u with tau = B u give the
accelerations exactly if G_u^T u = G^T tau_ID with G_u = B^T G (8.63). Too few drives leave motions
that they cannot produce, too many leave efforts that do no work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular

from robot_dynamics.arrays import Array, Vector
from robot_dynamics.dynamics.actuation import Actuation, Drives, actuation, drives_of
from robot_dynamics.dynamics.arguments import finite_vector
from robot_dynamics.dynamics.assembly import require_closed
from robot_dynamics.dynamics.consistency import (
    require_consistent_acceleration,
    require_consistent_velocity,
)
from robot_dynamics.dynamics.distribution import distribute
from robot_dynamics.dynamics.effort_request import EffortRequest
from robot_dynamics.dynamics.rank import LARGEST_OPENING, ConstraintRank, constraint_rank
from robot_dynamics.dynamics.redundant import least_multipliers, require_finite
from robot_dynamics.dynamics.scaling import coordinate_names
from robot_dynamics.dynamics.solution import solution
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model import Model

# Distance to a bound at which it counts as reached, relative to a typical force.
_AT_BOUND = 1e-8
# Multipliers below this share of the others are rounding.
_ROUNDING = 1e-11


@dataclass(frozen=True)
class ClosedLoopInverse:
    """Efforts that give a motion to a mechanism with closed loops, and their null space.

    Attributes:
        drives: Names of the p drives: coordinates of the tree in the model's order, then drives
            in loop joints.
        efforts: Their efforts u (p,) [N m or N].
        tau: The same as joint forces B u (nv,), as `forward_dynamics` takes them.
        qdd: Accelerations (nv,) under these efforts; for an underactuated mechanism the nearest to
            the desired ones in the metric of the inertia.
        missing: The desired accelerations less `qdd` (nv,); zero up to rounding if the drives can
            produce them.
        mobility: Number of independent motions, n - r.
        driven: Number of motions that the drives can force, rank of G_u (8.63).
        actuation: One of "none", "fully", "underactuated", "redundantly", "underactuated,
            redundantly".
        free: Names of mobility - driven coordinates on whose motions no drive does work.
        scales: Efforts over these have the least sum of squares (p,): 1 / sqrt(weight).
        null_space: Efforts that do no work and change no acceleration (p, p - driven);
            orthonormal once divided by `scales`.
        null_multipliers: Multipliers of each of them (n^c, p - driven).
        internal: The part of `efforts` in the null space (p,); the rest is the particular
            solution, of least effort without bounds and preferences.
        multipliers: Constraint forces lambda (n^c,) under these efforts [N m, N].
        determined: Whether motion and efforts determine each of them (n^c,); the others have the
            least sum of squares within the bounds, with moments divided by `length`.
        loop_forces: Forces of the loop joints on their successors (loops, 6), moment first, see
            `Robot.loop_forces`.
        held: Names of the bounds that were reached.
        beyond: Drives whose effort is above the model's limit.
        residual: Largest entry of H qdd + C - B u - K^T lambda [N m, N].
        rank: Number of independent constraints, r.
        redundant: Names of the constraints that the others imply, as "loop.direction".
        length: The length [m] that makes rotations and displacements comparable.
    """

    drives: tuple[str, ...]
    efforts: Array
    tau: Array
    qdd: Array
    missing: Array
    mobility: int
    driven: int
    actuation: str
    free: tuple[str, ...]
    scales: Array
    null_space: Array
    null_multipliers: Array
    internal: Array
    multipliers: Array
    determined: NDArray[np.bool_]
    loop_forces: Array
    held: tuple[str, ...]
    beyond: tuple[str, ...]
    residual: float
    rank: int
    redundant: tuple[str, ...]
    length: float

    @property
    def particular(self) -> Array:
        """The efforts (p,) without their part in the null space."""
        return self.efforts - self.internal

    @property
    def by_name(self) -> dict[str, float]:
        """The efforts by the names of the drives."""
        return dict(zip(self.drives, self.efforts.tolist(), strict=True))


def closed_loop_inverse(
    model: Model,
    q: Vector,
    qd: Vector,
    qdd: Vector,
    terms: Callable[[Array, Array], Sequence[Array]],
    loop_drives: Callable[[Array], Array],
    loop_forces: Callable[[Array, Array, Array, Array], Array],
    request: EffortRequest,
    *,
    length: float | None = None,
) -> ClosedLoopInverse:
    """Return efforts of the drives that give accelerations to a mechanism with closed loops.

    Args:
        model: The mechanism.
        q: Positions (nq,) that close the loops.
        qd: Velocities (nv,) that keep them closed.
        qdd: Accelerations (nv,) that keep them closed.
        terms: `(q, qd) -> (H, C, K, k, position error, ...)`, see `Robot.constraint_terms`.
        loop_drives: `(q) -> B` of the drives in loop joints (nv, drives), see
            `loop_drive_matrix`.
        loop_forces: `(q, qd, multipliers, efforts) -> forces`, see `loop_joint_forces`.
        request: Choice among the efforts.
        length: Length [m] at which a rotation counts like a displacement; that of a typical link
            by default.

    Raises:
        AssemblyError: If the loops are open, or would open; it names them and the errors.
        InfeasibleError: If no efforts within the bounds give the motion; it names the bounds.
        UnknownNameError: If there is no drive, constraint or loop joint of a name.
        ArgumentError: If an argument has the wrong shape or is not finite.
        RobotDynamicsError: If there is no solver for bounds.
    """
    q = finite_vector("q", q, model.nq)
    qd, qdd = finite_vector("qd", qd, model.nv), finite_vector("qdd", qdd, model.nv)
    H, C, K, k, error = terms(q, qd)[:5]
    K = K.reshape(model.constraint_count, model.nv)
    require_finite(H, C, K, k)
    ranked = constraint_rank(model, K, error, q, length=length)
    require_closed(model, q, error, LARGEST_OPENING, ranked.length)
    require_consistent_velocity(model, ranked, K, q, qd, request.tolerance)
    if request.project:
        qdd = solution(model, ranked, H, H @ qdd, K, k).qdd
    else:
        require_consistent_acceleration(model, ranked, K, k, q, qd, qdd, request.tolerance)
    drives = drives_of(model, loop_drives(q), ranked.length, request.drives)
    forced = actuation(ranked, drives)
    scales = request.scales(model, drives, ranked.length)
    wanted, missing = _producible(forced, H, forced.G.T @ (H @ qdd + C))  # G^T tau_ID
    qdd = qdd - missing
    tau = H @ qdd + C
    efforts, null_space = _least_efforts(forced, drives, scales, wanted)
    null_multipliers = _null_multipliers(ranked, drives.B @ null_space)
    multipliers = least_multipliers(ranked, tau - drives.B @ efforts)

    unit = _typical_force(drives, ranked, efforts, multipliers)
    bounds = request.bounds(model, drives, ranked)
    idle = ranked.row_scales[:, None] * ranked.idle
    Z = np.block([[null_space, np.zeros((len(efforts), idle.shape[1]))], [null_multipliers, idle]])
    goals = request.goals(model, ranked, scales)
    start = np.concatenate([efforts, multipliers])
    x = distribute(model.name, start, Z, goals, bounds, unit)
    efforts, multipliers = x[: len(efforts)], x[len(efforts) :]
    traded = idle @ (ranked.idle.T @ (multipliers / ranked.row_scales))
    multipliers = least_multipliers(ranked, tau - drives.B @ efforts) + traded
    in_loops = drives.loop_efforts(efforts, len(model.loop_drives))
    return ClosedLoopInverse(
        drives=drives.names,
        efforts=efforts,
        tau=drives.B @ efforts,
        qdd=qdd,
        missing=missing,
        mobility=forced.G.shape[1],
        driven=forced.rank,
        actuation=forced.words(),
        free=_names_of_free(model, ranked, forced),
        scales=scales,
        null_space=null_space,
        null_multipliers=null_multipliers,
        internal=null_space @ (null_space.T @ (efforts / scales**2)),
        multipliers=multipliers,
        determined=ranked.determined,
        loop_forces=loop_forces(q, qd, multipliers, in_loops),
        held=bounds.held(x, _AT_BOUND * unit),
        beyond=_beyond(drives, efforts),
        residual=_largest(tau - drives.B @ efforts - K.T @ multipliers),
        rank=ranked.rank,
        redundant=ranked.redundant,
        length=ranked.length,
    )


def _producible(forced: Actuation, H: Array, force: Array) -> tuple[Array, Array]:
    """Return the part of G^T tau_ID that drives can produce, and the missing accelerations (nv,).

    The part is in the coordinates of `forced.left`, divided by the strengths: it gives the scaled
    efforts along `forced.right`. The missing accelerations are the smallest in the metric of H.
    """
    U, G = forced.left, forced.G
    if not forced.free.shape[1]:
        return U.T @ force / forced.strength, np.zeros(len(H))
    try:
        lower = np.linalg.cholesky(G.T @ H @ G)
    except np.linalg.LinAlgError as error:
        raise RobotDynamicsError(
            "the loops allow a motion without inertia that no drive acts on: its acceleration is "
            "not determined."
        ) from error
    pushed = solve_triangular(lower, np.column_stack([U, force]), lower=True)
    along = np.linalg.lstsq(pushed[:, :-1], pushed[:, -1], rcond=None)[0]
    rest = pushed[:, -1] - pushed[:, :-1] @ along
    return along / forced.strength, G @ solve_triangular(lower, rest, lower=True, trans="T")


def _least_efforts(
    forced: Actuation, drives: Drives, scales: Array, wanted: Array
) -> tuple[Array, Array]:
    """Return the efforts (p,) with the least sum of squares over `scales`, and the null space."""
    rows = (forced.right * (scales / drives.scales)[:, None]).T  # rows (u / scales) = wanted
    Q, R = np.linalg.qr(rows.T, mode="complete")
    r = forced.rank
    along = solve_triangular(R[:r], wanted, trans="T") if r else np.zeros(0)
    return scales * (Q[:, :r] @ along), scales[:, None] * Q[:, r:]


def _null_multipliers(ranked: ConstraintRank, forces: Array) -> Array:
    """Return the multipliers (n^c, k) that balance joint forces without work (nv, k).

    Doubtful entries are zero, so that drives are not used for forces that they cannot exert.
    """
    result = -least_multipliers(ranked, forces.T).T
    as_forces = np.abs(result) / ranked.row_scales[:, None]
    doubt = max(ranked.doubt, _ROUNDING) * np.max(as_forces, axis=0, initial=0.0)
    return np.where(as_forces > doubt, result, 0.0)


def _typical_force(
    drives: Drives, ranked: ConstraintRank, efforts: Array, multipliers: Array
) -> float:
    """Return the largest of efforts and constraint forces [N]; 1 N where there are none."""
    return max(_largest(efforts / drives.scales), _largest(multipliers / ranked.row_scales)) or 1.0


def _names_of_free(model: Model, ranked: ConstraintRank, forced: Actuation) -> tuple[str, ...]:
    motions = ranked.motions @ forced.free
    if not motions.size:
        return ()
    _, _, order = qr(motions.T, mode="economic", pivoting=True)
    names = coordinate_names(model)
    return tuple(names[i] for i in sorted(order[: motions.shape[1]]))


def _beyond(drives: Drives, efforts: Array) -> tuple[str, ...]:
    over = np.abs(efforts) > drives.limits * (1.0 + _AT_BOUND)
    return tuple(name for name, is_over in zip(drives.names, over, strict=True) if is_over)


def _largest(values: Array) -> float:
    return float(np.max(np.abs(values), initial=0.0))
