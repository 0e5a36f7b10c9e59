# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The compiled loop over MuJoCo's steps beside the same loop in Python."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from robot_dynamics.compile.routine import Call, Vector, routine
from robot_dynamics.simulation.mujoco_steps import LibraryCall, advance

mujoco = pytest.importorskip("mujoco")

PENDULUM = """
<mujoco>
  <option timestep="0.01"/>
  <worldbody>
    <body>
      <joint name="pin" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 0.5 0 0.1" size="0.02"/>
    </body>
  </worldbody>
</mujoco>
"""


@routine
def drag(speed: Vector, force: Vector) -> None:
    """Write a force against a motion."""
    force[0] = 0.1 - 0.3 * speed[0]


@routine
def count(times: Vector) -> None:
    """Count the calls."""
    times[0] += 1.0


def compiled(model: Any, data: Any, after: Call, steps: int) -> None:
    step, forward = (LibraryCall(mujoco, name, model, data) for name in ("mj_step", "mj_forward"))
    before = drag.bind(data.qvel, data.qfrc_applied)
    advance.bind(before, step, step, after, forward, steps)()


def in_python(model: Any, data: Any, steps: int) -> None:
    for _ in range(steps):
        data.qfrc_applied[0] = 0.1 - 0.3 * data.qvel[0]
        mujoco.mj_step(model, data)
    mujoco.mj_forward(model, data)


@pytest.mark.parametrize("found", [True, False], ids=["address", "no address"])
def test_the_loop_equals_that_of_python(monkeypatch: pytest.MonkeyPatch, found: bool) -> None:
    """With functions at their address, and called by Python."""
    if not found:
        monkeypatch.delattr(ctypes, "CDLL")
    model = mujoco.MjModel.from_xml_string(PENDULUM)
    one, other, times = mujoco.MjData(model), mujoco.MjData(model), np.zeros(1)
    assert hasattr(LibraryCall(mujoco, "mj_step", model, one), "entry") is found
    compiled(model, one, count.bind(times), 50)
    in_python(model, other, 50)
    assert times[0] == 50.0
    assert abs(one.qpos[0]) > 0.1
    np.testing.assert_allclose(one.qpos, other.qpos, rtol=1e-12)
    np.testing.assert_allclose(one.xpos, other.xpos, rtol=1e-12)  # evaluated at the end


def test_an_error_after_a_step_is_raised() -> None:
    """Compiled code has no exceptions of its own."""
    model = mujoco.MjModel.from_xml_string(PENDULUM)

    def fail() -> None:
        raise ArithmeticError("after a step")

    with pytest.raises(ArithmeticError, match="after a step"):
        compiled(model, mujoco.MjData(model), fail, 3)
