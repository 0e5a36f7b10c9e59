# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What an algorithm may do with a scalar that has no value yet."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NoReturn

from robot_dynamics.errors import RobotDynamicsError


class SymbolicValueError(RobotDynamicsError, TypeError):
    """The value of a symbol was asked for while it has none."""


class SymbolicScalar(ABC):
    """A scalar without a value: operations on it are recorded instead of carried out.

    Algorithms are written over scalars that may be Python floats, NumPy arrays (a batch, element
    by element) or objects of this class. Python and NumPy floats and integers are constants: an
    operation may return a plain `float` where the constants decide the result (`symbol * 0.0` is
    the float 0.0) and the symbol itself where they change nothing (`symbol + 0.0`). Like a
    compiler with exact reals in mind, this takes every symbol to be finite and ignores the sign
    of zero.

    A symbol cannot be compared and has no truth value, since the recorded program has to be the
    same for all values.
    """

    __slots__ = ()

    # Makes `array * symbol` and `numpy.float64 * symbol` call the reflected operator below instead
    # of building an array of objects.
    __array_ufunc__ = None

    @abstractmethod
    def __add__(self, other: Any) -> SymbolicScalar | float: ...

    @abstractmethod
    def __radd__(self, other: Any) -> SymbolicScalar | float: ...

    @abstractmethod
    def __sub__(self, other: Any) -> SymbolicScalar | float: ...

    @abstractmethod
    def __rsub__(self, other: Any) -> SymbolicScalar | float: ...

    @abstractmethod
    def __mul__(self, other: Any) -> SymbolicScalar | float: ...

    @abstractmethod
    def __rmul__(self, other: Any) -> SymbolicScalar | float: ...

    @abstractmethod
    def __truediv__(self, other: Any) -> SymbolicScalar | float: ...

    @abstractmethod
    def __rtruediv__(self, other: Any) -> SymbolicScalar | float: ...

    @abstractmethod
    def __neg__(self) -> SymbolicScalar | float: ...

    def __pos__(self) -> SymbolicScalar | float:
        """The symbol itself."""
        return self

    def __abs__(self) -> SymbolicScalar | float:
        """The absolute value, as `absolute` gives it."""
        return self.absolute()

    @abstractmethod
    def constant(self, value: float) -> SymbolicScalar:
        """A symbol of the same recording that stands for a constant."""

    @abstractmethod
    def sin(self) -> SymbolicScalar | float:
        """The sine of this angle in rad."""

    @abstractmethod
    def cos(self) -> SymbolicScalar | float:
        """The cosine of this angle in rad."""

    @abstractmethod
    def sqrt(self) -> SymbolicScalar | float:
        """The square root, nan for a negative value."""

    @abstractmethod
    def absolute(self) -> SymbolicScalar | float:
        """The absolute value."""

    @abstractmethod
    def minimum(self, other: SymbolicScalar | float) -> SymbolicScalar | float:
        """The smaller of two values, nan if one of them is nan."""

    @abstractmethod
    def maximum(self, other: SymbolicScalar | float) -> SymbolicScalar | float:
        """The larger of two values, nan if one of them is nan."""

    @abstractmethod
    def atan2(self, x: SymbolicScalar | float) -> SymbolicScalar | float:
        """The angle in rad of the point (`x`, this value), in [-pi, pi]."""

    def __bool__(self) -> NoReturn:
        """Refused: a traced algorithm must not branch on values."""
        raise SymbolicValueError(
            "a symbol has no truth value: a traced algorithm must not branch on scalar values; "
            "use minimum, maximum or absolute, or decide outside the traced function."
        )

    def __float__(self) -> NoReturn:
        """Refused: a symbol has no value."""
        raise SymbolicValueError(
            "a symbol has no value and cannot become a float; use the functions of "
            "robot_dynamics.scalar.functions instead of those of math."
        )

    __int__ = __float__
    __index__ = __float__
    __complex__ = __float__

    def _compare(self, other: object) -> NoReturn:
        """Refused: a traced algorithm must not branch on values."""
        raise SymbolicValueError(
            "symbols cannot be compared: a traced algorithm must not branch on scalar values; "
            "use minimum, maximum or absolute, or decide outside the traced function."
        )

    __lt__ = __le__ = __gt__ = __ge__ = _compare
    __eq__ = _compare
    __ne__ = _compare
    # Symbols are told apart by identity, so that they may still be keys of a dictionary.
    __hash__ = object.__hash__


#: What algorithms compute with: float, NumPy array (elementwise) or `SymbolicScalar`. A type
#: checker cannot follow arithmetic over such a union, and a type variable would say no more.
Scalar = Any
