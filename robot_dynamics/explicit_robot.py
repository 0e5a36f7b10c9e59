# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A mechanism in independent coordinates, by closure functions of the user."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics import algorithms
from robot_dynamics.dynamics.closure_check import ClosureCheck, check_closure
from robot_dynamics.dynamics.closure_composition import compose
from robot_dynamics.dynamics.closure_functions import ClosureFunction
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model import Model

Array = NDArray[np.float64]


class ExplicitRobot:
    """A mechanism whose state is (y, yd): loops are closed at any y, whatever an integrator does.

    The algorithms are NumPy generalised ufuncs, as those of `Robot`. Joint forces tau (nv,) are
    those of the tree of the model, in its order.

    Attributes:
        model: The mechanism as data.
        closure: Its closure functions, composed.
    """

    def __init__(
        self,
        model: Model,
        functions: Iterable[ClosureFunction] = (),
        independent: Iterable[str] = (),
    ) -> None:
        self.model = model
        self.closure = compose(model, functions, independent)

    def __repr__(self) -> str:
        return f"<ExplicitRobot {self.model.name!r}: y = {', '.join(self.names)}>"

    def __getstate__(self) -> dict[str, Any]:
        """Keep model and functions alone: machine code is found again in the cache."""
        independent = [c.name for c in self.closure.coordinates]
        return {"model": self.model, "given": (self.closure.functions, independent)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["model"], *state["given"])  # type: ignore[misc]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the independent velocities, in the order of yd."""
        return self.closure.names

    @cached_property
    def positions(self) -> Any:
        """`(y) -> q`: gamma."""
        return algorithms.bound_explicit(
            self.closure, "gamma", lambda: algorithms.gamma_program(self.closure)
        )

    @cached_property
    def motion(self) -> Any:
        """`(y, yd, ydd) -> (q, qd, qdd)`: gamma, G yd, G ydd + g."""
        return self._bind("explicit_motion", algorithms.explicit_motion_program)

    @cached_property
    def derivatives(self) -> Any:
        """`(y, yd) -> (q, qd, G, g)` with qd = G yd and qdd = G ydd + g."""
        return self._bind("explicit_closure", algorithms.explicit_closure_program)

    @cached_property
    def terms(self) -> Any:
        """`(y, yd) -> (M, c)` of M ydd + c = G^T tau: G^T H G and G^T (C + H g)."""
        return self._bind("explicit_terms", algorithms.explicit_terms_program)

    @cached_property
    def forward_dynamics(self) -> Any:
        """`(y, yd, tau) -> ydd` (8.45)."""
        return self._bind(
            "explicit_forward_dynamics", algorithms.explicit_forward_dynamics_program
        )

    @cached_property
    def inverse_dynamics(self) -> Any:
        """`(y, yd, ydd) -> G^T tau`: all that the motion asks of joint forces (8.62)."""
        return self._bind(
            "explicit_inverse_dynamics", algorithms.explicit_inverse_dynamics_program
        )

    def coordinates(self, q: ArrayLike, qd: ArrayLike | None = None) -> Any:
        """Return y, or y and yd, of positions and velocities of the tree.

        Args:
            q: Positions (..., nq), with the loops closed as the functions close them.
            qd: Velocities (..., nv).

        Raises:
            RobotDynamicsError: If a coordinate is no joint's position.
        """
        model = self.model
        for c in self.closure.coordinates:
            if c.type is None:
                raise RobotDynamicsError(
                    f"{model.name}: coordinate {c.name!r} is no joint, positions do not tell it."
                )
        bodies = [model.joint_index(c.name) for c in self.closure.coordinates]
        y = np.concatenate([np.asarray(q, float)[..., model.q_slices[i]] for i in bodies], -1)
        if qd is None:
            return y
        return y, np.concatenate(
            [np.asarray(qd, float)[..., model.v_slices[i]] for i in bodies], -1
        )

    def integrate(self, y: ArrayLike, step: ArrayLike) -> Array:
        """Return the coordinates reached from y (size,) by velocity times time (dimension,)."""
        at, by = np.asarray(y, dtype=float).tolist(), np.asarray(step, dtype=float).tolist()
        return np.array(self.closure.integrate(at, by), dtype=float)

    def check(self, samples: ArrayLike | None = None, **options: Any) -> ClosureCheck:
        """Check the functions against the loops of the mechanism.

        Args:
            samples: Where (N, size); by default places drawn at random.
            options: `count` and `seed` of `dynamics.closure_check.check_closure`.

        Raises:
            ClosureFunctionError: If loops are open or open in a motion, if coordinates are missing
                or too many, or if positions jump.
        """
        terms = algorithms.bound(
            self.model, "constraint_terms", lambda: algorithms.constraint_program(self.model)
        )
        with np.errstate(all="ignore"):  # outside of the domain numbers may be infinite
            return check_closure(self.closure, self.derivatives, terms, samples=samples, **options)

    def _bind(self, name: str, program: Any) -> Any:
        return algorithms.bound_explicit(self.closure, name, lambda: program(self.closure))
