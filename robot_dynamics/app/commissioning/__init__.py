# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Commissioning of a cell: small motions of free arms, and checks of what was recorded."""
