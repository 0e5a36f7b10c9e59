# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Running a program in Python: the oracle of machine code, and the way without llvmlite.

A program is written out as a Python function, one statement for each node, which runs on plain
floats for a single state and on NumPy arrays for a batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from types import CodeType
from typing import TYPE_CHECKING, Any

import numpy as np

from robot_dynamics.compile import graph
from robot_dynamics.scalar import functions

if TYPE_CHECKING:
    from robot_dynamics.compile.program import Program

_OPERATORS = {graph.ADD: "+", graph.SUBTRACT: "-", graph.MULTIPLY: "*", graph.DIVIDE: "/"}
# These raise where NumPy's give nan or infinity; then NumPy's are asked.
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
    """Run a program; what has no value is nan or infinite, and nothing is raised.

    Args:
        program: What to run.
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


class PythonFunction:
    """A program as a Python function from flat arguments to the values of its slots.

    Attributes:
        of_floats: The function for floats; raises where a value does not exist.
        of_arrays: The function for arrays, and for NumPy's floats.
    """

    def __init__(self, program: Program) -> None:
        code, called = _compile(program)
        self.of_floats: Function = _define(
            code, _FUNCTIONS_OF_FLOATS, [callee.python.of_floats for callee in called]
        )
        self.of_arrays: Function = _define(
            code, _FUNCTIONS_OF_ARRAYS, [callee.python.of_arrays for callee in called]
        )


def _define(code: CodeType, names: dict[str, Any], called: list[Function]) -> Function:
    """Return the function that some code defines, given the functions it uses."""
    scope = {**names, **_SPECIAL}
    scope.update((f"call{number}", function) for number, function in enumerate(called))
    exec(code, scope)
    return scope["run"]  # type: ignore[no-any-return]


def _compile(program: Program) -> tuple[CodeType, list[Program]]:
    """Return the code that defines `run(arguments)`, and the programs that it calls."""
    called: list[Program] = []
    lines = ["def run(a):"]
    starts, parameters = program.ports.input_starts, sum(program.ports.input_sizes)
    for index, (operation, left, right) in enumerate(program.nodes):
        if operation in _OPERATORS:
            text = f"v{left} {_OPERATORS[operation]} v{right}"
        elif operation == graph.NEGATE:
            text = f"-v{left}"
        elif operation in graph.UNARY:
            text = f"{graph.NAMES[operation]}(v{left})"
        elif operation in graph.BINARY:
            text = f"{graph.NAMES[operation]}(v{left}, v{right})"
        elif operation == graph.CONSTANT:
            text = repr(left)
        elif operation == graph.INPUT:
            text = f"a[{starts[left] + right}]"
        elif operation == graph.PARAMETER:
            text = f"a[{parameters + left}]"
        elif operation == graph.RESULT:
            text = f"v{left}[{right}]"
        else:
            if left not in called:
                called.append(left)
            arguments = ", ".join(f"v{argument}" for argument in right)
            text = f"call{called.index(left)}([{arguments}])"
        lines.append(f"    v{index} = {text}")
    lines.append(f"    return [{', '.join(f'v{index}' for index in program.slots)}]")
    return compile("\n".join(lines), f"<program {program.name}>", "exec"), called
