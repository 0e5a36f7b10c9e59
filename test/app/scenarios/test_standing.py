# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Starts of arms beside an object that stands on a table."""

import numpy as np
import pytest
from app.scenarios.hybrid_scenarios import prepared
from scipy.spatial.transform import Rotation

from robot_dynamics.app.scenarios.cell import build_system
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.app.scenarios.standing import standing_start
from robot_dynamics.errors import ArgumentError

BELOW = 0.015  # of the tray's bottom below its origin [m]


def table(height=0.75 - BELOW, stiffness=".inf"):
    """Return the override that puts a table under the tray."""
    part = f"{{kind: face, xyz: [0, 0, {-BELOW}], rpy: [3.141592653589793, 0, 0]}}"
    return (
        f"cell.surfaces=[{{name: table, kind: plane, xyz: [0.6, 0.0, {height}], "
        f"stiffness: {stiffness}, part: {part}}}]"
    )


def start(*overrides):
    """Return the positions of the object (7,) and of the arms (na,), and the object's weight."""
    scenario, system, _, _ = prepared("tray", *overrides)
    q = standing_start(scenario, system, np.arange(14.0) / 10.0)
    weight = -system.object_mass * system.model.gravity[2]
    return q[system.object_q], q[system.q_index], weight


def test_the_object_stands_where_it_truly_is():
    """Turned and moved as `object_error` says, on the table where it truly is."""
    pose, joints, _ = start(table())
    np.testing.assert_allclose(pose, [0.62, 0.0, 0.75, 0.0, 0.0, 0.0, 1.0], atol=1e-15)
    np.testing.assert_allclose(joints, np.arange(14.0) / 10.0)
    errors = (
        "plant.object_error={xyz: [0.02, 0.01, 0.5], rpy: [0, 0, 0.1]}",
        "plant.surface_error={table: {xyz: [0, 0, -0.02]}}",
    )
    scenario = load_scenario("pick_and_place", errors)
    system = build_system(scenario)
    pose = standing_start(scenario, system, np.arange(14.0) / 10.0)[system.object_q]
    np.testing.assert_allclose(pose[:3], [0.64, 0.01, 0.73], atol=1e-12)
    np.testing.assert_allclose(Rotation.from_quat(pose[3:]).as_rotvec(), [0, 0, 0.1], atol=1e-12)


def test_it_stands_as_deep_in_an_elastic_table_as_its_weight_presses_it():
    """Four springs of 1e4 N/m."""
    pose, _, weight = start(table(stiffness="1.0e+4"))
    assert 0.75 - pose[2] == pytest.approx(weight / 4e4, rel=1e-9)


@pytest.mark.parametrize(("off", "stands"), [(4.9e-3, True), (5.1e-3, False)])
def test_it_is_stated_on_its_table(off, stands):
    """Within 5 mm, from where it is moved onto it; else the distance is said."""
    if stands:
        assert start(table(0.735 - off))[0][2] == pytest.approx(0.75 - off, abs=1e-12)
        return
    with pytest.raises(ArgumentError, match=r"stands on no surface: 'table' is 5\.1 mm away"):
        start(table(0.735 - off))


def test_it_needs_a_surface_and_palms_need_faces():
    """Both are named."""
    with pytest.raises(ArgumentError, match=r"cell\.surfaces is empty"):
        start()
    with pytest.raises(ArgumentError, match=r"cell.arms\[1\].contact.face is missing: .*'right'"):
        start(table(), "cell.arms.1.contact.face=~")
