# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Paths of mesh files. The search is made on request; nothing is downloaded."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

from robot_dynamics.resources import (
    SCHEME,
    ResourceNotFoundError,
    packages_around,
    resolve_package_uri,
)

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)


def locate_mesh(address: str, folder: str | Path = "") -> Path:
    """Return the file of a mesh.

    An address is `package://NAME/PATH` (or `model://`, as Gazebo has it), `file://PATH`, or a path
    relative to the description's folder. A package that is not installed is also looked for above
    and beside that folder, as robots in a source checkout have it.

    Args:
        address: As the description states it.
        folder: The folder of the description; empty if it came from a text.

    Raises:
        ResourceNotFoundError: If there is no such file; the message lists where it was looked for.
    """
    scheme = _SCHEME.match(address)
    kind = scheme.group(1).lower() if scheme else ""
    if kind in ("package", "model"):
        return _in_package(address[address.index("://") + 3 :], folder)
    if kind == "file":
        # file:///PATH is absolute; file://PATH, though wrong, is common for a relative one.
        path = Path(folder) / unquote(address[len("file://") :])
    elif kind:
        raise ResourceNotFoundError(
            address, "files are not downloaded, expected package://, file:// or a path", ()
        )
    else:
        path = Path(folder) / address
    if not path.exists():
        raise ResourceNotFoundError(address, "there is no such file", (path,))
    return path


def _in_package(rest: str, folder: str | Path) -> Path:
    name, _, path = rest.partition("/")
    tried = []
    if folder:
        for package in packages_around(Path(folder).resolve(), name):
            tried.append(package)
            if (package / path).exists():
                return package / path
    try:
        return resolve_package_uri(SCHEME + rest)
    except ResourceNotFoundError as error:
        if not tried:
            raise
        raise ResourceNotFoundError(
            SCHEME + rest, "there is no such file", (*tried, *error.searched)
        ) from error
