# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Records of controlled motions have the true motion."""

import numpy as np
from numpy.testing import assert_allclose

from robot_dynamics.reproductions.jointed_control import JointedRecord
from robot_dynamics.reproductions.jointed_systems import worked_case
from robot_dynamics.reproductions.unseren import FORCE, run_case


def test_a_record_is_of_the_plant():
    """Poses, forces and errors have one row a period; errors are those to the path."""
    setting, told = worked_case(), []
    record = run_case(setting, setting.system, ticks=120, tell=told.append)
    assert record.error.shape == (120, 2, 6)
    assert_allclose(record.time[[0, -1]], [1e-3, 120e-3])
    assert_allclose(record.force + record.force_error, np.tile(FORCE, (120, 1)), atol=1e-12)
    assert record.gap < 1e-12
    assert told[0] == 0.0
    # A disturbance that the controller does not know is seen.
    wrench = np.zeros((2, 6))
    wrench[0, 3:] = [0.0, 0.0, 20.0]
    pushed = run_case(setting, setting.system, ticks=120, wrench=lambda time: wrench)
    assert pushed.figures()["position [mm]"] > 100.0 * record.figures()["position [mm]"]


def test_figures_are_those_of_the_worse_part():
    """Largest distance and angle of either part; the force's mean square after it has settled."""
    ticks = 200
    error = np.zeros((ticks, 2, 6))
    error[50, 1] = [0.0, 3e-3, 4e-3, 0.0, 0.0, 2e-3]
    error[60, 0] = [1e-3, 0.0, 0.0, 1e-3, 0.0, 0.0]
    force = np.zeros((ticks, 3))
    force[10, 0], force[150, 1] = 7.0, 1.0
    none = np.zeros((ticks, 1))
    record = JointedRecord(1e-3, error, none, none, force, force, none, none, none, 0.0, 1.0)
    figures = record.figures()
    assert_allclose(figures["position [mm]"], 2.0)
    assert_allclose(figures["orientation [mrad]"], 5.0)
    assert_allclose(figures["force, largest at first [N]"], 7.0)
    assert_allclose(figures["force, rms [N]"], 0.1)
