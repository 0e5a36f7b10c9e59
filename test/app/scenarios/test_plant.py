# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The simulated world of a scenario: contacts and true poses."""

from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from app.scenarios.hybrid_scenarios import prepared

from robot_dynamics.app.scenarios.cell import pose_matrix, true_system
from robot_dynamics.app.scenarios.plant import _variant, make_plant, scene_of
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.errors import ArgumentError
from robot_dynamics.manipulation.hybrid.touched_surfaces import Guided
from robot_dynamics.manipulation.settings import PoseSettings
from robot_dynamics.spatial import Vector3


def test_surfaces_are_where_they_truly_are():
    """The hole is 0.1 mm beside its believed place and askew, and 0.4 mm wider than the peg."""
    scenario, system, _, _ = prepared("peg")
    hole, bottom = scene_of(scenario, system).surfaces
    x, y, z = scenario.cell.surfaces[0].xyz
    # 1 cm below its mouth the axis, turned by -0.02 rad about y, is aside; its bottom is farther
    # away than its side.
    inside = Vector3(x + 0.0001 + 0.01 * np.sin(0.02), y, z - 0.01 * np.cos(0.02))
    assert hole.surface(inside) == pytest.approx(-0.0302)
    assert hole.surface(inside + Vector3(0.0, 0.0302, 0.0)) == pytest.approx(0.0, abs=1e-9)
    assert bottom.surface(Vector3(x, y, z - 0.05)) == pytest.approx(0.0, abs=1e-12)
    assert hole.material.stiffness == 1e5
    # Two rings about the peg, at its tip and where it ceases to be round.
    radii = np.hypot(hole.points[:, 0], hole.points[:, 1])
    np.testing.assert_allclose(radii, 0.03)
    assert sorted(set(np.round(hole.points[:, 2], 9))) == [-0.15, -0.13]


@pytest.mark.parametrize("joint_friction", ["smooth", "coulomb"])
def test_plants_that_differ_in_numbers_share_their_steps(joint_friction):
    """In turns they move as made anew, to the last bit; another grasp has its own steps."""
    scenario, system, _, _ = prepared("tray", f"plant.joint_friction={joint_friction}")
    coulomb = joint_friction == "coulomb"
    first = make_plant(scenario, system)
    plant = replace(
        scenario.plant, object_mass_scale=1.1, object_center_error=(0.01, 0.0, 0.0),
        gravity_tilt=(0.01, 0.02), damping_scale=1.5, friction_scale=0.5, friction_velocity=0.1,
    )  # fmt: skip
    own = replace(scenario, plant=plant)
    anew, shared = [
        make_plant(own, true_system(own, system), like=like) for like in (None, (scenario, first))
    ]
    alone = make_plant(scenario, system)
    steps = [each.engine.stepping for each in (anew, shared, first)]
    assert [each is steps[2] for each in steps] == [False, True, True]
    for each, fading, scale in ((first, 0.05, 1.0), (shared, 0.1, 0.5)):  # as in the settings
        bound = each.engine.stepping.step.laws.bound
        assert each.engine.stepping.friction.fading == (0.05 if coulomb else fading)
        expected = scale * first.drives.friction if coulomb else []
        np.testing.assert_allclose(bound[np.isfinite(bound)], expected)
    stuck = np.arange(len(system.joint_names)) == 3
    for i in range(20):
        for each in (anew, shared, first, alone):
            if i == 5 and each in (anew, shared):
                each.engine.stick(stuck)
            torque = each.drives.effort[: len(system.joint_names)] * 0.01
            each.step(torque, {"tray": [0.0, 0.0, 0.0, 0.0, 0.0, 3.0]} if i == 9 else None)
    assert anew.state_hash() == shared.state_hash() != first.state_hash() == alone.state_hash()
    for one, other in ((anew, shared), (alone, first)):
        assert np.array_equal(one.truth().values, other.truth().values)
        for report, same in zip(one.contacts(), other.contacts(), strict=True):
            assert np.array_equal(report.force, same.force)
    assert shared.engine.books() == anew.engine.books()
    # As `shared` takes the state of `anew`, `first` keeps its own.
    shared.state = anew.state
    assert np.array_equal(first.truth().values, alone.truth().values)
    moved = replace(plant, grasp_error={"left": PoseSettings(xyz=(0.0, 0.0, 1e-3))})
    other = replace(scenario, plant=moved)
    assert _variant(other, true_system(other, system), scenario, first) is None


def test_plants_that_share_their_steps_restore_forces_while_another_moves():
    """The forces of the restored state count, not those at the end of the last turn."""
    scenario, system, _, _ = prepared("wipe")
    first = make_plant(scenario, system)
    shared = make_plant(scenario, system, like=(scenario, first)).engine
    saved, before = shared.save(), shared.sensed()[2]
    shared.run(0.0, np.ones(len(system.joint_names)))
    assert np.abs(shared.sensed()[2] - before).max() > 1.0
    first.engine.sensed()
    shared.restore(saved)
    assert np.array_equal(shared.sensed()[2], before)


@pytest.mark.slow
def test_plants_that_share_their_steps_reach_stops_by_themselves():
    """The second one is at a stop when the first arrives; both move as made anew."""
    scenario, system, _, _ = prepared("tray")
    light = replace(scenario, plant=replace(scenario.plant, friction_scale=0.3, damping_scale=0.5))
    first, alone, anew = [make_plant(one, system) for one in (scenario, scenario, light)]
    shared = make_plant(light, system, like=(scenario, first))
    torque = np.zeros(len(system.joint_names))
    torque[[0, 7]] = 0.6 * first.drives.effort[[0, 7]]
    stopped = np.zeros(2, dtype=int)
    for _ in range(150):
        for each in (anew, shared, first, alone):
            each.step(torque)
        stopped += [each.engine._steps.stopped.at_stop for each in (first, shared)]
    assert 0 < stopped[0] < stopped[1]
    assert shared.state_hash() == anew.state_hash() != first.state_hash() == alone.state_hash()


def test_plants_that_share_programs_have_their_own_internal_forces():
    """The law defines them; a law of other contacts shares no programs."""
    scenario, system, _, _ = prepared("tray")
    first, control = make_plant(scenario, system), scenario.control
    force = replace(control.internal_force, basis="orthonormal")
    own = replace(scenario, control=replace(control, internal_force=force))
    plant = _variant(own, system, scenario, first)
    assert plant is not None
    shared, anew, other = [
        each.scene.grasp_map.internal_force(np.arange(12.0))
        for each in (plant, make_plant(own, system), first)
    ]
    assert np.array_equal(shared, anew)
    assert np.abs(shared - other).max() > 1.0
    impedance = copy(scenario)
    vars(impedance)["control"] = replace(control, law="impedance")
    assert _variant(impedance, system, scenario, first) is None


def test_grasps_have_the_friction_of_the_scenario():
    """Palms push; rigid grasps hold."""
    scenario, system, _, _ = prepared("tray")
    assert all(arm.pushing for arm in scene_of(scenario, system).contacts)
    scenario, system, _, _ = prepared("wipe")
    assert not any(arm.pushing for arm in scene_of(scenario, system).contacts)


@pytest.mark.parametrize(
    ("changes", "size", "stiffness"),
    [
        ([], (0.06, 0.015), 1e5),  # 3/2 of the torsional friction over the friction, in the face
        (["face=~"], (0.06, 0.06), 1e5),
        (["pad=[0.02, 0.01]", "pad_stiffness=3.0e+4"], (0.02, 0.01), 3e4),
        (["torsional_friction=0.0"], None, None),
    ],
)
def test_soft_fingers_have_pads(changes, size, stiffness):
    """Other contacts have none."""
    overrides = [f"cell.arms.0.contact.{change}" for change in changes]
    scenario, system, _, _ = prepared("tray", *overrides)
    pad = scene_of(scenario, system).contacts[0].pad
    if size is None:
        assert pad is None
    else:
        assert pad.size == pytest.approx(size)
        assert pad.stiffness == stiffness
    scenario, system, _, _ = prepared("three_arms")
    assert [one.pad for one in scene_of(scenario, system).contacts] == [None] * 3


def test_an_object_is_on_its_hinge_wherever_that_truly_is():
    """It starts where it is believed to be, and turns about an axis 2 mm from the believed one."""
    scenario, system, _, _ = prepared("lid")
    scene = scene_of(scenario, system)
    (hinge,) = scene.environment_joints
    assert (hinge.name, hinge.kind, scene.surfaces) == ("hinge", "hinge", ())
    x, y, z = scenario.cell.surfaces[0].xyz
    np.testing.assert_allclose(hinge.frame[:3, 3], [x + 0.002, y, z])
    # Its axis, y of the world, is turned by 0.005 rad about the frame's own y axis, which is down.
    np.testing.assert_allclose(hinge.frame[:3, 2], [np.sin(0.005), np.cos(0.005), 0.0], atol=1e-12)
    held = pose_matrix(scenario.cell.object)
    np.testing.assert_allclose(held @ hinge.part, hinge.frame, atol=1e-12)
    np.testing.assert_allclose(hinge.part[:3, 3], [0.002, 0.0, 0.0], atol=1e-12)


def test_a_hinge_resists_as_the_scenario_says():
    """Friction and damping reach the plant; without any it has none."""
    resistance = "cell.surfaces.0.resistance={friction: 1.5, damping: 0.4}"
    scenario, system, held, _ = prepared("lid", resistance)
    (hinge,) = scene_of(scenario, system).environment_joints
    assert (hinge.friction, hinge.damping) == (1.5, 0.4)
    assert held.environment.sliding == (Guided(), None, None, None, None)
    scenario, system, held, _ = prepared("lid")
    assert not scene_of(scenario, system).environment_joints[0].resists
    assert held.environment.sliding == (None,) * 5


def test_a_point_is_on_its_line_wherever_that_truly_is():
    """The point of the object is the nearest on the true line to where it is believed to be."""
    scenario, system, _, _ = prepared("drawer")
    first, second = scene_of(scenario, system).environment_joints
    held = pose_matrix(scenario.cell.object)
    for one, surface in zip((first, second), scenario.cell.surfaces, strict=True):
        assert one.kind == "line"
        there, believed = (held @ frame for frame in (one.part, pose_matrix(surface.part)))
        across = one.frame[:3, :2].T @ (there[:3, 3] - one.frame[:3, 3])
        np.testing.assert_allclose(across, 0.0, atol=1e-12)
        off = np.linalg.norm(there[:3, 3] - believed[:3, 3])
        assert 1e-4 < off < 3e-3


def with_damped_elbows(system, damping):
    """Return a system with viscous friction [N m s/rad] in joints that have no drives."""
    bodies = [
        replace(body, joint=replace(body.joint, damping=damping))
        if body.joint.name.endswith("joint_fore")
        else body
        for body in system.model.bodies
    ]
    return replace(system, model=replace(system.model, bodies=tuple(bodies)))


def test_arms_with_linkages_move_alike_in_both_engines():
    """Limp arms with a parallelogram each, and the cube between them, over 50 ms.

    MuJoCo is of first order: 0.4 % of the motion and 0.3 % of the wrists' forces are measured.
    Friction of joints without drives changes the motion alike in both. Where joints without
    drives are is where the linkages have them with the drives there: to rounding in our plant,
    whose loops are projected, to 0.1 % of their motion in MuJoCo, whose loops are springs.
    """
    pytest.importorskip("mujoco")
    scenario, system, _, _ = prepared("parallelogram_arms")
    ends = []
    passive_joints = [
        system.model.q_slices[system.model.joint_index(n)].start
        for n in system.passive_joint_names
    ]
    resting = system.positions(system.posture)[passive_joints]
    for damping in (0.0, 2.0):
        seen = []
        for engine in ("engine", "mujoco"):
            plant = make_plant(
                replace(scenario, plant=replace(scenario.plant, engine=engine)),
                with_damped_elbows(system, damping),
            )
            start = plant.reset()
            for _ in range(25):
                last = plant.step(np.zeros(len(start.q)))
            seen.append(last)
            linkages = system.positions(last.q)[passive_joints]
            turned = np.abs(linkages - resting).max()
            assert turned > 1e-3
            part = 1e-9 if engine == "engine" else 1e-3
            np.testing.assert_allclose(plant.passive_joints()[0], linkages, atol=part * turned)
        ours, theirs = seen
        moved = np.abs(ours.q - start.q).max()
        assert moved > 2e-3
        np.testing.assert_allclose(theirs.q, ours.q, atol=0.01 * moved)
        largest = np.abs(ours.wrenches).max()
        np.testing.assert_allclose(theirs.wrenches, ours.wrenches, atol=0.01 * largest)
        ends.append((ours.q, theirs.q))
    of_ours, of_theirs = np.subtract(ends[1], ends[0])
    change = np.abs(of_ours).max()
    assert change > 0.01 * moved
    np.testing.assert_allclose(of_theirs, of_ours, atol=0.05 * change)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("xyz=[0.86, 0.0, 0.92]", "is 0.03 m off hinge 'hinge', expected 0.01 at most"),
        ("rpy=[-1.5, 0.0, 0.0]", "is 0.0708 rad off hinge 'hinge'"),
        (["xyz=[0.88, 0.0, 0.95]", "rpy=[-1.2, 0.0, 0.0]"], "is 0.02 m and 0.371 rad off hinge"),
        (
            "friction=0.2",
            "hinge with a coefficient of friction 0.2, which the plant does",
        ),
    ],
)
def test_hinges_that_cannot_be_simulated_are_refused(override, message):
    """Those that the object is not on, and those with a coefficient of friction."""
    overrides = [override] if isinstance(override, str) else override
    scenario = load_scenario("lid", [f"cell.surfaces.0.{one}" for one in overrides])
    with pytest.raises(ArgumentError, match=message):
        scene_of(scenario, prepared("lid")[1])
