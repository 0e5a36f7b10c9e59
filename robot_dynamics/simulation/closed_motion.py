# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The programs that a step is made of: the rate of a closed-loop state, and its projection.

Where constraints depend on one another, the programs are made of independent ones among them,
chosen by whoever calls. The errors of all constraints are returned all the same: those that were
left out stay closed exactly if the others imply them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from robot_dynamics.compile import Program, trace
from robot_dynamics.dynamics.closed_loop import (
    ClosedLoopTerms,
    ConstraintFactors,
    closed_loop_accelerations,
    closed_loop_terms,
    constraint_factors,
)
from robot_dynamics.dynamics.full_rank import full_rank_pivot
from robot_dynamics.dynamics.projection import position_correction, velocity_correction
from robot_dynamics.dynamics.scaling import constraint_scales, model_length
from robot_dynamics.model import Model
from robot_dynamics.model.parameters import block_size, unpack
from robot_dynamics.scalar.functions import maximum, minimum
from robot_dynamics.scalar.linear_algebra import Factors, is_zero
from robot_dynamics.spatial import Scalar


class Forces(Protocol):
    """What makes joint forces (nv,) of a command."""

    @property
    def inputs(self) -> int:
        """Size of the command."""

    @property
    def parameters(self) -> int:
        """Length of the part of the parameter block that it reads."""

    def __call__(
        self, qd: Sequence[Scalar], command: Sequence[Scalar], block: Sequence[Scalar]
    ) -> Sequence[Scalar]:
        """Return the joint forces (nv,)."""


@dataclass(frozen=True)
class JointForces:
    """Joint forces (nv,) that are given as they are; nothing is read from the block."""

    inputs: int
    parameters: int = 0

    def __call__(
        self, qd: Sequence[Scalar], command: Sequence[Scalar], block: Sequence[Scalar]
    ) -> Sequence[Scalar]:
        """Return the command."""
        return command


@dataclass(frozen=True)
class ClosedMotion:
    """Makes the programs of one mechanism; each takes q (nq,), qd (nv,) and the command.

    The parameter block is that of the model, of the forces and, with stabilisation, T_stab.

    Attributes:
        model: The mechanism.
        forces: What makes joint forces of the command.
        rows: The constraints that are used, by their rows; None for all.
        stabilised: Whether Baumgarte's terms act on the accelerations (8.22).
    """

    model: Model
    forces: Forces
    rows: tuple[int, ...] | None = None
    stabilised: bool = False

    @property
    def independent_rows(self) -> tuple[int, ...]:
        """The rows of the constraints that are used."""
        return tuple(range(self.model.constraint_count)) if self.rows is None else self.rows

    def rate(self) -> Program:
        """The state's derivative: q_rate, qdd, position_error, velocity_error, pivot, margin."""

        def run(q: Any, qd: Any, command: Any, block: Any) -> dict[str, Any]:
            terms, reduced = self.terms(q, qd, block)
            factors = constraint_factors(reduced.H, reduced.loops.K)
            k = reduced.loops.k
            if self.stabilised:
                k = reduced.loops.stabilised(block[-1])
            qdd, _ = closed_loop_accelerations(reduced, factors, self.tau(qd, command, block), k)
            return {
                "q_rate": self.model.position_rate(q, qd),
                "qdd": qdd,
                "position_error": terms.loops.position_error,
                "velocity_error": terms.loops.velocity_error,
                "pivot": self.pivot(terms, factors),
                "margin": self.margin(factors.A, factors.diagonal()),
            }

        return self.traced(run, "rate")

    def projection(self) -> Program:
        """The state with loops closed in the metric of H, and the multipliers.

        Outputs: q, qd, multipliers (n^c,), drift (n^c,), the position error that was taken away,
        pivot and margin. The multipliers are those of the state before its projection.
        """

        def run(q: Any, qd: Any, command: Any, block: Any) -> dict[str, Any]:
            terms, reduced = self.terms(q, qd, block)
            factors = constraint_factors(reduced.H, reduced.loops.K)
            on_positions = self.model.holonomic[list(self.independent_rows)].tolist()
            dq = position_correction(reduced, factors, on_positions)
            dqd = velocity_correction(reduced, factors)
            tau = self.tau(qd, command, block)
            _, multipliers = closed_loop_accelerations(reduced, factors, tau, reduced.loops.k)
            of_all: list[Scalar] = [0.0] * self.model.constraint_count
            for at, value in zip(self.independent_rows, multipliers, strict=True):
                of_all[at] = value
            return {
                "q": self.model.integrate(q, dq),
                "qd": [v + dv for v, dv in zip(qd, dqd, strict=True)],
                "multipliers": of_all,
                "drift": terms.loops.position_error,
                "pivot": self.pivot(terms, factors),
                "margin": self.margin(factors.A, factors.diagonal()),
            }

        return self.traced(run, "projection")

    def unchanged(self) -> Program:
        """The state as it is, for methods that do not project; see `projection`."""

        def run(q: Any, qd: Any, command: Any, block: Any) -> dict[str, Any]:
            drift = [0.0] * self.model.constraint_count
            return {"q": q, "qd": qd, "drift": drift, "pivot": 1.0, "margin": 1.0}

        return self.traced(run, "unchanged")

    def pivot(self, terms: ClosedLoopTerms, factors: ConstraintFactors) -> Scalar:
        """Return what tells full rank of all constraints, or the pivot of those chosen."""
        pivot = factors.A.smallest_pivot
        return full_rank_pivot(self.model, terms.loops, pivot) if self.rows is None else pivot

    def margin(self, A: Factors, diagonal: Sequence[Scalar]) -> Scalar:
        """Return how far the constraints are from losing rank: a part of the strongest, squared.

        The relative pivots do not see a constraint that vanishes; this sees it, in units of
        length.

        Args:
            A: The factors of a product K M K^T of the constraints that are used.
            diagonal: The diagonal of that product.
        """
        length = model_length(self.model)
        scales = constraint_scales(self.model, length)[list(self.independent_rows)].tolist()
        strongest, weakest = None, None
        for scale, own, inverse in zip(scales, diagonal, A.inverse_diagonal, strict=True):
            if is_zero(own):
                continue
            own, rest = own * scale**2, scale**2 / inverse
            strongest = own if strongest is None else maximum(strongest, own)
            weakest = rest if weakest is None else minimum(weakest, rest)
        return 1.0 if weakest is None else minimum(A.smallest_pivot, weakest / strongest)

    def terms(
        self, q: Sequence[Scalar], qd: Sequence[Scalar], block: Sequence[Scalar]
    ) -> tuple[ClosedLoopTerms, ClosedLoopTerms]:
        """Return the equation of motion with all constraints, and with those that are used."""
        parameters = unpack(self.model, block[: block_size(self.model)])
        terms = closed_loop_terms(self.model, q, qd, parameters)
        return terms, replace(terms, loops=terms.loops.of_rows(self.independent_rows))

    def tau(
        self, qd: Sequence[Scalar], command: Sequence[Scalar], block: Sequence[Scalar]
    ) -> Sequence[Scalar]:
        """Return the joint forces (nv,) of a command."""
        start = block_size(self.model)
        return self.forces(qd, command, block[start : start + self.forces.parameters])

    def traced(self, run: Any, name: str) -> Program:
        """Return the program that a function of q, qd, command and block leaves."""
        inputs = {"q": self.model.nq, "qd": self.model.nv, "torque": self.forces.inputs}
        size = block_size(self.model) + self.forces.parameters + self.stabilised
        return trace(run, name, inputs, size)
