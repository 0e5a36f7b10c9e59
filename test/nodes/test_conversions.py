# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Messages keep the meaning of the arrays: orders, axes and times are converted exactly."""

import numpy as np
import pytest

pytest.importorskip("sensor_msgs", reason="ROS 2 is not installed")

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Transform, Twist
from numpy.testing import assert_allclose
from rclpy.serialization import deserialize_message, serialize_message
from trajectory_msgs.msg import MultiDOFJointTrajectory, MultiDOFJointTrajectoryPoint

from robot_dynamics.app.recordings.bags.messages import (
    quaternion_of,
    twist_of,
    vector_of,
    wrench_of,
)
from robot_dynamics.control.clock import SECOND, stamp_of, tick_of
from robot_dynamics.control.streamed.trajectory import TrajectoryError
from robot_dynamics.description.orientations import rotation_of_quaternion
from robot_dynamics.nodes import conversions
from robot_dynamics.nodes.conversions import (
    CommandWriter,
    JointStateWriter,
    OdometryWriter,
    ReferenceWriter,
    WrenchWriter,
    answers,
    in_body_axes,
    point_of,
    read_command,
    read_odometry,
    read_time,
    write_time,
)


def sent(message):
    """Return a message as it arrives."""
    return deserialize_message(serialize_message(message), type(message))


@pytest.mark.parametrize("rate", [500.0, 300.0, 1000.0, 250.0, 333.0])
def test_ticks_are_multiples_of_the_period_for_ever(rate):
    """A stamp is the nearest nanosecond, also after a day, and tells its tick."""
    period = 1.0 / rate
    for tick in (0, 1, 2, 3, 499, 500, 10**6, round(86400 * rate)):
        stamp = stamp_of(tick, period)
        # Half a nanosecond, and the rounding of a day in nanoseconds as a float (16 ns).
        assert abs(stamp - tick * period * SECOND) <= 16
        assert tick_of(stamp, period) == tick


@pytest.mark.parametrize("stamp", [0, 1, SECOND - 1, SECOND, 1_795_233_146_826_178_021])
def test_times_survive(stamp):
    """Seconds and nanoseconds make the same integer again."""
    time = Time()
    write_time(time, stamp)
    assert read_time(sent(time)) == stamp


def test_joint_states_carry_names_and_bits():
    """Every bit of the numbers arrives."""
    q, qd = np.array([np.pi, -1e-300]), np.array([0.1, 5e-324])
    message = sent(JointStateWriter(["a", "b"]).fill(7 * SECOND + 3, q, qd, effort=2.0 * q))
    assert message.name == ["a", "b"]
    assert np.array(message.position).tobytes() == q.tobytes()
    assert np.array(message.velocity).tobytes() == qd.tobytes()
    assert np.array(message.effort).tobytes() == (2.0 * q).tobytes()
    assert (message.header.stamp.sec, message.header.stamp.nanosec) == (7, 3)


def test_views_are_sent_in_their_order():
    """Also of arrays that are not contiguous."""
    q = np.arange(6.0)[::2]
    assert list(JointStateWriter("abc").fill(0, q, q).position) == [0.0, 2.0, 4.0]


def test_commands_carry_their_number():
    """Modulo 2^32, the range of the field."""
    for tick in (0, 7, 2**32 - 1, 2**32 + 9):
        number, torque = read_command(sent(CommandWriter().fill(tick, np.array([1.5, -2.5]))))
        assert torque.tolist() == [1.5, -2.5]
        assert answers(number, tick)
        assert not answers(number, tick + 1)


def test_wrenches_change_their_order():
    """Angular first inside, force and torque by name outside."""
    wrench = np.arange(1.0, 7.0)
    message = sent(WrenchWriter("left_tool").fill(5, wrench))
    assert message.header.frame_id == "left_tool"
    torque, force = message.wrench.torque, message.wrench.force
    assert (torque.x, torque.y, torque.z) == (1.0, 2.0, 3.0)
    assert (force.x, force.y, force.z) == (4.0, 5.0, 6.0)
    assert wrench_of(message.wrench).tolist() == wrench.tolist()


def test_the_twist_of_an_odometry_is_in_the_bodys_axes():
    """A body that is turned by 90 degrees about z and moves along the world's x."""
    half = np.sqrt(0.5)
    pose = np.array([1.0, 2.0, 3.0, 0.0, 0.0, half, half])
    twist = np.array([0.0, 4.0, 5.0, 6.0, 0.0, 0.0])
    message = sent(OdometryWriter("box").fill(SECOND, pose, twist))
    assert (message.header.frame_id, message.child_frame_id) == ("world", "box")
    assert message.pose.pose.position.z == 3.0
    assert message.pose.pose.orientation.w == half
    linear, angular = message.twist.twist.linear, message.twist.twist.angular
    # The body's x axis is the world's y, its y axis the world's -x. The square of the root of one
    # half is off by a rounding.
    assert np.allclose([linear.x, linear.y, linear.z], [0.0, -6.0, 0.0], atol=1e-14)
    assert np.allclose([angular.x, angular.y, angular.z], [4.0, 0.0, 5.0], atol=1e-14)


def test_axes_of_a_body_agree_with_its_rotation():
    """R times the twist in body axes is the twist in world axes."""
    random = np.random.default_rng(1)
    quaternion = random.normal(size=4)
    quaternion /= np.linalg.norm(quaternion)
    R = rotation_of_quaternion(quaternion)
    assert np.allclose(R @ R.T, np.eye(3), atol=1e-15)
    twist = random.normal(size=6)
    own = in_body_axes(np.concatenate([np.zeros(3), quaternion]), twist)
    assert np.allclose(np.concatenate([R @ own[:3], R @ own[3:]]), twist, atol=1e-14)


def test_a_reference_is_a_trajectory_of_one_point():
    """Pose, velocity and acceleration in the world, linear and angular by name."""
    pose = np.array([1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0])
    writer = ReferenceWriter("box")
    message = sent(writer.fill(0, pose, np.arange(6.0), 10.0 * np.arange(6.0)))
    assert message.joint_names == ["box"]
    (point,) = message.points
    assert point.transforms[0].translation.y == 2.0
    assert point.transforms[0].rotation.w == 1.0
    assert (point.velocities[0].angular.z, point.velocities[0].linear.x) == (2.0, 3.0)
    assert point.accelerations[0].linear.z == 50.0


def test_writers_do_not_keep_arrays():
    """A message that was filled does not change with the array."""
    q = np.array([1.0, 2.0])
    message = JointStateWriter("ab").fill(0, q, q)
    q[:] = 9.0
    assert list(message.position) == [1.0, 2.0]


def test_small_messages():
    """Times and points."""
    time = Time()
    write_time(time, 12 * SECOND + 5)
    assert read_time(sent(time)) == 12 * SECOND + 5
    point = sent(point_of(np.array([1.0, 2.0, 3.0])))
    assert (point.x, point.y, point.z) == (1.0, 2.0, 3.0)
    assert conversions.WORLD == "world"


def test_an_odometry_is_read_as_it_was_written():
    """In world axes inside the package, in the child frame on the way (REP 103, nav_msgs)."""
    half = np.sqrt(0.5)
    pose = np.array([0.1, -0.2, 0.9, 0.0, 0.0, half, half])  # turned by 90 degrees about z
    twist = np.array([0.3, 0.0, 0.0, 0.0, 2.0, 0.0])
    message = OdometryWriter("box").fill(5 * SECOND + 7, pose, twist)
    assert message.twist.twist.linear.x == pytest.approx(2.0)  # along the x axis of the box
    assert message.twist.twist.angular.y == pytest.approx(-0.3)
    sample = read_odometry(serialize_message(message))
    assert (sample.stamp, sample.frame, sample.body) == (5 * SECOND + 7, "world", "box")
    assert_allclose(sample.pose, pose)
    assert_allclose(sample.twist, twist, atol=1e-15)


def trajectory(n, rates=(True, True)):
    """Return a message of n points with random numbers."""
    rng = np.random.default_rng(n)
    message = MultiDOFJointTrajectory(joint_names=["box"])
    message.header.frame_id = "world"
    write_time(message.header.stamp, 3 * SECOND + 7)
    for i in range(n):
        point, (a, b, c, *q) = MultiDOFJointTrajectoryPoint(), rng.normal(size=7).tolist()
        transform = Transform()
        transform.translation.x, transform.translation.y, transform.translation.z = a, b, c
        at = transform.rotation
        at.x, at.y, at.z, at.w = q
        point.transforms.append(transform)
        for wanted, parts in zip(rates, (point.velocities, point.accelerations), strict=True):
            twist = Twist()
            conversions.write_twist(twist, rng.normal(size=6))
            parts.extend([twist] * wanted)
        point.time_from_start.sec, point.time_from_start.nanosec = i, 500_000_000
        message.points.append(point)
    return message


@pytest.mark.parametrize("rates", [(True, True), (True, False), (False, True), (False, False)])
@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_a_trajectory_is_read_as_rclpy_writes_it(n, rates):
    """All fields, with and without velocities and accelerations, at every alignment."""
    message = trajectory(n, rates)
    for names in ([], ["box"], ["a", "tray"]):
        message.joint_names = names
        sample = conversions.read_trajectory(serialize_message(message))
        assert (sample.stamp, sample.frame) == (3 * SECOND + 7, "world")
        assert sample.bodies == names
        assert sample.times == [i + 0.5 for i in range(n)]
        expected = [
            [*vector_of(at.translation), *quaternion_of(at.rotation)]
            for point in message.points
            for at in point.transforms
        ]
        assert [list(pose) for pose in sample.poses] == expected
        for found, kind in (
            (sample.twists, "velocities"),
            (sample.accelerations, "accelerations"),
        ):
            parts = [twist_of(one) for point in message.points for one in getattr(point, kind)]
            assert (found is None) == (not parts)
            assert found is None or np.array_equal(found, parts)


def test_a_trajectory_that_is_cut_short_is_refused():
    """At every length, in a sentence; and so are other encodings."""
    text = serialize_message(trajectory(2))
    used = text[: len(text) - 4]
    for size in range(4, len(used), 3):
        with pytest.raises(TrajectoryError, match="cannot be read"):
            conversions.read_trajectory(used[:size])
    with pytest.raises(TrajectoryError, match="little-endian CDR"):
        conversions.read_trajectory(b"\x00\x00" + text[2:])
