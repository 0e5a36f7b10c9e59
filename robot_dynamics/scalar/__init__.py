# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The scalars that algorithms are written over: floats, arrays, symbols."""
