# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reading the bytes and the text of a description, with limits and without surprises."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path

from robot_dynamics.description.diagnosis import DescriptionError, Problem
from robot_dynamics.resources import SCHEME, ResourceNotFoundError, resolve_package_uri


def locate(name: str | Path, folder: str | Path = "", place: str = "") -> Path:
    """Return the path of a file that a user named.

    Args:
        name: A path, or a `package://` address.
        folder: What a relative path is relative to.
        place: Where the name was read, for the message.

    Raises:
        DescriptionError: If a `package://` address names nothing.
    """
    if not str(name).startswith(SCHEME):
        return Path(folder) / name
    try:
        return resolve_package_uri(str(name))
    except ResourceNotFoundError as error:
        raise refused(place, str(error).rstrip(".")) from error


def read_bytes(path: str | Path, *, expected: str, limit: int) -> bytes:
    """Return the contents of a file.

    Args:
        path: The file.
        expected: What should be there, for the message ("a URDF file").
        limit: The largest size accepted [bytes].

    Raises:
        DescriptionError: If there is no such file, it cannot be read or is too large.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            # One byte more than allowed tells a file that is too large, also for pipes.
            data = file.read(limit + 1)
    except (OSError, ValueError) as error:
        raise refused(path, _why_unreadable(path, error, expected), _likely(path)) from error
    if len(data) > limit:
        raise refused(
            path, f"is larger than {limit / 2**20:g} MiB, which {expected} should not be"
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


def _likely(path: Path) -> str:
    """Return a hint that names the file that was probably meant, or nothing."""
    try:
        close = get_close_matches(path.name, [p.name for p in path.parent.iterdir()], n=1)
    except (OSError, ValueError):
        return ""
    return f"did you mean {str(path.with_name(close[0]))!r}?" if close else ""
