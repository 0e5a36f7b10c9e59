# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Fixtures for the tests of descriptions."""

import numpy as np
import pytest


@pytest.fixture
def rng():
    """Return random numbers that are the same in every run."""
    return np.random.default_rng(5)
