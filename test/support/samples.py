# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Samples that cost nothing, in a module that other processes can import."""

from __future__ import annotations

import os
import time


def squared(number):
    """Return a square, and how many threads NumPy's libraries may use."""
    return {"square": number**2, "threads": os.environ.get("OMP_NUM_THREADS")}


def slow(number):
    """Return a square after a moment."""
    time.sleep(0.3)
    return {"square": number**2}
