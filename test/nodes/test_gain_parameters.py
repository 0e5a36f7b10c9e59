# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Gains as parameters: described, checked against the sampled loop, and handed on."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from rclpy.parameter import Parameter

from robot_dynamics.control.gains import GainError
from robot_dynamics.control.settings import ControlSettings
from robot_dynamics.nodes.parameters import GainParameters, ParameterError

BANDWIDTH = "control.object.bandwidth"


@pytest.fixture
def make(ros):
    """Return a function that makes a node with gains; all are destroyed after the test."""
    nodes = []

    def make(**given):
        overrides = [Parameter(name, value=value) for name, value in given.items()]
        nodes.append(ros.create_node("gains", parameter_overrides=overrides))
        return nodes[-1], GainParameters(nodes[-1], ControlSettings())

    yield make
    for node in nodes:
        node.destroy_node()


def set_to(node, name, value):
    """Set a parameter; return whether that succeeded, and why not."""
    result = node.set_parameters([Parameter(name, value=value)])[0]
    return result.successful, result.reason


def test_they_begin_as_the_scenario_says(make):
    """With descriptions that end in a unit or a point, and with the bounds of the settings."""
    node, gains = make()
    assert gains.settings == ControlSettings()
    assert node.get_parameter(BANDWIDTH).value == ControlSettings().object.bandwidth
    found = node.describe_parameter("control.object.damping_ratio")
    assert found.description == "Its damping ratio."
    assert not found.read_only
    bounds = found.floating_point_range[0]
    assert (bounds.from_value, bounds.to_value) == (0.3, 3.0)


def test_a_change_is_handed_on(make):
    """Also as an integer; several at once are one change."""
    node, gains = make()
    taken = []
    gains.connect(taken.append)
    assert set_to(node, BANDWIDTH, 25) == (True, "")
    assert [settings.object.bandwidth for settings in taken] == [25.0]
    several = [Parameter(BANDWIDTH, value=20.0), Parameter("control.friction.share", value=0.5)]
    assert node.set_parameters_atomically(several).successful
    assert (taken[-1].object.bandwidth, taken[-1].friction.share) == (20.0, 0.5)
    assert len(taken) == 2


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        (BANDWIDTH, 1000.0, "object: a bandwidth of 1000 rad/s is too high at 500 Hz"),
        (BANDWIDTH, float("nan"), "out of range"),
        (BANDWIDTH, "fast", "expected a number"),
        ("control.object.damping_ratio", 9, "at most 3"),
        ("control.internal_force.bandwidth", -1.0, "out of range"),
    ],
)
def test_a_bad_change_is_refused(make, name, value, words):
    """With one sentence, and without any effect."""
    node, gains = make()
    taken = []
    gains.connect(taken.append)
    successful, reason = set_to(node, name, value)
    assert not successful
    assert words in reason
    assert taken == []
    assert gains.settings == ControlSettings()


def test_a_law_that_takes_none(make):
    """It is said, and not ignored."""
    node, _ = make()
    assert set_to(node, BANDWIDTH, 25.0) == (
        False,
        "the control law takes gains from the scenario alone.",
    )


def test_given_gains_win_over_the_scenario(make):
    """They are checked like all others."""
    assert make(**{BANDWIDTH: 22})[1].settings.object.bandwidth == 22.0
    with pytest.raises(GainError, match="too high"):
        make(**{BANDWIDTH: 900.0})
    with pytest.raises(ParameterError, match="expected at most 3"):
        make(**{"control.object.damping_ratio": 4.0})


def test_they_leave_with_the_configuration(make):
    """And come again with the next one."""
    node, gains = make()
    gains.destroy()
    assert not node.has_parameter(BANDWIDTH)
    GainParameters(node, ControlSettings())
    assert node.has_parameter(BANDWIDTH)
