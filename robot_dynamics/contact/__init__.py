# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Contact of any mechanism: where it touches, what pushes, what an impact does (chapter 11)."""
