# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Repeated application of a kernel to its own results, without Python in between.

The loop of a kernel takes one state after the other. If each state's results are written to the
next state, it becomes a recursion: a million steps cost only their arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.arrays import Array
from robot_dynamics.compile.errors import ShapeError
from robot_dynamics.compile.plain_function import MachineLoop
from robot_dynamics.compile.ports import Ports, stack_inputs


class Chain:
    """A recursion `x[i+1] = f(x[i], constants)` of a bound kernel.

    Inputs with the name of an output are carried; the others are constant.

    Attributes:
        carried: Names of the carried inputs.
    """

    def __init__(self, ports: Ports, step: Callable[..., Any] | MachineLoop) -> None:
        """Prepare the recursion.

        Args:
            ports: Names and shapes.
            step: The compiled loop, one state at a time; or any function of the inputs.

        Raises:
            ShapeError: If no input is carried, or an output has another shape than the input of
                its name.
        """
        inputs, outputs = dict(ports.inputs), dict(ports.outputs)
        self.carried = tuple(name for name in inputs if name in outputs)
        if not self.carried or any(inputs[name] != outputs[name] for name in self.carried):
            raise ShapeError(
                f"{ports.name}: inputs are {inputs} and outputs {outputs}, expected an output "
                "with the name of an input, each with the same shape."
            )
        self._ports, self._step = ports, step

    def __repr__(self) -> str:
        return f"<chain {self._ports.name} carrying {', '.join(self.carried)}>"

    def __call__(self, count: int, *arrays: ArrayLike) -> tuple[Array, ...]:
        """Return the outputs of `count` links, each of shape (count, *output shape).

        Args:
            count: Number of applications.
            arrays: Inputs of the first application, each of the declared shape.

        Raises:
            ShapeError: If an array has another shape than declared.
        """
        ports = self._ports
        flat, batch = stack_inputs(ports, arrays)
        if batch:
            raise ShapeError(
                f"{ports.name}: a chain got a batch of {batch} states, expected one state."
            )
        # One row more than links: the first is the start of the chain.
        rows = [np.empty((count + 1, size)) for size in ports.output_sizes]
        names = [name for name, _ in ports.outputs]
        for (name, _), value in zip(ports.inputs, flat, strict=True):
            if name in self.carried:
                rows[names.index(name)][0] = value
        if isinstance(self._step, MachineLoop):
            self._run_machine(self._step, count, flat, rows)
        else:
            self._run_python(self._step, count, flat, rows)
        return tuple(
            row[1:].reshape((count, *shape))
            for row, (_, shape) in zip(rows, ports.outputs, strict=True)
        )

    def _run_machine(
        self, loop: MachineLoop, count: int, flat: list[Array], rows: list[Array]
    ) -> None:
        ports = self._ports
        names = [name for name, _ in ports.outputs]
        addresses, steps = [], []
        constants = [np.ascontiguousarray(value) for value in flat]
        for (name, _), constant in zip(ports.inputs, constants, strict=True):
            row = rows[names.index(name)] if name in self.carried else None
            addresses.append((constant if row is None else row).ctypes.data)
            steps.append(0 if row is None else row.strides[0])
        for row, size in zip(rows, ports.output_sizes, strict=True):
            addresses.append(row.ctypes.data + 8 * size)
            steps.append(8 * size)
        loop(count, addresses, steps)

    def _run_python(
        self, step: Callable[..., Any], count: int, flat: list[Array], rows: list[Array]
    ) -> None:
        ports = self._ports
        names = [name for name, _ in ports.outputs]
        for link in range(count):
            inputs = [
                (rows[names.index(name)][link] if name in self.carried else value).reshape(shape)
                for (name, shape), value in zip(ports.inputs, flat, strict=True)
            ]
            results = step(*inputs)
            results = results if isinstance(results, tuple) else (results,)
            for row, result in zip(rows, results, strict=True):
                row[link + 1] = np.ravel(result)
