# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The page in the browser follows the topics of running nodes."""

import json
import time

import numpy as np
import pytest
from waiting import PATIENCE_S

pytest.importorskip("rclpy", reason="ROS 2 is not installed")
for package in ("trimesh", "viser"):
    pytest.importorskip(package, reason=f"{package}, of the extra `view`, is not installed")

from nav_msgs.msg import Odometry  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Float64MultiArray, String  # noqa: E402

from robot_dynamics.app.command_line.main import main  # noqa: E402
from robot_dynamics.app.runs.recorders import common_metadata  # noqa: E402
from robot_dynamics.app.scenarios.cell import build_system  # noqa: E402
from robot_dynamics.app.scenarios.scenario import load_scenario  # noqa: E402
from robot_dynamics.nodes import viewer  # noqa: E402
from robot_dynamics.nodes.topics import LATCHED, STREAM  # noqa: E402

SCENARIO = load_scenario("lift_box")
SYSTEM = build_system(SCENARIO)


@pytest.fixture
def nodes(ros):
    """Return a node that publishes like a run, its publishers, and its listener."""
    node, listener = ros.create_node("speaker"), ros.create_node("view")
    kinds = {
        "run_metadata": (String, LATCHED),
        "/arms/left": (JointState, STREAM),
        "/arms/right": (JointState, STREAM),
        "object/odometry": (Odometry, STREAM),
        "left/commands": (Float64MultiArray, STREAM),
    }
    speakers = {
        topic: node.create_publisher(kind, topic, quality)
        for topic, (kind, quality) in kinds.items()
    }
    running = viewer.RunningNodes(listener)
    yield speakers, running
    running.close()
    node.destroy_node()
    listener.destroy_node()


def say(speakers, turned):
    """Publish one instant: all joints at an angle, the object at a height."""
    names = iter(SYSTEM.joint_names)
    for arm in SYSTEM.arms:
        own = [next(names) for _ in arm.joints]
        speakers[f"/arms/{arm.name}"].publish(JointState(name=own, position=[turned] * len(own)))
    seen = Odometry()
    seen.pose.pose.position.z, seen.pose.pose.orientation.w = turned, 1.0
    speakers["object/odometry"].publish(seen)
    speakers["left/commands"].publish(Float64MultiArray(data=[turned] * 7))


def test_it_shows_what_the_topics_tell(nodes, monkeypatch):
    """Joint states of each arm on a topic of its own, remapped; the object as it is estimated."""
    speakers, running = nodes
    assert running.latest() is None
    remapped = {"topics": {"joint_states": ["/arms/left", "/arms/right"]}}
    metadata = {**common_metadata(SCENARIO, SYSTEM, {}), **remapped}
    speakers["run_metadata"].publish(String(data=json.dumps(metadata)))
    pages, until = [], time.monotonic() + PATIENCE_S

    def look(seconds):
        """Publish another instant, and end when the page shows one that it was told."""
        assert time.monotonic() < until
        for page in pages:
            arm = page._scene.torques[0, :7] * 1.0
            if page.pose("box")[2] > 0.5 and np.isfinite(arm).all():
                raise KeyboardInterrupt
        say(speakers, 0.4 if not pages else 0.6)
        real_sleep(0.05)

    real_sleep = time.sleep
    monkeypatch.setattr(viewer.time, "sleep", look)
    monkeypatch.setattr(viewer, "say_where", lambda page, port: pages.append(page))
    with pytest.raises(KeyboardInterrupt):
        viewer.follow(running, port=18280)
    monkeypatch.undo()
    (page,) = pages
    assert page.pose("box")[2] == pytest.approx(0.6)
    heard = running.latest()
    assert heard["joint_position"][0] == pytest.approx(np.full(14, 0.6))
    assert heard["commanded_torque"][0, :7] == pytest.approx(np.full(7, 0.6))
    assert np.isnan(heard["commanded_torque"][0, 7:]).all()  # nobody commands that arm


def test_contradictory_runs_are_refused(capsys):
    """Either a run that one names, or one that is there."""
    assert main(["view", "lift_box", "--topics"]) == 2
    assert "expected no further arguments, not lift_box" in capsys.readouterr().err
    assert main(["view"]) == 2
    assert "nothing to show" in capsys.readouterr().err
