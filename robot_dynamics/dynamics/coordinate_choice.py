# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Choice of independent coordinates along a motion, changed only when necessary.

The crank of a four-bar determines its motion, except when coupler and rocker are in line: then the
crank stands still while the others move. Another coordinate is chosen before that. This class is
for callers that evaluate state by state and need coordinates by name: it weighs conditioning
against changes of the choice. Compiled integration also needs rows of K, and changes its choice
when the rows of its programs are no longer sufficient; it has its own choice
(`simulation/integrators/choice.py`). Both use `pivots`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.independent import (
    IndependentForm,
    chosen_coordinates,
    form_in,
    independent_form,
)
from robot_dynamics.dynamics.rank import constraint_rank
from robot_dynamics.errors import ArgumentError
from robot_dynamics.model import Model

# Digits are lost as conditioning grows; the loss of one of sixteen has no effect.
LARGEST_CONDITIONING = 20.0
# Least improvement by a change, so that similar choices do not alternate.
_GAIN = 2.0
# K G is rounding and closure error, or near 1 if there are too many coordinates.
_TOO_MANY = 1e-3
# Constraints that act by less than this on dependent coordinates (almost) free another motion.
_TOO_FEW = 1e-6


class CoordinateChoice:
    """Keeps independent coordinates along a motion until their conditioning degrades.

    Attributes:
        independent: Indices of the coordinates in use; None before the first state.
        changes: Number of changes of the choice.

    Args:
        model: The mechanism.
        terms: `(q, qd) -> (H, C, K, k, position error, ...)`, `Robot.constraint_terms`.
        preferred: Joints or coordinates that are used if their conditioning permits, and used
            again when it permits with a margin.
        largest: Conditioning at which others are chosen.
        length: Length [m] at which a rotation counts like a displacement; that of a typical link
            by default.

    Raises:
        ArgumentError: If `largest` is not above 4, which complete pivoting can reach.
    """

    def __init__(
        self,
        model: Model,
        terms: Callable[[Array, Array], Sequence[Array]],
        preferred: Sequence[str] | None = None,
        *,
        largest: float = LARGEST_CONDITIONING,
        length: float | None = None,
    ) -> None:
        if not largest > 4.0:
            raise ArgumentError(f"largest conditioning is {largest:g}, expected more than 4.")
        self.model, self.terms, self.preferred = model, terms, preferred
        self.largest, self.length = largest, length
        self.independent: tuple[int, ...] | None = None
        self.changes = 0
        self._wanted: tuple[int, ...] | None = None

    def form(self, q: Array, qd: Array) -> IndependentForm:
        """Return G and g at a state, in the present coordinates if they are still valid.

        Args:
            q: Positions (nq,) with the loops closed.
            qd: Velocities (nv,).
        """
        _, _, K, k, error, *_ = self.terms(q, qd)
        if self.independent is None:
            return self._first(q, K, k, error)
        now = form_in(self.model, K, k, self.independent, self.length)
        if _serves(now, self.largest):
            if self._wanted in (None, self.independent):
                return now
            back = form_in(self.model, K, k, self._wanted or (), self.length)
            return self._taken(back) if _serves(back, self.largest / _GAIN) else now
        ranked = constraint_rank(self.model, K, error, q, length=self.length)
        chosen, _ = chosen_coordinates(self.model, ranked)
        other = form_in(self.model, K, k, chosen, self.length)
        gains = other.conditioning * _GAIN < now.conditioning
        if gains or not _fits(now) or len(chosen) != len(now.independent):
            return self._taken(other)
        return now

    def _first(self, q: Array, K: Array, k: Array, error: Array) -> IndependentForm:
        ranked = constraint_rank(self.model, K, error, q, length=self.length)
        form = independent_form(self.model, K, k, ranked, self.preferred)
        self.independent = form.independent
        self._wanted = None if self.preferred is None else form.independent
        return form

    def _taken(self, form: IndependentForm) -> IndependentForm:
        self.changes += form.independent != self.independent
        self.independent = form.independent
        return form


def _serves(form: IndependentForm, largest: float) -> bool:
    return bool(form.conditioning <= largest and _fits(form))


def _fits(form: IndependentForm) -> bool:
    """Return whether the number of coordinates is right."""
    return bool(form.residual_K < _TOO_MANY and form.weakest > _TOO_FEW)
