# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Nodes that are started here meet nobody else's."""

import importlib.util
import socket

import pytest

from robot_dynamics.app.node_process import (
    RosMissingError,
    free_domain,
    private_environment,
    require_ros,
)


def test_free_domain():
    """A domain is one that keeps off the ports of other programs and that nobody uses."""
    domain = free_domain()
    assert 1 <= domain <= 101
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("", 7400 + 250 * domain))
        assert all(free_domain() != domain for _ in range(20))


def test_without_ros(monkeypatch):
    """Without rclpy the sentence says what to install, and what works without."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(RosMissingError, match=r"robot_dynamics\[ros\].*simulate"):
        require_ros()


@pytest.mark.parametrize(
    ("distribution", "key"),
    [("humble", "ROS_LOCALHOST_ONLY"), ("jazzy", "ROS_AUTOMATIC_DISCOVERY_RANGE")],
)
def test_private_environment(monkeypatch, tmp_path, distribution, key):
    """Discovery stays on this machine, as the distribution wants to be told, and so do logs."""
    monkeypatch.setenv("ROS_DISTRO", distribution)
    monkeypatch.setenv("ROS_STATIC_PEERS", "elsewhere")
    monkeypatch.delenv("ROS_AUTOMATIC_DISCOVERY_RANGE", raising=False)
    monkeypatch.setenv("ROS_LOCALHOST_ONLY", "0")
    environment = private_environment(tmp_path)
    assert environment[key] in ("1", "LOCALHOST")
    assert "ROS_STATIC_PEERS" not in environment
    assert environment["ROS_LOG_DIR"].startswith(str(tmp_path))
    assert 1 <= int(environment["ROS_DOMAIN_ID"]) <= 101
