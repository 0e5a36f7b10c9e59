# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What grows is told, and simulated operation with faults at random goes on and on."""

from __future__ import annotations

import os

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from robot_dynamics.app.scenario import build_system, load_scenario
from robot_dynamics.nodes.drill.process import Soak, Usage
from robot_dynamics.nodes.drill.session import Witness


def test_usage_of_a_process(tmp_path):
    """The first look and the last one: memory and files that have come since are told."""
    usage = Usage()
    usage.note(os.getpid())
    assert usage.problems("test") == []
    kept = [b"x" * 2**20 for _ in range(20)]
    with open(tmp_path / "file", "w"):
        usage.note(os.getpid())
    assert len(usage.memory_mb) == 2
    memory, files = usage.problems("test")
    assert memory.startswith("memory of the test grew by")
    assert files == "1 files of the test stayed open."
    assert len(kept) == 20


@pytest.mark.slow
def test_a_minute(ros, tmp_path):
    """Proves that nodes survive faults of every kind and keep nothing: see docs for an hour."""
    scenario = load_scenario("lift_box", ["control.rate_hz=250"])
    witness = Witness(build_system(scenario))
    found = Soak(witness, scenario, tmp_path, 60.0, 1).run()
    witness.close()
    assert found["problems"] == []
    assert found["simulated_s"] >= 60.0
    assert found["largest_torque"] <= 1.0
    assert sum(found["faults"].values()) > 4
