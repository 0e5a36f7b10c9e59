# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Grippers of a task."""

from robot_dynamics.control.task.grippers import Grippers


def test_a_load_that_no_command_explains_is_known():
    """A gripper that holds something before it was closed holds it from an earlier run."""
    grippers = Grippers(["left", "right"])
    assert grippers.unknown_loads == []
    grippers.report("left", holds=True)
    assert grippers.unknown_loads == ["left"]
    grippers.close()
    grippers.report("left", holds=True)
    assert grippers.unknown_loads == []
