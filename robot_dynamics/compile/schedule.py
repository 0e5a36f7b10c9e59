# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Decisions about a program that all its machine codes share: order, and fused products.

They are made once per program, not per width, so that scalar and SIMD kernels carry out the same
operations and their results agree to the last bit.
"""

from __future__ import annotations

from typing import NamedTuple

from robot_dynamics.compile.graph import ADD, CALL, CONSTANT, MULTIPLY, SUBTRACT
from robot_dynamics.compile.program import Program
from robot_dynamics.compile.simplification import operands

# Programs with fewer operations are evaluated in the order of their recording.
_LARGE = 2000
# Distances between uses of a value, in operations: beyond the reach of registers, and of the
# processor's first cache (32 KiB of values in eight lanes).
_FAR, _VERY_FAR = 120, 500


class EvaluationPlan(NamedTuple):
    """The decisions about one program.

    Attributes:
        fused: The index of the product for every sum or difference that takes one up.
        order: The nodes in the order in which machine code evaluates them.
        together: For every call that can be made side by side with others: all of these.
    """

    fused: dict[int, int]
    order: list[int]
    together: dict[int, tuple[int, ...]]


def plan(program: Program) -> EvaluationPlan:
    """Return the decisions about a program."""
    fused, together = choose_fused_products(program), calls_together(program)
    return EvaluationPlan(fused, order_of_evaluation(program, fused, together), together)


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
    nodes = program.nodes
    uses = [0] * len(nodes)
    in_sums = [0] * len(nodes)
    for node in nodes:
        for operand in operands(node):
            uses[operand] += 1
        if node.operation in (ADD, SUBTRACT) and node.left != node.right:
            in_sums[node.left] += 1
            in_sums[node.right] += 1
    for index in program.slots:
        uses[index] += 1

    def candidate(index: int) -> bool:
        return nodes[index].operation == MULTIPLY and uses[index] == in_sums[index]

    fused: dict[int, int] = {}
    taken = [0] * len(nodes)
    for index, node in enumerate(nodes):
        if node.operation in (ADD, SUBTRACT) and node.left != node.right:
            found = [operand for operand in (node.left, node.right) if candidate(operand)]
            if found:
                product = min(found, key=lambda operand: (uses[operand], -operand))
                fused[index] = product
                taken[product] += 1
    return {index: product for index, product in fused.items() if taken[product] == uses[product]}


def order_of_evaluation(
    program: Program, fused: dict[int, int], together: dict[int, tuple[int, ...]]
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
    needs = all_needs(program, fused, together)
    depth_first = _depth_first(program, needs)
    return min(recorded, depth_first, key=lambda order: _distance_cost(needs, order))


def _needs(
    program: Program, fused: dict[int, int], together: dict[int, tuple[int, ...]], index: int
) -> tuple[int, ...]:
    """Return the operands of a node, with a fused product replaced by its factors.

    For calls that are made together: the operands of all of them.
    """
    node = program.nodes[index]
    if index in together:
        return tuple({need: None for at in together[index] for need in program.nodes[at].right})
    product = fused.get(index)
    if product is None:
        return operands(node)
    other = node.right if product == node.left else node.left
    return (*operands(program.nodes[product]), other)


def all_needs(
    program: Program, fused: dict[int, int], together: dict[int, tuple[int, ...]]
) -> list[tuple[int, ...]]:
    """Return the operands of each node; see `_needs`."""
    return [_needs(program, fused, together, index) for index in range(len(program.nodes))]


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
        stack = [(result, False)]
        while stack:
            index, ready = stack.pop()
            if done[index]:
                continue
            if ready:
                done[index] = True
                order.append(index)
                continue
            stack.append((index, True))
            missing = [x for x in needs[index] if not done[x]]
            missing.sort(key=registers.__getitem__)
            stack.extend([(need, False) for need in missing])
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
