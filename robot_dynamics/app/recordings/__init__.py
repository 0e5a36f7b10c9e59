# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Recordings: columns of numbers over the control periods of a run, and their files."""
