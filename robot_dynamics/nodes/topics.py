# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Names and qualities of service of the topics, for all nodes."""

from __future__ import annotations

from rclpy.qos import QoSDurabilityPolicy, QoSProfile, QoSReliabilityPolicy

from robot_dynamics.app.topic_names import (
    CLOCK,
    GUARD,
    HEARTBEAT,
    INTERNAL_FORCE,
    INTERNAL_FORCE_REFERENCE,
    JOINT_STATES,
    MARKERS,
    OBJECT_ODOMETRY,
    OBJECT_REFERENCE,
    REFERENCE_CONTACT_FORCE,
    REFERENCE_INTERNAL_FORCE,
    REFERENCE_SURFACES,
    REFERENCE_TRAJECTORY,
    ROBOT_DESCRIPTION,
    RUN_METADATA,
    commands,
    middle_frame,
    wrench,
)

__all__ = [
    "CLOCK",
    "GUARD",
    "HEARTBEAT",
    "INTERNAL_FORCE",
    "INTERNAL_FORCE_REFERENCE",
    "JOINT_STATES",
    "LATCHED",
    "MARKERS",
    "OBJECT_ODOMETRY",
    "OBJECT_REFERENCE",
    "REFERENCE_CONTACT_FORCE",
    "REFERENCE_INTERNAL_FORCE",
    "REFERENCE_SURFACES",
    "REFERENCE_TRAJECTORY",
    "ROBOT_DESCRIPTION",
    "RUN_METADATA",
    "STREAM",
    "commands",
    "middle_frame",
    "wrench",
]

# Reliable: what `ros2 topic echo` and RViz ask for by default, and lockstep needs.
STREAM = QoSProfile(depth=10, reliability=QoSReliabilityPolicy.RELIABLE)
LATCHED = QoSProfile(
    depth=1,
    reliability=QoSReliabilityPolicy.RELIABLE,
    durability=QoSDurabilityPolicy.TRANSIENT_LOCAL,
)
