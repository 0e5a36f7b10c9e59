# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A traced program: straight-line arithmetic from arrays of fixed shapes to arrays."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from math import prod
from types import CodeType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.compile import graph
from robot_dynamics.compile.graph import CALL, INPUT, NAMES, PARAMETER
from robot_dynamics.compile.ports import Ports, check_parameters, stack_inputs
from robot_dynamics.compile.simplification import Node
from robot_dynamics.errors import UnknownNameError
from robot_dynamics.scalar import functions


class Program:
    """A straight-line program without branches, made by `trace`.

    Attributes:
        name: Its name, for messages and for the names of functions.
        ports: Names and shapes of inputs and outputs, and number of parameters.
        nodes: The operations, operands before their users.
        results: For every element of every output, flat and in order, the index of its node
            (`int`) or the constant it is (`float`).
    """

    def __init__(
        self, ports: Ports, nodes: tuple[Node, ...], results: tuple[int | float, ...]
    ) -> None:
        self.name = ports.name
        self.ports = ports
        self.nodes = nodes
        self.results = results

    @property
    def inputs(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the inputs, by name and in order."""
        return dict(self.ports.inputs)

    @property
    def outputs(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the outputs, by name and in order."""
        return dict(self.ports.outputs)

    @property
    def parameters(self) -> int:
        """The length of the parameter block."""
        return self.ports.parameters

    @cached_property
    def size(self) -> int:
        """The number of operations of the longest function: this one, or one that it calls."""
        return max([len(self.nodes), *(program.size for program in self.called)])

    @cached_property
    def called(self) -> list[Program]:
        """The programs that it calls, each once."""
        every = [left for operation, left, _ in self.nodes if operation == CALL]
        return list(dict.fromkeys(every))

    @cached_property
    def slots(self) -> tuple[int, ...]:
        """The different nodes among the results, in their order."""
        return tuple(sorted({value for value in self.results if isinstance(value, int)}))

    @cached_property
    def slot_of_node(self) -> dict[int, int]:
        """The place of a node in `slots`."""
        return {node: slot for slot, node in enumerate(self.slots)}

    @cached_property
    def fingerprint(self) -> bytes:
        """Bytes that are equal for programs that compute the same in the same way."""
        nodes = [
            (
                node.operation,
                node.left.fingerprint if node.operation == CALL else node.left,
                node[2],
            )
            for node in self.nodes
        ]
        ports = (self.ports.inputs, self.ports.outputs, self.ports.parameters)
        return hashlib.sha256(repr((ports, nodes, self.results)).encode()).digest()

    @cached_property
    def python(self) -> PythonFunction:
        """The program as a Python function."""
        return PythonFunction(self)

    def __repr__(self) -> str:
        return f"<program {self.name} {self.ports.signature}: {len(self.nodes)} nodes>"

    def operation_counts(self) -> dict[str, int]:
        """Return the number of operations of each kind in one evaluation, including calls.

        Returns:
            Counts by name ("add", "subtract", "multiply", "divide", "negate", "sqrt", "sin",
            "cos", "absolute", "minimum", "maximum", "atan2", "exp", "log", "call"); absent
            operations have no key.
        """
        counts: Counter[str] = Counter()
        for node in self.nodes:
            if node.operation == CALL:
                counts.update(node.left.operation_counts())
            if node.operation > PARAMETER:
                counts[NAMES[node.operation]] += 1
        counts.pop("result", None)
        return dict(counts)

    def non_zero(self, output: str) -> NDArray[np.bool_]:
        """Return which elements of an output are not zero by structure.

        Args:
            output: The name of an output.

        Returns:
            An array of the output's shape, False where the element is the constant 0.
        """
        for (name, shape), start in zip(self.ports.outputs, self.ports.output_starts, strict=True):
            if name == output:
                flat = self.results[start : start + prod(shape)]
                flags = [isinstance(value, int) or value != 0.0 for value in flat]
                return np.array(flags, dtype=bool).reshape(shape)
        raise UnknownNameError(
            "output", output, (name for name, _ in self.ports.outputs), self.name
        )

    def evaluate(
        self, *arrays: ArrayLike, parameters: ArrayLike | None = None
    ) -> tuple[NDArray[np.float64], ...]:
        """Evaluate the program with NumPy, one operation after another.

        This is slow and serves as the oracle that compiled kernels are tested against.

        Args:
            arrays: The inputs, of shapes (..., *input shape); leading dimensions broadcast.
            parameters: The parameter block, shape (parameters,) or, for one block per state,
                (..., parameters) with the same leading dimensions.

        Returns:
            The outputs, of shapes (..., *output shape).

        Raises:
            ShapeError: If an array has another shape than declared.
        """
        block = check_parameters(self.ports, parameters, batch=True)
        values, batch = stack_inputs(self.ports, arrays, block.shape[:-1])
        arguments: list[Any] = []
        for value in (*values, np.broadcast_to(block, (*batch, block.shape[-1]))):
            # One row per scalar: an operation then works on a contiguous batch.
            rows = np.ascontiguousarray(np.moveaxis(value, -1, 0))
            arguments.extend(rows if batch else rows.tolist())
        slots = run(self, arguments)
        outputs = []
        for (_, shape), start in zip(self.ports.outputs, self.ports.output_starts, strict=True):
            flat = self.results[start : start + prod(shape)]
            output = np.empty((*batch, len(flat)))
            for element, result in enumerate(flat):
                output[..., element] = (
                    slots[self.slot_of_node[result]] if isinstance(result, int) else result
                )
            outputs.append(output.reshape((*batch, *shape)))
        return tuple(outputs)

    def with_parameters_as_input(self, name: str = "parameters") -> Program:
        """Return the same program with the parameter block as its last input.

        It is for batches over parameters, with a block for every state.

        Args:
            name: The name of the new input, which has shape (parameters,).
        """
        port = len(self.ports.inputs)
        nodes = tuple(
            Node(INPUT, port, node.left) if node.operation == PARAMETER else node
            for node in self.nodes
        )
        ports = Ports(
            name=self.ports.name,
            inputs=(*self.ports.inputs, (name, (self.ports.parameters,))),
            outputs=self.ports.outputs,
            parameters=0,
        )
        return Program(ports, nodes, self.results)


_OPERATORS = {graph.ADD: "+", graph.SUBTRACT: "-", graph.MULTIPLY: "*", graph.DIVIDE: "/"}
# These raise errors where NumPy's return nan or infinity; then NumPy's are used.
_FUNCTIONS_OF_FLOATS: dict[str, Any] = {
    "sqrt": math.sqrt,
    "sin": math.sin,
    "cos": math.cos,
    "absolute": math.fabs,
    "minimum": functions.minimum,
    "maximum": functions.maximum,
    "atan2": math.atan2,
    "exp": math.exp,
    "log": math.log,
}
_FUNCTIONS_OF_ARRAYS: dict[str, Any] = {
    "sqrt": np.sqrt,
    "sin": np.sin,
    "cos": np.cos,
    "absolute": np.abs,
    "minimum": np.minimum,
    "maximum": np.maximum,
    "atan2": np.arctan2,
    "exp": np.exp,
    "log": np.log,
}
_SPECIAL = {"inf": math.inf, "nan": math.nan}


Function = Callable[[Sequence[Any]], list[Any]]


def run(program: Program, arguments: Sequence[Any]) -> list[Any]:
    """Run a program; undefined values are nan or infinite, without errors.

    Args:
        program: The program.
        arguments: The elements of all inputs and then of the parameter block: numbers, or arrays
            of one shape (a batch).

    Returns:
        The values of `program.slots`.
    """
    if not any(isinstance(argument, np.ndarray) for argument in arguments):
        try:
            return program.python.of_floats([float(argument) for argument in arguments])
        except (ArithmeticError, ValueError):
            arguments = [np.float64(argument) for argument in arguments]
    with np.errstate(all="ignore"):
        return program.python.of_arrays(arguments)


_LONG = 10_000  # operations: longer programs become several functions of Python


class PythonFunction:
    """A program as a Python function from flat arguments to the values of its slots.

    Attributes:
        of_floats: The function for floats; raises where a value does not exist.
        of_arrays: The function for arrays, and for NumPy's floats.
    """

    def __init__(self, program: Program) -> None:
        codes, called = _compile(program)
        self.of_floats: Function = _define(
            codes, _FUNCTIONS_OF_FLOATS, [callee.python.of_floats for callee in called]
        )
        self.of_arrays: Function = _define(
            codes, _FUNCTIONS_OF_ARRAYS, [callee.python.of_arrays for callee in called]
        )


def _define(codes: list[CodeType], names: dict[str, Any], called: list[Function]) -> Function:
    """Return the function defined by pieces of code, given the functions that it uses."""
    scope = {**names, **_SPECIAL}
    scope.update((f"call{number}", function) for number, function in enumerate(called))
    for code in codes:
        exec(code, scope)
    return scope["run"]  # type: ignore[no-any-return]


def _compile(program: Program) -> tuple[list[CodeType], list[Program]]:
    """Return the code that defines `run(arguments)`, and the programs that it calls.

    The values of a long program are in a list that several functions share: Python compiles one
    function without answering Ctrl-C.
    """
    called = program.called
    long = len(program.nodes) > _LONG
    v = "v[{}]".format if long else "v{}".format
    lines = []
    starts, parameters = program.ports.input_starts, sum(program.ports.input_sizes)
    for index, (operation, left, right) in enumerate(program.nodes):
        if operation in _OPERATORS:
            text = f"{v(left)} {_OPERATORS[operation]} {v(right)}"
        elif operation == graph.NEGATE:
            text = f"-{v(left)}"
        elif operation in graph.UNARY:
            text = f"{graph.NAMES[operation]}({v(left)})"
        elif operation in graph.BINARY:
            text = f"{graph.NAMES[operation]}({v(left)}, {v(right)})"
        elif operation == graph.CONSTANT:
            text = repr(left)
        elif operation == graph.INPUT:
            text = f"a[{starts[left] + right}]"
        elif operation == graph.PARAMETER:
            text = f"a[{parameters + left}]"
        elif operation == graph.RESULT:
            text = f"{v(left)}[{right}]"
        else:
            arguments = ", ".join(map(v, right))
            text = f"call{called.index(left)}([{arguments}])"
        lines.append(f"    {v(index)} = {text}")
    last = f"    return [{', '.join(map(v, program.slots))}]"
    if not long:
        return [_code(program, ["def run(a):", *lines, last])], called
    starts_of_parts = range(0, len(lines), _LONG)
    codes = [
        _code(program, [f"def part{start}(a, v):", *lines[start : start + _LONG]])
        for start in starts_of_parts
    ]
    calls = [f"    part{start}(a, v)" for start in starts_of_parts]
    return [
        *codes,
        _code(program, ["def run(a):", f"    v = [None] * {len(lines)}", *calls, last]),
    ], called


def _code(program: Program, lines: list[str]) -> CodeType:
    return compile("\n".join(lines), f"<program {program.name}>", "exec")
