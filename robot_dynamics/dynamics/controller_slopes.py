# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Forces of a controller and their derivatives at a state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from robot_dynamics.arrays import Array, Vector
from robot_dynamics.compile.differentiation import jacobian_times_vector
from robot_dynamics.compile.program import Program
from robot_dynamics.dynamics.arguments import finite_vector
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.model import Model

#: `(q, qd) -> forces` (nv,); a program of both inputs is differentiated exactly.
Controller = Callable[[Array, Array], Vector] | Program

# The cube root of the rounding error, at which central differences are best.
_STEP = 6e-6


def controller_forces(model: Model, controller: Controller, q: Array, qd: Array) -> Array:
    """Return the forces (nv,) of a controller.

    Raises:
        ArgumentError: If it returns anything but nv finite numbers, or a program has other inputs.
    """
    values: object
    if isinstance(controller, Program):
        inputs = tuple(controller.inputs.values())
        outputs = tuple(controller.outputs.values())
        nq, n = model.nq, model.nv
        if inputs != ((nq,), (n,)) or outputs != ((n,),) or controller.parameters:
            raise ArgumentError(
                f"the controller is a program {controller.ports.signature}, expected "
                f"({nq}),({n})->({n}) without parameters: forces of q and qd."
            )
        (values,) = controller.evaluate(q, qd)
    else:
        values = controller(q, qd)
    return finite_vector("controller's forces", values, model.nv)


def controller_slopes(
    model: Model, controller: Controller, q: Array, qd: Array
) -> tuple[Array, Array]:
    """Return the derivatives (nv, nv) of a controller along velocities and by qd.

    Raises:
        RobotDynamicsError: If they are not finite.
    """
    slopes = (
        _of_program(model, controller, q, qd)
        if isinstance(controller, Program)
        else _by_differences(model, controller, q, qd)
    )
    if not np.isfinite(slopes).all():
        raise RobotDynamicsError(
            f"{model.name}: the controller's forces have no finite derivatives here, expected "
            "a law that is smooth at this state."
        )
    return slopes


def _of_program(model: Model, controller: Program, q: Array, qd: Array) -> tuple[Array, Array]:
    start, rate = q.tolist(), qd.tolist()
    units, still = np.eye(model.nv).tolist(), [0.0] * model.nv

    def rates(dq: Any, dqd: Any) -> Any:
        try:
            (found,) = jacobian_times_vector(controller, [start, rate], [dq, dqd]).values()
        except ArithmeticError:  # where NumPy's numbers would not be finite
            return [np.nan] * model.nv
        return found

    along = [rates(model.position_rate(start, unit), still) for unit in units]
    by_rate = [rates([0.0] * model.nq, unit) for unit in units]
    return np.array(along, dtype=float).T, np.array(by_rate, dtype=float).T


def _by_differences(
    model: Model, controller: Controller, q: Array, qd: Array
) -> tuple[Array, Array]:
    def forces(step: Array, change: Array) -> Array:
        at = np.array(model.integrate(q.tolist(), step.tolist()))
        return controller_forces(model, controller, at, qd + change)

    units, still = np.eye(model.nv), np.zeros(model.nv)
    by_q = [forces(e, still) - forces(-e, still) for e in _STEP * units]
    by_qd = [forces(still, e) - forces(still, -e) for e in _STEP * units]
    return np.array(by_q).T / (2.0 * _STEP), np.array(by_qd).T / (2.0 * _STEP)
