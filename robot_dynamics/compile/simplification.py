# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""From the graph of a recording to the nodes of a program that the outputs need.

These steps need the complete recording: unused operations are dropped, divisions by the same value
share its reciprocal, and signs that no sum has absorbed return to their nodes. Programs can have a
million nodes: all nodes are treated by columns, only the rewritten ones one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import compress
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.compile.graph import (
    BINARY,
    CALL,
    CONSTANT,
    DIVIDE,
    MULTIPLY,
    NAMES,
    NEGATE,
    RESULT,
    SUBTRACT,
    UNARY,
    Graph,
    Symbol,
)

Whole = NDArray[np.int64]

# Whether operations have a left and a right operand; those of calls are apart.
_HAS_LEFT = np.isin(np.arange(len(NAMES)), [*BINARY, *UNARY, RESULT])
_HAS_RIGHT = np.isin(np.arange(len(NAMES)), [*BINARY])


class Node(NamedTuple):
    """An operation of a program; operands are indices of earlier nodes.

    `graph` documents `left` and `right` of operations without operands.
    """

    operation: int
    left: Any
    right: Any


#: Contents of a node, as a plain tuple.
Key = tuple[int, Any, Any]


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
    results: list[int | float] = []
    for value in outputs:
        if not isinstance(value, Symbol):
            results.append(value)
        else:
            results.append(value.left if value.operation == CONSTANT else value.index)
    nodes = list(graph.known)
    columns = Columns.of(nodes)
    number, order = _rewrite(nodes, columns, columns.needed(results))
    results = [number[value] if isinstance(value, int) else value for value in results]
    return _needed_nodes(nodes, Columns.of(nodes).with_operands(number), results, order)


def drop_unused(
    nodes: Sequence[Key], results: list[int | float]
) -> tuple[tuple[Node, ...], tuple[int | float, ...]]:
    """Return the nodes that results need, renumbered."""
    return _needed_nodes(nodes, Columns.of(nodes), results, np.arange(len(nodes)))


class Columns(NamedTuple):
    """Operations and operands of nodes.

    Attributes:
        operation: The operations.
        left: Indices of left operands, -1 for none.
        right: Indices of right operands, -1 for none.
        calls: Indices of the arguments of each call.
    """

    operation: Whole
    left: Whole
    right: Whole
    calls: dict[int, tuple[int, ...]]

    @classmethod
    def of(cls, nodes: Sequence[Key]) -> Columns:
        """Return the columns of nodes."""
        operation = np.fromiter(map(itemgetter(0), nodes), np.int64, len(nodes))

        def operand(side: int, has_one: NDArray[np.bool_]) -> Whole:
            found = np.full(len(nodes), -1)
            numbers = map(itemgetter(side), compress(nodes, has_one.tolist()))
            found[has_one] = np.fromiter(numbers, np.int64)
            return found

        calls = {at: nodes[at][2] for at in np.flatnonzero(operation == CALL).tolist()}
        left, right = operand(1, _HAS_LEFT[operation]), operand(2, _HAS_RIGHT[operation])
        return cls(operation, left, right, calls)

    def with_operands(self, number: Sequence[int]) -> Columns:
        """Return the columns with other numbers of operands."""
        numbers = np.array([*number, -1])  # none stays none
        calls = {at: _pick(number, arguments) for at, arguments in self.calls.items()}
        return Columns(self.operation, numbers[self.left], numbers[self.right], calls)

    def uses(self, results: Sequence[int | float]) -> Whole:
        """Return how often each node is an operand or a result."""
        more = [value for value in results if isinstance(value, int)]
        for arguments in self.calls.values():
            more += arguments
        given = [self.left[self.left >= 0], self.right[self.right >= 0], np.array(more, dtype=int)]
        return np.bincount(np.concatenate(given), minlength=len(self.operation))

    def needed(self, results: Sequence[int | float]) -> NDArray[np.bool_]:
        """Return which nodes the results need."""
        uses = self.uses(results)
        needed = uses > 0
        unused = np.flatnonzero(~needed).tolist()
        while unused:
            at = unused.pop()
            for operand in (int(self.left[at]), int(self.right[at]), *self.calls.get(at, ())):
                if operand >= 0:
                    uses[operand] -= 1
                    if uses[operand] == 0:
                        needed[operand] = False
                        unused.append(operand)
        return needed


def _pick(values: Sequence[int], indices: Iterable[int]) -> tuple[int, ...]:
    return tuple([values[index] for index in indices])


def _rewrite(
    nodes: list[Key], columns: Columns, needed: NDArray[np.bool_]
) -> tuple[list[int], Whole]:
    """Share reciprocals and put signs back, in place; new nodes are appended.

    Returns:
        For every node the index of its replacement, and the order of the nodes.
    """
    count, divisions = len(nodes), columns.operation == DIVIDE
    uses = np.bincount(columns.right[needed & divisions], minlength=count)
    shared = divisions & (uses[columns.right] > 1)
    number = list(range(count))
    made: dict[Key, int] = {}
    before: list[int] = []  # the nodes before which the new ones stand

    def make(operation: int, left: Any, right: Any = None) -> int:
        """Return the index of a new node before the present one."""
        node = operation, left, right
        if node not in made:
            made[node] = len(nodes)
            number.append(len(nodes))
            nodes.append(node)
            before.append(place)
        return made[node]

    def replace(operation: int, left: int, right: int) -> None:
        """Replace the present node."""
        node = operation, left, right
        number[place] = made.setdefault(node, place)
        nodes[place] = node

    for place in np.flatnonzero(needed & (shared | (columns.operation == NEGATE))).tolist():
        operation, left, right = nodes[place]
        if operation == DIVIDE:
            reciprocal = make(DIVIDE, make(CONSTANT, 1.0), number[right])
            if nodes[left][0] != CONSTANT:
                replace(MULTIPLY, number[left], reciprocal)
            elif nodes[left][1] == 1.0:
                number[place] = reciprocal
            else:
                replace(MULTIPLY, reciprocal, make(CONSTANT, nodes[left][1]))
            continue
        operation, left, right = nodes[number[left]]
        if operation == SUBTRACT:
            replace(SUBTRACT, number[right], number[left])
        elif operation == MULTIPLY and nodes[number[right]][0] == CONSTANT:
            replace(MULTIPLY, number[left], make(CONSTANT, -nodes[number[right]][1]))
        elif operation == DIVIDE and nodes[number[left]][0] == CONSTANT:
            replace(DIVIDE, make(CONSTANT, -nodes[number[left]][1]), number[right])
    order = np.insert(np.arange(count), before, np.arange(count, len(nodes)))
    return number, order


def _needed_nodes(
    nodes: Sequence[Key],
    columns: Columns,
    results: Sequence[int | float],
    order: Whole,
) -> tuple[tuple[Node, ...], tuple[int | float, ...]]:
    """Return the nodes that results need in an order, and the results, both renumbered.

    Args:
        nodes: The nodes.
        columns: Their operations and operands.
        results: Indices of nodes, and constants.
        order: The indices of all nodes in their new order.
    """
    order = order[columns.needed(results)[order]]
    numbers = np.full(len(nodes) + 1, -1)  # the last one for no operand
    numbers[order] = np.arange(len(order))
    lefts, rights = (numbers[side[order]].tolist() for side in (columns.left, columns.right))
    number = numbers.tolist()
    operation = columns.operation[order]
    places = np.flatnonzero(~_HAS_RIGHT[operation])
    for at, index in zip(places.tolist(), order[places].tolist(), strict=True):
        kind, left, right = nodes[index]
        if kind == CALL:
            lefts[at], rights[at] = left, _pick(number, columns.calls[index])
        elif kind == RESULT or kind in UNARY:
            rights[at] = right
        else:
            lefts[at], rights[at] = left, right
    # As the class itself would make them, in a third of the time.
    make = partial(tuple.__new__, Node)
    found = tuple(map(make, zip(operation.tolist(), lefts, rights, strict=True)))
    return found, tuple([number[value] if isinstance(value, int) else value for value in results])
