# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`./run test` with a substitute for the environment's Python, in a folder of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

pytestmark = pytest.mark.skipif(shutil.which("sh") is None, reason="there is no shell")

PYTHON = """#!/bin/sh
echo "$*" >>"{folder}/calls"
case "$2" in *version_info*) echo 3.12 ;; esac
[ "$2" != "import pinocchio" ] || [ -e "{folder}/library" ] ||
    {{ echo "ImportError: libgomp.so.1: cannot open shared object file" >&2; exit 1; }}
"""
APT = """#!/bin/sh
echo "apt-get $*" >>"{folder}/calls"
[ "$1" != install ] || touch "{folder}/library"
"""


@pytest.fixture
def run(tmp_path):
    """Return a function that runs `./run test` as a user, without the library of Pinocchio."""
    commands = tmp_path / ".venv" / "bin"
    commands.mkdir(parents=True)
    for name in ("run", "setup.py", "package.xml"):
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "constraints", tmp_path / "constraints")

    def write(file, text):
        file.write_text(text.format(folder=tmp_path))
        file.chmod(0o755)

    write(commands / "python", PYTHON)
    write(commands / "pip", '#!/bin/sh\necho "pip 1 from {folder}/.venv/lib"\n')
    fakes = tmp_path / "fakes"
    fakes.mkdir()
    write(fakes / "apt-get", APT)

    def run(user):
        write(fakes / "id", f"#!/bin/sh\necho {user}\n")
        path = f"{fakes}{os.pathsep}{os.environ['PATH']}"
        return subprocess.run(
            ["sh", str(tmp_path / "run"), "test"],
            env={"PATH": path, "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )

    run.calls = tmp_path / "calls"
    return run


def test_root_gets_the_library_that_pinocchio_needs(run):
    """It is installed once, and the checks run."""
    done = run(user=0)
    assert done.returncode == 0, done.stderr
    assert run.calls.read_text().count("apt-get install") == 1
    assert "-m pytest" in run.calls.read_text()
    assert run(user=0).returncode == 0
    assert run.calls.read_text().count("apt-get install") == 1


def test_other_users_are_told_what_to_install(run):
    """Nothing is installed, and no check runs."""
    done = run(user=1000)
    assert done.returncode == 2
    assert "sudo apt install libgomp1" in done.stderr
    assert "apt-get" not in run.calls.read_text()
    assert "-m pytest" not in run.calls.read_text()
