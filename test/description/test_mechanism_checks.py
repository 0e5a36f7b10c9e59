# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Rules that hold for every format; the corpus has the cases of each format."""

import dataclasses

import numpy as np
import pytest
from description.urdf_texts import ARM

from robot_dynamics.description.diagnosis import DescriptionError, Diagnosis
from robot_dynamics.description.load import load_description
from robot_dynamics.description.mechanism_checks import (
    check_closures,
    check_numbers,
    with_unit_axes,
)
from robot_dynamics.description.model_file import write_model
from robot_dynamics.description.tree_checks import Places
from robot_dynamics.description.urdf import read_urdf
from robot_dynamics.model import CouplingElement, LoopElement


@pytest.fixture
def arm():
    """Return the description of a sound arm."""
    return read_urdf(ARM)


def noted(check, mechanism):
    """Return the notes of a check."""
    diagnosis = Diagnosis()
    check(mechanism, Places("f"), diagnosis)
    return [(problem.severity, problem.sentence()) for problem in diagnosis.problems]


def with_joint(description, **values):
    """Return a description with values of its first joint replaced."""
    first, *others = description.mechanism.joints
    joints = (dataclasses.replace(first, **values), *others)
    mechanism = dataclasses.replace(description.mechanism, joints=joints)
    return dataclasses.replace(description, mechanism=mechanism)


def test_numbers_of_machines_are_not_spoken_of(arm):
    """A sound arm, and ratios from a watch to a wind turbine, pass in silence."""
    assert noted(check_numbers, arm.mechanism) == []
    for ratio in (1e-6, 1e6):
        geared = arm.mechanism.with_couplings(
            [CouplingElement.gear("g", "shoulder", "elbow", ratio)]
        )
        assert noted(check_numbers, geared) == []


@pytest.mark.parametrize("name", ["damping", "friction", "armature", "stiffness", "rest"])
def test_numbers_beyond_all_machines_are_errors(arm, name):
    """One bound for every amount, and nan is beyond it."""
    for value in (1e16, -1e300, float("nan")):
        ((severity, sentence),) = noted(check_numbers, with_joint(arm, **{name: value}).mechanism)
        assert severity == "error"
        assert f"{name} is {value:g}, expected at most 1e+15" in sentence


def test_a_loop_needs_a_name_of_its_own(arm):
    """The joint that has it is named with its place."""
    loop = LoopElement("elbow", "fixed", "upper", "base")
    ((severity, sentence),) = noted(check_closures, arm.mechanism.with_loops([loop]))
    assert (severity, "already taken by the joint" in sentence) == ("error", True)


def test_axes_become_unit_vectors(arm):
    """With a warning, and the direction kept; those of unit length stay as they are."""
    long = with_joint(arm, axis=(0.0, 3.0, 4.0)).mechanism
    diagnosis = Diagnosis()
    unit = with_unit_axes(long, Places("f"), diagnosis)
    np.testing.assert_allclose(unit.joints[0].axis, (0.0, 0.6, 0.8), rtol=1e-15)  # one rounding
    assert "length 5" in diagnosis.problems[0].message
    assert with_unit_axes(arm.mechanism, Places("f"), Diagnosis()) == arm.mechanism


def test_model_files_are_judged_as_urdfs_are(tmp_path, arm):
    """Warnings equal those of the URDF, once each, after any number of conversions."""
    heavy = ARM.replace('value="2"', 'value="3000"', 1)
    description = read_urdf(heavy)
    for _ in range(2):
        write_model(tmp_path / "m.yaml", description)
        again = load_description(tmp_path / "m.yaml")
        assert again.diagnosis.problems == description.diagnosis.problems
        description = again
    write_model(tmp_path / "m.yaml", with_joint(arm, damping=-1.0))
    with pytest.raises(DescriptionError, match=r"m\.yaml:11.*'shoulder'.*damping.*-1"):
        load_description(tmp_path / "m.yaml")
