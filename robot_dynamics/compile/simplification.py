# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""From the graph of a recording to the nodes of a program that the outputs need.

These steps need the complete recording: unused operations are dropped, divisions by the same value
share its reciprocal, and signs that no sum has absorbed return to their nodes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from robot_dynamics.compile.graph import (
    BINARY,
    CALL,
    CONSTANT,
    DIVIDE,
    MULTIPLY,
    NEGATE,
    RESULT,
    SUBTRACT,
    UNARY,
    Graph,
    Symbol,
)


class Node(NamedTuple):
    """An operation of a program; operands are indices of earlier nodes.

    `graph` documents `left` and `right` of operations without operands.
    """

    operation: int
    left: Any
    right: Any


def operands(node: Node) -> tuple[int, ...]:
    """Return the indices of the nodes that a node uses."""
    operation, left, right = node
    if operation in BINARY:
        return (left, right)
    if operation in UNARY or operation == RESULT:
        return (left,)
    if operation == CALL:
        return right  # type: ignore[no-any-return]
    return ()


def simplify(
    graph: Graph, outputs: list[Symbol | float]
) -> tuple[tuple[Node, ...], tuple[int | float, ...]]:
    """Return the nodes that outputs need, operands before their users.

    Args:
        graph: The recording.
        outputs: Requested values: symbols of the graph, or constants.

    Returns:
        The nodes, and for every output the index of its node or the constant it is.
    """
    needed, divisions = _mark_needed(graph, outputs)
    nodes, number = _rewrite(graph, needed, divisions)
    results: list[int | float] = []
    for value in outputs:
        if not isinstance(value, Symbol):
            results.append(value)
        elif value.operation == CONSTANT:
            results.append(value.left)
        else:
            results.append(number[value.index])
    return drop_unused(nodes, results)


def _mark_needed(graph: Graph, outputs: list[Symbol | float]) -> tuple[bytearray, dict[int, int]]:
    """Return a mark for every needed node, and the number of uses of each divisor."""
    needed = bytearray(len(graph.nodes))
    divisions: dict[int, int] = {}
    for value in outputs:
        if isinstance(value, Symbol):
            needed[value.index] = 1
    for symbol in reversed(graph.nodes):
        if not needed[symbol.index]:
            continue
        operation = symbol.operation
        if operation in BINARY:
            needed[symbol.left.index] = needed[symbol.right.index] = 1
            if operation == DIVIDE:
                divisions[symbol.right.index] = divisions.get(symbol.right.index, 0) + 1
        elif operation in UNARY or operation == RESULT:
            needed[symbol.left.index] = 1
        elif operation == CALL:
            for argument in symbol.right:
                needed[argument.index] = 1
    return needed, divisions


def _rewrite(
    graph: Graph, needed: bytearray, divisions: dict[int, int]
) -> tuple[list[Node], list[int]]:
    """Return the needed nodes with shared reciprocals and with signs put back.

    Returns:
        The nodes, and for every node of the graph the index of its replacement.
    """
    nodes: list[Node] = []
    made: dict[Node, int] = {}
    number = [-1] * len(needed)

    def make(operation: int, left: Any, right: Any) -> int:
        node = Node(operation, left, right)
        index = made.get(node)
        if index is None:
            index = made[node] = len(nodes)
            nodes.append(node)
        return index

    for symbol in graph.nodes:
        place = symbol.index
        if not needed[place]:
            continue
        operation, left, right = symbol.operation, symbol.left, symbol.right
        if operation in BINARY:
            if operation == DIVIDE and divisions[right.index] > 1:
                reciprocal = make(DIVIDE, make(CONSTANT, 1.0, None), number[right.index])
                if left.operation != CONSTANT:
                    number[place] = make(MULTIPLY, number[left.index], reciprocal)
                elif left.left == 1.0:
                    number[place] = reciprocal
                else:
                    number[place] = make(MULTIPLY, reciprocal, make(CONSTANT, left.left, None))
                continue
            left, right = number[left.index], number[right.index]
        elif operation == NEGATE:
            inner = nodes[number[left.index]]
            if inner.operation == SUBTRACT:
                number[place] = make(SUBTRACT, inner.right, inner.left)
                continue
            if inner.operation == MULTIPLY and nodes[inner.right].operation == CONSTANT:
                factor = make(CONSTANT, -nodes[inner.right].left, None)
                number[place] = make(MULTIPLY, inner.left, factor)
                continue
            if inner.operation == DIVIDE and nodes[inner.left].operation == CONSTANT:
                numerator = make(CONSTANT, -nodes[inner.left].left, None)
                number[place] = make(DIVIDE, numerator, inner.right)
                continue
            left = number[left.index]
        elif operation in UNARY or operation == RESULT:
            left = number[left.index]
        elif operation == CALL:
            right = tuple([number[argument.index] for argument in right])
        number[place] = len(nodes)
        nodes.append(Node(operation, left, right))
    return nodes, number


def drop_unused(
    nodes: list[Node], results: list[int | float]
) -> tuple[tuple[Node, ...], tuple[int | float, ...]]:
    """Return the nodes that results need, renumbered."""
    needed = bytearray(len(nodes))
    for value in results:
        if isinstance(value, int):
            needed[value] = 1
    for index in range(len(nodes) - 1, -1, -1):
        if needed[index]:
            for operand in operands(nodes[index]):
                needed[operand] = 1
    if 0 not in needed:
        return tuple(nodes), tuple(results)
    number = [0] * len(nodes)
    kept: list[Node] = []
    for index, node in enumerate(nodes):
        if needed[index]:
            number[index] = len(kept)
            kept.append(_renumbered(node, number))
    return tuple(kept), tuple(
        number[value] if isinstance(value, int) else value for value in results
    )


def _renumbered(node: Node, number: list[int]) -> Node:
    operation, left, right = node
    if operation in BINARY:
        return Node(operation, number[left], number[right])
    if operation in UNARY or operation == RESULT:
        return Node(operation, number[left], right)
    if operation == CALL:
        return Node(operation, left, tuple([number[argument] for argument in right]))
    return node
