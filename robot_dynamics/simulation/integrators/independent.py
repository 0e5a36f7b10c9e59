# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Integration in independent coordinates: the others follow from the loops, at every stage.

Positions of dependent coordinates are found by Newton's method on the closure from their present
values, which keeps the assembly mode, and their velocities from K qd = 0. Integration errors of
independent coordinates do not open loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from robot_dynamics.compile import Program, call
from robot_dynamics.dynamics.closed_loop import closed_loop_accelerations, constraint_factors
from robot_dynamics.dynamics.scaling import coordinate_scales, model_length
from robot_dynamics.scalar.functions import minimum
from robot_dynamics.scalar.linear_algebra import Factors, dot, factor, times
from robot_dynamics.simulation.runge_kutta import ClosedMotion
from robot_dynamics.spatial import Scalar

# Stages start with an error of the order of the step squared, a thousandth at most. Each iteration
# of Newton's method squares it.
_ITERATIONS = 3


@dataclass(frozen=True)
class IndependentMotion(ClosedMotion):
    """Makes the programs of integration in independent coordinates; see `ClosedMotion`.

    Attributes:
        dependent: Indices of the velocities that follow from the others, one per row in use.
    """

    dependent: tuple[int, ...] = ()

    def rate(self) -> Program:
        """The derivative at the closed state with the same independent coordinates.

        `velocity_error` and `position_error` are the residuals after closing. The margin is small
        also where the independent coordinates cease to determine the dependent ones.
        """
        iteration, following = self._iteration(), self._following()

        def run(q: Any, qd: Any, command: Any, block: Any) -> dict[str, Any]:
            q = self._closed(iteration, q, qd, command, block)
            qd = call(following, q, qd, command, parameters=block)["qd"]
            terms, reduced = self.terms(q, qd, block)
            factors = constraint_factors(reduced.H, reduced.loops.K)
            tau = self.tau(qd, command, block)
            qdd, _ = closed_loop_accelerations(reduced, factors, tau, reduced.loops.k)
            return {
                "q_rate": self.model.position_rate(q, qd),
                "qdd": qdd,
                "position_error": terms.loops.position_error,
                "velocity_error": terms.loops.velocity_error,
                "pivot": factors.A.smallest_pivot,
                "margin": minimum(
                    self._margin_of_choice(reduced.loops.K),
                    self.margin(factors.A, factors.diagonal()),
                ),
            }

        return self.traced(run, "independent_rate")

    def closing(self) -> Program:
        """The closed state with the same independent coordinates; outputs as of `projection`."""
        iteration, following = self._iteration(), self._following()

        def run(q: Any, qd: Any, command: Any, block: Any) -> dict[str, Any]:
            drift = self.terms(q, qd, block)[0].loops.position_error
            q = self._closed(iteration, q, qd, command, block)
            end = call(following, q, qd, command, parameters=block)
            return {**end, "q": q, "drift": drift}

        return self.traced(run, "closing")

    def _closed(self, iteration: Program, q: Any, qd: Any, command: Any, block: Any) -> Any:
        for _ in range(_ITERATIONS):
            q = call(iteration, q, qd, command, parameters=block)["q"]
        return q

    def _iteration(self) -> Program:
        """One Newton iteration of the dependent coordinates towards closed loops."""
        on_positions = [
            i for i, at in enumerate(self.independent_rows) if self.model.holonomic[at]
        ]

        def run(q: Any, qd: Any, command: Any, block: Any) -> dict[str, Any]:
            loops = self.terms(q, [0.0] * self.model.nv, block)[1].loops
            K = [loops.K[i] for i in on_positions]
            error = [loops.position_error[i] for i in on_positions]
            return {"q": self.model.integrate(q, self._change(K, self._factors(K), error))}

        return self.traced(run, "closing_iteration")

    def _following(self) -> Program:
        """The velocities, whose dependent part fulfils K qd = 0, and the pivot."""

        def run(q: Any, qd: Any, command: Any, block: Any) -> dict[str, Any]:
            K = self.terms(q, [0.0] * self.model.nv, block)[1].loops.K
            factors = self._factors(K)
            for _ in range(2):  # the second removes the error by the squared condition of K
                change = self._change(K, factors, times(K, qd))
                qd = [v + dv for v, dv in zip(qd, change, strict=True)]
            return {
                "qd": qd,
                "pivot": factors.smallest_pivot,
                "margin": self._margin_of_choice(K),
            }

        return self.traced(run, "following_velocities")

    def _weighted(self, K: Sequence[Sequence[Scalar]]) -> list[list[Scalar]]:
        """Return the columns of K of the dependent coordinates, scaled to one unit."""
        scales = coordinate_scales(self.model, model_length(self.model)).tolist()
        return [[row[j] * (1.0 / scales[j]) for j in self.dependent] for row in K]

    def _factors(self, K: Sequence[Sequence[Scalar]]) -> Factors:
        """Return the factors of K_d K_d^T."""
        rows = self._weighted(K)
        return factor([[dot(rows[i], rows[j]) for j in range(i + 1)] for i in range(len(rows))])

    def _margin_of_choice(self, K: Sequence[Sequence[Scalar]]) -> Scalar:
        """Return the margin of the dependent columns of K, zero where they are singular."""
        diagonal = [dot(row, row) for row in self._weighted(K)]
        return self.margin(self._factors(K), diagonal)

    def _change(
        self, K: Sequence[Sequence[Scalar]], factors: Factors, error: Sequence[Scalar]
    ) -> list[Scalar]:
        """Return the change of dependent coordinates (nv,) that changes K qd by -error."""
        scales = coordinate_scales(self.model, model_length(self.model)).tolist()
        rows, push = self._weighted(K), factors.solve(error)
        result: list[Scalar] = [0.0] * self.model.nv
        for column, j in enumerate(self.dependent):
            part = dot([row[column] for row in rows], push)
            result[j] = part * (-1.0 / scales[j])
        return result
