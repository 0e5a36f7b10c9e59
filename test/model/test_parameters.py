# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The packed block of parameters."""

import numpy as np
import pytest
from model.mechanisms import arm, grasp

from robot_dynamics.errors import ArgumentError
from robot_dynamics.model import build, pose, transform_of
from robot_dynamics.model.parameters import block_size, pack, parameters_of, unpack


def closed(**options):
    """Return the arm that holds its free body."""
    return build(arm().with_loops([grasp()]), **options)


@pytest.mark.parametrize(
    ("variable", "size"), [((), 3), (("free",), 13), (("grasp",), 27), (("free", "grasp"), 37)]
)
def test_unpack_undoes_pack(variable, size):
    """The block has one place for each variable number, and gives the same parameters back."""
    model = closed(variable=variable)
    block = pack(model)
    assert block.shape == (block_size(model),) == (size,)
    assert unpack(model, block.tolist()) == parameters_of(model)


def test_blocks_of_two_models_differ_where_the_models_do():
    """A block of other values, unpacked by the first model, is the second model."""
    model = closed(variable=("free", "grasp"))
    other = model.replace(
        gravity=(1.0, 2.0, 3.0),
        inertia={"free": model.bodies[0].inertia},
        successor_placement={"grasp": transform_of(pose((0.5, 0.5, 0.5)))},
    )
    assert unpack(model, pack(other).tolist()) == parameters_of(other)
    assert not np.array_equal(pack(model), pack(other))


def test_a_block_of_the_wrong_length_is_refused():
    """The message names both lengths."""
    with pytest.raises(ArgumentError, match=r"parameters.*\b4\b.*\b3\b"):
        unpack(closed(), [0.0] * 4)


def test_a_block_may_hold_batches():
    """Entries may be arrays: a batch of models at once."""
    model = closed(variable=("free",))
    block = [np.array([value, 2.0 * value]) for value in pack(model)]
    inertia = unpack(model, block).inertias[3]
    np.testing.assert_array_equal(inertia.mass, [4.0, 8.0])
