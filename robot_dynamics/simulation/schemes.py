# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Explicit Runge-Kutta schemes as tables of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scipy.integrate import DOP853, RK45

from robot_dynamics.errors import ArgumentError


@dataclass(frozen=True)
class Scheme:
    """An explicit Runge-Kutta scheme: k_i = f(t + c_i h, y + h sum_j A_ij k_j).

    Attributes:
        order: The error over a given time falls with this power of the step.
        A: Row i has the i weights of the stages before stage i.
        b: Weights of the stages in the step.
        c: Where in the step each stage is.
    """

    order: int
    A: tuple[tuple[float, ...], ...]
    b: tuple[float, ...]
    c: tuple[float, ...]

    @classmethod
    def of(cls, order: int, A: Sequence[Sequence[float]], b: Sequence[float]) -> Scheme:
        """Return a scheme from its table; what is on and above the diagonal of A is not read."""
        rows = tuple(tuple(float(value) for value in row[:i]) for i, row in enumerate(A))
        return cls(order, rows, tuple(float(x) for x in b), tuple(sum(row) for row in rows))


#: The classical scheme, four stages.
CLASSICAL = Scheme.of(
    4,
    ((), (0.5,), (0.0, 0.5), (0.0, 0.0, 1.0)),
    (1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0),
)
#: Dormand and Prince's of fifth order, six stages.
DORMAND_PRINCE_5 = Scheme.of(5, RK45.A.tolist(), RK45.B.tolist())
#: Dormand and Prince's of eighth order, twelve stages, in Hairer's version.
DORMAND_PRINCE_8 = Scheme.of(8, DOP853.A.tolist(), DOP853.B.tolist())

SCHEMES = {s.order: s for s in (CLASSICAL, DORMAND_PRINCE_5, DORMAND_PRINCE_8)}


def scheme_of_order(order: int) -> Scheme:
    """Return the scheme of an order.

    Raises:
        ArgumentError: If there is none.
    """
    if order not in SCHEMES:
        known = ", ".join(map(str, SCHEMES))
        raise ArgumentError(f"there is no scheme of order {order!r}, expected one of {known}.")
    return SCHEMES[order]
