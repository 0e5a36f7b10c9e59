# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Featherstone's algorithms, one a file, over any scalar type."""
