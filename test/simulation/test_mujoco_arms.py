# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Contacts of arms beside MuJoCo's velocities and matrix products."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

from robot_dynamics.compile.routine import new_record
from robot_dynamics.simulation.mujoco_arms import ArmFrames, MovingBodies, SeenArms, see_arms

mujoco = pytest.importorskip("mujoco")

BODIES = """
<mujoco>
  <worldbody>
    <body pos="0.1 0.2 0.3">
      <joint axis="1 2 3" pos="0.3 0 0"/>
      <geom size="0.1"/>
      <body name="tool" pos="0.2 -0.1 0"><joint axis="0 1 1"/><geom size="0.1"/></body>
    </body>
    <body name="object"><freejoint/><geom size="0.1" pos="0.05 0 0"/></body>
  </worldbody>
</mujoco>
"""


def poses(random, count):
    found = np.tile(np.eye(4), (count, 1, 1))
    found[:, :3, :3] = Rotation.random(count, random_state=random.integers(1000)).as_matrix()
    found[:, :3, 3] = random.normal(size=(count, 3))
    return found


def test_contacts_of_arms_agree_with_matrix_products():
    """Velocities are those of `mj_objectVelocity`; the first contact pushes, the second holds."""
    random = np.random.default_rng(5)
    model = mujoco.MjModel.from_xml_string(BODIES)
    data = mujoco.MjData(model)
    data.qpos[:2], data.qvel[:] = random.normal(size=2), random.normal(size=model.nv)
    data.qpos[2:5], data.qpos[5:] = (
        random.normal(size=3),
        Rotation.random(random_state=1).as_quat(),
    )
    mujoco.mj_forward(model, data)
    held, tool = model.body("object").id, model.body("tool").id
    fingers, contacts, wrenches = poses(random, 2), poses(random, 2), random.normal(size=(2, 6))
    seen = new_record(
        SeenArms, wrench=(2, 6), point=(2, 3), axes=(2, 3, 3), force=(2, 3), moment=(2, 3),
        slip=(2, 3), spin=2, gap=2, normal=(2, 3),
    )  # fmt: skip
    seen.wrench[:] = wrenches
    roots = model.body_rootid.astype(np.int64)
    bodies = MovingBodies(data.xpos, data.xmat, data.cvel, data.subtree_com, roots)
    frames = ArmFrames(held, np.array([tool] * 2), np.array([False, True]), fingers, contacts)
    see_arms(bodies, frames, seen)

    def moving(body, point):
        rates = np.zeros(6)
        mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, body, rates, 0)
        return rates[:3], rates[3:] + np.cross(rates[:3], point - data.xpos[body])

    R, T = (data.xmat[body].reshape(3, 3) for body in (held, tool))
    for i, (finger, contact) in enumerate(zip(fingers, contacts, strict=True)):
        point, axes = data.xpos[tool] + T @ finger[:3, 3], (R @ contact[:3, :3]).T
        (w, v), (w_tool, v_tool) = moving(held, point), moving(tool, point)
        place = R.T @ (point - data.xpos[held]) - contact[:3, 3]
        force, moment = wrenches[i, 3:], wrenches[i, :3] - np.cross(finger[:3, 3], wrenches[i, 3:])
        turn = finger[:3, :3].T if i == 1 else axes @ T
        for found, expected in (
            (seen.point, point),
            (seen.axes, axes),
            (seen.force, turn @ force),
            (seen.moment, turn @ moment),
            (seen.slip, axes @ (v - v_tool)),
            (seen.spin, axes[2] @ (w - w_tool)),
            (seen.gap, -(contact[:3, :3].T @ place)[2]),
            (seen.normal, axes @ T @ finger[:3, 2]),
        ):
            assert_allclose(found[i], expected, rtol=1e-12, atol=1e-13)
