# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Checks of arguments, converted to arrays."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.errors import ArgumentError
from robot_dynamics.model import Model
from robot_dynamics.wording import shortened

_UNIT = 1e-3  # tolerance of the length of quaternions that are printed with few digits


def finite_vector(name: str, values: object, length: int) -> NDArray[np.float64]:
    """Return values as an array (length,) of finite numbers; one number is an array of one.

    Args:
        name: Their name, for the message.
        values: A sequence, or a number.
        length: Expected number of values.

    Raises:
        ArgumentError: If their number differs, or a value is not a finite number.
    """
    try:
        if type(values) is np.ndarray and values.dtype == np.float64 and values.ndim == 1:
            array: NDArray[np.float64] = values
        else:
            array = np.atleast_1d(_numbers(values))
    except (TypeError, ValueError):
        raise ArgumentError(
            f"{name} is {_shortened(values)}, expected {length} numbers."
        ) from None
    if array.shape != (length,):
        raise ArgumentError(f"{name} has shape {array.shape}, expected ({length},).")
    if not all(map(math.isfinite, array.tolist())):  # the fastest way for a few numbers
        raise ArgumentError(f"{name} has entries that are not finite; expected numbers.")
    return array


def positive_number(name: str, value: object) -> float:
    """Return a positive, finite number.

    Args:
        name: Name of the argument, for the message.
        value: The number.

    Raises:
        ArgumentError: If it has another type or value.
    """
    number = _number(value)
    if not 0.0 < number < np.inf:
        raise ArgumentError(f"{name} is {_shortened(value)}, expected a positive number.")
    return number


def size_number(name: str, value: object) -> float:
    """Return a finite number that is zero or positive.

    Args:
        name: Name of the argument, for the message.
        value: The number.

    Raises:
        ArgumentError: If it has another type or value.
    """
    number = _number(value)
    if not 0.0 <= number < np.inf:
        raise ArgumentError(f"{name} is {_shortened(value)}, expected a number, 0 or more.")
    return number


def _numbers(values: object) -> NDArray[np.float64]:
    """Return values as an array; texts of numbers, complex numbers and times are refused.

    Raises:
        TypeError: If there are any.
        ValueError: If they are not numbers.
    """
    array = np.asarray(values)
    if array.dtype.kind in "SUcmM":
        raise TypeError("no real numbers")
    try:
        return np.asarray(array, dtype=float)
    except OverflowError as error:  # of a whole number with hundreds of digits
        raise ValueError("a number is too large") from error


def _number(value: object) -> float:
    """Return a number as a float, NaN for other types."""
    good = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    try:
        return float(value) if good else np.nan  # type: ignore[arg-type]
    except OverflowError:  # of a whole number with hundreds of digits
        return np.nan


def whole_number(name: str, value: object, least: int) -> int:
    """Return a whole number.

    Args:
        name: Name of the argument, for the message.
        value: The number.
        least: Smallest allowed number.

    Raises:
        ArgumentError: If it is smaller, or not a whole number.
    """
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or value < least:  # type: ignore[operator]
        raise ArgumentError(
            f"{name} is {_shortened(value)}, expected a whole number from {least} on."
        )
    return int(value)  # type: ignore[call-overload, no-any-return]


def points_array(name: str, values: object) -> NDArray[np.float64]:
    """Return points as an array (n, 3) of finite numbers; one point is an array of one.

    Args:
        name: Their name, for the message.
        values: The points.

    Raises:
        ArgumentError: If they have another shape, are empty, or are not finite.
    """
    try:
        array = np.atleast_2d(_numbers(values))
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} are {_shortened(values)}, expected (n, 3) numbers.") from None
    if array.ndim != 2 or array.shape[1] != 3 or not len(array) or not np.isfinite(array).all():
        raise ArgumentError(f"{name} have shape {array.shape}, expected (n, 3), all finite.")
    return array


def unit_vector(name: str, values: object) -> NDArray[np.float64]:
    """Return a vector (3,) divided by its length.

    Args:
        name: Name of the argument, for the message.
        values: The vector.

    Raises:
        ArgumentError: If it is not a vector (3,), zero, or not finite.
    """
    array = finite_vector(name, values, 3)
    length = float(np.linalg.norm(array))
    if not 0.0 < length < np.inf:
        raise ArgumentError(f"{name} is {_shortened(values)}, expected a direction.")
    return array / length


def pose_vector(name: str, values: object) -> NDArray[np.float64]:
    """Return a pose x y z qx qy qz qw (7,) whose quaternion is divided by its length.

    Args:
        name: Name of the argument, for the message.
        values: The pose.

    Raises:
        ArgumentError: If it is not a vector (7,), not finite, or its quaternion differs from
            length 1 by more than the digits of files.
    """
    pose = finite_vector(name, values, 7).copy()
    length = float(np.linalg.norm(pose[3:]))
    if not abs(length - 1.0) <= _UNIT:
        raise ArgumentError(
            f"{name} has a quaternion of length {length:.4g}; expected x y z and a unit "
            "quaternion qx qy qz qw."
        )
    pose[3:] /= length
    return pose


def pose_matrix(name: str, value: object) -> NDArray[np.float64]:
    """Return a pose as a homogeneous matrix (4, 4).

    Args:
        name: Name of the argument, for the message.
        value: The matrix.

    Raises:
        ArgumentError: If it is not a matrix (4, 4), or its upper left part is not a rotation.
    """
    try:
        matrix = _numbers(value)
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


def require_text(name: str, value: object) -> None:
    """Refuse a value that is not text.

    Raises:
        ArgumentError: If it has another type or value.
    """
    if not isinstance(value, str):
        raise ArgumentError(f"{name} is {_shortened(value)}, expected a text.")


def require_orientations(model: Model, q: NDArray[np.float64]) -> None:
    """Refuse positions (..., nq) with a quaternion that is zero: it is no orientation.

    Raises:
        ArgumentError: It names the joint.
    """
    for body, at, at_v in zip(model.bodies, model.q_slices, model.v_slices, strict=True):
        turns = at.stop - at.start > at_v.stop - at_v.start  # has a quaternion, its last numbers
        if turns and not q[..., at.stop - 4 : at.stop].any(axis=-1).all():
            raise ArgumentError(
                f"{model.name}: the quaternion x y z w of joint {body.joint.name!r} is zero, "
                "expected an orientation, 0 0 0 1 of a joint that is not turned."
            )


def _shortened(value: object) -> str:
    return shortened(repr(value))
