# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Checks of arguments, converted to arrays."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.errors import ArgumentError


def finite_vector(name: str, values: object, length: int) -> NDArray[np.float64]:
    """Return values as an array (length,) of finite numbers; one number is an array of one.

    Args:
        name: What they are, for the message.
        values: A sequence, or a number.
        length: How many are expected.

    Raises:
        ArgumentError: If there are others, or not finite ones.
    """
    try:
        array = np.atleast_1d(np.asarray(values, dtype=float))
    except (TypeError, ValueError):
        raise ArgumentError(
            f"{name} is {_shortened(values)}, expected {length} numbers."
        ) from None
    if array.shape != (length,):
        raise ArgumentError(f"{name} has shape {array.shape}, expected ({length},).")
    if not np.all(np.isfinite(array)):
        raise ArgumentError(f"{name} has entries that are not finite; expected numbers.")
    return array


def positive_number(name: str, value: object) -> float:
    """Return a positive, finite number.

    Args:
        name: What it is, for the message.
        value: The number.

    Raises:
        ArgumentError: If it is another thing.
    """
    good = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not good or not (np.isfinite(value) and value > 0.0):  # type: ignore[call-overload, operator]
        raise ArgumentError(f"{name} is {_shortened(value)}, expected a positive number.")
    return float(value)  # type: ignore[arg-type]


def whole_number(name: str, value: object, least: int) -> int:
    """Return a whole number.

    Args:
        name: What it is, for the message.
        value: The number.
        least: The smallest that is allowed.

    Raises:
        ArgumentError: If it is smaller, or another thing.
    """
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or value < least:  # type: ignore[operator]
        raise ArgumentError(
            f"{name} is {_shortened(value)}, expected a whole number from {least} on."
        )
    return int(value)  # type: ignore[call-overload, no-any-return]


def pose_matrix(name: str, value: object) -> NDArray[np.float64]:
    """Return a pose as a homogeneous matrix (4, 4).

    Args:
        name: What it is, for the message.
        value: The matrix.

    Raises:
        ArgumentError: If it is another thing, or its upper left part is no rotation.
    """
    try:
        matrix = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} is {_shortened(value)}, expected a (4, 4) matrix.") from None
    if matrix.shape != (4, 4):
        raise ArgumentError(f"{name} has shape {matrix.shape}, expected a (4, 4) matrix.")
    R = matrix[:3, :3]
    rigid = np.all(np.isfinite(matrix)) and np.allclose(matrix[3], [0.0, 0.0, 0.0, 1.0], atol=1e-9)
    if not (rigid and np.allclose(R @ R.T, np.eye(3), atol=1e-6) and np.linalg.det(R) > 0.0):
        raise ArgumentError(
            f"{name} is no pose; expected a (4, 4) matrix of a rotation and a displacement, with "
            "the last row 0 0 0 1."
        )
    return matrix


def several_names(name: str, values: Iterable[str]) -> tuple[str, ...]:
    """Return names as a tuple; a single string is not taken for a list of letters.

    Args:
        name: What they are names of, for the message.
        values: The names.

    Raises:
        ArgumentError: If it is one string.
    """
    if isinstance(values, str):
        raise ArgumentError(f"{name} is {values!r}, expected a list of names: [{values!r}].")
    return tuple(values)


def _shortened(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
