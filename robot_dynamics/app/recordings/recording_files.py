# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Recordings as files: .npz with every bit, or bags of ROS 2 messages; also in the background."""

from __future__ import annotations

import io
import os
import sys
import threading
from collections.abc import Callable, Iterable
from functools import reduce
from pathlib import Path

from robot_dynamics.app.output_files import MCAP, NPZ, RECORDING, SUFFIXES, require_parent
from robot_dynamics.app.recordings.recording import Recording, RecordingError
from robot_dynamics.errors import sentence_of


def require_suffix(path: str | Path) -> Path:
    """Return a path to which a recording can be written.

    Raises:
        RecordingError: If its suffix is not known, or a package that it needs is not installed.
    """
    path = Path(path)
    if path.suffix not in SUFFIXES:
        raise RecordingError(f"{path}: expected a recording as {' or '.join(SUFFIXES)}.")
    if path.suffix == MCAP:
        from robot_dynamics.app.recordings.bags.messages import require_rosbags

        require_rosbags()
    return path


def save_recording(recording: Recording, path: str | Path) -> Path:
    """Write a recording in the format of the path's suffix; it appears whole or not at all.

    Raises:
        RecordingError: If it cannot be written.
    """
    if require_suffix(path).suffix == NPZ:
        return recording.save(path)
    from robot_dynamics.app.recordings.bags.writer import write_bag

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
    from robot_dynamics.app.recordings.bags.reader import read_bag

    return read_bag(path)


def load_merged(paths: Iterable[str | Path]) -> Recording:
    """Return one recording of all files of a run, matched by tick.

    Raises:
        RecordingError: If one cannot be read, or they are not of the same run.
    """
    return reduce(Recording.merged, map(load_recording, paths))


def main() -> int:
    """Write the .npz on standard input to the path in the command line; return the exit status."""
    os.nice(10)  # the process that started this one may be controlling arms
    try:
        save_recording(Recording.load(io.BytesIO(sys.stdin.buffer.read())), sys.argv[1])
    except RecordingError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


_WRITER = (
    "import sys; from robot_dynamics.app.recordings.recording_files import main; sys.exit(main())"
)


class BackgroundSaving:
    """Writes a recording while the controller keeps running, and stores errors for later.

    A thread writes .npz files. A bag is written by another process, because serializing thousands
    of messages in this one would hold the interpreter lock and delay the controller.

    Attributes:
        failure: Reason of a failure to write; empty without one.

    Args:
        path: The file, .npz or .mcap; empty for no recording.

    Raises:
        RobotDynamicsError: If the folder is missing, or the suffix is not known.
    """

    def __init__(self, path: str | Path) -> None:
        self._path: Path | None = None
        if str(path):
            self._path = require_suffix(path)
            require_parent(self._path)
        self._thread: threading.Thread | None = None
        self.failure = ""

    @property
    def busy(self) -> bool:
        """Whether it is being written."""
        return self._thread is not None and self._thread.is_alive()

    def start(self, make: Callable[[], Recording]) -> None:
        """Begin to write once any earlier recording is written; return at once.

        Args:
            make: Returns the recording; called in a thread, because it takes time as well.
        """
        if self._path is not None:
            self._thread = threading.Thread(
                target=self._save, args=(make, self._path, self._thread)
            )
            self._thread.start()

    def wait(self) -> None:
        """Return when everything is written, or has failed."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _save(
        self, make: Callable[[], Recording], path: Path, earlier: threading.Thread | None
    ) -> None:
        if earlier is not None:
            earlier.join()
        try:
            recording = make()
            if path.suffix == NPZ:
                recording.save(path)
            else:
                _save_elsewhere(recording, path)
            self.failure = ""
        except (RecordingError, OSError, MemoryError, ValueError) as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            self.failure = reason if isinstance(error, RecordingError) else f"{path}: {reason}."
        except Exception as error:  # else the file would seem to be written
            self.failure = f"{path}: {sentence_of(error).rstrip('.')}."


def _save_elsewhere(recording: Recording, path: Path) -> None:
    """Have another process write the recording.

    Raises:
        RecordingError: If it fails.
    """
    import subprocess  # at once it would slow every start

    from robot_dynamics.app.node_process import with_this_package

    writer = subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(path.absolute())],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=with_this_package(os.environ),
        start_new_session=True,  # Ctrl-C is for the controller
    )
    assert writer.stdin is not None
    assert writer.stderr is not None
    with writer.stderr:
        try:
            with writer.stdin as pipe:
                recording.dump(pipe)
        except BrokenPipeError:
            pass  # it says why
        except BaseException:
            writer.kill()
            writer.wait()
            raise
        words = writer.stderr.read()
        writer.wait()
    if writer.returncode != 0:
        lines = words.decode(errors="replace").strip().splitlines()
        raise RecordingError(lines[-1] if lines else f"{path}: its writer ended early.")
