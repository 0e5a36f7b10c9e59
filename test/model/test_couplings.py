# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Relations between joints as data: built, prefixed, joined, locked, refused."""

from dataclasses import replace

import numpy as np
import pytest
from model.mechanisms import arm, grasp

from robot_dynamics.errors import RobotDynamicsError, UnknownNameError
from robot_dynamics.model import Coupling, CouplingElement, build, joined

GEAR = CouplingElement.gear("gear", "elbow", "shoulder", ratio=-2.0, offset=0.5)


def geared(*couplings):
    """Return the arm with couplings, by default the gear."""
    return arm().with_couplings(couplings or (GEAR,))


def test_a_gear_is_a_linear_relation():
    """The follower's position is ratio times the driver's plus the offset."""
    assert GEAR.terms == (("elbow", 1.0), ("shoulder", 2.0))
    assert GEAR.offset == 0.5


def test_a_model_knows_its_couplings_by_numbers():
    """Names become indices of bodies; each coupling counts as one constraint after the loops."""
    model = build(geared().with_loops([grasp()]))
    index = {body.joint.name: i for i, body in enumerate(model.bodies)}
    expected = ((index["elbow"], 1.0), (index["shoulder"], 2.0))
    assert model.couplings == (Coupling("gear", expected, 0.5, True),)
    assert model.constraint_count == 7
    rail = CouplingElement.gear("rack", "rail", "elbow")
    assert build(geared(rail)).couplings[0].rotational is False


def test_couplings_are_part_of_compiled_code():
    """Models that differ in a ratio do not share machine code."""
    other = replace(GEAR, offset=0.25)
    keys = {build(m).structure_key for m in (arm(), geared(), geared(other))}
    assert len(keys) == 3


def test_prefixes_and_joining_keep_couplings():
    """Two geared arms in one world have a relation each, under their prefixes."""
    parts = [(geared().prefixed(p), np.eye(4), "fixed") for p in ("a_", "b_")]
    both = joined("both", parts)
    assert [c.name for c in both.couplings] == ["a_gear", "b_gear"]
    assert both.couplings[1].terms[1] == ("b_shoulder", 2.0)
    assert len(build(both).couplings) == 2
    same = replace(parts[1][0], couplings=(replace(both.couplings[1], name="a_gear"),))
    with pytest.raises(RobotDynamicsError, match="a_gear"):
        joined("both", [parts[0], (same, np.eye(4), "fixed")])


def test_a_joint_geared_to_locked_ones_is_locked_where_the_gear_has_it():
    """Locking the driver locks the follower at ratio * position + offset, through chains."""
    chain = CouplingElement.gear("rack", "rail", "elbow", ratio=0.1)
    locked = geared(GEAR, chain).locked({"shoulder": 0.3})
    alone = arm().locked({"shoulder": 0.3, "elbow": -0.1, "rail": -0.01})
    assert locked.couplings == ()
    for one, other in zip(locked.joints, alone.joints, strict=True):
        assert one.type == other.type
        # Both multiply the same matrices; offsets differ in the last bit only.
        np.testing.assert_allclose(one.placement, other.placement, atol=1e-15)


def test_a_locked_joint_stays_where_its_name_says_despite_a_gear():
    """If both joints of a gear are locked by name, the gear has no say."""
    locked = geared().locked({"shoulder": 0.3, "elbow": 0.7})
    assert locked.couplings == ()
    assert np.array_equal(
        locked.joints[2].placement, arm().locked({"elbow": 0.7}).joints[2].placement
    )


def test_a_relation_of_three_keeps_the_rest():
    """With one of three joints locked, the other two stay related."""
    differential = CouplingElement(
        "differential", (("shoulder", 1.0), ("elbow", 1.0), ("rail", 4.0)), 0.2
    )
    (left,) = geared(differential).locked({"elbow": 0.5}).couplings
    assert left.terms == (("shoulder", 1.0), ("rail", 4.0))
    assert left.offset == pytest.approx(-0.3, abs=1e-16)


@pytest.mark.parametrize(
    ("terms", "error", "message"),
    [
        ((("elbow", 1.0), ("sholder", 1.0)), UnknownNameError, "'shoulder'"),
        ((("elbow", 1.0), ("flange", 1.0)), UnknownNameError, "'flange'"),
        ((("elbow", 1.0), ("drop", 1.0)), RobotDynamicsError, r"'bad'.*\b6\b"),
        ((("elbow", 1.0), ("elbow", 1.0)), RobotDynamicsError, r"'bad'.*'elbow'"),
        ((("elbow", 0.0),), RobotDynamicsError, r"'bad'.*zero"),
    ],
)
def test_relations_that_mean_nothing_are_refused(terms, error, message):
    """Unknown, fixed, floating and repeated joints are refused by name."""
    with pytest.raises(error, match=message):
        build(geared(CouplingElement("bad", terms)))
