# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Slip that is foreseen."""

from __future__ import annotations

import numpy as np
import pytest
from manipulation.hybrid.grasps import facing, held_by
from numpy.testing import assert_allclose

from robot_dynamics.control.hybrid.slip_monitor import SlipMonitor
from robot_dynamics.errors import ArgumentError
from robot_dynamics.manipulation.hybrid import (
    ForceDistribution,
    FrictionCone,
    contact_wrenches,
)

PERIOD = 0.01
FINGER = FrictionCone(0.5, torsion=0.02)
CONTACTS = facing("soft finger", FINGER)
TIMES = PERIOD * np.arange(300)


def monitor(margin=0.5, horizon=0.4):
    return SlipMonitor({"left": FINGER, "right": FINGER}, margin, PERIOD, horizon)


def carried(mass, squeeze=40.0):
    """Return wrenches (N, 2, 6) at two fingers that lift a mass harder and harder."""
    distribution = ForceDistribution.of_contacts(held_by(CONTACTS))
    wrenches = np.zeros((len(TIMES), 6))
    wrenches[:, 5] = mass * (9.81 + 4.0 * TIMES)
    inside = np.zeros(len(distribution.names))
    inside[distribution.names.index("squeeze")] = squeeze
    return contact_wrenches(CONTACTS, distribution.contact_forces(wrenches, inside))


def slips_at(wrenches):
    """Return when the first contact leaves its cone [s]."""
    return TIMES[np.argmax((FINGER.distance(wrenches) < 0.0).any(axis=1))]


def test_a_plan_with_too_little_squeeze_is_told_of_beforehand():
    """Before anything moves: both contacts, when, and how much is missing at worst."""
    planned = carried(2.5)
    sentences = monitor(margin=0.0).expect(planned)
    assert len(sentences) == 2
    assert f"{slips_at(planned):.3g} s after the reference's start" in sentences[0]
    missing = -FINGER.distance(planned).min()
    assert "'left' slips: it falls short of its margin of 0 N" in sentences[0]
    assert f"{missing:.3g} N are missing to hold at worst" in sentences[0]
    assert monitor().expect(carried(1.0)) == ()


def test_a_load_heavier_than_planned_is_noticed_and_its_slip_foreseen():
    """The plan holds; the measured object weighs 2.6 kg, and slips at the predicted time."""
    watch, planned, measured = monitor(margin=0.0), carried(1.8), carried(2.6)
    assert watch.expect(planned) == ()
    reports = [watch.step(tick, w) for tick, w in enumerate(measured)]
    slip = slips_at(measured)
    first = next(tick for tick, report in enumerate(reports) if report.warnings)
    lead = slip - TIMES[first]
    # The margin falls by 2.6 parts where the plan's falls by 1.8: so much of the horizon is lead.
    assert lead == pytest.approx(0.4 * 1.8 / 2.6, abs=1.5 * PERIOD)
    near = reports[round(slip / PERIOD) - 5]
    assert near.when.min() == pytest.approx(0.05 * 2.6 / 1.8, abs=PERIOD)
    assert np.all(near.margins > 0.0)
    assert np.all(reports[-1].margins < 0.0)
    assert "contact 'left' slips" in reports[-1].warnings[0]
    assert "now" in reports[-1].warnings[0]


def test_without_measurements_the_plan_is_believed():
    """Margins and warnings are the plan's, and after its end those of its last row."""
    watch, planned = monitor(margin=0.0), carried(2.5)
    watch.expect(planned)
    slip = round(slips_at(planned) / PERIOD)
    report = watch.step(slip - 20)
    assert_allclose(report.margins, FINGER.distance(planned[slip - 20]))
    assert_allclose(report.when, 20 * PERIOD)
    assert_allclose(watch.step(10**6).margins, FINGER.distance(planned[-1]))
    assert watch.step(0).warnings == ()


def test_before_a_plan_is_known_only_measurements_count():
    """A monitor without a plan still tells of contacts that are near to slipping."""
    report = monitor().step(0, carried(2.6)[-1])
    assert report.when.tolist() == [0.0, 0.0]
    assert monitor().step(0).warnings == ()


def test_places_that_are_not_touched_yet_or_any_more_do_not_slip():
    """A push of any force stands for no contact, planned or felt: neither is compared."""
    any_force = np.array([0.0, 0.0, 0.0, 0.0, 0.0, np.inf])
    watch, planned = monitor(margin=0.0, horizon=0.1), carried(1.8)
    planned[200:, 1] = any_force  # left at 2 s
    assert watch.expect(planned) == ()
    felt = planned[199].copy()
    felt[1] = any_force  # gone a little early
    report = watch.step(199, felt)
    assert report.warnings == ()
    assert np.isinf(report.margins[1])
    late = watch.step(205, planned[199])  # and a little late
    assert late.warnings == ()
    assert_allclose(late.margins, FINGER.distance(planned[199]))


@pytest.mark.parametrize("wrench", [np.full((2, 6), np.nan), -carried(1.0)[0]])
def test_numbers_that_are_none_and_open_contacts_are_as_bad_as_slip(wrench):
    """A sensor that fails, or a contact that would have to pull, is never taken for a firm one."""
    report = monitor().step(0, wrench)
    assert np.all(report.margins < 0.0)
    assert len(report.warnings) == 2


class Pressed:
    """A contact that is as far from slipping as it is pressed."""

    @staticmethod
    def distance(wrenches):
        return wrenches[..., 5]

    @staticmethod
    def distance_of_one(wrench):
        return wrench[5]


def pressed(*forces):
    """Return wrenches (..., 6) of forces (...)."""
    wrenches = np.zeros((*np.shape(forces), 6))
    wrenches[..., 5] = forces
    return wrenches


def test_each_contact_has_its_margin_to_within_rounding():
    """A millionth of a newton is no force, in a plan, ahead of it, and in measurements."""
    for least, short in ((0.5 - 0.9e-6, False), (0.5 - 1.1e-6, True), (0.505, False)):
        watch = SlipMonitor({"one": Pressed, "other": Pressed}, 0.5, PERIOD)
        planned = pressed(*[[least, 0.45]] * 9)
        assert len(watch.expect(planned)) == 1 + short
        assert np.isfinite(watch.step(0).when).tolist() == [short, True]
        assert np.isfinite(watch.step(0, planned[0]).when).tolist() == [short, True]
        unplanned = SlipMonitor({"one": Pressed, "other": Pressed}, 0.5, PERIOD)
        assert np.isfinite(unplanned.step(0, planned[0]).when).tolist() == [short, True]


def test_how_far_it_looks_ahead():
    """Half a second of the plan, to the row; the warning says when."""
    watch = SlipMonitor({"one": Pressed}, 0.5, PERIOD)
    watch.expect(pressed(*[[1.0]] * 100, *[[0.0]] * 10))
    assert watch.step(49).warnings == ()
    assert "in 0.5 s" in watch.step(50).warnings[0]
    assert " now;" in watch.step(100).warnings[0]


def test_wrong_shapes_and_settings_are_refused():
    """With the expected value."""
    with pytest.raises(ArgumentError, match="expected \\(N, 2, 6\\)"):
        monitor().expect(np.zeros((5, 6)))
    with pytest.raises(ArgumentError, match="nothing negative"):
        monitor(margin=-1.0)
