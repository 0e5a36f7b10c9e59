# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Diagnostics in a bag: once a second, and when control stopped."""

import pytest

from robot_dynamics.app.recordings.bags.writer import diagnostics_of
from robot_dynamics.app.recordings.recording import Recording


@pytest.mark.parametrize("first", [0, 882_200_000_000])  # ticks of the system clock at 500 Hz
def test_once_a_second_and_when_it_stopped(short, first):
    """A run of 1.2 s says twice that it is active; a fault is said in its own period and after."""
    columns = {**short.columns, "tick": short["tick"] + first}
    assert [*diagnostics_of(Recording(columns, short.metadata))] == [0, 500]
    metadata = {
        **short.metadata,
        "fault": "at 0.7 s: left: joint states are lost.",
        "fault_time_s": (first + 350) * short.get("period_s"),
    }
    told = diagnostics_of(Recording(columns, metadata))
    assert [*told] == [0, 350, 500]
    assert [status.level for status in told.values()] == [0, 2, 2]
    assert told[350].sentence == "fallback: at 0.7 s: left: joint states are lost."
    assert told[500].values["tick"] == str(first + 500)
    assert float(told[500].values["control cycle max [us]"]) > 0.0


def test_as_the_aggregator_wants_it(messages):
    """The name has node and part, and the level is one byte."""
    _, array = messages["/diagnostics"][0]
    (status,) = array.status
    assert status.name == "controller: state"
    assert status.hardware_id == "lift_box"
    assert status.level in (0, b"\0")


def test_a_plant_alone_has_none(short):
    """Without control steps nothing is said."""
    columns = {name: short[name] for name in ("tick", "object_pose")}
    assert diagnostics_of(Recording(columns, short.metadata)) == {}
