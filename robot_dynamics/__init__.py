# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""robot_dynamics: rigid-body dynamics and coordinated control of several arms."""

from __future__ import annotations


def __getattr__(name: str) -> str:
    if name == "__version__":  # read only where it is asked for: parsing package.xml takes time
        from robot_dynamics.version import find_version

        return find_version()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
