# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The inputs of a step are split into their parts, joints in the order of the model."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
from numpy.testing import assert_allclose
from support.hybrid_step import arguments_of, bare_gains
from support.hybrid_systems import environment_of, state_of

from robot_dynamics.control.hybrid.law_inputs import LawInputs, LawOptions
from robot_dynamics.control.hybrid.law_program import HybridLawProgram
from robot_dynamics.control.impedance import ImpedanceProgram
from robot_dynamics.manipulation.hybrid import Contact, Environment


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


def test_the_structure_key_tells_programs_apart():
    """Steps of one key are traced to one program: parameters leave both as they are."""
    rng = np.random.default_rng(4)
    system = state_of(2, "rigid", 6, Environment(), rng).system
    order, options = tuple(range(12)), LawOptions()
    heavier = replace(
        system.held, mass=2.0 * system.held.mass, center=(0.1, 0.0, -0.2), inertia=np.eye(3)
    )
    moved = [c.at(c.pose @ np.diag([-1.0, -1.0, 1.0, 1.0])) for c in system.contacts]
    soft, pin = (
        replace(system, contacts=tuple(Contact.of_kind(kind, c.pose) for c in system.contacts))
        for kind in ("soft finger", "frictional point")
    )
    tool = replace(system, tools=("arm0_4", "tool1"))
    more_joints = state_of(2, "rigid", 7, Environment(), rng).system
    cases = [
        (system, order, options),
        (replace(system, held=heavier), order, options),
        (replace(system, contacts=tuple(moved)), order, options),
        (soft, order, options),
        (pin, order, options),
        (tool, order, options),
        (more_joints, tuple(range(14)), options),
        (system, order[::-1], options),
        (system, order, replace(options, ahead=False)),
        (system, order, replace(options, avoid=True)),
        (system, order, replace(options, null_space="plain")),
        (system, order, replace(options, sensor=True)),
    ]
    steps = [HybridLawProgram(*case) for case in cases] + [ImpedanceProgram(*cases[0])]
    found = [(step.structure_key, step.trace().fingerprint) for step in steps]
    assert None not in [key for key, _ in found]
    assert found[0] == found[1] == found[2]
    for (key, program), (other, its_program) in combinations(found[2:], 2):
        assert key != other
        assert program != its_program


def test_surfaces_have_no_structure_key():
    """Nothing but the trace tells the constants that their functions have caught."""
    system = state_of(2, "rigid", 6, environment_of(1), np.random.default_rng(1)).system
    assert HybridLawProgram(system, tuple(range(12)), LawOptions()).structure_key is None
