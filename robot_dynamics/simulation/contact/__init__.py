# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Contacts that push only, have friction, slip, open and bounce: time stepping with impulses."""
