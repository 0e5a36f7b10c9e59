# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The law of the shipped scenario, and states off its path, that tests of it share."""

from __future__ import annotations

from functools import cache

import numpy as np

from robot_dynamics.app.scenarios.cell import build_system
from robot_dynamics.app.scenarios.laws import make_law
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.manipulation.assembly import closed_configuration
from robot_dynamics.reproductions.joint_space import JointSpaceModel

#: Evaluated at the instant, with nothing but the model.
LITERAL = (
    "control.command_delay_periods=0",
    "control.jointed.lead_periods=0",
    "control.friction.share=0",
    "control.start.ramp_s=0.01",
    "reference.force=[{time_s: 0.0, wrench: [5.0, -3.0, 8.0], duration_s: 0.05}]",
)


@cache
def folding(*overrides):
    """Return a law of the scenario, and where its arms are at the start."""
    scenario = load_scenario("fold", overrides)
    system = build_system(scenario)
    start = closed_configuration(system, scenario.object_pose)[system.q_index]
    return make_law(scenario, system), start


def terms_of(law, q, qd):
    """Return the law's model at a state."""
    return JointSpaceModel(law.jointed).terms(q, qd)


def moving(law, start, seed=0, size=0.1):
    """Return positions and velocities a little off the start, the object's joint closed."""
    terms = terms_of(law, start, 0.0 * start)
    qd = size * np.random.default_rng(seed).normal(size=len(start))
    return start, qd - np.linalg.pinv(terms.A) @ (terms.A @ qd)
