# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Where nodes that are started here talk to each other: on this machine, and to nobody else."""

from __future__ import annotations

import importlib.util
import os
import random
import socket
from pathlib import Path

from robot_dynamics.errors import RobotDynamicsError


class RosMissingError(RobotDynamicsError):
    """ROS 2 is not there."""


def require_ros() -> None:
    """Raise unless nodes can be started.

    Raises:
        RosMissingError: If rclpy is not installed; says what to do.
    """
    if importlib.util.find_spec("rclpy") is None:
        raise RosMissingError(
            "this runs ROS 2 nodes, and there is no rclpy in this Python; expected a sourced "
            "ROS 2 installation or `pip install 'robot_dynamics[ros]'`. `robot_dynamics simulate` "
            "needs no ROS."
        )


def free_domain() -> int:
    """Return a ROS domain whose discovery port nobody on this machine uses.

    Only domains up to 101 keep off the ports that Linux gives to programs at random.
    """
    candidates = random.Random().sample(range(1, 102), 101)
    for domain in candidates:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.bind(("", 7400 + 250 * domain))
            except OSError:
                continue
            return domain
    return candidates[0]


def private_environment(folder: Path) -> dict[str, str]:
    """Return the environment of nodes in a domain of their own, with their logs in a folder."""
    environment = dict(os.environ)
    environment.pop("ROS_STATIC_PEERS", None)
    environment["ROS_DOMAIN_ID"] = str(free_domain())
    environment["ROS_LOG_DIR"] = str(folder / "log")
    environment["PYTHONUNBUFFERED"] = "1"
    if environment.get("ROS_DISTRO") in ("foxy", "galactic", "humble"):
        environment["ROS_LOCALHOST_ONLY"] = "1"
    else:
        environment.pop("ROS_LOCALHOST_ONLY", None)
        environment["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    return environment
