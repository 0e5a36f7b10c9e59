# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Drives of the arms: settings, gravity compensation, missing commands."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from sensor_msgs.msg import JointState
from waiting import wait_until

from robot_dynamics.app.recordings.recording import Recording
from robot_dynamics.app.scenarios.cell import build_system
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.control.faults import SafetyError
from robot_dynamics.manipulation.settings import DriveSettings
from robot_dynamics.nodes.drives import (
    CommandGate,
    DriveGravityCompensation,
    DriveProperties,
    EarlierRunFilter,
    OneTopicFilter,
    SimulatedDrives,
)
from robot_dynamics.nodes.joint_commands import CommandError
from robot_dynamics.robot import Robot

ARMS = load_scenario("lift_box").cell.arms
VALUES = {"drives_compensate_gravity": False, "on_command_timeout": "brake"}


def with_drives(*drives):
    """Return the arms with drives of these settings."""
    return [replace(arm, drive=drive) for arm, drive in zip(ARMS, drives, strict=True)]


@pytest.fixture
def speakers(ros):
    """Return a listener, and a function that lets a node of some name speak."""
    nodes = [ros.create_node("listener")]

    def speak(name, topic):
        nodes.append(ros.create_node(name))
        nodes[-1].create_publisher(JointState, topic, 10)
        wait_until(
            lambda: (
                [info.node_name for info in nodes[0].get_publishers_info_by_topic(f"/{topic}")]
                == [name]
            )
        )

    yield nodes[0], speak
    for node in nodes:
        node.destroy_node()


def test_parameters_are_of_all_arms():
    """Unless the scenario says something else of one."""
    facts = DriveProperties(ARMS, VALUES | {"drives_compensate_gravity": True}, ())
    assert facts.compensate_gravity == ("left", "right")
    assert facts.without_commands == {"left": "brake", "right": "brake"}
    assert not facts.any_holds
    assert facts.guard("automatic") == "none"
    arms = with_drives(DriveSettings(False, "hold"), DriveSettings())
    facts = DriveProperties(arms, VALUES | {"drives_compensate_gravity": True}, ())
    assert facts.compensate_gravity == ("right",)
    assert facts.without_commands == {"left": "hold", "right": "brake"}
    assert facts.any_holds
    assert [facts.guard(wish) for wish in ("automatic", "none", "wanted")] == [
        *("required", "none", "wanted")
    ]


def test_a_scenario_may_state_drive_properties():
    """And is refused if it says something else than drives do."""
    key = "cell.arms.0.drive"
    read = load_scenario("lift_box", [f"{key}.without_commands=hold"]).cell.arms
    assert [arm.drive.without_commands for arm in read] == ["hold", None]
    read = load_scenario("lift_box", [f"{key}.compensates_gravity=true"]).cell.arms
    assert [arm.drive.compensates_gravity for arm in read] == [True, None]
    for wrong in ("without_commands=holds", "compensates_gravity=3", "compensate_gravity=true"):
        with pytest.raises(Exception, match=wrong.partition("=")[0]):
            load_scenario("lift_box", [f"{key}.{wrong}"])


def test_drives_of_simulators_need_no_statement(speakers):
    """Nor does silence: a start without joint states is refused for that."""
    listener, speak = speakers
    unsaid = DriveProperties(ARMS, VALUES, ())
    assert unsaid.require_known(listener, ["joint_states"])
    speak("simulator", "joint_states")
    assert unsaid.require_known(listener, ["joint_states"])


def test_drives_of_real_arms_need_a_statement(speakers):
    """The sentence names the node, and the missing data with their arms."""
    listener, speak = speakers
    speak("left_driver", "left_states")
    said = ["drives_compensate_gravity"]
    with pytest.raises(SafetyError) as caught:
        DriveProperties(ARMS, VALUES, said).require_known(listener, ["left_states"])
    assert str(caught.value) == (
        "start refused: joint states on /left_states come from 'left_driver', no simulator; "
        "expected the parameters on_command_timeout, or `drive` of the arms left, right in the "
        "scenario."
    )
    half = with_drives(DriveSettings(None, "zero"), DriveSettings())
    with pytest.raises(SafetyError, match="`drive` of the arms right"):
        DriveProperties(half, VALUES, said).require_known(listener, ["left_states"])
    whole = with_drives(DriveSettings(True, "zero"), DriveSettings(False, "hold"))
    assert DriveProperties(whole, VALUES, ()).require_known(listener, ["left_states"])
    assert DriveProperties(ARMS, VALUES, VALUES).require_known(listener, ["left_states"])


def test_a_node_whose_name_is_not_known_yet(speakers, monkeypatch):
    """Discovery takes a moment: nothing is said about it before."""
    listener, speak = speakers
    speak("driver", "states")
    (info,) = listener.get_publishers_info_by_topic("/states")
    info.node_name = "_NODE_NAME_UNKNOWN_"
    monkeypatch.setattr(listener, "get_publishers_info_by_topic", lambda topic: [info])
    assert not DriveProperties(ARMS, VALUES, ()).require_known(listener, ["states"])


def test_gravity_of_the_arms_alone():
    """Compensated by the drives: the inverse dynamics at rest, without the held object."""
    system = build_system(load_scenario("lift_box"))
    q = system.posture + 0.1
    gravity = DriveGravityCompensation(system, ["left", "right"], lambda: q)
    torque = np.arange(14.0)
    command = gravity.to_commands(torque)
    # The tree alone: the object floats beside the arms and loads no joint.
    at = system.model.neutral()
    at[system.q_index] = q
    still = np.zeros(system.model.nv)
    expected = Robot(system.model).inverse_dynamics(at, still, still)[system.v_index]
    # Two algorithms: rounding of torques of up to 100 N m.
    np.testing.assert_allclose(torque - command, expected, rtol=0, atol=1e-11)
    assert np.abs(expected).max() > 10.0
    np.testing.assert_allclose(gravity.to_torques(command), torque, rtol=0, atol=1e-13)
    right = gravity.to_arm_torques("right", command[7:])
    np.testing.assert_allclose(right, torque[7:], rtol=0, atol=1e-13)
    assert gravity.to_arm_torques("right", command[:3]) is not right
    np.testing.assert_array_equal(gravity.to_arm_torques("right", command[:3]), command[:3])


def test_other_drives_get_the_whole_torque():
    """To the last bit, and without a look at the positions."""
    system = build_system(load_scenario("lift_box"))
    gravity = DriveGravityCompensation(system, [], lambda: pytest.fail("not wanted"))
    torque = np.arange(14.0)
    assert gravity.to_commands(torque) is torque
    assert gravity.to_torques(torque) is torque
    assert gravity.to_arm_torques("left", torque[:7]).tolist() == torque[:7].tolist()


def test_one_arm_of_two():
    """The other arm's command is unchanged."""
    system = build_system(load_scenario("lift_box"))
    q, torque = system.posture + 0.1, np.arange(14.0)
    both = DriveGravityCompensation(system, ["left", "right"], lambda: q).to_commands(torque)
    right = DriveGravityCompensation(system, ["right"], lambda: q)
    np.testing.assert_array_equal(right.to_commands(torque)[:7], torque[:7])
    np.testing.assert_array_equal(right.to_commands(torque)[7:], both[7:])
    np.testing.assert_array_equal(right.to_arm_torques("left", torque[:7]), torque[:7])
    assert not right.added(q)[:7].any()


def test_with_both_sides(start_node, tmp_path):
    """The joints get the controller's torque, although the commands are without gravity."""
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


TORQUE = np.array([1.0, -2.0])
SLICES, BOTH = (slice(0, 1), slice(1, 2)), (0, 1)


def after(drives, periods):
    """Return the drives' torques in the last of some periods without a command."""
    for _ in range(periods):
        torque = drives.next()
    return torque


@pytest.mark.parametrize("behaviour", ["brake", "zero", "hold"])
def test_brakes_hold_until_the_first_command(behaviour):
    """Nothing falls because the controller starts late."""
    drives = SimulatedDrives(SLICES, [behaviour] * 2, timeout_periods=3)
    assert after(drives, 100) is None
    assert drives.braked
    assert not drives.timed_out
    drives.command(TORQUE, BOTH)
    assert drives.next().tolist() == TORQUE.tolist()
    assert not drives.braked


@pytest.mark.parametrize("behaviour", ["brake", "zero", "hold"])
def test_the_last_torque_is_held_for_the_timeout(behaviour):
    """A command that comes a little late does no harm."""
    drives = SimulatedDrives(SLICES, [behaviour] * 2, timeout_periods=3)
    drives.command(TORQUE, BOTH)
    assert after(drives, 3).tolist() == TORQUE.tolist()
    assert not drives.timed_out


def test_brakes_stay_on_until_a_reset():
    """A controller that comes back must not move arms that it does not know."""
    drives = SimulatedDrives(SLICES, ["brake"] * 2, timeout_periods=3)
    drives.command(TORQUE, BOTH)
    assert after(drives, 4) is None
    assert drives.timed_out
    drives.command(TORQUE, BOTH)
    assert drives.next() is None
    drives.reset()
    drives.command(TORQUE, BOTH)
    assert drives.next() is not None


def test_zero_torque_ends_with_a_new_command():
    """The arms fall, as they do with such a drive."""
    drives = SimulatedDrives(SLICES, ["zero"] * 2, timeout_periods=3)
    drives.command(TORQUE, BOTH)
    assert after(drives, 4).tolist() == [0.0, 0.0]
    assert drives.timed_out
    drives.command(TORQUE, BOTH)
    assert drives.next().tolist() == TORQUE.tolist()
    assert not drives.timed_out


def test_a_forwarding_drive_holds_the_last_torque_for_ever():
    """But it is known that commands have stopped."""
    drives = SimulatedDrives(SLICES, ["hold"] * 2, timeout_periods=3)
    drives.command(TORQUE, BOTH)
    assert after(drives, 1000).tolist() == TORQUE.tolist()
    assert drives.timed_out


@pytest.mark.parametrize(
    ("behaviour", "left", "right"),
    [("brake", None, None), ("zero", 5.0, 0.0), ("hold", 5.0, -2.0)],
)
def test_one_arm_without_commands(behaviour, left, right):
    """The other one still obeys commands, unless brakes hold both."""
    drives = SimulatedDrives(SLICES, [behaviour] * 2, timeout_periods=3)
    drives.command(TORQUE, BOTH)
    for _ in range(10):
        drives.command(5.0 * abs(TORQUE), [0])
        torque = drives.next()
    assert drives.timed_out
    assert not drives.is_silent(0)
    if left is None:
        assert torque is None
    else:
        assert torque.tolist() == [left, right]
        assert drives.is_silent(1)
        drives.command(TORQUE, BOTH)
        assert not drives.timed_out


def test_every_drive_has_a_behaviour_of_its_own():
    """Commands stop: one keeps its last torque for ever, the other has none."""
    drives = SimulatedDrives(SLICES, ["hold", "zero"], timeout_periods=3)
    drives.command(np.arange(1.0, SLICES[-1].stop + 1.0), [0, 1])
    for _ in range(10):
        torque = drives.next()
    assert torque[SLICES[0]].all()
    assert not torque[SLICES[1]].any()


def test_commands_of_an_earlier_run():
    """They are told by numbers that are ahead; time may catch up with the last of them."""
    earlier = EarlierRunFilter()
    assert not earlier.refuses("left", 0, 0)  # of somebody who does not number what he sends
    assert earlier.number is None
    assert earlier.refuses("left", 500, 3)
    assert earlier.number == 500
    assert earlier.refuses("left", 501, 3)  # it had one more state to answer
    assert earlier.refuses("left", 501, 800)
    assert not earlier.refuses("right", 501, 800)
    assert not earlier.refuses("left", 799, 800)
    assert earlier.number is None
    assert not earlier.refuses("left", 2**32 - 1, 2**32)  # numbers begin anew
    assert earlier.refuses("left", 1, 2**32)


LEFT, RIGHT = np.array([1.0, 2.0]), np.array([3.0])


@pytest.fixture
def gate():
    """Return the gate for arms of two joints and of one."""
    return CommandGate(["left", "right"], [slice(0, 2), slice(2, 3)])


def test_a_step_waits_for_all_arms(gate):
    """In whatever order their commands come."""
    assert not gate.complete
    assert not gate.incomplete
    gate.take("right", 0, RIGHT)
    assert not gate.complete
    assert gate.incomplete
    assert gate.missing == ("left",)
    assert gate.arrived == (1,)
    gate.take("left", 0, LEFT)
    assert gate.complete
    assert gate.torque.tolist() == [1.0, 2.0, 3.0]


def test_only_commands_of_the_tick_count(gate):
    """Late repetitions of an earlier answer change nothing; numbers wrap at 2^32."""
    gate.expect(1)
    gate.take("left", 0, LEFT)
    assert gate.missing == ("left", "right")
    assert not gate.torque.any()
    gate.expect(2**32 + 5)
    gate.take("left", 5, LEFT)
    assert gate.missing == ("right",)


def test_an_empty_command_leaves_the_arm_to_its_drive(gate):
    """The step does not wait for it, and its last torque stays."""
    gate.take("left", 0, LEFT)
    gate.expect(1)
    gate.take("left", 1, np.zeros(0))
    gate.take("right", 1, RIGHT)
    assert gate.complete
    assert gate.torque.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("torque", "words"),
    [
        (np.ones(3), "left/commands: 3 torques; expected 2 or none."),
        (np.array([1.0, np.nan]), "left/commands: torque 1 is nan; expected a finite number."),
        (np.array([np.inf, 0.0]), "left/commands: torque 0 is inf; expected a finite number."),
    ],
)
def test_a_bad_command_is_refused_as_a_whole(gate, torque, words):
    """One sentence names the error, and nothing of the command is taken."""
    with pytest.raises(CommandError) as caught:
        gate.check("left", torque)
    assert str(caught.value) == words
    assert not gate.torque.any()
    assert gate.missing == ("left", "right")


def test_a_reset_goes_back_to_the_start(gate):
    """After a reset of the simulator the commands of tick 0 are awaited."""
    gate.take("left", 0, LEFT)
    gate.expect(1)
    gate.reset()
    assert gate.tick == 0
    assert gate.missing == ("left", "right")
    assert not gate.torque.any()


def test_one_topic_at_a_time_commands_an_arm():
    """The first one, until it is silent for longer than stated; each arm by itself."""
    topic = OneTopicFilter(0.05)
    topic.require("left", "left/commands", 1.0)
    topic.require("right", "joint_commands", 1.0)
    words = "joint_commands: a command for arm 'left', which is commanded on left/commands as well"
    for now in (1.0, 1.0 + 0.05 * 0.99):
        with pytest.raises(CommandError, match=words):
            topic.require("left", "joint_commands", now)
    topic.require("left", "left/commands", 1.04)
    with pytest.raises(CommandError):
        topic.require("left", "joint_commands", 1.08)
    topic.require("left", "joint_commands", 1.04 + 0.05 * 1.01)
    with pytest.raises(CommandError, match="commanded on joint_commands as well"):
        topic.require("left", "left/commands", 1.1)
