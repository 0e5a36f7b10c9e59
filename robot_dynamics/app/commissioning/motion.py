# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Small motions of free arms, arm by arm, in which drives, links and wrist sensors show.

Each arm leaves home, turns back through it to another posture, returns, and nods quickly, which
shows the delay. Every joint moves in both directions, which tells friction from weight. In the two
postures the arm rests, and its wrist sensor measures the weight of its tool alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from robot_dynamics.app.identification.excitation import as_task, move_phase, with_free_arms
from robot_dynamics.app.identification.move_planner import FreeWay
from robot_dynamics.app.scenarios.cell import build_system
from robot_dynamics.app.scenarios.scenario import Scenario
from robot_dynamics.arrays import Array
from robot_dynamics.errors import ArgumentError
from robot_dynamics.manipulation.system import GraspSystem

# Largest displacements from home of joints that turn [rad] and slide [m]; the last three turn the
# tool by more than 20 degrees about two axes, by which the wrist sensors are told.
_TURN, _SLIDE, _TOOL_TURN, _TOOL_JOINTS = 0.2, 0.05, 0.35, 3
_NOD = 0.3  # of these displacements
_MOVE_S, _NOD_S, _REST_S = 0.7, 0.2, 0.7  # durations from home and back, and of rests there
_TURNS = 3  # moves before the nod
_PEAK = 1.875  # peak over mean speed of a quintic profile
_FASTEST = 0.3  # share of the velocity limits
_SCALES = (1.0, 0.6, 0.35)  # of the displacements, the first without a collision
_WAY = 0.03  # rad or m: between positions that are checked for collisions


def commissioning_task(scenario: Scenario) -> dict[str, Any]:
    """Return the changes of a scenario whose task is the motion.

    Args:
        scenario: The scenario of the cell, see `as_task`.

    Raises:
        ArgumentError: If an arm has no room around home.
    """
    given, scenario = scenario, with_free_arms(scenario)
    system = build_system(scenario)
    free = FreeWay(scenario, system)
    phases: list[dict[str, Any]] = []
    for i, arm in enumerate(system.arms):
        own = system.arm_slices[i]
        ways = (ends for scale in _SCALES for ends in _ends(scenario, system, i, scale))
        ends = next((one for one in ways if free(_on_way(scenario.home, own, one))), None)
        if ends is None:
            raise ArgumentError(
                f"{scenario.name}: arm {arm.name!r} cannot move by "
                f"{_SCALES[-1] * _TURN:.2g} rad from home without a collision; expected more room "
                "around `home`."
            )
        speeds = system.limits["velocity"][own]
        for k, (start, end) in enumerate(zip([scenario.home[own], *ends], ends, strict=False)):
            duration = _NOD_S if k >= _TURNS else _MOVE_S
            share = float(np.max(_PEAK * np.abs(end - start) / (duration * speeds)))
            phases.append(move_phase(arm.name, end, min(share, _FASTEST)))
            if k < _TURNS - 1:
                phases.append({"wait": {"duration_s": _REST_S}})
    return as_task(given, phases)


def _ends(
    scenario: Scenario, system: GraspSystem, arm: int, scale: float
) -> Iterator[list[Array]]:
    """Yield the ends (n,) of an arm's moves, with either sign of the displacements."""
    own = system.arm_slices[arm]
    home, n = scenario.home[own], own.stop - own.start
    margin = scenario.safety.position_margin
    room = np.minimum(
        home - system.limits["lower"][own] - margin, system.limits["upper"][own] - margin - home
    )
    slides = np.array([unit == "m" for unit in system.joint_units[own]])
    size = np.where(np.arange(n) < n - _TOOL_JOINTS, _TURN, _TOOL_TURN)
    size = scale * np.where(slides, _SLIDE, size)
    size = np.minimum(size, np.maximum(room, 0.0))
    # Signs of which each half differs: joints move against each other in two ways.
    first = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    second = np.where(np.arange(n) // 2 % 2 == 0, 1.0, -1.0)
    for sign in (1.0, -1.0):
        a, b = sign * first * size, sign * second * size
        yield [home + a, home - b, home, home + _NOD * a, home]


def _on_way(home: Array, own: slice, ends: list[Array]) -> Array:
    """Return positions of all arm joints (N, na) on an arm's way from end to end."""
    parts = []
    for start, end in zip([home[own], *ends], ends, strict=False):
        count = max(2, round(float(np.abs(end - start).max()) / _WAY))
        part = np.tile(home, (count, 1))
        part[:, own] = np.linspace(start, end, count)
        parts.append(part)
    return np.concatenate(parts)
