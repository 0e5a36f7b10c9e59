# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The names on the page for users of Pinocchio exist, ours and theirs."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import robot_dynamics as rd

PAGE = Path(__file__).resolve().parents[1] / "docs" / "coming_from_pinocchio.md"
URDF = "package://robot_dynamics/urdf/dual_arm.urdf"
CODE = re.compile(r"`([^`]+)`")


def rows():
    """Return Pinocchio's names and our expressions of each row of the tables."""
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line[:1] == "|"]
    cells = [line.split("|")[1:3] for line in lines if not line.startswith(("|---", "| Pin"))]
    return [tuple(CODE.findall(cell) for cell in pair) for pair in cells]


@pytest.fixture(scope="module")
def names():
    """Return the names for expressions of the page."""
    robot = rd.load(URDF)
    rng = np.random.default_rng(0)
    q, qd, qdd, tau = rng.uniform(-1.0, 1.0, (4, robot.model.nv))
    return {
        "rd": rd, "robot": robot, "path": URDF, "q": q, "qd": qd, "qdd": qdd, "tau": tau,
        "frame": "left_tool", "joint": "left_joint2", "wrench": np.arange(6.0), "T": np.eye(4),
    }  # fmt: skip


@pytest.mark.parametrize("expression", [code for _, ours in rows() for code in ours])
def test_our_names_do_something(names, expression):
    """Each expression of the table can be evaluated, and its numbers are finite."""
    result = eval(expression, dict(names))
    for part in result if isinstance(result, tuple) else (result,):
        if isinstance(part, (np.ndarray, float)) and np.asarray(part).dtype == float:
            assert np.all(np.isfinite(part))
    assert result is not None


def test_their_names_exist():
    """Every name of the first column is Pinocchio's, also names without a counterpart."""
    pin = pytest.importorskip("pinocchio", exc_type=ImportError)
    text = PAGE.read_text(encoding="utf-8").split("There is no counterpart")[1]
    for name in [code for theirs, _ in rows() for code in theirs] + CODE.findall(text):
        place = pin
        for part in name.split("."):
            if name != "fext":  # an argument
                assert hasattr(place, part), name
                place = getattr(place, part)


def test_the_page_is_read():
    """The tables are found, with at least a name of theirs and of ours in each row."""
    assert len(rows()) > 25
    assert all(theirs and ours for theirs, ours in rows())


def test_the_same_numbers(names):
    """The page's statements on order and axes are right: the numbers are Pinocchio's."""
    pytest.importorskip("pinocchio", exc_type=ImportError)
    import pinocchio as pin

    from robot_dynamics.resources import resolve_package_uri

    robot, q, qd = names["robot"], names["q"], names["qd"]
    model = pin.buildModelFromUrdf(str(resolve_package_uri(URDF)))
    data = model.createData()
    order = [model.idx_vs[model.getJointId(name)] for name in robot.model.joint_names]
    theirs_q, theirs_qd = np.empty((2, model.nv))
    theirs_q[order], theirs_qd[order] = q, qd
    pin.forwardKinematics(model, data, theirs_q, theirs_qd)
    frame = model.getFrameId("left_tool")
    for axes, where in (
        ("local", pin.LOCAL), ("world", pin.WORLD), ("aligned", pin.LOCAL_WORLD_ALIGNED)
    ):  # fmt: skip
        v = pin.getFrameVelocity(model, data, frame, where)
        expected = [*v.angular, *v.linear]
        np.testing.assert_allclose(robot.velocity("left_tool", q, qd, axes), expected, atol=1e-12)
    kinetic, potential = robot.energies(q, qd)
    assert kinetic == pytest.approx(pin.computeKineticEnergy(model, data, theirs_q, theirs_qd))
    assert potential == pytest.approx(pin.computePotentialEnergy(model, data, theirs_q))
    pin.computeCentroidalMomentum(model, data, theirs_q, theirs_qd)
    h, c = robot.momentum(q, qd), robot.center_of_mass(q)
    about_c = h[:3] - np.cross(c, h[3:])
    np.testing.assert_allclose([*data.hg.angular, *data.hg.linear], [*about_c, *h[3:]], atol=1e-10)


@pytest.mark.parametrize(
    ("axis", "directions"),
    [
        ((0, 0, 1), ((1, 0, 0), (0, 1, 0))),
        ((1, 0, 0), ((0, 1, 0), (0, 0, 1))),
        ((0, 1, 0), ((1, 0, 0), (0, 0, -1))),
        ((0, 0, -1), ((1, 0, 0), (0, -1, 0))),
    ],
)
def test_planar_joints_obey_their_axis(axis, directions):
    """Turns about the axis and moves as the page of joint types says; Pinocchio's is always z."""
    pin = pytest.importorskip("pinocchio", exc_type=ImportError)
    text = (
        '<robot name="cart"><link name="floor"/><link name="cart"><inertial><mass value="2"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="move" type="planar"><parent link="floor"/><child link="cart"/>'
        f'<axis xyz="{axis[0]} {axis[1]} {axis[2]}"/></joint></robot>'
    )
    robot = rd.load(text)
    J = robot.jacobian("cart", np.zeros(3), "aligned")
    np.testing.assert_allclose(J[:3, 0], axis, atol=1e-14)
    np.testing.assert_allclose(J[3:, 1:].T, directions, atol=1e-14)
    theirs = pin.buildModelFromXML(text)
    data = theirs.createData()
    pin.computeJointJacobians(theirs, data, pin.neutral(theirs))
    there = pin.getJointJacobian(theirs, data, 1, pin.LOCAL_WORLD_ALIGNED)
    np.testing.assert_allclose(there[:3], np.diag([1.0, 1.0, 0.0]), atol=1e-14)
    np.testing.assert_allclose(there[3:, 2], [0, 0, 1], atol=1e-14)
