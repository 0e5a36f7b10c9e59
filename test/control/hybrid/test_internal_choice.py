# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The internal force is changed where contacts or drives need it, and only there."""

from __future__ import annotations

import numpy as np
import pytest
from control.hybrid.tasks import Forward, system_of
from numpy.testing import assert_allclose

from robot_dynamics.control.hybrid.internal_choice import InternalChoice, holding_force
from robot_dynamics.control.hybrid.law_inputs import Layout
from robot_dynamics.control.hybrid.step import HybridStep
from robot_dynamics.control.settings import ControlSettings, ForceServoSettings
from robot_dynamics.manipulation.hybrid import ForceDistribution, Squeeze, contact_margins

SYSTEM = system_of()
LAYOUT = Layout.of(SYSTEM)
SHARING = ForceDistribution.of_contacts(SYSTEM)
MARGIN, PERIOD, LATE = 2.0, 0.002, 2
OWN, COMPARED = LAYOUT.reference["internal"], LAYOUT.reference["compared_internal"]


def weight(kilograms):
    """Return the wrench that carries a mass."""
    return np.array([0.0, 0.0, 0.0, 0.0, 0.0, 9.81 * kilograms])


def choice(most=1e3):
    """Return a choice for two fingers."""
    squeeze = Squeeze(SYSTEM.contacts, SHARING, MARGIN)
    return InternalChoice(squeeze, LAYOUT, most, PERIOD, LATE)


def planned(squeeze):
    """Return a row that asks for a squeeze."""
    row = np.zeros(Layout.size(LAYOUT.reference))
    row[OWN.start] = row[COMPARED.start] = squeeze
    return row


def margins(row, wrench):
    """Return the contacts' margins in their cones with a row's internal force."""
    forces = SHARING.contact_forces(wrench, row[OWN])
    return contact_margins(SYSTEM.contacts, forces)


def test_a_squeeze_that_holds_is_granted():
    """The row is the one that was planned, not a copy."""
    row = planned(80.0)
    assert choice().row(row, weight(4.0)) is row


def test_a_load_that_nobody_planned_is_held():
    """Contacts keep their margin at once; measured forces are compared when they answer."""
    chosen, row = choice(), planned(45.0)
    assert margins(row, weight(6.0)).min() < 0.0
    first = chosen.row(row, weight(6.0))
    assert margins(first, weight(6.0)).min() >= MARGIN - 1e-9
    assert margins(first, weight(6.0)).min() < MARGIN + 1.0  # not more than polygons give away
    assert row[OWN.start] == 45.0
    assert_allclose(first[COMPARED], row[COMPARED])
    for _ in range(LATE):
        chosen.remember(FREE, EFFORT)
        late = chosen.row(row, weight(6.0))
    assert_allclose(late[COMPARED], late[OWN], atol=1e-12)


def test_the_correction_fades():
    """It is needed no more: half of it is gone after 0.2 s, and all of it in the end."""
    chosen, row = choice(), planned(45.0)
    added = chosen.row(row, weight(6.0))[OWN] - row[OWN]
    for _ in range(round(0.3 * np.log(2.0) / PERIOD)):
        chosen.remember(FREE, EFFORT)
        last = chosen.row(row, weight(1.0))
    assert_allclose(last[OWN] - row[OWN], 0.5 * added, rtol=0.01)
    for _ in range(round(10.0 / PERIOD)):
        chosen.remember(FREE, EFFORT)
        last = chosen.row(row, weight(1.0))
    assert last is row


def test_the_correction_is_bounded():
    """Fingers get no more than was declared, and keep their force where no change helps."""
    chosen, row = choice(most=5.0), planned(45.0)
    assert chosen.row(row, weight(8.0))[OWN][0] == pytest.approx(50.0)
    unknown = chosen.row(row, np.full(6, np.nan))
    assert unknown[OWN][0] == pytest.approx(50.0)
    chosen.begin()
    assert chosen.row(row, weight(1.0)) is row


NOTHING = np.zeros(LAYOUT.joints)
EFFORT = np.full(LAYOUT.joints, 1e3)


def task_scale(there, part, effort):
    """Return the share of a part of the torque that fits in addition to the given torque."""
    room = np.where(part > 0.0, effort - there, effort + there)[part != 0.0]
    return float(np.clip((room / np.abs(part[part != 0.0])).min(initial=1.0), 0.0, 1.0))


def step_of(row, grip, moving=NOTHING, effort=EFFORT, wrench=None):
    """Return a step of drives, each with its part of the internal force (n, m), from a row."""
    found, inside = np.zeros(Layout.size(LAYOUT.outputs)), grip @ row[OWN]
    squeeze = task_scale(NOTHING, inside, effort)
    motion = task_scale(squeeze * inside, moving, effort)
    asked = weight(4.0) if wrench is None else wrench
    for name, value in {
        "internal_force_torques": grip, "desired_wrench": asked,
        # without the internal force
        "torque_range": [np.minimum(0.0, moving), np.maximum(0.0, moving)],
        "effort_scale": min(squeeze, motion),
        "task_scale": min(squeeze, motion),
    }.items():  # fmt: skip
        found[LAYOUT.outputs[name]] = np.ravel(value)
    return HybridStep(NOTHING, np.zeros(0), found, row, LAYOUT, np.zeros(2))


def of_drive(squeeze=0.0, twist=0.0):
    """Return drives of which one makes the internal force, by so much for each (n, m)."""
    grip = np.zeros((LAYOUT.joints, 2))
    grip[3] = squeeze, twist
    return grip


def period(chosen, row, grip, moving, effort, wrench=None):
    """Return the step of a control period, as the controller makes it."""
    asked = weight(4.0) if wrench is None else wrench
    step = step_of(chosen.row(row, asked), grip, moving, effort, wrench)
    other = chosen.row_within(row, step, effort)
    if other is not None:
        step = step_of(other, grip, moving, effort, wrench)
    chosen.remember(step, effort)
    return step


FREE = step_of(planned(45.0), of_drive())


def test_drives_have_what_they_can():
    """A squeeze beyond a drive's limit is reduced to the drive's limit, as long as it holds."""
    chosen, row, n = choice(), planned(100.0), LAYOUT.joints
    assert chosen.row(row, weight(4.0)) is row
    grip, moving = of_drive(squeeze=0.2), np.full(n, 1.0)  # 0.2 N m for 1 N of squeeze
    effort = np.full(n, 19.0)
    other = chosen.row_within(row, step_of(row, grip, moving, effort), effort)
    assert other[OWN][0] == pytest.approx(90.0)  # 1 + 0.2 * 90 = 19
    assert_allclose(other[OWN] - row[OWN], chosen.added)
    # Fingers hold 4 kg with 37 N: with less room nothing changes, and the limits decide.
    effort = np.full(n, 7.0)
    assert chosen.row_within(row, step_of(other, grip, moving, effort), effort) is None
    assert chosen.row_within(row, step_of(other, grip, moving), EFFORT) is None


@pytest.mark.parametrize("most", [3.0, 8.1, 10.0, 60.0])
def test_a_limited_correction_keeps_every_margin(most):
    """The correction stays within its limit and keeps every margin of the contacts.

    Contacts of 6 kg need 8 N more than was planned, while a drive asks for another twist.
    """
    row, squeeze = planned(45.0), Squeeze(SYSTEM.contacts, SHARING, MARGIN)
    effort, grip, met = np.full(LAYOUT.joints, 4.0), of_drive(twist=10.0), {}
    for twist in (0.1, 0.3):
        chosen, moving = choice(most), NOTHING.copy()
        moving[3] = 4.0 + 10.0 * twist
        held = margins(chosen.row(row, weight(6.0)), weight(6.0)).min()
        assert (held >= MARGIN - 1e-9) == (most > 8.0)
        for _ in range(100):
            step = period(chosen, row, grip, moving, effort, weight(6.0))
            assert squeeze.size(chosen.added) <= most + 1e-9
            assert margins(step.reference, weight(6.0)).min() >= min(held, MARGIN) - 1e-9
        met[twist] = bool(step.task_scale > 1.0 - 1e-9)
    # The squeeze of 8 N, and 10 N more of it for 1 N m of twist.
    assert met == {twist: 8.1 + 10.0 * twist < most for twist in met}


def test_nothing_jumps_where_limits_come_and_go():
    """Limits that can be met, then not, then again: bounded steps, no fading while they rule."""
    most, grip = 50.0, of_drive(squeeze=0.2)
    chosen, row, added = choice(most), planned(100.0), [np.zeros(2)]
    entering, fading = most * PERIOD / 0.1, most * (1.0 - np.exp(-PERIOD / 0.3))

    def run(torque, seconds):
        """Go on with a limit for a while; return the last step and how far it has gone."""
        start = len(added)
        for _ in range(round(seconds / PERIOD)):
            step = period(chosen, row, grip, NOTHING, np.full(LAYOUT.joints, torque))
            added.append(chosen.added)
        return step, np.ptp(added[start - 1 :], axis=0).max()

    step, _ = run(14.0, 0.2)
    assert step.task_scale == pytest.approx(1.0, abs=1e-9)
    assert added[-1][0] == pytest.approx(-30.0)
    assert run(14.0, 0.5)[1] < 1e-9  # neither fades nor chatters
    step, moved = run(6.0, 0.5)  # 4 kg need more than 30 N
    assert step.task_scale < 1.0
    assert moved == 0.0
    run(11.0, 0.2)
    assert added[-1][0] == pytest.approx(-45.0)
    run(13.0, 0.3)  # it fades as far as the drive allows, but for what goes in a period
    assert added[-1][0] == pytest.approx(-35.0, abs=35.0 * PERIOD / 0.3)
    before = added[-1][0]
    run(30.0, 0.3)
    assert added[-1][0] == pytest.approx(before / np.e, rel=2.0 * PERIOD / 0.3)
    steps = np.abs(np.diff(added, axis=0)).max(axis=1)
    assert steps[0] == pytest.approx(entering)
    assert steps.max() <= entering + fading


def test_tasks_that_may_slip_and_no_correction_are_left_alone():
    """Nothing chooses then, nor where there is no internal force."""

    def made(layout=LAYOUT, **settings):
        control = ControlSettings(internal_force=ForceServoSettings(**settings))
        return InternalChoice.of(SYSTEM, SHARING, control, layout)

    assert made() is not None
    assert made(may_slip=True) is None
    assert made(max_internal_force_correction_n=0.0) is None
    assert made(Layout(joints=7, directions=6, surfaces=0, arms=1)) is None


def test_contacts_that_only_push_hold_from_the_start():
    """Their squeeze at the plan's beginning; rigid grasps hold without one."""
    plan, at = Forward(squeeze=80.0), LAYOUT.reference
    assert holding_force(plan, SYSTEM, at).tolist() == [80.0, 0.0]
    assert holding_force(plan, system_of(limits=None), at).tolist() == [0.0, 0.0]
