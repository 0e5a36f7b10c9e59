# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Recordings as files: .npz with every bit, or bags of ROS 2 messages.

`python -m robot_dynamics.app.recording_files PATH` writes the .npz of its standard input as PATH:
a process that has something better to do with its time has it done by another one.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable
from functools import reduce
from pathlib import Path

from robot_dynamics.app.output_files import RECORDING
from robot_dynamics.app.recording import Recording, RecordingError

NPZ, MCAP = ".npz", ".mcap"
SUFFIXES = (NPZ, MCAP)


def require_suffix(path: str | Path) -> Path:
    """Return a path to which a recording can be written.

    Raises:
        RecordingError: If its suffix is not known, or what it needs is not installed.
    """
    path = Path(path)
    if path.suffix not in SUFFIXES:
        raise RecordingError(f"{path}: expected a recording as {' or '.join(SUFFIXES)}.")
    if path.suffix == MCAP:
        from robot_dynamics.app.bags.messages import require_rosbags

        require_rosbags()
    return path


def save_recording(recording: Recording, path: str | Path) -> Path:
    """Write a recording in the format of the path's suffix; it appears whole or not at all.

    Raises:
        RecordingError: If it cannot be written.
    """
    if require_suffix(path).suffix == NPZ:
        return recording.save(path)
    from robot_dynamics.app.bags.writer import write_bag

    return write_bag(recording, path)


def load_recording(path: str | Path) -> Recording:
    """Return the recording in a file or folder: of a run, or a bag if it is no .npz.

    Raises:
        RecordingError: If it is missing, damaged or something else.
    """
    path = Path(path)
    if (path / RECORDING).is_file():
        path = path / RECORDING
    if path.suffix == NPZ:
        return Recording.load(path)
    from robot_dynamics.app.bags.reader import read_bag

    return read_bag(path)


def load_merged(paths: Iterable[str | Path]) -> Recording:
    """Return one recording of all files of a run, matched by tick.

    Raises:
        RecordingError: If one cannot be read, or they are not of the same run.
    """
    return reduce(Recording.merged, map(load_recording, paths))


def main() -> int:
    """Write what comes on standard input to the path of the command line; return the status."""
    os.nice(10)  # whoever started it may be controlling arms
    try:
        save_recording(Recording.load(io.BytesIO(sys.stdin.buffer.read())), sys.argv[1])
    except RecordingError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
