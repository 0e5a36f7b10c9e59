# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Which masses and inertias are doubted, and which are not."""

import numpy as np
import pytest

from robot_dynamics.description.description import Shape
from robot_dynamics.description.diagnosis import Diagnosis
from robot_dynamics.description.inertia_checks import check_links, check_units
from robot_dynamics.description.mechanism_checks import check_numbers
from robot_dynamics.description.tree_checks import Places
from robot_dynamics.model import JointElement, LinkElement, LoopElement, Mechanism, pose


def problems_of(mass, moments, shapes=(), rotation=None, center=(0.0, 0.0, 0.0)):
    """Return the problems of one link with these principal moments."""
    R = np.eye(3) if rotation is None else rotation
    link = LinkElement("a", mass, center, R @ np.diag(moments) @ R.T)
    mechanism, places, diagnosis = Mechanism("m", (link,)), Places("f"), Diagnosis()
    places.with_inertial.add("a")
    check_links(mechanism, places, diagnosis)
    if not diagnosis.errors:
        check_units(mechanism, shapes, places, diagnosis)
    return diagnosis.problems


def test_bodies_of_all_proportions_pass(rng):
    """Solid boxes of 2 cm to 1 m, rods and plates, of wood or steel, are not doubted."""
    for _ in range(200):
        x, y, z = 10.0 ** rng.uniform(np.log10(0.02), 0.0, size=3)
        mass = min(rng.uniform(400.0, 8000.0) * x * y * z, 900.0)
        moments = mass / 12.0 * np.array([y**2 + z**2, x**2 + z**2, x**2 + y**2])
        rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        shape = Shape("a", "visual", "box", np.eye(4), (x, y, z))
        assert problems_of(mass, moments, [shape], rotation) == ()


def test_thin_rods_and_rounded_numbers_pass():
    """A rod meets the triangle inequality with equality, and rounding breaks it by a hair."""
    assert problems_of(1.0, (0.0, 0.01, 0.01)) == ()
    assert problems_of(1.0, (1.0e-3, 9.000e-3, 1.0001e-2)) == ()


@pytest.mark.parametrize(
    ("mass", "moments", "severity", "message"),
    [
        (-1.0, (1, 1, 1), "error", "mass is -1 kg"),
        (1.0, (-0.01, 0.02, 0.02), "error", "negative principal moment -0.01"),
        (1.0, (-1e-5, 0.02, 0.02), "warning", "just below zero"),
        (1.0, (0.01, 0.01, 0.05), "warning", "larger than the sum of the others"),
        (0.0, (0.01, 0.01, 0.01), "warning", "rotational inertia but no mass"),
        (0.0, (0, 0, 0), "warning", "has no mass, it is taken as a frame"),
        (1e300, (1, 1, 1), "error", "mass is 1e+300 kg, expected at most 1e+09"),
        (1.0, (1e200,) * 3, "error", "the inertia has 1e+200 kg m^2, expected at most 1e+15"),
        (3.0, (20.0, 20.0, 20.0), "warning", "check the units"),
        (3.0, (1e-7, 1e-7, 1e-7), "warning", "a trace of 3e-07 kg m^2, expected at least"),
        (3000.0, (500.0, 500.0, 500.0), "warning", "were grams meant?"),
    ],
)
def test_impossible_bodies_are_found(mass, moments, severity, message):
    """Impossible inertia is an error if motion would be wrong, else a warning."""
    (problem,) = problems_of(mass, moments)
    assert problem.severity == severity
    assert message in problem.sentence()


def test_distances_out_of_all_proportion_are_errors():
    """Of centres of mass and of joints; a loop's frame that looks like millimetres is doubted."""
    (problem,) = problems_of(1.0, (1, 1, 1), center=(0.0, 1e9, 0.0))
    assert problem.severity == "error"
    assert "1e+09 m from the link's origin, expected at most 1e+06" in problem.message
    links = (LinkElement("a"), LinkElement("b"))
    far = JointElement("j", "fixed", "a", "b", pose((1e7, 0.0, 0.0)))
    diagnosis = Diagnosis()
    check_numbers(Mechanism("m", links, (far,)), Places("f"), diagnosis)
    assert "its origin is 1e+07 m from the parent" in diagnosis.errors[0].message
    loop = LoopElement("l", "fixed", "a", "b", pose((0.0, 300.0, 0.0)))
    diagnosis = Diagnosis()
    check_units(Mechanism("m", links, (), (loop,)), (), Places("f", loops={"l": "f:7"}), diagnosis)
    (problem,) = diagnosis.problems
    assert problem.place == "f:7"
    assert "were millimetres meant?" in problem.hint


def test_eigenvalues_of_rounding_size_are_no_error():
    """Tiny negative moments come from printing with few digits."""
    (problem,) = problems_of(0.001, (-3e-8, 2e-8, 9e-8))
    assert problem.severity == "warning"


def test_the_extent_of_a_link_is_taken_from_the_file():
    """A long link is not doubted if a shape, a joint or the centre of mass shows its length."""
    moments = (0.01, 3.0, 3.0)
    assert "seems no larger" in problems_of(2.0, moments)[0].message
    long = Shape("a", "collision", "cylinder", np.eye(4), (0.05, 4.0))
    assert problems_of(2.0, moments, [long]) == ()
    assert problems_of(2.0, moments, center=(1.0, 0.0, 0.0)) == ()


def test_massless_links_are_summarised():
    """Frames without mass are listed in one warning, if the file made a point of them."""
    links = tuple(LinkElement(name) for name in "abcd")
    joints = (
        JointElement("j", "fixed", "a", "b"),
        JointElement("k", "fixed", "b", "c"),
        JointElement("l", "revolute", "c", "d"),
    )
    places, diagnosis = Places("f"), Diagnosis()
    places.with_inertial.add("b")
    check_links(Mechanism("m", links, joints), places, diagnosis)
    (problem,) = diagnosis.problems
    assert "2 links have no mass, they are taken as frames: 'b', 'd'" in problem.message


def test_nothing_follows_from_a_mass_that_could_not_be_read():
    """Its error is said, and not that the link has no mass."""
    link = LinkElement("a", 0.0, (0.0, 0.0, 0.0), np.eye(3))
    diagnosis = Diagnosis()
    diagnosis.error("f:4", "link 'a'", "value has 'heavy', expected a number")
    check_links(Mechanism("m", (link,)), Places("f"), diagnosis)
    assert [problem.place for problem in diagnosis.problems] == ["f:4"]
