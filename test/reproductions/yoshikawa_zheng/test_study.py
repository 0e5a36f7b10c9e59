# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The study of the three experiments: errors, claims and figure."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from robot_dynamics.reproductions.yoshikawa_zheng.experiment import Record, cases
from robot_dynamics.reproductions.yoshikawa_zheng.study import (
    THRESHOLDS,
    UNITS,
    Errors,
    ExperimentRun,
    checks,
    errors_of,
    law_checks,
    run,
)
from robot_dynamics.reproductions.yoshikawa_zheng.tasks import task


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
def test_perfect_records_have_no_errors(number):
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
    """An error that lasts 20 ms after a step is a transient of 20 ms and no steady error."""
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


def runs_of(value):
    """Return runs with one value for every figure, the literal ones lost and warned of."""
    runs = []
    for setup in cases():
        bounced = setup.number == 3 and setup.law == "literal"
        errors = Errors({} if bounced else dict.fromkeys(UNITS, value), bounced)
        runs.append(ExperimentRun(setup, errors, ("beware",) if bounced else ()))
    return runs


def test_good_runs_keep_all_bars_and_each_bar_can_be_missed():
    """A figure that is too large, or none, fails its own bar; the worst of the runs counts."""
    count = sum(len(limits) for _, limits in THRESHOLDS.values())
    good = checks(runs_of(0.0))
    # 0.5 N short of the least force, with a force of none.
    assert [check.claim for check in good if not check.ok] == [
        "experiment 3, wall of 1e4 N/m, force once steady below 0.5 N by [N]"
    ]
    missed = [check for check in checks(runs_of(1e3)) if not check.ok]
    assert len(missed) == count
    runs = runs_of(0.0)
    at = next(i for i, run in enumerate(runs) if run.setup.law != "literal")
    runs[at] = replace(runs[at], errors=Errors({}, True))
    assert sum(not check.ok for check in checks(runs)) > 1


def test_missing_and_needless_warnings_are_failures():
    """The literal law has to be warned of, and the damped one must not be."""
    runs = [
        replace(run, warnings=() if run.setup.law == "literal" else ("beware",))
        for run in runs_of(0.0)
    ]
    failed = [check.claim for check in checks(runs) if not check.ok]
    assert "literal laws on elastic walls that were not warned of" in failed
    assert "other laws that were warned of" in failed


def test_the_law_is_exact():
    """(38) to (40) hold on the plant, on a wall and free, and its angles close the linkages."""
    found = law_checks(10)
    assert len(found) == 5
    assert [str(check) for check in found if not check.ok] == []


def test_a_few_of_every_kind(tmp_path):
    """The short version keeps all thresholds, tells how far it is, is drawn and written."""
    told = []
    outcome = run(True, lambda done, doing: told.append(done))
    assert outcome.ok, [str(check) for check in outcome.checks if not check.ok]
    assert {check.claim for check in law_checks(1)} < {check.claim for check in outcome.checks}
    assert told == sorted(told)
    text = json.dumps(outcome.as_json(), allow_nan=False)
    assert "contact force rms [N]" in text
    bounced = outcome.figures["experiment 3, literal law, 1e4 N/m, perfect"]
    assert bounced["lost"] is True
    assert bounced["contacts"] > 1
    assert "bounces" in outcome.figures["warning of the literal law"]
    assert outcome.plot(tmp_path / "experiments.png").stat().st_size > 20_000


@pytest.mark.slow
def test_all_cases():
    """Models off by 20 % in many ways, walls, friction, noise and delay."""
    outcome = run(False, lambda done, doing: None)
    assert outcome.ok, [str(check) for check in outcome.checks if not check.ok]
