# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Control of a jointed object by two arms: Unseren's architecture with servos on it."""
