# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The script ./run: installations, their times, and refusals.

A stub takes the place of Python, so that nothing is downloaded: it writes down how it was called.
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from waiting import PATIENCE_S

ROOT = Path(__file__).resolve().parents[1]

# Answers as Python 3.12 would, and makes an environment whose programs are this stub again.
STUB = """#!/bin/sh
echo "$(basename "$0") $*" >>"$STUB_LOG"
case "$*" in
    *ensurepip*) exit ${STUB_NO_VENV:-0} ;;
    *sys.exit*) exit ${STUB_TOO_OLD:-0} ;;
    *version_info*) echo 3.12 ;;
    "-m venv"*)
        mkdir -p "$4/bin"
        for name in python pip robot_dynamics; do cp "$0" "$4/bin/$name"; done
        ;;
    --version) echo "pip 26 from $(dirname "$(dirname "$0")")/lib/pip (python 3.12)" ;;
    demo*)
        pwd
        echo "${PYTHONPATH-unset} ${AMENT_PREFIX_PATH-unset} ${PYTHONDONTWRITEBYTECODE-unset}"
        exit 3
        ;;
    "-m mypy") exit 1 ;;
    *docs,test*) exit ${STUB_NO_DOCS:-0} ;;
    "-m uv pip compile"*) cat >>"$STUB_LOG"; echo "mypy==1.0"; echo "numpy==2.5.5" ;;
esac
"""


class Checkout:
    """A folder with ./run, the files that it reads, and the stub on the PATH."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "a check out"
        self.folder.mkdir()
        for name in ("run", "setup.py", "package.xml"):
            shutil.copy(ROOT / name, self.folder)
        (self.folder / "constraints").mkdir()
        for number in range(10, 15):
            self.constraints(number).write_text("numpy==2.4.6\nruff==0.17.0\n")
        bin_folder = folder / "bin"
        bin_folder.mkdir()
        (bin_folder / "python3").write_text(STUB)
        (bin_folder / "python3").chmod(0o755)
        self.log = folder / "log"
        self.environment = {
            "PATH": f"{bin_folder}:/usr/bin:/bin",
            "STUB_LOG": str(self.log),
            "HOME": str(folder),
        }

    def constraints(self, number):
        """Return the file of Python 3.NUMBER."""
        return self.folder / f"constraints/python3.{number}.txt"

    def run(self, *arguments, cwd=None, **environment):
        """Run ./run; return its result and how Python was called."""
        self.log.write_text("")
        result = subprocess.run(
            [self.folder / "run", *arguments],
            cwd=cwd,
            env={**self.environment, **environment},
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=PATIENCE_S,
        )
        return result, self.log.read_text().splitlines()


@pytest.fixture
def checkout(tmp_path):
    """Return a checkout in which nothing was set up yet."""
    return Checkout(tmp_path)


def installed(calls):
    """Return the requirements that pip was asked to install from the checkout."""
    return [call.rpartition("--editable ")[2] for call in calls if "--editable" in call]


def test_demo_leaves_the_test_extra_out(checkout):
    """The demo installs run-time packages, ROS and plots; arguments and status go through."""
    result, calls = checkout.run("demo", "a b.yaml", "--quick")
    assert installed(calls) == [".[ros,plot]"]
    assert calls[-1] == "robot_dynamics demo a b.yaml --quick"
    assert result.returncode == 3


def test_second_call_installs_nothing(checkout):
    """Set-up is done once, again after setup.py has changed, and for other extras."""
    checkout.run("demo")
    assert installed(checkout.run("demo")[1]) == []
    with (checkout.folder / "setup.py").open("a") as file:
        file.write("# changed\n")
    assert installed(checkout.run("demo")[1]) == [".[ros,plot]"]
    assert installed(checkout.run("test", "-k", "x")[1]) == [".[ros,plot,test]"]
    assert installed(checkout.run("test", "-k", "x")[1]) == []


def test_one_installation_serves_all_checks(checkout):
    """And a later run of some tests."""
    assert installed(checkout.run("test")[1]) == [".[ros,plot,docs,test]"]
    assert installed(checkout.run("test", "-k", "x")[1]) == []


def test_tested_versions_are_installed(checkout):
    """Pip, the package and its build tools come in the versions of the environment's Python."""
    of_this_python = str(checkout.constraints(12))
    _, calls = checkout.run("demo")
    installs = [call for call in calls if "-m pip install" in call]
    assert len(installs) == 2
    assert all(f"--constraint {of_this_python}" in call for call in installs)
    assert f"--build-constraint {of_this_python}" in installs[-1]
    checkout.constraints(11).write_text("numpy==2.0.0\n")
    assert installed(checkout.run("demo")[1]) == []
    checkout.constraints(12).write_text("numpy==2.0.0\n")
    assert installed(checkout.run("demo")[1]) == [".[ros,plot]"]


def test_newest_versions_are_tried_in_an_environment_of_their_own(checkout):
    """Changed versions are listed, all checks run, and the tested versions stay."""
    result, calls = checkout.run("newest")
    lines = result.stdout.splitlines()
    begin = lines.index("== Changed against constraints/python3.12.txt:")
    assert lines[begin + 1 : begin + 4] == [
        "mypy none -> 1.0",
        "numpy 2.4.6 -> 2.5.5",
        "ruff 0.17.0 -> none",
    ]
    newest = checkout.folder / ".venv/newest"
    assert f"python3 -m venv --clear {newest}" in calls
    assert f"--constraint {newest}/constraints.txt" in next(c for c in calls if "--editable" in c)
    assert calls[-1].startswith("python -m sphinx")
    assert checkout.constraints(12).read_text().startswith("numpy==2.4.6")
    assert lines[-1] == "== FAILED: mypy"


def test_constraints_are_written_for_every_python(checkout):
    """One command asks for versions of all extras that the others install, and of pip."""
    result, calls = checkout.run("constraints")
    assert result.returncode == 0
    asked = [call for call in calls if "uv pip compile" in call]
    assert [re.search(r"--python-version (\S+)", call)[1] for call in asked] == [
        f"3.{number}" for number in range(10, 15)
    ]
    extras = "--extra ros --extra plot --extra docs --extra test"
    assert all(f"{extras} setup.py -" in call for call in asked)
    assert calls.count("pip") == 5
    for number in range(10, 15):
        assert checkout.constraints(number).read_text() == "mypy==1.0\nnumpy==2.5.5\n"


def test_tests_do_not_wait_for_the_packages_of_the_documentation(checkout):
    """If these are not to be had, all other checks run, and the run fails at its end."""
    result, calls = checkout.run("test", STUB_NO_DOCS="1")
    checks = [call.split()[2] for call in calls if call.startswith("python -m")]
    assert sorted(checks[-5:]) == ["mypy", "pytest", "pytest", "ruff", "ruff"]
    assert "packages of the documentation were not installed" in result.stdout
    assert result.stdout.splitlines()[-1] == "== FAILED: sphinx mypy"
    assert result.returncode == 1


@pytest.mark.parametrize("number", range(10, 15))
def test_constraints_are_names_and_versions(number):
    """Each file in the repository has them alone, and the pins of the extras."""
    lines = (ROOT / f"constraints/python3.{number}.txt").read_text().splitlines()
    assert all(re.fullmatch(r"[a-z0-9-]+==[\w.+]+", line) for line in lines)
    versions = dict(line.split("==") for line in lines)
    assert len(versions) == len(lines)
    assert {"numpy", "ros-rclpy", "matplotlib", "sphinx", "pytest", "pip"} <= versions.keys()
    text = (ROOT / "setup.py").read_text()
    for name, pin in re.findall(r'"([\w-]+)(?:\[\w+\])?==([\d.]+)', text):
        assert versions[name].startswith(pin)


def test_moved_checkout_is_set_up_anew(checkout, tmp_path):
    """A virtual environment cannot be moved: after `mv` or `cp` it is made again."""
    checkout.run("demo")
    stub = (checkout.folder / ".venv/bin/pip").read_text()
    (checkout.folder / ".venv/bin/pip").write_text(
        stub.replace('$(dirname "$(dirname "$0")")', "/elsewhere/.venv")
    )
    _, calls = checkout.run("demo")
    assert any("-m venv --clear" in call for call in calls)


def test_works_from_anywhere_in_a_clean_environment(checkout, tmp_path):
    """The demo runs in the caller's folder, without the caller's Python and ROS paths."""
    elsewhere = tmp_path / "else where"
    elsewhere.mkdir()
    set_by_caller = {"PYTHONPATH": "/x", "AMENT_PREFIX_PATH": "/y", "PYTHONDONTWRITEBYTECODE": "1"}
    result, _ = checkout.run("demo", cwd=elsewhere, **set_by_caller)
    assert result.stdout.splitlines()[-2:] == [str(elsewhere), "unset unset unset"]
    assert "is not used" in result.stdout


def test_all_checks_run_although_one_fails(checkout):
    """A failing check does not hide the next ones, and its name is said at the end."""
    result, calls = checkout.run("test")
    checks = [call.split()[2] for call in calls if call.startswith("python -m")]
    checks.remove("mypy")  # beside the first tests
    assert checks[-5:] == ["ruff", "ruff", "pytest", "pytest", "sphinx"]
    assert result.stdout.splitlines()[-1] == "== FAILED: mypy"
    assert result.returncode == 1


def test_arguments_go_to_pytest(checkout):
    """With arguments, pytest runs alone and gets them."""
    _, calls = checkout.run("test", "-k", "spatial and not rotation")
    assert calls[-1] == "python -m pytest -q -k spatial and not rotation"


@pytest.mark.parametrize(
    ("environment", "says"),
    [
        ({"STUB_NO_VENV": "1"}, "sudo apt install python3-venv"),
        ({"STUB_TOO_OLD": "1"}, "3.10 to 3.14 are supported"),
        ({"PYTHON": "python3.99"}, "there is no 'python3.99' on the PATH"),
    ],
)
def test_missing_parts_are_named(checkout, environment, says):
    """Missing parts are named in one line, with exit status 2, and nothing is made."""
    result, _ = checkout.run("demo", **environment)
    assert result.returncode == 2
    assert says in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not (checkout.folder / ".venv").exists()


def test_without_a_home(checkout, tmp_path):
    """If the home cannot be written to, one inside .venv is used."""
    result, _ = checkout.run("demo", HOME=str(tmp_path / "missing"))
    assert result.returncode == 3
    assert (checkout.folder / ".venv/home").is_dir()
    assert not (tmp_path / "missing").exists()


def test_ci_calls_the_second_command():
    """.ci/run is `./run test` with some of the long tests, wherever it is called from."""
    script = (ROOT / ".ci/run").read_text()
    assert 'run="$(dirname "${BASH_SOURCE[0]}")/../run"\n' in script
    assert 'PYTEST_ADDOPTS="-m \'not slow or important\'" "$run" test <' in script
    assert '"$run" test -m slow' in script
    for path in re.findall(r"test/[\w/.]+", script):
        assert (ROOT / path).exists()
