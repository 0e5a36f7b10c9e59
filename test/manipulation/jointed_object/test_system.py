# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Two arms and the parts of their object, and objects that they cannot hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from manipulation.jointed_object.cases import random_system
from numpy.testing import assert_allclose
from support.mechanisms import random_arm, random_link

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.manipulation.jointed_object import jointed_object_system
from robot_dynamics.model import JointElement, Mechanism, joined


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def parts(rng):
    arms = joined("arms", [(random_arm(rng, name, 6), np.eye(4), "fixed") for name in ("a", "b")])
    held = Mechanism(
        "object",
        (random_link(rng, "part0"), random_link(rng, "part1")),
        (JointElement("object_joint", "spherical", "part0", "part1"),),
    )
    return arms, held, ("a_tool", "b_tool"), (np.eye(4), np.eye(4))


@pytest.mark.parametrize(
    ("kind", "joints", "freedoms"),
    [("spherical", (6, 6), 9), ("revolute", (6, 7), 8), ("fixed", (7, 7), 8)],
)
def test_degrees_of_freedom(rng, kind, joints, freedoms):
    """The chain has N_1 + N_2 - c degrees of freedom (19), each joint belongs to one arm."""
    system = random_system(rng, kind, joints)
    assert system.freedoms == freedoms
    first, second = (part.v_index for part in system.parts)
    assert [*first, *second] == list(range(sum(joints)))


def test_the_arms_alone_have_no_object(rng):
    """The parts' weight is in the whole and not in the arms."""
    system = random_system(rng, "spherical")
    for part in system.parts:
        whole, arm = (m.bodies[part.body].inertia for m in (system.model, system.arms))
        assert_allclose(whole.mass - arm.mass, part.inertia.mass, rtol=1e-12)


def test_objects_that_are_not_two_links_and_a_joint(rng):
    """Anything else is answered in one sentence, as are massless parts."""
    arms, held, tools, grasps = parts(rng)
    rigid = Mechanism("box", (random_link(rng, "box"),))
    with pytest.raises(RobotDynamicsError, match="'box' has 1 links, 0 joints,"):
        jointed_object_system(arms, rigid, tools, grasps)
    light = replace(held, links=(held.links[0], replace(held.links[1], mass=0.0)))
    with pytest.raises(RobotDynamicsError, match="'part1' has mass 0 kg"):
        jointed_object_system(arms, light, tools, grasps)


def test_arms_that_share_a_joint(rng):
    """A joint that carries both tools is named."""
    arms, held, _, grasps = parts(rng)
    with pytest.raises(RobotDynamicsError, match="joint 'a_joint0' belongs to both arms"):
        jointed_object_system(arms, held, ("a_tool", "a_link3"), grasps)
