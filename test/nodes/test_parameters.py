# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters are taken in the type that is meant, or refused in one sentence."""

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from rclpy.parameter import Parameter

from robot_dynamics.errors import UnknownNameError
from robot_dynamics.nodes.parameters import (
    CONTROLLER,
    GUARD,
    SIMULATOR,
    Entry,
    ParameterError,
    Parameters,
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
        (Entry("x", False, ""), 1, "expected true or false"),
        (Entry("x", "a", ""), 7, "expected text; quote what looks like a number"),
        (Entry("x", "a", "", choices=("a", "b")), "c", "expected one of a, b"),
        (Entry("x", ["a"], ""), "a", "expected a list of texts"),
        (Entry("x", ["a"], ""), [1], "expected a list of texts"),
        (
            Entry("x", ["a"], ""),
            None,
            "parameter 'x' is empty; expected a list of texts, as ['a'].",
        ),
        (Entry("x", ["a"], "", topics=True), ["b c"], "names of topics, which 'b c' is not"),
        (Entry("x", ["a"], "", topics=True), ["b//c"], "which 'b//c' is not"),
        (Entry("x", ["a"], "", topics=True), ["{no}"], "which '{no}' is not"),
        (Entry("x", ["a"], "", topics=True), ["\ud800"], "which '\\ud800' is not"),
        (Entry("x", ["a"], "", topics=True), [""], "names of topics, which '' is not"),
        (Entry("x", [""], "", topics=True), ["", "b c"], "names of topics, which 'b c' is not"),
        (Entry("x", ["a"], "", topics=True), ["b", "b"], "expected every topic once"),
    ],
)
def test_values_that_are_not(entry, given, words):
    """The sentence names the parameter, the value and what was expected."""
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
    parameters = Parameters(node, CONTROLLER)

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
    assert "read by the transition configure; expected a cleanup" in reason
    # What changes nothing is no change, and nobody's statement.
    assert change("on_command_timeout", parameters.values["on_command_timeout"])[0]
    assert "on_command_timeout" not in parameters.given
    parameters.freeze(False)
    assert change("duration", 3.0)[0]
    assert parameters.values["mode"] == "lockstep"
    node.destroy_node()


def test_bounds_are_told(ros):
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
        Parameters(node, CONTROLLER)
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
