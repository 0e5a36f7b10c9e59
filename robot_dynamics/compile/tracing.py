# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Recording a Python function as a program, and calling one program from another."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any

import numpy as np

from robot_dynamics.compile.errors import ShapeError, TraceError
from robot_dynamics.compile.graph import INPUT, PARAMETER, Graph, Symbol, TooLong
from robot_dynamics.compile.nesting import as_flat_list, as_nested_list, nested_shape
from robot_dynamics.compile.ports import Ports, Shape
from robot_dynamics.compile.program import Program, run
from robot_dynamics.compile.simplification import simplify


def trace(
    function: Callable[..., Mapping[str, Any]],
    name: str,
    inputs: Mapping[str, int | Sequence[int]],
    parameters: int = 0,
) -> Program:
    """Run a function once on symbols and return the recorded program.

    Args:
        function: Called as `function(*inputs, parameters)`. Each input is a nested list of
            symbols of its declared shape (one symbol for the shape ()), `parameters` a flat list
            of symbols (empty if there are none). Returns a mapping from the names of outputs, in
            order, to nested sequences of symbols and numbers (a single one for the shape ()).
        name: The name of the program.
        inputs: The shapes of the inputs by name, in order.
        parameters: The length of the parameter block.

    Returns:
        The program.

    Raises:
        TraceError: If the function does not return a mapping of nested sequences of scalars.
        ShapeError: If an output is ragged.
    """
    shapes = {key: _shape(shape) for key, shape in inputs.items()}
    with without_collection():
        try:
            with _recording() as graph:
                return _recorded(graph, function, name, shapes, parameters)
        except TooLong:
            with _recording(long=True) as graph:
                return _recorded(graph, function, name, shapes, parameters)


@contextmanager
def _recording(long: bool = False) -> Iterator[Graph]:
    """Make a graph, and release its symbols, which refer to it, without garbage collection."""
    graph = Graph(long)
    try:
        yield graph
    finally:
        graph.known.clear()


@contextmanager
def without_collection() -> Iterator[None]:
    """Switch off garbage collection, which takes most of the time with many nodes."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _recorded(
    graph: Graph,
    function: Callable[..., Mapping[str, Any]],
    name: str,
    shapes: dict[str, Shape],
    parameters: int,
) -> Program:
    """Return the program of a function, recorded by a new graph."""
    arguments = [
        as_nested_list([graph.input(port, element) for element in range(prod(shape))], shape)
        for port, shape in enumerate(shapes.values())
    ]
    outputs = function(*arguments, [graph.parameter(index) for index in range(parameters)])
    if not isinstance(outputs, Mapping):
        raise TraceError(
            f"{name}: the traced function returned {type(outputs).__name__}, expected a mapping "
            "from the names of outputs to nested lists of scalars."
        )
    values: list[Symbol | float] = []
    output_shapes = []
    for key, nested in outputs.items():
        shape = nested_shape(nested)
        flat = as_flat_list(nested, shape, f"{name}: output {key!r}")
        values.extend(_as_result(graph, value, f"{name}: output {key!r}") for value in flat)
        output_shapes.append((key, shape))
    ports = Ports(name, tuple(shapes.items()), tuple(output_shapes), parameters)
    return Program(ports, *simplify(graph, values))


def call(program: Program, *inputs: Any, parameters: Sequence[Any] = ()) -> dict[str, Any]:
    """Call a program from a traced function, or just evaluate it.

    Within a traced function this records a single node: the code of the program is made once and
    called. Outputs that are constants or inputs are returned directly.

    Args:
        program: The program to call.
        inputs: Nested lists of scalars of the shapes of the program's inputs: symbols, numbers,
            or arrays for a batch. Or arrays with leading dimensions, as `evaluate` takes.
        parameters: The elements of the program's parameter block.

    Returns:
        Nested lists of scalars by the names of outputs; arrays if inputs had leading dimensions.

    Raises:
        ShapeError: If an input or the parameter block has another shape than declared.
    """
    ports = program.ports
    if len(inputs) != len(ports.inputs):
        raise ShapeError(
            f"{program.name}: expected {len(ports.inputs)} inputs, got {len(inputs)}."
        )
    if any(
        isinstance(value, np.ndarray) and value.ndim > len(shape)
        for (_, shape), value in zip(ports.inputs, inputs, strict=True)
    ):
        arrays = program.evaluate(*inputs, parameters=parameters)
        return {key: array for (key, _), array in zip(ports.outputs, arrays, strict=True)}
    flat = []
    for (key, shape), value in zip(ports.inputs, inputs, strict=True):
        flat.extend(as_flat_list(value, shape, f"{program.name}: input {key!r}"))
    block = as_flat_list(parameters, (ports.parameters,), f"{program.name}: parameter block")
    flat.extend(block)
    graph = next((value.graph for value in flat if isinstance(value, Symbol)), None)
    if graph is None:
        return _by_name(ports, _evaluate(program, flat))
    arguments = tuple(graph.operand(value) for value in flat)
    node = None
    results: list[Any] = []
    for value in program.results:
        if not isinstance(value, int):
            results.append(value)
            continue
        inner = program.nodes[value]
        if inner.operation == INPUT:
            results.append(flat[ports.input_starts[inner.left] + inner.right])
        elif inner.operation == PARAMETER:
            results.append(block[inner.left])
        else:
            if node is None:
                node = graph.call(program, arguments)
            results.append(graph.result(node, program.slot_of_node[value]))
    return _by_name(ports, results)


def _evaluate(program: Program, flat: list[Any]) -> list[Any]:
    """Return the results of a program for flat arguments: numbers or, elementwise, arrays."""
    slots = [
        value if isinstance(value, np.ndarray) else float(value) for value in run(program, flat)
    ]
    return [
        slots[program.slot_of_node[value]] if isinstance(value, int) else value
        for value in program.results
    ]


def _by_name(ports: Ports, results: list[Any]) -> dict[str, Any]:
    """Return flat results as nested lists by the names of outputs."""
    outputs = {}
    start = 0
    for key, shape in ports.outputs:
        size = prod(shape)
        outputs[key] = as_nested_list(results[start : start + size], shape)
        start += size
    return outputs


def _shape(shape: int | Sequence[int]) -> Shape:
    return (shape,) if isinstance(shape, int) else tuple(int(length) for length in shape)


def _as_result(graph: Graph, value: Any, where: str) -> Symbol | float:
    """Return a symbol of the graph, or a number as a float."""
    if isinstance(value, Symbol):
        return graph.operand(value)
    if isinstance(value, (int, float, np.floating, np.integer)):
        return float(value)
    raise TraceError(f"{where}: expected symbols and numbers, got {type(value).__name__}.")
