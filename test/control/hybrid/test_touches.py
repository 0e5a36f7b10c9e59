# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Which surfaces are touched, by their own push, another one's, or because it is wanted."""

from __future__ import annotations

from types import SimpleNamespace

from robot_dynamics.control.hybrid.surface_forces import contact_states

GAIN = SimpleNamespace(touch=1.0, lost_after=0.01, period=0.002)
NEAR = [1.0] * 3
NEW = {"touched": [0.0] * 3, "time_without_force": [0.0] * 3}


def test_one_tells_for_another():
    """A face's moments are controlled from its push on; a hole's sides as long as wanted."""
    touch_rows = (0, 0, -1)
    assert contact_states(touch_rows, NEW, [0.5, 9.0, 0.0], [1.0] * 3, GAIN, 1.0, NEAR)[0] == [
        0.0,
        0.0,
        1.0,
    ]
    touched, _, loaded = contact_states(
        touch_rows, NEW, [2.0, -3.0, 0.0], [1.0] * 3, GAIN, 1.0, NEAR
    )
    assert touched == [1.0, 1.0, 1.0]
    assert loaded == [1.0, 1.0, 1.0]
    assert (
        contact_states(touch_rows, NEW, [2.0, 0.0, 0.0], [0.0] * 3, GAIN, 1.0, NEAR)[0]
        == [0.0] * 3
    )


def test_without_forces_what_was_believed_stays():
    """Until the surface is to be left; and no time without force is counted."""
    kept = {"touched": [1.0, 0.0, 1.0], "time_without_force": [0.0] * 3}
    touched, without, _ = contact_states(
        (0, 1, 2), kept, [0.0] * 3, [1.0, 1.0, 0.0], GAIN, 0.0, NEAR
    )
    assert touched == [1.0, 0.0, 0.0]
    assert without == [0.0] * 3


def test_a_force_far_from_a_surface_is_no_touch():
    """It begins no contact; one that has begun is judged by its force alone."""
    far, push = [0.0] * 3, [5.0, -3.0, 0.0]
    touched, _, loaded = contact_states((0, 0, 2), NEW, push, [1.0] * 3, GAIN, 1.0, far)
    assert touched == loaded == [0.0] * 3
    kept = {"touched": [1.0, 1.0, 0.0], "time_without_force": [0.0] * 3}
    assert contact_states((0, 0, 2), kept, push, [1.0] * 3, GAIN, 1.0, far)[0] == [1.0, 1.0, 0.0]
