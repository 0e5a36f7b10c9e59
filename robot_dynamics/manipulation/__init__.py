# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What several arms hold: the object, its grasps, and the formulations that relate them."""
