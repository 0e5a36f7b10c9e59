# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Scenarios: files that describe a run, and everything made from one before it begins."""
