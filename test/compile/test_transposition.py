# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Copying between rows and lanes."""

import numpy as np
import pytest

from robot_dynamics.compile import compile_program, trace
from robot_dynamics.compile.host import find_host
from robot_dynamics.compile.transposition import pieces


@pytest.mark.parametrize("width", [1, 2, 4, 8])
@pytest.mark.parametrize("size", range(20))
def test_pieces_cover_a_row(size, width):
    """Pieces are powers of two up to the width and cover the row without gaps."""
    end = 0
    for start, length in pieces(size, width):
        assert start == end
        assert length in (1, 2, 4, 8)
        assert length <= width
        end += length
    assert end == size


@pytest.mark.skipif(find_host() is None, reason="there is no llvmlite")
@pytest.mark.parametrize("lanes", [1, 2, 4, 8])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 8, 11, 16, 31, 45])
def test_numbers_arrive_where_they_belong(size, lanes):
    """A program that reverses rows proves that every number goes through the right lane."""
    program = trace(lambda x, p: {"y": x[::-1]}, "reverse", {"x": size})
    x = np.arange(19.0 * size).reshape(19, size)
    np.testing.assert_array_equal(compile_program(program, lanes).bind()(x), x[:, ::-1])
