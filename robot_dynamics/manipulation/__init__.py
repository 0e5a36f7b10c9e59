# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Manipulation of one object by several arms: grasps, contacts, and their equations."""
