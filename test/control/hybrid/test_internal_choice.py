# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The internal force is changed where contacts or drives need it, and only there."""

from __future__ import annotations

import numpy as np
import pytest
from control.hybrid.tasks import Forward, system_of
from numpy.testing import assert_allclose

from robot_dynamics.control.hybrid.internal_choice import InternalChoice, holding_force
from robot_dynamics.control.hybrid.layout import Layout
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
    return InternalChoice(squeeze, LAYOUT.reference, most, PERIOD, LATE)


def planned(squeeze):
    """Return a row that asks for a squeeze."""
    row = np.zeros(Layout.size(LAYOUT.reference))
    row[OWN.start] = row[COMPARED.start] = squeeze
    return row


def margins(row, wrench):
    """Return how far the contacts are inside their cones with a row's internal force."""
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
        chosen.remember()
        late = chosen.row(row, weight(6.0))
    assert_allclose(late[COMPARED], late[OWN], atol=1e-12)


def test_what_was_added_fades():
    """It is needed no more: half of it is gone after 0.2 s, and all of it in the end."""
    chosen, row = choice(), planned(45.0)
    added = chosen.row(row, weight(6.0))[OWN] - row[OWN]
    for _ in range(round(0.3 * np.log(2.0) / PERIOD)):
        chosen.remember()
        last = chosen.row(row, weight(1.0))
    assert_allclose(last[OWN] - row[OWN], 0.5 * added, rtol=0.01)
    for _ in range(round(10.0 / PERIOD)):
        chosen.remember()
        last = chosen.row(row, weight(1.0))
    assert last is row


def test_what_is_added_is_bounded():
    """Fingers get no more than was declared, and keep what they have where nothing helps."""
    chosen, row = choice(most=5.0), planned(45.0)
    assert chosen.row(row, weight(8.0))[OWN][0] == pytest.approx(50.0)
    unknown = chosen.row(row, np.full(6, np.nan))
    assert unknown[OWN][0] == pytest.approx(50.0)
    chosen.begin()
    assert chosen.row(row, weight(1.0)) is row


def step_of(grip, support, internal, scale=0.5):
    """Return a step of drives, each with its part of the internal force (n, m)."""
    found = np.zeros(Layout.size(LAYOUT.found))
    n = LAYOUT.joints
    for name, value in {
        "grip": grip, "support": support, "parts": [internal, np.zeros(n), np.zeros(n)],
        "scales": [scale, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0], "asked": weight(4.0),
    }.items():  # fmt: skip
        found[LAYOUT.found[name]] = np.ravel(value)
    return HybridStep(np.zeros(n), np.zeros(0), found, np.zeros(0), LAYOUT.found, np.zeros(2))


def test_drives_have_what_they_can():
    """A squeeze that a drive cannot make comes down to what it can, as long as it holds."""
    chosen, row, n = choice(), planned(100.0), LAYOUT.joints
    assert chosen.row(row, weight(4.0)) is row
    grip = np.zeros((n, 2))
    grip[3, 0] = 0.2  # N m for 1 N of squeeze
    support, effort = np.full(n, 1.0), np.full(n, 19.0)
    asked = step_of(grip, support, grip @ row[OWN])
    other = chosen.row_within(row, asked, effort)
    assert other[OWN][0] == pytest.approx(90.0)  # 1 + 0.2 * 90 = 19
    assert_allclose(other[OWN] - row[OWN], chosen.added)
    # Fingers hold 4 kg with 37 N: with less room nothing changes, and the limits decide.
    assert chosen.row_within(row, asked, np.full(n, 7.0)) is None
    whole = step_of(grip, support, grip @ row[OWN], scale=1.0)
    assert chosen.row_within(row, whole, effort) is None


def test_tasks_that_may_slip_and_no_leeway_are_left_alone():
    """Nothing chooses then, nor where there is no internal force."""

    def made(layout=LAYOUT, **settings):
        control = ControlSettings(internal_force=ForceServoSettings(**settings))
        return InternalChoice.of(SYSTEM, SHARING, control, layout)

    assert made() is not None
    assert made(may_slip=True) is None
    assert made(leeway_n=0.0) is None
    assert made(Layout(joints=7, directions=6, surfaces=0, arms=1)) is None


def test_contacts_that_only_push_hold_from_the_start():
    """Their squeeze at the plan's beginning; rigid grasps hold without one."""
    plan, at = Forward(squeeze=80.0), LAYOUT.reference
    assert holding_force(plan, SYSTEM, at).tolist() == [80.0, 0.0]
    assert holding_force(plan, system_of(limits=None), at).tolist() == [0.0, 0.0]
