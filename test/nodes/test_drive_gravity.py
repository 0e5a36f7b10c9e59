# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Drives that hold their arm up get commands without that torque."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from robot_dynamics.app.recording import Recording
from robot_dynamics.app.scenario import build_system, load_scenario
from robot_dynamics.nodes.drives import DriveGravity
from robot_dynamics.robot import Robot


def test_gravity_of_the_arms_alone():
    """What is left out is the inverse dynamics at rest, without the held object."""
    system = build_system(load_scenario("lift_box"))
    q = system.posture + 0.1
    gravity = DriveGravity(system, ["left", "right"], lambda: q)
    torque = np.arange(14.0)
    command = gravity.commanded(torque)
    # The tree alone: the object floats beside the arms and loads no joint.
    at = system.model.neutral()
    at[system.q_index] = q
    still = np.zeros(system.model.nv)
    expected = Robot(system.model).inverse_dynamics(at, still, still)[system.v_index]
    # Two algorithms: rounding of torques of up to 100 N m.
    np.testing.assert_allclose(torque - command, expected, rtol=0, atol=1e-11)
    assert np.abs(expected).max() > 10.0
    np.testing.assert_allclose(gravity.made(command), torque, rtol=0, atol=1e-13)
    right = gravity.made_of("right", command[7:])
    np.testing.assert_allclose(right, torque[7:], rtol=0, atol=1e-13)
    assert gravity.made_of("right", command[:3]) is not right
    np.testing.assert_array_equal(gravity.made_of("right", command[:3]), command[:3])


def test_other_drives_get_the_whole_torque():
    """To the last bit, and without a look at the positions."""
    system = build_system(load_scenario("lift_box"))
    gravity = DriveGravity(system, [], lambda: pytest.fail("not wanted"))
    torque = np.arange(14.0)
    assert gravity.commanded(torque) is torque
    assert gravity.made(torque) is torque
    assert gravity.made_of("left", torque[:7]).tolist() == torque[:7].tolist()


def test_one_arm_of_two():
    """What the other one is told is left as it is."""
    system = build_system(load_scenario("lift_box"))
    q, torque = system.posture + 0.1, np.arange(14.0)
    both = DriveGravity(system, ["left", "right"], lambda: q).commanded(torque)
    right = DriveGravity(system, ["right"], lambda: q)
    np.testing.assert_array_equal(right.commanded(torque)[:7], torque[:7])
    np.testing.assert_array_equal(right.commanded(torque)[7:], both[7:])
    np.testing.assert_array_equal(right.made_of("left", torque[:7]), torque[:7])
    assert not right.added(q)[:7].any()


def test_with_both_sides(start_node, tmp_path):
    """The joints get what the controller meant, although the commands are without gravity."""
    files = {name: tmp_path / f"{name}.npz" for name in ("simulator", "controller")}
    nodes = [
        start_node(name, output=str(file), duration=0.4, drives_compensate_gravity=True)
        for name, file in files.items()
    ]
    for node in nodes:
        node.wait_for("done", 60.0)
    run = Recording.load(files["simulator"]).merged(Recording.load(files["controller"]))
    # What is taken off and put back leaves rounding; the plant delays commands by a period.
    late, meant = run["applied_torque"][2:], run["commanded_torque"][:-2]
    np.testing.assert_allclose(late, meant, rtol=0, atol=1e-11)
    assert "fault" not in run.metadata
    error = run["object_pose"][:, :3] - run["reference_pose"][:, :3]
    assert np.abs(error).max() < 1e-5  # as without such drives, see the scenario's thresholds
