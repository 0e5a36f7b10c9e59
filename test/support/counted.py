# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers that know which operations made them, for counts that do not come from a trace.

An algorithm runs on floats of random values. Two operations are the same if their operands are
the same numbers, up to their sign.
"""

from __future__ import annotations

import math
from collections import Counter

from robot_dynamics.scalar.symbolic import SymbolicScalar

_APART = 1e-9


class Counted(SymbolicScalar):
    """A number and the operation that made it.

    Args:
        value: Its value.
        key: The operation with the values of its operands; None for given values.
        needs: The operands.
        late: Whether it depends on inputs, not on parameters alone.
        scaled: Another number, and the constant by which it was multiplied; None for the rest.
    """

    __slots__ = ("key", "late", "needs", "scaled", "value")

    def __init__(self, value, key=None, needs=(), late=True, scaled=None):
        self.value, self.key, self.needs, self.late = value, key, needs, late
        self.scaled = scaled

    def _of(self, value, name, *operands):
        numbers = [x for x in operands if isinstance(x, Counted)]
        values = [x.value if isinstance(x, Counted) else x for x in operands]
        if name == "add":  # up to the sign of the sum
            values = sorted(values if value >= 0.0 else [-x for x in values])
        elif name == "multiply":
            values = sorted(map(abs, values))
        else:
            values = [*map(abs, values)]
        key = (name, *values)
        # So that other operations have another value, also where mathematics gives the same.
        value *= 1.0 + _APART * hash(key) / 2.0**63
        return Counted(value, key, numbers, any(x.late for x in numbers))

    def __add__(self, other):
        if not isinstance(other, Counted):
            return self if other == 0.0 else self._of(self.value + other, "add", self, other)
        return self._of(self.value + other.value, "add", self, other)

    def __mul__(self, other):
        if isinstance(other, Counted):
            return self._of(self.value * other.value, "multiply", self, other)
        if other == 0.0:
            return 0.0
        if abs(other) == 1.0:
            return self if other > 0.0 else -self
        if self.scaled is not None:
            origin, constant = self.scaled
            return origin * (constant * other)
        product = self._of(self.value * other, "multiply", self, other)
        product.scaled = self, other
        return product

    def __neg__(self):
        scaled = self.scaled and (self.scaled[0], -self.scaled[1])
        return Counted(-self.value, self.key, self.needs, self.late, scaled)

    def __sub__(self, other):
        return self + (-other)

    def __rsub__(self, other):
        return (-self) + other

    def __truediv__(self, other):
        if not isinstance(other, Counted):
            return self * (1.0 / other)
        return self._of(self.value / other.value, "divide", self, other)

    def __rtruediv__(self, other):
        return 0.0 if other == 0.0 else self._of(other / self.value, "divide", other, self)

    __radd__, __rmul__ = __add__, __mul__

    def constant(self, value):
        """A number that is no operation."""
        return Counted(value, late=False)

    def sin(self):
        """Its sine."""
        return self._of(math.sin(self.value), "sin", self)

    def cos(self):
        """Its cosine."""
        return self._of(math.cos(self.value), "cos", self)

    def sqrt(self):
        """Its square root."""
        return self._of(math.sqrt(self.value), "sqrt", self)

    def minimum(self, other):
        """The smaller of two."""
        return self._of(min(self.value, other.value), "minimum", self, other)

    def _absent(self, *_):
        raise NotImplementedError

    exp = log = absolute = maximum = atan2 = _absent


def operation_counts(outputs):
    """Return the counts of the operations that made some numbers, of parameters alone left out."""
    keys, seen, left = set(), set(), [x for x in outputs if isinstance(x, Counted)]
    while left:
        number = left.pop()
        if id(number) in seen or not number.late:
            continue
        seen.add(id(number))
        left += number.needs
        if number.key is not None:
            keys.add(number.key)
    counts = Counter(key[0] for key in keys)
    # Several quotients with the same divisor are products with its reciprocal.
    divisors = Counter(key[2] for key in keys if key[0] == "divide")
    for divisor, count in divisors.items():
        if count > 1:
            whole = ("divide", 1.0, divisor) in keys
            counts["divide"] -= count - 1
            counts["multiply"] += count - whole
    return counts
