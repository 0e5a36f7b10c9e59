# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Wrenches that contacts can transmit, and grasps that cannot hold an object."""

from __future__ import annotations

import numpy as np
import pytest
from manipulation.hybrid.cases import NAMES, system_of, terms_of
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation
from support.mechanisms import random_pose
from support.papers import CASES

from robot_dynamics.errors import ArgumentError, RobotDynamicsError, UnknownNameError
from robot_dynamics.manipulation.hybrid import KINDS, Contact
from robot_dynamics.manipulation.hybrid.contacts import require_force_closure, wrench_map
from robot_dynamics.model import pose

pytestmark = pytest.mark.usefixtures("interpreted")

CORNERS = [(0.1, 0.0, 0.0), (-0.1, 0.0, 0.0), (0.0, 0.1, 0.05)]


# The second frame's z axis points along -x, and the first one's along x.
TURNS = [[0.0, np.pi / 2, 0.0], [0.0, -np.pi / 2, 0.0], [np.pi / 2, 0.0, 0.0]]


def grasp_of(kind, count, *, turned=False):
    turns = [Rotation.from_euler("xyz", turn if turned else np.zeros(3)) for turn in TURNS]
    return [
        Contact.of_kind(kind, pose(at, turn.as_matrix()))
        for at, turn in zip(CORNERS[:count], turns, strict=False)
    ]


@pytest.mark.parametrize(
    ("kind", "count", "turned"),
    [
        ("rigid", 1, False),
        ("soft finger", 2, True),
        ("frictional point", 3, False),
        ("pin", 2, False),
        ("line", 2, True),
    ],
)
def test_grasps_that_hold(kind, count, turned):
    """One rigid grasp, two opposing fingers, three points out of line span all wrenches."""
    require_force_closure(grasp_of(kind, count, turned=turned), 0.1)


def test_a_screw_that_is_left_free_is_named_with_its_pitch():
    """A nut on a thread of 10 mm/rad: the thread bears f_z together with -0.01 m f_z of moment."""
    bears = np.delete(np.eye(6), [2, 5], axis=1)
    nut = Contact.of_directions(
        np.column_stack([bears, [0.0, 0.0, -0.01, 0.0, 0.0, 1.0]]), pose((0.1, 0.0, 0.0))
    )
    with pytest.raises(
        RobotDynamicsError,
        match=r"the screw motion about \(0, 0, -?1\) through \(0.1, 0, 0\) m with a pitch of 0.01",
    ):
        require_force_closure([nut], 0.1)


def test_lines_along_one_axis_do_not_hold():
    """Two line contacts along one line leave the roll about it."""
    with pytest.raises(RobotDynamicsError, match=r"the rotation about \(-?1, 0, 0\)"):
        require_force_closure(grasp_of("line", 2), 0.1)


@pytest.mark.parametrize(
    ("kind", "count", "rank", "free"),
    [
        ("frictional point", 2, 5, r"the rotation about \(-?1, 0, 0\) through \(0, 0, 0\) m"),
        ("frictional point", 1, 3, "the rotation about"),
        ("frictionless point", 1, 1, "the translation along|the rotation about"),
        ("pin", 1, 5, r"the rotation about \(0, 0, -?1\) through \(0.1, 0, 0\) m"),
    ],
)
def test_grasps_that_do_not(kind, count, rank, free):
    """Uncontrollable motions are named: two points leave the rotation about their line."""
    with pytest.raises(RobotDynamicsError, match=free) as error:
        require_force_closure(grasp_of(kind, count), 0.1)
    assert f"spans {rank} of 6" in str(error.value)


def test_the_rank_does_not_depend_on_the_unit_of_length():
    """The same grasp a thousand times as large, and as small, is judged alike."""
    for factor in (1e-3, 1e3):
        large = [
            Contact.of_kind("frictional point", pose(np.multiply(factor, at))) for at in CORNERS
        ]
        require_force_closure(large, 0.1 * factor)
        with pytest.raises(RobotDynamicsError, match="spans 5 of 6"):
            require_force_closure(large[:2], 0.1 * factor)


@pytest.mark.parametrize("name", NAMES)
def test_wrench_maps_of_the_worked_cases(name):
    """W_S in world axes is the case's, rows angular first and moments last in each contact."""
    case = CASES[name]
    expected = np.array(case["output"]["W_S"])[[3, 4, 5, 0, 1, 2]]
    found = terms_of(case).W_S
    start = 0
    for contact in system_of(case).contacts:
        d = contact.directions.shape[1]
        moments = np.linalg.norm(contact.directions[3:], axis=0) == 0.0
        order = np.concatenate([np.flatnonzero(~moments), np.flatnonzero(moments)])
        own = found[:, start : start + d][:, order]
        assert_allclose(own, expected[:, start : start + d], atol=1e-11)
        start += d


def test_a_user_can_give_directions():
    """Any independent directions are taken; those that depend on one another are refused."""
    rng = np.random.default_rng(0)
    at, S = random_pose(rng), rng.normal(size=(6, 2))
    contact = Contact.of_directions(S, at)
    assert_allclose(np.linalg.norm(contact.directions, axis=0), 1.0)
    # A wrench (m, f) at the contact is (R m + p x R f, R f) at the object's origin.
    m, f = contact.directions[:3, 0], contact.directions[3:, 0]
    R, p = at[:3, :3], at[:3, 3]
    W = wrench_map([contact], np.zeros(3))
    assert_allclose(W[:, 0], [*(R @ m + np.cross(p, R @ f)), *(R @ f)], atol=1e-14)
    with pytest.raises(ArgumentError, match="independent columns"):
        Contact.of_directions(np.ones((6, 2)), at)


def test_unknown_kinds_are_named():
    """A kind that does not exist is answered with those that do."""
    with pytest.raises(UnknownNameError, match="soft finger"):
        Contact.of_kind("sticky", np.eye(4))
    assert set(KINDS) > {"rigid", "frictionless point"}
