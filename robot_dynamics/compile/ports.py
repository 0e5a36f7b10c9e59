# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The ports of a program: names and shapes of inputs and outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.compile.errors import ShapeError

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Ports:
    """Inputs, outputs and parameters of a program.

    Attributes:
        name: The name of the program.
        inputs: Name and shape of every input, in order.
        outputs: Name and shape of every output, in order.
        parameters: The length of the parameter block.
    """

    name: str
    inputs: tuple[tuple[str, Shape], ...]
    outputs: tuple[tuple[str, Shape], ...]
    parameters: int

    @cached_property
    def input_sizes(self) -> tuple[int, ...]:
        """The number of elements of every input."""
        return tuple(prod(shape) for _, shape in self.inputs)

    @cached_property
    def output_sizes(self) -> tuple[int, ...]:
        """The number of elements of every output."""
        return tuple(prod(shape) for _, shape in self.outputs)

    @cached_property
    def input_starts(self) -> tuple[int, ...]:
        """The place of the first element of every input among all elements of all inputs."""
        return tuple(accumulate(self.input_sizes, initial=0))[:-1]

    @cached_property
    def output_starts(self) -> tuple[int, ...]:
        """The place of the first element of every output among all elements of all outputs."""
        return tuple(accumulate(self.output_sizes, initial=0))[:-1]

    @property
    def signature(self) -> str:
        """The signature of the generalised ufunc, for instance "(7),(7)->(7,7)"."""
        left, right = (
            ",".join("(" + ",".join(map(str, shape)) + ")" for _, shape in ports)
            for ports in (self.inputs, self.outputs)
        )
        return f"{left}->{right}"

    @property
    def document(self) -> str:
        """A description for `help`, with names and shapes."""
        left = ", ".join(f"{name} {shape}" for name, shape in self.inputs)
        right = ", ".join(f"{name} {shape}" for name, shape in self.outputs)
        return (
            f"Compiled {self.name}: {left or 'nothing'} -> {right or 'nothing'}. Leading "
            "dimensions broadcast; `out=` takes arrays to write to."
        )

    def as_metadata(self) -> dict[str, Any]:
        """Return a description that JSON can hold."""
        return {
            "name": self.name,
            "inputs": [[name, list(shape)] for name, shape in self.inputs],
            "outputs": [[name, list(shape)] for name, shape in self.outputs],
            "parameters": self.parameters,
        }

    @classmethod
    def from_metadata(cls, data: dict[str, Any]) -> Ports:
        """Return the ports that `as_metadata` described."""
        return cls(
            name=data["name"],
            inputs=tuple((name, tuple(shape)) for name, shape in data["inputs"]),
            outputs=tuple((name, tuple(shape)) for name, shape in data["outputs"]),
            parameters=data["parameters"],
        )


def check_parameters(
    ports: Ports, parameters: ArrayLike | None, batch: bool = False
) -> NDArray[np.float64]:
    """Return a parameter block as an array of floats.

    Args:
        ports: Ports of the function.
        parameters: The block, shape (parameters,); None if the program has none.
        batch: Whether leading dimensions are allowed.

    Raises:
        ShapeError: If the block has another length.
    """
    if parameters is None:
        parameters = ()
    block = np.asarray(parameters, dtype=np.float64)
    if block.shape[-1:] != (ports.parameters,) or (block.ndim != 1 and not batch):
        raise ShapeError(
            f"{ports.name}: expected a parameter block of shape ({ports.parameters},), got "
            f"{block.shape}."
        )
    return block


def stack_inputs(
    ports: Ports,
    arrays: Sequence[ArrayLike],
    batch: Shape = (),
    asarray: Callable[..., Any] = np.asarray,
) -> tuple[list[NDArray[np.float64]], Shape]:
    """Check the shapes of inputs and broadcast their leading dimensions.

    Args:
        ports: Ports of the function.
        arrays: One array for each input, shape (..., *input shape).
        batch: Leading dimensions to broadcast with.
        asarray: Makes the arrays, NumPy's or those of a library with its interface.

    Returns:
        The inputs as (*batch, size) arrays, which may be views, and the leading dimensions.

    Raises:
        ShapeError: If there are too few or too many arrays or one has another shape.
    """
    if len(arrays) != len(ports.inputs):
        names = ", ".join(name for name, _ in ports.inputs)
        raise ShapeError(
            f"{ports.name}: expected {len(ports.inputs)} inputs ({names}), got {len(arrays)}."
        )
    values = []
    for (name, shape), given in zip(ports.inputs, arrays, strict=True):
        value = asarray(given, dtype=np.float64)
        leading = value.ndim - len(shape)
        if leading < 0 or value.shape[leading:] != shape:
            raise ShapeError(
                f"{ports.name}: expected {name} of shape (..., {str(shape)[1:]}, "
                f"got {value.shape}."
            )
        values.append(value)
    try:
        batch = np.broadcast_shapes(
            batch,
            *(
                value.shape[: value.ndim - len(shape)]
                for value, (_, shape) in zip(values, ports.inputs, strict=True)
            ),
        )
    except ValueError:
        leading_shapes = ", ".join(
            f"{name} {value.shape[: value.ndim - len(shape)]}"
            for value, (name, shape) in zip(values, ports.inputs, strict=True)
        )
        raise ShapeError(
            f"{ports.name}: leading dimensions are {leading_shapes}, expected dimensions that "
            "broadcast."
        ) from None
    stacked = []
    for value, (_, shape) in zip(values, ports.inputs, strict=True):
        full = np.broadcast_to(value, (*batch, *shape))
        stacked.append(full.reshape((*batch, prod(shape))))
    return stacked, batch
