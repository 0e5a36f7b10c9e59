# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Robots by name: files of the package robot_descriptions, as far as they are on this machine.

That package clones a repository when one of its modules is imported. Here nothing is fetched: a
robot whose repository is not in its cache is refused.
"""

from __future__ import annotations

import os
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from robot_dynamics.errors import UnknownNameError
from robot_dynamics.resources import ResourceNotFoundError

#: Prefix of the names of robots.
ROBOTS = "robot_descriptions:"
_PACKAGE = "robot_descriptions"
_FILES = ("URDF_PATH", "MJCF_PATH", "XACRO_PATH")


class _NotInCacheError(Exception):
    """A repository that has not been cloned; its argument is the folder."""


def robot_file(name: str) -> Path:
    """Return the URDF, MJCF or xacro file of a robot.

    Args:
        name: "robot_descriptions:" and the name of a module, such as `panda_description`.

    Raises:
        ResourceNotFoundError: If the package is not installed, it has no such robot, or the
            robot's files are not on this machine.
    """
    robot = name.removeprefix(ROBOTS)
    if find_spec(_PACKAGE) is None:
        raise ResourceNotFoundError(
            name,
            "needs the package robot_descriptions",
            (),
            "It comes with `pip install robot_descriptions`.",
        )
    known = getattr(import_module(f"{_PACKAGE}._descriptions"), "DESCRIPTIONS", {})
    if robot not in known:
        unknown = str(UnknownNameError("robot", robot, known)).rstrip(".")
        raise ResourceNotFoundError(name, unknown, ())
    from unittest.mock import patch  # slow to import

    try:
        # Modules clone while they are imported; here they only learn where their files are.
        with patch.object(import_module(f"{_PACKAGE}._cache"), "clone_to_cache", _cached):
            module = import_module(f"{_PACKAGE}.{robot}")
    except _NotInCacheError as error:
        raise ResourceNotFoundError(
            name,
            "its files are not on this machine",
            (Path(str(error)),),
            f"`python -c 'import robot_descriptions.{robot}'` fetches them.",
        ) from None
    except ImportError as error:  # GitPython is one without the program git
        reason = " ".join(str(error).split())
        raise ResourceNotFoundError(name, f"cannot be imported ({reason})", ()) from error
    for attribute in _FILES:
        path = getattr(module, attribute, None)
        if path is not None:
            return Path(path)
    raise ResourceNotFoundError(name, f"has none of {', '.join(_FILES)}", ())


def _cached(repository: str, commit: str | None = None) -> str:
    """Return the folder of a repository in the cache of robot_descriptions.

    Raises:
        _NotInCacheError: If it is not there.
    """
    known = import_module(f"{_PACKAGE}._repositories").REPOSITORIES
    cache = os.environ.get("ROBOT_DESCRIPTIONS_CACHE", "~/.cache/robot_descriptions")
    path = str(known[repository].cache_path)
    folder = Path(cache).expanduser() / (path if commit is None else f"{path}-{commit}/{path}")
    if not folder.is_dir():
        raise _NotInCacheError(str(folder))
    return str(folder)
