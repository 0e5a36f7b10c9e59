# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The Monte Carlo study: samples by their number, and claims about their distribution."""

import numpy as np
import pytest

from robot_dynamics.app.studies.study import Sampling
from robot_dynamics.app.studies.unseren_monte_carlo import quick_sample, run, sample


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
    assert outcome.figures["samples"] == 2
    assert told == sorted(told)
    assert len(file.read_text(encoding="utf-8").splitlines()) == 3
    assert all(np.isfinite(v) for v in outcome.figures["all, feed-forward"].values())


def test_runs_that_fail_are_counted(tmp_path, monkeypatch):
    """A run that grows without bound spoils the study, and is no number of the distribution."""
    import json

    file = tmp_path / "results.jsonl"
    run(True, lambda done, doing: None, Sampling(1, 1, file))
    header, one = file.read_text(encoding="utf-8").splitlines()
    broken = json.loads(one) | {"geometry": {"failed": "grew without bound"}}
    file.write_text("\n".join([header, json.dumps(broken), ""]), encoding="utf-8")
    outcome = run(True, lambda done, doing: None, Sampling(1, 1, file))
    assert not outcome.ok
    assert outcome.figures["runs that failed"] == 1


@pytest.mark.slow
def test_processes_do_not_change_figures():
    """A quick sample here is what another process makes of it, to the last digit."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        assert pool.submit(quick_sample, 5).result() == quick_sample(5)
