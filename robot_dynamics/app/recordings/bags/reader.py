# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Bags read as recordings: our MCAP files, and bags of our topics by `ros2 bag record`."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.app.output_files import RECORDING
from robot_dynamics.app.recordings import topic_names as topics
from robot_dynamics.app.recordings.bags.messages import full_name, require_rosbags
from robot_dynamics.app.recordings.bags.streams import (
    Numbers,
    Stream,
    Wrenches,
    standard_streams,
    whole,
)
from robot_dynamics.app.recordings.recording import FORMAT, TICK, Recording, RecordingError
from robot_dynamics.app.scenarios.cell import build_system
from robot_dynamics.app.scenarios.scenario import scenario_of_text
from robot_dynamics.arrays import Array
from robot_dynamics.control.clock import SECOND, tick_of
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.manipulation.wrist_sensors import SensorFrames

_WRENCHES = "grasp_wrench"
_METADATA = "metadata.yaml"
_BAGS = (".mcap", ".db3")
_SEQUENCE_NUMBERS = 1 << 32
_COMMANDS = "commanded_torque"
# Memory to read a bag: some for any, and for each byte of it, which can be compressed [bytes].
_LEAST_MEMORY, _MEMORY_PER_BYTE = 2**29, 100


def read_bag(path: str | Path) -> Recording:
    """Return the recording in a bag: a file (.mcap, .db3), or a folder of `ros2 bag`.

    A control period is restored if its command was recorded or, without commands, its joint
    states. Values that are missing on other topics are NaN.

    Raises:
        RecordingError: If it is not a bag, or the topic `run_metadata` is missing, which gives the
            meaning of the numbers.
    """
    path = Path(path)
    highlevel = require_rosbags().highlevel
    typesys = require_rosbags().typesys
    if not path.exists():
        raise RecordingError(f"{path}: cannot be read (No such file or directory).")
    if path.is_file() and path.suffix not in _BAGS:
        raise RecordingError(f"{path}: expected a recording as .npz or .mcap, or a bag.")
    if path.is_dir() and not (path / _METADATA).is_file():
        raise RecordingError(
            f"{path}: is a folder without a recording; expected {RECORDING} of a run, or "
            f"{_METADATA} of a bag."
        )
    files = [path] if path.is_file() else [*path.iterdir()]
    size = sum(file.stat().st_size for file in files if file.is_file())
    most = _LEAST_MEMORY + _MEMORY_PER_BYTE * size
    try:
        with (
            _limited(most),
            highlevel.AnyReader(
                [path], default_typestore=typesys.get_typestore(typesys.Stores.ROS2_JAZZY)
            ) as reader,
        ):
            metadata, parts = _read(reader, path)
    except RecordingError:
        raise
    except MemoryError as error:
        raise RecordingError(
            f"{path}: has {size} bytes and needs more than {most >> 20} MiB of memory; expected "
            "messages of a usual size."
        ) from error
    except Exception as error:  # of several packages below it, for every kind of damage
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        raise RecordingError(f"{path}: is not a bag, or damaged ({reason}).") from error
    columns = _columns([part for part in parts if len(part)])
    if columns is None:
        raise RecordingError(f"{path}: holds no joint states and no commands of a run.")
    _move_to_tools(columns, metadata, parts)
    for name in metadata.pop("single", []):
        if name in columns:
            columns[name] = columns[name].reshape(-1)
    columns["time"] = columns[TICK] * metadata["period_s"]
    return Recording(columns, metadata)


@contextlib.contextmanager
def _limited(most: int) -> Iterator[None]:
    """Limit the memory and the files of this process, if the system can [bytes].

    Libraries below the reader unpack compressed parts at once, whatever their size.
    """
    try:
        import resource

        used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except (ImportError, OSError):  # not Linux
        yield
        return
    bounds = {
        resource.RLIMIT_AS: used * resource.getpagesize() + most,
        resource.RLIMIT_FSIZE: most,  # of temporary files
    }
    before = {kind: resource.getrlimit(kind) for kind in bounds}
    try:
        for kind, (soft, hard) in before.items():
            unbounded = soft == resource.RLIM_INFINITY
            resource.setrlimit(
                kind, (bounds[kind] if unbounded else min(bounds[kind], soft), hard)
            )
        yield
    finally:
        for kind, limits in before.items():
            resource.setrlimit(kind, limits)


def _read(reader: Any, path: Path) -> tuple[dict[str, Any], list[_Part]]:
    """Return the metadata of the last run, and the messages of each topic."""
    begun_at, metadata, namespace = _metadata(reader, path)
    named = metadata.pop("topics", {})
    period = metadata["period_s"]
    parts = {}
    for stream in standard_streams(metadata):
        for topic in named.get(stream.topic, [namespace + stream.topic]):
            parts[topic] = _Part(stream)
    prefix = namespace + topics.COLUMNS
    connections = []
    for connection in reader.connections:
        name = connection.topic.removeprefix(prefix)
        if connection.topic.startswith(prefix):
            # The first message gives the number of values.
            parts[connection.topic] = _Part(Numbers(connection.topic, (whole(name, 0),)))
        part = parts.get(connection.topic)
        if part is not None and connection.msgtype == full_name(part.stream.kind):
            connections.append(connection)
    for connection, at, raw in reader.messages(connections) if connections else ():
        if at >= begun_at:
            message = reader.deserialize(raw, connection.msgtype)
            parts[connection.topic].take(message, period)
    return metadata, [*parts.values()]


def _metadata(reader: Any, path: Path) -> tuple[int, dict[str, Any], str]:
    """Return when the last run began [ns], its metadata, and the namespace of its topics."""
    found = [c for c in reader.connections if c.topic.rpartition("/")[2] == topics.RUN_METADATA]
    # A recorder also lists topics without messages.
    if not any(connection.msgcount for connection in found):
        raise RecordingError(
            f"{path}: has nothing of the topic {topics.RUN_METADATA}; expected a recording by "
            "this package, or a bag of all topics recorded while its controller ran."
        )
    names = sorted({connection.topic for connection in found})
    if len(names) > 1:
        raise RecordingError(
            f"{path}: holds runs of several controllers ({', '.join(names)}); expected one."
        )
    texts: list[tuple[int, str]] = []
    for connection, at, raw in reader.messages(found):
        text = reader.deserialize(raw, connection.msgtype).data
        if not texts or text != texts[-1][1]:
            texts.append((at, text))
    try:
        metadata = json.loads(texts[-1][1])
    except ValueError:
        metadata = None
    if not isinstance(metadata, dict) or metadata.pop("format", None) != FORMAT:
        raise RecordingError(f"{path}: {names[0]}: expected metadata of format {FORMAT}.")
    # A recorder that starts late gets the metadata after the first samples.
    begun_at = texts[-1][0] if len(texts) > 1 else 0
    return begun_at, metadata, names[0].removesuffix(topics.RUN_METADATA)


class _Part:
    """The numbers on a topic by tick; of messages for the same tick, the last one counts."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.frame: str | None = None  # of the last wrench
        self.by_tick: dict[int, list[Array]] = {}
        self.by_number: dict[int, list[Array]] = {}

    def __len__(self) -> int:
        return len(self.by_tick) + len(self.by_number)

    def take(self, message: Any, period: float) -> None:
        """Take the numbers of a message."""
        stream = self.stream
        if isinstance(stream, Numbers) and stream.places[0].width == 0:
            name, size = stream.places[0].column, len(message.data)
            stream = self.stream = Numbers(stream.topic, (whole(name, size),), stream.label)
        number, values = stream.number(message), [*stream.read(message)]
        if number is not None:
            self.by_number[number] = values
            return
        stamp = message.header.stamp
        if isinstance(stream, Wrenches):
            self.frame = message.header.frame_id
        self.by_tick[tick_of(stamp.sec * SECOND + stamp.nanosec, period)] = values

    def numbered(self, known: dict[int, int]) -> None:
        """Replace numbers modulo 2^32 by the ticks that they mean; unknown ones are left out."""
        for number, values in self.by_number.items():
            if number in known:
                self.by_tick[known[number]] = values


def _columns(parts: list[_Part]) -> dict[str, Array] | None:
    """Return the columns of all parts over the ticks of the commands, or of the joint states."""
    stamped = {tick for part in parts for tick in part.by_tick}
    known = {tick % _SEQUENCE_NUMBERS: tick for tick in stamped}
    if not stamped:  # numbers alone: those of a run that is younger than 2^32 periods
        known = {number: number for part in parts for number in part.by_number}
    for part in parts:
        part.numbered(known)
    by_column: dict[str, list[_Part]] = {}
    for part in parts:
        for place in part.stream.places:
            by_column.setdefault(place.column, []).append(part)
    leading = by_column.get(_COMMANDS, by_column.get("joint_position", []))
    ticks = sorted({tick for part in leading for tick in part.by_tick})
    if not ticks:
        return None
    row_of = {tick: row for row, tick in enumerate(ticks)}
    columns = {TICK: np.array(ticks, dtype=float)}
    for part in parts:
        for i, place in enumerate(part.stream.places):
            if place.column not in columns:
                columns[place.column] = np.full((len(ticks), place.width), np.nan)
            column = columns[place.column]
            for tick in part.by_tick.keys() & row_of.keys():
                cell, values = column[row_of[tick], place.part], part.by_tick[tick][i]
                cell[...] = np.where(np.isnan(values), cell, values)
    return columns


def _move_to_tools(
    columns: dict[str, Array], metadata: dict[str, Any], parts: list[_Part]
) -> None:
    """Move measured wrenches from the frames of their messages to tool frames, as control does.

    Wrenches in frames that are not fixed to the tool are missing then.
    """
    moved = [
        (part.stream.places[0], part.frame)
        for part in parts
        if isinstance(part.stream, Wrenches)
        and part.stream.places[0].column == _WRENCHES
        and part.frame not in (None, part.stream.frame)
    ]
    if not moved:
        return
    try:
        frames = SensorFrames(build_system(scenario_of_text(str(metadata.get("scenario_text")))))
    except RobotDynamicsError:
        frames = None  # robots that are not there
    for place, frame in moved:
        values, arm = columns[_WRENCHES][:, place.part], metadata["arms"][place.first // 6]
        try:
            to_tool = np.full((6, 6), np.nan) if frames is None else frames.to_tool(arm, frame)
        except ArgumentError:
            to_tool = np.full((6, 6), np.nan)
        if to_tool is not None:
            values[:] = values @ to_tool.T
