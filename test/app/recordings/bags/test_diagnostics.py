# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Diagnostics in a bag: once a second, and when control stopped."""

from robot_dynamics.app.recordings.bags.writer import diagnostics_of
from robot_dynamics.app.recordings.recording import Recording


def test_once_a_second_and_when_it_stopped(short):
    """A run of 1.2 s says twice that it is active; a fault is said in its own period and after."""
    assert [*diagnostics_of(short)] == [0, 500]
    metadata = {**short.metadata, "fault": "at 0.7 s: left: joint states are lost."}
    told = diagnostics_of(Recording(short.columns, metadata))
    assert [*told] == [0, 350, 500]
    assert [status.level for status in told.values()] == [0, 2, 2]
    assert told[350].sentence == "fallback: at 0.7 s: left: joint states are lost."
    assert told[500].values["tick"] == "500"
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
