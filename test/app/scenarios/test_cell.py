# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Contacts and surfaces of scenarios become those of the formulation."""

import numpy as np
import pytest
from app.scenarios.hybrid_scenarios import prepared
from scipy.spatial.transform import Rotation

from robot_dynamics.app.scenarios.cell import (
    build_system,
    pose_matrix,
    surface_facts,
    surface_rows,
    wrench_maps,
)
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.description import Part, load_description, place, write_mjcf
from robot_dynamics.description.diagnosis import DescriptionError
from robot_dynamics.dynamics.inertia_matrix import inertia_matrix
from robot_dynamics.manipulation.hybrid import Environment, FrictionCone
from robot_dynamics.manipulation.hybrid.touched_surfaces import Sliding
from robot_dynamics.model.parameters import parameters_of
from robot_dynamics.scalar.functions import atan2


def test_contacts_have_the_kinds_and_the_friction_that_files_state():
    """Rigid grasps bear any force, palms only forces within friction."""
    _scenario, system, _, _ = prepared("tray")
    left, right = system.contacts
    assert left.kind == right.kind == "soft finger"
    assert left.limits == FrictionCone(0.5, 0.02)
    np.testing.assert_array_equal(left.pose, system.grasps[0])
    _, system, _, _ = prepared("wipe")
    assert [contact.limits for contact in system.contacts] == [None, None]


def test_surfaces_stand_one_after_the_other():
    """A hole has four forces and tells of none by itself; a plane has one, which is pushed."""
    scenario, _, held, _ = prepared("peg")
    assert surface_rows(scenario.cell) == {"hole": slice(0, 4), "bottom": slice(4, 5)}
    assert held.environment.touch_rows == (-1, -1, -1, -1, 4)
    rows, _ = surface_facts(scenario.cell)
    assert [row.pushed for row in rows] == [False] * 4 + [True]
    assert [row.unit for row in rows] == ["m", "m", "rad", "rad", "m"]
    assert held.environment.sliding == (None,) * 4 + (Sliding(0.1, (0.0, 0.0, -0.15)),)


OWN = """[{along: [0, 1, 0], point: [0.06, 0, 0]}, {along: [0, 0, 1], point: [0.06, 0, 0]},
          {about: [1, 0, 0]}, {about: [0, 1, 0]}, {about: [0, 0, 1]}]"""


def test_coordinates_of_a_file_are_those_of_the_library():
    """A wall and five functions of one's own, written down in a file and in Python."""
    rng = np.random.default_rng(1)
    held = prepared("wipe", f"cell.coordinates={OWN}")[2]
    pad = np.array([0.06, 0.0, 0.0]) - held.held.center
    library = Environment(
        prepared("wipe")[2].environment.surfaces,
        (
            lambda at: at.point(pad).y,
            lambda at: at.point(pad).z,
            lambda at: atan2(at.R.rows[2][1], at.R.rows[1][1]),
            lambda at: atan2(-at.R.rows[2][0], at.R.rows[0][0]),
            lambda at: at.roll_pitch_yaw()[2],
        ),
        own_coordinates=True,
    )
    assert held.environment.own_coordinates
    for _ in range(5):
        R = Rotation.from_rotvec(0.7 * rng.standard_normal(3)).as_matrix()
        state = rng.standard_normal(3), R, rng.standard_normal(6)
        for one, other in zip(
            vars(held.environment.terms(*state)).values(),
            vars(library.terms(*state)).values(),
            strict=True,
        ):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("cell.coordinates=[{along: [0, 1, 0]}]", "1 coordinates with surfaces of 1 forces"),
        ("cell.coordinates=[{along: [0, 0, 0]}]", r"direction \(0\.0, 0\.0, 0\.0\)"),
        ("cell.coordinates=[{beside: [0, 1, 0]}]", "beside"),
    ],
)
def test_coordinates_that_cannot_be_are_refused(override, sentence):
    """Too few of them, and one that is no surface; with the place."""
    with pytest.raises(DescriptionError, match=sentence) as refusal:
        load_scenario("wipe", [override])
    assert "cell" in str(refusal.value)


def test_coordinates_are_for_the_hybrid_law():
    """Other laws do not know of them, and say so."""
    six = "[{along: [1, 0, 0]}, " + OWN[1:]
    with pytest.raises(DescriptionError, match="coordinates, which the law 'gravity'"):
        load_scenario("lift_box", ["control.law=gravity", f"cell.coordinates={six}"])


@pytest.mark.parametrize("turned", [0.0, np.pi])
def test_forces_of_a_hinge_are_components_of_a_wrench(turned):
    """Of the wrench on it in its frame, whichever way the axis of the turning part points.

    Against the gradients of its functions: the work of a force in a small motion of the object.
    """
    rpy = [turned - np.pi / 2, 0.0, 0.0]
    scenario, _, held, _ = prepared("lid", f"cell.surfaces.0.part.rpy={rpy}")
    at = pose_matrix(scenario.cell.object)
    surface = scenario.cell.surfaces[0]
    center = at[:3, :3] @ held.held.center
    E = held.environment.terms(at[:3, 3] + center, at[:3, :3], np.zeros(6)).E_F
    axes = pose_matrix(surface)[:3, :3].T
    for i, row in enumerate(surface_facts(scenario.cell).rows):
        wrench = E[i].copy()  # about the centre of mass, in world axes
        wrench[:3] -= np.cross(at[:3, 3] - (at[:3, 3] + center), wrench[3:])
        expected = np.zeros(6)
        expected[row.component] = row.sign
        found = np.concatenate([axes @ wrench[:3], axes @ wrench[3:]])
        np.testing.assert_allclose(found, expected, atol=1e-12)
        assert row.force_unit == ("N" if row.component >= 3 else "N m")


def test_wrench_maps_are_those_of_the_contact_forces():
    """Over whole wrenches: they make the object's, measure internal forces, and none of the load.

    The object's centre of mass is 2.6 cm off its origin, about which the wrench is.
    """
    _, _, held, distribution = prepared("peg")
    maps = wrench_maps(held, distribution)
    m = len(distribution.names)
    np.testing.assert_allclose(maps.total @ maps.distribution, np.eye(6), atol=1e-12)
    np.testing.assert_allclose(maps.total @ maps.internal, np.zeros((6, m)), atol=1e-12)
    np.testing.assert_allclose(maps.recovery @ maps.internal, np.eye(m), atol=1e-12)
    np.testing.assert_allclose(maps.recovery @ maps.distribution, np.zeros((m, 6)), atol=1e-11)


@pytest.mark.parametrize(
    ("touches", "since"),
    [
        ("[]", "0 s"),
        ("[{surface: hinge, from_s: 0.5}]", "0 s"),
        ("[{surface: hinge, until_s: 2}, {surface: hinge, from_s: 2, until_s: 3}]", "3 s"),
        ("[{surface: hinge, until_s: 2}, {surface: hinge, from_s: 2}]", None),
    ],
)
def test_environment_joints_without_force_control_are_warned_of(touches, since):
    """A hinge holds from beginning to end; when control does not know of it is named."""
    warnings = load_scenario("lid", [f"reference.touches={touches}"]).warnings()
    assert len(warnings) == (since is not None)
    if since is not None:
        assert "on hinge 'hinge' from beginning to end, but" in warnings[0]
        assert f"does not have it from {since} on" in warnings[0]


def test_arms_and_object_can_be_mjcf(tmp_path):
    """A cell of MJCF files, the object free in its world, is the same closed system."""
    pytest.importorskip("mujoco")
    cell = load_scenario("lift_box").cell
    (robot,) = cell.robots
    write_mjcf(tmp_path / "arms.xml", load_description(robot.urdf))
    box = place([Part(load_description(cell.object.urdf), carrier="floating")], name="box")
    write_mjcf(tmp_path / "box.xml", box)
    same = load_scenario(
        "lift_box",
        [
            f"cell.robots=[{{urdf: {tmp_path / 'arms.xml'}, prefix: r_}}]",
            "cell.arms.0.tool=r_left_tool",
            "cell.arms.1.tool=r_right_tool",
            f"cell.object.urdf={tmp_path / 'box.xml'}",
        ],
    )
    one, other = (build_system(scenario).model for scenario in (load_scenario("lift_box"), same))
    q = one.neutral().tolist()
    H = [np.array(inertia_matrix(model, q, parameters_of(model))) for model in (one, other)]
    np.testing.assert_allclose(H[1], H[0], rtol=0.0, atol=1e-12)
    assert [loop.type.name for loop in other.loops] == [loop.type.name for loop in one.loops]
    assert np.array_equal(other.limits()["effort"], one.limits()["effort"])
