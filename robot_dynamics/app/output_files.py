# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Files for results, checked before the work that fills them."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any, TextIO

from robot_dynamics.errors import RobotDynamicsError

#: The recording in a folder with everything of a run.
RECORDING = "recording.npz"
NPZ, MCAP = ".npz", ".mcap"
#: Suffixes of recordings.
SUFFIXES = (NPZ, MCAP)


#: Name of the standard output, as a place for JSON.
STANDARD_OUTPUT = Path("-")
_json_stream: TextIO | None = None  # the standard output, while it is kept for JSON


class OutputError(RobotDynamicsError):
    """An output path that cannot be used."""


def require_parent(path: Path) -> None:
    """Check that a file can be written at this path.

    Raises:
        OutputError: If its folder does not exist or takes no files, or it is a folder itself.
    """
    if path == STANDARD_OUTPUT:
        return
    if not path.parent.is_dir():
        raise OutputError(f"{path}: there is no folder {path.parent}, expected one to write into.")
    if path.is_dir():
        raise OutputError(f"{path}: is a folder, expected the name of a file.")
    try:  # permissions do not show everything, as in /proc
        tempfile.TemporaryFile(dir=path.parent).close()
    except OSError as error:
        raise OutputError(
            f"{path}: the folder {path.parent} takes no files ({error.strerror}), expected one to "
            "write into."
        ) from error


@contextmanager
def whole_file(path: Path, refusal: type[RobotDynamicsError] = OutputError) -> Iterator[Path]:
    """Yield a temporary path for a file that appears at `path` completely or not at all.

    If writing is interrupted, also by a signal, an older file is kept.

    Args:
        path: The file.
        refusal: Type of the error that is raised if it cannot be written.
    """
    # Keep the suffix: it selects the format.
    partial = path.with_name(f".{os.getpid()}.{path.name}")
    try:
        yield partial
        os.replace(partial, path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise refusal(f"{path}: cannot be written ({reason}).") from error
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def json_alone(path: Path | None) -> Iterator[None]:
    """Keep the standard output for JSON, if it is the place for that.

    Other output goes to standard error meanwhile, so that a program can read the JSON.

    Args:
        path: Where the JSON goes.
    """
    if path != STANDARD_OUTPUT:
        yield
        return
    global _json_stream
    _json_stream = sys.stdout
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        _json_stream = None


def write_json(value: Any, path: Path, refusal: type[RobotDynamicsError] = OutputError) -> Path:
    """Write a value as JSON; a file appears whole or not at all. Return the place.

    Args:
        value: JSON values; numbers must be finite.
        path: The file; "-" is the standard output, see `json_alone`.
        refusal: Type of the error that is raised if it cannot be written.
    """
    text = json.dumps(value, indent=2, allow_nan=False) + "\n"
    if path == STANDARD_OUTPUT:
        stream = _json_stream or sys.stdout
        stream.write(text)
        stream.flush()
        return path
    with whole_file(path, refusal) as part:
        part.write_text(text, encoding="utf-8")
    return path
