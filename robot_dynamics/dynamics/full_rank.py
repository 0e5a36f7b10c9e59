# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Whether a solution that takes all constraints for independent can be believed: one number.

Traced code never branches on values, so it solves as if K had full rank and tells by how much it
has. The pivots of K H^-1 K^T show rows that depend on one another. They do not show a row that is
next to nothing by itself, such as one that would vanish if the frames of a planar loop had not
been rounded: as a constraint it would lock the loop. So rows are also measured against the
distances of the mechanism, and both against what the loops are open by, as `rank` does it.
"""

from __future__ import annotations

import numpy as np

from robot_dynamics.dynamics.loops import LoopTerms
from robot_dynamics.dynamics.rank import LARGEST_TOLERANCE, MARGIN
from robot_dynamics.dynamics.scaling import constraint_scales, coordinate_scales, tree_length
from robot_dynamics.model import Model
from robot_dynamics.scalar.functions import minimum
from robot_dynamics.scalar.linear_algebra import dot, is_zero
from robot_dynamics.spatial import Scalar

#: Relative error of accelerations, for well-conditioned inertia, up to which the full-rank
#: solution is used.
ACCURACY = 1e-9
#: Below this the full-rank solution is not used: K H^-1 K^T is known to the precision of numbers,
#: so that a pivot p leaves a relative error of about precision / p.
SMALLEST_PIVOT = float(np.finfo(float).eps) / ACCURACY


def full_rank_pivot(model: Model, terms: LoopTerms, pivot: Scalar) -> Scalar:
    """Return what tells full rank: 1 at best, below `SMALLEST_PIVOT` where it is in doubt.

    It is the smallest of the relative pivots and of the squared sizes of the rows as ratios of
    distances. Open loops lower it so that it passes `SMALLEST_PIVOT` where it would otherwise
    pass the square of the tolerance that `rank` has for that opening.

    Args:
        model: The mechanism.
        terms: Its constraints.
        pivot: The smallest relative pivot of K H^-1 K^T.
    """
    length = tree_length(model)
    rows = constraint_scales(model, length).tolist()
    columns = coordinate_scales(model, length).tolist()
    for scale, row in zip(rows, terms.K, strict=True):
        ratios = [x * (scale / c) for x, c in zip(row, columns, strict=True) if not is_zero(x)]
        # Rows that are zero by structure take no part in the solution; those with an entry of one
        # are as strong as can be.
        if ratios and not any(isinstance(x, float) and abs(x) >= 1.0 for x in ratios):
            pivot = minimum(pivot, dot(ratios, ratios))
    gaps = [
        x * (scale / length)
        for x, scale, on_positions in zip(
            terms.position_error, rows, model.holonomic.tolist(), strict=True
        )
        if on_positions
    ]
    opening = minimum(dot(gaps, gaps) * MARGIN**2, LARGEST_TOLERANCE**2)
    return pivot / (1.0 + opening * (1.0 / SMALLEST_PIVOT))
