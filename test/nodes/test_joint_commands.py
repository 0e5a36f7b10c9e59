# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Commands by joint name: reading, refusing, sending, and the servos of simulated drives.

The contract is that of `joint_state_topic_hardware_interface` 1.1.0: a publisher with a queue of
one message on `joint_commands_topic`, all joints of its `ros2_control` tag by name, the values of
the command interfaces that the joints have, and the time of its own clock.
"""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from rclpy.qos import QoSCompatibility, QoSProfile, qos_check_compatible, qos_profile_sensor_data
from sensor_msgs.msg import JointState
from waiting import wait_until

from robot_dynamics.app.scenarios.cell import build_system, true_system
from robot_dynamics.app.scenarios.laws import control_loop
from robot_dynamics.app.scenarios.plant import make_plant
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.control.clock import SECOND, LockstepClock, WallClock, stamp_of
from robot_dynamics.nodes.command_output import CommandOutput
from robot_dynamics.nodes.command_topics import command_topics
from robot_dynamics.nodes.conversions import JointSample, joint_state_reader
from robot_dynamics.nodes.drives import DriveProperties
from robot_dynamics.nodes.joint_commands import (
    CommandError,
    JointCommand,
    answered_tick,
    joint_commands,
)
from robot_dynamics.nodes.joint_servos import JointServos
from robot_dynamics.nodes.parameters import ParameterError
from robot_dynamics.nodes.topics import STREAM, Inbox
from robot_dynamics.robot import Robot

SCENARIO = load_scenario("lift_box")
SYSTEM, PERIOD = build_system(SCENARIO), SCENARIO.control.period
ARMS = {arm.name: arm.joints for arm in SYSTEM.arms}
LEFT, RIGHT = ARMS.values()
NONE = np.zeros(0)


def sample(names, position=NONE, velocity=NONE, effort=NONE, stamp=0):
    """Return the content of a message."""
    values = (np.array(x, dtype=float) for x in (position, velocity, effort))
    return JointSample(stamp, list(names), *values)


def test_joints_are_matched_by_name():
    """In any order, of one arm or of both; empty fields stay empty."""
    names = [*reversed(RIGHT), *LEFT]
    effort = [*range(6, -1, -1), *range(10, 17)]
    left, right = joint_commands(sample(names, effort=effort), ARMS)
    assert (left.arm, right.arm) == ("left", "right")
    assert left.effort.tolist() == list(range(10, 17))
    assert right.effort.tolist() == list(range(7))
    assert left.position.size == left.velocity.size == 0
    assert not left.moves
    (only,) = joint_commands(sample(RIGHT, position=range(7), velocity=np.ones(7)), ARMS)
    assert (only.arm, only.position.tolist()) == ("right", list(range(7)))
    assert only.effort.size == 0
    assert only.moves
    (named,) = joint_commands(sample(LEFT), ARMS)  # a released arm
    assert named.effort.size == 0


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (sample([]), "joint none is named; expected joints of left, right alone."),
        (sample(LEFT[:6], effort=range(6)), f"{LEFT[6]!r} is missing; expected all 7 joints of"),
        (sample([*LEFT, "left_finger"], effort=range(8)), "joint 'left_finger' is named"),
        (sample(["finger"], effort=[1.0]), "joint 'finger' is named"),
        (sample([*LEFT, LEFT[2]], effort=range(8)), f"joint {LEFT[2]!r} occurs twice"),
        (sample(LEFT, effort=range(6)), "6 values of effort for 7 joints; expected one for each"),
        (sample(LEFT, position=range(8)), "8 values of position for 7 joints"),
        (sample(LEFT, velocity=[0, np.inf, *range(5)]), f"velocity of joint {LEFT[1]!r} is inf"),
        # Before a controller of ros2_control is active its commands are NaN.
        (sample(LEFT, effort=[np.nan] * 7), f"effort of joint {LEFT[0]!r} is nan"),
    ],
)  # fmt: skip
def test_wrong_commands_are_refused_as_a_whole(wrong, words):
    """With the joint or the field, and the expected value."""
    with pytest.raises(CommandError) as caught:
        joint_commands(wrong, ARMS)
    assert str(caught.value).startswith("joint_commands: ")
    assert words in str(caught.value)


def test_stamps_of_simulated_time_are_ticks():
    """Those of the system's clock are none: any tick is answered by them."""
    for tick in (0, 1, 7, 123456):
        assert answered_tick(sample(LEFT, stamp=stamp_of(tick, PERIOD)), PERIOD) == tick
    assert answered_tick(sample(LEFT, stamp=1_790_000_000 * SECOND), PERIOD) == 0
    assert answered_tick(sample(LEFT, stamp=-SECOND), PERIOD) == 0


@pytest.mark.parametrize(
    ("interfaces", "words"),
    [
        (["torque"], "some of position, velocity, effort, each once, or nothing"),
        (["effort", "effort"], "each once"),
        (["position"], "effort alone: only a controller with the law admittance"),
    ],
)
def test_interfaces_that_a_node_cannot_command_are_refused(ros, interfaces, words):
    """Before it publishes anything."""
    with pytest.raises(ParameterError, match="command_interfaces") as caught:
        command_topics(None, SYSTEM, None, interfaces, WallClock(PERIOD), positions=False)
    assert words in str(caught.value)
    with pytest.raises(ParameterError, match="in lockstep the simulator waits for"):
        command_topics(None, SYSTEM, None, ["position"], LockstepClock(PERIOD), positions=True)


def names_of(topics):
    """Return the names of the topics on which commands are published."""
    return [publisher.topic_name for publisher in topics._publishers]


@pytest.fixture
def commander(ros):
    """Return a function that makes a publisher by its setting, and one that hears it."""
    node, heard = ros.create_node("commander"), []
    inbox, made = Inbox(node), []
    # The hardware interface's own queue has one message, too.
    inbox.subscribe(
        JointState, "joint_commands", heard.append, QoSProfile(depth=1), awaited=True,
        reader=joint_state_reader(),
    )  # fmt: skip

    def make(interfaces, clock=WallClock, to_commands=lambda torque: torque, positions=True):
        made.append(
            command_topics(
                node, SYSTEM, to_commands, interfaces, clock(PERIOD), positions=positions
            )
        )
        if any(interfaces):
            wait_until(lambda: made[-1]._publishers[0].get_subscription_count() > len(made))
        return made[-1]

    def hear():
        wait_until(lambda: inbox.wait(0.05) or inbox.read(), words=lambda: heard)
        return heard.pop()

    yield make, hear
    for topics in made:
        topics.destroy()
    inbox.close()
    node.destroy_node()


def test_efforts_of_all_arms_are_one_message(commander):
    """With the stamp of the state that they answer; gravity of drives is left out."""
    make, hear = commander
    topics = make(["effort"], to_commands=lambda torque: torque - 1.0)
    assert names_of(topics) == ["/joint_commands"]
    assert np.isnan(topics.last()).all()
    assert topics.send(5, np.arange(14.0), (), {"position": np.zeros(14)})
    heard = hear()
    assert heard.names == [*LEFT, *RIGHT]
    assert heard.stamp == stamp_of(5, PERIOD)
    assert heard.effort.tolist() == list(range(-1, 13))
    assert heard.position.size == heard.velocity.size == 0
    wait_until(lambda: np.array_equal(topics.last(), np.arange(-1.0, 13.0)))
    # A released arm is not named, and keeps its last efforts.
    assert topics.send(6, np.zeros(14), ("left",), {})
    assert hear().names == list(RIGHT)
    wait_until(lambda: topics.last()[7:].tolist() == [-1.0] * 7)
    assert topics.last()[:7].tolist() == list(range(-1, 6))
    assert not topics.send(7, np.full(14, np.nan), (), {})
    topics.wait_for_delivery(1.0)


class HandClock(WallClock):
    """A clock that goes on by hand."""

    time = 0.0

    def now(self):
        """Return the time [ns]."""
        return round(self.time * SECOND)


def test_positions_and_velocities_for_drives_that_take_them(commander):
    """In the order of the setting; nothing before the first ones are known."""
    make, hear = commander
    topics = make(["velocity", "position"])
    assert names_of(topics) == [
        "/joint_commands",
        "/left/position_commands",
        "/right/position_commands",
    ]
    assert not topics.uses_torques
    points = {"position": np.arange(14.0), "velocity": -np.arange(14.0)}
    assert topics.send(2, np.zeros(14), ("right",), points)
    heard = hear()
    assert heard.names == list(LEFT)
    assert heard.position.tolist() == list(range(7))
    assert heard.velocity.tolist() == [-float(i) for i in range(7)]
    assert heard.effort.size == 0
    assert not topics.send(3, np.zeros(14), (), points | {"position": np.full(14, np.inf)})


@pytest.mark.parametrize("interfaces", [["velocity"], ["position", "velocity"]])
@pytest.mark.parametrize("who", ["its own", "another's"])
def test_joints_come_to_rest_without_set_points(commander, interfaces, who):
    """Drives keep the last velocity: it ends in 0.4 s, of this node or of one that has died."""
    make, hear = commander
    law, topics = make(interfaces, HandClock), make(interfaces, HandClock, positions=None)
    own = law if who == "its own" else topics
    start, speed = SYSTEM.posture, np.linspace(-0.2, 0.2, 14)
    law.send(1, np.zeros(14), (), {"position": start, "velocity": speed})
    hear()

    def heard():
        topics.last()
        return np.isfinite(topics._last["velocity"]).all()

    wait_until(heard)
    seen = []
    for own._clock.time in np.arange(0.0, 0.5, 0.02):
        assert own.send(1, np.zeros(14), (), {})
        seen.append(hear())
    rates = np.array([one.velocity for one in seen])
    np.testing.assert_allclose(rates[0], speed, atol=1e-12)
    assert (np.abs(np.diff(rates, axis=0)) <= 0.2 * np.abs(speed) + 1e-12).all()
    assert np.abs(rates[10]).max() > 0.02
    assert not rates[20:].any()
    if "position" in interfaces:
        moved = np.array([one.position for one in seen]) - start
        np.testing.assert_allclose(moved[-1], 0.2 * speed, atol=1e-12)
        middles = 0.5 * (rates[1:] + rates[:-1])
        np.testing.assert_allclose(np.diff(moved, axis=0), 0.02 * middles, atol=1e-4)
    own.forget()
    own.end(2)  # at once
    assert not hear().velocity.any()
    own._last["velocity"][:] = 1e300  # from a node that is wrong
    assert own.send(3, np.zeros(14), (), {})
    assert (np.abs(hear().velocity) <= SYSTEM.limits["velocity"]).all()
    own.forget()
    own._last["velocity"][:] = np.nan
    assert own.send(4, np.zeros(14), (), {})
    assert not hear().velocity.any()


def test_a_released_arm_is_named_without_values_in_lockstep(commander):
    """So that the simulator does not wait for it."""
    make, hear = commander
    topics = make(["effort"], LockstepClock)
    topics.send(2, np.zeros(14), ("left", "right"), {})
    heard = hear()
    assert heard.names == [*LEFT, *RIGHT]
    assert heard.effort.size == 0
    assert names_of(make([""])) == ["/left/commands", "/right/commands"] + [
        f"/{arm}/position_commands" for arm in ARMS
    ]


def test_qualities_of_service_match_the_hardware_interface():
    """Its commands are reliable, its states best effort; a best-effort commander is not heard."""

    def fit(offered, wanted):
        return qos_check_compatible(offered, wanted)[0] != QoSCompatibility.ERROR

    assert fit(QoSProfile(depth=1), STREAM)
    assert fit(STREAM, qos_profile_sensor_data)
    assert not fit(qos_profile_sensor_data, STREAM)


# -- servos of simulated drives ---------------------------------------------------------------


ROBOT, POSTURE, NV = Robot(SYSTEM.model), SYSTEM.posture, SYSTEM.model.nv


def run(command_of, periods):
    """Return displacements (n, na) of arms that follow commands of the left arm's joints.

    They move freely, by the articulated-body algorithm.
    """
    servos, found = JointServos(SYSTEM, PERIOD, held=False), []
    q, qd, v = POSTURE.copy(), np.zeros(14), SYSTEM.v_index
    for k in range(periods):
        for arm, own in zip(SYSTEM.arms, SYSTEM.arm_slices, strict=True):
            position, velocity = command_of(k * PERIOD) if own.start == 0 else (np.zeros(7), NONE)
            position = position + POSTURE[own] if position.size else position
            command = JointCommand(arm.name, position, velocity, NONE)
            servos.check(command)
            servos.take(command, q)
        found.append(q - POSTURE)
        torque = servos.torques(np.zeros(14), q, qd)
        rates, applied = np.zeros((2, NV))
        rates[v], applied[v] = qd, torque
        qdd = ROBOT.tree_forward_dynamics(SYSTEM.positions(q), rates, applied)[v]
        q, qd = q + PERIOD * qd + 0.5 * PERIOD**2 * qdd, qd + PERIOD * qdd
    return np.array(found)


def test_a_step_of_positions_has_the_response_of_the_servo():
    """That of a sampled double integrator under the law, within 0.2 % of the step."""
    size, w, joint = 0.02, 0.05 / PERIOD, 3
    step = np.zeros(7)
    step[joint] = size
    moved = run(lambda t: (step, NONE), 150)
    e, rate, integral, expected = -size, 0.0, 0.0, []
    for _ in range(150):
        expected.append(e + size)
        qdd = -3.0 * w * (rate + w * e) - 0.5 * w**3 * integral
        integral += PERIOD * e
        e, rate = e + PERIOD * rate + 0.5 * PERIOD**2 * qdd, rate + PERIOD * qdd
    assert np.abs(moved[:, joint] - expected).max() < 0.002 * size
    moved[:, joint] = 0.0
    assert np.abs(moved).max() < 0.01 * size


def test_velocities_alone_are_integrated():
    """A ramp of velocity is followed from rest, and the joint stays at its end."""
    speed = np.array([0.2, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    moved = run(lambda t: (NONE, speed * (t < 0.2)), 250)
    assert moved[-1, 0] == pytest.approx(0.04, abs=1e-3)
    assert np.abs(moved[-1, 1:]).max() < 1e-3


def test_positions_and_speeds_beyond_limits_are_refused():
    """On both sides; at the limit itself they are followed."""
    servos, own = JointServos(SYSTEM, PERIOD, held=False), SYSTEM.arm_slices[0]
    lower, upper = (SYSTEM.limits[name][own].copy() for name in ("lower", "upper"))
    speed = SYSTEM.limits["velocity"][own]
    servos.check(JointCommand("left", lower, speed, NONE))
    servos.check(JointCommand("left", upper, -speed, NONE))
    upper[2] += 1e-5
    with pytest.raises(CommandError, match=f"position of joint {SYSTEM.joint_names[2]!r} is"):
        servos.check(JointCommand("left", upper, NONE, NONE))
    with pytest.raises(CommandError, match="velocity of joint"):
        servos.check(JointCommand("left", NONE, -1.0001 * speed, NONE))
    with pytest.raises(CommandError, match="expected"):
        servos.check(JointCommand("left", np.full(7, 1e300), NONE, NONE))


def test_efforts_switch_the_servo_off():
    """And the torque is again that of the command; of the other arm all the time."""
    servos, torque, (left, right) = (
        JointServos(SYSTEM, PERIOD, held=False),
        np.arange(14.0),
        SYSTEM.arm_slices,
    )
    q, rest = POSTURE, np.zeros(14)
    assert servos.torques(torque, q, rest) is torque
    servos.take(JointCommand("left", q[left], NONE, NONE), q)
    found = servos.torques(torque, q, rest)
    still = ROBOT.inverse_dynamics(SYSTEM.positions(q), np.zeros(NV), np.zeros(NV))
    np.testing.assert_allclose(found[left], still[SYSTEM.v_index][left], atol=1e-9)
    assert np.array_equal(found[right], torque[right])
    servos.take(JointCommand("left", NONE, NONE, torque[left]), q)
    assert servos.torques(torque, q, rest) is torque


def test_arms_that_hold_an_object_stay():
    """Each joint counts with its share of the object: light wrists would be unstable without."""
    heavier = load_scenario("lift_box", ["plant.object_mass_scale=1.2"])
    plant = make_plant(heavier, true_system(heavier, SYSTEM))
    seen, servos = plant.reset(), JointServos(SYSTEM, PERIOD, held=True)
    start, found = seen.q.copy(), []
    for arm, own in zip(SYSTEM.arms, SYSTEM.arm_slices, strict=True):
        servos.take(JointCommand(arm.name, start[own], NONE, NONE), start)
    for _ in range(200):
        seen = plant.step(servos.torques(np.zeros(14), seen.q, seen.qd))
        found.append(seen.q - start)
    assert 1e-4 < np.abs(found).max() < 2e-3
    assert np.abs(seen.qd).max() < 5e-3


@pytest.mark.parametrize("used", [False, True])
def test_admittance_on_drives_that_take_positions(used):
    """A torque servo whose torques are not used winds up, and its limits end control."""
    scenario = load_scenario("lift_box", ["control.law=admittance"])
    plant = make_plant(scenario, true_system(scenario, SYSTEM))
    seen, servos = plant.reset(), JointServos(SYSTEM, PERIOD, held=True)
    loop = control_loop(scenario)
    law = loop.law
    law.torques_used = used
    loop.check(seen.q, seen.qd)
    loop.start_at(0, 0, seen.q, seen.qd, seen.wrenches)
    for tick in range(600):
        outcome = loop.update(tick, tick, seen.q, seen.qd, seen.wrenches)
        if not loop.safety.law_runs:
            break
        for arm, own in zip(SYSTEM.arms, SYSTEM.arm_slices, strict=True):
            servos.take(JointCommand(arm.name, law.set_points[own], NONE, NONE), seen.q)
        seen = plant.step(servos.torques(outcome.torque, seen.q, seen.qd))
    if used:
        assert "torque limits let no more than" in str(loop.safety.cause)
        return
    assert loop.safety.law_runs, loop.safety.cause
    step = outcome.step
    assert np.array_equal(outcome.torque, step.support)
    assert np.abs(step.error[3:]).max() < 0.02


def test_the_law_is_told_whether_its_torques_are_used(ros):
    """Drives that take positions or velocities do not use them."""
    scenario = load_scenario("lift_box", ["control.law=admittance"])
    loop = control_loop(scenario, clock=WallClock(PERIOD))
    values = {
        "command_timeout": 0.05, "on_command_timeout": "brake", "guard": "none",
        "heartbeat_timeout": 0.1, "drives_compensate_gravity": False,
    }  # fmt: skip
    drives = DriveProperties(scenario.cell.arms, values, ())
    node = ros.create_node("controller")
    for interfaces, used in (([""], True), (["effort"], True), (["velocity", "position"], False)):
        given = values | {"command_interfaces": interfaces}
        CommandOutput(node, Inbox(node), loop, drives, given).destroy()
        assert loop.law.torques_used == used
    node.destroy_node()
