# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Studies: a scenario run many times with values drawn at random or laid out in a grid."""
