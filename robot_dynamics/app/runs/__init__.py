# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Runs of a scenario: in this process, or by nodes in processes of their own."""
