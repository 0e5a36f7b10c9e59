# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Gears that contradict, repeat or block each other."""

import numpy as np
import pytest

from robot_dynamics.description.coupling_checks import check_couplings
from robot_dynamics.description.diagnosis import DescriptionError, Diagnosis
from robot_dynamics.description.load import load_description
from robot_dynamics.description.tree_checks import Places
from robot_dynamics.model import CouplingElement
from robot_dynamics.model.couplings import CouplingElement as Gear


def noted(*couplings):
    """Return the notes on couplings, each of which stands on a line of its own."""
    diagnosis = Diagnosis()
    places = Places("f", loops={c.name: f"f:{i}" for i, c in enumerate(couplings, 1)})
    check_couplings(couplings, places, diagnosis)
    return diagnosis.problems


def test_chains_and_trees_of_gears_agree():
    """PassiveJoints of passive_joints, several of one driver, and sums over three joints."""
    assert noted(
        Gear.gear("a", "j2", "j1", 2.0, 0.1),
        Gear.gear("b", "j3", "j2", -1.0),
        Gear.gear("c", "j4", "j1", 0.5),
        CouplingElement("d", (("j5", 1.0), ("j1", 1.0), ("j2", -40.0)), 3.0),
        Gear.gear("e", "k2", "k1", 7.0),
    ) == ()  # fmt: skip


def test_a_ratio_of_zero_is_not_said_twice():
    """It holds one joint, which the reader of the file has said."""
    assert noted(Gear.gear("a", "j2", "j1", 0.0), Gear.gear("b", "j3", "j1", 1.0)) == ()


def test_contradictions_are_errors():
    """The same relation with two offsets, directly or around a chain; the last is named."""
    chain = (Gear.gear("a", "j2", "j1", 2.0), Gear.gear("b", "j3", "j2", 3.0))
    (problem,) = noted(*chain, Gear.gear("c", "j3", "j1", 6.0, 0.5))
    assert (problem.severity, problem.place) == ("error", "f:3")
    assert "contradicts 'a' and 'b'" in problem.message
    (problem,) = noted(chain[0], Gear.gear("z", "j2", "j1", 2.0, -1.0))
    assert "contradicts 'a', its offset differs by" in problem.message


def test_repetitions_are_warned_of():
    """A relation that follows from others takes no further motion away."""
    (problem,) = noted(Gear.gear("a", "j2", "j1", 2.0, 0.2), Gear.gear("b", "j1", "j2", 0.5, -0.1))
    assert (problem.severity, problem.place) == ("warning", "f:2")
    assert "is redundant, it follows from 'a'" in problem.message


def test_gears_that_block_each_other_are_warned_of():
    """Two ratios between the same joints are met at one position alone."""
    free = Gear.gear("c", "j4", "j3", 1.0)
    (problem,) = noted(Gear.gear("a", "j2", "j1", 2.0), Gear.gear("b", "j2", "j1", 3.0), free)
    assert (problem.severity, problem.place) == ("warning", "f:2")
    assert "'a' and 'b' together lock joints 'j2', 'j1'" in problem.message


@pytest.mark.parametrize("ratio", [1e-11, 1e-10, 1e-7, 1e7])
def test_tiny_and_huge_ratios_block_nothing(ratio):
    """Two gears on one driver leave it free, however far apart the speeds are."""
    for other in (ratio, -ratio):
        pair = Gear.gear("a", "j2", "j1", ratio), Gear.gear("b", "j3", "j1", other)
        assert noted(*pair) == ()


def test_random_relations_are_judged_by_their_solutions(rng):
    """An error exactly where no positions meet all relations, found by least squares."""
    for _ in range(60):
        A = rng.integers(-2, 3, (4, 3)).astype(float)
        b = A @ rng.normal(size=3) if rng.random() < 0.5 else rng.normal(size=4)
        gears = [
            CouplingElement(f"c{i}", tuple(zip("xyz", row, strict=True)), float(offset))
            for i, (row, offset) in enumerate(zip(A, b, strict=True))
            if row.any()
        ]
        rows = A.any(axis=1)
        gap = np.abs(A[rows] @ np.linalg.lstsq(A[rows], b[rows], rcond=None)[0] - b[rows]).max()
        errors = [p for p in noted(*gears) if p.severity == "error"]
        # Offsets of order one either contradict each other by about as much, or by rounding.
        assert bool(errors) == (gap > 1e-6)


def test_contradictions_are_found_between_files(tmp_path):
    """A mimic joint of the URDF, and a gear of the YAML file that has it otherwise."""
    from description.urdf_texts import ARM

    mimic = ARM.replace('<axis xyz="0 1 0"/>', '<axis xyz="0 1 0"/><mimic joint="elbow"/>')
    (tmp_path / "l.yaml").write_text(
        "couplings:\n- {name: other, joint: shoulder, driver: elbow, offset: 0.5}\n"
    )
    with pytest.raises(DescriptionError, match=r"l\.yaml:2: .*contradicts 'shoulder'"):
        load_description(mimic, tmp_path / "l.yaml")
