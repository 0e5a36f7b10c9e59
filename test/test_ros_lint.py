# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The checks of a standard ROS 2 package, where they are installed.

Where they and ruff disagree, ruff decides. ament_copyright is not among them: it does not
know SPDX lines, which every file has.
"""

import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CODE = [str(ROOT / folder) for folder in ("robot_dynamics", "launch")]
# As in pyproject.toml; and a first line may name the symbols that it is about.
EXCEPTIONS = ("D105", "D107", "D402", "D403")

pytestmark = pytest.mark.skipif(
    not (ROOT / "setup.py").is_file(), reason="needs the checkout, not an installed package"
)


def test_pep257():
    """Docstrings are formed as PEP 257 asks; convention and exceptions are ruff's."""
    check = pytest.importorskip("ament_pep257.main", reason="ament_pep257 is missing")
    assert check.main(argv=[*CODE, "--convention", "google", "--add-ignore", *EXCEPTIONS]) == 0


def test_xmllint():
    """package.xml and all URDFs are well formed, package.xml is valid."""
    if shutil.which("xmllint") is None:
        pytest.skip("xmllint is missing")
    check = pytest.importorskip("ament_xmllint.main", reason="ament_xmllint is missing")
    assert check.main(argv=[str(ROOT / "package.xml"), str(ROOT / "urdf")]) == 0


def test_flake8():
    """Names, imports and unused code; layout is ruff's."""
    check = pytest.importorskip("ament_flake8.main", reason="ament_flake8 is missing")
    settings = ROOT / "test" / "ament_flake8.ini"
    status, errors = check.main_with_errors(argv=["--config", str(settings), *CODE])
    assert status == 0, "\n".join(errors)
