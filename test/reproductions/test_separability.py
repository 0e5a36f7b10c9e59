# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The model of linear separability beside the unified one."""

import numpy as np

from robot_dynamics.reproductions import separability
from robot_dynamics.reproductions.separability import largest_difference


def test_its_claims_hold():
    """Three ways to the blocks agree; the printed C does not."""
    outcome = separability.run(True, lambda done, doing: None)
    assert outcome.ok, [str(check) for check in outcome.checks]
    assert outcome.figures["relative error of C as printed, median"] > 0.01
    times = outcome.figures["time of the blocks and the accelerations [us]"]
    assert times[separability.ENGINE] < times[separability.OPERATORS]


def test_differences_are_relative_to_each_block():
    """A block that is off by a tenth of its largest entry is seen, in mappings as in objects."""
    one = {"a": np.array([1.0, -4.0]), "b": np.array([1e-6])}
    other = {"a": np.array([1.4, -4.0]), "b": np.array([1e-6])}
    assert abs(largest_difference(one, other, ("a", "b")) - 0.1) < 1e-12
    assert largest_difference(one, one, ("a", "b")) == 0.0
    broken = {"a": np.array([np.nan, -4.0]), "b": np.array([1e-6])}
    assert np.isnan(largest_difference(broken, other, ("a", "b")))
