# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Dual numbers over any scalar: floats, arrays, symbols, or dual numbers again."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np

from robot_dynamics.scalar.functions import absolute, atan2, cos, exp, log, maximum, sin, sqrt
from robot_dynamics.scalar.functions import minimum as smaller
from robot_dynamics.scalar.linear_algebra import is_zero
from robot_dynamics.scalar.symbolic import Scalar, SymbolicScalar

# Far below any difference that matters, and its reciprocal is finite.
_TINY = 1e-300
_depths = count(1)


def new_depth() -> int:
    """Return the depth of one more differentiation, greater than all before.

    Every differentiation has its own depth, so that a function can differentiate another one or
    use variables of an outer differentiation without mixing derivatives.
    """
    return next(_depths)


class Dual(SymbolicScalar):
    """A value and its derivative with respect to one variable.

    Both are scalars of any kind. Derivatives that are the float 0.0 are structural zeros: a value
    that does not depend on the variable leaves no operations in a trace.

    At a kink (`absolute` at zero, `minimum` of equal values) the derivative is the mean of the
    derivatives on both sides.

    Args:
        depth: Depth of its differentiation (`new_depth`).
        value: The value.
        derivative: The derivative.
    """

    __slots__ = ("depth", "derivative", "value")

    def __init__(self, depth: int, value: Scalar, derivative: Scalar) -> None:
        self.depth, self.value, self.derivative = depth, value, derivative  # type: ignore[misc]

    def __repr__(self) -> str:
        return f"<dual {self.value!r}, derivative {self.derivative!r}>"

    def __add__(self, other: Any) -> Any:
        return _binary(self, other, lambda a, b: a + b, lambda a, b, da, db: da + db)

    def __radd__(self, other: Any) -> Any:
        return _binary(other, self, lambda a, b: a + b, lambda a, b, da, db: da + db)

    def __sub__(self, other: Any) -> Any:
        return _binary(self, other, lambda a, b: a - b, lambda a, b, da, db: da - db)

    def __rsub__(self, other: Any) -> Any:
        return _binary(other, self, lambda a, b: a - b, lambda a, b, da, db: da - db)

    def __mul__(self, other: Any) -> Any:
        return _binary(self, other, lambda a, b: a * b, product_rule)

    def __rmul__(self, other: Any) -> Any:
        return _binary(other, self, lambda a, b: a * b, product_rule)

    def __truediv__(self, other: Any) -> Any:
        return _binary(self, other, lambda a, b: a / b, _quotient_rule)

    def __rtruediv__(self, other: Any) -> Any:
        return _binary(other, self, lambda a, b: a / b, _quotient_rule)

    def __neg__(self) -> Dual:
        return Dual(self.depth, -self.value, -self.derivative)

    def constant(self, value: Scalar) -> Dual:
        """A scalar of the same differentiation that does not depend on the variable."""
        return Dual(self.depth, value, 0.0)

    def _chain(self, value: Scalar, slope: Callable[[], Scalar]) -> Any:
        """Return a function of this by its value and its slope, evaluated only if needed."""
        if is_zero(self.derivative):
            return value
        return Dual(self.depth, value, slope() * self.derivative)

    def sin(self) -> Any:
        """The sine of this angle in rad."""
        return self._chain(sin(self.value), lambda: cos(self.value))

    def cos(self) -> Any:
        """The cosine of this angle in rad."""
        return self._chain(cos(self.value), lambda: -sin(self.value))

    def sqrt(self) -> Any:
        """The square root, nan for a negative value."""
        root = sqrt(self.value)
        return self._chain(root, lambda: 0.5 / root)

    def exp(self) -> Any:
        """The exponential function."""
        value = exp(self.value)
        return self._chain(value, lambda: value)

    def log(self) -> Any:
        """The natural logarithm, nan for a negative value."""
        return self._chain(log(self.value), lambda: 1.0 / self.value)

    def absolute(self) -> Any:
        """The absolute value."""
        return self._chain(absolute(self.value), lambda: _sign(self.value))

    def minimum(self, other: Any) -> Any:
        """The smaller of two values, nan if one of them is nan."""
        return _binary(self, other, smaller, lambda a, b, da, db: _choice(b - a, da, db))

    def maximum(self, other: Any) -> Any:
        """The larger of two values, nan if one of them is nan."""
        return _binary(self, other, maximum, lambda a, b, da, db: _choice(a - b, da, db))

    def atan2(self, x: Any) -> Any:
        """The angle in rad of the point (`x`, this value), in [-pi, pi]."""
        return _binary(
            self,
            x,
            atan2,
            lambda y, x, dy, dx: (_times(x, dy) - _times(y, dx)) / (x * x + y * y),
        )


def parts(x: Scalar, depth: int) -> tuple[Scalar, Scalar]:
    """Return the value of a scalar and its derivative in one differentiation."""
    if isinstance(x, Dual) and x.depth == depth:
        return x.value, x.derivative
    return x, 0.0


def _binary(
    a: Scalar, b: Scalar, operation: Callable[..., Scalar], rule: Callable[..., Scalar]
) -> Scalar:
    """Return an operation on two scalars; `rule` gives its derivative from a, b, a', b'."""
    depth = 0
    for x in (a, b):
        if isinstance(x, Dual):
            depth = max(depth, x.depth)
        elif isinstance(x, np.ndarray) and x.dtype == object:
            return NotImplemented  # a vector of scalars: NumPy takes its elements one by one
    (a, da), (b, db) = parts(a, depth), parts(b, depth)
    value, derivative = operation(a, b), rule(a, b, da, db)
    return value if is_zero(derivative) else Dual(depth, value, derivative)


def _times(a: Scalar, b: Scalar) -> Scalar:
    """Return a product; 0.0 if a factor is a structural zero, whatever the other is."""
    return 0.0 if is_zero(a) or is_zero(b) else a * b


def product_rule(a: Scalar, b: Scalar, da: Scalar, db: Scalar) -> Scalar:
    """Return the derivative of a product by its factors and their derivatives."""
    return _times(da, b) + _times(a, db)


def _quotient_rule(a: Scalar, b: Scalar, da: Scalar, db: Scalar) -> Scalar:
    change = da - _times(a / b, db)
    return 0.0 if is_zero(change) else change / b


def _sign(x: Scalar) -> Scalar:
    """Return 1, -1, or 0 at zero."""
    return x / maximum(absolute(x), _TINY)


def _choice(difference: Scalar, a: Scalar, b: Scalar) -> Scalar:
    """Return `a` where a difference is positive, `b` where it is negative."""
    if is_zero(a) and is_zero(b):
        return 0.0
    half = 0.5 * _sign(difference)
    return _times(0.5 + half, a) + _times(0.5 - half, b)
