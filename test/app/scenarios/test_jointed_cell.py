# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A cell whose object has a joint, as a grasp system and as Unseren's model."""

import numpy as np
import pytest

from robot_dynamics.app.runs.run import simulate
from robot_dynamics.app.scenarios.cell import (
    build_system,
    jointed_system,
    loop_joint,
    tree_joint,
    true_system,
)
from robot_dynamics.app.scenarios.laws import make_law
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.description.diagnosis import DescriptionError
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.manipulation.settings import ObjectJointSettings

KINDS = {"spherical": 3, "universal": 2, "revolute": 1, "prismatic": 1, "cylindrical": 2}


@pytest.mark.parametrize("kind", [*KINDS, "fixed"])
def test_objects_of_every_kind(kind):
    """Both models have as many constraints as the joint leaves motions out of six."""
    override = f"cell.object.joint.type={kind}"
    scenario = load_scenario("fold", [override, "reference.fold=[]", "reference.force=[]"])
    system = build_system(scenario)
    blocked = 6 - KINDS.get(kind, 0)
    assert len(system.internal_axes) == blocked
    assert system.model.constraint_count == 12 + blocked
    jointed = jointed_system(scenario.cell, system)
    assert jointed.constraints == blocked
    for part, body in zip(jointed.parts, system.object_bodies, strict=True):
        np.testing.assert_array_equal(
            part.inertia.components(), system.model.bodies[body].inertia.components()
        )


def test_the_axis_of_a_joint_is_the_same_in_both():
    """A loop joint acts along z of its frame, a joint of a tree along its axis."""
    settings = ObjectJointSettings("revolute", "x.urdf", (0.1, 0.2, 0.3), axis=(0.0, 2.0, 0.0))
    tree, loop = (make(settings, ("a", "b")) for make in (tree_joint, loop_joint))
    np.testing.assert_allclose(loop.predecessor_pose[:3, 2], [0.0, 1.0, 0.0], atol=1e-15)
    np.testing.assert_allclose(loop.predecessor_pose, tree.placement @ loop.successor_pose)


def test_the_mass_of_an_object_is_that_of_both_parts():
    """The plant's is scaled as a whole."""
    scenario = load_scenario("fold", ["cell.object.mass=6.0", "plant.object_mass_scale=1.5"])
    believed, true = build_system(scenario), true_system(scenario)
    assert believed.object_mass == pytest.approx(6.0)
    assert true.object_mass == pytest.approx(9.0)
    jointed = jointed_system(scenario.cell, believed)
    assert sum(part.inertia.mass for part in jointed.parts) == pytest.approx(6.0)


@pytest.mark.parametrize(
    ("scenario", "override", "sentence"),
    [
        ("fold", "control.law=hybrid", "expected 'jointed'"),
        ("lift_box", "control.law=jointed", "expected 'hybrid'"),
        ("lift_box", "reference.fold=[{duration_s: 1.0}]", "no joint"),
        ("fold", "cell.object.joint.axis=[0, 0, 0]", r"axis.*\(0\.0, 0\.0, 0\.0\)"),
    ],
)
def test_laws_and_objects_that_do_not_go_together(scenario, override, sentence):
    """One sentence has the value found and the value expected."""
    with pytest.raises(DescriptionError, match=sentence):
        load_scenario(scenario, [override])


def test_an_object_of_two_parts_needs_two_arms():
    """One for each."""
    scenario = load_scenario("fold")
    from dataclasses import replace

    one = replace(scenario, cell=replace(scenario.cell, arms=scenario.cell.arms[:1]))
    with pytest.raises(RobotDynamicsError, match="one for each part"):
        build_system(one)


def test_a_run_is_as_long_as_the_fold():
    """The plan by which nodes count their periods is as long as the plan of the law."""
    for overrides in ([], ["reference.segments=[]"], ["reference.fold=[]"]):
        scenario = load_scenario("fold", overrides)
        law = make_law(scenario)
        assert scenario.plan().duration == pytest.approx(law.reference.duration)
        times = [0.0, 0.7, 1.9]
        np.testing.assert_allclose(
            scenario.plan().rows(times), law.reference.rows(times), atol=1e-9
        )


@pytest.mark.parametrize(("delay", "stable"), [(2, True), (3, False)])
def test_the_delay_that_the_servo_of_the_parts_does_not_bear(delay, stable):
    """A warning names the servo from the delay on with which a simulation diverges.

    At 250 rad/s the margin is 0.1 ms with two periods of 1 ms, and -0.9 ms with three. The
    model is right, so that the loop is the linear one.
    """
    gains = ["control.jointed.position_gain=62500", "control.jointed.velocity_gain=500"]
    scenario = load_scenario("fold", [*gains, f"plant.command_delay_periods={delay}"])
    warnings = scenario.warnings()
    assert [w.split(" servo ")[1].split(" ")[0] for w in warnings] == (
        [] if stable else ["control.jointed.position"]
    )
    report = simulate(scenario, duration=0.6).report
    # Stable: below 1e-6 m; unstable: grown by orders of magnitude, until the guard stops it.
    assert (report["object_position_error_max_m"] < 1e-4) == stable
    assert any("the controller stopped" in problem for problem in report["failures"]) != stable
