# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A bag meets the expectations of other ROS programs."""

import errno
import json

import numpy as np
import pytest

from robot_dynamics.app.recordings.bags import writer
from robot_dynamics.app.recordings.bags.messages import Messages
from robot_dynamics.app.recordings.bags.reader import read_bag
from robot_dynamics.app.recordings.bags.writer import Frames, _motion, robots_of
from robot_dynamics.app.recordings.recording import Recording, RecordingError
from robot_dynamics.app.scenarios.cell import build_system
from robot_dynamics.description.orientations import rotation_of_quaternion
from robot_dynamics.manipulation.grasp_map import middle_frame
from robot_dynamics.model import JointElement
from robot_dynamics.resources import share_directory

pytest.importorskip("rosbags", reason="rosbags is not installed")


# What standard message means what; `ros2 bag play` offers topics by these types.
KINDS = {
    "/joint_states": "sensor_msgs/msg/JointState",
    "/true/applied_torques": "sensor_msgs/msg/JointState",
    "/left/wrench": "geometry_msgs/msg/WrenchStamped",
    "/right/wrench": "geometry_msgs/msg/WrenchStamped",
    "/left/commands": "std_msgs/msg/Float64MultiArray",
    "/right/commands": "std_msgs/msg/Float64MultiArray",
    "/object/odometry": "nav_msgs/msg/Odometry",
    "/true/object/odometry": "nav_msgs/msg/Odometry",
    "/object/reference": "trajectory_msgs/msg/MultiDOFJointTrajectory",
    "/object/internal_force": "geometry_msgs/msg/WrenchStamped",
    "/object/internal_force_reference": "geometry_msgs/msg/WrenchStamped",
    "/true/object/internal_force": "geometry_msgs/msg/WrenchStamped",
    "/robot_description": "std_msgs/msg/String",
    "/run_metadata": "std_msgs/msg/String",
    "/diagnostics": "diagnostic_msgs/msg/DiagnosticArray",
    "/tf": "tf2_msgs/msg/TFMessage",
    "/tf_static": "tf2_msgs/msg/TFMessage",
}


def test_standard_messages(bag):
    """Its topics have the types of the documentation; the rest are numbers under columns/."""
    reader = pytest.importorskip("mcap.reader", reason="mcap is not installed")
    with bag.open("rb") as file:
        opened = reader.make_reader(file)
        assert opened.get_header().profile == "ros2"
        summary = opened.get_summary()
    kinds = {}
    for channel in summary.channels.values():
        schema = summary.schemas[channel.schema_id]
        assert (channel.message_encoding, schema.encoding) == ("cdr", "ros2msg")
        # Robots are described to who comes late, as the node does it (rosbag2's numbers).
        latched = channel.topic in ("/robot_description", "/run_metadata", "/tf_static")
        quality = channel.metadata["offered_qos_profiles"]
        assert f"durability: {1 if latched else 2}" in quality, channel.topic
        assert "reliability: 1" in quality, channel.topic
        kinds[channel.topic] = schema.name
    rest = {topic: kind for topic, kind in kinds.items() if topic not in KINDS}
    assert kinds == {**KINDS, **rest}
    assert set(rest.values()) == {"std_msgs/msg/Float64MultiArray"}
    assert all(topic.startswith("/columns/") for topic in rest)
    assert "/columns/control_scales" in rest


def test_another_library_reads_the_numbers(messages, short):
    """The readers of MCAP's authors find every number of the run where the message has it."""
    stamps = [round(tick * 0.002 * 1e9) for tick in range(600)]
    states = messages["/joint_states"]
    assert [at for at, _ in states] == stamps
    header = states[501][1].header.stamp
    assert (header.sec, header.nanosec) == (1, 2_000_000)
    assert states[0][1].name == short.get("joints")
    np.testing.assert_array_equal([m.position for _, m in states], short["joint_position"])
    np.testing.assert_array_equal([m.velocity for _, m in states], short["joint_velocity"])
    left, right = messages["/left/commands"], messages["/right/commands"]
    commands = [[*a.data, *b.data] for (_, a), (_, b) in zip(left, right, strict=True)]
    np.testing.assert_array_equal(commands, short["commanded_torque"])
    assert [m.layout.data_offset for _, m in right] == list(range(600))
    forces = [(m.wrench.torque, m.wrench.force) for _, m in messages["/right/wrench"]]
    stacked = [[t.x, t.y, t.z, f.x, f.y, f.z] for t, f in forces]
    np.testing.assert_array_equal(stacked, short["grasp_wrench"][:, 6:])
    assert messages["/right/wrench"][0][1].header.frame_id == "right_tool"
    point = messages["/object/reference"][300][1].points[0].transforms[0].translation
    np.testing.assert_array_equal([point.x, point.y, point.z], short["reference_pose"][300, :3])


def test_twist_of_an_odometry_is_in_the_body(messages, short):
    """As nav_msgs says; the recording has it in the world."""
    scipy = pytest.importorskip("scipy.spatial.transform")
    for row in (100, 599):
        message = messages["/true/object/odometry"][row][1]
        pose, twist = short["object_pose"][row], short["object_twist"][row]
        inverse = scipy.Rotation.from_quat(pose[3:]).inv()
        linear, angular = message.twist.twist.linear, message.twist.twist.angular
        # Two ways to rotate a vector by the same quaternion differ by rounding.
        np.testing.assert_allclose(
            [linear.x, linear.y, linear.z], inverse.apply(twist[3:]), atol=1e-15
        )
        np.testing.assert_allclose(
            [angular.x, angular.y, angular.z], inverse.apply(twist[:3]), atol=1e-15
        )
        assert (message.header.frame_id, message.child_frame_id) == ("world", "box")


def test_a_full_disk_leaves_nothing(short, tmp_path, monkeypatch):
    """A failed write is one sentence; it leaves no half file and keeps an old one."""
    path = tmp_path / "run.mcap"
    path.write_bytes(b"older")

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(writer, "_write", full)
    with pytest.raises(RecordingError, match=r"run\.mcap: cannot be written \(No space left"):
        writer.write_bag(short, path)
    assert [file.name for file in tmp_path.iterdir()] == ["run.mcap"]
    assert path.read_bytes() == b"older"


def test_recordings_of_one_side_and_new_columns(short, tmp_path):
    """An unknown column goes as numbers; a missing column leaves no topic."""
    columns = {"tick": np.arange(3.0), "slip_margin": np.array([[0.5, 0.1], [1, 2], [3, 4]])}
    own = Recording(columns, {**short.metadata, "units": {"slip_margin": "N"}})
    (stream,) = writer.streams_of(own)
    assert (stream.topic, stream.kind) == ("columns/slip_margin", "std_msgs/Float64MultiArray")
    assert stream.label == "N"
    assert writer.write_bag(own, tmp_path / "own.mcap").stat().st_size > 0


def test_robots_whose_files_are_missing(short, tmp_path):
    """Then the bag has no description and no frames, and all numbers."""
    text = short.get("scenario_text").replace("dual_arm.urdf", "nowhere.urdf")
    moved = Recording(short.columns, {**short.metadata, "scenario_text": text})
    path = writer.write_bag(moved, tmp_path / "moved.mcap")
    reader = pytest.importorskip("mcap.reader", reason="mcap is not installed")
    with path.open("rb") as file:
        topics = {c.topic for c in reader.make_reader(file).get_summary().channels.values()}
    assert "/joint_states" in topics
    assert not {"/tf", "/robot_description"} & topics


def test_topics_keep_the_names_that_the_nodes_had(short, tmp_path):
    """With namespace and remapping; joint states on two topics are those of one arm each.

    The reader finds all of it again.
    """
    reader = pytest.importorskip("mcap_ros2.reader", reason="mcap-ros2-support is not installed")
    named = {
        "left/commands": ["/cell/left_effort_controller/commands"],
        "joint_states": ["/left/joint_states", "/right/joint_states"],
        "object/odometry": ["/cell/object/odometry"],
    }
    own = Recording(short.columns, {**short.metadata, "topics": named})
    path = writer.write_bag(own, tmp_path / "own.mcap")
    found = {}
    for item in reader.read_ros2_messages(str(path)):
        found.setdefault(item.channel.topic, []).append(item.ros_msg)
    assert not {"/left/commands", "/joint_states", "/object/odometry"} & found.keys()
    assert {"/right/commands", "/cell/object/odometry"} <= found.keys()
    commands = [message.data for message in found["/cell/left_effort_controller/commands"]]
    np.testing.assert_array_equal(commands, short["commanded_torque"][:, :7])
    joints = short.get("joints")
    for topic, part in (("/left/joint_states", slice(7)), ("/right/joint_states", slice(7, 14))):
        assert found[topic][0].name == joints[part]
        positions = [message.position for message in found[topic]]
        np.testing.assert_array_equal(positions, short["joint_position"][:, part])
    again = read_bag(path)
    for name in ("joint_position", "joint_velocity", "commanded_torque", "estimated_pose"):
        np.testing.assert_array_equal(again[name], short[name])


def test_metadata_hold_the_name_of_the_file(bag):
    """And not that of the folder in which it was written."""
    reader = pytest.importorskip("mcap.reader", reason="mcap is not installed")
    with bag.open("rb") as file:
        texts = [str(record.metadata) for record in reader.make_reader(file).iter_metadata()]
    assert any("run.mcap" in text for text in texts)
    assert not any(".part" in text for text in texts)


def test_the_frame_of_internal_forces(messages, scenario):
    """It is in TF, fixed to the object, in the middle of the grasps."""
    (_, resting) = messages["/tf_static"][0]
    (middle,) = (t for t in resting.transforms if t.child_frame_id == "box_grasp_middle")
    assert middle.header.frame_id == "box"
    np.testing.assert_allclose(
        matrix_of(middle.transform), middle_frame(build_system(scenario).grasps), atol=1e-12
    )


def test_metadata_that_are_no_json(short, tmp_path):
    """They are refused as in other files."""
    odd = Recording(short.columns, {**short.metadata, "odd": float("nan")})
    with pytest.raises(RecordingError, match="no JSON"):
        writer.write_bag(odd, tmp_path / "odd.mcap")
    assert not [*tmp_path.iterdir()]


def matrix_of(transform):
    """Return the homogeneous matrix of a message."""
    at, turn = transform.translation, transform.rotation
    matrix = np.eye(4)
    matrix[:3, :3] = rotation_of_quaternion([turn.x, turn.y, turn.z, turn.w])
    matrix[:3, 3] = [at.x, at.y, at.z]
    return matrix


def test_tools_are_at_their_grasps(messages, short, scenario):
    """Along the frames from the world, both tools are where the held object has its grasps.

    The recording's joints and object are both true, and the plant closes its loops to 1e-9 m.
    """
    system = build_system(scenario)
    (_, resting) = messages["/tf_static"][0]
    frames = messages["/tf"]
    assert len(frames) == 60  # every 20 ms of 1.2 s
    stamp, moving = frames[-1]
    pose = {t.child_frame_id: t for t in (*resting.transforms, *moving.transforms)}

    def in_world(name):
        matrix = np.eye(4)
        while name != "world":
            matrix = matrix_of(pose[name].transform) @ matrix
            name = pose[name].header.frame_id
        return matrix

    row = round(stamp / 2e6)
    box = in_world("box")
    np.testing.assert_allclose(box[:3, 3], short["object_pose"][row, :3], atol=1e-15)
    for arm, grasp in zip(system.arms, system.grasps, strict=True):
        np.testing.assert_allclose(in_world(arm.tool), box @ grasp, atol=1e-8)


def test_each_kind_of_joint():
    """A prismatic joint slides along its axis, a revolute one turns about it by the right hand."""
    slides = JointElement("a", "prismatic", "x", "y", axis=(0.0, 0.6, 0.8))
    np.testing.assert_allclose(_motion(slides, 0.5)[:3, 3], [0.0, 0.3, 0.4], atol=1e-16)
    turns = JointElement("a", "continuous", "x", "y", axis=(0.0, 0.0, 1.0))
    quarter = _motion(turns, np.pi / 2) @ [1.0, 0.0, 0.0, 1.0]
    np.testing.assert_allclose(quarter, [0.0, 1.0, 0.0, 1.0], atol=1e-15)


def test_joints_of_which_nothing_is_known_rest(short):
    """Without any joint names all links rest, and only the object moves."""
    frames = Frames(robots_of(short.metadata), (), "box")
    make = Messages()
    moving = frames.moving(make, 0, np.zeros(0), np.array([0, 0, 0, 0, 0, 0, 1.0]))
    assert [t.child_frame_id for t in moving.transforms] == ["box"]
    names = {t.child_frame_id for t in frames.resting(make).transforms}
    assert {"left_tool", "right_tool"} <= names


def test_robots_that_are_not_there():
    """Files that are gone, or metadata without a scenario, leave nothing to describe."""
    assert robots_of({}) is None
    assert robots_of({"scenario_text": "cell: 3"}) is None


def test_the_foxglove_layout_opens_our_bags(messages):
    """Its panels are in its layout, and every topic and field that they plot is in a bag."""
    layout = json.loads((share_directory() / "config" / "foxglove.json").read_text("utf-8"))
    panels, ahead, placed = layout["configById"], [layout["layout"]], set()
    while ahead:
        one = ahead.pop()
        if isinstance(one, str):
            placed.add(one)
        else:
            ahead += [one["first"], one["second"]]
    assert placed == set(panels)
    paths = [path["value"] for panel in panels.values() for path in panel.get("paths", [])]
    assert len(paths) > 20
    for path in paths:
        topic, *fields = path.split(".")
        value = messages[topic][-1][1]
        for field in fields:
            name, _, index = field.rstrip("]").partition("[")
            value = getattr(value, name)
            value = value[int(index)] if index else value
        assert np.isfinite(value), path
    drawn = panels["3D!cell"]
    assert drawn["layers"]["robot"]["topic"] in messages
    frames = {item.header.frame_id for _, each in messages["/tf"] for item in each.transforms}
    assert drawn["followTf"] in frames
