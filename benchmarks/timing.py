# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Timing of functions that take turns, so that whatever else the machine does meets them all."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

# A pass of a function is repeated until it takes about this long [s].
_PASS = 2e-3


class Timing(NamedTuple):
    """How long a function takes.

    Attributes:
        median: Of all rounds, per state [us].
        best: The fastest round, per state [us].
        spread: Distance between the quartiles over the median: the noise of this row.
    """

    median: float
    best: float
    spread: float


def interleaved(
    functions: Mapping[str, Callable[[], object]], states: Mapping[str, int], rounds: int
) -> dict[str, Timing]:
    """Time functions in turns.

    Args:
        functions: What to time, by name.
        states: How many states one call of each treats.
        rounds: How often each has its turn.

    Returns:
        The timings by name.
    """
    repeats = {}
    for name, function in functions.items():
        function()  # caches warm up
        start = time.perf_counter()
        function()
        repeats[name] = max(1, round(_PASS / max(time.perf_counter() - start, 1e-7)))
    seconds: dict[str, list[float]] = {name: [] for name in functions}
    enabled = gc.isenabled()
    gc.disable()
    try:
        for _ in range(rounds):
            for name, function in functions.items():
                count = repeats[name]
                start = time.perf_counter()
                for _ in range(count):
                    function()
                seconds[name].append((time.perf_counter() - start) / count)
    finally:
        if enabled:
            gc.enable()
    result = {}
    for name, samples in seconds.items():
        us = np.array(samples) / states[name] * 1e6
        low, median, high = np.percentile(us, [25, 50, 75])
        result[name] = Timing(float(median), float(us.min()), float((high - low) / median))
    return result
