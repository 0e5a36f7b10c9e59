# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Names and shapes of inputs and outputs."""

import json

import numpy as np
import pytest

from robot_dynamics.compile.errors import ShapeError
from robot_dynamics.compile.ports import Ports, check_parameters, stack_inputs


@pytest.fixture
def ports():
    return Ports("f", (("q", (7,)), ("s", ())), (("H", (7, 7)), ("m", ())), 3)


def test_signature(ports):
    """The signature freezes every dimension."""
    assert ports.signature == "(7),()->(7,7),()"


def test_places(ports):
    """Elements are counted through all inputs, and through all outputs."""
    assert ports.input_sizes == (7, 1)
    assert ports.input_starts == (0, 7)
    assert ports.output_sizes == (49, 1)
    assert ports.output_starts == (0, 49)


def test_survives_json(ports):
    """Metadata in the cache give the same ports back."""
    assert Ports.from_metadata(json.loads(json.dumps(ports.as_metadata()))) == ports


def test_inputs_broadcast(ports):
    """Leading dimensions broadcast, core dimensions are flattened."""
    (q, s), batch = stack_inputs(ports, (np.zeros((4, 1, 7)), np.zeros(5)))
    assert batch == (4, 5)
    assert q.shape == (4, 5, 7)
    assert s.shape == (4, 5, 1)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ((np.zeros(7),), "f: expected 2 inputs (q, s), got 1"),
        ((np.zeros(6), 0.0), "f: expected q of shape (..., 7,), got (6,)"),
        ((0.0, 0.0), "f: expected q of shape (..., 7,), got ()"),
        (
            (np.zeros((4, 7)), np.zeros(5)),
            "f: leading dimensions are q (4,), s (5,), expected dimensions that broadcast",
        ),
    ],
)
def test_wrong_shapes_are_named(ports, arrays, message):
    """An error names the input, the expected shape and the one found."""
    with pytest.raises(ShapeError) as caught:
        stack_inputs(ports, arrays)
    assert message in str(caught.value)


def test_parameter_block(ports):
    """The block has one length; None stands for no parameters; a batch only where allowed."""
    np.testing.assert_array_equal(check_parameters(ports, [1, 2, 3]), [1.0, 2.0, 3.0])
    assert check_parameters(ports, np.zeros((4, 3)), batch=True).shape == (4, 3)
    for wrong in (None, [1.0], np.zeros((4, 3)), 1.0):
        with pytest.raises(ShapeError, match=r"parameter block of shape \(3,\)"):
            check_parameters(ports, wrong)
    assert check_parameters(Ports("g", (), (), 0), None).shape == (0,)


def test_document_names_ports(ports):
    """The text for `help` tells names and shapes."""
    assert "q (7,), s ()" in ports.document
    assert "H (7, 7), m ()" in ports.document
