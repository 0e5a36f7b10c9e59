# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Rates are those of the samples that came, whatever their jitter."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="the nodes' modules are not importable without ROS 2")

from robot_dynamics.nodes.sample_rate import WINDOW_S, SampleRate

SECOND = 1_000_000_000


@pytest.mark.parametrize("hz", [30.0, 400.0, 1000.0])
def test_the_rate_is_that_of_the_samples(hz):
    """From one whole window on; arrivals that jitter by a third of a period change little."""
    rate = SampleRate(1.0 / SECOND)
    jitter = np.random.default_rng(3).uniform(-0.3, 0.3, round(3 * hz))
    for n, late in enumerate(jitter):
        before = (n + late) / hz < 0.9 * WINDOW_S
        rate.note(round((n + late) / hz * SECOND))
        assert not before or rate.hz is None
    # Ends of the window are off by up to a third of a period each, of WINDOW_S * hz periods.
    assert rate.hz == pytest.approx(hz, rel=0.6 / (WINDOW_S * hz) + 1e-6)


def test_a_stream_that_slows_down_is_seen():
    """The last window counts."""
    rate = SampleRate(1.0)
    for now in np.arange(0.0, 1.01, 0.01):
        rate.note(now)
    assert rate.hz == pytest.approx(100.0)
    for now in np.arange(1.1, 3.0, 0.1):
        rate.note(now)
    assert rate.hz == pytest.approx(10.0)
