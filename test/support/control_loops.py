# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Control loops whose samples come by messages, as those of the nodes do."""

from __future__ import annotations

from robot_dynamics.app.scenarios.laws import control_loop
from robot_dynamics.control.control_loop import Streams


def sampled_loop(scenario, clock=None, *, wrist_sensors=True, **streams):
    """Return the loop of a scenario, in lockstep by default; see `Streams`."""
    return control_loop(
        scenario, clock=clock, wrist_sensors=wrist_sensors, streams=Streams(**streams)
    )


def feed(loop, measured, stamp, now=None, q=None):
    """Bring a measurement to a loop; return whether it was newer than the last one."""
    now = stamp if now is None else now
    for arm, wrench in zip(loop.wrenches, measured.wrenches, strict=False):
        loop.take_wrench(arm, stamp, wrench, now)
    names = list(loop.system.joint_names)
    q = measured.q if q is None else q
    return loop.joint_states.take("joint_states", stamp, names, q, measured.qd, now)
