# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The version number, which is written in package.xml and nowhere else."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path
from xml.etree import ElementTree

NAME = "robot_dynamics"


def find_version() -> str:
    """Return the version of the code that is running.

    A checkout answers with its package.xml, even where another version is installed beside it;
    an installed package with the metadata that pip or colcon wrote from the same file.

    Returns:
        The version, or "0+unknown" for a copy of the folder with neither.
    """
    manifest = Path(__file__).resolve().parents[1] / "package.xml"
    try:
        package = ElementTree.parse(manifest).getroot()
        if package.findtext("name", "").strip() == NAME:
            return package.findtext("version", "").strip()
    except (OSError, ElementTree.ParseError):
        pass  # not a checkout
    try:
        return metadata.version(NAME)
    except metadata.PackageNotFoundError:
        return "0+unknown"
