# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Independent coordinates: G and g of `qdd = G ydd + g`, and the motion in them (8.8 and 8.5).

The columns of G span the motions that the loops allow, K G = 0, and g is one acceleration that
meets them, K g = k. Which coordinates are independent is chosen by complete pivoting among ratios
of distances (see `rank`), cluster by cluster, or by the user.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.rank import ConstraintRank, without
from robot_dynamics.dynamics.scaling import (
    constraint_scales,
    coordinate_names,
    coordinate_scales,
    coordinates_of,
    model_length,
)
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model import Model
from robot_dynamics.model.model import ConstraintBlock
from robot_dynamics.wording import counted


@dataclass(frozen=True)
class IndependentForm:
    """All accelerations from independent ones: `qdd = G ydd + g` (8.51).

    Velocities follow in the same way, `qd = G yd`.

    Attributes:
        G: Motions that the loops allow, as columns (nv, nv - r); the rows of the independent
            coordinates form a unit matrix.
        g: Accelerations (nv,) at `ydd = 0` [rad/s^2, m/s^2].
        independent: Indices of the independent coordinates, ascending (nv - r,).
        names: Their names.
        rank: Number of independent constraints, r.
        conditioning: Largest ratio of the mechanism's speed to the speed of the independent
            coordinates, as displacements: 1 at best, and unbounded as the choice becomes singular.
        weakest: Least strength of the constraints on the dependent coordinates, a ratio of
            distances: 0 if there is a motion without independent coordinates.
        residual_K: Largest entry of K G, rows and columns scaled: above rounding if there are more
            coordinates than independent motions.
        residual_k: Largest entry of K g - k [m/s^2], rotations at `length`: violation of the
            constraints.
        length: The length [m] that makes rotations and displacements comparable.
    """

    G: Array
    g: Array
    independent: tuple[int, ...]
    names: tuple[str, ...]
    rank: int
    conditioning: float
    weakest: float
    residual_K: float
    residual_k: float
    length: float


def independent_form(
    model: Model,
    K: Array,
    k: Array,
    ranked: ConstraintRank,
    coordinates: Sequence[str] | None = None,
) -> IndependentForm:
    """Return G and g at one state.

    Args:
        model: The mechanism.
        K: Constraint Jacobian (n^c, nv).
        k: Right-hand side (n^c,) of K qdd = k, stabilisation included.
        ranked: The rank of K, from `constraint_rank`.
        coordinates: Joints or coordinates to take as independent; chosen by default.

    Raises:
        UnknownNameError: If there is neither a joint nor a coordinate of a name.
        RobotDynamicsError: If the coordinates do not determine the motion; it names some that do.
    """
    return form_in(model, K, k, independent_coordinates(model, ranked, coordinates), ranked.length)


def form_in(
    model: Model, K: Array, k: Array, independent: Sequence[int], length: float | None = None
) -> IndependentForm:
    """Return G and g for coordinates that are known to be independent, ascending.

    The rank is not computed, which makes this cheap; the residuals and the conditioning show
    whether the choice is valid.

    Args:
        model: The mechanism.
        K: Constraint Jacobian (n^c, nv).
        k: Right-hand side (n^c,).
        independent: Indices of the coordinates.
        length: Length [m] at which a rotation counts like a displacement.
    """
    length = model_length(model) if length is None else length
    rows, columns = constraint_scales(model, length), coordinate_scales(model, length)
    J, scaled_k = rows[:, None] * K / columns, rows * k
    place = {index: i for i, index in enumerate(independent)}
    G, g = np.zeros((model.nv, len(place))), np.zeros(model.nv)
    G[list(place), list(place.values())] = 1.0  # the joints in no loop stay as they are
    weakest = float("inf")
    for block in model.constraint_blocks:
        at = list(block.rows)
        free = [i for i in block.columns if i in place]
        bound = [i for i in block.columns if i not in place]
        # Least squares instead of K11^-1: all rows count, including redundant ones.
        wanted = np.column_stack([-J[np.ix_(at, free)], scaled_k[at]])
        found, _, _, acting = np.linalg.lstsq(J[np.ix_(at, bound)], wanted, rcond=None)
        short = len(bound) > len(acting)
        weakest = min(weakest, 0.0 if short else float(np.min(acting, initial=np.inf)))
        G[np.ix_(bound, [place[i] for i in free])] = found[:, :-1]
        g[bound] = found[:, -1]
    names = coordinate_names(model)
    form = IndependentForm(
        G=G / columns[:, None] * columns[list(place)],
        g=g / columns,
        independent=tuple(place),
        names=tuple(names[i] for i in place),
        rank=model.nv - len(place),
        conditioning=float(np.linalg.norm(G, 2)) if place else 1.0,
        weakest=weakest,
        residual_K=float(np.max(np.abs(J @ G), initial=0.0)),
        residual_k=float(np.max(np.abs(J @ g - scaled_k), initial=0.0)),
        length=length,
    )
    return form


def chosen_coordinates(
    model: Model, ranked: ConstraintRank, preferred: Sequence[int] = ()
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return as many independent coordinates as motions, and the refused preferred ones.

    A preferred coordinate is refused if earlier ones determine its velocity. The others come from
    complete pivoting: pivots are dependent coordinates.

    Args:
        model: The mechanism.
        ranked: The rank of K.
        preferred: Indices of the preferred coordinates, in order of priority.
    """
    met: list[int] = []
    basis: list[Array] = []
    for index in preferred:
        rest = without(ranked.motions[index], basis)
        size = float(np.linalg.norm(rest))
        if size > ranked.doubt:
            met.append(index)
            basis.append(rest / size)
    dependent = {column for _, column in pivots(model, ranked, met)}
    chosen = tuple(i for i in range(model.nv) if i not in dependent)
    return chosen, tuple(i for i in preferred if i not in met)


def pivots(
    model: Model, ranked: ConstraintRank, kept: Sequence[int] = ()
) -> list[tuple[int, int]]:
    """Return r rows and columns of K in the order of elimination with complete pivoting.

    Args:
        model: The mechanism.
        ranked: The rank of K.
        kept: Columns that are not pivots.
    """
    J = ranked.rows @ ranked.V.T  # without its noise
    result = []
    blocks = model.constraint_blocks
    for block, rank in zip(blocks, _ranks(J, blocks, ranked.rank), strict=True):
        columns = [i for i in block.columns if i not in kept]
        rest = J[np.ix_(block.rows, columns)]
        for _ in range(rank):
            i, j = np.unravel_index(np.argmax(np.abs(rest)), rest.shape)
            result.append((block.rows[i], columns[j]))
            rest = rest - np.outer(rest[:, j] / rest[i, j], rest[i])
            rest[i], rest[:, j] = 0.0, 0.0
    return result


def independent_accelerations(
    model: Model, form: IndependentForm, H: Array, force: Array
) -> Array:
    """Return accelerations (nv,) with the loops closed, independent ones first (8.45, 8.46).

    Args:
        model: The mechanism.
        form: G and g.
        H: Inertia matrix (nv, nv).
        force: tau - C (nv,).
    """
    if not form.independent:
        return form.g
    G, g = form.G, form.g
    blocks = _blocks_of_G(model, form)
    pushed = force - H @ g
    reduced, load = np.zeros((G.shape[1],) * 2), np.zeros(G.shape[1])
    for rows, columns in blocks:
        part = G[np.ix_(rows, columns)]
        load[columns] = part.T @ pushed[rows]
        moved = H[:, rows] @ part  # H G, the columns of this block
        for others, at in blocks:
            reduced[np.ix_(at, columns)] = G[np.ix_(others, at)].T @ moved[others]
    ydd = cho_solve(cho_factor(reduced, lower=True), load)  # Eq 8.45
    return np.asarray(G @ ydd + g)


def _blocks_of_G(model: Model, form: IndependentForm) -> list[tuple[list[int], list[int]]]:
    """Return rows and columns of the blocks of G; joints in no loop are one block together."""
    place = {index: i for i, index in enumerate(form.independent)}
    left, result = set(range(model.nv)), []
    for block in model.constraint_blocks:
        left -= set(block.columns)
        result.append((list(block.columns), [place[i] for i in block.columns if i in place]))
    result.append((sorted(left), [place[i] for i in sorted(left)]))
    return [block for block in result if block[1]]


def _ranks(J: Array, blocks: Sequence[ConstraintBlock], rank: int) -> list[int]:
    """Return the ranks of the blocks, whose sum is the total rank."""
    found = [
        (float(s), i)
        for i, block in enumerate(blocks)
        for s in np.linalg.svd(J[np.ix_(block.rows, block.columns)], compute_uv=False)
    ]
    counted = [i for _, i in sorted(found, reverse=True)[:rank]]
    return [counted.count(i) for i in range(len(blocks))]


def independent_coordinates(
    model: Model, ranked: ConstraintRank, coordinates: Sequence[str] | None = None
) -> tuple[int, ...]:
    """Return the indices of independent coordinates: the user's, or else chosen ones.

    Args:
        model: The mechanism.
        ranked: The rank of K.
        coordinates: Joints or coordinates to take as independent.

    Raises:
        UnknownNameError: If there is neither a joint nor a coordinate of a name.
        RobotDynamicsError: If they are not independent, or not as many as the motions.
    """
    if coordinates is None:
        return chosen_coordinates(model, ranked)[0]
    preferred = list(dict.fromkeys(i for name in coordinates for i in coordinates_of(model, name)))
    chosen, refused = chosen_coordinates(model, ranked, preferred)
    if refused or len(preferred) != len(chosen):
        names = coordinate_names(model)
        many = ", ".join(names[i] for i in refused)
        few = ", ".join(names[i] for i in chosen if i not in preferred)
        wrong = [f"determined by the others: {many}"] if many else []
        wrong += [f"missing: {few}, for instance"] if few else []
        raise RobotDynamicsError(
            f"{model.name}: {counted(len(preferred), 'coordinate')} cannot stand for the motion "
            f"here, whose mobility is {len(chosen)} ({'; '.join(wrong)}); expected "
            f"{len(chosen)} that are independent."
        )
    return chosen
