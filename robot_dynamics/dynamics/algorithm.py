# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Registration of an algorithm: its function, inputs and outputs, from which it is compiled.

Every module of this folder ends with the `Algorithm` objects of its functions. `program` traces
one for a model, `bind` compiles it to a NumPy function of that model.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from robot_dynamics.compile.kernel import Kernel, shared_kernel
from robot_dynamics.compile.program import Program
from robot_dynamics.compile.tracing import trace
from robot_dynamics.model import Link, Model
from robot_dynamics.model.parameters import block_size, pack, unpack
from robot_dynamics.spatial import Force, Inertia, Motion, Vector3

# Inputs that are not one number for each velocity (nv).
_INPUTS = {
    "q": "nq",
    "multipliers": "constraints",
    "lambda_weights": "constraints",
    "efforts": "loop drives",
    "motions": "placements",
    "external": "bodies, 6",
    "wrench": "6",
}
# Left out where they are empty: NumPy's generalised ufuncs admit no length of 0.
_LEFT_OUT_IF_EMPTY = ("lambda_weights", "efforts")


@dataclass(frozen=True, eq=False)
class Algorithm:
    """A function of a model that can be compiled.

    Attributes:
        name: Name of the compiled function.
        function: `(model, *inputs, parameters, *options)` over scalars of any type, which returns
            its output, or a tuple of its outputs.
        signature: Inputs and outputs, such as "q, qd -> H (nv, nv), C (nv)". Inputs are (nv) or
            as `_INPUTS` has them. Lengths of outputs are numbers, names of `lengths`, sums such as
            "nv + 2", or any other text if they depend on options. A model without constraints may
            lack the last outputs.
        needs_inertia: When each joint of the tree must move inertia: H is singular otherwise.
        frames: The links in whose frames inputs or outputs are: code depends on their placements,
            which are not part of the model's structure.
    """

    name: str
    function: Callable[..., Any]
    signature: str
    needs_inertia: Literal["always", "without loops", "never"] = "never"
    frames: Callable[[Model], Sequence[Link]] = lambda model: ()

    @property
    def inputs(self) -> list[str]:
        """The names of the inputs."""
        return self.signature.partition(" -> ")[0].split(", ")

    @property
    def outputs(self) -> dict[str, str]:
        """The lengths of the outputs by name, as text."""
        return dict(re.findall(r"(\w+) \(([^)]*)\)", self.signature))

    def input_lengths(self, model: Model) -> dict[str, tuple[int, ...]]:
        """Return the lengths of the inputs that a model takes, by name."""
        has = lengths(model)
        shapes = {name: _resolved(_INPUTS.get(name, "nv"), has) for name in self.inputs}
        return {
            name: shape
            for name, shape in shapes.items()
            if all(shape) or name not in _LEFT_OUT_IF_EMPTY
        }

    def output_lengths(self, model: Model, **more: int) -> dict[str, tuple[int, ...]]:
        """Return the lengths of the outputs by name; `more` are added lengths."""
        has = {**lengths(model), **more}
        return {name: _resolved(shape, has) for name, shape in self.outputs.items()}

    def program(
        self, model: Model, *options: Any, more: int = 0, constant: bool = False
    ) -> Program:
        """Return the program for a model, which reads its parameter block.

        Args:
            model: The mechanism.
            options: Further arguments of the function, such as a link.
            more: The number of parameters that follow the model's in its block.
            constant: Whether the model's parameters are constants and there is no block.
        """
        return self.traced(model, model, self.input_lengths(model), options, more, constant)

    def traced(
        self,
        system: object,
        model: Model,
        inputs: Mapping[str, tuple[int, ...]],
        options: Sequence[Any] = (),
        more: int = 0,
        constant: bool = False,
    ) -> Program:
        """Return the program for another first argument than a model, such as closure functions.

        Args:
            system: The first argument of the function.
            model: The model whose parameter block the program reads.
            inputs: Lengths of the inputs by name; inputs that are left out are empty.
            options: See `program`.
            more: See `program`.
            constant: See `program`.
        """
        own = block_size(model)
        constants = pack(model).tolist() if constant else []

        def run(*given: Any) -> dict[str, Any]:
            *values, block = given
            block = [*constants, *block]
            by_name = dict(zip(inputs, values, strict=True))
            found = self.function(
                system,
                *(by_name.get(name, []) for name in self.inputs),
                replace(unpack(model, block[:own]), block=block),
                *options,
            )
            outputs = self.outputs
            named = zip(outputs, (found,) if len(outputs) == 1 else found, strict=False)
            return {name: _components(result) for name, result in named}

        return trace(run, self.name, inputs, own + more - len(constants))

    def bind(
        self,
        model: Model,
        *options: Any,
        variant: str | None = None,
        lanes: int | None = None,
        more: Sequence[float] = (),
        quick: bool = False,
    ) -> Callable[..., Any]:
        """Return the compiled function of a model, with the model's current parameters.

        Args:
            model: The mechanism.
            options: Further arguments of the function, such as a link.
            variant: Part of the options on which the code depends, as text; all of them by
                default.
            lanes: States at a time in a batch; None for as many as suit the processor, 1 for
                scalar code.
            more: Parameters that follow the model's in its block.
            quick: Whether to compile quickly, see `compile.load_kernel`.
        """
        kernel = self.kernel(
            model, *options, variant=variant, lanes=lanes, more=len(more), quick=quick
        )
        function: Callable[..., Any] = kernel.bind([*pack(model), *more])
        return function

    def kernel(
        self,
        model: Model,
        *options: Any,
        variant: str | None = None,
        lanes: int | None = None,
        more: int = 0,
        quick: bool = False,
    ) -> Kernel:
        """Return the compiled program; arguments as of `bind`, `more` their number."""
        frames = [(link.body, link.placement) for link in self.frames(model)]
        told = repr(options) if variant is None else variant
        key = f"{self.name}\0{told}\0{frames}\0".encode() + model.structure_key
        return shared_kernel(key, lambda: self.program(model, *options, more=more), lanes, quick)


def place(link: Link) -> Link:
    """Return a link without its name and inertia, on which compiled code does not depend."""
    return Link("", link.body, link.placement, Inertia.zero())


def lengths(model: Model) -> dict[str, int]:
    """Return the lengths of a model by the names that inputs and outputs use."""
    return {
        "nq": model.nq,
        "nv": model.nv,
        "bodies": len(model.bodies),
        "links": len(model.links),
        "loops": len(model.loops),
        "constraints": model.constraint_count,
        "own constraints": model.constraint_count - len(model.couplings),
        "loop drives": len(model.loop_drives),
        "inertial parameters": 10 * len(model.bodies),
        "placements": 12 * len(model.loops),
        "loop vectors": 18 * max(len(model.loops), 1),
    }


def _resolved(shape: str, has: Mapping[str, int]) -> tuple[int, ...]:
    """Return lengths as numbers; "nv + 2" is a sum."""
    terms = [length.split(" + ") for length in shape.split(", ") if length]
    return tuple(sum(has[t] if t in has else int(t) for t in each) for each in terms)


def _components(value: Any) -> Any:
    """Return a spatial vector, or a list of them, as lists of scalars; lists as they are."""
    if isinstance(value, (Motion, Force)):
        return value.components()
    if isinstance(value, Vector3):
        return list(value)
    if isinstance(value, list) and value and isinstance(value[0], (Motion, Force)):
        return [each.components() for each in value]
    return value
