# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Settings of hybrid control that a file can state."""

from __future__ import annotations

from dataclasses import fields

from robot_dynamics.control.hybrid.settings import HybridSettings


def test_every_setting_has_a_default_that_is_in_its_bounds():
    """Numbers say their unit; defaults are between the bounds that a file is held to."""
    settings = HybridSettings()
    for f in fields(HybridSettings):
        value = getattr(settings, f.name)
        if isinstance(value, float):
            assert "unit" in f.metadata
            assert value >= f.metadata.get("minimum", f.metadata.get("above"))
            assert value <= f.metadata.get("maximum", f.metadata.get("below", value))
