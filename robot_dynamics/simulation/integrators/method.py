# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Compiled steps of an integration method, for one choice of constraints and coordinates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.compile import Program, load_kernel
from robot_dynamics.compile.chain import Chain
from robot_dynamics.model import Model
from robot_dynamics.model.parameters import pack
from robot_dynamics.simulation.integrators.choice import Choice
from robot_dynamics.simulation.integrators.independent import IndependentMotion
from robot_dynamics.simulation.runge_kutta import ClosedMotion, JointForces, Scheme, step_of

#: Joint forces (nv,) at a time, positions and velocities.
Force = Callable[[float, Array, Array], Array]

_OUTPUTS = ("q", "qd", "closure", "slip", "drift", "margin")


@dataclass(frozen=True)
class Method:
    """An integration method and its Runge-Kutta scheme.

    Attributes:
        name: "projection", "adaptive", "stabilised" or "independent": how loops stay closed.
        scheme: The Runge-Kutta scheme.
        stabilisation_time: T_stab [s] of "stabilised".
    """

    name: str
    scheme: Scheme
    stabilisation_time: float

    def choice(self, found: Choice) -> Choice:
        """Return a choice without the coordinates that this method does not need."""
        return found if self.name == "independent" else replace(found, dependent=())


class Kernels:
    """A method compiled for one choice; each kernel when it is first used.

    Args:
        model: The mechanism.
        method: The method.
        choice: Constraints and coordinates.
        lanes: States per call, as of `compile.load_kernel`; chains need 1.
    """

    def __init__(
        self, model: Model, method: Method, choice: Choice, lanes: int | None = 1
    ) -> None:
        self.choice, self._model, self._method, self._lanes = choice, model, method, lanes
        self._chains: dict[float, Chain] = {}
        stabilised = method.name == "stabilised"
        self._block = np.append(pack(model), [method.stabilisation_time] * stabilised)
        forces, rows = JointForces(model.nv), choice.rows
        self._motion: ClosedMotion = (
            IndependentMotion(model, forces, rows, dependent=choice.dependent)
            if method.name == "independent"
            else ClosedMotion(model, forces, rows, stabilised)
        )

    def chain(self, step: float) -> Chain:
        """Return `(count, q, qd, tau) -> q, qd, closure, slip, drift, margin` of many steps."""
        if step not in self._chains:
            self._chains[step] = self._step_kernel.chain(np.append(self._block, step))
        return self._chains[step]

    def step(self, step: float) -> Any:
        """Return `(q, qd, tau) -> q, qd, closure, slip, drift, margin` of one step, any states."""
        return self._step_kernel.bind(np.append(self._block, step))

    def step_under(
        self, force: Force, start: float, q: Array, qd: Array, step: float
    ) -> tuple[Any, ...]:
        """Return the same for a step with a force that is a function, called at every stage."""
        scheme, model = self._method.scheme, self._model
        slopes: list[tuple[Array, Array]] = []
        margins: list[Any] = []
        for weights, c in zip(scheme.A, scheme.c, strict=True):
            stage_q, stage_v = _moved(q, qd, weights, slopes, step)
            tau = force(start + c * step, stage_q, stage_v)
            q_rate, qdd, closure, slip, _, margin = self.rate(stage_q, stage_v, tau)
            slopes.append((q_rate, qdd))
            margins.append(margin)
            if len(slopes) == 1:
                errors = closure, slip
        end_q, end_v = _moved(q, qd, scheme.b, slopes, step)
        columns = list(end_q.T) if end_q.ndim > 1 else end_q.tolist()
        end_q = np.array(model.normalized(columns)).T
        q, qd, drift, margin = self.finish(end_q, end_v, np.zeros(model.nv))
        # np.min and not min, which would hide NaN.
        return q, qd, *errors, drift, np.min([margin, *margins], axis=0)

    @cached_property
    def rate(self) -> Any:
        """`(q, qd, tau) -> q_rate, qdd, position_error, velocity_error, pivot, margin`."""
        return self._load("rate", self._rate_program).bind(self._block)

    @cached_property
    def finish(self) -> Any:
        """`(q, qd, tau) -> q, qd, drift, margin`: closes loops at the end of a step."""
        kernel = self._load("finish", self._finish_program)
        bound, names = kernel.bind(self._block), list(kernel.outputs)
        at = [names.index(name) for name in ("q", "qd", "drift", "margin")]

        def finish(q: Array, qd: Array, tau: Array) -> tuple[Any, ...]:
            results = bound(q, qd, tau)
            return tuple(results[i] for i in at)

        return finish

    @cached_property
    def _step_kernel(self) -> Any:
        scheme = self._method.scheme

        def program() -> Program:
            parts = self._rate_program(), self._finish_program()
            return step_of(self._model, scheme, *parts, _OUTPUTS)

        return self._load(f"step{scheme.order}", program)

    def _rate_program(self) -> Program:
        return self._motion.rate()

    def _finish_program(self) -> Program:
        if isinstance(self._motion, IndependentMotion):
            return self._motion.closing()
        if self._motion.stabilised:
            return self._motion.unchanged()
        return self._motion.projection()

    def _load(self, part: str, build: Callable[[], Program]) -> Any:
        # "adaptive" uses the kernels of "projection".
        name = "projection" if self._method.name == "adaptive" else self._method.name
        key = f"integrator {part} {name} {self.choice}\0".encode()
        return load_kernel(key + self._model.structure_key, build, lanes=self._lanes)


def _moved(
    q: Array,
    qd: Array,
    weights: Sequence[float],
    slopes: Sequence[tuple[Array, Array]],
    h: float,
) -> tuple[Array, Array]:
    """Return positions and velocities after a step h [s] with weighted slopes."""
    for weight, (q_rate, qdd) in zip(weights, slopes, strict=True):
        if weight:
            q, qd = q + weight * h * q_rate, qd + weight * h * qdd
    return q, qd
