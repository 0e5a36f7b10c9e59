# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The hybrid law of a scenario: its reference, and the squeeze that is left to it."""

import numpy as np
import pytest
from app.scenarios.hybrid_scenarios import prepared

from robot_dynamics.app.scenarios.laws import hybrid_reference
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.control.hybrid.law_inputs import Layout
from robot_dynamics.control.hybrid.planned_forces import planned_wrenches
from robot_dynamics.control.path_check import path_times
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.manipulation.hybrid import contact_margins
from robot_dynamics.model import pose


def internal_columns(held):
    """Return the columns of the internal force in a row of the reference."""
    return Layout.of(held).reference["internal"]


def margins(reference, held, distribution):
    """Return the smallest distance of each contact to its cone along a reference [N]."""
    rows = reference.rows(path_times(reference.duration))
    internal = rows[:, internal_columns(held)]
    forces = distribution.contact_forces(planned_wrenches(held, rows), internal)
    return contact_margins(held.contacts, forces).min(axis=0)


def test_a_squeeze_that_is_chosen_keeps_the_margin_and_no_more():
    """Every palm stays 5 N inside its cone; with a tenth less squeeze one would not.

    Cones are polygons in the choice, which gives away 2 % of the friction at most.
    """
    scenario, _, held, distribution = prepared("tray")
    reference = hybrid_reference(scenario, held, distribution)
    assert 5.0 - 1e-6 <= margins(reference, held, distribution).min() < 5.7
    squeeze = reference.row(0.0)[internal_columns(held)]
    # Half the weight by friction of 0.5, and 5 N of distance to the cone: statics alone.
    least = (0.5 * 2.0 * 9.81 + 5.0 * np.hypot(1.0, 0.5)) / 0.5
    assert least < squeeze[0] < 1.2 * least
    fixed = load_scenario(
        "tray", [f"reference.force=[{{time_s: 0, squeeze_n: {0.9 * squeeze[0]}}}]"]
    )
    less = hybrid_reference(fixed, held, distribution)
    assert margins(less, held, distribution).min() < 5.0


def test_the_squeeze_that_holds_is_there_from_the_start():
    """Palms have their squeeze at once; rigid grasps come to theirs smoothly."""
    scenario, _, held, distribution = prepared("tray")
    reference = hybrid_reference(scenario, held, distribution)
    np.testing.assert_array_equal(
        reference.row(0.0)[internal_columns(held)], reference.row(3.0)[internal_columns(held)]
    )
    scenario, _, held, distribution = prepared("wipe")
    reference = hybrid_reference(scenario, held, distribution)
    assert not reference.row(0.0)[internal_columns(held)].any()
    assert reference.row(3.0)[internal_columns(held)][0] == 30.0


def test_rigid_grasps_need_no_choice():
    """They bear anything: a squeeze is the user's to state."""
    rigid = prepared("wipe", "reference.force=[{time_s: 0, squeeze_n: automatic}]")
    with pytest.raises(ArgumentError, match="for contacts that can slip"):
        hybrid_reference(rigid[0], *rigid[2:])


def test_drives_may_share_the_load():
    """The sum of squared torques over limits is the least there is, at the arms' postures."""
    drives = "control.internal_force.sharing=drives"
    scenario, system, held, by_drives = prepared("tray", drives)
    declared = prepared("tray")[3]
    q, still = system.posture, np.zeros(len(system.posture))
    order = [system.joint_names.index(name) for name in held.arms.joint_names]
    at = pose(scenario.cell.object.xyz)
    J_S = held.terms(q[order], still, at, np.zeros(6)).J_S
    limits = scenario.safety.effort_fraction * held.arms.limits()["effort"]

    def load(forces):
        return float(np.sum((J_S.T @ forces / limits) ** 2))

    weight = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 2.0 * 9.81])
    least = load(by_drives.share @ weight)
    assert least < load(declared.share @ weight)
    for j in range(by_drives.internal.shape[1]):  # other sharing is an internal force
        for small in (-0.1, 0.1):
            assert load(by_drives.share @ weight + small * by_drives.internal[:, j]) > least


def test_the_orthonormal_basis_shares_by_itself():
    """Two choices at once are refused."""
    with pytest.raises(RobotDynamicsError, match="comes with the paper's own sharing"):
        prepared(
            "tray",
            "control.internal_force.sharing=drives",
            "control.internal_force.basis=orthonormal",
        )
