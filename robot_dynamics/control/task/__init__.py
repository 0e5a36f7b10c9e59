# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Tasks: a law that runs phases one after the other, from free arms to free arms."""
