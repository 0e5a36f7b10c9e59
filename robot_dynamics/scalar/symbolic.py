# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Interface of symbolic scalars: operations that algorithms can use on them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NoReturn

import numpy as np

from robot_dynamics.errors import RobotDynamicsError

# Names of NumPy's functions here; operators by their method and its reflection.
_FUNCTIONS = {
    np.sin: "sin", np.cos: "cos", np.tan: "tan", np.arcsin: "asin", np.arccos: "acos",
    np.arctan: "atan", np.arctan2: "atan2", np.hypot: "hypot", np.sqrt: "sqrt",
    np.square: "square", np.exp: "exp", np.log: "log", np.absolute: "absolute",
    np.fabs: "absolute", np.minimum: "minimum", np.maximum: "maximum",
    np.radians: "radians", np.deg2rad: "radians", np.degrees: "degrees", np.rad2deg: "degrees",
}  # fmt: skip
_OPERATORS = {
    np.add: "add", np.subtract: "sub", np.multiply: "mul", np.true_divide: "truediv",
    np.power: "pow", np.negative: "neg", np.positive: "pos",
}  # fmt: skip


class SymbolicValueError(RobotDynamicsError, TypeError):
    """The value of a symbol was requested, but it has none."""


class SymbolicScalar(ABC):
    """A scalar other than a plain number.

    Either it has no value, and operations on it are recorded, or it has more than a value, such as
    a derivative (`Dual`).

    Algorithms are written over scalars that can be Python floats, NumPy arrays (a batch, element
    by element) or objects of this class. Python and NumPy floats and integers are constants: an
    operation may return a plain `float` where the constants decide the result (`symbol * 0.0` is
    the float 0.0), and the symbol itself for neutral operations (`symbol + 0.0`). As for exact
    reals, every symbol counts as finite, and the sign of zero is ignored.

    A symbol cannot be compared and has no truth value, because the recorded program must be the
    same for all values.

    NumPy's functions accept symbols (`np.sin(symbol)`) and arrays of symbols. An array of numbers
    and a symbol do not mix: make it an array of dtype object.
    """

    __slots__ = ()

    #: Of two scalars in one operation the deeper one carries it out.
    depth: ClassVar[int] = 0

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Carry out a function of NumPy, which also takes care of `numpy.float64 * symbol`.

        Raises:
            SymbolicValueError: If it has no meaning for symbols.
        """
        name = _FUNCTIONS.get(ufunc) or _OPERATORS.get(ufunc)
        if name is None or method != "__call__" or options:
            raise SymbolicValueError(
                f"np.{ufunc.__name__} cannot be traced; expected the functions of "
                f"robot_dynamics.scalar.functions or one of NumPy's "
                f"{', '.join(sorted(f.__name__ for f in _FUNCTIONS))}."
            )
        if any(isinstance(x, np.ndarray) and x.dtype == object for x in inputs):
            arrays = [np.asarray(x, dtype=object) for x in inputs]
            return np.frompyfunc(lambda *x: _apply(ufunc, name, *x), len(inputs), 1)(*arrays)
        return _apply(ufunc, name, *inputs)

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

    def __pow__(self, exponent: Any) -> Any:
        """A power with a constant exponent, or the exponential of exponent times logarithm."""
        if isinstance(exponent, SymbolicScalar):
            return (self.log() * exponent).exp()  # type: ignore[union-attr]
        if exponent == 0.5:
            return self.sqrt()
        if float(exponent) != int(exponent):
            return (self.log() * float(exponent)).exp()  # type: ignore[union-attr]
        result: Any = 1.0
        for _ in range(abs(int(exponent))):
            result = result * self
        return result if exponent >= 0 else 1.0 / result

    def __rpow__(self, base: Any) -> Any:
        """A number to the power of this."""
        return self.constant(base) ** self

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
    def exp(self) -> SymbolicScalar | float:
        """The exponential function."""

    @abstractmethod
    def log(self) -> SymbolicScalar | float:
        """The natural logarithm, nan for a negative value."""

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

    def tan(self) -> Any:
        """The tangent of this angle in rad."""
        return self.sin() / self.cos()

    def asin(self) -> Any:
        """The angle in [-pi/2, pi/2] that has this sine; nan outside [-1, 1]."""
        return both("atan2", self, _other_leg(self))

    def acos(self) -> Any:
        """The angle in [0, pi] that has this cosine; nan outside [-1, 1]."""
        return both("atan2", _other_leg(self), self)

    def atan(self) -> Any:
        """The angle in [-pi/2, pi/2] that has this tangent."""
        return self.atan2(1.0)

    def hypot(self, other: Any) -> Any:
        """The length of the vector (this value, `other`)."""
        square: Any = self * self + other * other
        return square.sqrt()

    def square(self) -> Any:
        """This times itself."""
        return self * self

    def radians(self) -> Any:
        """This angle, given in degrees, in rad."""
        return self * (np.pi / 180.0)

    def degrees(self) -> Any:
        """This angle, given in rad, in degrees."""
        return self * (180.0 / np.pi)

    # Methods that NumPy calls on the elements of an array of objects.
    arcsin, arccos, arctan, arctan2 = asin, acos, atan, lambda self, x: self.atan2(x)
    deg2rad, rad2deg, fabs = radians, degrees, lambda self: self.absolute()

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
            "robot_dynamics.scalar.functions, or NumPy's, instead of math's functions."
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
    # Symbols are compared by identity, so that they can be keys of a dictionary.
    __hash__ = object.__hash__


def both(name: str, a: Any, b: Any) -> Any:
    """Return a function of two scalars, one of them symbolic: a method of the deeper one.

    Args:
        name: The name of the method, "atan2" for instance.
        a: The first argument, of which it is a method.
        b: The second argument.
    """
    if not isinstance(a, SymbolicScalar) or (isinstance(b, SymbolicScalar) and b.depth > a.depth):
        a = b.constant(a)
    return getattr(a, name)(b)


def _other_leg(x: Any) -> Any:
    """Return sqrt(1 - x^2), accurate to the last digits also where x is nearly one."""
    return ((1.0 - x) * (1.0 + x)).sqrt()


def _apply(ufunc: Any, name: str, *arguments: Any) -> Any:
    """Return a function of NumPy of scalars, of which one at least may be symbolic."""
    if not any(isinstance(x, SymbolicScalar) for x in arguments):
        return ufunc(*arguments)
    if ufunc in _FUNCTIONS:
        return getattr(arguments[0], name)() if len(arguments) == 1 else both(name, *arguments)
    a = arguments[0]
    if len(arguments) == 1:
        return getattr(a, f"__{name}__")()
    # Not `a * b`: it would ask NumPy, which would ask here again.
    if isinstance(a, SymbolicScalar):
        return getattr(a, f"__{name}__")(arguments[1])
    return getattr(arguments[1], f"__r{name}__")(a)


#: Scalars of algorithms: float, NumPy array (elementwise) or `SymbolicScalar`. A type
#: checker cannot follow arithmetic over such a union, and a type variable would say no more.
Scalar = Any
