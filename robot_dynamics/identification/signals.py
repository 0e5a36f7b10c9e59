# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Filters of recorded signals, without delay: derivatives, low-pass with decimation, outliers.

Velocities and accelerations are derivatives of local polynomials (Savitzky and Golay), which pass
the motion; the low-pass then takes noise from both sides of the equations alike, so that it does
not distort them (Gautier's parallel filter). A sample that is missing (NaN) leaves out all
results that depend on it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import median_filter
from scipy.signal import fftconvolve, firwin, savgol_coeffs

from robot_dynamics.arrays import Array
from robot_dynamics.errors import RobotDynamicsError

#: Window of the polynomials [s], and their degree: they pass motions of up to 15 Hz.
_WINDOW_S, _DEGREE = 0.1, 4
# Length of the low-pass over the period of its cut-off frequency.
_LENGTH = 1.6
_OUTLIER = 8.0  # standard deviations from the median of neighbours
_NEIGHBOURS = 9
_MAD = 1.4826  # standard deviation of a normal distribution over its median absolute deviation


class IdentificationError(RobotDynamicsError):
    """A recording from which parameters cannot be identified."""


class NothingToCorrectError(IdentificationError):
    """A result that agrees with the scenario, so that there is nothing to write."""


@dataclass(frozen=True)
class Filters:
    """Filters for samples of one period.

    Args:
        period: Time between samples [s].
        cutoff: Cut-off frequency of the low-pass [Hz].

    Raises:
        IdentificationError: If the samples are too far apart for the cut-off frequency.
    """

    period: float
    cutoff: float

    def __post_init__(self) -> None:
        if not self.cutoff * self.period < 0.1:
            raise IdentificationError(
                f"the recording has {1.0 / self.period:.4g} samples a second; expected at least "
                f"ten for each period of the cut-off frequency of {self.cutoff:g} Hz."
            )

    def derivative(self, order: int) -> Array:
        """Return the kernel of a derivative of order 0, 1 or 2, to be convolved with."""
        half = max(3, round(0.5 * _WINDOW_S / self.period))
        kernel = savgol_coeffs(2 * half + 1, _DEGREE, deriv=order, delta=self.period)
        return np.asarray(kernel)

    @property
    def lowpass(self) -> Array:
        """The kernel of the low-pass."""
        half = round(0.5 * _LENGTH / (self.cutoff * self.period))
        return np.asarray(firwin(2 * half + 1, self.cutoff, fs=1.0 / self.period))

    @property
    def stride(self) -> int:
        """Samples between two results of the low-pass, see `correlation`."""
        return round(0.5 / (self.cutoff * self.period))

    @property
    def noise(self) -> float:
        """Variance of the low-pass's results for white noise of variance 1."""
        return float(np.sum(self.lowpass**2))

    @property
    def correlation(self) -> float:
        """Correlation of successive results of the low-pass for white noise."""
        kernel, step = self.lowpass, self.stride
        return float(kernel[step:] @ kernel[:-step]) / self.noise

    def noise_of_derivative(self, order: int) -> float:
        """Return the variance of a derivative after the low-pass for noise of variance 1."""
        return float(np.sum(np.convolve(self.derivative(order), self.lowpass) ** 2))

    def differentiate(self, q: Array) -> tuple[Array, Array, Array]:
        """Return smoothed values and two derivatives (N, n); NaN where the window does not fit."""
        q, qd, qdd = (_convolved(q, self.derivative(order)) for order in (0, 1, 2))
        return q, qd, qdd

    def slope(self, values: Array) -> Array:
        """Return the smoothed derivative (N, n) [1/s]; NaN where the window does not fit."""
        return _convolved(values, self.derivative(1))

    def reduce(self, values: Array) -> Array:
        """Return low-passed values (M, ...) of signals (N, ...), one row each `stride`.

        Rows have NaN where the window holds one; they are at the same times for all signals of N
        samples.
        """
        kernel = self.lowpass
        half = len(kernel) // 2
        flat = values.reshape(len(values), -1)
        at = np.arange(half, len(values) - half, self.stride)
        rows = np.array([kernel @ flat[i - half : i + half + 1] for i in at])
        return rows.reshape(len(at), *values.shape[1:])


def _convolved(values: Array, kernel: Array) -> Array:
    found = np.full(values.shape, np.nan)
    half = len(kernel) // 2
    if len(values) < len(kernel):
        return found
    missing = ~np.isfinite(values)
    plain = np.where(missing, 0.0, values)
    inner = slice(half, len(values) - half)
    found[inner] = fftconvolve(plain, kernel[:, None], "valid", axes=0)
    near = fftconvolve(missing.astype(float), np.ones((len(kernel), 1)), "valid", axes=0) > 0.5
    found[inner][near] = np.nan
    return found


def without_outliers(values: Array) -> tuple[Array, int]:
    """Return signals (N, n) with outliers replaced by the median of their neighbours, and a count.

    Outliers are further from this median than eight standard deviations of the signal's noise.
    Samples that are missing (NaN) are no neighbours.
    """
    clean, count = values.copy(), 0
    for column in clean.T:
        present = np.isfinite(column)
        known = column[present]
        if not len(known):
            continue
        middle = median_filter(known, size=_NEIGHBOURS, mode="nearest")
        distance = np.abs(known - middle)
        # Of a signal without noise, a value is an outlier only if it is far from all others.
        noise = max(_MAD * float(np.median(distance)), 1e-3 * float(np.abs(known).max()))
        outliers = distance > _OUTLIER * noise
        column[present] = np.where(outliers, middle, known)
        count += int(outliers.sum())
    return clean, count
