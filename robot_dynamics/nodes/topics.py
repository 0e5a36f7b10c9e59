# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Names and qualities of service of the topics, for all nodes."""

from __future__ import annotations

from rclpy.qos import QoSDurabilityPolicy, QoSProfile, QoSReliabilityPolicy

JOINT_STATES = "joint_states"
CLOCK = "/clock"
OBJECT_ODOMETRY = "object/odometry"
OBJECT_REFERENCE = "object/reference"
INTERNAL_FORCE = "object/internal_force"
INTERNAL_FORCE_REFERENCE = "object/internal_force_reference"
ROBOT_DESCRIPTION = "robot_description"
MARKERS = "markers"
HEARTBEAT = "heartbeat"  # of the controller
GUARD = "guard_report"

# Reliable: what `ros2 topic echo` and RViz ask for by default, and lockstep needs.
STREAM = QoSProfile(depth=10, reliability=QoSReliabilityPolicy.RELIABLE)
LATCHED = QoSProfile(
    depth=1,
    reliability=QoSReliabilityPolicy.RELIABLE,
    durability=QoSDurabilityPolicy.TRANSIENT_LOCAL,
)


def commands(arm: str) -> str:
    """Return the topic of an arm's torque commands."""
    return f"{arm}/commands"


def wrench(arm: str) -> str:
    """Return the topic of an arm's wrist sensor."""
    return f"{arm}/wrench"
