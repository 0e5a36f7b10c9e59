# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Problems, their order and their refusal."""

import pickle

import pytest

from robot_dynamics.description.diagnosis import MOST_ERRORS, DescriptionError, Diagnosis
from robot_dynamics.errors import RobotDynamicsError


def test_all_problems_are_listed_in_the_order_of_the_file():
    """A refusal lists every problem, one a line, by line number and not by when it was found."""
    diagnosis = Diagnosis()
    diagnosis.error("arm.urdf:20", "joint 'b'", "axis is zero", "give it a direction")
    diagnosis.warning("arm.urdf:3", "link 'a'", "has no mass")
    diagnosis.unknown("arm.urdf:100", "joint 'c'", "link", "haand", ["hand", "arm"])
    with pytest.raises(DescriptionError) as caught:
        diagnosis.raise_if_refused()
    assert str(caught.value).splitlines() == [
        "arm.urdf:3: warning: link 'a': has no mass.",
        "arm.urdf:20: error: joint 'b': axis is zero; give it a direction.",
        "arm.urdf:100: error: joint 'c': unknown link 'haand'; did you mean 'hand'?",
    ]
    assert isinstance(caught.value, RobotDynamicsError)


def test_warnings_are_refused_only_when_strict():
    """A file with warnings alone passes, unless it must be clean."""
    diagnosis = Diagnosis()
    diagnosis.warning("arm.urdf:3", "link 'a'", "has no mass")
    diagnosis.raise_if_refused()
    with pytest.raises(DescriptionError, match=r"^arm.urdf:3: link 'a': has no mass.$"):
        diagnosis.raise_if_refused(strict=True)
    Diagnosis().raise_if_refused(strict=True)


def test_the_error_survives_pickling():
    """A refusal can cross a process boundary with its problems."""
    diagnosis = Diagnosis()
    diagnosis.error("a:1", "", "wrong")
    error = DescriptionError(diagnosis.problems)
    copy = pickle.loads(pickle.dumps(error))
    assert copy.problems == error.problems
    assert str(copy) == "a:1: wrong."


def test_a_file_with_very_many_errors_is_given_up():
    """After a thousand errors nothing more is read; warnings are counted but do not end it."""
    diagnosis = Diagnosis()
    for line in range(2 * MOST_ERRORS):
        diagnosis.warning(f"a:{line}", "", "odd")
    for line in range(MOST_ERRORS):
        diagnosis.error(f"a:{line}", "", "wrong")
    assert diagnosis.error_count == len(diagnosis.errors) == MOST_ERRORS
    with pytest.raises(DescriptionError, match="more problems") as caught:
        diagnosis.error("a:5000", "", "wrong")
    last = caught.value.problems[-1]
    assert (last.place, last.severity) == ("a:5000", "error")
    assert "more than 1000 errors, the rest of it was not read" in last.message
