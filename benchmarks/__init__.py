# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Timings beside Pinocchio and MuJoCo, in one run and after comparing results.

From a checkout: `robot_dynamics benchmark --json FILE`, or `python -m benchmarks`.
"""
