# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A model and its compiled functions, each bound when it is first used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from robot_dynamics.compile.errors import ShapeError
from robot_dynamics.compile.gpu import GpuFunction
from robot_dynamics.dynamics.algorithm import Algorithm, place
from robot_dynamics.dynamics.jacobian import AXES
from robot_dynamics.errors import ArgumentError, RobotDynamicsError, UnknownNameError
from robot_dynamics.model import Model
from robot_dynamics.model.moved_inertia import require_inertia
from robot_dynamics.robot.long_trees import LongTree, is_long

Function = Callable[..., Any]


class Functions(dict[Any, Function]):
    """The compiled functions of a model by `Algorithm`, bound when they are first looked up.

    Algorithms of a frame are looked up by `(algorithm, frame)` or `(algorithm, frame, axes, ...)`.

    Args:
        model: The mechanism.
    """

    def __init__(self, model: Model) -> None:
        super().__init__()
        self._model = model
        self.long_tree = LongTree(model) if is_long(model) else None

    def __missing__(self, key: Algorithm | tuple[Any, ...]) -> Function:
        if isinstance(key, Algorithm):
            function = self.bound(key)
        else:
            algorithm, frame, *options = key
            if options and options[0] not in AXES:
                raise UnknownNameError("choice of axes", str(options[0]), AXES)
            function = self.bound(algorithm, place(self._model.link(frame)), *options)
        self[key] = function
        return function

    def bound(self, algorithm: Algorithm, *options: Any, **how: Any) -> Function:
        """Return the compiled function of an algorithm; arguments as of `Algorithm.bind`.

        Raises:
            RobotDynamicsError: If a joint moves no inertia, and the algorithm needs it.
        """
        self._require_inertia(algorithm)
        if self.long_tree is not None and algorithm in self.long_tree.functions:
            return self.long_tree.functions[algorithm]
        return algorithm.bind(self._model, *options, **how)

    def on_gpu(self, algorithm: Algorithm) -> GpuFunction:
        """Return an algorithm as a function on the GPU; errors as of `bound` and `GpuFunction`."""
        self._require_inertia(algorithm)
        return GpuFunction(algorithm.program(self._model, constant=True))

    def _require_inertia(self, algorithm: Algorithm) -> None:
        constrained = self._model.constraint_count > 0
        needed = algorithm.needs_inertia
        if needed == "always" or (needed == "without loops" and not constrained):
            require_inertia(self._model)


def leading_shape(values: Any) -> tuple[int, ...]:
    """Return the batch dimensions of an argument for states (..., n)."""
    return np.shape(values)[:-1]


class BoundModel:
    """A model with its compiled functions: the base class of `Robot`.

    Attributes:
        model: The mechanism as data.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self._functions = Functions(model)

    def __getstate__(self) -> dict[str, Model]:
        """Keep the model alone: machine code is found again in the cache."""
        return {"model": self.model}

    def __setstate__(self, state: dict[str, Model]) -> None:
        self.__init__(state["model"])  # type: ignore[misc]

    def _explained(self, error: Exception, algorithm: Algorithm, *arguments: Any) -> Exception:
        """Return the error of an argument of the wrong shape or type; else the error itself."""
        return explained(error, algorithm.name, algorithm.input_lengths(self.model), arguments)


def explained(
    error: Exception,
    function: str,
    lengths: Mapping[str, tuple[int, ...]],
    arguments: tuple[Any, ...],
) -> Exception:
    """Return the error of an argument of the wrong shape or type; else the error itself.

    Args:
        error: The error of the compiled function.
        function: Name of the function, for the message.
        lengths: Lengths of its inputs by name.
        arguments: The inputs.
    """
    if isinstance(error, RobotDynamicsError) and not isinstance(error, ShapeError):
        return error
    leading = {}
    for (name, shape), value in zip(lengths.items(), arguments, strict=False):
        expected = f"(..., {', '.join(map(str, shape))})"
        try:
            found = np.asarray(value, dtype=float).shape
        except (TypeError, ValueError):
            return ArgumentError(
                f"{function}: {name} is {value!r:.60}, expected numbers {expected}."
            )
        if len(found) < len(shape) or found[len(found) - len(shape) :] != shape:
            return ArgumentError(f"{function}: {name} has shape {found}, expected {expected}.")
        leading[name] = found[: len(found) - len(shape)]
    try:
        np.broadcast_shapes(*leading.values())
    except ValueError:
        shapes = ", ".join(f"{name} {shape}" for name, shape in leading.items())
        return ArgumentError(
            f"{function}: leading shapes are {shapes}, expected shapes that broadcast."
        )
    return error
