# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Internal forces of recordings: which are squeezes, which moments, and how far off they are."""

import numpy as np

from robot_dynamics.app.metrics import (
    added_internal_forces,
    internal_force_errors,
    moments,
    squeezes,
    squeezes_of,
)
from robot_dynamics.app.recording import Recording


def recording(error, **metadata):
    """Return a recording of one row whose internal force is off by so much."""
    off = np.array([error], dtype=float)
    columns = {"tick": np.zeros(1), "internal_force": off, "reference_internal_force": 0.0 * off}
    return Recording(columns, metadata)


def test_rigid_grasps_have_a_wrench_for_each_arm_but_the_last():
    """Two arms have one squeeze, three have none; the worst wrench counts."""
    two = recording([1.0, 2.0, 2.0, 3.0, 4.0, 0.0])
    assert squeezes(two) == [3]
    assert moments(two).tolist() == [True] * 3 + [False] * 3
    np.testing.assert_allclose(internal_force_errors(two), [[5.0], [3.0]])
    three = recording([1.0, 2.0, 2.0, 3.0, 4.0, 0.0, 0.0, 0.0, 4.0, 0.0, 0.0, 1.0])
    assert squeezes(three) == []
    np.testing.assert_allclose(internal_force_errors(three), [[5.0], [4.0]])


def test_other_grasps_name_theirs():
    """Names tell squeezes and moments; forces and moments are each taken together."""
    names = ["squeeze a-b", "twist", "squeeze b-c", "moment x of a"]
    named = recording([3.0, 6.0, 4.0, 8.0], internal_forces=names)
    assert squeezes(named) == [0, 2]
    assert moments(named).tolist() == [False, True, False, True]
    np.testing.assert_allclose(internal_force_errors(named), [[5.0], [10.0]])


def test_what_control_added_is_no_error_but_is_told():
    """It is taken off the error, and has a size of its own; laws that add nothing tell nothing."""
    named = recording(
        [33.0, 6.0, 4.0, 8.0], internal_forces=["squeeze", "twist", "shear", "moment"]
    )
    assert added_internal_forces(named) is None
    named.columns["added_internal_force"] = np.array([[30.0, 0.0, 40.0, 1.0]])
    np.testing.assert_allclose(
        internal_force_errors(named), [[np.hypot(3.0, 36.0)], [np.hypot(6.0, 7.0)]]
    )
    np.testing.assert_allclose(added_internal_forces(named), [[50.0], [1.0]])


def test_after_a_fault_nothing_is_added():
    """The law does not run then, and its columns have no numbers."""
    named = recording([0.0, 0.0], internal_forces=["squeeze", "twist"], fault="at 0.1 s: torn")
    named.columns["added_internal_force"] = np.array([[3.0, 4.0], [np.nan, np.nan]])
    np.testing.assert_allclose(added_internal_forces(named), [[3.0], [4.0]])


def test_a_single_arm_has_none():
    """Without internal forces nothing is off."""
    one = recording([])
    assert squeezes(one) == []
    np.testing.assert_array_equal(internal_force_errors(one), [[0.0], [0.0]])


def test_six_named_forces_have_the_squeeze_where_its_name_is():
    """The squeeze of two rigid grasps is the fourth of six unless the law names its forces."""
    named = ["squeeze a-b", "shear x", "shear y", "twist", "bending x", "bending y"]
    assert squeezes_of({}, 6) == [3]
    assert squeezes_of({"internal_forces": named}, 6) == [0]
    assert squeezes_of({"internal_forces": ["moment y", *["force x"] * 5]}, 6) == []
