# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Frequencies of recorded vibrations."""

import numpy as np
import pytest

from robot_dynamics.app.studies.spectrum import peak_near, spectrum

TIME = np.arange(0.0, 4.0, 0.01)


@pytest.mark.parametrize("frequency", [1.3, 2.0, 7.77])
def test_the_frequency_of_a_sine(frequency):
    """To a thousandth of the distance of two lines, also beside a stronger vibration elsewhere."""
    values = np.sin(2.0 * np.pi * frequency * TIME + 0.3) + 5.0 * np.sin(2.0 * np.pi * 20.0 * TIME)
    assert abs(peak_near(values, 0.01, 1.1 * frequency) - frequency) < 1e-2 / 4.0


def test_amplitudes():
    """The peak of the spectrum is the amplitude of a sine; a constant has none."""
    f, amplitude = spectrum(3.0 + 0.7 * np.sin(2.0 * np.pi * 2.0 * TIME), 0.01)
    top = np.argmax(amplitude)
    assert abs(f[top] - 2.0) < 0.05
    assert abs(amplitude[top] - 0.7) < 1e-3
    assert amplitude[0] < 1e-3
