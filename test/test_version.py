# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The version number is in package.xml, and everything else reads it there."""

import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import robot_dynamics
from robot_dynamics.resources import share_directory
from robot_dynamics.version import find_version


def in_manifest() -> str:
    """Return the version as package.xml states it."""
    return ElementTree.parse(share_directory() / "package.xml").findtext("version")


def version_of_a_copy(folder: Path) -> str:
    """Return the version that a copy of the package in `folder` reports."""
    source = Path(robot_dynamics.__file__).parent
    (folder / "robot_dynamics").mkdir()
    for module in ("__init__.py", "version.py"):
        shutil.copy(source / module, folder / "robot_dynamics")
    code = "import robot_dynamics; print(robot_dynamics.__version__)"
    # -I -S: neither the environment nor site-packages, so that nothing but the copy is found.
    command = [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, '.'); {code}"]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=True
    ).stdout.strip()


def test_version_is_that_of_the_manifest():
    """robot_dynamics.__version__ is the version of package.xml."""
    assert find_version() == robot_dynamics.__version__ == in_manifest()


def test_installed_package_reports_its_metadata(tmp_path):
    """Away from a checkout, the metadata written by pip or colcon is the version."""
    metadata = tmp_path / "robot_dynamics-7.8.9.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text("Metadata-Version: 2.1\nName: robot_dynamics\nVersion: 7.8.9\n")
    assert version_of_a_copy(tmp_path) == "7.8.9"


def test_manifest_of_another_package_is_not_ours(tmp_path):
    """A package.xml that happens to lie beside an installed copy is not taken for ours."""
    (tmp_path / "package.xml").write_text(
        "<package><name>other</name><version>3.2.1</version></package>"
    )
    assert version_of_a_copy(tmp_path) == "0+unknown"


def test_broken_manifest_is_survived(tmp_path):
    """An unreadable package.xml costs the version, not the import."""
    (tmp_path / "package.xml").write_text("<package>")
    assert version_of_a_copy(tmp_path) == "0+unknown"
