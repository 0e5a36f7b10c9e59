# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Compiled functions of many states on all cores.

A compiled function releases the interpreter lock and uses arrays in place. Parts of a batch, as
views, are therefore evaluated in parallel threads without a copy.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.compile.errors import ShapeError

# Parts are multiples of the largest number of lanes, so that few states remain alone.
_LANES = 8
# Number of states at a time of arrays that must be converted.
_BLOCK = 4096


def in_parallel(
    function: Callable[..., Any], *arrays: ArrayLike, out: Any = None, threads: int | None = None
) -> Any:
    """Return the results of a function for a batch, evaluated on several cores.

    Args:
        function: A compiled function, or a method of a robot such as `robot.inverse_dynamics`,
            whose inputs are vectors. The forward dynamics of closed loops decide in Python: they
            gain little.
        arrays: Its inputs: (N, ...) for N states, or of one state for all. Arrays of doubles are
            not copied, for any strides; others are converted block by block, not all together as
            in a call of the function.
        out: Array, or tuple of arrays, for the results; new arrays by default.
        threads: Number of threads; by default the number of processors of this process.

    Raises:
        ShapeError: If the function is neither, or arrays do not have N states each.
    """
    values = [np.asarray(array) for array in arrays]
    signature = getattr(function, "signature", None)
    if signature:
        inputs, _, outputs = (_shapes(side) for side in signature.partition("->"))
    elif inspect.ismethod(function):
        inputs, outputs = [value.shape[-1:] for value in values], None
    else:
        name = getattr(function, "__name__", repr(function))
        raise ShapeError(f"{name}: expected a compiled function, such as robot.inverse_dynamics.")
    batches = [
        value.shape[: value.ndim - len(shape)]
        for value, shape in zip(values, inputs, strict=False)
    ]
    counts = {batch for batch in batches if batch}
    if len(values) != len(inputs) or len(counts) != 1 or len(next(iter(counts))) != 1:
        raise ShapeError(
            f"{function.__name__}: expected {len(inputs)} arrays with one leading dimension of N "
            f"states, or of one state, got {', '.join(str(value.shape) for value in values)}."
        )
    ((count,),) = counts
    if outputs is None:
        first = [v[:1] if batch else v for v, batch in zip(values, batches, strict=True)]
        found = function(*first)
        several = found if isinstance(found, tuple) else (found,)
        outputs = [result.shape[1:] for result in several]
    single = len(outputs) == 1
    if out is None:
        results = [np.empty((count, *shape)) for shape in outputs]
    else:
        results = [out] if single else list(out)
    workers = threads or len(os.sched_getaffinity(0))
    size = -(-count // workers)
    size += -size % _LANES
    if any(value.dtype != np.float64 for value in values):
        size = min(size, _BLOCK)  # NumPy makes doubles of all that a call is given
    starts = range(0, count, max(size, 1))

    def evaluate(worker: int) -> None:
        for start in starts[worker::workers]:
            part = slice(start, start + size)
            of_part = [
                value[part] if batch else value
                for value, batch in zip(values, batches, strict=True)
            ]
            targets = tuple(result[part] for result in results)
            function(*of_part, out=targets[0] if single else targets)

    with ThreadPoolExecutor(max(workers - 1, 1), "states") as pool:
        others = [pool.submit(evaluate, n) for n in range(1, min(workers, len(starts)))]
        evaluate(0)  # in this thread: to start one takes as long as some thousand states
        for other in others:
            other.result()
    return results[0] if single else tuple(results)


def _shapes(side: str) -> list[tuple[int, ...]]:
    """Return the shapes of one side of a signature, such as "(7),(7,7)"."""
    return [tuple(map(int, re.findall(r"\d+", part))) for part in re.findall(r"\(([^)]*)\)", side)]
