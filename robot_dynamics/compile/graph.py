# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The graph that symbols record: equal expressions are one node, constants are folded.

Rules that shorten a program while it is recorded:

- Equal operations on equal operands are the same node (also `a + b` and `b + a`).
- Zeros and ones vanish: `x * 0`, `x * 1`, `x + 0`, `x / 1`, `0 / x`, `x - x`.
- Signs move outwards, until a sum absorbs them: `(-a) * b` is `-(a * b)`, `a + (-b)` is `a - b`,
  `x * (-2)` is `-(x * 2)`, `sin(-x)` is `-sin(x)`. So `x * 2` and `x * (-2)` are one product.
- `x / 2` is a product; `(x * 2) * 3` is `x * 6`.
- Sine and cosine of the angle of a point are ratios of its coordinates, `y / hypot(x, y)`; those
  of sums with such angles are sums of products. The angle itself is then often unused.

These hold for finite values and do not keep the sign of zero. The origin has no angle.

In a long recording signs of constants do not move: the recordings of bodies then differ in numbers
and not in operations, so that they can become a loop (`repetition`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from robot_dynamics.compile.errors import TraceError
from robot_dynamics.scalar.functions import sqrt
from robot_dynamics.scalar.symbolic import SymbolicScalar

# Operations. The comments on the right state the two operands of a node.
CONSTANT = 0  # value, None
INPUT = 1  # port, element within the port
PARAMETER = 2  # element of the parameter block, None
ADD = 3
SUBTRACT = 4
MULTIPLY = 5  # a constant factor stands on the right and is positive
DIVIDE = 6
NEGATE = 7
SQRT = 8
SIN = 9
COS = 10
ABSOLUTE = 11
MINIMUM = 12
MAXIMUM = 13
ATAN2 = 14  # y, x
CALL = 15  # program, tuple of arguments
RESULT = 16  # call, slot of the called program
EXP = 17
LOG = 18

NAMES = (
    *("constant", "input", "parameter", "add", "subtract", "multiply", "divide", "negate"),
    *("sqrt", "sin", "cos", "absolute", "minimum", "maximum", "atan2", "call", "result"),
    *("exp", "log"),
)
#: Number of nodes from which a recording is long, and restarts as such.
LONG = 12_000
UNARY = frozenset((NEGATE, SQRT, SIN, COS, ABSOLUTE, EXP, LOG))
BINARY = frozenset((ADD, SUBTRACT, MULTIPLY, DIVIDE, MINIMUM, MAXIMUM, ATAN2))


class TooLong(BaseException):
    """A recording has become long and must restart.

    It is not an `Exception`, so that recorded functions of users, and reports of their errors, do
    not catch it.
    """


class Graph:
    """The nodes of one recording.

    Attributes:
        known: Symbols in the order in which they were first needed, by operation and operands: the
            indices of other symbols, and what the comments on the operations state.

    Args:
        long: Whether signs of constants stay where they are.
    """

    __slots__ = ("known", "long")

    def __init__(self, long: bool = False) -> None:
        self.long = long
        self.known: dict[tuple[int, Any, Any], Symbol] = {}

    def node(self, operation: int, left: Any, right: Any, key: tuple[int, Any, Any]) -> Symbol:
        """Return the node of `key`; it is made if it does not exist yet."""
        known = self.known
        found = known.get(key)
        if found is None:
            index = len(known)
            if index >= LONG and not self.long:
                raise TooLong
            known[key] = found = Symbol()
            found.graph = self
            found.index = index
            found.operation = operation
            found.left = left
            found.right = right
        return found

    def constant(self, value: float) -> Symbol:
        """Return the node of a constant."""
        return self.node(CONSTANT, value, None, (CONSTANT, value, None))

    def input(self, port: int, element: int) -> Symbol:
        """Return the node of one element of an input."""
        return self.node(INPUT, port, element, (INPUT, port, element))

    def parameter(self, element: int) -> Symbol:
        """Return the node of one element of the parameter block."""
        return self.node(PARAMETER, element, None, (PARAMETER, element, None))

    def unary(self, operation: int, operand: Symbol) -> Symbol:
        """Return the node of an operation on one operand."""
        return self.node(operation, operand, None, (operation, operand.index, None))

    def binary(self, operation: int, left: Symbol, right: Symbol) -> Symbol:
        """Return the node of an operation on two operands in this order."""
        return self.node(operation, left, right, (operation, left.index, right.index))

    def call(self, program: Any, arguments: tuple[Symbol, ...]) -> Symbol:
        """Return the node of a call of another program."""
        key = (CALL, program, tuple([argument.index for argument in arguments]))
        return self.node(CALL, program, arguments, key)

    def result(self, call: Symbol, slot: int) -> Symbol:
        """Return the node of one result of a call."""
        return self.node(RESULT, call, slot, (RESULT, call.index, slot))

    def operand(self, value: Any) -> Symbol:
        """Return a symbol of this graph as it is and a number as a constant.

        Raises:
            TraceError: If the value is neither, or belongs to another recording.
        """
        if value.__class__ is Symbol:
            if value.graph is not self:
                raise _mixed()
            return value  # type: ignore[no-any-return]
        number = _number(value)
        if number is None:
            raise TraceError(
                f"expected a number or a symbol in a traced function, got {type(value).__name__}."
            )
        return self.constant(number)


class Symbol(SymbolicScalar):
    """A node of a graph, with the operators that record further nodes."""

    __slots__ = ("graph", "index", "left", "operation", "right")

    graph: Graph
    index: int
    operation: int
    left: Any
    right: Any

    def __repr__(self) -> str:
        return f"<symbol {self.index}: {NAMES[self.operation]}>"

    # Operators are most of a recording's time: they call as few functions as possible.

    def __add__(self, other: Any) -> Any:
        graph = self.graph
        if other.__class__ is not Symbol:
            value = _number(other)
            if value is None:
                return NotImplemented
            if value == 0.0:
                return self
            if graph.long and self.operation != NEGATE:
                return graph.binary(ADD, self, graph.constant(value))
            if value < 0.0:
                return self - graph.constant(-value)
            other = graph.constant(value)
        if other.operation == NEGATE:
            if self.operation == NEGATE:
                return -(self.left + other.left)
            return self - other.left
        if self.operation == NEGATE:
            return other - self.left
        if graph is not other.graph:
            raise _mixed()
        a, b = (self, other) if self.index <= other.index else (other, self)
        return graph.node(ADD, a, b, (ADD, a.index, b.index))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if other.__class__ is not Symbol:
            value = _number(other)
            return NotImplemented if value is None else self + (-value)
        if other.operation == NEGATE:
            return self + other.left
        if self.operation == NEGATE:
            return -(self.left + other)
        if self is other:
            return 0.0
        graph = self.graph
        if graph is not other.graph:
            raise _mixed()
        reverse = graph.known.get((SUBTRACT, other.index, self.index))
        if reverse is not None:
            return -reverse
        return graph.node(SUBTRACT, self, other, (SUBTRACT, self.index, other.index))

    def __rsub__(self, other: Any) -> Any:
        value = _number(other)
        if value is None:
            return NotImplemented
        if value == 0.0:
            return -self
        if value < 0.0 and not self.graph.long:
            return -(self + (-value))
        return self.graph.constant(value) - self

    def __mul__(self, other: Any) -> Any:
        if other.__class__ is not Symbol:
            value = _number(other)
            return NotImplemented if value is None else _scale(self, value)
        if self.operation == NEGATE:
            if other.operation == NEGATE:
                return self.left * other.left
            return -(self.left * other)
        if other.operation == NEGATE:
            return -(self * other.left)
        graph = self.graph
        if graph is not other.graph:
            raise _mixed()
        a, b = (self, other) if self.index <= other.index else (other, self)
        return graph.node(MULTIPLY, a, b, (MULTIPLY, a.index, b.index))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if other.__class__ is Symbol:
            return _divide(self, other)
        value = _number(other)
        if value is None:
            return NotImplemented
        if value != 0.0 and math.isfinite(1.0 / value):
            return _scale(self, 1.0 / value)
        return _divide(self, self.graph.constant(value))

    def __rtruediv__(self, other: Any) -> Any:
        value = _number(other)
        if value is None:
            return NotImplemented
        if value == 0.0:
            return 0.0
        if value < 0.0 and not self.graph.long:
            return -_divide(self.graph.constant(-value), self)
        return _divide(self.graph.constant(value), self)

    def __neg__(self) -> Symbol:
        if self.operation == NEGATE:
            return self.left  # type: ignore[no-any-return]
        return self.graph.unary(NEGATE, self)

    def constant(self, value: float) -> Symbol:
        """A node of the same graph for a constant."""
        return self.graph.operand(value)

    def sin(self) -> Symbol:
        """The sine of this angle in rad."""
        if self.operation == NEGATE:
            return -self.left.sin()  # type: ignore[no-any-return]
        if _is_of_point(self):
            return _of_point(self)[0]
        return self.graph.unary(SIN, self)

    def cos(self) -> Symbol:
        """The cosine of this angle in rad."""
        if self.operation == NEGATE:
            return self.left.cos()  # type: ignore[no-any-return]
        if _is_of_point(self):
            return _of_point(self)[1]
        return self.graph.unary(COS, self)

    def sqrt(self) -> Symbol:
        """The square root, nan for a negative value."""
        return self.graph.unary(SQRT, self)

    def exp(self) -> Symbol:
        """The exponential function."""
        return self.graph.unary(EXP, self)

    def log(self) -> Symbol:
        """The natural logarithm, nan for a negative value."""
        return self.graph.unary(LOG, self)

    def absolute(self) -> Symbol:
        """The absolute value."""
        if self.operation in (ABSOLUTE, SQRT):
            return self
        return self.graph.unary(ABSOLUTE, self.left if self.operation == NEGATE else self)

    def minimum(self, other: Any) -> Symbol:
        """The smaller of two values, nan if one of them is nan."""
        other = self.graph.operand(other)
        return self if other is self else self.graph.binary(MINIMUM, self, other)

    def maximum(self, other: Any) -> Symbol:
        """The larger of two values, nan if one of them is nan."""
        other = self.graph.operand(other)
        return self if other is self else self.graph.binary(MAXIMUM, self, other)

    def atan2(self, x: Any) -> Symbol:
        """The angle in rad of the point (`x`, this value), in [-pi, pi]."""
        return self.graph.binary(ATAN2, self, self.graph.operand(x))


def _number(value: Any) -> float | None:
    """Return a Python or NumPy number as a float; None for any other value."""
    if value.__class__ is float:
        return value  # type: ignore[no-any-return]
    if isinstance(value, (float, int, np.floating, np.integer)):
        return float(value)
    return None


def _mixed() -> TraceError:
    return TraceError("an operation has symbols of two traced functions, expected symbols of one.")


def _scale(a: Symbol, value: float) -> Any:
    """Record the product of a symbol and a number."""
    if value == 0.0:
        return 0.0
    if a.operation == NEGATE:
        return _scale(a.left, -value)
    if value == -1.0 or (value < 0.0 and not a.graph.long):
        return -_scale(a, -value)
    if a.operation == MULTIPLY and a.right.operation == CONSTANT:
        a, value = a.left, a.right.left * value
    if value == 1.0:
        return a
    return a.graph.binary(MULTIPLY, a, a.graph.constant(value))


def _divide(a: Symbol, b: Symbol) -> Any:
    """Record a quotient."""
    if a.operation == NEGATE:
        return -_divide(a.left, b)
    if b.operation == NEGATE:
        return -_divide(a, b.left)
    if a.graph is not b.graph:
        raise _mixed()
    return a.graph.binary(DIVIDE, a, b)


def _is_of_point(angle: Symbol, levels: int = 4) -> bool:
    """Return whether an angle is that of a point, or a sum that includes such an angle."""
    if angle.operation == ATAN2:
        return True
    if levels == 0 or angle.operation not in (ADD, SUBTRACT, NEGATE):
        return False
    if angle.operation != NEGATE and _is_of_point(angle.right, levels - 1):
        return True
    return _is_of_point(angle.left, levels - 1)


def _of_point(angle: Symbol) -> tuple[Any, Any]:
    """Return the sine and cosine of such an angle without computing the angle."""
    a, b = angle.left, angle.right
    if angle.operation == ATAN2:
        y, x = (part.left if part.operation == CONSTANT else part for part in (a, b))
        length = sqrt(x * x + y * y)
        return y / length, x / length
    sine_a, cosine_a, sine_b, cosine_b = *_sine_and_cosine(a), *_sine_and_cosine(b)
    if angle.operation == ADD:
        return sine_a * cosine_b + cosine_a * sine_b, cosine_a * cosine_b - sine_a * sine_b
    return sine_a * cosine_b - cosine_a * sine_b, cosine_a * cosine_b + sine_a * sine_b


def _sine_and_cosine(angle: Symbol) -> tuple[Any, Any]:
    if angle.operation == CONSTANT:
        return math.sin(angle.left), math.cos(angle.left)
    return angle.sin(), angle.cos()
