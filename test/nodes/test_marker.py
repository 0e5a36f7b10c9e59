# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The interactive marker of RViz: its protocol, and the paths that it asks for."""

import numpy as np
import pytest
from waiting import wait_until

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from rclpy.parameter import Parameter
from scipy.spatial.transform import Rotation
from trajectory_msgs.msg import MultiDOFJointTrajectory
from visualization_msgs.msg import (
    InteractiveMarkerControl,
    InteractiveMarkerFeedback,
    InteractiveMarkerUpdate,
)
from visualization_msgs.srv import GetInteractiveMarkers

from robot_dynamics.app.recordings import topic_names as topics
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.nodes import marker as markers
from robot_dynamics.nodes.conversions import ReferenceWriter, write_pose
from robot_dynamics.nodes.parameters import declare
from robot_dynamics.nodes.topics import STREAM

START = np.array([0.6, 0.0, 0.7, 0.0, 0.0, 0.0, 1.0])
TURNED = Rotation.from_euler("z", 0.6).as_quat()


class Rviz:
    """RViz's side of the marker, and the paths that the controller receives."""

    def __init__(self, ros):
        self.ros = ros
        self.served, self.node = ros.create_node("marker"), ros.create_node("rviz")
        self.marker = markers.ObjectMarker(self.served, 0.1, 0.3, 0.4)
        self.updates, self.paths = [], []
        create = self.node.create_subscription
        create(InteractiveMarkerUpdate, "object_marker/update", self.updates.append, 100)
        create(MultiDOFJointTrajectory, topics.REFERENCE_TRAJECTORY, self.paths.append, STREAM)
        self.feedback = self.node.create_publisher(
            InteractiveMarkerFeedback, "object_marker/feedback", 1
        )
        self.reference = self.node.create_publisher(
            MultiDOFJointTrajectory, topics.OBJECT_REFERENCE, STREAM
        )
        self.service = self.node.create_client(
            GetInteractiveMarkers, "object_marker/get_interactive_markers"
        )
        self.until(self.service.service_is_ready)
        self.until(self.feedback.get_subscription_count)
        self.until(self.reference.get_subscription_count)

    def until(self, condition):
        """Spin both nodes until a condition holds."""

        def done():
            for node in (self.served, self.node):
                self.ros.spin_once(node, timeout_sec=0.01)
            return condition()

        wait_until(done)

    def say(self, pose):
        """Publish the present reference, as the controller does."""
        still = np.zeros(6)
        self.reference.publish(ReferenceWriter("box").fill(0, pose, still, still))

    def drag(self, event, pose, name="box"):
        """Send an event of the mouse."""
        message = InteractiveMarkerFeedback(marker_name=name, event_type=event)
        message.header.frame_id = "world"
        write_pose(message.pose, np.asarray(pose, float))
        self.feedback.publish(message)


@pytest.fixture
def rviz(ros):
    """Return one that sees the marker at the start."""
    rviz = Rviz(ros)
    rviz.say(START)
    rviz.until(lambda: rviz.updates)
    yield rviz
    rviz.served.destroy_node()
    rviz.node.destroy_node()


def pose_of(at):
    """Return x y z qx qy qz qw of a pose or a transform."""
    place = getattr(at, "position", None) or at.translation
    turn = getattr(at, "orientation", None) or at.rotation
    return [place.x, place.y, place.z, turn.x, turn.y, turn.z, turn.w]


def test_rviz_is_given_the_marker(rviz):
    """By an update when the reference is first heard, and by the service to those who come later.

    Numbers rise by one: RViz counts them to notice lost updates.
    """
    (first,) = rviz.updates
    assert (first.type, first.seq_num) == (InteractiveMarkerUpdate.UPDATE, 1)
    asked = rviz.service.call_async(GetInteractiveMarkers.Request())
    rviz.until(asked.done)
    answer = asked.result()
    assert answer.sequence_number == 1
    for found in (*first.markers, *answer.markers):
        assert (found.name, found.header.frame_id) == ("box", "world")
        assert pose_of(found.pose) == pytest.approx(START)
        modes = [control.interaction_mode for control in found.controls]
        for mode in (InteractiveMarkerControl.MOVE_AXIS, InteractiveMarkerControl.ROTATE_AXIS):
            assert modes.count(mode) == 3
        axes = []
        for control in found.controls[::2]:
            q = control.orientation
            axes.append(Rotation.from_quat([q.x, q.y, q.z, q.w]).apply([1.0, 0.0, 0.0]))
        np.testing.assert_allclose(np.abs(axes), np.eye(3), atol=1e-12)


def test_where_the_mouse_lets_go_a_path_ends(rviz):
    """From the reference of that moment, at rest on both ends, within the speeds; once."""
    goal = np.array([0.6, 0.2, 0.8, *TURNED])
    now = START + np.array([0.0, 0.05, 0.0, 0.0, 0.0, 0.0, 0.0])
    rviz.drag(InteractiveMarkerFeedback.MOUSE_DOWN, START)
    rviz.drag(InteractiveMarkerFeedback.POSE_UPDATE, goal)
    rviz.say(now)
    rviz.until(lambda: rviz.marker._dragged and rviz.marker._reference[1] == 0.05)
    assert not rviz.paths
    rviz.drag(InteractiveMarkerFeedback.MOUSE_UP, goal)
    rviz.until(lambda: rviz.paths)
    (path,) = rviz.paths
    assert (path.joint_names, path.header.frame_id) == (["box"], "world")
    assert (path.header.stamp.sec, path.header.stamp.nanosec) == (0, 0)  # now
    first, last = path.points
    assert pose_of(first.transforms[0]) == pytest.approx(now)
    assert pose_of(last.transforms[0]) == pytest.approx(goal)
    for point in path.points:
        assert point.velocities[0].linear.x == point.velocities[0].angular.z == 0.0
    # The largest speed of a quintic from rest to rest is 15/8 of its mean.
    seconds = last.time_from_start.sec + 1e-9 * last.time_from_start.nanosec
    assert seconds == pytest.approx(15 / 8 * max(np.hypot(0.15, 0.1) / 0.1, 0.6 / 0.3))
    assert first.time_from_start.sec == first.time_from_start.nanosec == 0


def test_a_path_that_is_refused_brings_the_marker_back(rviz):
    """When the time of the path is over the marker is where the reference is."""
    goal = START + np.array([0.0, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0])
    rviz.drag(InteractiveMarkerFeedback.MOUSE_UP, goal)
    rviz.until(lambda: rviz.paths)
    assert pose_of(rviz.marker._marker.pose) == pytest.approx(goal)
    rviz.marker._busy_until = 0.0  # as after its time
    rviz.until(lambda: len(rviz.updates) == 2)
    assert rviz.updates[1].seq_num == 2
    assert pose_of(rviz.updates[1].poses[0].pose) == pytest.approx(START)


@pytest.mark.parametrize(
    ("pose", "name"),
    [([np.nan, *START[1:]], "box"), ([*START[:3], 0, 0, 0, 0], "box"), (START, "other")],
)
def test_nonsense_moves_nothing(rviz, pose, name):
    """Numbers that are none, no orientation, or the marker of another server."""
    rviz.drag(InteractiveMarkerFeedback.MOUSE_UP, pose, name)
    good = START + np.array([0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 0.0])
    rviz.drag(InteractiveMarkerFeedback.MOUSE_UP, good)
    rviz.until(lambda: rviz.paths)
    (path,) = rviz.paths
    assert pose_of(path.points[-1].transforms[0]) == pytest.approx(good)


def test_its_parameters_are_taken(ros):
    """Those of the documentation; others, and values beyond their range, are refused."""
    given = [Parameter("speed", value=0.2), Parameter("scale", value=1)]
    values = declare(ros.create_node("marker", parameter_overrides=given), markers.ENTRIES)
    assert values == {"speed": 0.2, "angular_speed": 0.3, "scale": 1.0}
    for name, value, words in (("speed", -1.0, "at least 0.001"), ("sped", 1.0, "unknown")):
        node = ros.create_node("other", parameter_overrides=[Parameter(name, value=value)])
        with pytest.raises(RobotDynamicsError, match=words):
            declare(node, markers.ENTRIES)
