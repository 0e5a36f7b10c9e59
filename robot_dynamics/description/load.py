# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A description from its files, whatever their format."""

from __future__ import annotations

from pathlib import Path

from robot_dynamics.description.description import Description
from robot_dynamics.description.files import refused
from robot_dynamics.description.loops import read_loops
from robot_dynamics.description.urdf import read_urdf

# Formats that people bring and that are not read, with what to do.
_NOT_READ = {
    ".xacro": "expand it first: xacro FILE > robot.urdf",
    ".sdf": "convert it to URDF",
    ".mjcf": "convert it to URDF",
    ".usd": "convert it to URDF",
}


def load_description(
    path: str | Path, loops: str | Path | None = None, *, strict: bool = False
) -> Description:
    """Return the description in a URDF file (or text), with the loop joints of a YAML file.

    Args:
        path: A path, a `package://` address or the text of a URDF.
        loops: The file of loop joints, or None.
        strict: Whether warnings are reason enough to refuse.

    Raises:
        DescriptionError: If a file is missing or refused; with every problem found.
    """
    suffix = "" if "<" in str(path) else Path(path).suffix.lower()
    if suffix in _NOT_READ:
        raise refused(path, f"{suffix} is not read, expected a URDF file", _NOT_READ[suffix])
    description = read_urdf(path, strict=strict)
    if loops is None:
        return description
    links = [link.name for link in description.mechanism.links]
    return description.with_loops(read_loops(loops, links))
