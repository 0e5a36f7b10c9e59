# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Links that are too short, against the result of assembly and sums by hand."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from support import linkages

from robot_dynamics.dynamics.assembly import AssemblyError, assemble
from robot_dynamics.dynamics.position_limits import PositionLimits
from robot_dynamics.dynamics.reach import missing_lengths
from robot_dynamics.model import Limits, build
from robot_dynamics.robot import Robot

lengths = st.floats(0.1, 2.0)


def missing(mechanism, held=(), limits=True, q=None):
    """Return the missing freedoms of a mechanism, with coordinates held."""
    model = build(mechanism)
    free = np.ones(model.nv, dtype=bool)
    free[list(held)] = False
    q = model.neutral() if q is None else np.array(q)
    return missing_lengths(model, PositionLimits(model, limits), q, free)


@settings(max_examples=60, deadline=None)
@given(st.tuples(lengths, lengths, lengths), lengths)
def test_a_four_bar_closes_exactly_if_nothing_is_missing(bars, ground):
    """Grashof aside, four bars make a quadrangle unless one is longer than the other three."""
    sides = (*bars, ground)
    short = 2.0 * max(sides) - sum(sides)
    assume(abs(short) > 0.05)  # near the border the search ends in a stretched configuration
    found = missing(linkages.four_bar(lengths=bars, ground=ground))
    assert found.keys() == ({"pin"} if short > 0.0 else set())
    assert_allclose(found.get("pin", 0.0), max(short, 0.0), rtol=1e-12)
    if short < 0.0:
        Robot.from_mechanism(linkages.four_bar(lengths=bars, ground=ground)).assemble()


def rail(limits=None, closure="spherical"):
    """Return two arms of 0.5 m, one of them on a rail along x, to meet across 3 m."""
    b = linkages.Builder("rail")
    b.add("left", "base")
    b.add("slide", "base", "prismatic", at=(3.0, 0, 0), axis=linkages.X, limits=limits or Limits())
    b.add("right", "slide", at=(0.0, 0.1, 0.0))
    b.close("meet", closure, "left", "right", (0.5, 0, 0), (0.5, 0, 0))
    return b.done()


def test_slides_reach_as_far_as_their_limits():
    """Their travel is taken off the missing length; without limits the length is unknown."""
    short = 3.0 - 0.5 - 0.5 - 0.1
    assert_allclose(missing(rail(Limits(-0.4, 0.2)))["meet"], short - 0.4)
    assert missing(rail(Limits(-2.0, 0.2))) == {}
    assert missing(rail()) == {}
    assert missing(rail(Limits(-0.4, 0.2)), limits=False) == {}
    held = missing(rail(), held=[1], q=[0.0, -0.7, 0.0])
    assert_allclose(held["meet"], short - 0.7)


@pytest.mark.parametrize("closure", ["prismatic", "cylindrical", "point_on_plane"])
def test_loop_joints_that_translate_say_nothing(closure):
    """Their ends may be anywhere along an axis or a plane."""
    b = linkages.Builder("far")
    b.add("arm", "base")
    b.close("loop", closure, "base", "arm", (9.0, 0, 0), (0.5, 0, 0))
    assert missing(b.done()) == {}


def test_long_chains_are_refused_at_once():
    """A hundred links that cannot reach: no start is made, which would take seconds each."""
    b = linkages.Builder("chain")
    parent = "base"
    for i in range(100):
        b.add(
            f"link{i}", parent, at=(0.1 if i else 0.0, 0, 0), axis=(linkages.X, linkages.Z)[i % 2]
        )
        parent = f"link{i}"
    b.close("end", "revolute", "base", parent, (15.0, 0, 0), (0.1, 0, 0))
    model = build(b.done())

    def never(q):
        raise AssertionError("the loops were looked at")

    with pytest.raises(AssemblyError, match=r"'end'.*\b5\b"):
        assemble(model, never, model.neutral())
