# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels over batches in which every state can have a separate parameter block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.arrays import Array
from robot_dynamics.compile.kernel import load_kernel
from robot_dynamics.compile.preparation import prepare
from robot_dynamics.compile.program import Program
from robot_dynamics.compile.tracing import trace


class OwnParameters:
    """A program over N states, state i with block i.

    Equal blocks are bound. Different blocks are prepared once, and the prepared values are another
    input of the rest of the program: operations and results are those of `Kernel.bind`, to the
    last bit.

    Args:
        key: As for `load_kernel`.
        build: Makes the program; called only if it is not in the cache.
        blocks: Parameter blocks (N, parameters).
    """

    def __init__(self, key: bytes, build: Callable[[], Program], blocks: Array) -> None:
        self._key, self._build, self._count = key, build, len(blocks)
        self._prepared: Array | None = None
        self._first = blocks[0].copy()
        if (blocks == blocks[:1]).all():
            self._function = load_kernel(key, build).bind(blocks[0])
        else:
            self._separate(blocks)

    @property
    def shared(self) -> bool:
        """Whether all blocks are equal, and bound."""
        return self._prepared is None

    @property
    def bytes_per_state(self) -> int:
        """Memory that blocks of their own take."""
        return 0 if self._prepared is None else self._prepared[0].nbytes

    def change(self, states: NDArray[np.intp], blocks: Array) -> None:
        """Give some states other blocks.

        Args:
            states: Their numbers (n,).
            blocks: Their blocks (n, parameters).
        """
        if self._prepared is None:
            if (blocks == self._first).all():
                return
            self._separate(np.tile(self._first, (self._count, 1)))
        assert self._prepared is not None
        self._prepared[states] = self._before(blocks)

    def _separate(self, blocks: Array) -> None:
        """Take blocks of their own as inputs."""

        @cache
        def parts() -> tuple[Program, Program]:
            return split(self._build())

        key = self._key
        self._before = load_kernel(key + b"\0preparation", lambda: parts()[0]).bind()
        self._prepared = np.ascontiguousarray(self._before(blocks))
        self._function = load_kernel(key + b"\0remainder", lambda: parts()[1]).bind()

    def __call__(self, own: slice, *inputs: Any, out: Sequence[Array]) -> None:
        """Evaluate some of the states.

        Args:
            own: The states.
            inputs: Their inputs, (n, *shape) or broadcast to it.
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
