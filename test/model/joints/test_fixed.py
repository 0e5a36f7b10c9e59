# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The joint without freedom."""

import numpy as np
import pytest
from model.joints.cases import displaced

from robot_dynamics.model.joints import Fixed, verify


def test_its_parts_fit_together():
    """T is all there is, and the residual is the displacement."""
    assert verify(Fixed()) == []


def test_the_residual_is_the_displacement_to_first_order(rng):
    """For a small displacement the residual is that displacement, with a second-order error."""
    twist = rng.normal(size=6)
    errors = []
    for size in (1e-2, 1e-3):
        residual = np.array(Fixed().residual(displaced(size * twist)))
        errors.append(np.abs(residual - size * twist).max() / size)
    assert errors[0] < 0.1
    assert errors[1] < errors[0] / 8.0  # ten for a second-order error, less the next order
    assert not np.any(Fixed().residual(displaced(np.zeros(6))))


def test_the_residual_vanishes_only_when_closed(rng):
    """Up to half a turn it is the turn, and as far away as the origins are."""
    for angle in (1e-6, 1.0, 2.0, 3.0, np.pi - 1e-7, np.pi):
        turn, away = rng.normal(size=(2, 3))
        X = displaced(np.concatenate([angle * turn / np.linalg.norm(turn), away]))
        residual = np.array(Fixed().residual(X))
        assert np.linalg.norm(residual[:3]) == pytest.approx(angle, rel=1e-9)
        # E r, the origin's place in other axes.
        assert np.linalg.norm(residual[3:]) == pytest.approx(np.linalg.norm(list(X.r)), rel=1e-12)
