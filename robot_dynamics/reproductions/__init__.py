# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Studies: systems of the literature that are run, checked and drawn by one command."""
