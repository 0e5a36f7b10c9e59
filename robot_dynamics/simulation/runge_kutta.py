# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Runge-Kutta steps of closed-loop motion: schemes, and the programs of a step.

`ClosedMotion` makes the programs of one mechanism, the rate of its state and the projection that
closes its loops; `step_of` makes one step of them.

With redundant constraints, the programs use independent ones, chosen by the caller. They still
return the errors of all constraints: omitted ones stay closed exactly if the others imply them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from robot_dynamics.compile import Program, call, trace
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
from robot_dynamics.errors import ArgumentError
from robot_dynamics.model import Model
from robot_dynamics.model.parameters import block_size, unpack
from robot_dynamics.scalar.functions import maximum, minimum
from robot_dynamics.scalar.linear_algebra import Factors, is_zero
from robot_dynamics.spatial import Scalar


@dataclass(frozen=True)
class Scheme:
    """An explicit Runge-Kutta scheme: k_i = f(t + c_i h, y + h sum_j A_ij k_j).

    Attributes:
        order: The error over a given time falls with this power of the step.
        A: Row i has the i weights of the stages before stage i.
        b: Weights of the stages in the step.
        c: Place of each stage in the step.
    """

    order: int
    A: tuple[tuple[float, ...], ...]
    b: tuple[float, ...]
    c: tuple[float, ...]

    @classmethod
    def of(cls, order: int, A: Sequence[Sequence[float]], b: Sequence[float]) -> Scheme:
        """Return a scheme from its table; entries on and above the diagonal of A are ignored."""
        rows = tuple(tuple(float(value) for value in row[:i]) for i, row in enumerate(A))
        return cls(order, rows, tuple(float(x) for x in b), tuple(sum(row) for row in rows))


#: Euler's.
EULER = Scheme.of(1, ((),), (1.0,))
#: Heun's with its second stage at two thirds of the step (11.50).
HEUN = Scheme.of(2, ((), (2.0 / 3.0,)), (0.25, 0.75))
#: The classical scheme, four stages.
CLASSICAL = Scheme.of(
    4,
    ((), (0.5,), (0.0, 0.5), (0.0, 0.0, 1.0)),
    (1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0),
)
ORDERS = (4, 5, 8)


#: Those of integration with events, which needs no closed loops' programs.
EVENT_ORDERS = (1, 2, *ORDERS)


def interpolation_weights(scheme: Scheme, part: float) -> tuple[float, ...] | None:
    """Return b(delta) with which a scheme's stages lead to a part of its step (11.49, 11.51).

    None if its stages allow no interpolation of its order. At 1 they are the step's weights.
    """
    if scheme is EULER:
        return (part,)
    if scheme is HEUN:
        return (part - 0.75 * part * part, 0.75 * part * part)
    return None


def scheme_of_order(order: int, orders: Sequence[int] = ORDERS) -> Scheme:
    """Return the scheme of an order, among some; order 4 is the classical scheme.

    Orders 5 and 8 are Dormand and Prince's schemes, with six and, in Hairer's version, twelve
    stages.

    Raises:
        ArgumentError: If there is none.
    """
    if order not in orders:
        known = ", ".join(map(str, orders))
        raise ArgumentError(f"there is no scheme of order {order!r}, expected one of {known}.")
    for scheme in (EULER, HEUN, CLASSICAL):
        if order == scheme.order:
            return scheme
    from scipy.integrate import DOP853, RK45  # would make the start of control wait

    table = RK45 if order == 5 else DOP853
    return Scheme.of(order, table.A.tolist(), table.B.tolist())


@dataclass(frozen=True)
class JointForces:
    """Computes joint forces (nv,) from a command.

    Attributes:
        inputs: Size of the command.
        parameters: Length of the part of the parameter block that it reads.
        of: `(qd, command, block) -> forces`, traceable; by default the forces are the command.
    """

    inputs: int
    parameters: int = 0
    of: Callable[..., Sequence[Scalar]] = lambda qd, command, block: command


@dataclass(frozen=True)
class ClosedMotion:
    """Makes the programs of one mechanism; each takes q (nq,), qd (nv,) and the command.

    The parameter block holds parameters of the model, of the forces and, with stabilisation,
    T_stab.

    Attributes:
        model: The mechanism.
        forces: Computes joint forces from the command.
        rows: Rows of the used constraints; None for all.
        stabilised: Whether Baumgarte's terms act on the accelerations (8.22).
    """

    model: Model
    forces: JointForces
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

        Outputs: q, qd, multipliers (n^c,), drift (n^c,), the removed position error, pivot and
        margin. The multipliers belong to the state before its projection.
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
        """Return the measure of full rank of all constraints, or the pivot of chosen ones."""
        pivot = factors.A.smallest_pivot
        return full_rank_pivot(self.model, terms.loops, pivot) if self.rows is None else pivot

    def margin(self, A: Factors, diagonal: Sequence[Scalar]) -> Scalar:
        """Return the margin of the constraints to loss of rank, squared, over the strongest.

        Relative pivots do not show a constraint that becomes zero; this measure does, in units of
        length.

        Args:
            A: Factors of the product K M K^T of the used constraints.
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
        return self.forces.of(qd, command, block[start : start + self.forces.parameters])

    def traced(self, run: Any, name: str) -> Program:
        """Return the program that a function of q, qd, command and block leaves."""
        inputs = {"q": self.model.nq, "qd": self.model.nv, "torque": self.forces.inputs}
        size = block_size(self.model) + self.forces.parameters + self.stabilised
        return trace(run, name, inputs, size)


def step_of(
    model: Model, scheme: Scheme, rate: Program, finish: Program, outputs: Sequence[str]
) -> Program:
    """Return the program of one step, the force held over it.

    Inputs: q (nq,), qd (nv,), torque; parameters: as for `rate` and `finish`, then the length of
    the step [s].

    The scheme works on the derivatives of the positions (quaternion rates included), which keeps
    its order.

    Args:
        model: The mechanism.
        scheme: The scheme.
        rate: q, qd, torque -> q_rate, qdd, pivot, margin, position_error, velocity_error.
        finish: q, qd, torque -> q, qd, pivot, margin and others: completion of the step's end.
        outputs: Outputs of the program, in order: names of outputs of `finish`; `closure` and
            `slip` for the position and velocity errors at the start of the step; `pivot` and
            `margin` for the smallest of all.
    """

    def run(q: Any, qd: Any, torque: Any, block: Any) -> dict[str, Any]:
        inner, h = block[:-1], block[-1]
        slopes: list[tuple[Sequence[Scalar], Sequence[Scalar]]] = []
        first: dict[str, Any] = {}
        smallest: dict[str, Scalar] = {}
        for row in scheme.A:
            at_q, at_v = _advanced(q, qd, row, slopes, h)
            result = call(rate, at_q, at_v, torque, parameters=inner)
            slopes.append((result["q_rate"], result["qdd"]))
            smallest = _smaller(smallest, result)
            first = first or result
        new_q, new_v = _advanced(q, qd, scheme.b, slopes, h)
        end = call(finish, model.normalized(new_q), new_v, torque, parameters=inner)
        start = {"closure": first["position_error"], "slip": first["velocity_error"]}
        known = {**end, **start, **_smaller(smallest, end)}
        return {name: known[name] for name in outputs}

    ports = rate.ports
    return trace(run, "step", dict(ports.inputs), ports.parameters + 1)


def _smaller(smallest: Mapping[str, Scalar], result: Mapping[str, Any]) -> dict[str, Scalar]:
    """Return the smaller pivot and margin."""
    names = ("pivot", "margin")
    return {n: minimum(smallest[n], result[n]) if smallest else result[n] for n in names}


def _advanced(
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    weights: Sequence[float],
    slopes: Sequence[tuple[Sequence[Scalar], Sequence[Scalar]]],
    h: Scalar,
) -> tuple[list[Scalar], list[Scalar]]:
    """Return a state moved by weighted slopes over a step."""
    new_q, new_v = list(q), list(qd)
    for weight, (q_rate, qdd) in zip(weights, slopes, strict=True):
        if not is_zero(weight):
            time = weight * h
            new_q = [x + time * rate for x, rate in zip(new_q, q_rate, strict=True)]
            new_v = [x + time * rate for x, rate in zip(new_v, qdd, strict=True)]
    return new_q, new_v
