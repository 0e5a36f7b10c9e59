# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What happened in a run: columns of numbers over control periods, and what they mean.

A recording is kept as .npz with every bit, or as a bag of ROS 2 messages (.mcap).
"""

from __future__ import annotations

import io
import json
import os
import sys
import threading
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.app.output_files import RECORDING, require_parent, whole_file
from robot_dynamics.errors import RobotDynamicsError, UnknownNameError

Array = NDArray[np.float64]

FORMAT = 1  # of the file; raised when older files can no longer be understood
TICK = "tick"
_BLOCK = 8192  # rows; filling a new block takes some milliseconds
_METADATA, _COLUMN = "metadata", "column/"


class RecordingError(RobotDynamicsError):
    """A recording that cannot be read, or two that do not belong together."""


@dataclass(frozen=True)
class Recording:
    """Columns over control periods.

    Attributes:
        columns: By name an array (ticks,) or (ticks, n); "tick" counts control periods.
        metadata: What the numbers mean; JSON values only.
    """

    columns: dict[str, Array]
    metadata: dict[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Array:
        try:
            return self.columns[name]
        except KeyError:
            raise UnknownNameError("column", name, self.columns, "recording") from None

    def __contains__(self, name: str) -> bool:
        return name in self.columns

    def __len__(self) -> int:
        return len(self.columns[TICK])

    def get(self, key: str) -> Any:
        """Return an entry of the metadata.

        Raises:
            RecordingError: If there is none.
        """
        if key not in self.metadata:
            raise RecordingError(f"recording: the metadata have no {key!r}.")
        return self.metadata[key]

    def merged(self, other: Recording) -> Recording:
        """Return one recording of two that were made of the same run, matched by tick.

        Ticks that only one of them has are left out.

        Raises:
            RecordingError: If they contradict each other.
        """
        ticks, mine, others = np.intersect1d(
            self[TICK], other[TICK], assume_unique=False, return_indices=True
        )
        columns = {name: values[mine] for name, values in self.columns.items()}
        for name, values in other.columns.items():
            if name in columns and name != TICK:
                raise RecordingError(
                    f"recordings: both have a column {name!r}; expected the two sides of one run, "
                    "its simulator's and its controller's, or one recording alone."
                )
            columns[name] = values[others]
        columns[TICK] = ticks
        metadata = dict(self.metadata)
        for key, value in other.metadata.items():
            if key in metadata and metadata[key] != value:
                raise RecordingError(
                    f"recordings: one has {key} = {_short(metadata[key])}, the other "
                    f"{_short(value)}; they are not of the same run."
                )
            metadata[key] = value
        return Recording(columns, metadata)

    def save(self, path: str | Path) -> Path:
        """Write an .npz file; it appears whole or not at all.

        Raises:
            RecordingError: If it cannot be written, or the metadata are no JSON.
        """
        path = Path(path)
        try:
            with whole_file(path) as partial, partial.open("wb") as file:
                self.dump(file)
        except OSError as error:
            raise RecordingError(f"{path}: cannot be written ({error.strerror}).") from error
        except RecordingError as error:
            raise RecordingError(f"{path}: {error}") from error
        return path

    def dump(self, file: IO[bytes]) -> None:
        """Write what an .npz file holds, for instance into a pipe.

        Raises:
            RecordingError: If the metadata are no JSON.
        """
        arrays = {_COLUMN + name: values for name, values in self.columns.items()}
        np.savez(file, **{_METADATA: np.array(self.text())}, **arrays)  # type: ignore[arg-type]

    def text(self, **more: Any) -> str:
        """Return format and metadata, and more of them, as JSON.

        Raises:
            RecordingError: If the metadata are no JSON.
        """
        try:
            return json.dumps({"format": FORMAT, **self.metadata, **more}, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise RecordingError(f"metadata that are no JSON: {error}.") from error

    @classmethod
    def load(cls, path: str | Path | IO[bytes]) -> Recording:
        """Return the recording in a file; one that is open must be seekable.

        Raises:
            RecordingError: If it is missing, damaged or something else.
        """
        try:
            with np.load(path, allow_pickle=False) as archive:
                metadata = json.loads(str(archive[_METADATA]))
                columns = {
                    name.removeprefix(_COLUMN): archive[name]
                    for name in archive.files
                    if name.startswith(_COLUMN)
                }
        except OSError as error:
            reason = error.strerror or "not a recording"
            raise RecordingError(f"{path}: cannot be read ({reason}).") from error
        except (ValueError, KeyError, EOFError, AttributeError, zipfile.BadZipFile) as error:
            raise RecordingError(f"{path}: is not a recording, or damaged.") from error
        found = metadata.pop("format", None) if isinstance(metadata, dict) else None
        if found != FORMAT or TICK not in columns:
            raise RecordingError(f"{path}: expected a recording of format {FORMAT}.")
        lengths = {len(values) for values in columns.values()}
        if len(lengths) != 1:
            raise RecordingError(f"{path}: columns of different lengths.")
        return cls(columns, metadata)


class Recorder:
    """Writes rows into arrays that are there before the run starts.

    Args:
        widths: By column its number of values, or 0 for a single number.
        capacity: Rows to expect; there will be more room when it is needed.
    """

    def __init__(self, widths: Mapping[str, int], capacity: int) -> None:
        self._widths = dict(widths)
        self._full: list[list[Array]] = []  # blocks that are full
        self._size = min(max(capacity, 1), _BLOCK)
        self._block = self._new_block()
        self._at = 0

    @property
    def count(self) -> int:
        """Number of rows so far."""
        return len(self._full) * self._size + self._at

    def write(self, values: Iterable[Any]) -> None:
        """Append a row: the values of all columns in their order."""
        at = self._at
        if at == self._size:
            self._full.append(self._block)
            self._block, at = self._new_block(), 0
        for column, value in zip(self._block, values, strict=True):
            column[at] = value
        self._at = at + 1

    def recording(
        self, metadata: Mapping[str, Any], more: Mapping[str, Array] | None = None
    ) -> Recording:
        """Return what was written, with further columns that are known only now."""
        last = [column[: self._at] for column in self._block]
        blocks = zip(*self._full, last, strict=True)
        columns = {
            name: np.concatenate(parts) for name, parts in zip(self._widths, blocks, strict=True)
        }
        return Recording({**columns, **(more or {})}, dict(metadata))

    def _new_block(self) -> list[Array]:
        # Filled with what is no number: a value that was never written is noticed.
        return [
            np.full((self._size, width) if width else (self._size,), np.nan)
            for width in self._widths.values()
        ]


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 60 else text[:57] + "..."


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
    """Write the .npz on standard input to the path in the command line; return the exit status."""
    os.nice(10)  # the process that started this one may be controlling arms
    try:
        save_recording(Recording.load(io.BytesIO(sys.stdin.buffer.read())), sys.argv[1])
    except RecordingError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


_WRITER = "import sys; from robot_dynamics.app import recording; sys.exit(recording.main())"


class BackgroundSaving:
    """Writes a recording while the controller keeps running, and stores errors for later.

    A thread writes .npz files. A bag is written by another process, because serializing thousands
    of messages in this one would hold the interpreter lock and delay the controller.

    Attributes:
        failure: Why the recording could not be written; empty if nothing went wrong so far.

    Args:
        path: The file, .npz or .mcap; empty for none.

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
        """Begin to write; after what is being written already.

        Args:
            make: Returns the recording, which takes a while as well; called in a thread.
        """
        self.wait()
        if self._path is not None:
            self._thread = threading.Thread(target=self._save, args=(make, self._path))
            self._thread.start()

    def wait(self) -> None:
        """Return when everything is written, or has failed."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _save(self, make: Callable[[], Recording], path: Path) -> None:
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


def _save_elsewhere(recording: Recording, path: Path) -> None:
    """Have another process write the recording.

    Raises:
        RecordingError: If it fails.
    """
    import subprocess

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
