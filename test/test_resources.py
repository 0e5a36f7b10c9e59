# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Files of packages are found in a checkout, an installation, a workspace and pip's data."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from robot_dynamics import resources
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.resources import ResourceNotFoundError, resolve_package_uri, share_directory


@pytest.fixture(autouse=True)
def _no_workspace(monkeypatch):
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    monkeypatch.delenv("ROS_PACKAGE_PATH", raising=False)


def package_file(folder: Path, text: str) -> Path:
    """Write `folder`/urdf/arm.urdf, whose text says where it is."""
    path = folder / "urdf" / "arm.urdf"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return path


def test_share_directory_holds_the_manifest():
    """Wherever the code runs from, package.xml is in the share directory."""
    assert "<name>robot_dynamics</name>" in (share_directory() / "package.xml").read_text()


@pytest.mark.parametrize(
    "site", ["lib/python3.12/site-packages", "local/lib/python3.10/dist-packages", "."]
)
def test_installed_code_finds_the_files_of_its_own_prefix(tmp_path, site):
    """A copy without its checkout uses the nearest prefix above it, not the environment."""
    home = tmp_path / "prefix" / site / "robot_dynamics"
    home.mkdir(parents=True)
    source = Path(resources.__file__).parent
    for module in ("__init__.py", "errors.py", "resources.py"):
        shutil.copy(source / module, home)
    share = tmp_path / "prefix" / "share" / "robot_dynamics"
    share.mkdir(parents=True)
    (share / "package.xml").touch()
    code = "from robot_dynamics.resources import share_directory; print(share_directory())"
    environment = {**os.environ, "PYTHONPATH": str(home.parent), "AMENT_PREFIX_PATH": "/nowhere"}
    found = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    assert Path(found) == share


def test_own_package():
    """package://robot_dynamics names the files of the code that runs."""
    assert resolve_package_uri("package://robot_dynamics/package.xml") == (
        share_directory() / "package.xml"
    )


def test_workspaces_are_searched_in_order(tmp_path, monkeypatch):
    """The first workspace of AMENT_PREFIX_PATH that has the file wins; empty entries are none."""
    prefixes = [tmp_path / "overlay", tmp_path / "underlay"]
    files = [package_file(prefix / "share" / "my_arms", prefix.name) for prefix in prefixes]
    monkeypatch.setenv("AMENT_PREFIX_PATH", os.pathsep.join(["", *map(str, prefixes)]))
    assert resolve_package_uri("package://my_arms/urdf/arm.urdf") == files[0]
    files[0].unlink()
    assert resolve_package_uri("package://my_arms/urdf/arm.urdf") == files[1]
    assert resolve_package_uri("package://my_arms") == tmp_path / "overlay" / "share" / "my_arms"


@pytest.mark.parametrize("entry", [".", "my_arms"])
def test_ros_package_path(tmp_path, monkeypatch, entry):
    """An entry of ROS_PACKAGE_PATH may be a folder of packages or the package itself."""
    file = package_file(tmp_path / "my_arms", "arm")
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path / entry))
    assert resolve_package_uri("package://my_arms/urdf/arm.urdf") == file


def test_data_that_pip_installed(tmp_path, monkeypatch):
    """Data of pip packages is found under cmeel.prefix/share of an entry of sys.path."""
    file = package_file(tmp_path / "cmeel.prefix" / "share" / "my_arms", "arm")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert resolve_package_uri("package://my_arms/urdf/arm.urdf") == file


def test_example_robots():
    """The robots of example-robot-data are found by the addresses their own URDFs use."""
    if not any(
        (Path(entry) / "cmeel.prefix/share/example-robot-data").is_dir() for entry in sys.path
    ):
        pytest.skip("example-robot-data is not installed")
    for path in ("panda_description/urdf/panda.urdf", "xarm_description/urdf/xarm7.urdf"):
        assert resolve_package_uri(f"package://example-robot-data/robots/{path}").is_file()


def test_missing_package_lists_the_places(tmp_path, monkeypatch):
    """The error names every place that was looked at."""
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "workspace"))
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path / "packages"))
    with pytest.raises(ResourceNotFoundError, match="there is no package my_arms") as caught:
        resolve_package_uri("package://my_arms/urdf/arm.urdf")
    for place in ("workspace/share/my_arms", "packages/my_arms"):
        assert tmp_path / place in caught.value.searched
        assert str(tmp_path / place) in str(caught.value)
    for variable in ("AMENT_PREFIX_PATH", "ROS_PACKAGE_PATH"):
        assert variable in str(caught.value)
    assert isinstance(caught.value, RobotDynamicsError)


def test_missing_file_of_a_known_package(tmp_path, monkeypatch):
    """If the package exists, the error says that the file is missing in it."""
    package_file(tmp_path / "share" / "my_arms", "arm")
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))
    with pytest.raises(ResourceNotFoundError, match="package my_arms has no such file") as caught:
        resolve_package_uri("package://my_arms/urdf/leg.urdf")
    assert str(tmp_path / "share" / "my_arms") in str(caught.value)


def test_missing_example_robots_say_what_to_install(monkeypatch):
    """Without example-robot-data the error names the command that brings it."""
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(ResourceNotFoundError, match="pip install example-robot-data"):
        resolve_package_uri("package://example-robot-data/robots/panda.urdf")


@pytest.mark.parametrize(
    "uri", ["urdf/arm.urdf", "file:///arm.urdf", "package://", "package:///a"]
)
def test_malformed_addresses(uri):
    """An address of another form is refused with the form that was expected."""
    with pytest.raises(ResourceNotFoundError, match=r"package://NAME/PATH\.$"):
        resolve_package_uri(uri)


@pytest.mark.parametrize(
    ("uri", "meant"),
    [
        ("package://my_arms/urdf/arms.urdf", "urdf/arm.urdf"),
        ("package://my_arms/udrf/arms.urdf", "urdf"),
        ("package://my-arms/urdf/arm.urdf", "my_arms"),
        ("package://my_arms/urdf/completely_other", None),
        ("package://my_arms/urdf/arm.urdf/arm", None),
    ],
)
def test_a_similar_path_is_suggested(tmp_path, monkeypatch, uri, meant):
    """The first part of a path that is missing is compared with its neighbours."""
    folder = tmp_path / "share" / "my_arms" / "urdf"
    folder.mkdir(parents=True)
    (folder / "arm.urdf").touch()
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))
    with pytest.raises(ResourceNotFoundError) as caught:
        resolve_package_uri(uri)
    assert ("Did you mean" in str(caught.value)) == (meant is not None)
    assert meant is None or str(caught.value).endswith(f"Did you mean {meant!r}?")
