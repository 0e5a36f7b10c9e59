# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What is missing or no number has neither a largest nor a smallest value."""

import numpy as np
import pytest

from robot_dynamics.app.metrics import largest, smallest


def test_of_numbers():
    """They are those of NumPy, of arrays of any shape."""
    values = np.array([[1.0, -4.0], [3.0, 2.0]])
    assert (largest(values), smallest(values)) == (3.0, -4.0)


@pytest.mark.parametrize("values", [[], [1.0, np.nan], [np.inf], [-np.inf, 0.0]])
def test_of_what_is_none(values):
    """A threshold that compares with None is not kept by accident."""
    assert largest(np.array(values)) is None
    assert smallest(np.array(values)) is None
