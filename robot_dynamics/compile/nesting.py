# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Between nested sequences, as traced functions use them, and flat lists of elements."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from robot_dynamics.compile.errors import ShapeError


def nested_shape(value: Any) -> tuple[int, ...]:
    """Return the shape of nested sequences, going by their first elements."""
    shape = []
    while isinstance(value, (list, tuple, np.ndarray)):
        shape.append(len(value))
        if not shape[-1]:
            break
        value = value[0]
    return tuple(shape)


def as_flat_list(value: Any, shape: tuple[int, ...], where: str) -> list[Any]:
    """Return the elements of a nested sequence in row-major order.

    Args:
        value: Nested lists, tuples or arrays of the shape; for the shape () one element.
        shape: The shape expected.
        where: Name of the value, for the message.

    Raises:
        ShapeError: If the nesting does not have this shape.
    """
    level = [value]
    for depth, length in enumerate(shape):
        following: list[Any] = []
        for entry in level:
            try:
                entries = list(entry)
            except TypeError:
                entries = None
            if entries is None or len(entries) != length:
                found = "a scalar" if entries is None else f"length {len(entries)}"
                raise ShapeError(
                    f"{where}: expected nested sequences of shape {shape}, got {found} where "
                    f"dimension {depth} should have {length} entries."
                )
            following.extend(entries)
        level = following
    return level


def as_nested_list(elements: list[Any], shape: tuple[int, ...]) -> Any:
    """Return elements in row-major order as nested lists of a shape; one element for ()."""
    if not shape:
        return elements[0]
    size = prod(shape[1:])
    return [
        as_nested_list(elements[row * size : (row + 1) * size], shape[1:])
        for row in range(shape[0])
    ]
