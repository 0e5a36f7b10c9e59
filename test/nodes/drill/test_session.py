# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A session starts nodes, moves the object, gets back after a fault, and ends all of them."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from robot_dynamics.app.scenario import build_system, load_scenario
from robot_dynamics.nodes.drill.session import CONTROLLER, SIMULATOR, DrillError, Session, Witness


@pytest.mark.slow
def test_there_and_back(ros, tmp_path):
    """Proves the way back after a fault that throws the arms about, and that a node that ends by
    itself is told of; a trial goes there and back in the short run.
    """
    scenario = load_scenario("lift_box")
    witness = Witness(build_system(scenario))
    with Session(witness, scenario, tmp_path, lockstep=True) as session:
        session.start_nodes()
        processes = list(session.nodes.values())
        session.begin()
        assert session.is_active
        witness.switch_faults("torque_dropout right 0.2")
        witness.wait_for(lambda: session.condition.startswith("fallback"), "the fallback")
        session.begin()
        assert session.is_active
        session.nodes[SIMULATOR].send(9)
        with pytest.raises(DrillError, match="the simulator ended with status -9"):
            witness.wait_for(lambda: False, "the end", check=session.check)
        assert session.nodes[CONTROLLER].exit_status is None
    assert all(process.exit_status is not None for process in processes)
    witness.close()
