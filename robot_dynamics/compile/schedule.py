# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Decisions about a program that all its machine codes share: order, and fused products.

They are made once per program, not per width, so that scalar and SIMD kernels carry out the same
operations and their results agree to the last bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_dynamics.compile.graph import ADD, CALL, CONSTANT, MULTIPLY, SUBTRACT
from robot_dynamics.compile.program import Program
from robot_dynamics.compile.simplification import Columns, operands

# Programs with fewer operations are evaluated in the order of their recording.
_LARGE = 2000
# Distances between uses of a value, in operations: beyond the reach of registers, and of the
# processor's first cache (32 KiB of values in eight lanes).
_FAR, _VERY_FAR = 120, 500


class EvaluationPlan(NamedTuple):
    """The decisions about one program.

    Attributes:
        fused: The index of the product for every sum or difference that takes one up.
        together: For every call that can be made side by side with others: all of these.
        needs: The operands of each node, with a fused product replaced by its factors; for calls
            that are made together, the operands of all of them.
        order: The nodes in the order in which machine code evaluates them.
    """

    fused: dict[int, int]
    together: dict[int, tuple[int, ...]]
    needs: list[tuple[int, ...]]
    order: list[int]


def plan(program: Program) -> EvaluationPlan:
    """Return the decisions about a program."""
    fused, together = choose_fused_products(program), calls_together(program)
    needs = _needs(program, fused, together)
    return EvaluationPlan(fused, together, needs, order_of_evaluation(program, fused, needs))


def calls_together(program: Program) -> dict[int, tuple[int, ...]]:
    """Return for every call the group of calls of the same program and parameters.

    Groups have several calls, whose inputs were all recorded before the first of them: none then
    needs the result of another.
    """
    nodes = program.nodes
    groups: list[list[int]] = []
    latest: dict[tuple[int, ...], list[int]] = {}
    for index, (operation, callee, arguments) in enumerate(nodes):
        if operation != CALL:
            continue
        inputs = len(arguments) - callee.parameters
        key = (id(callee), *arguments[inputs:])
        recorded = [x for x in arguments[:inputs] if nodes[x].operation != CONSTANT]
        if key not in latest or max(recorded, default=-1) > latest[key][0]:
            latest[key] = []
            groups.append(latest[key])
        latest[key].append(index)
    return {index: tuple(group) for group in groups if len(group) > 1 for index in group}


def choose_fused_products(program: Program) -> dict[int, int]:
    """Choose the sums that take up one of their products, as `a * b + c` with one rounding.

    A product is taken up only if all its uses can take it up, since it would have to be computed
    in any case otherwise.

    Returns:
        The index of the product for every sum or difference that takes one up.
    """
    columns = Columns.of(program.nodes)
    uses, count = columns.uses(program.slots), len(program.nodes)
    sums = np.isin(columns.operation, (ADD, SUBTRACT)) & (columns.left != columns.right)
    in_sums = sum(np.bincount(side[sums], minlength=count) for side in columns[1:3])
    candidate = (columns.operation == MULTIPLY) & (uses == in_sums)
    takes_up = sums & (candidate[columns.left] | candidate[columns.right])
    fused: dict[int, int] = {}
    for index in np.flatnonzero(takes_up).tolist():
        _, left, right = program.nodes[index]
        found = [operand for operand in (left, right) if candidate[operand]]
        fused[index] = min(found, key=lambda operand: (uses[operand], -operand))
    taken = np.bincount([*fused.values()], minlength=count)
    return {index: product for index, product in fused.items() if taken[product] == uses[product]}


def order_of_evaluation(
    program: Program, fused: dict[int, int], needs: list[tuple[int, ...]]
) -> list[int]:
    """Return the nodes in the order in which machine code evaluates them.

    Fused products and constants are omitted: they are written where they are used.

    The order of the recording is good if the values in use fit into the fastest memory. The order
    backwards from the results, one after another, can keep values closer to their uses in large
    programs. Measured on the algorithms of robots with 7 to 44 joints, neither is always better,
    by up to a quarter; the estimate below selects the better one.
    """
    skipped = set(fused.values())
    recorded = [
        index
        for index, node in enumerate(program.nodes)
        if index not in skipped and node.operation != CONSTANT
    ]
    if len(recorded) < _LARGE:
        return recorded
    depth_first = _depth_first(program, needs)
    return min(recorded, depth_first, key=lambda order: _distance_cost(needs, order))


def _needs(
    program: Program, fused: dict[int, int], together: dict[int, tuple[int, ...]]
) -> list[tuple[int, ...]]:
    """Return the operands of each node; see `EvaluationPlan`."""
    needs = [operands(node) for node in program.nodes]
    for index, product in fused.items():
        _, left, right = program.nodes[index]
        needs[index] = (*needs[product], right if product == left else left)
    of_groups = {
        group: tuple(dict.fromkeys([need for call in group for need in needs[call]]))
        for group in together.values()
    }
    for index, group in together.items():
        needs[index] = of_groups[group]
    return needs


def _depth_first(program: Program, needs: list[tuple[int, ...]]) -> list[int]:
    """Return the order of computing one result after another, the harder operand first."""
    nodes = program.nodes
    # Number of registers for a node without sharing (Sethi and Ullman, 1970).
    registers = [0] * len(nodes)
    for index, node in enumerate(nodes):
        if len(needs[index]) == 2:
            a, b = needs[index]
            a, b = registers[a], registers[b]
            registers[index] = a + 1 if a == b else max(a, b)
        elif node.operation != CONSTANT:
            below = sorted([registers[need] for need in needs[index]], reverse=True)
            registers[index] = max((count + i for i, count in enumerate(below)), default=1)
    order: list[int] = []
    done = [node.operation == CONSTANT for node in nodes]
    for result in program.slots:
        stack = [result]
        while stack:
            index = stack[-1]
            missing = [] if done[index] else [x for x in needs[index] if not done[x]]
            if missing:
                missing.sort(key=registers.__getitem__)
                stack += missing
                continue
            stack.pop()
            if not done[index]:
                done[index] = True
                order.append(index)
    return order


def _distance_cost(needs: list[tuple[int, ...]], order: list[int]) -> int:
    """Estimate the cost of fetching values that were last used long ago."""
    last = [-1] * len(needs)
    cost = 0
    for time, index in enumerate(order):
        for need in needs[index]:
            if last[need] >= 0:
                distance = time - last[need]
                if distance > _FAR:
                    cost += 3 if distance > _VERY_FAR else 1
            last[need] = time
        last[index] = time
    return cost
