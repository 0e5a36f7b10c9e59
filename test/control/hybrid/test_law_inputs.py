# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The inputs of a step are taken apart into what they are, joints in the order of the model."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose
from support.hybrid_step import arguments_of, bare_gains
from support.hybrid_systems import environment_of, state_of

from robot_dynamics.control.hybrid.law_inputs import LawInputs


def test_everything_is_where_it_belongs():
    """Joints in another order come back in the model's; parts of vectors by their names."""
    state = state_of(2, "rigid", 7, environment_of(1), np.random.default_rng(1))
    rng = np.random.default_rng(2)
    order = rng.permutation(14)
    gains = bare_gains(state.system, lead=0.125)
    arrays, block, distribution = arguments_of(
        state, gains=gains, ramp=0.75, internal=3.0, contact_integral=4.0, forces=[5.0]
    )
    q, qd, *rest = arrays
    lists = [value.tolist() for value in (q[order], qd[order], *rest, block)]
    given = LawInputs.of(state.system, order.tolist(), lists)
    assert_allclose(given.q, state.q)
    assert_allclose(given.qd, state.qd)
    assert given.reference["internal"] == [3.0] * 6
    assert given.memory["contact_integral"] == [4.0]
    assert (given.ramp, given.sensors, given.gains.lead) == (0.75, [0.0, 1.0, 5.0], 0.125)
    assert_allclose(given.constants.internal, distribution.internal)
    assert given.object_sensor == []


def test_an_object_seen_from_outside_is_one_more_input():
    """It stands before the block."""
    state = state_of(2, "rigid", 6, environment_of(0), np.random.default_rng(1))
    arrays, block, _ = arguments_of(state)
    lists = [np.asarray(value).tolist() for value in (*arrays, np.arange(13.0), block)]
    assert LawInputs.of(state.system, range(12), lists).object_sensor == list(range(13))
