# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""robot_dynamics: rigid-body dynamics and coordinated control of several arms."""
