# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Joints that move nothing are found, all of them and no others."""

from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.description.motion_checks import joints_without_mass
from robot_dynamics.model import JointElement, LinkElement, Mechanism, build, pose
from robot_dynamics.model.moved_inertia import joints_without_inertia

SOLID = np.diag([0.01, 0.02, 0.02])
POINT = np.zeros((3, 3))
Z, X = (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)


def found(*chain):
    """Return the joints found in a chain of (joint type, axis, mass, inertia)."""
    links, joints = [LinkElement("l0")], []
    for i, (kind, axis, mass, inertia) in enumerate(chain, 1):
        links.append(LinkElement(f"l{i}", mass, (0.0, 0.0, 0.0), inertia))
        at = pose((0.0, 0.0, 0.3))
        joints.append(JointElement(f"j{i}", kind, f"l{i - 1}", f"l{i}", at, axis))
    model = build(Mechanism("m", tuple(links), tuple(joints)))
    return [model.bodies[i].joint.name for i in joints_without_inertia(model)]


@pytest.mark.parametrize(
    ("chain", "expected"),
    [
        ([("revolute", Z, 1.0, SOLID)], []),
        ([("revolute", Z, 1.0, POINT)], ["j1"]),  # a point on the axis
        ([("prismatic", Z, 1.0, POINT)], []),
        ([("revolute", Z, 0.0, POINT), ("revolute", X, 1.0, SOLID)], []),
        ([("revolute", Z, 0.0, POINT), ("revolute", Z, 1.0, SOLID)], ["j1"]),  # in line
        ([("revolute", Z, 0.0, POINT), ("prismatic", Z, 1.0, POINT)], ["j1"]),
        ([("prismatic", X, 0.0, POINT), ("prismatic", X, 1.0, SOLID)], ["j1"]),
        ([("revolute", Z, 1.0, SOLID), ("revolute", X, 0.0, POINT)], ["j2"]),
        ([("floating", Z, 1.0, SOLID)], []),
        ([("floating", Z, 1.0, POINT)], ["j1"]),
        ([("floating", Z, 0.0, POINT), ("revolute", X, 1.0, SOLID)], ["j1"]),
        ([("revolute", Z, 0.0, POINT), ("revolute", X, 0.0, POINT)], ["j1", "j2"]),
        ([("revolute", Z, 1e-6, 1e-6 * SOLID)], []),  # small is not nothing
    ],
)
def test_exactly_the_joints_that_move_no_inertia_are_found(chain, expected):
    """A joint is found exactly if it can move while nothing with inertia does."""
    assert found(*chain) == expected


def test_joints_without_mass_beyond_them_are_found():
    """Fixed joints pass mass on; a rotor, mass or inertia anywhere beyond a joint is enough."""
    kinds = {"a": "fixed", "b": "revolute", "c": "revolute", "d": "fixed", "e": "revolute"}
    joints = [JointElement(f"to {n}", k, "root", n) for n, k in kinds.items()]
    joints[3] = replace(joints[3], parent="c")
    joints.append(JointElement("to f", "revolute", "e", "f", armature=0.1))
    joints.append(JointElement("to g", "revolute", "e", "g"))
    links = [LinkElement(n) for n in ("root", "a", "b", "c", "e", "f", "g")]
    links.append(LinkElement("d", 1.0))
    mechanism = Mechanism("m", tuple(links), tuple(joints))
    assert joints_without_mass(mechanism) == ("b", "e", "g")
    links[2] = LinkElement("b", inertia=SOLID)
    assert joints_without_mass(replace(mechanism, links=tuple(links))) == ("e", "g")


def test_masses_that_line_up_at_zero_are_not_taken_for_nothing():
    """A mass that is on the first axis at position zero, but not elsewhere, is enough."""
    chain = (("revolute", Z, 0.0, POINT), ("revolute", X, 1.0, SOLID))
    assert found(*chain) == []


def test_real_sizes_do_not_matter():
    """A mechanism scaled to a thousandth in length and mass is judged in the same way."""
    links = (LinkElement("a"), LinkElement("b", 1e-3, (1e-4, 0, 0), 1e-3 * 1e-6 * SOLID))
    joint = JointElement("j", "revolute", "a", "b", axis=Z)
    assert joints_without_inertia(build(Mechanism("m", links, (joint,)))) == ()
    bare = replace(links[1], center=(0.0, 0.0, 0.0), inertia=POINT)
    assert joints_without_inertia(build(Mechanism("m", (links[0], bare), (joint,)))) == (0,)
