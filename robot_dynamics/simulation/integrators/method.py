# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The compiled parts of a method for one choice of constraints and coordinates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.compile import Program, load_kernel
from robot_dynamics.compile.chain import Chain
from robot_dynamics.model import Model
from robot_dynamics.model.parameters import pack
from robot_dynamics.simulation.integrators.choice import Choice
from robot_dynamics.simulation.integrators.independent import IndependentMotion
from robot_dynamics.simulation.runge_kutta import ClosedMotion, JointForces, Scheme, step_of

Array = NDArray[np.float64]
#: Joint forces (nv,) at a time, positions and velocities.
Force = Callable[[float, Array, Array], Array]

_OUTPUTS = ("q", "qd", "closure", "slip", "drift", "margin")


@dataclass(frozen=True)
class Method:
    """How loops are kept closed, and the scheme.

    Attributes:
        name: "projection", "adaptive", "stabilised" or "independent".
        scheme: The Runge-Kutta scheme.
        stabilisation_time: T_stab [s] of "stabilised".
    """

    name: str
    scheme: Scheme
    stabilisation_time: float

    def choice(self, found: Choice) -> Choice:
        """Return what matters to this method of a choice."""
        return found if self.name == "independent" else replace(found, dependent=())


class Kernels:
    """A method compiled for one choice. Everything is made when it is first asked for."""

    def __init__(self, model: Model, method: Method, choice: Choice) -> None:
        self.choice, self._model, self._method = choice, model, method
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

    @cached_property
    def rate(self) -> Any:
        """`(q, qd, tau) -> q_rate, qdd, position_error, velocity_error, pivot, margin`."""
        return self._load("rate", self._rate_program).bind(self._block)

    @cached_property
    def finish(self) -> Any:
        """`(q, qd, tau) -> q, qd, drift, margin`: what a step ends with."""
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
        # The parts of the adaptive method are those of projection.
        name = "projection" if self._method.name == "adaptive" else self._method.name
        key = f"integrator {part} {name} {self.choice}\0".encode()
        return load_kernel(key + self._model.structure_key, build, lanes=1)
