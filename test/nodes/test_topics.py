# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Names and qualities of service are those of the documentation."""

from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from rclpy.qos import QoSDurabilityPolicy, QoSReliabilityPolicy

from robot_dynamics.nodes import topics

PAGE = Path(__file__).resolve().parents[2] / "docs" / "ros.md"


def test_names_are_relative_so_that_namespaces_work():
    """But for those that ROS has one of."""
    names = [value for key, value in vars(topics).items() if key.isupper() and "\0" not in key]
    names = [name for name in names if isinstance(name, str)]
    assert names
    assert [name for name in names if name.startswith("/")] == ["/clock"]
    assert topics.commands("left") == "left/commands"
    assert topics.wrench("left") == "left/wrench"


def test_streams_are_reliable_and_descriptions_latched():
    """What RViz and the command line ask for by default."""
    assert topics.STREAM.reliability == QoSReliabilityPolicy.RELIABLE
    assert topics.STREAM.depth == 10
    assert topics.LATCHED.durability == QoSDurabilityPolicy.TRANSIENT_LOCAL
    assert topics.LATCHED.depth == 1


@pytest.mark.skipif(not PAGE.is_file(), reason="needs the checkout")
def test_the_documentation_names_every_topic():
    """Nobody has to read the code to find one."""
    text = PAGE.read_text(encoding="utf-8")
    names = [v for k, v in vars(topics).items() if k.isupper() and isinstance(v, str)]
    for name in [*names, topics.commands("<arm>"), topics.wrench("<arm>")]:
        assert f"`{name}`" in text, name
