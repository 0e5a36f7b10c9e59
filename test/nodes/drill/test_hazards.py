# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Every hazard can be made, and says what is to come of it."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from robot_dynamics.nodes.drill.hazards import HAZARDS
from robot_dynamics.simulation.faults import KINDS, fault_of


@pytest.mark.parametrize("hazard", HAZARDS, ids=lambda hazard: hazard.name)
def test_each_is_a_fault_or_a_signal(hazard):
    """Or a disk that is full, one of the three; and the simulator knows the fault."""
    assert bool(hazard.faults) + bool(hazard.signal) + hazard.full_disk == 1
    if hazard.faults:
        fault_of(hazard.faults)
    assert bool(hazard.signal) == bool(hazard.node) or hazard.full_disk


def test_all_kinds_of_faults_are_there():
    """Names are unique, and no kind of the simulator's is left out."""
    assert len({hazard.name for hazard in HAZARDS}) == len(HAZARDS)
    assert {fault_of(h.faults).kind for h in HAZARDS if h.faults} == set(KINDS)
