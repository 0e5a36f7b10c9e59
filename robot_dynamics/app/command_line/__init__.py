# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The command `robot_dynamics`: its arguments and subcommands."""
