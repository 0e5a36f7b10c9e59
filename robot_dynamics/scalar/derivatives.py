# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of functions written over scalars, exact to rounding: no finite differences.

A function takes a list of scalars and returns scalars, nested in lists or mappings. It can be
evaluated on floats, on arrays (a batch) or on symbols: the derivatives are then traced and
compiled. It can use derivatives itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from robot_dynamics.scalar.dual import Dual, new_depth, parts
from robot_dynamics.scalar.linear_algebra import is_zero
from robot_dynamics.scalar.symbolic import Scalar

Function = Callable[[list[Scalar]], Any]


def directional_derivative(
    function: Function, x: Sequence[Scalar], direction: Sequence[Scalar]
) -> tuple[Any, Any]:
    """Return f(x) and its rate of change along a direction, J(x) direction.

    Args:
        function: The function f.
        x: The argument.
        direction: The rate of x; 0.0 where x does not change.

    Returns:
        The value, and the derivative, which is nested like the value.
    """
    depth = new_depth()
    moving = [
        a if is_zero(rate) else Dual(depth, a, rate) for a, rate in zip(x, direction, strict=True)
    ]
    result = function(moving)
    return _map(lambda s: parts(s, depth)[0], result), _map(lambda s: parts(s, depth)[1], result)


def rates(
    function: Function,
    x: Sequence[Scalar],
    xd: Sequence[Scalar],
    xdd: Sequence[Scalar] | None = None,
) -> tuple[Any, Any, Any]:
    """Return f, its rate and its second rate, as x moves at `xd` and accelerates at `xdd`.

    They are f(x), J xd and J xdd + Jdot xd; without `xdd` the last is the velocity-product term
    Jdot xd.
    """

    def value_and_rate(moving: list[Scalar]) -> tuple[Any, Any]:
        n = len(x)
        return directional_derivative(function, moving[:n], moving[n:])

    accelerations = [0.0] * len(x) if xdd is None else xdd
    (value, rate), (_, second) = directional_derivative(
        value_and_rate, [*x, *xd], [*xd, *accelerations]
    )
    return value, rate, second


def jacobian(
    function: Callable[[list[Scalar]], Sequence[Scalar]], x: Sequence[Scalar]
) -> list[list[Scalar]]:
    """Return the Jacobian matrix of a function with a list of values: a row for each value."""
    return [list(row) for row in zip(*_by_each_entry(function, x), strict=True)]


def gradient(function: Callable[[list[Scalar]], Scalar], x: Sequence[Scalar]) -> list[Scalar]:
    """Return the gradient of a function with one value."""
    return _by_each_entry(function, x)


def hessian_times(
    function: Callable[[list[Scalar]], Scalar], x: Sequence[Scalar], direction: Sequence[Scalar]
) -> list[Scalar]:
    """Return the Hessian matrix of a function with one value, times a direction."""
    return gradient(lambda at: directional_derivative(function, at, direction)[1], x)


def _by_each_entry(function: Function, x: Sequence[Scalar]) -> list[Any]:
    """Return the derivative of a function by each entry of x."""
    return [
        directional_derivative(function, x, [float(i == j) for i in range(len(x))])[1]
        for j in range(len(x))
    ]


def _map(convert: Callable[[Scalar], Scalar], nested: Any) -> Any:
    """Return the same nesting of lists and mappings with other scalars."""
    if isinstance(nested, Mapping):
        return {key: _map(convert, value) for key, value in nested.items()}
    if isinstance(nested, (list, tuple)) or (
        isinstance(nested, np.ndarray) and nested.dtype == object and nested.ndim
    ):
        return [_map(convert, value) for value in nested]
    return convert(nested)
