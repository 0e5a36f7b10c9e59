# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A model and its compiled functions, each bound when it is first used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.compile.errors import ShapeError
from robot_dynamics.compile.gpu import GpuFunction
from robot_dynamics.dynamics.algorithm import Algorithm, place
from robot_dynamics.dynamics.closed_loop import CONSTRAINT_TERMS
from robot_dynamics.dynamics.jacobian import AXES
from robot_dynamics.errors import (
    ArgumentError,
    RobotDynamicsError,
    UnknownNameError,
    require_length,
)
from robot_dynamics.model import Model
from robot_dynamics.model.moved_inertia import require_inertia
from robot_dynamics.robot.long_trees import LongTree, is_long

Function = Callable[..., Any]
_DOUBLE = np.dtype(float)  # one object: comparing dtypes takes longer


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
        replaced = self.long_tree and self.long_tree.function(algorithm)
        return replaced or algorithm.bind(self._model, *options, **how)

    def on_gpu(self, algorithm: Algorithm) -> GpuFunction:
        """Return an algorithm as a function on the GPU; errors as of `bound` and `GpuFunction`."""
        self._require_inertia(algorithm)
        return GpuFunction(algorithm.program(self._model, constant=True))

    def _require_inertia(self, algorithm: Algorithm) -> None:
        constrained = self._model.constraint_count > 0
        needed = algorithm.needs_inertia
        if needed == "always" or (needed == "without loops" and not constrained):
            require_inertia(self._model)


def quick_constraint_terms(model: Model) -> Function:
    """Return `Robot.constraint_terms` of a model, compiled quickly: for starts and stops."""
    return Functions(model).bound(CONSTRAINT_TERMS, lanes=1, quick=True)


def leading_shape(values: Any) -> tuple[int, ...]:
    """Return the batch dimensions of an argument for states (..., n)."""
    return np.shape(values)[:-1]


def vector_batch(function: str, name: str, values: Any, length: int) -> tuple[int, ...]:
    """Return the leading shape of an argument (..., length) that no compiled function checks.

    Raises:
        ArgumentError: If it has another shape, or is no numbers.
    """
    if type(values) is np.ndarray and values.dtype is _DOUBLE and values.shape[-1:] == (length,):
        return values.shape[:-1]
    return batch_shape(function, {name: (length,)}, (values,))


def each_output(out: tuple[Array, ...] | None, count: int) -> tuple[Array | None, ...]:
    """Return the arrays to write several outputs to, None for each new array."""
    return (None,) * count if out is None else out


def written(function: str, result: Array, out: Array | None) -> Array:
    """Return a result, in the array of the caller if there is one.

    Raises:
        ArgumentError: If that array has another shape or type, or is read-only.
    """
    if out is None:
        return result
    _require_target(function, "out", out, result.shape)
    out[...] = result
    return out


class BoundModel:
    """A model with its compiled functions: the base class of `Robot`."""

    def __init__(self, model: Model) -> None:
        if not isinstance(model, Model):
            raise ArgumentError(
                f"a robot is made of {model!r:.60}, expected a Model; rd.load reads a file, "
                "Robot.from_mechanism takes a mechanism."
            )
        self._model = model
        self._functions = Functions(model)

    @property
    def model(self) -> Model:
        """The mechanism as data; `replace` returns a robot with another."""
        return self._model

    def __getstate__(self) -> dict[str, Model]:
        """Keep only the model: machine code is found again in the cache."""
        return {"model": self._model}

    def __setstate__(self, state: dict[str, Model]) -> None:
        self.__init__(state["model"])  # type: ignore[misc]

    def _explained(
        self,
        error: Exception,
        algorithm: Algorithm,
        *arguments: Any,
        out: Any = None,
        **names: object,
    ) -> Exception:
        """Return the error of an argument of the wrong shape or type; else the error itself."""
        for name, value in names.items():
            if not isinstance(value, str):
                return ArgumentError(
                    f"{algorithm.name}: {name} is {value!r:.60}, expected a name."
                )
        inputs, outputs = algorithm.input_lengths(self.model), {}
        if out is not None:
            outputs = {
                name: shape
                for name, shape in algorithm.output_lengths(self.model).items()
                if name != "pivot" and (self.model.constraint_count or all(shape))
            }
        return explained(error, algorithm.name, inputs, arguments, outputs, out)


def explained(
    error: Exception,
    function: str,
    lengths: Mapping[str, tuple[int, ...]],
    arguments: tuple[Any, ...],
    outputs: Mapping[str, tuple[int, ...]],
    out: Any = None,
) -> Exception:
    """Return the error of an argument of the wrong shape or type; else the error itself.

    Args:
        error: The error of the compiled function.
        function: Name of the function, for the message.
        lengths: Lengths of its inputs by name.
        arguments: The inputs.
        outputs: Lengths of its outputs by name.
        out: Arrays that the outputs are written to, None if there are none.
    """
    if isinstance(error, RobotDynamicsError) and not isinstance(error, ShapeError):
        return error
    try:
        batch = batch_shape(function, lengths, arguments)
        if out is not None:
            require_targets(function, out, [(*batch, *shape) for shape in outputs.values()])
    except ArgumentError as found:
        return found
    return error


def batch_shape(
    function: str, lengths: Mapping[str, tuple[int, ...]], arguments: tuple[Any, ...]
) -> tuple[int, ...]:
    """Return the leading shape to which inputs broadcast.

    Raises:
        ArgumentError: If one has the wrong shape or type, or they do not broadcast.
    """
    leading = {}
    for (name, shape), value in zip(lengths.items(), arguments, strict=False):
        expected = f"(..., {', '.join(map(str, shape))})"
        try:
            array = np.asarray(value)
        except ValueError:  # lists of different lengths
            array = np.array(None)
        if not np.can_cast(array.dtype, float):
            which = f"of {array.dtype}" if isinstance(value, np.ndarray) else f"{value!r:.60}"
            raise ArgumentError(f"{function}: {name} is {which}, expected numbers {expected}.")
        found = array.shape
        if len(found) < len(shape) or found[len(found) - len(shape) :] != shape:
            raise ArgumentError(f"{function}: {name} has shape {found}, expected {expected}.")
        leading[name] = found[: len(found) - len(shape)]
    try:
        return np.broadcast_shapes(*leading.values())
    except ValueError:
        shapes = ", ".join(f"{name} {shape}" for name, shape in leading.items())
        raise ArgumentError(
            f"{function}: leading shapes are {shapes}, expected shapes that broadcast."
        ) from None


def require_targets(function: str, out: Any, shapes: Sequence[tuple[int, ...]]) -> None:
    """Check the arrays that outputs are written to.

    Raises:
        ArgumentError: If there are too few or too many, or one cannot take its output.
    """
    if len(shapes) == 1:
        given = out if isinstance(out, tuple) else (out,)
    elif isinstance(out, tuple):
        given = out
    else:
        raise ArgumentError(
            f"{function}: out is {out!r:.60}, expected a tuple of {len(shapes)} arrays."
        )
    require_length(f"{function}: out", given, len(shapes), "an array for each result")
    for number, (target, shape) in enumerate(zip(given, shapes, strict=True)):
        if target is not None:
            name = "out" if len(shapes) == 1 else f"out[{number}]"
            _require_target(function, name, target, shape)


def _require_target(function: str, name: str, out: Any, shape: tuple[int, ...]) -> None:
    place = f"{function}: {name}"
    if not isinstance(out, np.ndarray):
        raise ArgumentError(f"{place} is {out!r:.60}, expected an array {shape}.")
    if not np.can_cast(float, out.dtype, "same_kind"):
        raise ArgumentError(f"{place} is of {out.dtype}, expected float64.")
    if out.shape != shape:
        raise ArgumentError(f"{place} has shape {out.shape}, expected {shape}.")
    if not out.flags.writeable:
        raise ArgumentError(f"{place} is read-only, expected an array that can be written to.")
