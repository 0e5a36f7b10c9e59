# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""One Runge-Kutta step of a mechanism as one program, whatever gives its rate and what ends it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from robot_dynamics.compile import Program, call, trace
from robot_dynamics.model import Model
from robot_dynamics.scalar.functions import minimum
from robot_dynamics.scalar.linear_algebra import is_zero
from robot_dynamics.simulation.schemes import Scheme
from robot_dynamics.spatial import Scalar


def step_of(
    model: Model, scheme: Scheme, rate: Program, finish: Program, outputs: Sequence[str]
) -> Program:
    """Return the program of one step, the force held over it.

    Inputs: q (nq,), qd (nv,), torque; parameters: those of `rate` and `finish`, then the length of
    the step [s].

    The scheme works on the derivatives of the positions (quaternion rates included), which keeps
    its order.

    Args:
        model: The mechanism.
        scheme: The scheme.
        rate: q, qd, torque -> q_rate, qdd, pivot, margin, position_error, velocity_error.
        finish: q, qd, torque -> q, qd, pivot, margin and anything else: what becomes of the end.
        outputs: What the program returns, in order: names of outputs of `finish`; `closure` and
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
