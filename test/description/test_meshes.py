# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Where meshes are."""

import pytest

from robot_dynamics.description.meshes import locate_mesh
from robot_dynamics.resources import ResourceNotFoundError


@pytest.fixture
def checkout(tmp_path):
    """Return the folder of descriptions of a package that is not installed, with meshes."""
    package = tmp_path / "src" / "arm"
    for folder in ("urdf", "meshes"):
        (package / folder).mkdir(parents=True)
    (package / "package.xml").write_text("<package>\n<name> arm_description </name></package>")
    (package / "meshes" / "a b.stl").write_text("solid")
    (package / "urdf" / "local.stl").write_text("solid")
    return package / "urdf"


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("package://arm_description/meshes/a b.stl", "../meshes/a b.stl"),
        ("package://arm/meshes/a b.stl", "../meshes/a b.stl"),
        ("model://arm/meshes/a b.stl", "../meshes/a b.stl"),
        ("../meshes/a b.stl", "../meshes/a b.stl"),
        ("local.stl", "local.stl"),
        ("file://local.stl", "local.stl"),
    ],
)
def test_each_kind_of_address_is_found(checkout, address, expected):
    """By the name in package.xml, the folder's name, or relative to the description."""
    assert locate_mesh(address, checkout).samefile(checkout / expected)


def test_a_file_address_is_absolute(checkout):
    """Blanks may be written as %20."""
    path = (checkout / "../meshes/a b.stl").resolve()
    assert locate_mesh(f"file://{str(path).replace(' ', '%20')}") == path


def test_installed_packages_are_found():
    """Without a folder the places of packages are looked at."""
    pytest.importorskip("pinocchio", exc_type=ImportError)
    try:
        found = locate_mesh(
            "package://example-robot-data/robots/panda_description/urdf/panda.urdf"
        )
    except ResourceNotFoundError:
        pytest.skip("example-robot-data is not installed")
    assert found.is_file()


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("package://arm_description/meshes/b.stl", "there is no such file"),
        ("package://other/b.stl", r"//other/b\.stl.*package other"),
        ("meshes/b.stl", r"b\.stl.*b\.stl"),
        ("https://example.org/a.stl", "expected package://, file:// or a path"),
    ],
)
def test_a_missing_mesh_is_an_error_with_the_places_searched(checkout, address, message):
    """Nothing is fetched, and the places that were looked at are listed."""
    with pytest.raises(ResourceNotFoundError, match=message):
        locate_mesh(address, checkout)
