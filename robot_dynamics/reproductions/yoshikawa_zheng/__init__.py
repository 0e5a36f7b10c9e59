# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Yoshikawa and Zheng's three experiments (IJRR 12(3), 1993) with two planar robots and a bar."""
