# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The package builds and installs as pip and colcon users expect, from one set of metadata."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import numpy
import pytest
import yaml
from waiting import PATIENCE_S

from robot_dynamics import __version__

ROOT = Path(__file__).resolve().parents[1]
# Copied to be built elsewhere, so that a test leaves nothing in the checkout.
SOURCES = [
    *("package.xml", "setup.py", "setup.cfg", "pyproject.toml", "README.md", "LICENSE"),
    *("resource", "robot_dynamics", "launch", "config", "urdf", "rviz"),
]
EXECUTABLES = {"simulator", "controller", "guard", "marker", "robot_dynamics"}

pytestmark = pytest.mark.skipif(
    not (ROOT / "setup.py").is_file(), reason="needs the checkout, not an installed package"
)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """Return a copy of the files that the build reads, at a path with a space."""
    copy = tmp_path_factory.mktemp("some where") / "robot_dynamics"
    copy.mkdir()
    for name in SOURCES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif source.is_file():
            shutil.copy(source, copy / name)
    return copy


@pytest.fixture(scope="module")
def manifest():
    """Return package.xml."""
    return ElementTree.parse(ROOT / "package.xml").getroot()


def shipped_files() -> set[str]:
    """Return the data files of the checkout, relative to share/robot_dynamics."""
    files = {"package.xml"}
    for folder in ("launch", "config", "urdf", "rviz"):
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                files.add(path.relative_to(ROOT).as_posix())
    return files


def run(*command: str, folder: Path, **environment: str) -> str:
    """Run `command` in `folder` and return its output; its errors fail the test."""
    result = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        timeout=PATIENCE_S,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_wheel(checkout, tmp_path):
    """The wheel holds the code, the ROS index entry, every data file and the commands."""
    pytest.importorskip("setuptools", minversion="70.1", reason="builds wheels on its own")
    build = "from setuptools import build_meta; print(build_meta.build_wheel('wheel'))"
    run(sys.executable, "-c", build, folder=checkout)
    (wheel,) = (checkout / "wheel").glob("*.whl")
    assert wheel.name == f"robot_dynamics-{__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (points,) = (name for name in names if name.endswith("entry_points.txt"))
        commands = archive.read(points).decode()
        (metadata,) = (name for name in names if name.endswith("METADATA"))
        requirements = archive.read(metadata).decode()
    share = f"robot_dynamics-{__version__}.data/data/share/"
    assert {f"{share}robot_dynamics/{file}" for file in shipped_files()} <= names
    assert f"{share}ament_index/resource_index/packages/robot_dynamics" in names
    assert "robot_dynamics/py.typed" in names
    assert set(re.findall(r"^(\w+) =", commands, re.MULTILINE)) == EXECUTABLES
    # The demo must not pull what only the tests need.
    for line in re.findall(r"^Requires-Dist: (.*)$", requirements, re.MULTILINE):
        if re.match(r"(pin|mujoco|example|pytest|hypothesis)", line):
            assert re.search(r"extra == .(test|dev|mujoco|collision|view).", line), line


@pytest.mark.parametrize("options", [[], ["--symlink-install"]], ids=["copy", "symlink"])
def test_colcon_build(checkout, tmp_path, options):
    """After `colcon build`, ROS finds the package, its files, its executables and its version."""
    pytest.importorskip("colcon_ros", reason="the colcon extensions for ROS are not installed")
    colcon = "import sys; from colcon_core.command import main; sys.exit(main(argv=sys.argv[1:]))"
    (tmp_path / "src").symlink_to(checkout.parent)
    run(sys.executable, "-c", colcon, "--log-base", "log", "build", *options, folder=tmp_path)
    prefix = tmp_path / "install" / "robot_dynamics"
    assert (prefix / "share/ament_index/resource_index/packages/robot_dynamics").is_file()
    share = prefix / "share/robot_dynamics"
    assert [file for file in shipped_files() if not (share / file).is_file()] == []
    executables = {path.name for path in (prefix / "lib/robot_dynamics").iterdir()}
    assert executables >= EXECUTABLES
    code = (
        "import robot_dynamics as r; from robot_dynamics.resources import share_directory as s; "
        "print(r.__version__, (s() / 'launch').is_dir(), r.__file__, sep='|')"
    )
    # No checkout on the path: what colcon installed must be enough. (Its setup scripts are not
    # sourced, because they fail where the path of Python holds a space.)
    places = [*prefix.rglob("*-packages"), *(tmp_path / "build").iterdir()]
    paths = os.pathsep.join(map(str, places if options else places[:1]))
    found = run(sys.executable, "-c", code, folder=tmp_path, PYTHONPATH=paths)
    version, has_files, file = found.strip().split("|")
    assert (version, has_files) == (__version__, "True")
    assert Path(file).is_relative_to(tmp_path)


def test_manifest_is_what_catkin_pkg_accepts(manifest):
    """colcon takes a package with an invalid manifest for another kind without a word."""
    assert manifest.get("format") == "3"
    assert manifest.findtext("export/build_type") == "ament_python"
    email = manifest.find("maintainer").get("email")
    assert re.fullmatch(r"[\w.%+-]+@[\w.-]+\.[a-z]{2,}", email)
    parse = pytest.importorskip("catkin_pkg.package").parse_package_string
    warnings: list[str] = []
    package = parse((ROOT / "package.xml").read_text(), warnings=warnings)
    assert (package.name, package.version, warnings) == ("robot_dynamics", __version__, [])


def test_manifest_names_every_ros_package_that_is_imported(manifest):
    """Each ROS package that the nodes or the launch files import is an exec_depend."""
    imported = set()
    for folder in ("robot_dynamics/nodes", "launch"):
        for path in (ROOT / folder).rglob("*.py"):
            imported |= set(re.findall(r"^\s*(?:from|import) (\w+)", path.read_text(), re.M))
            imported |= set(re.findall(r"package=\"(\w+)\"", path.read_text()))
    ros = re.compile(
        r"\w+_(msgs|srvs|interfaces)|rclpy|launch|launch_ros|ament_index_python|rviz2"
    )
    needed = {name for name in imported if ros.fullmatch(name)}
    assert needed <= {depend.text for depend in manifest.iter("exec_depend")}


@pytest.mark.parametrize("program", ["run", ".ci/run"])
def test_programs_can_be_run(program):
    """The two commands of the README are executable and their shell accepts them."""
    path = ROOT / program
    assert os.access(path, os.X_OK)
    interpreter = path.read_text().splitlines()[0].split("/")[-1].split()[-1]
    run(interpreter, "-n", str(path), folder=ROOT)


def test_run_explains_itself():
    """`./run help` names both commands; an unknown command is refused with exit status 2."""
    text = run("./run", "help", folder=ROOT)
    assert "./run demo" in text
    assert "./run test" in text
    assert subprocess.run(["./run", "nonsense"], cwd=ROOT, capture_output=True).returncode == 2


@pytest.fixture
def environment(tmp_path):
    """Return the Python of a new environment with the packages of ours, but not this package."""
    venv = tmp_path / "venv"
    run(sys.executable, "-m", "venv", str(venv), folder=tmp_path)
    python = str(venv / "bin" / "python")
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = run(python, "-c", where, folder=tmp_path).strip()
    # A path in a .pth file is searched last, and its own .pth files are not read.
    Path(site, "others.pth").write_text("\n".join(map(str, places(numpy, yaml, pytest))))
    return python


def places(*modules: ModuleType) -> set[Path]:
    """Return the folders that packages are imported from."""
    return {Path(module.__file__).parents[1] for module in modules}


def install(python: str, *what: str, folder: Path) -> None:
    """Install without dependencies and without a network, by our setuptools."""
    setuptools = pytest.importorskip("setuptools", minversion="70.1")
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--force-reinstall"]
    (ours,) = places(setuptools)
    run(python, "-m", "pip", "install", *options, *what, folder=folder, PYTHONPATH=str(ours))


@pytest.mark.slow
def test_an_editable_installation_works_beside_the_checkout(checkout, environment, tmp_path):
    """In the folder that holds a checkout called robot_dynamics the package is imported."""
    install(environment, "--editable", str(checkout), folder=tmp_path)
    code = "import robot_dynamics; print(robot_dynamics.__file__)"
    found = run(environment, "-c", code, folder=checkout.parent, PYTHONPATH="")
    assert Path(found.strip()) == checkout / "robot_dynamics" / "__init__.py"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_what_is_released_runs_where_no_checkout_is(checkout, environment, tmp_path, kind):
    """The wheel and the source archive bring all that `inspect`, `simulate` and `demo` read."""
    pytest.importorskip("setuptools", minversion="70.1")
    build = f"from setuptools import build_meta; print(build_meta.build_{kind}('released'))"
    run(sys.executable, "-c", build, folder=checkout)
    (released,) = (checkout / "released").iterdir()
    install(environment, shutil.move(released, tmp_path), folder=tmp_path)
    shutil.rmtree(checkout / "released")
    command = str(Path(environment).with_name("robot_dynamics"))
    where = "import robot_dynamics; print(robot_dynamics.__file__)"
    found = run(environment, "-c", where, folder=tmp_path, PYTHONPATH="").strip()
    assert Path(found).is_relative_to(tmp_path / "venv")
    for arguments in (
        ("inspect", "package://robot_dynamics/urdf/dual_arm.urdf"),
        ("simulate", "lift_box"),
        ("demo", "lift_box"),
    ):
        run(command, *arguments, folder=tmp_path, PYTHONPATH="")
