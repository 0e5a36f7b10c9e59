# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Sampled control decouples motion, contact force and internal force, on the closed-loop engine.

Steps of 10 mm, 10 N and 10 N, smoothed over 50 ms. What a step is not about moves by less than
0.05 mm, and by less than 0.05 N in the mean over every control period; and it moves by half if the
period is half. Within a period forces stray by more, as the arms move on under a torque that is
held, and no torque that is held does better: that is tested. It halves as well, and at 1 ms it is
below 0.05 N at every instant. The figures are in docs/hybrid_control.md.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import linprog
from scipy.spatial.transform import Rotation
from support.hybrid_plant import HybridPlant
from support.hybrid_systems import GRASPS, SURFACES
from support.sampled_decoupling import (
    BEGIN,
    PLANES,
    STEP,
    cell_of,
    controller_of,
    holds,
    off_plan,
    run,
)
from support.sampled_decoupling import FORCE as FORCES

from robot_dynamics.control.hybrid.settings import HybridSettings
from robot_dynamics.control.touch_settings import ContactForceSettings

LENGTH, FORCE = 5e-5, 0.05
# What is strayed at most, of the least that a torque which is held can do: the force servos, who
# see forces at the end of their strays, and the second order add a part; and a little of forces
# that hardly stray [N].
AT_BEST, LITTLE = 1.15, 0.005
# Ratios of deviations between periods: half, with what the next order adds or takes.
HALVES = (1.6, 5.0)


def check(count, kind, surfaces, joints):
    """Assert the bars for all steps."""
    for what in ("motion", "contact", "internal") if surfaces else ("motion", "internal"):
        slow, fast = (run(count, kind, surfaces, joints, what, T) for T in (2e-3, 1e-3))
        assert slow.position < LENGTH
        if what != "contact":
            assert slow.mean_contact < FORCE
            assert fast.contact < FORCE
            assert slow.contact < AT_BEST * slow.half_contact + LITTLE
        if what != "internal":
            assert slow.mean_force < FORCE
            assert fast.force < FORCE
            assert slow.force < AT_BEST * slow.half_force + LITTLE
        if what == "motion":
            assert HALVES[0] < slow.force / fast.force < HALVES[1]
            assert HALVES[0] < slow.position / fast.position < HALVES[1]
            if surfaces:
                assert HALVES[0] < slow.contact / fast.contact < HALVES[1]


def held(plant, control, state, torque, rows):
    """Return what forces are off the plan and how the object's twist changes, under a torque."""
    plant.q, plant.qd = (value.copy() for value in state)
    plant.accelerate(torque)
    strayed = [off_plan(plant, control, rows[0])]
    for row in rows[1:]:
        plant.advance(torque)
        strayed.append(off_plan(plant, control, row))
    return np.array(strayed), plant.qd[plant.system.object_v] - state[1][plant.system.object_v]


def test_no_torque_that_is_held_does_better():
    """Where forces stray most, half of what they change by is the least of all constant torques.

    Of three arms of six joints, whose motion is that of the object: the least largest deviation
    over all torques with which the object's velocity changes by as much, as a linear programme.
    """
    period = 2e-3
    cell = cell_of(3, 6)
    plant = HybridPlant(cell, "rigid", PLANES[:1], STEP)
    control = controller_of(plant, cell, "motion", period)
    state, worst, largest = (plant.q, plant.qd), None, 0.0
    for hold in holds(plant, control, period):
        half = 0.5 * np.ptp(hold.strayed, axis=0).max()
        if hold.time > BEGIN - 0.02:
            largest = max(largest, np.abs(hold.strayed).max())
            if worst is None or half > worst[0]:
                worst = half, hold, tuple(value.copy() for value in state)
        state = plant.q, plant.qd
    half, hold, state = worst
    rows = control.reference.rows(hold.time + STEP * np.arange(len(hold.strayed)))
    n = len(hold.torque)

    def under(torque):
        strayed, change = held(plant, control, state, torque, rows)
        return strayed.ravel(), change

    strayed, change = under(hold.torque)
    by = [under(hold.torque + 1e-3 * unit) for unit in np.eye(n)]  # all but linear in torques
    P = np.column_stack([1e3 * (b[0] - strayed) for b in by])
    moves = np.column_stack([1e3 * (b[1] - change) for b in by])
    ones = np.ones((len(strayed), 1))
    least = linprog(
        [*np.zeros(n), 1.0],
        A_ub=np.block([[P, -ones], [-P, -ones]]), b_ub=[*-strayed, *strayed],
        A_eq=np.column_stack([moves, np.zeros(6)]), b_eq=np.zeros(6),
        bounds=[(None, None)] * n + [(0.0, None)],
    )  # fmt: skip
    again, _ = under(hold.torque + least.x[:n])
    assert np.abs(again).max() == pytest.approx(least.fun, rel=1e-3)
    # What other forces are meanwhile, moments among them, changes the path by a little.
    assert least.fun == pytest.approx(half, rel=0.05)
    assert largest < AT_BEST * least.fun


@pytest.mark.parametrize(
    ("count", "kind", "surfaces", "joints"),
    [
        (2, "soft finger", 1, 6),
        pytest.param(3, "rigid", 2, 7, marks=pytest.mark.slow),
        pytest.param(3, "frictional point", 0, 6, marks=pytest.mark.slow),
    ],
)
def test_at_the_instant_it_is_exact(count, kind, surfaces, joints):
    """The engine's accelerations and forces under a controller's torque are those wanted.

    To 1e-9 of what moves and pushes: the engine knows loop joints, and nothing of this law.
    """
    rng = np.random.default_rng(3)
    cell = cell_of(count, joints)
    plant, system = HybridPlant(cell, kind, PLANES[:surfaces]), cell.system
    control = controller_of(
        plant, cell, "internal", 2e-3, HybridSettings(ahead=False, object_pose="sensor"),
        contact_force=ContactForceSettings(damping=0.0),
    )  # fmt: skip
    plant.moving(rng.standard_normal(6), rng)
    R, body = Rotation.from_quat(plant.q[system.object_q][3:]), plant.qd[system.object_v]
    twist = np.concatenate([R.apply(body[:3]), R.apply(body[3:])])
    control.sense(pose=plant.q[system.object_q], twist=twist)
    control.start(*plant.joints)
    step = control.update(control.ramp_ticks, *plant.joints)
    qdd = plant.accelerate(step.torque)
    # The centre of mass, from the spatial acceleration of the origin (2.50).
    of_origin, (omega, v) = qdd[system.object_v], (body[:3], body[3:])
    c = np.asarray(control.hybrid_system.held.center)
    a = of_origin[3:] + np.cross(omega, v) + np.cross(of_origin[:3], c)
    a += np.cross(omega, np.cross(omega, c))
    wanted = step.memory[control.layout.memory["acceleration"]]
    moved, pushed = np.abs(qdd).max(), np.abs(plant.contact_forces).max()
    assert_allclose([*of_origin[:3], *a], wanted, rtol=0, atol=1e-9 * moved)
    assert_allclose(plant.surface_forces, [FORCES] * surfaces, rtol=0, atol=1e-9 * pushed)
    inside = control.distribution.internal_force(plant.contact_forces)
    wished = step.reference[control.layout.reference["internal"]]
    assert_allclose(inside, wished, rtol=0, atol=1e-9 * pushed)
    assert moved > 10.0


def test_steps_disturb_nothing_else():
    """Two arms of seven joints that hold rigidly and slide on a plane."""
    check(2, "rigid", 1, 7)


@pytest.mark.slow
@pytest.mark.parametrize("joints", [6, 7])
@pytest.mark.parametrize("surfaces", SURFACES)
@pytest.mark.parametrize(("count", "kind"), GRASPS)
def test_steps_disturb_nothing_else_anywhere(count, kind, surfaces, joints):
    """The same in every combination of arms, contacts and planes."""
    check(count, kind, SURFACES[surfaces], joints)
