# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Methods of robots on a GPU, whose kernels run on the processor here."""

from __future__ import annotations

import numpy as np
import pytest
from support.gpu_on_cpu import check_ptx, run_on_processor
from two_arms import BOX, two_arms

from robot_dynamics.compile import gpu
from robot_dynamics.compile.host import find_host
from robot_dynamics.dynamics.closed_loop import CLOSED_LOOP
from robot_dynamics.errors import RobotDynamicsError, UnknownNameError
from robot_dynamics.manipulation.assembly import closed_configuration
from robot_dynamics.model import JointElement, LinkElement, Mechanism
from robot_dynamics.robot import Robot
from robot_dynamics.robot.robot import _ON_GPU

pytestmark = pytest.mark.skipif(find_host() is None, reason="there is no llvmlite")


@pytest.fixture
def on_processor(monkeypatch):
    """Run functions for a GPU on the processor."""
    run_on_processor(monkeypatch)


@pytest.fixture(scope="module")
def states():
    """Two arms that hold a box, of variable parameters, and closed states of them."""
    system = two_arms()
    robot = Robot(system.model).replace(gravity=(0.3, -0.2, -9.0))
    rng, nv = np.random.default_rng(0), system.model.nv
    q = np.tile(closed_configuration(system, BOX), (5, 1))
    return robot, (q, *rng.normal(size=(2, 5, nv)))


@pytest.mark.parametrize("method", _ON_GPU)
def test_results_are_the_method_s(states, on_processor, method):
    """Results are those of the method, with the robot's own parameters as constants."""
    robot, inputs = states
    algorithm = _ON_GPU[method]
    inputs = inputs[: len(algorithm.inputs)]
    found = robot.on_gpu(method)(*inputs)
    expected = getattr(robot, method)(*inputs)
    several = isinstance(expected, tuple)
    for one, other in zip(
        found if several else [found], expected if several else [expected], strict=True
    ):
        scale = np.abs(other).max()
        np.testing.assert_allclose(one / scale, other / scale, atol=1e-11)
    assert algorithm.program(robot.model, constant=True).parameters == 0


def test_code_is_complete(states, tmp_path):
    """The code of closed loops, which call the arc tangent, needs nothing from outside."""
    check_ptx(gpu.ptx_of(CLOSED_LOOP.program(states[0].model, constant=True)), tmp_path)


def test_refused(states, on_processor):
    """Other names are listed, and forward dynamics needs inertia."""
    with pytest.raises(UnknownNameError, match="did you mean 'closed_loop'"):
        states[0].on_gpu("closed_loops")
    joint = JointElement("joint", "revolute", "base", "tip")
    empty = Mechanism("empty", (LinkElement("base"), LinkElement("tip")), (joint,))
    with pytest.raises(RobotDynamicsError, match="inertia"):
        Robot.from_mechanism(empty).on_gpu("tree_forward_dynamics")
