# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Payloads are point masses on the object for as long as they are stated to stay."""

from __future__ import annotations

import numpy as np
import pytest

from robot_dynamics.simulation.payloads import payload_schedule, with_payloads
from robot_dynamics.simulation.settings import PayloadSettings
from robot_dynamics.spatial import Motion, Vector3
from test.two_arms import two_arms

SYSTEM = two_arms()


def test_a_payload_has_the_kinetic_energy_of_a_point():
    """That of the object, and 1/2 m v^2 of each point, for any motion."""
    payloads = (PayloadSettings(0.7, (0.1, -0.2, 0.3)), PayloadSettings(-0.2, (0.0, 0.1, 0.0)))
    rng = np.random.default_rng(0)
    heavier = with_payloads(SYSTEM, payloads)
    for _ in range(3):
        spin, velocity = rng.normal(size=(2, 3))
        motion = Motion(Vector3.of(spin.tolist()), Vector3.of(velocity.tolist()))
        energies = [
            0.5 * motion.dot(one.model.bodies[one.object_body].inertia * motion)
            for one in (SYSTEM, heavier)
        ]
        of_points = [
            0.5 * one.mass * np.sum((velocity + np.cross(spin, one.center)) ** 2)
            for one in payloads
        ]
        assert energies[1] - energies[0] == pytest.approx(sum(of_points), rel=1e-12)
    assert with_payloads(SYSTEM, ()) is SYSTEM


def test_payloads_come_and_go_in_their_periods():
    """Two that overlap, and one that is there from the first period on."""
    first = PayloadSettings(1.0, time_s=0.01, duration_s=0.02)
    second = PayloadSettings(2.0, time_s=0.02)
    always = PayloadSettings(3.0, duration_s=0.001)
    assert payload_schedule((), 0.002) == [(0, ())]
    assert payload_schedule((first, second, always), 0.002) == [
        (0, (always,)),
        (1, ()),
        (5, (first,)),
        (10, (first, second)),
        (15, (second,)),
    ]
