# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""One integration step of a closed-loop system, loops kept closed by projection: one kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.compile import Program, call, trace
from robot_dynamics.dynamics.closed_loop import (
    closed_loop_accelerations,
    closed_loop_terms,
    constraint_factors,
)
from robot_dynamics.dynamics.full_rank import full_rank_pivot
from robot_dynamics.dynamics.projection import position_correction, velocity_correction
from robot_dynamics.model import Model
from robot_dynamics.model.parameters import block_size, pack, unpack
from robot_dynamics.scalar.functions import maximum, minimum, sqrt
from robot_dynamics.spatial import Scalar

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Drives:
    """What stands between a torque command and the mechanism, over the actuated joints (na,).

    Attributes:
        v_index: Where the actuated joints stand in the model's velocities.
        effort: Largest torque that a drive gives [N m].
        damping: Viscous friction [N m s/rad].
        friction: Coulomb friction [N m].
        friction_velocity: Speed [rad/s] at which Coulomb friction reaches 71 % of its value; it is
            smoothed as `friction qd / sqrt(qd^2 + friction_velocity^2)`.
    """

    v_index: NDArray[np.intp]
    effort: Array
    damping: Array
    friction: Array
    friction_velocity: float

    def pack(self) -> Array:
        """Return the drives' part of the parameter block."""
        return np.concatenate(
            [np.minimum(self.effort, 1e9), self.damping, self.friction, [self.friction_velocity]]
        )


def step_parameters(model: Model, drives: Drives, step: float) -> Array:
    """Return the parameter block of `step_program`: model, drives, length of the step [s]."""
    return np.concatenate([pack(model), drives.pack(), [step]])


def step_program(model: Model, actuated: Sequence[int]) -> Program:
    """Return the program of one Runge-Kutta step of fourth order, followed by projection.

    Inputs: q (nq,), qd (nv,), torque (na,), held over the step. Outputs: q, qd after the step, the
    loop multipliers there (n^c,), the position error at the start of the step (n^c,) and the one
    that the projection took away (n^c,), and the smallest pivot that tells full rank ().

    Positions and velocities are projected in the metric of H, so that the kinetic energy never
    grows by it. The classical scheme works on the positions' derivatives (quaternion rates
    included), which keeps its order.

    Args:
        model: The mechanism.
        actuated: Indices of the actuated joints in the velocities.
    """
    na = len(actuated)
    rates = _rate_program(model, actuated)
    projection = _projection_program(model, actuated)

    def run(q: Any, qd: Any, torque: Any, block: Any) -> dict[str, Any]:
        inner, h = block[:-1], block[-1]
        slopes: list[tuple[list[Scalar], list[Scalar]]] = []
        pivots: list[Scalar] = []
        closure: Any = None
        for fraction in (0.0, 0.5, 0.5, 1.0):
            at_q, at_v = list(q), list(qd)
            if slopes:
                at_q = _advance(q, slopes[-1][0], fraction * h)
                at_v = _advance(qd, slopes[-1][1], fraction * h)
            result = call(rates, at_q, at_v, torque, parameters=inner)
            slopes.append((result["q_rate"], result["qdd"]))
            pivots.append(result["pivot"])
            closure = result["position_error"] if closure is None else closure
        weights = (1.0, 2.0, 2.0, 1.0)
        sixth = h * (1.0 / 6.0)
        new_q, new_v = list(q), list(qd)
        for weight, (q_rate, qdd) in zip(weights, slopes, strict=True):
            new_q = _advance(new_q, q_rate, weight * sixth)
            new_v = _advance(new_v, qdd, weight * sixth)
        new_q = model.normalized(new_q)
        end = call(projection, new_q, new_v, torque, parameters=inner)
        pivot = end["pivot"]
        for value in pivots:
            pivot = minimum(pivot, value)
        return {
            "q": model.integrate(new_q, end["dq"]),
            "qd": [v + dv for v, dv in zip(new_v, end["dqd"], strict=True)],
            "multipliers": end["multipliers"],
            "closure": closure,
            "drift": end["position_error"],
            "pivot": pivot,
        }

    inputs = {"q": model.nq, "qd": model.nv, "torque": na}
    return trace(run, name="step", inputs=inputs, parameters=block_size(model) + 3 * na + 2)


def _rate_program(model: Model, actuated: Sequence[int]) -> Program:
    """The state's derivative under a torque: q_rate, qdd, position_error, pivot."""

    def run(q: Any, qd: Any, torque: Any, block: Any) -> dict[str, Any]:
        terms, factors, qdd, _ = _solve(model, actuated, q, qd, torque, block)
        return {
            "q_rate": model.position_rate(q, qd),
            "qdd": qdd,
            "position_error": terms.loops.position_error,
            "pivot": full_rank_pivot(model, terms.loops, factors.A.smallest_pivot),
        }

    return _trace(model, actuated, run, "rate")


def _projection_program(model: Model, actuated: Sequence[int]) -> Program:
    """The corrections that close the loops again, and the multipliers at the state."""

    def run(q: Any, qd: Any, torque: Any, block: Any) -> dict[str, Any]:
        terms, factors, _, multipliers = _solve(model, actuated, q, qd, torque, block)
        return {
            "dq": position_correction(model, terms, factors),
            "dqd": velocity_correction(terms, factors),
            "multipliers": multipliers,
            "position_error": terms.loops.position_error,
            "pivot": full_rank_pivot(model, terms.loops, factors.A.smallest_pivot),
        }

    return _trace(model, actuated, run, "projection")


def _solve(
    model: Model,
    actuated: Sequence[int],
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    torque: Sequence[Scalar],
    block: Sequence[Scalar],
) -> Any:
    size = block_size(model)
    terms = closed_loop_terms(model, q, qd, unpack(model, block[:size]))
    factors = constraint_factors(terms.H, terms.loops.K)
    tau = drive_forces(model.nv, actuated, qd, torque, block[size:])
    qdd, multipliers = closed_loop_accelerations(terms, factors, tau, terms.loops.k)
    return terms, factors, qdd, multipliers


def drive_forces(
    nv: int,
    actuated: Sequence[int],
    qd: Sequence[Scalar],
    torque: Sequence[Scalar],
    drives: Sequence[Scalar],
) -> list[Scalar]:
    """Return the joint forces (nv,) of limited torques less friction; `drives` is packed."""
    na = len(actuated)
    effort, damping, friction = (drives[i * na : (i + 1) * na] for i in range(3))
    v0 = drives[3 * na]
    tau: list[Scalar] = [0.0] * nv
    for j, at in enumerate(actuated):
        limited = minimum(maximum(torque[j], -effort[j]), effort[j])
        rate = qd[at]
        tau[at] = limited - damping[j] * rate - friction[j] * rate / sqrt(rate * rate + v0 * v0)
    return tau


def _advance(x: Sequence[Scalar], rate: Sequence[Scalar], time: Scalar) -> list[Scalar]:
    return [value + time * slope for value, slope in zip(x, rate, strict=True)]


def _trace(model: Model, actuated: Sequence[int], run: Any, name: str) -> Program:
    na = len(actuated)
    inputs = {"q": model.nq, "qd": model.nv, "torque": na}
    return trace(run, name=name, inputs=inputs, parameters=block_size(model) + 3 * na + 1)
