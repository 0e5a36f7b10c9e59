# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Errors of experiments, from records whose errors are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from robot_dynamics.app.studies.yoshikawa_zheng.errors import errors_of
from robot_dynamics.app.studies.yoshikawa_zheng.experiment import Record
from robot_dynamics.app.studies.yoshikawa_zheng.tasks import task


def record_of(number):
    """Return a record in which everything is as wanted."""
    what = task(number)
    time = 2e-3 * np.arange(1, 401)
    wanted = [what.wanted(t - 2e-3) for t in time]
    r = np.array([what.wanted(t).r for t in time])
    press = np.array([w.press for w in wanted])
    squeeze = np.array([w.squeeze for w in wanted])
    fine = 1e-3 * np.arange(1, 801)
    on = (fine > what.meeting) & (fine <= what.leaving)
    return Record(
        time=time,
        r=r,
        r_wanted=r.copy(),
        press=press,
        press_wanted=press.copy(),
        squeeze=squeeze,
        squeeze_wanted=squeeze.copy(),
        torque=np.zeros((400, 4)),
        pressing=(time > what.meeting) & (time <= what.leaving),
        fine_press=np.where(on, np.repeat(press, 2), 0.0),
        fine_step=1e-3,
        lost=False,
        damping=0.0,
        mass=1.0,
        warnings=(),
    )


@pytest.mark.parametrize("number", [1, 2])
def test_what_is_as_wanted_has_no_errors(number):
    """All figures are zero, and each column that is off changes its own figures alone."""
    record = record_of(number)
    clean = errors_of(number, record).values
    assert set(clean.values()) == {0.0}
    for name, column, unit, figure in (
        ("r", 0, 1e-3, "x"),
        ("r", 2, 1e-3, "orientation"),
        ("squeeze", None, 1.0, "internal force"),
    ):
        changed = getattr(record, name).copy()
        entry = changed if column is None else changed[:, column]
        entry[50] += 2.0 * unit
        found = errors_of(number, replace(record, **{name: changed})).values
        off = {key: value for key, value in found.items() if value != 0.0}
        assert set(off) == {f"{figure} rms", f"{figure} max"}
        assert_allclose(off[f"{figure} max"], 2.0, rtol=1e-9)


def test_steady_errors_leave_steps_out_and_transients_are_timed():
    """What is off for 20 ms after a step is a transient of 20 ms and no steady error."""
    record = record_of(1)
    press = record.press.copy()
    after = (record.time > 0.27 + 1e-9) & (record.time < 0.29 + 1e-9)
    press[after] += 0.05
    found = errors_of(1, replace(record, press=press))
    assert found["contact force rms"] == 0.0
    assert_allclose(found["contact force max"], 0.05)
    assert_allclose(found["transient"], 20.0)


def test_contacts_and_settling():
    """A gap in the force is another contact; the last time off the band is when it settled."""
    record = record_of(3)
    assert errors_of(3, record)["contacts"] == 1.0
    fine = 1e-3 * np.arange(1, 801)
    force = record.fine_press.copy()
    touch = fine[np.argmax(force > 0.0)]
    force[np.isclose(fine, touch + 0.010)] = 0.0
    force[np.isclose(fine, touch + 0.030)] = 3.0
    found = errors_of(3, replace(record, fine_press=force))
    assert found["contacts"] == 2.0
    assert_allclose(found["settling"], 30.0)
    assert found["peak force"] == 3.0
    assert found["least force"] == 0.5


def test_a_lost_bar_has_no_figures():
    """They are not numbers, so that no bar is kept, and JSON says why."""
    found = errors_of(1, replace(record_of(1), lost=True))
    assert np.isnan(found["x max"])
    assert found.as_json() == {"lost": True, "lost after [s]": 0.8, "contacts": 1.0}
