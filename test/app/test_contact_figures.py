# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Figures of contacts, from recordings whose figures are known beforehand."""

import numpy as np
import pytest

from robot_dynamics.app.metrics import contact_figures, touches, warning_lead
from robot_dynamics.app.recording import Recording

PERIOD = 0.01


@pytest.fixture
def recording():
    """Two seconds: a force of 10 N is wanted from 0.2 s on, 20 N from 1.2 s on.

    The surface is felt at 0.3 s, bounces once, and is right from 0.4 s on. The reference moves at
    0.1 m/s until 0.8 s, then rests.
    """
    t = PERIOD * np.arange(200)
    wanted = np.where(t >= 0.195, 10.0, 0.0) + np.where(t >= 1.195, 10.0, 0.0)
    force = np.where(t >= 0.295, wanted, 0.0)
    force[32:34] = 0.0  # a bounce
    force[34:40] = 15.0
    twist = np.zeros((200, 6))
    twist[:80, 3] = 0.1
    columns = {
        "tick": np.arange(200),
        "contact_force": force[:, None],
        "reference_contact_force": wanted[:, None],
        "object_twist": 0.7 * twist,
        "reference_twist": twist,
    }
    return Recording(columns, {"period_s": PERIOD, "slip_tolerance_m": 1e-3})


def test_a_touch_is_found(recording):
    """Where it begins, how fast, how often it was felt anew, and when it settled."""
    (one,) = touches(recording)
    assert (one.first, one.end, one.contacts, one.settled) == (30, 200, 2, 40)
    assert one.speed == pytest.approx(0.07)
    figures = contact_figures(recording)
    assert figures["touch_contacts_max"] == 2
    assert figures["touch_speed_max"] == pytest.approx(0.07)
    assert figures["touch_settling_max_s"] == pytest.approx(0.1)
    assert figures["contact_force_max_n"] == 20.0


def test_errors_count_by_whether_the_object_moves(recording):
    """An error while it moves, and another at rest, appear where they belong."""
    recording.columns["contact_force"][70] = 10.8  # moving, 0.4 s after the touch
    recording.columns["contact_force"][190] = 19.8  # at rest
    figures = contact_figures(recording)
    assert figures["contact_force_error_moving_fraction"] == pytest.approx(0.08)
    assert figures["contact_force_error_settled_fraction"] == pytest.approx(0.01)
    assert figures["contact_speed_moving_max"] == pytest.approx(0.1)


@pytest.mark.parametrize("row", [45, 125])
def test_transients_do_not_count(recording, row):
    """Within 0.3 s of the touch, and of a change of the wanted force, errors are no figures."""
    recording.columns["contact_force"][row] *= 2.0
    figures = contact_figures(recording)
    assert figures["contact_force_error_moving_fraction"] == 0.0
    assert figures["contact_force_error_settled_fraction"] == 0.0


def test_a_touch_that_never_settles(recording):
    """A force that keeps away from the wanted one settles at the end of the touch, not before."""
    recording.columns["contact_force"][34:] *= 0.9
    assert touches(recording)[0].settled == 200
    assert contact_figures(recording)["touch_settling_max_s"] == pytest.approx(1.7)


def test_a_surface_that_is_never_touched(recording):
    """Without a touch there is nothing to say of touches: figures are missing, not zero."""
    recording.columns["contact_force"][:] = 0.0
    figures = contact_figures(recording)
    assert touches(recording) == []
    for name in ("touch_settling_max_s", "contact_force_error_settled_fraction"):
        assert figures[name] is None


def test_a_slip_and_the_warning_before_it(recording):
    """The lead is the time from the first negative margin to the first real slip."""
    slip, margin = np.zeros((200, 2)), np.full((200, 2), 0.4)
    slip[150:, 1] = 2e-3
    margin[120:, 1] = -0.1
    recording.columns.update(grasp_slip=slip, slip_margin=margin)
    recording.columns["surface_slip"] = np.zeros((200, 1))
    figures = contact_figures(recording)
    assert figures["grasp_slip_max_m"] == 2e-3
    assert figures["slip_margin_min"] == pytest.approx(-0.1)
    assert figures["slip_warning_lead_s"] == pytest.approx(0.3)
    margin[5] = -0.1  # taken back long before the slip
    assert warning_lead(recording) == pytest.approx(0.3)
    margin[:] = 0.4
    assert warning_lead(recording) == pytest.approx(-0.5)  # never said
    slip[:] = 0.0
    assert warning_lead(recording) is None


def test_of_several_forces_of_a_surface_the_push_counts(recording):
    """What is wanted of a hole stands before what is wanted of the wall behind it."""
    wanted = recording["reference_contact_force"]
    hole = np.zeros((200, 1))
    columns = {
        **recording.columns,
        "contact_force": np.hstack([hole + 3.0, recording["contact_force"]]),
        "reference_contact_force": np.hstack([np.zeros((200, 4)), wanted]),
    }
    both = Recording(columns, {**recording.metadata, "surface_rows": [0, 4]})
    (one,) = touches(both)
    assert (one.surface, one.first) == (1, 30)
    assert contact_figures(both)["guide_force_max_n"] == 3.0
    assert "guide_force_max_n" not in contact_figures(recording)


def test_a_run_without_contacts_has_no_such_figures(run):
    """Free motion is reported as before."""
    assert contact_figures(run.recording) == {}
