# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Robots of the package robot_descriptions by name, without a download."""

import sys

import pytest
from description.mjcf_texts import ARM as MJCF
from description.urdf_texts import ARM

from robot_dynamics.description.diagnosis import DescriptionError
from robot_dynamics.description.load import is_robot, load_description

# As in robot_descriptions 3.3: a module clones its repository when it is imported.
_MODULE = """
from ._cache import clone_to_cache as _clone_to_cache
REPOSITORY_PATH = _clone_to_cache("lab", commit=None)
{kind}_PATH = REPOSITORY_PATH + "/{file}"
"""
_FILES = {
    "__init__": "",
    "_cache": "def clone_to_cache(name, commit=None):\n    raise AssertionError('downloads')\n",
    "_descriptions": (
        "DESCRIPTIONS = ['arm_description', 'arm_mj_description', 'no', 'broken']\n"
    ),
    "_repositories": ("class Lab:\n    cache_path = 'lab'\n\nREPOSITORIES = {'lab': Lab}\n"),
    "arm_description": _MODULE.format(kind="URDF", file="arm.urdf"),
    "arm_mj_description": _MODULE.format(kind="MJCF", file="arm.xml"),
    "no": "SRDF_PATH = 'arm.srdf'\n",
    "broken": "raise ImportError('no git')\n",
}


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Return the cache of a package that stands in for robot_descriptions."""
    package = tmp_path / "site" / "robot_descriptions"
    package.mkdir(parents=True)
    for name, text in _FILES.items():
        (package / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(package.parent)
    monkeypatch.setenv("ROBOT_DESCRIPTIONS_CACHE", str(tmp_path / "cache"))
    yield tmp_path / "cache"
    for name in [name for name in sys.modules if name.startswith("robot_descriptions")]:
        del sys.modules[name]


def test_a_name_is_a_robot(cache):
    """URDF and MJCF alike, wherever a file can be named."""
    (cache / "lab").mkdir(parents=True)
    (cache / "lab" / "arm.urdf").write_text(ARM)
    robot = load_description("robot_descriptions:arm_description")
    assert robot.mechanism.movable_joints == ("shoulder", "elbow")
    assert robot.folder == str(cache / "lab")
    assert is_robot("robot_descriptions:arm_description")
    pytest.importorskip("mujoco")
    (cache / "lab" / "arm.xml").write_text(MJCF)
    assert load_description("robot_descriptions:arm_mj_description").mechanism.name == "arm"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("arm_description", r"its files are not on this machine; looked in .*lab\. `python -c"),
        ("arm_descriptio", "unknown robot 'arm_descriptio'; did you mean 'arm_description'"),
        ("no", "has none of URDF_PATH"),
        ("broken", r"cannot be imported \(no git\)"),
    ],
)
def test_refusals_download_nothing(cache, name, said):
    """Each is one sentence that names the robot."""
    with pytest.raises(DescriptionError, match=f"^robot_descriptions:{name}: {said}"):
        load_description(f"robot_descriptions:{name}")


def test_without_the_package(monkeypatch):
    """It says how to install it."""
    monkeypatch.setitem(sys.modules, "robot_descriptions", None)
    with pytest.raises(DescriptionError, match="pip install robot_descriptions"):
        load_description("robot_descriptions:panda_description")
