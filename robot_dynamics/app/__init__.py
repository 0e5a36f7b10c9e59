# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Products for users: scenarios, simulations, recordings, reports, plots and the command line."""
