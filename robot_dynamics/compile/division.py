# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Division of the operations of a program among several functions of machine code.

LLVM's time for a function grows faster than its length, and functions can be compiled on several
cores. The order of operations stays, and with it the results. Values for a later function are kept
in a block of memory; there are few of them if a cut is where few values are in use.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from robot_dynamics.compile.graph import CALL, CONSTANT, INPUT, PARAMETER
from robot_dynamics.compile.program import Program
from robot_dynamics.compile.schedule import EvaluationPlan

# Largest mean number of operations of a part.
LONGEST_PART = 1000
# Nodes that any function can load or find by itself.
_EVERYWHERE = (CONSTANT, INPUT, PARAMETER, CALL)


class Division(NamedTuple):
    """Operations of a program in parts.

    Attributes:
        parts: Nodes of each part in the order of evaluation.
        kept: Nodes with values that a later part uses.
    """

    parts: list[list[int]]
    kept: list[int]


def divide(program: Program, plan: EvaluationPlan) -> Division | None:
    """Divide the operations of a program where few values are in use; None if they are few."""
    order, nodes = plan.order, program.nodes
    count = -(-len(order) // LONGEST_PART)
    if count < 2:
        return None
    position = {
        index: at for at, index in enumerate(order) if nodes[index].operation not in _EVERYWHERE
    }
    last = dict(position)
    for at, index in enumerate(order):
        last.update((need, at) for need in plan.needs[index] if need in position)
    change = np.zeros(len(order) + 1, dtype=np.int64)
    np.add.at(change, np.array([*position.values()]) + 1, 1)
    np.add.at(change, np.array([*last.values()]) + 1, -1)
    in_use = np.cumsum(change)  # values from before a position that are used there or later
    length, cuts = len(order) / count, [0]
    for number in range(1, count):
        low, high = round((number - 0.25) * length), round((number + 0.25) * length)
        cuts.append(low + int(np.argmin(in_use[low:high])))
    cuts.append(len(order))
    part = np.searchsorted(cuts, np.arange(len(order)), side="right")
    kept = [index for index, at in position.items() if part[at] < part[last[index]]]
    return Division([order[start:end] for start, end in pairwise(cuts)], kept)
