# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Pseudovelocities are watched: kept while they are good, chosen anew when they are not."""

from __future__ import annotations

import numpy as np
import pytest
from control.jointed.situations import AT_REST, MODEL, START
from manipulation.jointed_object.cases import regular_states

from robot_dynamics.reproductions.choice_of_pseudovelocities import ChoiceOfPseudovelocities
from robot_dynamics.reproductions.reduced_order import ReducedOrderTerms


def test_a_good_choice_is_kept():
    """While the arms move a little, the choice stays and nothing is reported."""
    choice = ChoiceOfPseudovelocities(300.0)
    for tick in range(5):
        q = START + 0.01 * tick
        reduced = choice.reduced(tick, MODEL.terms(q, 0 * q))
        assert reduced.conditioning < 300.0
    assert choice.changes == []
    assert 1.0 < choice.worst < 300.0


def test_joint_velocities_take_over_where_an_arm_is_singular():
    """Beyond the limit the object's velocities give way, and come back once it is passed."""
    free = ChoiceOfPseudovelocities(1e9).reduced(0, AT_REST).conditioning
    choice = ChoiceOfPseudovelocities(300.0)
    choice.reduced(0, AT_REST)
    choice.limit = 0.9 * free
    reduced = choice.reduced(1, AT_REST)
    assert isinstance(reduced, ReducedOrderTerms)
    assert reduced.conditioning < free
    (change,) = choice.changes
    assert (change.tick, change.name) == (1, "ConstantVelocities")
    assert change.conditioning == (pytest.approx(free), pytest.approx(reduced.conditioning))
    choice.limit = 1.5 * free  # no way back yet: that takes half of the limit
    choice.reduced(2, AT_REST)
    assert len(choice.changes) == 1
    choice.limit = 2.5 * free
    choice.reduced(3, AT_REST)
    assert choice.changes[-1].name == "CompletedVelocities"


@pytest.mark.parametrize("kind", ["revolute", "spherical"])
def test_short_arms_get_joint_velocities_from_the_start(kind):
    """Arms that cannot move the object freely are still moved by their joints."""
    for _, terms, _, _ in regular_states(kind, (4, 5), 2):
        choice = ChoiceOfPseudovelocities(1e4)
        reduced = choice.reduced(0, terms)
        assert np.isin(reduced.B, (0.0, 1.0)).all()
        assert choice.changes == []
