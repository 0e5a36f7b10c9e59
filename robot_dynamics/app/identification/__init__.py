# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Identification from recordings of runs: inputs, reports, corrected files, figures."""
