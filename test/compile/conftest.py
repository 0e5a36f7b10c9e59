# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Fixtures for the tests of `compile`."""

import pytest

from robot_dynamics.compile.host import find_host


@pytest.fixture(scope="module", autouse=True)
def shipped_effort():
    """Compile as hard as users do, where other tests compile quickly."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("ROBOT_DYNAMICS_OPT_LEVEL", raising=False)
        find_host.cache_clear()
        yield
    find_host.cache_clear()
