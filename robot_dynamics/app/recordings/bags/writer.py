# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Recordings written as MCAP files, which Foxglove, PlotJuggler and `ros2 bag` open.

In addition to the topics of the running nodes, a bag contains the frames of links and object, and
the controller's diagnostics: once a second, and when it stopped.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.app.output_files import MCAP
from robot_dynamics.app.recordings import topic_names as topics
from robot_dynamics.app.recordings.bags.messages import (
    Messages,
    full_name,
    header,
    parts_of_pose,
    require_rosbags,
)
from robot_dynamics.app.recordings.bags.streams import (
    JointFields,
    Numbers,
    Place,
    Stream,
    standard_streams,
    whole,
)
from robot_dynamics.app.recordings.recording import TICK, Recording, RecordingError
from robot_dynamics.app.recordings.topic_names import WORLD
from robot_dynamics.app.scenarios.cell import build_system, placed_robots
from robot_dynamics.app.scenarios.scenario import scenario_of_text
from robot_dynamics.arrays import Array
from robot_dynamics.control.clock import stamp_of
from robot_dynamics.description.description import Description
from robot_dynamics.description.orientations import quaternion_of_rotation
from robot_dynamics.description.urdf_writer import urdf_of
from robot_dynamics.description.world import place
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.manipulation.grasp_map import middle_frame
from robot_dynamics.model.elements import JointElement

FRAMES_S = 0.02  # between transforms; what is drawn needs no more
_OF_EVERY_BAG = ("time",)  # follows from the ticks


def write_bag(recording: Recording, path: str | Path) -> Path:
    """Write a recording as one MCAP file, completely or not at all.

    Messages and topics are those of the running nodes. Times are simulated, as in the headers.

    Args:
        recording: The recording of one side, or of both.
        path: The file.

    Raises:
        RecordingError: If it cannot be written, its metadata are not JSON, or the package rosbags
            is missing.
    """
    path = Path(path)
    bags = require_rosbags().rosbag2
    # The writer makes a folder, like `ros2 bag`; only its file of messages is kept. It has the
    # name of the folder, which the metadata inside hold.
    above = path.with_name(f".{path.name}.{os.getpid()}.part")
    folder = above / path.stem
    try:
        above.mkdir()
        # Version 8 is read by every ROS 2 from Humble on.
        writer = bags.Writer(folder, version=8, storage_plugin=bags.StoragePlugin.MCAP)
        writer.set_compression(bags.CompressionMode.STORAGE, bags.CompressionFormat.ZSTD)
        with writer:
            _write(recording, writer)
        os.replace(folder / f"{folder.name}{MCAP}", path)
    except (OSError, bags.WriterError) as error:
        reason = getattr(error, "strerror", error)
        raise RecordingError(f"{path}: cannot be written ({reason}).") from error
    finally:
        shutil.rmtree(above, ignore_errors=True)
    return path


def _write(recording: Recording, writer: Any) -> None:
    bag, period = _Bag(writer), recording.get("period_s")
    ticks = recording[TICK].astype(np.int64).tolist()
    stamps = [stamp_of(tick, period) for tick in ticks]
    first = stamps[0] if stamps else 0
    make = bag.make
    # Topics only carry lists, some with one number.
    single = [name for name, values in recording.columns.items() if values.ndim == 1]
    text = recording.text(single=[name for name in single if name != TICK])
    bag.latch(topics.RUN_METADATA, first, "std_msgs/String", make.make("std_msgs/String", text))
    robots = robots_of(recording.metadata)
    frames = None
    if robots is not None:
        text = urdf_of(robots.mechanism, robots.shapes, recording.get("scenario"))
        bag.latch(
            topics.ROBOT_DESCRIPTION, first, "std_msgs/String", make.make("std_msgs/String", text)
        )
        frames = _positions(recording)
    tf = None
    if robots is not None and frames is not None:
        joints = [*recording.get("joints"), *recording.metadata.get("passive_joints", ())]
        middle = middle_of(recording.metadata)
        tf = Frames(robots, joints, recording.get("object"), middle)
        bag.latch("/tf_static", first, "tf2_msgs/TFMessage", tf.resting(make))
    columns = {name: _wide(values) for name, values in recording.columns.items()}
    streams = list(streams_of(recording))
    stride = max(1, round(FRAMES_S / period))
    statuses = diagnostics_of(recording)
    for row, (tick, stamp) in enumerate(zip(ticks, stamps, strict=True)):
        for stream in streams:
            values = [columns[place.column][row, place.part] for place in stream.places]
            message = stream.write(make, tick, stamp, values)
            bag.write(stream.topic, stamp, stream.kind, message)
        if tf is not None and frames is not None and row % stride == 0:
            q, pose = (values[row] for values in frames)
            if np.isfinite(q).all():
                bag.write("/tf", stamp, "tf2_msgs/TFMessage", tf.moving(make, stamp, q, pose))
        if row in statuses:
            array = statuses[row].message(make, stamp)
            bag.write("/diagnostics", stamp, "diagnostic_msgs/DiagnosticArray", array)


def streams_of(recording: Recording) -> Iterator[Stream]:
    """Yield the streams that hold all columns of a recording."""
    widths = {name: _wide(values).shape[1] for name, values in recording.columns.items()}
    written = {TICK, *_OF_EVERY_BAG}
    for stream in standard_streams(recording.metadata):
        if all(widths.get(place.column) == place.width for place in stream.places):
            written |= {place.column for place in stream.places}
            yield from _named(stream, recording.metadata)
    units = recording.metadata.get("units", {})
    for name, width in widths.items():
        if name not in written:
            yield Numbers(topics.COLUMNS + name, (whole(name, width),), str(units.get(name, "")))


def _named(stream: Stream, metadata: Mapping[str, Any]) -> Iterator[Stream]:
    """Yield a stream on its topic in the nodes, with namespace and remapping.

    Joint states on several topics are those of one arm each.
    """
    names = metadata.get("topics", {}).get(stream.topic, [stream.topic])
    counts = metadata["arm_joints"]
    if not isinstance(stream, JointFields) or len(names) != len(counts):
        yield replace(stream, topic=names[0])
        return
    own, *passive = stream.joints
    measured, rest = stream.places[: len(stream.fields)], stream.places[len(stream.fields) :]
    first = 0
    for name, count in zip(names, counts, strict=True):
        joints = own[first : first + count]
        places = tuple(Place(at.column, first, count, at.width) for at in measured)
        yield replace(stream, topic=name, places=places + rest, joints=(joints, *passive))
        first += count
        rest, passive = (), []  # with the first


def _positions(recording: Recording) -> tuple[Array, Array] | None:
    """Return joint positions and object poses of every row, if they are known.

    Joints without drives are behind the others.
    """
    if "joint_position" not in recording:
        return None
    joints = recording["joint_position"]
    if recording.metadata.get("passive_joints"):
        if "passive_position" not in recording:
            return None
        joints = np.hstack([joints, recording["passive_position"]])
    for name in ("object_pose", "estimated_pose"):
        if name in recording and recording[name].shape[1] == 7:
            return joints, recording[name]
    return None


def _wide(values: Array) -> Array:
    """Return a column as an array (ticks, n)."""
    return np.asarray(values, dtype=float).reshape(len(values), -1)


class _Bag:
    """A bag that is being written; topics are declared when they are first used."""

    def __init__(self, writer: Any) -> None:
        self.make = Messages()
        self._writer = writer
        self._connections: dict[str, Any] = {}

    def write(
        self, topic: str, stamp: int, kind: str, message: Any, latched: bool = False
    ) -> None:
        """Write a message at a time [ns]."""
        connection = self._connections.get(topic)
        if connection is None:
            connection = self._connections[topic] = self._writer.add_connection(
                topic if topic.startswith("/") else f"/{topic}",
                full_name(kind),
                typestore=self.make.store,
                offered_qos_profiles=[_quality(latched)],
            )
        self._writer.write(connection, stamp, self.make.bytes_of(kind, message))

    def latch(self, topic: str, stamp: int, kind: str, message: Any) -> None:
        """Write the only message of a topic with transient-local durability."""
        self.write(topic, stamp, kind, message, latched=True)


def _quality(latched: bool) -> Any:
    """Return the quality of service with which nodes offer a topic."""
    from rosbags import interfaces as i

    durability = i.QosDurability.TRANSIENT_LOCAL if latched else i.QosDurability.VOLATILE
    never = i.QosTime(0, 0)
    return i.Qos(
        history=i.QosHistory.KEEP_LAST,
        depth=1 if latched else 10,
        reliability=i.QosReliability.RELIABLE,
        durability=durability,
        deadline=never,
        lifespan=never,
        liveliness=i.QosLiveliness.AUTOMATIC,
        liveliness_lease_duration=never,
        avoid_ros_namespace_conventions=False,
    )


_TURNING, _SLIDING = ("revolute", "continuous"), ("prismatic",)


def robots_of(metadata: Mapping[str, Any]) -> Description | None:
    """Return the robots of a run, or None if their files no longer exist."""
    try:
        return place(placed_robots(scenario_of_text(metadata["scenario_text"]).cell))
    except (KeyError, RobotDynamicsError):
        return None


def middle_of(metadata: Mapping[str, Any]) -> Array | None:
    """Return the pose (4, 4) in the object of the frame of internal forces.

    None if there is none, or the files of the robots no longer exist.
    """
    try:
        system = build_system(scenario_of_text(metadata["scenario_text"]))
    except (KeyError, RobotDynamicsError):
        return None
    one_body = system.object_loop_joint is None
    return middle_frame(system.grasps) if one_body and len(system.arms) > 1 else None


class Frames:
    """Transforms of links, and of the object.

    Args:
        robots: The robots in their world.
        joints: Names of the joints whose positions are known.
        body: Frame of the object.
        middle: Pose (4, 4) of the frame of internal forces in it; None without one.
    """

    def __init__(
        self,
        robots: Description,
        joints: Sequence[str],
        body: str,
        middle: Array | None = None,
    ) -> None:
        self._body, self._middle = body, middle
        order = {name: i for i, name in enumerate(joints)}
        elements = robots.mechanism.joints
        self._moving = [(e, order[e.name]) for e in elements if e.name in order]
        # A joint without recorded positions, such as a gripper's, stays at zero.
        self._resting = [e for e in elements if e.name not in order]

    def resting(self, make: Messages) -> Any:
        """Return the transforms of links that never move."""
        links = [_transform(0, e, e.placement) for e in self._resting]
        if self._middle is not None:
            at = self._middle[:3, 3], quaternion_of_rotation(self._middle[:3, :3])
            links.append((header(0, self._body), topics.middle_frame(self._body), at))
        return make.make("tf2_msgs/TFMessage", links)

    def moving(self, make: Messages, stamp: int, q: Array, pose: Array) -> Any:
        """Return the transforms of moving links at a time [ns].

        Args:
            make: Makes messages.
            stamp: The time [ns].
            q: Joint positions [rad, m].
            pose: Pose of the object in the world (7,); NaN if unknown.
        """
        moved = [(e, e.placement @ _motion(e, float(q[i]))) for e, i in self._moving]
        links = [_transform(stamp, e, frame) for e, frame in moved]
        if np.isfinite(pose).all():
            links.append((header(stamp, WORLD), self._body, parts_of_pose(pose)))
        return make.make("tf2_msgs/TFMessage", links)


def _transform(stamp: int, joint: JointElement, matrix: Array) -> tuple[Any, ...]:
    """Return the values of the transform of a joint's child."""
    at = matrix[:3, 3], quaternion_of_rotation(matrix[:3, :3])
    return header(stamp, joint.parent), joint.child, at


def _motion(joint: JointElement, q: float) -> Array:
    """Return the pose (4, 4) of a joint's child relative to its pose at zero."""
    matrix, axis = np.eye(4), np.asarray(joint.axis)
    if joint.type in _SLIDING:
        matrix[:3, 3] = q * axis
    elif joint.type in _TURNING:
        x, y, z = axis.tolist()
        K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        matrix[:3, :3] += np.sin(q) * K + (1.0 - np.cos(q)) * (K @ K)  # Rodrigues
    return matrix


_OK, _ERROR = 0, 2  # of diagnostic_msgs/DiagnosticStatus
_INTERVAL_S = 1.0
_NAME = "controller: state"


class Status(NamedTuple):
    """A status of the controller.

    Attributes:
        level: Level of diagnostic_msgs/DiagnosticStatus.
        sentence: The state, and the error if there is one.
        values: Figures with their names.
        hardware: Hardware concerned.
    """

    level: int
    sentence: str
    values: dict[str, str]
    hardware: str

    def message(self, make: Messages, stamp: int) -> Any:
        """Return the message at a time [ns]."""
        values = [*self.values.items()]
        status = self.level, _NAME, self.sentence, self.hardware, values
        return make.make("diagnostic_msgs/DiagnosticArray", header(stamp), [status])


def diagnostics_of(recording: Recording) -> dict[int, Status]:
    """Return the statuses by row of the recording; empty without columns of a controller."""
    if "step_time" not in recording or not len(recording):
        return {}
    period, ticks = recording.get("period_s"), recording[TICK]
    every = max(1, round(_INTERVAL_S / period))
    fault = str(recording.metadata.get("fault", ""))
    at = recording.metadata.get("fault_time_s")
    stopped = None if at is None else int(np.argmin(np.abs(ticks * period - at)))
    rows = {*range(0, len(recording), every), *([] if stopped is None else [stopped])}
    found = {}
    for row in sorted(rows):
        over = stopped is not None and row >= stopped
        begin = max(0, row - every + 1)
        level, sentence = (_ERROR, f"fallback: {fault}") if over else (_OK, "active")
        found[row] = Status(
            level, sentence, _figures(recording, begin, row), recording.get("scenario")
        )
    return found


def _figures(recording: Recording, begin: int, row: int) -> dict[str, str]:
    values = recording["step_time"][begin : row + 1]
    values = values[np.isfinite(values)]
    figures = {"tick": f"{recording[TICK][row]:.0f}"}
    if len(values):
        figures["control cycle median [us]"] = f"{np.median(values):.4g}"
        figures["control cycle max [us]"] = f"{values.max():.4g}"
    if "estimated_closure" in recording:
        largest = np.abs(recording["estimated_closure"][row]).max(initial=0.0)
        figures["closure error [m or rad]"] = f"{largest:.4g}"
    return figures
