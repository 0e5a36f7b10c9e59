# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Inverse dynamics of closed loops for drives that can force every motion, traced (8.63).

The independent coordinates are chosen before tracing, driven ones first: with as many drives as
motions, all in the tree, G_u is the unit matrix and u = G^T tau_ID. With more drives the efforts
are the least ones for fixed weights, u = W^-1 G_u (G_u^T W^-1 G_u)^-1 G^T tau_ID.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.actuation import actuation, drives_of
from robot_dynamics.dynamics.algorithm import Algorithm
from robot_dynamics.dynamics.assembly import require_closed
from robot_dynamics.dynamics.closed_loop import closed_loop_terms
from robot_dynamics.dynamics.closure_search import Closure
from robot_dynamics.dynamics.effort_request import EffortRequest
from robot_dynamics.dynamics.elimination import Pivots, eliminate, elimination_order, order_of
from robot_dynamics.dynamics.full_rank import margin_of_others
from robot_dynamics.dynamics.independent import chosen_coordinates
from robot_dynamics.dynamics.inverse import inverse_dynamics
from robot_dynamics.dynamics.loop_forces import loop_drive_matrix
from robot_dynamics.dynamics.rank import LARGEST_OPENING, constraint_rank
from robot_dynamics.dynamics.scaling import coordinate_names, coordinate_scales, tree_length
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model import Model
from robot_dynamics.model.parameters import Parameters, block_size
from robot_dynamics.scalar.functions import minimum
from robot_dynamics.scalar.linear_algebra import dot, factor, times
from robot_dynamics.spatial import Scalar


@dataclass(frozen=True)
class FixedDrives:
    """Drives that can force every motion, and matching independent coordinates.

    Attributes:
        names: Names of the drives (p,): coordinates of the tree first.
        in_tree: Coordinates of the tree with these drives.
        in_loops: Indices of these drives in `model.loop_drive_names`.
        scales: Efforts over these have the least sum of squares (p,).
        pivots: Rows and columns of K that are eliminated; other columns are independent.
    """

    names: tuple[str, ...]
    in_tree: tuple[int, ...]
    in_loops: tuple[int, ...]
    scales: tuple[float, ...]
    pivots: Pivots

    @property
    def order(self) -> str:
        """Cache key of the traced code: everything except names and sizes of pivots."""
        return repr((self.in_tree, self.in_loops, self.scales, order_of(self.pivots)))


def fixed_drives(
    model: Model,
    closure: Closure,
    loop_drives: Callable[[Array], Array],
    q: Array,
    names: Iterable[str] | None,
    weights: object,
) -> FixedDrives:
    """Return drives and coordinates for a configuration; usually valid for others as well.

    Args:
        model: The mechanism.
        closure: Returns K and the position error.
        loop_drives: `(q) -> B` of the drives in loop joints (nv, drives).
        q: Positions (nq,) with all loops closed.
        names: The drives; by default those of the model.
        weights: As in `EffortRequest`.

    Raises:
        AssemblyError: If the loops are open.
        UnknownNameError: If there is no drive of a name.
        RobotDynamicsError: If the drives cannot force every motion.
    """
    K, error = closure(q)
    ranked = constraint_rank(model, K, error, q)
    require_closed(model, q, error, LARGEST_OPENING, ranked.length)
    drives = drives_of(model, loop_drives(q), ranked.length, names)
    forced = actuation(ranked, drives)
    coordinates = coordinate_names(model)
    if forced.free.shape[1]:
        raise RobotDynamicsError(
            f"{model.name}: the drives force {forced.rank} of {len(forced.left)} motions here; "
            "expected drives that force them all, or closed_loop_inverse_dynamics."
        )
    chosen, _ = chosen_coordinates(model, ranked, drives.in_tree)
    request = EffortRequest(weights=weights)  # type: ignore[arg-type]
    return FixedDrives(
        drives.names,
        drives.in_tree,
        drives.in_loops,
        tuple(request.scales(model, drives, ranked.length).tolist()),
        elimination_order(model, K, error, q, [coordinates[i] for i in chosen]),
    )


def drive_efforts(
    model: Model,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    parameters: Parameters,
    drives: FixedDrives,
    squares: Sequence[Scalar] | None = None,
) -> tuple[list[Scalar], Scalar]:
    """Return efforts (p,) that give accelerations which keep the loops closed, and a pivot.

    The pivot is below `SMALLEST_PIVOT` if the drives cannot force every motion, the coordinates do
    not determine it, or there are more independent constraints than pivots.

    Args:
        model: The mechanism.
        q: Positions (nq,) with the loops closed.
        qd: Velocities (nv,).
        qdd: Accelerations (nv,); whether they keep the loops closed is not checked.
        parameters: Gravity, inertias and placements of loop joints.
        drives: The drives, and the order of elimination.
        squares: Squares of its pivots' sizes, if they must not be part of traced code.
    """
    loops = closed_loop_terms(model, q, qd, parameters).loops
    still: list[Scalar] = [0.0] * len(loops.K)
    form = eliminate(model, loops.K, still, drives.pivots, squares)
    tau = inverse_dynamics(model, q, qd, qdd, parameters)
    B = loop_drive_matrix(model, q, parameters) if drives.in_loops else []
    columns = [[row[d] for row in B] for d in drives.in_loops]
    # Rows of G_u^T = G^T B over the scaled efforts.
    scaled = [
        [
            value * scale
            for value, scale in zip(
                [motion[i] for i in drives.in_tree] + [dot(motion, c) for c in columns],
                drives.scales,
                strict=True,
            )
        ]
        for motion in form.columns
    ]
    factors = factor([[dot(a, scaled[j]) for j in range(i + 1)] for i, a in enumerate(scaled)])
    y = factors.solve(times(form.columns, tau))  # G^T tau_ID
    efforts = [scale * dot([row[d] for row in scaled], y) for d, scale in enumerate(drives.scales)]
    pivot = minimum(form.pivot, factors.smallest_pivot)
    # A motion of all coordinates checks the constraints that have no pivot.
    sizes = coordinate_scales(model, tree_length(model)).tolist()
    motion = [
        dot([c[i] for c in form.columns], [1.0 / sizes[j] for j in form.independent])
        for i in range(model.nv)
    ]
    rows = [row for row, *_ in drives.pivots]
    squared = form.pivot * form.pivot
    others = margin_of_others(model, replace(loops, k=still), rows, motion, squared)
    pivot = minimum(pivot, others)
    # A pivot is 1 at most: this only propagates NaN.
    return efforts, minimum(pivot, 1.0 + dot(efforts, efforts))


def efforts_and_pivot(
    model: Model, q: Any, qd: Any, qdd: Any, parameters: Parameters, drives: FixedDrives
) -> list[Scalar]:
    """Return `drive_efforts` in one list."""
    squares = parameters.block[block_size(model) :]
    efforts, pivot = drive_efforts(model, q, qd, qdd, parameters, drives, squares)
    return [*efforts, pivot]


#: Option: the drives; squares of the pivots' sizes are further parameters.
DRIVE_EFFORTS = Algorithm(
    "drive_efforts", efforts_and_pivot, "q, qd, qdd -> efforts_and_pivot (p + 1)"
)
