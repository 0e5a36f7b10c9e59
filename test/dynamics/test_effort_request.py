# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Requests for efforts: weights, bounds and wanted forces, by name."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.actuated import motion
from support.mechanisms import two_arms

from robot_dynamics.dynamics.actuation import drives_of
from robot_dynamics.dynamics.effort_request import EffortRequest
from robot_dynamics.errors import ArgumentError, UnknownNameError
from robot_dynamics.model import JointElement, Limits, LinkElement, Mechanism, build, pose
from robot_dynamics.robot import Robot

EFFORTS = (10.0, np.inf, 0.0, 400.0)


@pytest.fixture
def chain():
    """Return drives of three hinges and a slide, with a limit each where there is one."""
    kinds = ("revolute", "revolute", "revolute", "prismatic")
    links = [
        LinkElement("base"),
        *(LinkElement(f"l{i}", 1.0, inertia=np.eye(3)) for i in range(4)),
    ]
    joints = tuple(
        JointElement(
            f"j{i}", kind, links[i].name, links[i + 1].name, pose((0.4, 0, 0)),
            limits=Limits(effort=effort),
        )
        for i, (kind, effort) in enumerate(zip(kinds, EFFORTS, strict=True))
    )  # fmt: skip
    return build(Mechanism("chain", tuple(links), joints))


def scales(model, weights=None, length=0.5):
    drives = drives_of(model, np.zeros((model.nv, 0)), length)
    return EffortRequest(weights=weights).scales(model, drives, length)


def test_default_weights_are_of_the_limits(chain):
    """1 / limit^2; drives without a limit, or with none worth the name, count as the strongest.

    The strongest is the slide's 400 N, which is 200 N m at half a metre.
    """
    assert_allclose(scales(chain), [10.0, 200.0, 200.0, 400.0])


def test_without_any_limit_torques_count_at_the_length(chain):
    """Then a torque over the length is as dear as a force."""
    bodies = tuple(replace(b, joint=replace(b.joint, limits=Limits())) for b in chain.bodies)
    assert_allclose(scales(replace(chain, bodies=bodies)), [0.5, 0.5, 0.5, 1.0])


def test_weights_of_the_user(chain):
    """One for each drive, or some by name."""
    assert_allclose(scales(chain, [1.0, 4.0, 16.0, 0.25]), [1.0, 0.5, 0.25, 2.0])
    assert_allclose(scales(chain, {"j1": 4.0}), [10.0, 0.5, 200.0, 400.0])


@pytest.mark.parametrize("weights", [[1.0], [1.0, 1.0, 0.0, 1.0], [1.0, 1.0, np.nan, 1.0]])
def test_impossible_weights_are_refused(chain, weights):
    """A weight that is missing or not positive is refused."""
    with pytest.raises(ArgumentError, match=r"weights.*\b4\b"):
        scales(chain, weights)


def test_c13_weights_shift_the_effort(rng):
    """Row C13: a drive whose effort is made dear does less, and the motion is the same."""
    cell = two_arms()
    robot = Robot(cell.system.model)
    q, qd, qdd = motion(robot, rng, cell.start)
    even = robot.closed_loop_inverse_dynamics(q, qd, qdd)
    busiest = even.drives[int(np.argmax(np.abs(even.efforts)))]
    dear = {busiest: 100.0 / even.scales[0] ** 2}
    shifted = robot.closed_loop_inverse_dynamics(q, qd, qdd, weights=dear)
    assert abs(shifted.by_name[busiest]) < 0.5 * abs(even.by_name[busiest])
    assert_allclose(
        robot.forward_dynamics(q, qd, shifted.tau), qdd, atol=1e-10 * np.max(np.abs(qdd))
    )
    # What is least is orthogonal to the null space in its metric.
    assert_allclose(shifted.null_space.T @ (shifted.efforts / shifted.scales**2), 0.0, atol=1e-9)


def test_c13_names_that_are_not_there():
    """Row C13: whatever is asked by a wrong name is refused, with the names that exist."""
    cell = two_arms()
    robot = Robot(cell.system.model)
    for asked, words in (
        ({"weights": {"arm0_joint": 1.0}}, "'arm0_joint'"),
        ({"limits": {"elbow": 1.0}}, r"drive 'elbow'"),
        ({"forces": {"grasp": 1.0}}, r"constraint 'grasp'"),
        ({"prefer": {"grasp": 1.0}}, r"constraint 'grasp'"),
        ({"friction": {"grasp": 1.0}}, r"loop joint 'grasp'"),
        ({"drives": ["elbow"]}, r"joint or drive 'elbow'"),
    ):
        with pytest.raises(UnknownNameError, match=words):
            robot.gravity_compensation(cell.start, **asked)
    name = robot.gravity_compensation(cell.start).drives[0]
    with pytest.raises(ArgumentError, match=r"\(1\.0, 0\.0\)"):
        robot.gravity_compensation(cell.start, limits={name: (1.0, 0.0)})
    constraint = f"{robot.model.loops[0].name}.z"
    with pytest.raises(ArgumentError, match="wanted forces"):
        robot.gravity_compensation(cell.start, prefer={constraint: np.inf})


def test_c13_bounds_are_needed_only_where_they_bind(monkeypatch):
    """Row C13: with limits that the least efforts obey no solver is asked."""
    cell = two_arms()
    robot = Robot(cell.system.model)

    def refuse(*_):
        raise AssertionError("a solver was asked")

    monkeypatch.setattr("robot_dynamics.dynamics.distribution.nearest_within", refuse)
    free = robot.gravity_compensation(cell.start)
    largest = float(np.max(np.abs(free.efforts)))
    limits = dict.fromkeys(free.drives, 1.01 * largest)
    bounded = robot.gravity_compensation(cell.start, limits=limits)
    assert_allclose(bounded.efforts, free.efforts, atol=0.0)
    with pytest.raises(AssertionError, match="a solver was asked"):
        robot.gravity_compensation(cell.start, limits=dict.fromkeys(free.drives, 0.9 * largest))


def test_c13_limits_of_the_model():
    """Row C13: `beyond` tells drives above the model's limits, `limits=True` keeps them."""
    cell = two_arms()
    free = Robot(cell.system.model).gravity_compensation(cell.start)
    busiest = free.drives[int(np.argmax(np.abs(free.efforts)))]
    bodies = tuple(
        replace(
            b,
            joint=replace(b.joint, limits=Limits(effort=0.9 * abs(free.by_name[busiest]))),
        )
        if b.joint.name == busiest
        else b
        for b in cell.system.model.bodies
    )
    robot = Robot(replace(cell.system.model, bodies=bodies))
    even = np.ones(14)
    assert robot.gravity_compensation(cell.start, weights=even).beyond == (busiest,)
    kept = robot.gravity_compensation(cell.start, weights=even, limits=True)
    assert kept.beyond == ()
    assert kept.held == (f"the effort of {busiest!r}",)
