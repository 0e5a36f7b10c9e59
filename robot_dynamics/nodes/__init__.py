# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""ROS 2 nodes: thin shells over simulation and control, and the only modules that import rclpy."""
