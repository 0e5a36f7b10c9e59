# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Separation of operations on parameters, which run once, when a kernel is bound.

A program becomes two: the *preparation* makes a block of prepared values from the parameter
block, and the *remainder* reads that block where the program computed those values. In the
dynamics of two arms that hold an object of variable inertia by variable grasps, this takes away a
tenth of all operations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.compile.graph import BINARY, CALL, CONSTANT, INPUT, PARAMETER, RESULT, UNARY
from robot_dynamics.compile.ports import Ports
from robot_dynamics.compile.program import Program
from robot_dynamics.compile.simplification import Key, Node, drop_unused

# Least share of the operations that is worth a preparation: it copies the whole program.
_LEAST_SHARE = 1e-3


class Prepared(NamedTuple):
    """A program in two parts.

    Attributes:
        preparation: Program from the parameter block, as its only input, to the block of prepared
            values; None if there are few or none and the remainder is the program itself.
        remainder: The program with the block of prepared values as its parameter block.
        slots: For every slot of the program the slot of the remainder that holds its value.
    """

    preparation: Program | None
    remainder: Program
    slots: list[int]


def prepare(program: Program, known: dict[int, Prepared] | None = None) -> Prepared:
    """Split a program.

    Args:
        program: The program.
        known: The programs split so far, by identity.
    """
    if known is None:
        known = {}
    if id(program) not in known:
        known[id(program)] = _Splitter(program, known).split()
    return known[id(program)]


class _Builder:
    """Collects nodes, equal ones once."""

    def __init__(self) -> None:
        self._known: dict[Key, int] = {}

    @property
    def nodes(self) -> list[Key]:
        """The nodes in the order in which they were added."""
        return list(self._known)

    def add(self, operation: int, left: Any, right: Any = None) -> int:
        """Return the index of a node."""
        return self._known.setdefault((operation, left, right), len(self._known))

    def copy(self, node: Node, number: Callable[[int], int]) -> int:
        """Return the index of a node whose operands get other numbers."""
        operation, left, right = node
        if operation in BINARY:
            return self.add(operation, number(left), number(right))
        if operation in UNARY or operation == RESULT:
            return self.add(operation, number(left), right)
        if operation == CALL:
            return self.add(operation, left, tuple(map(number, right)))
        return self.add(operation, left, right)


class _Splitter:
    """Splits one program."""

    def __init__(self, program: Program, known: dict[int, Prepared]) -> None:
        self.program, self.known = program, known
        self.before, self.after = _Builder(), _Builder()
        nodes = program.nodes
        # Whether a node depends only on parameters; its number before, or after.
        self.early = _early(nodes)
        self.number = [-1] * len(nodes)
        # Prepared values, as numbers of nodes before.
        self.block: list[int] = []
        self.place: dict[int, int] = {}
        self.ranges: dict[tuple[int, ...], int] = {}

    def split(self) -> Prepared:
        """Return both parts."""
        program = self.program
        for index in np.flatnonzero(self.early).tolist():
            node = program.nodes[index]
            if node.operation == PARAMETER:
                self.number[index] = self.before.add(INPUT, 0, node.left)
            else:
                self.number[index] = self.before.copy(node, self.number.__getitem__)
        prepared = sum(kind not in (INPUT, CONSTANT) for kind, _, _ in self.before.nodes)
        few = prepared == 0 or prepared < _LEAST_SHARE * len(program.nodes)
        if few and not program.called:
            return Prepared(None, program, list(range(len(program.slots))))
        calls: dict[int, tuple[Prepared, int]] = {}
        for index, node in enumerate(program.nodes):
            if node.operation == CALL and not self.early[index]:
                found = self._prepare_call(node)
                if found is not None:
                    calls[index] = found
        for index, node in enumerate(program.nodes):
            if not self.early[index]:
                self.number[index] = self._copy_late(index, node, calls)
        results = [
            self._use(value) if isinstance(value, int) else value for value in program.results
        ]
        before = self.before.nodes
        if all(before[value][0] in (INPUT, CONSTANT) for value in self.block):
            return Prepared(None, program, list(range(len(program.slots))))
        remainder = self._program(
            self.after.nodes, results, program.ports.inputs, program.ports.outputs, len(self.block)
        )
        number = {slot: place for place, slot in enumerate(remainder.slots)}
        pairs = dict(zip(program.results, remainder.results, strict=True))
        slots = [number[int(pairs[node])] for node in program.slots]
        preparation = self._program(
            before,
            list(self.block),
            (("parameters", (program.parameters,)),),
            (("prepared", (len(self.block),)),),
            0,
        )
        return Prepared(preparation, remainder, slots)

    def _program(
        self,
        nodes: list[Key],
        results: list[int | float],
        inputs: tuple[tuple[str, tuple[int, ...]], ...],
        outputs: tuple[tuple[str, tuple[int, ...]], ...],
        parameters: int,
    ) -> Program:
        constant = [left if operation == CONSTANT else None for operation, left, _ in nodes]
        plain: list[int | float] = []
        for value in results:
            known = constant[value] if isinstance(value, int) else value
            plain.append(value if known is None else known)
        ports = Ports(self.program.name, inputs, outputs, parameters)
        return Program(ports, *drop_unused(nodes, plain))

    def _prepare_call(self, node: Node) -> tuple[Prepared, int] | None:
        """Prepare the parameters of a call; return the callee's parts and its block's address."""
        callee: Program = node.left
        arguments = node.right[len(node.right) - callee.parameters :]
        if not all(self.early[argument] for argument in arguments):
            return None  # its parameters depend on the state: it is called as it is
        parts = prepare(callee, self.known)
        values = tuple(self.number[argument] for argument in arguments)
        if parts.preparation is not None:
            values = self._inline(parts.preparation, values)
        if values not in self.ranges:
            self.ranges[values] = len(self.block)
            for value in values:
                self.place.setdefault(value, len(self.block))
                self.block.append(value)
        return parts, self.ranges[values]

    def _inline(self, preparation: Program, arguments: tuple[int, ...]) -> tuple[int, ...]:
        """Compute a callee's prepared values together with those of the caller."""
        number: list[int] = []
        for node in preparation.nodes:
            if node.operation == INPUT:
                number.append(arguments[node.right])
            else:
                number.append(self.before.copy(node, number.__getitem__))
        return tuple(
            number[value] if isinstance(value, int) else self.before.add(CONSTANT, value)
            for value in preparation.results
        )

    def _copy_late(self, index: int, node: Node, calls: dict[int, tuple[Prepared, int]]) -> int:
        """Write a node that depends on inputs; return its number after."""
        if index in calls:
            parts, start = calls[index]
            callee: Program = node.left
            inputs = node.right[: len(node.right) - callee.parameters]
            block = range(start, start + parts.remainder.parameters)
            arguments = [self._use(argument) for argument in inputs]
            arguments += [self.after.add(PARAMETER, place) for place in block]
            return self.after.add(CALL, parts.remainder, tuple(arguments))
        if node.operation == RESULT and node.left in calls:
            slot = calls[node.left][0].slots[node.right]
            return self.after.add(RESULT, self.number[node.left], slot)
        return self.after.copy(node, self._use)

    def _use(self, index: int) -> int:
        """Return the prepared value of a node that a later operation uses."""
        if not self.early[index]:
            return self.number[index]
        node = self.program.nodes[index]
        if node.operation == CONSTANT:
            return self.after.add(CONSTANT, node.left)
        value = self.number[index]
        if value not in self.place:
            self.place[value] = len(self.block)
            self.block.append(value)
        return self.after.add(PARAMETER, self.place[value])


def _early(nodes: Sequence[Node]) -> list[bool]:
    """Return for each node whether it depends on parameters and constants alone."""
    early: list[bool] = []
    for operation, left, right in nodes:
        if operation in BINARY:
            early.append(early[left] and early[right])
        elif operation in UNARY or operation == RESULT:
            early.append(early[left])
        elif operation == CALL:
            early.append(all(early[argument] for argument in right))
        else:
            early.append(operation != INPUT)
    return early
