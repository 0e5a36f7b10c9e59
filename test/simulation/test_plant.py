# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What every plant offers, and that the plants there are offer it."""

from __future__ import annotations

import inspect

import pytest

from robot_dynamics.simulation.engine_plant import EnginePlant
from robot_dynamics.simulation.mujoco_plant import MujocoPlant
from robot_dynamics.simulation.plant import Measurement, Plant, Truth


@pytest.mark.parametrize("kind", [EnginePlant, MujocoPlant])
def test_plants_have_the_methods_of_the_protocol(kind):
    """Each plant has the methods of `Plant`, with the same parameters."""
    methods = [name for name, value in vars(Plant).items() if inspect.isfunction(value)]
    public = [name for name in methods if not name.startswith("_")]
    assert sorted(public) == ["contacts", "passive_joints", "reset", "state_hash", "step", "truth"]
    for name in public:
        ours, theirs = (inspect.signature(getattr(cls, name)) for cls in (kind, Plant))
        assert list(ours.parameters) == list(theirs.parameters)


def test_a_controller_gets_measurements_only():
    """What is measured has nothing in it of the object's true state."""
    assert Measurement._fields == ("tick", "time", "q", "qd", "wrenches")
    assert not set(Measurement._fields) & set(Truth._fields)
