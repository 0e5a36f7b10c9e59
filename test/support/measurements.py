# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Samples judged in one call, as the safety layer judges them in two."""

from __future__ import annotations

from robot_dynamics.control.checks import MeasurementCheck


class Measurements(MeasurementCheck):
    """A check of samples that is asked once."""

    def passes(
        self, q, qd, wrenches=None, passed=0.0, lost=(), torque=None, *, linked=True
    ) -> bool:
        """Return whether samples are good; see `MeasurementCheck.fits` and `judge`."""
        fits = self.fits(q, qd, wrenches, passed)
        return (fits and not lost) or self.judge(lost, torque, linked=linked)
