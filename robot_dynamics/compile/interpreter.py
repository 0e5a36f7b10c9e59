# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Running a program node by node with NumPy: the oracle, and the way without llvmlite."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from robot_dynamics.compile import graph

if TYPE_CHECKING:
    from robot_dynamics.compile.program import Program

_FUNCTIONS: dict[int, Callable[..., Any]] = {
    graph.ADD: np.add,
    graph.SUBTRACT: np.subtract,
    graph.MULTIPLY: np.multiply,
    graph.DIVIDE: np.divide,
    graph.MINIMUM: np.minimum,
    graph.MAXIMUM: np.maximum,
    graph.ATAN2: np.arctan2,
    graph.NEGATE: np.negative,
    graph.SQRT: np.sqrt,
    graph.SIN: np.sin,
    graph.COS: np.cos,
    graph.ABSOLUTE: np.abs,
}


def run(program: Program, inputs: Sequence[Any], parameters: Sequence[Any]) -> list[Any]:
    """Run a program.

    Args:
        program: What to run.
        inputs: For every input its elements: floats, or arrays of one shape (a batch).
        parameters: The elements of the parameter block, likewise.

    Returns:
        The values of `program.slots`.
    """
    with np.errstate(all="ignore"):
        return _run(program, inputs, parameters)


def _run(program: Program, inputs: Sequence[Any], parameters: Sequence[Any]) -> list[Any]:
    values: list[Any] = []
    for operation, left, right in program.nodes:
        if operation in graph.BINARY:
            value = _FUNCTIONS[operation](values[left], values[right])
        elif operation in graph.UNARY:
            value = _FUNCTIONS[operation](values[left])
        elif operation == graph.CONSTANT:
            value = left
        elif operation == graph.INPUT:
            value = inputs[left][right]
        elif operation == graph.PARAMETER:
            value = parameters[left]
        elif operation == graph.RESULT:
            value = values[left][right]
        else:
            arguments, block = split_arguments(left, [values[index] for index in right])
            value = _run(left, arguments, block)
        values.append(value)
    return [values[node] for node in program.slots]


def split_arguments(program: Program, flat: list[Any]) -> tuple[list[list[Any]], list[Any]]:
    """Return the flat arguments of a call as one list for each input, and the parameters."""
    arguments = []
    start = 0
    for size in program.ports.input_sizes:
        arguments.append(flat[start : start + size])
        start += size
    return arguments, flat[start:]
