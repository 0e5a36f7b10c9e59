# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Mechanisms made by programs are checked as files are: each impossible element is named."""

from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model import (
    CouplingElement,
    JointElement,
    LinkElement,
    LoopElement,
    Mechanism,
    build,
    pose,
)
from robot_dynamics.model.elements import Limits

NAN = float("nan")
SOLID = np.diag([0.1, 0.1, 0.1])
MECHANISM = Mechanism(
    "m",
    (
        LinkElement("base"),
        LinkElement("a", 1.0, (0.0, 0.0, 0.1), SOLID),
        LinkElement("b", 1.0, (0.0, 0.0, 0.1), SOLID),
    ),
    (
        JointElement("to a", "revolute", "base", "a"),
        JointElement("to b", "revolute", "base", "b", pose((0.3, 0.0, 0.0))),
    ),
    (LoopElement("weld", "point", "a", "b", pose((0.1, 0, 0)), pose((-0.1, 0, 0))),),
    (CouplingElement.gear("gear", "to a", "to b", 2.0),),
)
SHEARED = pose(rotation=np.array([[1.0, 0.1, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]))
MIRRORED = pose(rotation=np.diag([1.0, 1.0, -1.0]))


def changed(kind, **values):
    """Return the mechanism with values of its last link or joint, or of its only loop."""
    *others, last = getattr(MECHANISM, kind)
    return replace(MECHANISM, **{kind: (*others, replace(last, **values))})


def test_a_sound_mechanism_passes():
    """Nothing is said of it, nor of a rotation that was printed with four digits."""
    assert build(MECHANISM).nv == 2
    turned = np.round(pose(rotation=np.linalg.qr(np.arange(9.0).reshape(3, 3) + np.eye(3))[0]), 4)
    turned[:3, :3] *= np.sign(np.linalg.det(turned[:3, :3]))
    assert build(changed("joints", placement=turned)).nv == 2


@pytest.mark.parametrize(
    ("mechanism", "message"),
    [
        (changed("links", mass=NAN), r"'b'.*mass.*nan"),
        (changed("links", mass=-1.0), r"'b'.*mass.*-1"),
        (changed("links", center=(0.0, NAN, 0.0)), "'b': the centre of mass.*nan"),
        (changed("links", inertia=SOLID * NAN), r"'b'.*inertia.*\bnan\b.*\b2\b"),
        (changed("links", inertia=SOLID + np.eye(3, k=1) * 0.01), r"'b'.*inertia.*\b0\.01\b"),
        (changed("links", inertia=-SOLID), r"'b'.*inertia.*-0\.1"),
        (changed("links", inertia=np.zeros(3)), r"'b'.*inertia.*\(3,\)"),
        (changed("links", name="a"), r"link 'a'.*twice"),
        (changed("joints", name="to a"), "'to a'"),
        (changed("joints", placement=SHEARED), r"'to b'.*orientation"),
        (changed("joints", placement=MIRRORED), r"'to b'.*orientation"),
        (changed("joints", placement=pose((NAN, 0, 0))), r"'to b'.*origin.*\bnan\b"),
        (changed("joints", placement=np.eye(3)), r"'to b'.*pose.*\(3, 3\)"),
        (changed("joints", axis=(0.0, NAN, 1.0)), r"'to b'.*axis"),
        (changed("joints", damping=-1.0), r"'to b'.*damping.*-1"),
        (changed("joints", armature=NAN), r"'to b'.*armature.*\bnan\b"),
        (changed("joints", limits=Limits(1.0, -1.0)), r"'to b'.*lower.*\b1\b"),
        (changed("joints", limits=Limits(NAN)), r"'to b'.*lower.*\bnan\b"),
        (changed("loops", predecessor_pose=np.full((4, 4), NAN)), r"'weld'.*origin"),
        (changed("loops", successor_pose=SHEARED), r"'weld'.*orientation"),
        (changed("loops", stiffness=NAN), r"'weld'.*stiffness.*\bnan\b"),
        (changed("loops", name="to a"), "'to a'"),
        (changed("couplings", offset=NAN), r"'gear'.*\bnan\b"),
        (replace(MECHANISM, couplings=MECHANISM.couplings * 2), "coupling 'gear': the name is"),
    ],
)
def test_impossible_elements_are_refused_by_name(mechanism, message):
    """One fault, one sentence that names the element."""
    with pytest.raises(RobotDynamicsError, match=message):
        build(mechanism)


def test_all_faults_are_listed():
    """Every fault of a mechanism in one error."""
    spoilt = replace(changed("links", mass=-1.0), joints=changed("joints", damping=NAN).joints)
    with pytest.raises(RobotDynamicsError) as caught:
        build(spoilt)
    assert len(str(caught.value).splitlines()) == 2
