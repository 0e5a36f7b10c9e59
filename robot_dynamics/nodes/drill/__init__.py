# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Fault drill of running nodes: hazards, and the reactions of the nodes."""
