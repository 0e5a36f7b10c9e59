# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of programs: forward along a direction, and in reverse from weights of results.

Both are functions over scalars for traced functions: their operations become part of the traced
program, and can be differentiated again. The rules of each operation are those of `Dual`. Called
programs remain calls.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from robot_dynamics.compile import graph
from robot_dynamics.compile.graph import (
    ADD,
    CALL,
    CONSTANT,
    INPUT,
    MULTIPLY,
    PARAMETER,
    RESULT,
    SUBTRACT,
    UNARY,
)
from robot_dynamics.compile.nesting import as_flat_list, as_nested_list
from robot_dynamics.compile.program import Program
from robot_dynamics.compile.tracing import call, trace
from robot_dynamics.scalar import functions
from robot_dynamics.scalar.dual import Dual, new_depth, parts, product_rule
from robot_dynamics.scalar.linear_algebra import is_zero
from robot_dynamics.scalar.symbolic import Scalar

_OPERATIONS: dict[int, Callable[..., Scalar]] = {
    graph.ADD: operator.add,
    graph.SUBTRACT: operator.sub,
    graph.MULTIPLY: operator.mul,
    graph.DIVIDE: operator.truediv,
    graph.NEGATE: operator.neg,
    graph.SQRT: functions.sqrt,
    graph.SIN: functions.sin,
    graph.COS: functions.cos,
    graph.ABSOLUTE: functions.absolute,
    graph.MINIMUM: functions.minimum,
    graph.MAXIMUM: functions.maximum,
    graph.ATAN2: functions.atan2,
    graph.EXP: functions.exp,
    graph.LOG: functions.log,
}

Known = dict[tuple[int, bool], Program]


def jacobian_times_vector(
    program: Program,
    inputs: Sequence[Any],
    directions: Sequence[Any],
    parameters: Sequence[Scalar] = (),
) -> dict[str, Any]:
    """Return the rates of a program's outputs as its inputs change along directions.

    Args:
        program: The program.
        inputs: Its inputs, nested lists of scalars.
        directions: Their rates, with the same nesting; 0.0 for constants.
        parameters: The parameter block, which is constant.

    Returns:
        The rates, nested like the outputs and by their names.
    """
    values, rates = _flat_inputs(program, inputs), _flat_inputs(program, directions)
    _, found = _forward(program, values + list(parameters), rates + [0.0] * len(parameters), {})
    return _by_name(program, found)


def vector_times_jacobian(
    program: Program,
    inputs: Sequence[Any],
    weights: Sequence[Any],
    parameters: Sequence[Scalar] = (),
) -> dict[str, Any]:
    """Return the gradients, by all inputs, of the sum of a program's outputs times weights.

    Args:
        program: The program.
        inputs: Its inputs, nested lists of scalars.
        weights: One for each element of the outputs, nested alike.
        parameters: The parameter block.

    Returns:
        The gradients, nested like the inputs and by their names; "parameters" is that by the
        block (a list), if the program reads one.
    """
    ports = program.ports
    flat = [
        x
        for (name, shape), value in zip(ports.outputs, weights, strict=True)
        for x in as_flat_list(value, shape, f"weights of {name}")
    ]
    found = _reverse(program, [*_flat_inputs(program, inputs), *parameters], flat, {})
    return _gradients(program, found)


def _forward(
    program: Program, values: list[Scalar], rates: list[Scalar], known: Known
) -> tuple[list[Scalar], list[Scalar]]:
    """Return the results and their rates; `values` are the inputs and then the parameters."""
    depth, first = new_depth(), sum(program.ports.input_sizes)
    at: list[Any] = []  # values of nodes; of calls their slots
    by: list[Any] = []  # their rates
    for operation, left, right in program.nodes:
        rate: Any = 0.0
        if operation in (ADD, SUBTRACT, MULTIPLY):
            a, b, da, db = at[left], at[right], by[left], by[right]
            if operation == MULTIPLY:
                value, rate = a * b, product_rule(a, b, da, db)
            elif operation == ADD:
                value, rate = a + b, da + db
            else:
                value, rate = a - b, da - db
        elif operation == CONSTANT:
            value = left
        elif operation in (INPUT, PARAMETER):
            place = (
                program.ports.input_starts[left] + right if operation == INPUT else first + left
            )
            value, rate = values[place], rates[place]
        elif operation == RESULT:
            value, rate = at[left][right], by[left][right]
        elif operation == CALL:
            value, rate = _called_forward(
                left, [at[i] for i in right], [by[i] for i in right], known
            )
        else:
            operands = (left,) if operation in UNARY else (left, right)
            given = [at[i] if is_zero(by[i]) else Dual(depth, at[i], by[i]) for i in operands]
            value, rate = parts(_OPERATIONS[operation](*given), depth)
        at.append(value)
        by.append(rate)
    pairs = [
        (at[value], by[value]) if isinstance(value, int) else (value, 0.0)
        for value in program.results
    ]
    return [value for value, _ in pairs], [rate for _, rate in pairs]


def _called_forward(
    program: Program, values: list[Scalar], rates: list[Scalar], known: Known
) -> tuple[list[Scalar], list[Scalar]]:
    """Return the slots of a call and their rates."""
    size, moving = len(program.results), not all(map(is_zero, rates))
    if moving:
        of_parameters = not all(map(is_zero, rates[sum(program.ports.input_sizes) :]))
        outputs = _call_flat(_forward_program(program, of_parameters, known), values, rates)
    else:
        outputs = [*_call_flat(program, values, []), *([0.0] * size)]
    places = {node: k for k, node in enumerate(program.results) if isinstance(node, int)}
    slots = [places[node] for node in program.slots]
    return [outputs[k] for k in slots], [outputs[size + k] for k in slots]


def _reverse(
    program: Program, values: list[Scalar], weights: list[Scalar], known: Known
) -> list[Scalar]:
    """Return the gradient by inputs and parameters, one flat list."""
    depth, first, nodes = new_depth(), sum(program.ports.input_sizes), program.nodes
    starts = program.ports.input_starts
    of_nodes: list[Any] = []
    for operation, left, right in nodes:
        if operation == CONSTANT:
            found: Any = left
        elif operation == INPUT:
            found = values[starts[left] + right]
        elif operation == PARAMETER:
            found = values[first + left]
        elif operation == RESULT:
            found = of_nodes[left][right]
        elif operation == CALL:
            outputs = _call_flat(left, [of_nodes[i] for i in right], [])
            pairs = zip(left.results, outputs, strict=True)
            slots = {node: x for node, x in pairs if isinstance(node, int)}  # 1.0 is no node
            found = [slots[node] for node in left.slots]
        elif operation in UNARY:
            found = _OPERATIONS[operation](of_nodes[left])
        else:
            found = _OPERATIONS[operation](of_nodes[left], of_nodes[right])
        of_nodes.append(found)
    gradient: list[Scalar] = [0.0] * len(values)
    slopes: list[Any] = [
        [0.0] * len(node.left.slots) if node.operation == CALL else 0.0 for node in nodes
    ]
    for value, weight in zip(program.results, weights, strict=True):
        if isinstance(value, int):
            slopes[value] = slopes[value] + weight
    for index in reversed(range(len(nodes))):
        operation, left, right = nodes[index]
        slope = slopes[index]
        if operation == CALL:
            if not all(map(is_zero, slope)):
                arguments = [of_nodes[i] for i in right]
                for at, more in zip(
                    right, _called_reverse(left, arguments, slope, known), strict=True
                ):
                    slopes[at] = slopes[at] + more
        elif operation == CONSTANT or is_zero(slope):
            continue
        elif operation == INPUT:
            gradient[starts[left] + right] = slope
        elif operation == PARAMETER:
            gradient[first + left] = slope
        elif operation == RESULT:
            slopes[left][right] = slopes[left][right] + slope
        else:
            operands = (left,) if operation in UNARY else (left, right)
            for place, i in enumerate(operands):
                if nodes[i].operation == CONSTANT:
                    continue
                if operation == MULTIPLY:
                    slopes[i] = slopes[i] + of_nodes[operands[1 - place]] * slope
                elif operation == ADD or (operation == SUBTRACT and place == 0):
                    slopes[i] = slopes[i] + slope
                else:
                    moved = [of_nodes[k] for k in operands]
                    moved[place] = Dual(depth, moved[place], 1.0)
                    partial = parts(_OPERATIONS[operation](*moved), depth)[1]
                    slopes[i] = slopes[i] + partial * slope
    return gradient


def _called_reverse(
    program: Program, arguments: list[Scalar], of_slots: list[Scalar], known: Known
) -> list[Scalar]:
    """Return the slopes of a call's arguments from the slopes of its slots."""
    left = dict(zip(program.slots, of_slots, strict=True))
    # A node in several outputs counts once.
    weights = [left.pop(v, 0.0) if isinstance(v, int) else 0.0 for v in program.results]
    return _call_flat(_reverse_program(program, known), arguments, weights)


def _forward_program(program: Program, of_parameters: bool, known: Known) -> Program:
    """Return the program of results and rates; of moving parameters only if asked for."""
    key = (id(program), of_parameters)
    if key not in known:
        size, n = sum(program.ports.input_sizes), program.parameters

        def run(values: Any, rates: Any, block: Any) -> dict[str, Any]:
            moving = [*rates, *([0.0] * n)][: size + n]
            results, found = _forward(program, [*values, *block], moving, known)
            return {"results": results, "rates": found}

        inputs = {"values": size, "rates": size + n * of_parameters}
        known[key] = trace(run, f"{program.name}_forward", inputs, n)
    return known[key]


def _reverse_program(program: Program, known: Known) -> Program:
    """Return the program of the gradient by inputs and parameters, of those and of weights."""
    # The two kinds are never in one dictionary: there is one for each direction.
    key = (id(program), True)
    if key not in known:

        def run(values: Any, weights: Any, block: Any) -> dict[str, Any]:
            return {"gradient": _reverse(program, [*values, *block], weights, known)}

        inputs = {"values": sum(program.ports.input_sizes), "weights": len(program.results)}
        known[key] = trace(run, f"{program.name}_reverse", inputs, program.parameters)
    return known[key]


def _call_flat(program: Program, values: list[Scalar], more: list[Scalar]) -> list[Scalar]:
    """Call a program with flat inputs, some `more` behind them, and parameters; flat results.

    Args:
        program: The program.
        values: Its inputs, or those of the program it was made from, and the parameters.
        more: Inputs between these and the parameters.
    """
    n = program.parameters
    inputs, block = values[: len(values) - n], values[len(values) - n :]
    flat = [*inputs, *more][: sum(program.ports.input_sizes)]
    nested = [
        as_nested_list(flat[start : start + size], shape)
        for (_, shape), start, size in zip(
            program.ports.inputs,
            program.ports.input_starts,
            program.ports.input_sizes,
            strict=True,
        )
    ]
    outputs = call(program, *nested, parameters=block)
    return [
        x
        for name, shape in program.ports.outputs
        for x in as_flat_list(outputs[name], shape, name)
    ]


def _flat_inputs(program: Program, inputs: Sequence[Any]) -> list[Scalar]:
    return [
        x
        for (name, shape), value in zip(program.ports.inputs, inputs, strict=True)
        for x in as_flat_list(value, shape, f"{program.name}: input {name!r}")
    ]


def _by_name(program: Program, flat: list[Scalar]) -> dict[str, Any]:
    ports = program.ports
    return {
        name: as_nested_list(flat[start : start + size], shape)
        for (name, shape), start, size in zip(
            ports.outputs, ports.output_starts, ports.output_sizes, strict=True
        )
    }


def _gradients(program: Program, flat: list[Scalar]) -> dict[str, Any]:
    ports = program.ports
    found = {
        name: as_nested_list(flat[start : start + size], shape)
        for (name, shape), start, size in zip(
            ports.inputs, ports.input_starts, ports.input_sizes, strict=True
        )
    }
    if ports.parameters:
        found["parameters"] = flat[sum(ports.input_sizes) :]
    return found
