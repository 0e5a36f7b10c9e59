# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Elementary functions of scalars of any kind.

Each takes Python floats, NumPy arrays (elementwise) or symbols, and returns the same kind. An
undefined result is nan, without an error or a warning.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from robot_dynamics.scalar.symbolic import Scalar, SymbolicScalar, both

_LARGEST_EXPONENT = math.log(sys.float_info.max)


def sin(x: Scalar) -> Any:
    """The sine of an angle in rad."""
    if isinstance(x, (float, int)):
        return math.sin(x) if math.isfinite(x) else math.nan
    if isinstance(x, SymbolicScalar):
        return x.sin()
    with np.errstate(invalid="ignore"):
        return np.sin(x)


def cos(x: Scalar) -> Any:
    """The cosine of an angle in rad."""
    if isinstance(x, (float, int)):
        return math.cos(x) if math.isfinite(x) else math.nan
    if isinstance(x, SymbolicScalar):
        return x.cos()
    with np.errstate(invalid="ignore"):
        return np.cos(x)


def sqrt(x: Scalar) -> Any:
    """The square root; nan for a negative number."""
    if isinstance(x, (float, int)):
        return math.sqrt(x) if x >= 0.0 else math.nan
    if isinstance(x, SymbolicScalar):
        return x.sqrt()
    with np.errstate(invalid="ignore"):
        return np.sqrt(x)


def tan(x: Scalar) -> Any:
    """The tangent of an angle in rad."""
    if isinstance(x, (float, int)):
        return math.tan(x) if math.isfinite(x) else math.nan
    if isinstance(x, SymbolicScalar):
        return x.tan()
    with np.errstate(all="ignore"):
        return np.tan(x)


def asin(x: Scalar) -> Any:
    """The angle in [-pi/2, pi/2] with the sine `x`; nan outside [-1, 1]."""
    if isinstance(x, (float, int)):
        return math.asin(x) if -1.0 <= x <= 1.0 else math.nan
    if isinstance(x, SymbolicScalar):
        return x.asin()
    with np.errstate(all="ignore"):
        return np.arcsin(x)


def acos(x: Scalar) -> Any:
    """The angle in [0, pi] with the cosine `x`; nan outside [-1, 1]."""
    if isinstance(x, (float, int)):
        return math.acos(x) if -1.0 <= x <= 1.0 else math.nan
    if isinstance(x, SymbolicScalar):
        return x.acos()
    with np.errstate(all="ignore"):
        return np.arccos(x)


def atan(x: Scalar) -> Any:
    """The angle in [-pi/2, pi/2] with the tangent `x`."""
    if isinstance(x, (float, int)):
        return math.atan(x)
    if isinstance(x, SymbolicScalar):
        return x.atan()
    with np.errstate(all="ignore"):
        return np.arctan(x)


def exp(x: Scalar) -> Any:
    """The exponential function; infinite where it is too large."""
    if isinstance(x, (float, int)):
        return math.inf if x > _LARGEST_EXPONENT else math.exp(x)
    if isinstance(x, SymbolicScalar):
        return x.exp()
    with np.errstate(all="ignore"):
        return np.exp(x)


def log(x: Scalar) -> Any:
    """The natural logarithm; minus infinity for zero, nan for a negative number."""
    if isinstance(x, (float, int)):
        return math.log(x) if x > 0.0 else (-math.inf if x == 0.0 else math.nan)
    if isinstance(x, SymbolicScalar):
        return x.log()
    with np.errstate(all="ignore"):
        return np.log(x)


def absolute(x: Scalar) -> Any:
    """The absolute value."""
    if isinstance(x, (float, int)):
        return math.fabs(x)
    if isinstance(x, SymbolicScalar):
        return x.absolute()
    return np.abs(x)


def minimum(a: Scalar, b: Scalar) -> Any:
    """The smaller of two numbers; nan if one of them is nan."""
    if isinstance(a, SymbolicScalar) or isinstance(b, SymbolicScalar):
        return both("minimum", a, b)
    if isinstance(a, (float, int)) and isinstance(b, (float, int)):
        return float(a if a < b or a != a else b)
    return np.minimum(a, b)


def maximum(a: Scalar, b: Scalar) -> Any:
    """The larger of two numbers; nan if one of them is nan."""
    if isinstance(a, SymbolicScalar) or isinstance(b, SymbolicScalar):
        return both("maximum", a, b)
    if isinstance(a, (float, int)) and isinstance(b, (float, int)):
        return float(a if a > b or a != a else b)
    return np.maximum(a, b)


def atan2(y: Scalar, x: Scalar) -> Any:
    """The angle in rad of the point (`x`, `y`), in [-pi, pi]."""
    if isinstance(y, SymbolicScalar) or isinstance(x, SymbolicScalar):
        return both("atan2", y, x)
    if isinstance(y, (float, int)) and isinstance(x, (float, int)):
        return math.atan2(y, x)
    return np.arctan2(y, x)


def hypot(x: Scalar, y: Scalar) -> Any:
    """The length of the vector (`x`, `y`)."""
    if isinstance(x, SymbolicScalar) or isinstance(y, SymbolicScalar):
        return both("hypot", x, y)
    if isinstance(y, (float, int)) and isinstance(x, (float, int)):
        return math.hypot(x, y)
    return np.hypot(x, y)
