# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Runs of tasks whose arms have grippers: they take the object where it is, or nothing."""

import numpy as np
import pytest

from robot_dynamics.app.runs.run import Preparation, simulate
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.errors import ArgumentError
from robot_dynamics.resources import ResourceNotFoundError, resolve_package_uri

try:
    resolve_package_uri("package://example-robot-data/robots/")
except ResourceNotFoundError:
    pytest.skip("example-robot-data is not installed", allow_module_level=True)

FAST = [
    "task.0.approach={distance_m: 0.03, speed: 0.2, velocity_fraction: 0.3}",
    "task.1.grasp={squeeze_n: 20.0, touch_within_m: 0.005, squeeze_s: 0.2, close_s: 0.1, "
    "on_failure: retreat}",
    "task.2.lift={height_m: 0.02, unload_s: 0.2}",
    "task.3.carry.segments=[{duration_s: 0.4, move: [0.01, 0.0, 0.0]}]",
    "task.4.put_down={on: table, touch_within_m: 0.003, touch_speed: 0.005, load_s: 0.2}",
    "task.5.release={distance_m: 0.03, speed: 0.2, open_s: 0.1}",
    "task.6.move={to: home, velocity_fraction: 0.3}",
]
PREPARATION = Preparation()


def run(*overrides):
    """Return a run of the task of `pick_and_place_panda`, and the reason why it ended early."""
    scenario = load_scenario("pick_and_place_panda", [*FAST, *overrides])
    found = simulate(scenario, preparation=PREPARATION).recording
    return found, found.get("task_failure")


def test_grippers_take_the_object_where_it_is():
    """5 mm beside its place: it keeps that distance on the way, and is not pulled at.

    Its weight presses it 74 um into the table. As its weight is not where it was expected, it has
    risen by 0.6 mm when all of the weight is taken over, and is lifted from there.
    """
    found, failure = run("plant.object_error={xyz: [0.003, 0.004, 0.0]}")
    assert failure == ""
    truth, gaps = found["object_pose"], found["grasp_gap"]
    np.testing.assert_allclose(truth[0, :3], [0.003, 0.004, 0.19], atol=1e-4)
    np.testing.assert_allclose(truth[-1, :3], truth[0, :3] + [0.01, 0.0, 0.0], atol=2e-5)
    assert truth[:, 2].max() == pytest.approx(0.2105, abs=6e-4)
    names, phase = found.get("phases"), found["phase"].ravel()
    grasp = truth[phase == names.index("grasp"), :3]
    np.testing.assert_allclose(grasp, np.tile(truth[0, :3], (len(grasp), 1)), atol=1e-6)
    assert not gaps[phase == names.index("carry")].any()
    assert gaps[-1].min() > 0.03


def test_a_gripper_that_closes_on_nothing_ends_the_task():
    """2 cm away: the arms retreat, and the object stays where it is."""
    found, failure = run("plant.object_error={xyz: [0.02, 0.0, 0.0]}")
    assert "grasp: arm 'left' and 'right' gripped nothing" in failure
    assert np.ptp(found["object_pose"], axis=0).max() < 1e-9
    joints = found["joint_position"]
    np.testing.assert_allclose(joints[-1], joints[0], atol=1e-3)


def test_hands_are_alike():
    """Palms beside grippers, and other contacts, are refused."""
    one = "cell.arms.0.contact={kind: soft_finger, face: [0.1, 0.1]}"
    with pytest.raises(ArgumentError, match="contact of arm 'right' is rigid"):
        run(one)
    with pytest.raises(ArgumentError, match="contact of arm 'right' is of another kind"):
        run(one, "cell.arms.1.contact={kind: pin}")
