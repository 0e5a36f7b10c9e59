# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters of a model for algorithms, and their packed block for kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.errors import require_length
from robot_dynamics.model.model import Model
from robot_dynamics.spatial import Inertia, Scalar, Transform, Vector3

_INERTIA_SIZE, _TRANSFORM_SIZE = 10, 12


@dataclass(frozen=True)
class Parameters:
    """Parameters of the dynamics: everything except the structure of the model.

    Attributes:
        gravity: Acceleration of gravity in the world [m/s^2].
        inertias: Inertia of each body, in the body frame.
        loops: X_P and X_S of each loop joint.
        block: The block that they were read from, for programs that take it as an argument.
    """

    gravity: Vector3
    inertias: tuple[Inertia, ...]
    loops: tuple[tuple[Transform, Transform], ...]
    block: Sequence[Scalar] = field(default=(), compare=False)


def parameters_of(model: Model) -> Parameters:
    """Return a model's parameters as floats."""
    return Parameters(
        Vector3.of(model.gravity),
        tuple(body.inertia for body in model.bodies),
        tuple((loop.predecessor_placement, loop.successor_placement) for loop in model.loops),
    )


def block_size(model: Model) -> int:
    """Return the length of the parameter block of `pack` and `unpack`."""
    bodies = sum(body.name in model.variable for body in model.bodies)
    loops = sum(loop.name in model.variable for loop in model.loops)
    return 3 + _INERTIA_SIZE * bodies + 2 * _TRANSFORM_SIZE * loops


def pack(model: Model) -> NDArray[np.float64]:
    """Return the parameter block: gravity, then the variable parts, in model order."""
    values: list[float] = list(model.gravity)
    for body in model.bodies:
        if body.name in model.variable:
            values += body.inertia.components()
    for loop in model.loops:
        if loop.name in model.variable:
            for X in (loop.predecessor_placement, loop.successor_placement):
                values += X.components()
    return np.array(values, dtype=float)


def unpack(model: Model, block: Sequence[Scalar]) -> Parameters:
    """Return the parameters of a block: scalars where the model is variable, floats elsewhere.

    Raises:
        ArgumentError: If the block has the wrong length.
    """
    require_length("parameters", block, block_size(model), "see robot_dynamics.model.parameters")
    values = iter(block)

    def take(count: int) -> list[Scalar]:
        return [next(values) for _ in range(count)]

    gravity = Vector3.of(take(3))
    inertias = tuple(
        Inertia.of(take(_INERTIA_SIZE)) if body.name in model.variable else body.inertia
        for body in model.bodies
    )
    loops = tuple(
        (Transform.of(take(_TRANSFORM_SIZE)), Transform.of(take(_TRANSFORM_SIZE)))
        if loop.name in model.variable
        else (loop.predecessor_placement, loop.successor_placement)
        for loop in model.loops
    )
    return Parameters(gravity, inertias, loops, block)
