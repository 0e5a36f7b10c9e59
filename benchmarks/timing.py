# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Timing of functions that take turns, so that whatever else the machine does meets them all.

Time is that of the processor for this thread, in which all functions do their work: what other
processes take while it waits is not counted, what they do to caches and clocks is.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

# A pass of a function is repeated until it takes about this long [s].
_PASS = 2e-3
# Timings whose spread is larger were disturbed: all functions have their turns again, so often.
_QUIET = 0.25
_ATTEMPTS = 4


class Timing(NamedTuple):
    """The duration of a function.

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
        The timings by name, all of one and the same attempt: the first quiet one, or the least
        noisy.
    """
    attempts = []
    for _ in range(_ATTEMPTS):
        timings = _one_attempt(functions, states, rounds)
        attempts.append(timings)
        if _noise(timings) < _QUIET:
            break
    return min(attempts, key=_noise)


def quickest(
    functions: Mapping[str, Callable[[], object]], states: Mapping[str, int], rounds: int
) -> dict[str, Timing]:
    """Time functions that use several threads: on the clock, in turns, the quickest turn of each.

    What else runs takes cores away: only a turn that it left alone tells what there is to gain.

    Args:
        functions: What to time, by name.
        states: How many states one call of each treats.
        rounds: How often each has its turn.

    Returns:
        The timings by name; the quickest turn is also in the place of the median.
    """
    seconds: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(rounds):
        for name, function in functions.items():
            start = time.perf_counter()
            function()
            seconds[name].append(time.perf_counter() - start)
    result = {}
    for name, samples in seconds.items():
        us = np.array(samples) / states[name] * 1e6
        best, low = float(us.min()), float(np.percentile(us, 25))
        result[name] = Timing(best, best, (low - best) / best)
    return result


def _noise(timings: Mapping[str, Timing]) -> float:
    return max(timing.spread for timing in timings.values())


def _one_attempt(
    functions: Mapping[str, Callable[[], object]], states: Mapping[str, int], rounds: int
) -> dict[str, Timing]:
    repeats = {}
    for name, function in functions.items():
        function()  # caches warm up
        start = time.thread_time()
        function()
        repeats[name] = max(1, round(_PASS / max(time.thread_time() - start, 1e-7)))
    seconds: dict[str, list[float]] = {name: [] for name in functions}
    enabled = gc.isenabled()
    gc.disable()
    try:
        for _ in range(rounds):
            for name, function in functions.items():
                count = repeats[name]
                start = time.thread_time()
                for _ in range(count):
                    function()
                seconds[name].append((time.thread_time() - start) / count)
    finally:
        if enabled:
            gc.enable()
    result = {}
    for name, samples in seconds.items():
        us = np.array(samples) / states[name] * 1e6
        low, median, high = np.percentile(us, [25, 50, 75])
        result[name] = Timing(float(median), float(us.min()), float((high - low) / median))
    return result
