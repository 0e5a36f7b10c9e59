# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Hypothesis tries the same examples in every run, however long the machine takes for them.

What is marked slow tries others every time: new examples are to be found there, and not by whoever
changes something else.
"""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "suite", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("suite")
