# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Paths of files: of this package, and of `package://` addresses."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path

from robot_dynamics.errors import RobotDynamicsError

PACKAGE = "robot_dynamics"
SCHEME = "package://"

# Packages that pip can supply, for the advice in an error.
_FROM_PIP = {"example-robot-data": "example-robot-data"}


_PACKAGE_NAME = re.compile(r"<name>\s*([^<\s]+)\s*</name>")
_LEVELS = 8  # number of parent folders searched for the package of a description


class ResourceNotFoundError(RobotDynamicsError, FileNotFoundError):
    """A file of a package that is nowhere to be found.

    Attributes:
        uri: The missing file.
        searched: The places that were looked at, in order.
    """

    def __init__(
        self, uri: str, problem: str, searched: tuple[Path, ...], advice: str = ""
    ) -> None:
        self.uri, self.searched = uri, searched
        places = f"; looked in {', '.join(map(str, searched))}" if searched else ""
        hint = f" {advice}" if advice else ""
        super().__init__(f"{uri}: {problem}{places}.{hint}")


def share_directory() -> Path:
    """Return the folder that holds this package's `config`, `urdf`, `rviz` and `launch`.

    That is the checkout's root where the code runs from a checkout (as it does after
    `pip install -e` and `colcon build --symlink-install`), and otherwise the
    `share/robot_dynamics` of the prefix, virtual environment or workspace into which the code
    was installed.

    Raises:
        ResourceNotFoundError: The package was copied without its files.
    """
    here = Path(__file__).resolve()
    checkout = here.parents[1]
    if (checkout / "package.xml").is_file() and (checkout / "resource" / PACKAGE).is_file():
        return checkout
    # <prefix>/lib/pythonX.Y/site-packages/robot_dynamics/resources.py, at a depth that differs
    # between pip, Debian and colcon: the nearest prefix above is the one of this installation.
    candidates = [parent / "share" / PACKAGE for parent in here.parents]
    candidates += [share / PACKAGE for share in _ament_shares()]
    candidates.append(Path(sys.prefix) / "share" / PACKAGE)
    for candidate in candidates:
        if (candidate / "package.xml").is_file():
            return candidate
    raise ResourceNotFoundError(
        f"share/{PACKAGE}", "the files of the package are missing", tuple(candidates)
    )


def resolve_package_uri(uri: str) -> Path:
    """Return the file or folder that a `package://NAME/PATH` address names.

    Places are tried in this order: this package's own files if NAME is robot_dynamics, the
    workspaces of AMENT_PREFIX_PATH, the folders of ROS_PACKAGE_PATH, and the data that pip
    installed beside Pinocchio (`cmeel.prefix/share` of each entry of `sys.path`).

    Args:
        uri: For instance
            `package://example-robot-data/robots/panda_description/urdf/panda.urdf`.

    Raises:
        ResourceNotFoundError: The address is malformed, or no place has such a file. The message
            lists the places.
    """
    name, _, path = uri.removeprefix(SCHEME).partition("/")
    if not uri.startswith(SCHEME) or not name:
        raise ResourceNotFoundError(uri, f"expected an address like {SCHEME}NAME/PATH", ())
    folders = tuple(dict.fromkeys(_package_folders(name)))
    for folder in folders:
        if (folder / path).exists():
            return folder / path
    packages = tuple(folder for folder in folders if folder.is_dir())
    if packages:
        advice = _similar(packages[0], path)
        raise ResourceNotFoundError(uri, f"package {name} has no such file", packages, advice)
    advice = next(filter(None, (_similar(folder.parent, name) for folder in folders)), "")
    if name in _FROM_PIP:
        advice = f"It comes with `pip install {_FROM_PIP[name]}`."
    problem = (
        f"there is no package {name} in the workspaces of AMENT_PREFIX_PATH, the folders of "
        "ROS_PACKAGE_PATH and what pip installed"
    )
    raise ResourceNotFoundError(uri, problem, folders, advice)


def _similar(folder: Path, path: str) -> str:
    """Return a question about the most similar path in a folder; "" if none is similar."""
    parts = path.split("/")
    for i, part in enumerate(parts):
        if not (folder / part).exists():
            present = [found.name for found in folder.iterdir()] if folder.is_dir() else []
            close = get_close_matches(part, present, n=1)
            return f"Did you mean {'/'.join((*parts[:i], close[0]))!r}?" if close else ""
        folder /= part
    return ""


def packages_around(folder: Path, name: str) -> Iterator[Path]:
    """Yield folders called `name`, or whose package.xml says so, above and beside a folder."""
    for parent in (folder, *folder.parents)[:_LEVELS]:
        if parent.name == name or _package_name(parent) == name:
            yield parent
        if (parent / name).is_dir():
            yield parent / name


def _package_name(folder: Path) -> str:
    try:
        text = (folder / "package.xml").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    found = _PACKAGE_NAME.search(text)
    return found.group(1) if found else ""


def _package_folders(name: str) -> Iterator[Path]:
    """Yield every folder where the files of package `name` may be, existing or not."""
    if name == PACKAGE:
        yield share_directory()
    for share in _ament_shares():
        yield share / name
    for entry in _paths_of("ROS_PACKAGE_PATH"):
        # As in ROS 1, an entry is a folder of packages or a package itself.
        yield entry if entry.name == name else entry / name
    for site in sys.path:
        prefix = Path(site) / "cmeel.prefix"
        if prefix.is_dir():
            yield prefix / "share" / name


def _ament_shares() -> list[Path]:
    return [prefix / "share" for prefix in _paths_of("AMENT_PREFIX_PATH")]


def _paths_of(variable: str) -> list[Path]:
    """Return the folders in an environment variable; empty entries mean nothing in ROS."""
    return [Path(entry) for entry in os.environ.get(variable, "").split(os.pathsep) if entry]
