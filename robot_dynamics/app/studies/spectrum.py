# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What frequencies a recorded vibration has."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_PADDING = 8  # of the record with zeros, which draws the peak finer


def spectrum(values: Array, interval: float) -> tuple[Array, Array]:
    """Return frequencies [Hz] and amplitudes of a record (m,), its mean taken off.

    Args:
        values: At equal intervals.
        interval: Between them [s].
    """
    window = np.hanning(len(values))
    size = _PADDING * len(values)
    amplitude = np.abs(np.fft.rfft((values - np.mean(values)) * window, size))
    frequencies = np.asarray(np.fft.rfftfreq(size, interval), dtype=float)
    return frequencies, np.asarray(2.0 * amplitude / np.sum(window))


def peak_near(values: Array, interval: float, frequency: float, width: float = 0.3) -> float:
    """Return the frequency [Hz] of the highest peak of a record near another frequency.

    Args:
        values: At equal intervals (m,).
        interval: Between them [s].
        frequency: Where to look [Hz].
        width: How far from it, as a part of it.
    """
    f, amplitude = spectrum(values, interval)
    near = np.flatnonzero(np.abs(f - frequency) <= width * frequency)
    top = int(near[np.argmax(amplitude[near])])
    if not 0 < top < len(f) - 1:
        return float(f[top])
    # The window's peak is a parabola in its logarithm, near enough.
    a, b, c = np.log(amplitude[top - 1 : top + 2])
    return float(f[top] + 0.5 * (a - c) / (a - 2.0 * b + c) * (f[1] - f[0]))
