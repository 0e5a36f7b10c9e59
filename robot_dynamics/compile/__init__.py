# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The compiler of traced programs: from straight-line Python to NumPy functions."""
