# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The study of wrong models and disturbances, and its thresholds."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest

from robot_dynamics.reproductions import unseren_monte_carlo
from robot_dynamics.reproductions.study import Sampling
from robot_dynamics.reproductions.unseren_monte_carlo import quick_sample, run, sample

KINDS = ("inertias", "disturbance", "geometry", "all, feedback", "all, feed-forward")


def test_a_sample_is_its_number():
    """The same number gives the same figures, another one others."""
    first = sample(3, 120)
    assert sample(3, 120) == first
    assert sample(4, 120) != first
    assert first["disturbance"]["position [mm]"] < first["all, feedback"]["position [mm]"] * 10.0


def test_the_quick_study(tmp_path):
    """A few samples: all runs end well, and the file has them."""
    file = tmp_path / "results.jsonl"
    told = []
    outcome = run(True, lambda done, doing: told.append(done), Sampling(2, 1, file))
    assert outcome.ok, [str(check) for check in outcome.checks if not check.ok]
    assert any("in fast motion" in check.claim for check in outcome.checks)
    assert outcome.figures["samples"] == 2
    assert told == sorted(told)
    assert len(file.read_text(encoding="utf-8").splitlines()) == 3
    assert all(np.isfinite(v) for v in outcome.figures["all, feed-forward"].values())


WORDS = ("position [mm]", "orientation [mrad]", "force, rms [N]")


@pytest.mark.parametrize(
    "broken",
    [
        {"failed": "grew without bound"},
        dict.fromkeys(WORDS, float("nan")),
        dict.fromkeys(WORDS, None),
        dict.fromkeys(WORDS, 1e9),
        dict(zip(WORDS, (0.1, float("inf"), 0.01), strict=True)),
    ],
)
def test_runs_that_fail_spoil_the_study(tmp_path, broken):
    """An error, a number that is none, or one beyond all bounds is worse than every good run."""
    file = tmp_path / "results.jsonl"
    subject = {"study": "unseren-monte-carlo", "seed": 1991, "quick": True, "kinds": [*KINDS]}
    good = {kind: dict(zip(WORDS, (0.01, 0.01, 1e-4), strict=True)) for kind in KINDS}
    for kind in KINDS:
        samples = [{"sample": n, **good} for n in range(40)]
        samples[3] = {"sample": 3, **good, kind: broken}
        lines = [json.dumps(line) for line in (subject, *samples)]
        file.write_text("\n".join([*lines, ""]), encoding="utf-8")
        outcome = run(True, lambda done, doing: None, Sampling(40, 1, file))
        failed = [check.claim for check in outcome.checks if not check.ok]
        assert failed[0] == f"{kind}: runs that failed"
        assert set(failed[1:]) == {f"{kind}: {what}, largest" for what in WORDS}
        json.dumps(outcome.as_json(), allow_nan=False)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("what", WORDS)
def test_every_kind_has_thresholds(tmp_path, kind, what):
    """Errors of a whole kind that are finite and large fail its own claims."""
    file = tmp_path / "results.jsonl"
    subject = {"study": "unseren-monte-carlo", "seed": 1991, "quick": True, "kinds": [*KINDS]}
    sample = {name: dict(zip(WORDS, (0.01, 0.01, 1e-4), strict=True)) for name in KINDS}
    sample[kind][what] = 8.0
    lines = [json.dumps(line) for line in (subject, {"sample": 0, **sample})]
    file.write_text("\n".join([*lines, ""]), encoding="utf-8")
    outcome = run(True, lambda done, doing: None, Sampling(1, 1, file))
    failed = {check.claim for check in outcome.checks if not check.ok}
    assert failed == {f"{kind}: {what}, {part}" for part in ("95 %", "largest")}


def test_a_diverged_run_is_kept_as_failed(monkeypatch):
    """A sample of a diverged run is a sentence, which JSON can hold."""
    record = SimpleNamespace(figures=lambda: dict.fromkeys(WORDS, float("nan")))
    monkeypatch.setattr(unseren_monte_carlo, "run_case", lambda *_, **__: record)
    found = sample(0, 10)
    assert all(found[kind]["failed"].startswith("diverged") for kind in KINDS)
    json.dumps(found, allow_nan=False)


@pytest.mark.slow
def test_processes_do_not_change_figures():
    """A quick sample here equals the result of another process, to the last digit."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        assert pool.submit(quick_sample, 5).result() == quick_sample(5)
