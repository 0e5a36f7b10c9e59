# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Names of the topics, the same on the wire and in recorded bags, and time as messages have it.

Names are relative, so that namespaces and remapping work.
"""

from __future__ import annotations

JOINT_STATES = "joint_states"
JOINT_COMMANDS = "joint_commands"  # by joint name, of all arms
CLOCK = "/clock"
OBJECT_ODOMETRY = "object/odometry"
MEASURED_ODOMETRY = "object/measured_odometry"  # of a camera or tracker, to the controller
OBJECT_REFERENCE = "object/reference"
INTERNAL_FORCE = "object/internal_force"
INTERNAL_FORCE_REFERENCE = "object/internal_force_reference"
REFERENCE_TRAJECTORY = "object/reference_trajectory"  # to the controller, as the next three
REFERENCE_INTERNAL_FORCE = "object/reference_internal_force"
REFERENCE_CONTACT_FORCE = "object/reference_contact_force"
REFERENCE_SURFACES = "object/reference_surfaces"
ROBOT_DESCRIPTION = "robot_description"
RUN_METADATA = "run_metadata"
MARKERS = "markers"
OBJECT_MARKER = "object_marker"  # prefix of the interactive marker's topics
JOINT_TRAJECTORY = "joint_trajectory"  # of free arms, to the controller
TASK_PHASE = "task/phase"  # of the controller, latched
HEARTBEAT = "heartbeat"  # of the controller
GUARD = "guard_report"

# In bags only: true states of the simulated plant, and columns without a message type.
TRUE_ODOMETRY = "true/object/odometry"
TRUE_INTERNAL_FORCE = "true/object/internal_force"
APPLIED_TORQUES = "true/applied_torques"
COLUMNS = "columns/"

WORLD = "world"  # the frame in which everything stands


def commands(arm: str) -> str:
    """Return the topic of an arm's torque commands."""
    return f"{arm}/commands"


def position_commands(arm: str) -> str:
    """Return the topic of an arm's joint positions, for drives that take positions."""
    return f"{arm}/position_commands"


def follow_joint_trajectory(arm: str) -> str:
    """Return the action of an arm's trajectories."""
    return f"{arm}/follow_joint_trajectory"


def wrench(arm: str) -> str:
    """Return the topic of an arm's wrist sensor."""
    return f"{arm}/wrench"


def gripper_commands(arm: str) -> str:
    """Return the topic of the commands to an arm's gripper."""
    return f"{arm}/gripper/commands"


def gripper_state(arm: str) -> str:
    """Return the topic that says whether an arm's gripper holds the object."""
    return f"{arm}/gripper/state"


def middle_frame(body: str) -> str:
    """Return the frame of internal forces of two arms, in the middle of their grasps."""
    return f"{body}_grasp_middle"
