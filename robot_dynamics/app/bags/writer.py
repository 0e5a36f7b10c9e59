# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Recordings written as MCAP files, which Foxglove, PlotJuggler and `ros2 bag` open."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.app import topic_names as topics
from robot_dynamics.app.bags.diagnostics import diagnostics_of
from robot_dynamics.app.bags.frames import Frames, robots_of
from robot_dynamics.app.bags.messages import Messages, full_name, require_rosbags
from robot_dynamics.app.bags.streams import Numbers, Stream, standard_streams, whole
from robot_dynamics.app.recording import TICK, Recording, RecordingError
from robot_dynamics.app.robot_description import write_urdf
from robot_dynamics.app.topic_names import stamp_of

Array = NDArray[np.float64]

SUFFIX = ".mcap"
FRAMES_S = 0.02  # between transforms; what is drawn needs no more
_OF_EVERY_BAG = ("time",)  # follows from the ticks


def write_bag(recording: Recording, path: str | Path) -> Path:
    """Write a recording as one MCAP file; it appears whole or not at all.

    Messages and topics are those of the running nodes. Times are simulated, as in the headers.

    Args:
        recording: The recording of one side, or of both.
        path: The file.

    Raises:
        RecordingError: If it cannot be written, its metadata are no JSON, or the package rosbags
            is missing.
    """
    path = Path(path)
    bags = require_rosbags().rosbag2
    # The writer makes a folder, as `ros2 bag` has it; its only file of messages is what is kept.
    folder = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        # Version 8 is read by every ROS 2 from Humble on.
        writer = bags.Writer(folder, version=8, storage_plugin=bags.StoragePlugin.MCAP)
        writer.set_compression(bags.CompressionMode.STORAGE, bags.CompressionFormat.ZSTD)
        with writer:
            _write(recording, writer)
        os.replace(folder / f"{folder.name}{SUFFIX}", path)
    except OSError as error:
        raise RecordingError(f"{path}: cannot be written ({error.strerror}).") from error
    except bags.WriterError as error:
        raise RecordingError(f"{path}: cannot be written ({error}).") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return path


def _write(recording: Recording, writer: Any) -> None:
    bag, period = _Bag(writer), recording.get("period_s")
    ticks = recording[TICK].astype(np.int64).tolist()
    stamps = [stamp_of(tick, period) for tick in ticks]
    first = stamps[0] if stamps else 0
    make = bag.make
    # On a topic there are only lists, some of them of one number.
    single = [name for name, values in recording.columns.items() if values.ndim == 1]
    text = recording.text(single=[name for name in single if name != TICK])
    bag.latch(topics.RUN_METADATA, first, "std_msgs/String", make.text(text))
    robots = robots_of(recording.metadata)
    frames = None
    if robots is not None:
        text = write_urdf(robots.mechanism, robots.shapes, recording.get("scenario"))
        bag.latch(topics.ROBOT_DESCRIPTION, first, "std_msgs/String", make.text(text))
        frames = _positions(recording)
    tf = None
    if robots is not None and frames is not None:
        joints = [*recording.get("joints"), *recording.metadata.get("passive_joints", ())]
        tf = Frames(robots, joints, recording.get("object"))
        bag.latch("/tf_static", first, "tf2_msgs/TFMessage", tf.resting(make))
    columns = {name: _wide(values) for name, values in recording.columns.items()}
    streams = list(streams_of(recording))
    stride = max(1, round(FRAMES_S / period))
    told = diagnostics_of(recording)
    for row, (tick, stamp) in enumerate(zip(ticks, stamps, strict=True)):
        for stream in streams:
            values = [columns[place.column][row, place.part] for place in stream.places]
            message = stream.write(make, tick, stamp, values)
            bag.write(stream.topic, stamp, stream.kind, message)
        if tf is not None and frames is not None and row % stride == 0:
            q, pose = (values[row] for values in frames)
            if np.isfinite(q).all() and np.isfinite(pose).all():
                bag.write("/tf", stamp, "tf2_msgs/TFMessage", tf.moving(make, stamp, q, pose))
        if row in told:
            array = told[row].message(make, stamp)
            bag.write("/diagnostics", stamp, "diagnostic_msgs/DiagnosticArray", array)


def streams_of(recording: Recording) -> Iterator[Stream]:
    """Yield the streams that hold all columns of a recording."""
    widths = {name: _wide(values).shape[1] for name, values in recording.columns.items()}
    gone = {TICK, *_OF_EVERY_BAG}
    for stream in standard_streams(recording.metadata):
        if all(widths.get(place.column) == place.width for place in stream.places):
            gone |= {place.column for place in stream.places}
            yield stream
    units = recording.metadata.get("units", {})
    for name, width in widths.items():
        if name not in gone:
            yield Numbers(topics.COLUMNS + name, (whole(name, width),), str(units.get(name, "")))


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
        """Write the only message of a topic that who plays it later gives to late listeners."""
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
