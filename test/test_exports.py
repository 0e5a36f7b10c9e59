# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Names at the top of the package."""

import subprocess
import sys
from pathlib import Path

import pytest

import robot_dynamics as rd


def test_everything_that_is_promised_is_there():
    """Every exported name exists, is found by completion, and there are at most 25."""
    for name in rd.__all__:
        assert getattr(rd, name) is not None
    assert set(rd.__all__) <= set(dir(rd))
    assert len(rd.__all__) <= 25
    assert set(rd.__all__) == set(rd._HOMES)


def test_other_names():
    """A name that is not there is an AttributeError, as of any module."""
    with pytest.raises(AttributeError, match="no attribute 'lod'"):
        rd.lod  # noqa: B018


def test_importing_costs_nothing():
    """Importing the package loads neither NumPy nor anything else that takes time."""
    heavy = "{'numpy', 'scipy', 'llvmlite', 'yaml', 'rich'}"
    code = f"import sys, robot_dynamics; print(sorted({heavy} & set(sys.modules)))"
    result = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[1],
    )
    assert result.stdout.strip() == "[]"
