# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Thresholds that are kept and missed."""

from __future__ import annotations

from dataclasses import replace

from robot_dynamics.app.studies.yoshikawa_zheng.acceptance import (
    THRESHOLDS,
    Run,
    checks,
    exactness,
)
from robot_dynamics.app.studies.yoshikawa_zheng.cases import cases
from robot_dynamics.app.studies.yoshikawa_zheng.errors import UNITS, Errors


def runs_of(value):
    """Return runs with one value for every figure, the literal ones lost and warned of."""
    runs = []
    for setup in cases():
        bounced = setup.number == 3 and setup.law == "literal"
        errors = Errors({} if bounced else dict.fromkeys(UNITS, value), bounced)
        runs.append(Run(setup, errors, ("beware",) if bounced else ()))
    return runs


def test_good_runs_keep_all_thresholds_and_each_can_be_missed():
    """A figure that is too large, or none, fails its own threshold; the worst run counts."""
    count = sum(len(limits) for _, limits in THRESHOLDS.values())
    good = checks(runs_of(0.0))
    # 0.5 N short of the least force, with a force of none.
    assert [check.claim for check in good if not check.ok] == [
        "experiment 3, wall of 1e4 N/m, force once steady below 0.5 N by [N]"
    ]
    missed = [check for check in checks(runs_of(1e3)) if not check.ok]
    assert len(missed) == count
    runs = runs_of(0.0)
    at = next(
        i for i, run in enumerate(runs) if run.setup.thresholds and run.setup.law != "literal"
    )
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
    """(38) to (40) hold with the paper's robots, on a wall and free."""
    assert exactness(10) < 1e-9
