# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reading the bytes and the text of a description file, within limits."""

from __future__ import annotations

import errno
import os
import select
from difflib import get_close_matches
from pathlib import Path

from robot_dynamics.description.diagnosis import DescriptionError, Problem
from robot_dynamics.description.robot_names import ROBOTS, robot_file
from robot_dynamics.resources import SCHEME, ResourceNotFoundError, resolve_package_uri

_PIPE_TIMEOUT = 5.0  # s: longest time without data from a pipe


def locate(name: str | Path, folder: str | Path = "", place: str = "") -> Path:
    """Return the path of a file that a user named.

    Args:
        name: A path, a `package://` address, or `robot_descriptions:` and the name of a robot.
        folder: Folder of relative paths.
        place: Place of the name in a file, for the message.

    Raises:
        DescriptionError: If an address or a name cannot be resolved.
    """
    try:
        if str(name).startswith(ROBOTS):
            return robot_file(str(name))
        if str(name).startswith(SCHEME):
            return resolve_package_uri(str(name))
    except ResourceNotFoundError as error:
        raise refused(place, str(error).rstrip(".")) from error
    return Path(folder) / name


def read_bytes(path: str | Path, *, expected: str, limit: int) -> bytes:
    """Return the contents of a file.

    Args:
        path: The file.
        expected: Expected kind of file, for the message ("a URDF file").
        limit: Largest accepted size [bytes].

    Raises:
        DescriptionError: If there is no such file, it cannot be read or is too large.
    """
    path = Path(path)
    try:
        # One byte more than allowed shows that a file is too large, also for pipes.
        if path.is_fifo():
            data = _read_pipe(path, limit + 1)
        else:
            with path.open("rb") as file:
                data = file.read(limit + 1)
    except (OSError, ValueError) as error:
        raise refused(
            path, _why_unreadable(path, error, expected), _likely(path, error)
        ) from error
    if len(data) > limit:
        raise refused(
            path, f"is larger than {limit / 2**20:g} MiB, expected {expected} of at most that size"
        )
    return data


def as_text(data: bytes, path: str | Path) -> str:
    """Return UTF-8 text, with or without a byte-order mark.

    Raises:
        DescriptionError: If it is in another encoding; names the line.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise refused(
            f"{Path(path)}:{line}",
            f"byte 0x{data[error.start]:02x} is not UTF-8 text",
            "save the file in the encoding UTF-8",
        ) from error


def refused(place: str | Path, message: str, hint: str = "") -> DescriptionError:
    """Return the error of a file with a single problem."""
    return DescriptionError([Problem("error", str(place), "", message, hint)])


def _why_unreadable(path: Path, error: Exception, expected: str) -> str:
    if isinstance(error, FileNotFoundError):
        return f"there is no such file, expected {expected}"
    if isinstance(error, IsADirectoryError):
        return f"is a folder, expected {expected}"
    reason = getattr(error, "strerror", None) or str(error)
    return f"cannot be read ({reason}), expected {expected}"


def _read_pipe(path: Path, limit: int) -> bytes:
    """Return the contents of a named pipe, up to a limit.

    Opened without waiting, a pipe without a writer ends at once; with a writer, as in `inspect
    <(xacro FILE)`, data or the end arrive within the timeout.

    Raises:
        OSError: If it has no writer, or the writer sends no data.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    data = b""
    try:
        while len(data) < limit:
            try:
                piece = os.read(descriptor, limit - len(data))
            except BlockingIOError:
                if not select.select([descriptor], [], [], _PIPE_TIMEOUT)[0]:
                    raise OSError(errno.ETIMEDOUT, "a pipe whose writer sends no data") from None
                continue
            if not piece:
                break
            data += piece
    finally:
        os.close(descriptor)
    if not data:
        raise OSError(errno.ENODATA, "a pipe without a writer")
    return data


def _likely(path: Path, error: Exception) -> str:
    """Return a hint with the file that was probably meant; empty without one."""
    if not isinstance(error, FileNotFoundError):
        return ""
    try:
        others = [p.name for p in path.parent.iterdir() if p.name != path.name]
        close = get_close_matches(path.name, others, n=1)
    except (OSError, ValueError):
        return ""
    return f"did you mean {str(path.with_name(close[0]))!r}?" if close else ""
