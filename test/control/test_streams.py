# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Streams: lengths, numbers, time, and rates."""

from __future__ import annotations

import numpy as np
import pytest

from robot_dynamics.control.clock import SECOND, LockstepClock, WallClock
from robot_dynamics.control.streams import WINDOW_S, StreamError, StreamWatch, VectorStream


def watch_of(name="left", stale_after_s=0.01):
    """Return a watch in lockstep: 2 ms ticks, stale after five."""
    return StreamWatch(name, stale_after_s, LockstepClock(0.002))


def test_staleness_is_counted_on_the_receivers_time():
    """A stream is stale before its first sample, and again when nothing new comes."""
    watch = watch_of()
    assert watch.is_stale(0)
    assert watch.staleness(0) == "no sample has come yet."
    watch.advance(10, 100)
    assert not watch.is_stale(105)
    assert watch.is_stale(106)
    assert watch.staleness(106) == "no new sample for 0.012 s; expected one within 0.01 s."


def test_old_and_repeated_samples_do_not_keep_a_stream_fresh():
    """They are counted."""
    watch = watch_of()
    watch.advance(10, 10)
    assert not watch.advance(10, 14)
    assert not watch.advance(9, 15)
    assert watch.old_samples == 2
    assert watch.is_stale(16)


@pytest.mark.parametrize("hz", [30.0, 400.0, 1000.0])
def test_the_rate_is_that_of_the_samples(hz):
    """From one whole window on; arrivals that jitter by a third of a period change little."""
    watch = StreamWatch("left", 10.0, WallClock(0.002))
    jitter = np.random.default_rng(3).uniform(-0.3, 0.3, round(3 * hz))
    for n, late in enumerate(jitter):
        before = (n + late) / hz < 0.9 * WINDOW_S
        watch.advance(n, round((n + late) / hz * SECOND))
        assert not before or watch.hz is None
    # Ends of the window are off by up to a third of a period each, of WINDOW_S * hz periods.
    assert watch.hz == pytest.approx(hz, rel=0.6 / (WINDOW_S * hz) + 1e-6)


def test_a_stream_that_slows_down_is_seen():
    """The last window counts."""
    watch = StreamWatch("left", 1000.0, LockstepClock(0.01))
    for tick in range(101):
        watch.advance(tick, tick)
    assert watch.hz == pytest.approx(100.0)
    for tick in range(110, 300, 10):
        watch.advance(tick, tick)
    assert watch.hz == pytest.approx(10.0)


@pytest.mark.parametrize(("stamp", "way"), [(1000, "ahead"), (0, "back")])
def test_a_jump_of_time_is_an_error(stamp, way):
    """A clock that jumps, or a simulation that began anew, is not a stream that goes on."""
    watch = watch_of()
    watch.advance(500, 1)
    with pytest.raises(StreamError, match=f"left: its time jumped {way} by .* s; expected"):
        watch.advance(stamp, 2)
    watch.forget()
    assert watch.advance(stamp, 3)


def test_vectors_have_a_length_and_finite_entries():
    """A wrench with a NaN is refused; it does not become zero."""
    wrench = VectorStream("left wrench", 6, 0.01, LockstepClock(0.002))
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
    watch = StreamWatch("left", 10.0, LockstepClock(1e-3))
    assert watch.advance(8000, 0)
    assert not watch.advance(7900, 1)
    assert watch.jumps(3000)
    with pytest.raises(StreamError, match=r"back by 5 s; expected steps of at most 0\.5 s"):
        watch.advance(3000, 2)
    watch.forget()
    assert watch.advance(3000, 3)
    assert watch.advance(8000, 4)


@pytest.mark.parametrize(
    ("step", "jumps"), [(-501, True), (-500, False), (10_000, False), (10_001, True)]
)
def test_the_largest_steps_of_time(step, jumps):
    """Ahead by the time after which a stream is lost, back by half a second; to the tick."""
    watch = StreamWatch("left", 10.0, LockstepClock(1e-3))
    watch.advance(20_000, 0)
    assert watch.jumps(20_000 + step) == jumps


def test_a_stream_is_lost_to_the_tick():
    """After ten seconds, not one tick before."""
    watch = StreamWatch("left", 10.0, LockstepClock(1e-3))
    watch.advance(0, 5)
    assert not watch.is_stale(10_005)
    assert watch.is_stale(10_006)


@pytest.mark.parametrize(("stamp", "forgets"), [(999, True), (1000, False), (1001, False)])
def test_time_that_goes_back_begins_a_stream_anew(stamp, forgets):
    """By any amount, if nothing depends on the stream."""
    watch = StreamWatch("left", 10.0, LockstepClock(1e-3))
    watch.advance(1000, 0)
    watch.follow(stamp)
    assert (watch.stamp is None) == forgets


def test_the_rate_is_known_after_half_a_second():
    """With the sample that ends it, not with the one before."""
    watch = StreamWatch("left", 10.0, LockstepClock(1e-3))
    for tick in range(500):
        watch.advance(tick, tick)
    assert watch.hz is None
    watch.advance(500, 500)
    assert watch.hz == pytest.approx(1000.0)
