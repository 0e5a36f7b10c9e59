# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Derivatives by complex steps of whatever is written over scalars, or was traced of it.

f(x + i h d) = f(x) + i h f'(x) d + O(h^2): with h = 1e-40 nothing is cancelled and nothing is
left out. It shares no rule of differentiation with the package: complex numbers are NumPy's.
"""

from __future__ import annotations

import numpy as np

from robot_dynamics.compile import Program
from robot_dynamics.scalar.linear_algebra import is_zero
from robot_dynamics.scalar.symbolic import SymbolicScalar

STEP = 1e-40


def _operation(operation, by_zero=False):
    """Return a method for an operator of two; with zeros by structure as other scalars have."""

    def method(self, other):
        if isinstance(other, SymbolicScalar) and not isinstance(other, Complex):
            return NotImplemented  # a dual number takes this for a value
        if by_zero and is_zero(other):
            return 0.0
        return Complex(operation(self.z, other.z if isinstance(other, Complex) else other))

    return method


class Complex(SymbolicScalar):
    """Complex numbers of several steps at once (k,), functions continued from the real axis."""

    __slots__ = ("z",)

    def __init__(self, z):
        self.z = z

    __add__ = _operation(lambda a, b: a + b)
    __radd__ = _operation(lambda a, b: b + a)
    __sub__ = _operation(lambda a, b: a - b)
    __rsub__ = _operation(lambda a, b: b - a)
    __mul__ = _operation(lambda a, b: a * b, by_zero=True)
    __rmul__ = _operation(lambda a, b: b * a, by_zero=True)
    __truediv__ = _operation(lambda a, b: a / b)
    __rtruediv__ = _operation(lambda a, b: b / a, by_zero=True)

    def __bool__(self):
        return True  # not left out, as a coefficient that is the float 0.0 may be

    def __neg__(self):
        return Complex(-self.z)

    def constant(self, value):
        return Complex(np.full_like(self.z, value))

    def sin(self):
        return Complex(np.sin(self.z))

    def cos(self):
        return Complex(np.cos(self.z))

    def sqrt(self):
        return Complex(np.sqrt(self.z))

    def exp(self):
        return Complex(np.exp(self.z))

    def log(self):
        return Complex(np.log(self.z))

    def absolute(self):
        return Complex(np.where(self.z.real < 0.0, -self.z, self.z))

    def minimum(self, other):
        other = other.z if isinstance(other, Complex) else other
        return Complex(np.where(np.real(self.z) < np.real(other), self.z, other))

    def maximum(self, other):
        other = other.z if isinstance(other, Complex) else other
        return Complex(np.where(np.real(self.z) > np.real(other), self.z, other))

    def atan2(self, x):
        y, x = self.z, x.z if isinstance(x, Complex) else np.full_like(self.z, x)
        rate = (x.real * y.imag - y.real * x.imag) / (x.real**2 + y.real**2)
        return Complex(np.arctan2(y.real, x.real) + 1j * rate)


def moving(values, directions):
    """Return scalars (n,) that step along directions (k, n); those that rest stay numbers."""
    columns = np.asarray(directions, dtype=float).T
    return [
        Complex(float(x) + 1j * STEP * rates) if rates.any() else float(x)
        for x, rates in zip(values, columns, strict=True)
    ]


def rates(values, count):
    """Return the derivatives (m, k) of scalars that came of `count` directions."""
    still = np.zeros(count)
    return np.array([x.z.imag / STEP if isinstance(x, Complex) else still for x in values])


def along(function, x, directions):
    """Return the derivatives (m, k) of a function of scalars (n,) along directions (k, n)."""
    return rates(function(moving(x, directions)), len(directions))


def evaluated(program: Program, *inputs, parameters=()):
    """Return the outputs of a traced program, each a flat list, of flat lists of scalars."""
    arguments = [x for values in (*inputs, parameters) for x in values]
    slots = program.python.of_arrays(arguments)
    flat = [slots[program.slot_of_node[r]] if isinstance(r, int) else r for r in program.results]
    ports = program.ports
    return [
        flat[start : start + size]
        for start, size in zip(ports.output_starts, ports.output_sizes, strict=True)
    ]
