# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Recordings as bags of ROS 2 messages, with or without ROS."""
