# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Scalars of algorithms: floats, arrays, symbols."""
