# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Recordings: columns of numbers over the control periods of a run, with metadata."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import dropwhile
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.app.output_files import whole_file
from robot_dynamics.arrays import Array
from robot_dynamics.errors import RobotDynamicsError, UnknownNameError
from robot_dynamics.wording import shortened

FORMAT = 1  # of the file; raised when older files can no longer be understood
TICK = "tick"
# Columns that both sides of a run can have.
MEASURED = ("joint_position", "joint_velocity", "grasp_wrench")
_BLOCK = 8192  # rows; filling a new block takes some milliseconds
_METADATA, _COLUMN = "metadata", "column/"
# Recordings are written uncompressed, and those that users compress shrink to a tenth.
_MOST_COMPRESSED = 100  # largest ratio of sizes
_SMALL = 64 * 2**20  # bytes that are read whatever the ratio is


class RecordingError(RobotDynamicsError):
    """A recording that cannot be read, or two that do not belong together."""


@dataclass(frozen=True)
class Recording:
    """Columns over control periods.

    Attributes:
        columns: By name an array (ticks,) or (ticks, n); "tick" counts control periods.
        metadata: Meaning of the numbers; JSON values only.
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
        """Return one recording of the two sides of a run, matched by tick.

        Ticks that only one side has are left out. Measured columns that both have are taken from
        the simulator's side: the controller's samples may be late.

        Raises:
            RecordingError: If they contradict each other.
        """
        ticks = self[TICK]
        mine: Any = slice(None)
        others: Any = slice(None)
        if not (np.array_equal(ticks, other[TICK]) and (np.diff(ticks) > 0).all()):
            ticks, mine, others = np.intersect1d(ticks, other[TICK], return_indices=True)
        columns = {name: values[mine] for name, values in self.columns.items()}
        for name, values in other.columns.items():
            if (
                name in columns
                and name in MEASURED
                and ("applied_torque" in self) != ("applied_torque" in other)
            ):
                if "applied_torque" in other:
                    columns[name] = values[others]
                continue
            if name in columns and name != TICK:
                raise RecordingError(
                    f"recordings: both have a column {name!r}; expected the two sides of one run, "
                    "its simulator's and its controller's, or one recording alone."
                )
            columns[name] = values[others]
        columns[TICK] = ticks
        metadata = dict(self.metadata)
        for key, value in other.metadata.items():
            if key == "units" and key in metadata:  # each side has those of its own columns
                metadata[key] = {**value, **metadata[key]}
                continue
            if key in metadata and metadata[key] != value:
                raise RecordingError(
                    f"recordings: one has {key} = {shortened(repr(metadata[key]))}, the other "
                    f"{shortened(repr(value))}; they are not of the same run."
                )
            metadata[key] = value
        return Recording(columns, metadata)

    def save(self, path: str | Path) -> Path:
        """Write an .npz file; it appears whole or not at all.

        Raises:
            RecordingError: If it cannot be written, or the metadata are no JSON.
        """
        path = Path(path)
        with whole_file(path, RecordingError) as partial, partial.open("wb") as file:
            self.dump(file)
        return path

    def dump(self, file: IO[bytes]) -> None:
        """Write the contents of an .npz file, for instance into a pipe.

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
            RecordingError: If it is missing, damaged or not a recording.
        """
        try:
            with np.load(path, allow_pickle=False) as archive:
                _require_size(path, archive.zip.infolist())
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
        except MemoryError as error:
            raise RecordingError(
                f"{path}: damaged, or larger than the memory ({error}); expected a recording that "
                "fits."
            ) from error
        found = metadata.pop("format", None) if isinstance(metadata, dict) else None
        if found != FORMAT or TICK not in columns:
            raise RecordingError(f"{path}: expected a recording of format {FORMAT}.")
        lengths = {len(values) for values in columns.values()}
        if len(lengths) != 1:
            raise RecordingError(f"{path}: columns of different lengths.")
        return cls(columns, metadata)


def _require_size(path: object, members: Sequence[zipfile.ZipInfo]) -> None:
    """Refuse an archive that is much larger than its file."""
    packed = sum(member.compress_size for member in members)
    size = sum(member.file_size for member in members)
    if size > max(_SMALL, _MOST_COMPRESSED * packed):
        raise RecordingError(
            f"{path}: unpacks {packed} bytes to {size}; expected at most {_MOST_COMPRESSED} times "
            "as many."
        )


class Recorder:
    """Writes rows into arrays that are there before the run starts.

    Args:
        widths: By column its number of values, or 0 for a single one. Columns of single values
            before all others are written as numbers, the rest as vectors.
        capacity: Rows to expect; there will be more room when it is needed.
    """

    def __init__(self, widths: Mapping[str, int], capacity: int) -> None:
        self._widths = dict(widths)
        widths_of_vectors = list(dropwhile(lambda width: not width, self._widths.values()))
        self._count = len(self._widths) - len(widths_of_vectors)
        self._total = sum(max(width, 1) for width in widths_of_vectors)
        self._full: list[tuple[Array, Array]] = []  # blocks that are full
        self._size = min(max(capacity, 1), _BLOCK)
        self._numbers, self._vectors = self._new_block()
        self._at = 0

    @property
    def count(self) -> int:
        """Number of rows so far."""
        return len(self._full) * self._size + self._at

    def write(self, numbers: Sequence[float], vectors: Sequence[ArrayLike]) -> None:
        """Append a row.

        Args:
            numbers: The values of the columns that are numbers.
            vectors: Values of all other columns, in their order; one array can hold several.

        Raises:
            ValueError: If there are not as many values as the columns have.
        """
        if len(numbers) != self._count:
            raise ValueError(f"{len(numbers)} numbers, expected {self._count}.")
        at = self._at
        if at == self._size:
            self._full.append((self._numbers, self._vectors))
            (self._numbers, self._vectors), at = self._new_block(), 0
        self._numbers[at] = numbers
        np.concatenate(vectors, out=self._vectors[at])
        self._at = at + 1

    def recording(self, metadata: Mapping[str, Any], *, last: bool = False) -> Recording:
        """Return all rows written so far, or the last one alone."""
        rows = slice(self._at - 1 if last else 0, self._at)
        block = self._numbers[rows], self._vectors[rows]
        numbers, vectors = zip(*([block] if last else [*self._full, block]), strict=True)
        columns, start = {}, 0
        for i, (name, width) in enumerate(self._widths.items()):
            if i < self._count:
                columns[name] = np.concatenate([part[:, i] for part in numbers])
                continue
            at = slice(start, start + width) if width else start
            columns[name] = np.concatenate([part[:, at] for part in vectors])
            start += max(width, 1)
        return Recording(columns, dict(metadata))

    def _new_block(self) -> tuple[Array, Array]:
        # NaN, so that a value that was never written is noticed.
        return np.full((self._size, self._count), np.nan), np.full(
            (self._size, self._total), np.nan
        )
