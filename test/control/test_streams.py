# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Streams: names, lengths, numbers, and time."""

from __future__ import annotations

import numpy as np
import pytest

from robot_dynamics.control.streams import JointStream, StreamError, StreamWatch, VectorStream
from robot_dynamics.errors import UnknownNameError

JOINTS = ("left_a", "left_b", "left_c")


def stream(**options) -> JointStream:
    """Return a stream in lockstep: 2 ms ticks, stale after five."""
    return JointStream("left", JOINTS, stale_after_s=0.01, unit_s=0.002, **options)


def test_joints_are_matched_by_name():
    """The order of a message does not matter, and may change from one to the next."""
    s = stream()
    assert s.accept(1, ["left_c", "left_a", "left_b"], [3.0, 1.0, 2.0], [0.3, 0.1, 0.2], 1)
    assert s.accept(2, ["left_a", "left_b", "left_c"], [1.0, 2.0, 3.0], [0.1, 0.2, 0.3], 2)
    np.testing.assert_array_equal(s.position, [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(s.velocity, [0.1, 0.2, 0.3])


def test_other_joints_may_be_there_if_they_are_known():
    """A common topic holds the other arm as well; what is in it does not concern this stream."""
    s = stream(ignored=["right_a", "finger"])
    names = ["finger", *JOINTS, "right_a"]
    assert s.accept(1, names, [9.0, 1.0, 2.0, 3.0, np.nan], [0.0] * 5, 1)
    np.testing.assert_array_equal(s.position, [1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("names", "position", "velocity", "expected"),
    [
        (["left_a", "left_b"], [1.0, 2.0], [0.0, 0.0], "left: joint 'left_c' is missing"),
        ([*JOINTS, "left_a"], [1.0] * 4, [0.0] * 4, "left: joint 'left_a' is there twice"),
        (JOINTS, [1.0, 2.0], [0.0] * 3, "left: position has 2 entries, expected 3"),
        (JOINTS, [1.0, 2.0, 3.0], [], "velocity has 0 entries, expected 3. A velocity is needed"),
        (JOINTS, [1.0, np.nan, 3.0], [0.0] * 3, "position of joint 'left_b' is nan"),
        (JOINTS, [1.0, 2.0, 3.0], [0.0, 0.0, np.inf], "velocity of joint 'left_c' is inf"),
    ],
)
def test_a_bad_sample_is_refused_whole(names, position, velocity, expected):
    """The sentence names stream and joint, and the last good sample stays as it was."""
    s = stream()
    s.accept(1, list(JOINTS), [7.0, 8.0, 9.0], [0.7, 0.8, 0.9], 1)
    with pytest.raises(StreamError, match=expected) as caught:
        s.accept(2, list(names), position, velocity, 2)
    assert caught.value.stream == "left"
    np.testing.assert_array_equal(s.position, [7.0, 8.0, 9.0])
    np.testing.assert_array_equal(s.velocity, [0.7, 0.8, 0.9])
    assert s.watch.stamp == 1


def test_an_unknown_joint_is_named_with_what_was_probably_meant():
    """A typing mistake in a joint name is not taken for somebody else's joint."""
    with pytest.raises(UnknownNameError, match=r"left: unknown joint 'left_aa'; did you mean"):
        stream().accept(1, ["left_aa", "left_b", "left_c"], [0.0] * 3, [0.0] * 3, 1)


def test_staleness_is_counted_on_the_receivers_time():
    """A stream is stale before its first sample, and again when nothing new comes."""
    s = stream()
    assert s.watch.is_stale(0)
    assert s.watch.staleness(0) == "no sample has come yet."
    s.accept(10, list(JOINTS), [0.0] * 3, [0.0] * 3, 100)
    assert not s.watch.is_stale(105)
    assert s.watch.is_stale(106)
    assert s.watch.staleness(106) == "no new sample for 0.012 s; expected one within 0.01 s."


def test_old_and_repeated_samples_do_not_keep_a_stream_fresh():
    """They are counted and change nothing."""
    s = stream()
    s.accept(10, list(JOINTS), [1.0] * 3, [0.0] * 3, 10)
    assert not s.accept(10, list(JOINTS), [2.0] * 3, [0.0] * 3, 14)
    assert not s.accept(9, list(JOINTS), [3.0] * 3, [0.0] * 3, 15)
    assert s.watch.old_samples == 2
    np.testing.assert_array_equal(s.position, [1.0] * 3)
    assert s.watch.is_stale(16)


@pytest.mark.parametrize(("stamp", "way"), [(1000, "ahead"), (0, "back")])
def test_a_jump_of_time_is_an_error(stamp, way):
    """A clock that jumps, or a simulation that began anew, is not a stream that goes on."""
    watch = StreamWatch("left", 0.01, 0.002)
    watch.advance(500, 1)
    with pytest.raises(StreamError, match=f"left: its time jumped {way} by .* s; expected"):
        watch.advance(stamp, 2)
    watch.forget()
    assert watch.advance(stamp, 3)


def test_vectors_have_a_length_and_finite_entries():
    """A wrench with a NaN is refused; it does not become zero."""
    wrench = VectorStream("left wrench", 6, 0.01, 0.002)
    assert wrench.accept(1, np.arange(6.0), 1)
    with pytest.raises(StreamError, match="left wrench: entry 2 of values is nan"):
        wrench.accept(2, [0.0, 0.0, np.nan, 0.0, 0.0, 0.0], 2)
    with pytest.raises(StreamError, match="has 5 entries, expected 6"):
        wrench.accept(2, np.zeros(5), 2)
    assert not wrench.accept(1, np.zeros(6), 3)
    np.testing.assert_array_equal(wrench.values, np.arange(6.0))
    assert wrench.name == "left wrench"


def test_a_reset_is_seen_however_patient_one_is():
    """With ten seconds until a stream counts as lost, time that goes back by five is a jump.

    A sample that was overtaken by others is not; one that comes after five seconds of silence is
    not, either.
    """
    watch = StreamWatch("left", 10.0, 1e-3)
    assert watch.advance(8000, 0)
    assert not watch.advance(7900, 1)
    assert watch.jumps(3000)
    with pytest.raises(StreamError, match=r"back by 5 s; expected steps of at most 0\.5 s"):
        watch.advance(3000, 2)
    watch.forget()
    assert watch.advance(3000, 3)
    assert watch.advance(8000, 4)
