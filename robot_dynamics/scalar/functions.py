# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Elementary functions of a scalar, whatever kind of scalar it is.

Each takes Python floats, NumPy arrays (elementwise) or symbols, and gives the same kind back. On
all of them a result that does not exist is nan: nothing is raised and nothing is printed.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from robot_dynamics.scalar.symbolic import Scalar, SymbolicScalar


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


def absolute(x: Scalar) -> Any:
    """The absolute value."""
    if isinstance(x, (float, int)):
        return math.fabs(x)
    if isinstance(x, SymbolicScalar):
        return x.absolute()
    return np.abs(x)


def minimum(a: Scalar, b: Scalar) -> Any:
    """The smaller of two numbers; nan if one of them is nan."""
    if isinstance(a, SymbolicScalar):
        return a.minimum(b)
    if isinstance(b, SymbolicScalar):
        return b.constant(a).minimum(b)
    if isinstance(a, (float, int)) and isinstance(b, (float, int)):
        return float(a if a < b or a != a else b)
    return np.minimum(a, b)


def maximum(a: Scalar, b: Scalar) -> Any:
    """The larger of two numbers; nan if one of them is nan."""
    if isinstance(a, SymbolicScalar):
        return a.maximum(b)
    if isinstance(b, SymbolicScalar):
        return b.constant(a).maximum(b)
    if isinstance(a, (float, int)) and isinstance(b, (float, int)):
        return float(a if a > b or a != a else b)
    return np.maximum(a, b)


def atan2(y: Scalar, x: Scalar) -> Any:
    """The angle in rad of the point (`x`, `y`), in [-pi, pi]."""
    if isinstance(y, SymbolicScalar):
        return y.atan2(x)
    if isinstance(x, SymbolicScalar):
        return x.constant(y).atan2(x)
    if isinstance(y, (float, int)) and isinstance(x, (float, int)):
        return math.atan2(y, x)
    return np.arctan2(y, x)
