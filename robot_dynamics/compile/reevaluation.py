# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Programs that are evaluated again with other values of a few inputs.

The first evaluation keeps the values that do not depend on these inputs and are needed again; the
second one takes them from there.
"""

from __future__ import annotations

from collections.abc import Collection

from robot_dynamics.compile.graph import CONSTANT, INPUT, MULTIPLY, PARAMETER
from robot_dynamics.compile.ports import Ports
from robot_dynamics.compile.program import Program
from robot_dynamics.compile.simplification import Node, drop_unused, operands, renumbered


def reevaluated(program: Program, name: str, changing: Collection[int]) -> tuple[Program, Program]:
    """Return a program with the values to keep as its last output `kept`, and its reevaluation.

    The reevaluation takes the changed input whole and `kept`, and has the outputs and the
    parameters of the program.

    Args:
        program: The program.
        name: Name of the input of which some elements change.
        changing: These elements.
    """
    ports = program.ports
    changed = [key for key, _ in ports.inputs].index(name)
    nodes, kept = _Later(program, changed, changing).split()
    results = [*program.results, *kept]
    outputs = (*ports.outputs, ("kept", (len(kept),)))
    first = Program(
        Ports(ports.name, ports.inputs, outputs, ports.parameters),
        *drop_unused(list(program.nodes), results),
    )
    inputs = (ports.inputs[changed], ("kept", (len(kept),)))
    own = Ports(f"{ports.name}_again", inputs, ports.outputs, ports.parameters)
    return first, Program(own, *drop_unused(*nodes))


class _Later:
    """The operations of a program that depend on some elements of an input."""

    def __init__(self, program: Program, changed: int, changing: Collection[int]) -> None:
        self._program, self._changed = program, changed
        self._late = [False] * len(program.nodes)
        for index, node in enumerate(program.nodes):
            own = node.operation == INPUT and node.left == changed and node.right in changing
            self._late[index] = own or any(self._late[i] for i in operands(node))
        self._nodes: list[Node] = []
        self._number: dict[int, int] = {}  # by the index in the program
        self._kept: list[int] = []

    def split(self) -> tuple[tuple[list[Node], list[int | float]], list[int]]:
        """Return nodes and results of the reevaluation, and the nodes whose values are kept."""
        for index, late in enumerate(self._late):
            if late:
                self._copy(index)
        results = [
            self._use(value) if isinstance(value, int) else value
            for value in self._program.results
        ]
        return (self._nodes, results), self._kept

    def _copy(self, index: int) -> int:
        node = self._program.nodes[index]
        used = {i: self._use(i) for i in operands(node)}
        if node.operation == INPUT:
            node = Node(INPUT, 0, node.right)
        return self._add(index, renumbered(node, used))

    def _use(self, index: int) -> int:
        """Return the number of a value in the reevaluation."""
        found = self._number.get(index)
        if found is not None:
            return found
        node = self._program.nodes[index]
        if node.operation in (CONSTANT, PARAMETER):
            return self._add(index, node)
        # A product that a sum takes up has no value of its own.
        if node.operation == MULTIPLY and index not in self._program.slot_of_node:
            return self._copy(index)
        self._kept.append(index)
        return self._add(index, Node(INPUT, 1, len(self._kept) - 1))

    def _add(self, index: int, node: Node) -> int:
        self._number[index] = len(self._nodes)
        self._nodes.append(node)
        return self._number[index]
