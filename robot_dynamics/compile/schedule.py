# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Decisions about a program that all its machine codes share: order, and fused products.

They are made once per program, not per width, so that scalar and SIMD kernels carry out the same
operations and their results agree to the last bit.
"""

from __future__ import annotations

from robot_dynamics.compile.graph import ADD, CONSTANT, MULTIPLY, SUBTRACT
from robot_dynamics.compile.program import Program
from robot_dynamics.compile.simplification import operands


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


def order_of_evaluation(program: Program, fused: dict[int, int]) -> list[int]:
    """Return the nodes in the order in which machine code evaluates them.

    Fused products and constants are left out: they are written where they are used.
    """
    skipped = set(fused.values())
    return [
        index
        for index, node in enumerate(program.nodes)
        if index not in skipped and node.operation != CONSTANT
    ]
