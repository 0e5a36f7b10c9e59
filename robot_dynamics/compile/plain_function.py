# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A callable with the interface of a bound kernel, for programs that cannot be ufuncs of NumPy."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.compile.errors import ShapeError
from robot_dynamics.compile.ports import Ports, stack_inputs
from robot_dynamics.compile.program import Program

#: Fills (N, size) arrays of outputs from (N, size) arrays of inputs, all contiguous.
Evaluate = Callable[[list[NDArray[np.float64]], list[NDArray[np.float64]]], None]


class PlainFunction:
    """A function of arrays with broadcasting and `out=`, as a generalised ufunc is one.

    Attributes:
        nin: The number of inputs.
        nout: The number of outputs.
        signature: The core dimensions, as of a generalised ufunc.
    """

    def __init__(self, ports: Ports, evaluate: Evaluate) -> None:
        self._ports, self._evaluate = ports, evaluate
        self.__name__, self.__doc__ = ports.name, ports.document
        self.nin, self.nout = len(ports.inputs), len(ports.outputs)
        self._input_sizes, self._output_sizes = ports.input_sizes, ports.output_sizes
        self.signature = ports.signature

    def __repr__(self) -> str:
        return f"<function {self._ports.name} {self.signature}>"

    def __call__(self, *arrays: ArrayLike, out: Any = None) -> Any:
        """Evaluate.

        Args:
            arrays: The inputs, of shapes (..., *input shape); arrays to write to may follow.
            out: An array to write to or, for several outputs, a tuple of arrays or None.

        Returns:
            The output, of shape (..., *output shape); a tuple of outputs unless there is one.

        Raises:
            ShapeError: If an array has another shape than declared.
        """
        ports = self._ports
        inputs, batch = self._stacked(arrays[: self.nin])
        targets, batch = self._targets(arrays[self.nin :], out, batch)
        count = prod(batch)
        rows = [
            np.ascontiguousarray(
                value if value.shape[:-1] == batch else np.broadcast_to(value, (*batch, size))
            ).reshape(count, size)
            for value, size in zip(inputs, self._input_sizes, strict=True)
        ]
        results = [
            target.reshape(count, size)
            if target is not None and _can_be_filled(target, rows)
            else np.empty((count, size))
            for target, size in zip(targets, self._output_sizes, strict=True)
        ]
        if count and results:
            self._evaluate(rows, results)
        outputs = []
        for (_, shape), result, target in zip(ports.outputs, results, targets, strict=True):
            value = result.reshape((*batch, *shape))
            if target is not None:
                if not np.may_share_memory(target, value):
                    np.copyto(target, value, casting="same_kind")
                value = target
            outputs.append(value if value.ndim or target is not None else value[()])
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _stacked(
        self, given: Sequence[ArrayLike]
    ) -> tuple[list[NDArray[np.float64]], tuple[int, ...]]:
        """Return the inputs of `stack_inputs`, with a shortcut for one state."""
        if len(given) == self.nin:
            one = [
                array.reshape(-1)
                for array, (_, shape) in zip(given, self._ports.inputs, strict=True)
                if type(array) is np.ndarray and array.dtype == np.float64 and array.shape == shape
            ]
            if len(one) == self.nin:
                return one, ()
        for array in given:
            if not np.can_cast(np.asarray(array).dtype, np.float64, "same_kind"):
                raise TypeError(
                    f"{self._ports.name}: expected real numbers, got {np.asarray(array).dtype}."
                )
        return stack_inputs(self._ports, given)

    def _targets(
        self, positional: Sequence[Any], out: Any, batch: tuple[int, ...]
    ) -> tuple[list[Any], tuple[int, ...]]:
        """Return an array or None for every output, and the batch with their dimensions."""
        if positional and out is not None:
            raise TypeError(
                f"{self._ports.name}: outputs are given both by position and as `out`, expected "
                "one of them."
            )
        given = out if out is not None else positional
        targets: list[Any] = list(given) if isinstance(given, (tuple, list)) else [given]
        if out is None:
            targets += [None] * (self.nout - len(targets))
        if len(targets) != self.nout:
            raise ShapeError(
                f"{self._ports.name}: expected {self.nout} arrays to write to, got {len(targets)}."
            )
        for (name, shape), target in zip(self._ports.outputs, targets, strict=True):
            if target is None:
                continue
            if not isinstance(target, np.ndarray):
                raise TypeError(
                    f"{self._ports.name}: output {name} is a {type(target).__name__}, expected an "
                    "array."
                )
            leading = target.shape[: target.ndim - len(shape)]
            if target.shape[len(leading) :] != shape or not _broadcasts_to(batch, leading):
                self._refuse(name, (*batch, *shape), target.shape)
            batch = leading
        for (name, shape), target in zip(self._ports.outputs, targets, strict=True):
            if target is not None and target.shape != (*batch, *shape):
                self._refuse(name, (*batch, *shape), target.shape)
        return targets, batch

    def _refuse(self, name: str, expected: tuple[int, ...], found: tuple[int, ...]) -> NoReturn:
        raise ShapeError(
            f"{self._ports.name}: expected an array of shape {expected} to write {name} to, got "
            f"{found}."
        )


def _can_be_filled(target: NDArray[Any], inputs: Sequence[NDArray[np.float64]]) -> bool:
    """Return whether results can be written to their target while inputs are read."""
    plain = target.dtype == np.float64 and target.flags.c_contiguous and target.flags.writeable
    return plain and not any(np.may_share_memory(target, each) for each in inputs)


def _broadcasts_to(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    try:
        return shape == target or np.broadcast_shapes(shape, target) == target
    except ValueError:
        return False


def interpreted_function(program: Program, parameters: NDArray[np.float64]) -> PlainFunction:
    """Return a function that interprets a program."""

    def evaluate(inputs: list[NDArray[np.float64]], outputs: list[NDArray[np.float64]]) -> None:
        # A single state runs on plain floats, which is faster than arrays of one.
        count = len(outputs[0]) if inputs else 1
        batch = (count,) if count > 1 else ()
        arrays = [
            value.reshape((*batch, *shape))
            for value, (_, shape) in zip(inputs, program.ports.inputs, strict=True)
        ]
        values = program.evaluate(*arrays, parameters=parameters)
        for target, value in zip(outputs, values, strict=True):
            target[...] = value.reshape((count, target.shape[1]))

    return PlainFunction(program.ports, evaluate)


def machine_function(
    ports: Ports, address: int, owner: object, parameters: NDArray[np.float64]
) -> PlainFunction:
    """Return a function that calls a compiled loop through ctypes.

    Args:
        ports: Names and shapes.
        address: The address of the loop.
        owner: Object that keeps the loop in memory.
        parameters: The parameter block, which must not be changed afterwards.
    """
    loop = MachineLoop(ports, address, owner, parameters)

    def evaluate(inputs: list[NDArray[np.float64]], outputs: list[NDArray[np.float64]]) -> None:
        arrays = [*inputs, *outputs]
        loop(len(arrays[0]), [array.ctypes.data for array in arrays], loop.sizes)

    return PlainFunction(ports, evaluate)


class MachineLoop:
    """A compiled loop, called through ctypes with addresses of states that are contiguous.

    Attributes:
        sizes: Bytes of one state of every input and output, in order.
        entry: Addresses of the loop and of its data.
    """

    def __init__(
        self, ports: Ports, address: int, owner: object, parameters: NDArray[np.float64]
    ) -> None:
        """Prepare calls; see `machine_function`."""
        self._loop = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(address)
        self._owner, self._parameters = owner, parameters
        self.entry = address, parameters.ctypes.data
        shapes = [shape for _, shape in (*ports.inputs, *ports.outputs)]
        self.sizes = [8 * size for size in (*ports.input_sizes, *ports.output_sizes)]
        self._strides = [
            8 * prod(shape[axis + 1 :]) for shape in shapes for axis in range(len(shape))
        ]
        self._lengths = [length for shape in shapes for length in shape]

    def bind(self, arrays: Sequence[NDArray[np.float64]]) -> Callable[[], Any]:
        """Return a function without arguments that evaluates one state, in contiguous arrays."""
        given = self._arguments(1, [array.ctypes.data for array in arrays], self.sizes)
        bound = partial(self._loop, *given)
        bound.kept = (self, arrays)  # type: ignore[attr-defined]
        entry = (self._loop, *given[:3])
        places = [ctypes.cast(each, ctypes.c_void_p).value for each in entry]
        bound.entry = (*places, given[3])  # type: ignore[attr-defined]
        return bound

    def __call__(self, count: int, addresses: Sequence[int], steps: Sequence[int]) -> None:
        """Evaluate `count` states.

        Args:
            count: The number of states.
            addresses: Addresses of the first state of every input and output, in order.
            steps: Bytes from each state to the next, in the same order.
        """
        self._loop(*self._arguments(count, addresses, steps))

    def _arguments(
        self, count: int, addresses: Sequence[int], steps: Sequence[int]
    ) -> tuple[Any, Any, Any, int]:
        """Return the arguments of the loop."""
        dimensions = [count, *self._lengths]
        strides = [*steps, *self._strides]
        return (
            (ctypes.c_void_p * len(addresses))(*addresses),
            (ctypes.c_ssize_t * len(dimensions))(*dimensions),
            (ctypes.c_ssize_t * len(strides))(*strides),
            self._parameters.ctypes.data,
        )
