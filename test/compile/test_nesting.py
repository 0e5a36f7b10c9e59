# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Nested sequences and flat lists."""

import numpy as np
import pytest

from robot_dynamics.compile.errors import ShapeError
from robot_dynamics.compile.nesting import as_flat_list, as_nested_list, nested_shape


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 1, 3), (0,), (0, 3)])
def test_round_trip(shape):
    """Flattening and nesting undo each other, for every shape."""
    array = np.arange(int(np.prod(shape))).reshape(shape)
    nested = array.tolist()
    flat = as_flat_list(nested, shape, "here")
    assert flat == array.ravel().tolist()
    assert as_nested_list(flat, shape) == nested


def test_shape_of_nested_sequences():
    """Lists, tuples and arrays nest; anything else is an element."""
    assert nested_shape([[1, 2, 3], (4, 5, 6)]) == (2, 3)
    assert nested_shape(np.zeros((2, 3))) == (2, 3)
    assert nested_shape(1.0) == ()
    assert nested_shape([]) == (0,)


@pytest.mark.parametrize("value", [[1, 2], [[1, 2], [3]], 5.0, [[1, 2], 3]])
def test_ragged_nesting_is_refused(value):
    """The error names the place and the shape expected."""
    with pytest.raises(ShapeError, match=r"here: expected nested sequences of shape \(2, 2\)"):
        as_flat_list(value, (2, 2), "here")
