# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Stated rows of the matrix of edges: wrong payloads, false joint data, bad wrist sensors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.edges import Outcome, edges, least_load, outcome, summary

from robot_dynamics.app.scenarios.scenario import load_scenario

#: Rows by name, with their verdict and the longest time until detection [ms].
ROWS = {
    "lift_box, engine, mass x0.5": ("stopped", 80),
    "tray, engine, mass x2": ("stopped", 90),
    "lift_box, engine, mass x2": ("stopped", 60),
    "lift_box, engine, centre +5 cm in x": ("good", None),
    "lift_box, engine, centre +10 cm in x": ("stopped", 30),
    "lift_box, engine, centre -10 cm in y": ("stopped", 90),
    "tray, engine, centre +10 cm in x": ("stopped", 30),
    "lift_box, mujoco, mass x2": ("stopped", 60),
    "lift_box, mujoco, centre -10 cm in x": ("stopped", 40),
    "lift_box_panda, engine, centre -10 cm in x": ("stopped", 40),
    "lift_box_panda, mujoco, centre +5 cm in x": ("stopped", 100),
    "lift_box, engine, velocity_sign, one arm, in motion": ("stopped", 30),
    "lift_box, engine, velocity_sign, all arms, before the start": ("stopped", 60),
    "lift_box, engine, velocity_degrees, all arms, before the start": ("stopped", 60),
    "lift_box, engine, velocity_degrees, one arm, in motion": ("stopped", 2),
    "lift_box_panda, engine, velocity_degrees, one arm, in the ramp": ("stopped", 40),
    "lift_box, engine, velocity_zero, one arm, in motion": ("stopped", 50),
    "lift_box, engine, velocity_zero, all arms, before the start": ("stopped", 300),
    "lift_box, engine, late_joints, one arm, in motion": ("stopped", 2),
    "two_ur5, engine, late_joints, all arms, in the ramp": ("stopped", 340),
    "lift_box, engine, stuck_sensors, one arm, in motion": ("stopped", 30),
    "lift_box_panda, engine, stuck_sensors, all arms, in motion": ("stopped", 40),
    "lift_box, engine, swapped_joints, all arms, before the start": ("refused", 0),
    "lift_box, engine, swapped_joints, one arm, in motion": ("stopped", 2),
    "lift_box, engine, position_degrees, all arms, in motion": ("stopped", 2),
    "lift_box, engine, position_degrees, one arm, before the start": ("refused", 0),
    "lift_box, engine, position_jump, one arm, in the ramp": ("stopped", 2),
    "lift_box, engine, wrench_tared, one arm, in motion": ("stopped", 100),
    "lift_box, engine, wrench_inverted, one arm, in motion": ("stopped", 40),
    "lift_box, engine, force bias 40 N, all arms, before the start": ("stopped", 70),
    "lift_box, engine, velocity_sign, all arms, in motion, drives hold": ("stopped", 20),
    "lift_box, engine, position_jump for 0.2 s, one arm, in motion, drives hold": ("stopped", 2),
    "lift_box, engine, no_numbers for 0.2 s, all arms, in motion, drives hold": ("stopped", 2),
    "lift_box, engine, stuck_sensors, all arms, in motion, drives hold": ("stopped", 20),
    "lift_box_panda, engine, no_numbers, all arms, in motion, drives hold": ("stopped", 2),
}
EDGES = {edge.name: edge for edge in edges()}
#: All others of one cell, in the long run.
OTHERS = [name for name in EDGES if name.startswith("lift_box, ") and name not in ROWS]


@pytest.mark.parametrize("name", ROWS)
def test_a_stated_edge_does_no_harm(name):
    """It ends as stated and in time, with its cause; no joint is too fast, the object stays."""
    verdict, latest = ROWS[name]
    found = outcome(EDGES[name])
    assert not found.broken, found
    assert found.verdict == verdict
    assert latest is None or 1e3 * found.detection_s <= latest + 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_other_edges_of_the_box_do_no_harm(name):
    """All errors of one arm or both, before the start, in the ramp and in motion."""
    found = outcome(EDGES[name])
    assert not found.broken, found


GOOD = Outcome("a", 0.9, "stopped", "why", True, 0.5, 1.0, 0.03, 2.0, 0.0, False, 1.0)


@pytest.mark.parametrize(
    ("change", "broken"),
    [
        ({}, []),
        ({"verdict": "failed"}, ["failed"]),
        ({"right": False}, ["cause"]),
        ({"right": False, "verdict": "good"}, []),
        ({"speed": 1.001}, ["speed"]),
        ({"speed": np.nan}, ["speed"]),
        ({"way_m": 0.0301}, ["way"]),
        ({"given_up": True}, ["given up"]),
        ({"load": 0.901, "way_m": 9.0, "speed": 9.0, "detection_s": 0.02}, []),
        ({"load": 0.901, "detection_s": 0.0201}, ["late"]),
        ({"load": 0.901, "detection_s": None}, ["late"]),
    ],
)
def test_rules(change, broken):
    """A row breaks a rule beyond its bound alone."""
    assert replace(GOOD, **change).broken == broken


def test_whether_a_hold_is_feasible():
    """A heavier box takes more of the limits; without friction nothing holds a tray."""
    loads = [
        least_load(load_scenario("lift_box", [f"plant.object_mass_scale={scale}"]))
        for scale in (1e-6, 1.0, 2.0, 6.0)
    ]
    assert loads == sorted(loads)
    # Convex in the weight, from the arms' own on.
    assert loads[1] - loads[0] <= loads[2] - loads[1] + 1e-9
    assert loads[2] < 0.9 < loads[3]
    slippery = [f"cell.arms.{i}.contact.friction=0" for i in range(2)]
    slippery += [f"cell.arms.{i}.contact.kind=frictionless_point" for i in range(2)]
    assert least_load(load_scenario("tray", slippery)) == np.inf


def test_the_worst_of_an_error_is_in_the_summary():
    """Of all directions and onsets; broken rules are named."""
    wanted = [
        e for e in EDGES.values() if e.cell == "tray" and e.engine == "engine" and not e.arms
    ]
    rows = [(e, GOOD) for e in wanted]
    rows[-2] = wanted[-2], replace(GOOD, way_m=0.05)
    lines = summary(rows).splitlines()
    assert lines[0] == "### Payloads"
    assert lines[2] == "| error | tray |"
    assert "| centre off by 5 cm | stopped, 500 ms, 100 %, 30 mm |" in lines
    assert "| centre off by 10 cm | **stopped, 500 ms, 100 %, 50 mm; breaks: way** |" in lines
