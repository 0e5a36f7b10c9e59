# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters are declared with descriptions, checked, and refused in one sentence."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from rclpy.parameter import Parameter

from robot_dynamics.control.gains import GainError
from robot_dynamics.control.settings import ControlSettings
from robot_dynamics.errors import UnknownNameError
from robot_dynamics.nodes.gain_parameters import GainParameters
from robot_dynamics.nodes.parameters import (
    CONTROLLER,
    GUARD,
    SIMULATOR,
    Entry,
    NodeParameters,
    ParameterError,
    declare,
)


@pytest.mark.parametrize(
    ("entry", "given", "taken"),
    [
        (Entry("x", 1.0, ""), 2, 2.0),
        (Entry("x", 1.0, ""), 2.5, 2.5),
        (Entry("x", False, ""), True, True),
        (Entry("x", "a", "", choices=("a", "b")), "b", "b"),
        (Entry("x", ["a"], ""), ["b", "c"], ["b", "c"]),
        (Entry("x", [""], "", topics=True), ["", "b", "b"], ["", "b", "b"]),
    ],
)
def test_values_that_are_meant(entry, given, taken):
    """An integer is a number as well."""
    value = entry.checked(given)
    assert value == taken
    assert type(value) is type(taken)


@pytest.mark.parametrize(
    ("entry", "given", "words"),
    [
        (Entry("x", 1.0, ""), "2", "parameter 'x' is '2'; expected a number."),
        (Entry("x", 1.0, ""), True, "expected a number"),
        (Entry("x", 1.0, "", minimum=0.0), -1, "expected at least 0"),
        (Entry("x", 1.0, "", minimum=0.0), float("nan"), "expected at least 0"),
        (Entry("x", 1.0, ""), float("inf"), "expected a finite number"),
        (Entry("x", False, ""), 1, "expected true or false"),
        (Entry("x", "a", ""), 7, "parameter 'x' is 7; expected text"),
        (Entry("x", "a", "", choices=("a", "b")), "c", "expected one of a, b"),
        (Entry("x", ["a"], ""), "a", "expected a list of texts"),
        (Entry("x", ["a"], ""), [1], "expected a list of texts"),
        (
            Entry("x", ["a"], ""),
            None,
            "parameter 'x' is empty; expected a list of texts, as ['a'].",
        ),
        (Entry("x", ["a"], "", topics=True), ["b c"], "names of topics: 'b c'"),
        (Entry("x", ["a"], "", topics=True), ["b//c"], "names of topics: 'b//c'"),
        (Entry("x", ["a"], "", topics=True), ["{no}"], "names of topics: '{no}'"),
        (Entry("x", ["a"], "", topics=True), ["\ud800"], "names of topics: '\\ud800'"),
        (Entry("x", ["a"], "", topics=True), [""], "names of topics: ''"),
        (Entry("x", [""], "", topics=True), ["", "b c"], "names of topics: 'b c'"),
        (Entry("x", ["a"], "", topics=True), ["b", "b"], "expected every topic once"),
    ],
)
def test_values_that_are_not(entry, given, words):
    """The sentence names the parameter, the value and the expected value."""
    with pytest.raises(ParameterError) as caught:
        entry.checked(given)
    assert words in str(caught.value)


@pytest.mark.parametrize("entries", [SIMULATOR, CONTROLLER, GUARD])
def test_all_are_declared_with_a_description(ros, entries):
    """And cannot be changed while the node runs, unless they say so."""
    node = ros.create_node("declarer")
    values = declare(node, entries)
    assert values == {entry.name: entry.default for entry in entries}
    for entry in entries:
        descriptor = node.describe_parameter(entry.name)
        assert descriptor.description.endswith((".", "]")), entry.name
        assert descriptor.read_only is not entry.changeable
        result = node.set_parameters([Parameter(entry.name, value=entry.default)])
        assert result[0].successful is entry.changeable
    node.destroy_node()


def test_a_managed_node_reads_them_when_it_is_configured(ros):
    """They may be changed until then, and are checked like the first ones."""
    node = ros.create_node("managed")
    parameters = NodeParameters(node, CONTROLLER)

    def change(name, value):
        result = node.set_parameters([Parameter(name, value=value)])[0]
        return result.successful, result.reason

    assert change("duration", 2) == (True, "")
    assert parameters.values["duration"] == 2.0
    successful, reason = change("mode", "lockstop")
    assert not successful
    assert reason.startswith("parameter 'mode' is 'lockstop'; expected one of lockstep")
    assert not change("progress", True)[0]  # is read once
    parameters.freeze(True)
    successful, reason = change("duration", 3.0)
    assert not successful
    assert "parameter 'duration' is 2.0 while the node is configured" in reason
    # What changes nothing is no change, and nobody's statement.
    assert change("on_command_timeout", parameters.values["on_command_timeout"])[0]
    assert "on_command_timeout" not in parameters.given
    parameters.freeze(False)
    assert change("duration", 3.0)[0]
    assert parameters.values["mode"] == "lockstep"
    node.destroy_node()


def test_bounds_are_in_the_descriptors(ros):
    """`ros2 param describe` shows them."""
    node = ros.create_node("told")
    declare(node, CONTROLLER)
    bounds = node.describe_parameter("silence_limit").floating_point_range[0]
    assert (bounds.from_value, bounds.to_value) == (0.05, float("inf"))
    assert node.describe_parameter("mode").additional_constraints == "one of lockstep, wall_clock"
    node.destroy_node()


def test_gains_of_other_names_are_refused(ros):
    """As all unknown names are."""
    given = [Parameter("control.object.bandwith", value=3.0)]
    node = ros.create_node("gainless", parameter_overrides=given)
    with pytest.raises(UnknownNameError, match="did you mean"):
        NodeParameters(node, CONTROLLER)
    node.destroy_node()


def test_given_values_are_taken(ros):
    """A duration may be given as an integer, as command lines do."""
    given = [Parameter("duration", value=3), Parameter("mode", value="wall_clock")]
    node = ros.create_node("given", parameter_overrides=given)
    values = declare(node, SIMULATOR)
    assert values["duration"] == 3.0
    assert values["mode"] == "wall_clock"
    node.destroy_node()


def test_an_unknown_parameter_is_refused(ros):
    """With the name that was probably meant."""
    node = ros.create_node("unknown", parameter_overrides=[Parameter("durations", value=3.0)])
    with pytest.raises(UnknownNameError, match="unknown parameter 'durations'; did you mean"):
        declare(node, SIMULATOR)
    node.destroy_node()


def test_one_file_may_serve_both_nodes(ros):
    """A parameter of the other node, and those of rclpy itself, are no mistakes."""
    given = [Parameter("autostart", value="never"), Parameter("use_sim_time", value=False)]
    node = ros.create_node("shared", parameter_overrides=given)
    assert "autostart" not in declare(node, SIMULATOR)
    node.destroy_node()


def test_the_clock_of_a_configured_node_does_not_change(ros):
    """The change of `use_sim_time` is refused before the node's clock takes it."""
    node = ros.create_node("clocked")
    parameters = NodeParameters(node, GUARD)
    parameters.freeze(True)
    assert set_to(node, "use_sim_time", False) == (True, "")
    taken, reason = set_to(node, "use_sim_time", True)
    assert not taken
    assert "'use_sim_time' is false while the node is configured" in reason
    assert not node.get_clock().ros_time_is_active
    parameters.freeze(False)
    assert set_to(node, "use_sim_time", True)[0]
    assert node.get_clock().ros_time_is_active
    node.destroy_node()


BANDWIDTH = "control.object.bandwidth"


@pytest.fixture
def make(ros):
    """Return a function that makes a node with gains; all are destroyed after the test."""
    nodes = []

    def make(settings=None, **given):
        overrides = [Parameter(name, value=value) for name, value in given.items()]
        nodes.append(ros.create_node("gains", parameter_overrides=overrides))
        return nodes[-1], GainParameters(nodes[-1], settings or ControlSettings())

    yield make
    for node in nodes:
        node.destroy_node()


def set_to(node, name, value):
    """Set a parameter; return whether that succeeded, and why not."""
    result = node.set_parameters([Parameter(name, value=value)])[0]
    return result.successful, result.reason


def test_gains_begin_with_those_of_the_scenario(make):
    """With descriptions that end in a unit or a point, and with the bounds of the settings."""
    node, gains = make()
    assert gains.settings == ControlSettings()
    assert node.get_parameter(BANDWIDTH).value == ControlSettings().object.bandwidth
    found = node.describe_parameter("control.object.damping_ratio")
    assert found.description == "Its damping ratio."
    assert not found.read_only
    bounds = found.floating_point_range[0]
    assert (bounds.from_value, bounds.to_value) == (0.3, 3.0)


def test_a_changed_gain_reaches_the_law(make):
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
        (BANDWIDTH, float("inf"), "out of range"),
        (BANDWIDTH, 1e300, "out of range"),
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


def test_a_law_whose_gains_cannot_change(make):
    """It is said, and not ignored."""
    node, _ = make()
    taken, reason = set_to(node, BANDWIDTH, 25.0)
    assert not taken
    assert "gains of this control law are fixed" in reason


def test_a_jointed_object_has_gains_of_its_own(make):
    """Those of its law in the place of the others, with the same checks."""
    settings = ControlSettings(law="jointed", rate_hz=1000.0)
    node, gains = make(settings=settings)
    assert not node.has_parameter(BANDWIDTH)
    taken = []
    gains.connect(taken.append)
    name = "control.jointed.position_gain"
    assert node.get_parameter(name).value == settings.jointed.position_gain
    assert set_to(node, name, 2500) == (True, "")
    assert taken[-1].jointed.position_gain == 2500.0
    assert set_to(node, "control.friction.share", 0.5) == (True, "")
    assert taken[-1].friction.share == 0.5
    assert "jointed.position: a bandwidth of 1000 rad/s" in set_to(node, name, 1e6)[1]
    assert "out of range Min: 0.0" in set_to(node, name, -1.0)[1]
    assert gains.settings == taken[-1]


@pytest.mark.parametrize(("law", "inertia"), [("impedance", None), ("admittance", 5.0)])
def test_gains_by_axis_are_three_numbers(make, law, inertia):
    """And a refusal by the law itself is a refusal, with its sentence."""
    node, gains = make(settings=ControlSettings(law=law))
    taken, name = [], f"control.{law}.stiffness"
    assert list(node.get_parameter(name).value) == list(getattr(gains.settings, law).stiffness)

    def check(settings):
        if getattr(settings, law).stiffness[2] > 5000.0:
            raise GainError("object", 1.0, 1.0, 1.0, "far too stiff.")

    gains.connect(taken.append, check)
    assert set_to(node, name, [100.0, 200.0, 0.0]) == (True, "")
    assert getattr(taken[-1], law).stiffness == (100.0, 200.0, 0.0)
    assert "3 numbers" in set_to(node, name, [1.0, 2.0])[1]
    assert "at least 0" in set_to(node, name, [1.0, 2.0, -3.0])[1]
    assert "far too stiff" in set_to(node, name, [1.0, 2.0, 9000.0])[1]
    assert len(taken) == 1
    assert gains.settings == taken[-1]


def test_given_gains_win_over_the_scenario(make):
    """They are checked like all others."""
    assert make(**{BANDWIDTH: 22})[1].settings.object.bandwidth == 22.0
    with pytest.raises(GainError, match="too high"):
        make(**{BANDWIDTH: 900.0})
    with pytest.raises(ParameterError, match="expected at most 3"):
        make(**{"control.object.damping_ratio": 4.0})


def test_gains_are_undeclared_by_a_cleanup(make):
    """And come again with the next one."""
    node, gains = make()
    gains.destroy()
    assert not node.has_parameter(BANDWIDTH)
    GainParameters(node, ControlSettings())
    assert node.has_parameter(BANDWIDTH)
