# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Fixtures for the tests of dynamics: random trees, and four robots with their oracles."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest
from support.mechanisms import random_tree

from robot_dynamics.description.load import load_description
from robot_dynamics.model import build
from robot_dynamics.robot import Robot

# Joints of each type, on chains and on branches, one and six degrees of freedom below others.
TREES = {
    "revolute chain": (["revolute"] * 5, True),
    "mixed chain": (["revolute", "prismatic", "revolute", "prismatic", "revolute"], True),
    "mixed tree": (["revolute", "prismatic", "revolute", "revolute", "prismatic"] * 2, False),
    "floating base": (["floating", "revolute", "prismatic", "revolute"], True),
    "floating inside": (["revolute", "floating", "revolute", "floating", "prismatic"], False),
}


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture(params=TREES)
def tree(request, rng):
    """Return a mechanism and its model, with gravity in no special direction."""
    types, chain = TREES[request.param]
    mechanism = random_tree(rng, types, chain=chain)
    return mechanism, build(mechanism, gravity=(1.0, -2.0, -9.0))


@lru_cache
def real_robot(name):
    """Return one of four robots and Pinocchio's reading of the same file; skip without it."""
    from support.oracle import Pinocchio, robot_file

    path = robot_file(name)
    robot = Robot(build(load_description(path).mechanism))
    return robot, Pinocchio.of_urdf(path, robot.model)


@pytest.fixture(params=["panda", "ur5", "xarm7", "baxter"])
def real(request):
    return real_robot(request.param)
