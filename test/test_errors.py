# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Errors are caught by one class, carry their data and name the right value."""

import pickle

import pytest

from robot_dynamics.errors import (
    ArgumentError,
    RobotDynamicsError,
    UnknownNameError,
    require_length,
    sentence_of,
)


def test_unknown_name_suggests_the_closest():
    """A typo is answered with the name that was probably meant, after the place."""
    error = UnknownNameError("joint", "left_elbw", ["left_elbow", "left_wrist"], "box.yaml:12")
    assert str(error) == "box.yaml:12: unknown joint 'left_elbw'; did you mean 'left_elbow'?"
    assert (error.kind, error.name, error.place) == ("joint", "left_elbw", "box.yaml:12")
    assert isinstance(error, RobotDynamicsError)


def test_unknown_name_without_a_close_one_lists_all():
    """Without a close name, every valid name is listed."""
    error = UnknownNameError("link", "xyz", iter(["base", "tool"]))
    assert str(error) == "unknown link 'xyz'; expected one of base, tool."
    assert error.valid == ("base", "tool")


@pytest.mark.parametrize("count", [40, 41])
def test_unknown_name_among_many_lists_the_closest(count):
    """Up to 40 names are listed, of more the closest eight."""
    names = ["panda_arm", "my_panda", "hand_of_panda_x", *(f"n{i:02}" for i in range(count - 3))]
    said = str(UnknownNameError("robot", "pandas", ["n99", *names[1:]], ""))
    assert "did you mean 'my_panda'?" in said
    listed = str(UnknownNameError("robot", "xyz", names)).partition("expected one of ")[2]
    assert listed.count(", ") == (39 if count == 40 else 8)
    assert listed.startswith("41 names, such as ") == (count == 41)


def test_unknown_name_suggests_longer_ones():
    """A part of a name, before or behind an underscore."""
    names = ["panda_description", "panda_mj_description", "pandas", "left_panda"]
    assert "did you mean 'panda_description' or 'panda_mj_description' or 'left_panda'?" in str(
        UnknownNameError("robot", "panda", names)
    )


def test_unknown_name_among_none():
    """An empty set of valid names is said to be empty."""
    assert str(UnknownNameError("key", "mass", [])) == (
        "unknown key 'mass'; there is no key at all."
    )


def test_errors_survive_pickling():
    """Another process gets the class, the sentence and the data, whatever a constructor takes."""
    for error in (UnknownNameError("link", "x", ["a"]), ArgumentError("expected a.")):
        copy = pickle.loads(pickle.dumps(error))
        assert type(copy) is type(error)
        assert (copy.args, vars(copy)) == (error.args, vars(error))


def test_require_length():
    """A wrong length is an ArgumentError, and a ValueError, with both lengths in it."""
    require_length("q", [0.0, 1.0], 2, "one per joint")
    with pytest.raises(ArgumentError, match=r"q has 1 entries, expected 2 \(one per joint\)\."):
        require_length("q", [0.0], 2, "one per joint")
    with pytest.raises(ValueError, match="q has 3"):
        require_length("q", [0.0] * 3, 2, "one per joint")


def test_unexpected_errors_are_named():
    """A sentence of the package stands by itself."""
    assert sentence_of(RobotDynamicsError("not now.")) == "not now."
    assert sentence_of(KeyError("odd")) == "unexpected KeyError: 'odd'"
