# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Machine code on disk, so that a second start neither traces nor compiles.

The folder is $ROBOT_DYNAMICS_CACHE_DIR, by default robot_dynamics in $XDG_CACHE_HOME or ~/.cache;
ROBOT_DYNAMICS_CACHE=0 turns the cache off. Since its contents are executed, it uses only folders
and files that belong to this user and are not writable for others. Errors of the cache only cost
time.

A file is: 8 bytes that identify the format, the SHA-256 of all that follows, the length of the
metadata in 8 bytes, the metadata in JSON, the object code.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import stat
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.compile.host import Host

_logger = logging.getLogger(__name__)

_MAGIC = b"rdkernel"
_SUFFIX = ".kernel"
# With more files than this, of some 40 kB each, the least recently used ones are removed.
_MOST_FILES = 5000
# Folders of the package on which kernels do not depend.
_IRRELEVANT_FOLDERS = frozenset(("nodes", "app", "__pycache__"))


def entry_name(key: bytes, host: Host, lanes: int) -> str:
    """Return the name under which a kernel is stored.

    Args:
        key: Key of the program.
        host: Target of the code.
        lanes: Number of lanes of the code.
    """
    digest = hashlib.sha256()
    for part in (key, source_hash(), repr((host, lanes, *_versions())).encode()):
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


@lru_cache(maxsize=1)
def source_hash() -> bytes:
    """Return a hash of the source of all modules that affect kernels."""
    package = Path(__file__).resolve().parent.parent
    digest = hashlib.sha256()
    for folder, folders, files in os.walk(package):
        folders[:] = sorted(name for name in folders if name not in _IRRELEVANT_FOLDERS)
        for name in sorted(files):
            if name.endswith(".py"):
                with open(os.path.join(folder, name), "rb") as file:
                    content = file.read()
                place = os.path.relpath(os.path.join(folder, name), package)
                digest.update(f"{place}\0{len(content)}\0".encode())
                digest.update(content)
    return digest.digest()


def _versions() -> tuple[str, ...]:
    import llvmlite

    return str(llvmlite.__version__), np.__version__


def load(entry: str) -> tuple[dict[str, Any], bytes] | None:
    """Return the metadata and the object code of an entry; None if it cannot be read."""
    folder = folder_of_kernels()
    if folder is None:
        return None
    path = folder / (entry + _SUFFIX)
    try:
        _check_folder(folder)
        content = _read_own_file(path)
        if content is None:
            return None
        return _unpack(content)
    except (OSError, ValueError) as error:
        _logger.warning("The cached kernel %s is not used: %s", path, error)
        return None


def store(entry: str, metadata: dict[str, Any], code: bytes) -> None:
    """Write an entry, or do nothing if that is not possible."""
    folder = folder_of_kernels()
    if folder is None:
        return
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _check_folder(folder)
        _write_at_once(folder / (entry + _SUFFIX), _pack(metadata, code))
        _remove_oldest(folder)
    except OSError as error:
        _logger.warning("The compiled kernel is not kept in %s: %s", folder, error)


def folder_of_kernels() -> Path | None:
    """Return the folder of entries; None if there is none, or the cache is turned off."""
    if os.environ.get("ROBOT_DYNAMICS_CACHE", "1") == "0":
        return None
    chosen = os.environ.get("ROBOT_DYNAMICS_CACHE_DIR")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):  # as the XDG base directory specification demands
        base = os.path.join(os.path.expanduser("~"), ".cache")
    if not os.path.isabs(base):
        return None  # there is no home
    return Path(base) / "robot_dynamics"


def _check_folder(folder: Path) -> None:
    """Raise an OSError if others can put files into a folder."""
    try:
        status = os.lstat(folder)
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(status.st_mode):
        raise OSError(f"{folder} is not a folder.")
    _check_ownership(status, str(folder))


def _check_ownership(status: os.stat_result, what: str) -> None:
    if status.st_uid != os.geteuid():
        raise PermissionError(
            f"{what} belongs to user {status.st_uid}, expected user {os.geteuid()}."
        )
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(
            f"{what} has mode {stat.S_IMODE(status.st_mode):o}, expected no write access for "
            "other users."
        )


def _read_own_file(path: Path) -> bytes | None:
    """Return the content of a file that only this user can write; None if there is none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError("it is no regular file.")
        _check_ownership(status, "the file")
        content = file.read()
    with contextlib.suppress(OSError):
        os.utime(path)  # for `_remove_oldest`
    return content


def _write_at_once(path: Path, content: bytes) -> None:
    """Write a file atomically."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".writing-")
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _remove_oldest(folder: Path) -> None:
    """Keep the number of files within limits."""
    with os.scandir(folder) as entries:
        files = [entry for entry in entries if entry.name.endswith(_SUFFIX)]
    if len(files) > _MOST_FILES:
        by_age = []
        for file in files:
            with contextlib.suppress(OSError):
                by_age.append((file.stat(follow_symlinks=False).st_mtime, file.path))
        by_age.sort()
        for _, path in by_age[: len(by_age) - _MOST_FILES // 2]:
            with contextlib.suppress(OSError):
                os.unlink(path)


def _pack(metadata: dict[str, Any], code: bytes) -> bytes:
    description = json.dumps(metadata).encode()
    body = len(description).to_bytes(8, "little") + description + code
    return _MAGIC + hashlib.sha256(body).digest() + body


def _unpack(content: bytes) -> tuple[dict[str, Any], bytes]:
    start = len(_MAGIC)
    digest, body = content[start : start + 32], content[start + 32 :]
    if content[:start] != _MAGIC or hashlib.sha256(body).digest() != digest:
        raise ValueError("its content does not match its checksum.")
    length = int.from_bytes(body[:8], "little")
    metadata = json.loads(body[8 : 8 + length])
    if not isinstance(metadata, dict):
        raise ValueError(f"its metadata are a {type(metadata).__name__}, expected a mapping.")
    return metadata, body[8 + length :]
