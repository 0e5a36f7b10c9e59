# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Stops of joints in plants: the position limits of a mechanism, which contacts enforce.

A control period is first taken without stops. If a coordinate is beyond its limit at its end, the
period is repeated from its start in time steps with impulses, in which limits are inequalities.
These continue until no stop pushes any more. A motion that reaches no stop is therefore the same
as without stops, bit for bit; a joint that passes a stop and returns within a period is not seen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.compile import shared_kernel, trace
from robot_dynamics.compile.routine import Vector, routine
from robot_dynamics.contact.points import Configuration, limits_of
from robot_dynamics.model import Model

#: Depth in a stop [rad or m] that steps with contacts can push out.
_DEEP = 1e-3
# Distance from a stop at the start [rad or m], within which a motion is likely to reach it.
_NEAR = 0.1


class Stops:
    """The stops of a mechanism.

    A limit that the start exceeds by more than 1e-3 rad or m is ignored.

    Attributes:
        items: Position limits of tree joints and loop joints, named as by `joint_limits`.

    Args:
        model: The mechanism.
        start: Positions (nq,) at the start.

    Raises:
        ArgumentError: If the placement of a joint's frames does not determine whether it is within
            its limits.
    """

    def __init__(self, model: Model, start: Array) -> None:
        found, there = limits_of(model), Configuration(model, start.tolist())
        self.items = tuple(item for item in found if item.phi(there) >= -_DEEP)
        if self.items:
            program = trace(self._run(model), "stops", {"q": model.nq})
            kernel = shared_kernel(b"stops\0" + program.fingerprint, lambda: program, lanes=1)
            self._q, gaps = np.zeros(model.nq), np.zeros(len(self.items))
            self._find, self._least = kernel.bind_arrays(None, [self._q], [gaps]), least.bind(gaps)

    def _run(self, model: Model) -> Callable[..., dict[str, Any]]:
        def run(q: Any, _: Any) -> dict[str, Any]:
            at = Configuration(model, q)
            return {"gaps": [item.phi(at) for item in self.items]}

        return run

    def near(self, q: Array) -> bool:
        """Return whether a motion from positions (nq,) is likely to reach a stop."""
        return self.room(q) < _NEAR

    def room(self, q: Array) -> float:
        """Return the smallest distance from a stop [rad or m] at positions (nq,)."""
        if not self.items:
            return np.inf
        self._q[:] = q
        self._find()
        return float(self._least())


@routine
def least(values: Vector) -> float:
    """Return the least of some values, or NaN if there is one among them."""
    found = values[0]
    for i in range(1, len(values)):
        if found == found and not values[i] >= found:
            found = values[i]
    return found
