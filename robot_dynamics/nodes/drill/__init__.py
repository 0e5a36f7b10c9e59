# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The drill: running nodes, everything that may go wrong with them, and what they make of it."""
