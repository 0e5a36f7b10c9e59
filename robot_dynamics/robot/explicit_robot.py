# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A mechanism in independent coordinates, by closure functions of the user."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, overload

import numpy as np

from robot_dynamics.arrays import Array, Batch, Vector
from robot_dynamics.dynamics.algorithm import Algorithm
from robot_dynamics.dynamics.closed_loop import CONSTRAINT_TERMS
from robot_dynamics.dynamics.closure_check import ClosureCheck, check_closure
from robot_dynamics.dynamics.closure_composition import compose
from robot_dynamics.dynamics.closure_functions import ClosureFunction
from robot_dynamics.dynamics.explicit_form import (
    CLOSURE_DERIVATIVES,
    FORWARD_DYNAMICS,
    INVERSE_DYNAMICS,
    MOTION,
    POSITIONS,
    TERMS,
    bind_explicit,
    explicit_lengths,
)
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model import Model
from robot_dynamics.robot.bound_model import each_output, explained, vector_batch


class ExplicitRobot:
    """A mechanism whose state is (y, yd): loops are closed at any y.

    Arguments may have leading batch dimensions and `out` takes arrays that results are written to,
    as in `Robot`. Joint forces tau (..., nv) belong to the tree of the model, in its order.

    Attributes:
        closure: Its closure functions, composed.
    """

    def __init__(
        self,
        model: Model,
        functions: Iterable[ClosureFunction] = (),
        independent: Iterable[str] = (),
    ) -> None:
        self._model = model
        self.closure = compose(model, functions, independent)
        self._compiled = cache(lambda algorithm: bind_explicit(self.closure, algorithm))

    def __repr__(self) -> str:
        return f"<ExplicitRobot {self.model.name!r}: y = {', '.join(self.names)}>"

    def __getstate__(self) -> dict[str, Any]:
        """Keep only model and functions: machine code is found again in the cache."""
        independent = [c.name for c in self.closure.coordinates]
        return {"model": self._model, "given": (self.closure.functions, independent)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["model"], *state["given"])  # type: ignore[misc]

    @property
    def model(self) -> Model:
        """The mechanism as data."""
        return self._model

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the independent velocities, in the order of yd."""
        return self.closure.names

    def positions(self, y: Batch, out: Array | None = None) -> Array:
        """Return the positions q (..., nq) of the tree: gamma."""
        try:
            return self._compiled(POSITIONS)(y, out=out)
        except (TypeError, ValueError) as error:
            raise self._explained(error, POSITIONS, y, out=out) from None

    def motion(
        self, y: Batch, yd: Batch, ydd: Batch, out: tuple[Array, Array, Array] | None = None
    ) -> tuple[Array, Array, Array]:
        """Return q, qd and qdd of the tree: gamma, G yd, G ydd + g."""
        try:
            return self._compiled(MOTION)(y, yd, ydd, out=each_output(out, 3))
        except (TypeError, ValueError) as error:
            raise self._explained(error, MOTION, y, yd, ydd, out=out) from None

    def derivatives(
        self, y: Batch, yd: Batch, out: tuple[Array, Array, Array, Array] | None = None
    ) -> tuple[Array, Array, Array, Array]:
        """Return q, qd, G and g with qd = G yd and qdd = G ydd + g."""
        try:
            return self._compiled(CLOSURE_DERIVATIVES)(y, yd, out=each_output(out, 4))
        except (TypeError, ValueError) as error:
            raise self._explained(error, CLOSURE_DERIVATIVES, y, yd, out=out) from None

    def terms(
        self, y: Batch, yd: Batch, out: tuple[Array, Array] | None = None
    ) -> tuple[Array, Array]:
        """Return M and c of M ydd + c = G^T tau: G^T H G and G^T (C + H g)."""
        try:
            return self._compiled(TERMS)(y, yd, out=each_output(out, 2))
        except (TypeError, ValueError) as error:
            raise self._explained(error, TERMS, y, yd, out=out) from None

    def forward_dynamics(self, y: Batch, yd: Batch, tau: Batch, out: Array | None = None) -> Array:
        """Return ydd (8.45)."""
        try:
            return self._compiled(FORWARD_DYNAMICS)(y, yd, tau, out=out)
        except (TypeError, ValueError) as error:
            raise self._explained(error, FORWARD_DYNAMICS, y, yd, tau, out=out) from None

    def inverse_dynamics(self, y: Batch, yd: Batch, ydd: Batch, out: Array | None = None) -> Array:
        """Return G^T tau, the generalised forces that give ydd (8.62)."""
        try:
            return self._compiled(INVERSE_DYNAMICS)(y, yd, ydd, out=out)
        except (TypeError, ValueError) as error:
            raise self._explained(error, INVERSE_DYNAMICS, y, yd, ydd, out=out) from None

    def _explained(
        self, error: Exception, algorithm: Algorithm, *arguments: Batch, out: Any = None
    ) -> Exception:
        """Return the error of an argument of the wrong shape or type; else the error itself."""
        lengths = explicit_lengths(self.closure, algorithm)
        outputs = algorithm.output_lengths(self.model, dimension=self.closure.dimension)
        return explained(error, algorithm.name, lengths, arguments, outputs, out)

    @overload
    def coordinates(self, q: Batch) -> Array: ...

    @overload
    def coordinates(self, q: Batch, qd: Batch) -> tuple[Array, Array]: ...

    def coordinates(self, q: Batch, qd: Batch | None = None) -> Array | tuple[Array, Array]:
        """Return y, or y and yd, of positions and velocities of the tree.

        Args:
            q: Positions (..., nq), with the loops closed as the functions close them.
            qd: Velocities (..., nv).

        Raises:
            RobotDynamicsError: If a coordinate is not the position of a joint.
        """
        model = self.model
        for c in self.closure.coordinates:
            if c.type is None:
                raise RobotDynamicsError(
                    f"{model.name}: coordinate {c.name!r} is no joint, positions do not tell it."
                )
        vector_batch("coordinates", "q", q, model.nq)
        bodies = [model.joint_index(c.name) for c in self.closure.coordinates]
        y = np.concatenate([np.asarray(q, float)[..., model.q_slices[i]] for i in bodies], -1)
        if qd is None:
            return y
        vector_batch("coordinates", "qd", qd, model.nv)
        return y, np.concatenate(
            [np.asarray(qd, float)[..., model.v_slices[i]] for i in bodies], -1
        )

    def integrate(self, y: Vector, step: Vector) -> Array:
        """Return the coordinates reached from y (size,) by velocity times time (dimension,)."""
        vector_batch("integrate", "y", y, self.closure.size)
        vector_batch("integrate", "step", step, self.closure.dimension)
        at, by = np.asarray(y, dtype=float).tolist(), np.asarray(step, dtype=float).tolist()
        return np.array(self.closure.integrate(at, by), dtype=float)

    def check(
        self, samples: Batch | None = None, *, count: int = 16, seed: int = 0
    ) -> ClosureCheck:
        """Check the functions against the loops of the mechanism.

        Args:
            samples: Independent coordinates (N, size); by default `count` drawn at random.
            count: Number of samples to draw.
            seed: Of the random numbers.

        Raises:
            ClosureFunctionError: If loops are open or open in a motion, if coordinates are missing
                or too many, or if positions jump.
        """
        terms = CONSTRAINT_TERMS.bind(self.model)
        with np.errstate(all="ignore"):  # outside of the domain numbers may be infinite
            return check_closure(
                self.closure, self.derivatives, terms, samples=samples, count=count, seed=seed
            )
