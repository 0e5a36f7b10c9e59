# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels over batches in which every state may have a parameter block of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.compile.kernel import load_kernel
from robot_dynamics.compile.preparation import prepare
from robot_dynamics.compile.program import Program
from robot_dynamics.compile.tracing import trace

Array = NDArray[np.float64]


class OwnParameters:
    """A program over N states, state i with block i.

    Blocks that are all equal are bound. Others go through the preparation once, and what that
    returns is one more input of the rest of the program: the operations are those of
    `Kernel.bind`, and so is every result, to the last bit.

    Attributes:
        shared: Whether all blocks are equal.
        bytes_per_state: Of memory that blocks of their own take.

    Args:
        key: As of `load_kernel`.
        build: Makes the program; called only if it is not in the cache.
        blocks: Parameter blocks (N, parameters).
    """

    def __init__(self, key: bytes, build: Callable[[], Program], blocks: Array) -> None:
        self.shared = bool((blocks == blocks[:1]).all())
        self._prepared: Array | None = None
        if self.shared:
            self._function = load_kernel(key, build).bind(blocks[0])
        else:

            @cache
            def parts() -> tuple[Program, Program]:
                return split(build())

            before = load_kernel(key + b"\0preparation", lambda: parts()[0])
            self._prepared = np.ascontiguousarray(before.bind()(blocks))
            self._function = load_kernel(key + b"\0remainder", lambda: parts()[1]).bind()
        self.bytes_per_state = 0 if self._prepared is None else self._prepared[0].nbytes

    def __call__(self, own: slice, *inputs: Any, out: Sequence[Array]) -> None:
        """Evaluate some of the states.

        Args:
            own: Which.
            inputs: Theirs, (n, *shape) or broadcast to it.
            out: Arrays (n, *shape) for the outputs, in their order.
        """
        more = () if self._prepared is None else (self._prepared[own],)
        self._function(*inputs, *more, out=tuple(out))


def split(program: Program) -> tuple[Program, Program]:
    """Return the preparation of a program, and the rest with its result as the last input.

    The preparation takes `parameters` as its input, and has the output `prepared`.
    """
    parts = prepare(program)
    before = parts.preparation
    if before is None:
        before = trace(
            lambda block, _: {"prepared": block}, "preparation", {"parameters": program.parameters}
        )
    return before, parts.remainder.with_parameters_as_input("prepared")
