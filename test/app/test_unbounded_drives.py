# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Drives without limits are named."""

import numpy as np
from support.linkage_arms import linkage_cell

from robot_dynamics.app.recorders import unbounded_drives
from robot_dynamics.app.scenario import build_system, load_scenario
from robot_dynamics.model import LinkElement, pose


def test_drives_without_limits_are_named():
    """Arms whose joints state nothing; those that only follow their drives are left out."""
    box = LinkElement("box", 3.0, inertia=0.03 * np.eye(3))
    system = linkage_cell(1, box, [pose((-0.15, 0.0, 0.0))]).system
    (sentence,) = unbounded_drives(system)
    assert sentence.startswith("drives arm0_turn, arm0_near, arm0_crank, arm0_roll, arm0_bend,")
    assert "arm0_rod" not in sentence


def test_shipped_arms_have_limits():
    """Also those whose linkages have joints without any."""
    assert unbounded_drives(build_system(load_scenario("parallelogram_arms"))) == []
