# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Time in messages, and names."""

from robot_dynamics.app.recordings.topic_names import middle_frame
from robot_dynamics.control.clock import stamp_of, tick_of


def test_an_hour_does_not_drift():
    """Stamps are products and no sums: after an hour a tick is still itself, to the nanosecond."""
    assert stamp_of(1_800_000, 0.002) == 3600 * 1_000_000_000
    for tick in (0, 1, 3, 1_799_999, 10**12):
        assert tick_of(stamp_of(tick, 0.002), 0.002) == tick


def test_frame_of_internal_forces():
    """It is named after the object."""
    assert middle_frame("box") == "box_grasp_middle"
