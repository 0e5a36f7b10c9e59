# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Samples on several cores, and the study that draws them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from support.samples import squared
from waiting import PATIENCE_S

from robot_dynamics.app.output_files import OutputError
from robot_dynamics.reproductions import unseren_monte_carlo
from robot_dynamics.reproductions.study import Sampling
from robot_dynamics.reproductions.unseren_monte_carlo import (
    Results,
    quick_sample,
    run,
    run_samples,
    sample,
)

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
    """What a sample keeps of a run without numbers is a sentence, which JSON has."""
    record = SimpleNamespace(figures=lambda: dict.fromkeys(WORDS, float("nan")))
    monkeypatch.setattr(unseren_monte_carlo, "run_case", lambda *_, **__: record)
    found = sample(0, 10)
    assert all(found[kind]["failed"].startswith("diverged") for kind in KINDS)
    json.dumps(found, allow_nan=False)


@pytest.mark.slow
def test_processes_do_not_change_figures():
    """A quick sample here is what another process makes of it, to the last digit."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        assert pool.submit(quick_sample, 5).result() == quick_sample(5)


SUBJECT = {"study": "squares"}


def nothing(done, doing):
    """Tell nobody."""


def test_results_do_not_depend_on_the_number_of_processes(tmp_path):
    """One process or three: the same results in the order of their numbers, one thread each."""
    found = []
    for jobs in (1, 3):
        results = Results(tmp_path / f"{jobs}.jsonl", SUBJECT)
        found.append(run_samples(squared, 6, jobs, results, nothing))
        results.close()
    assert [result["square"] for result in found[0]] == [0, 1, 4, 9, 16, 25]
    assert [r["square"] for r in found[1]] == [r["square"] for r in found[0]]
    assert {result["threads"] for result in found[1]} == {"1"}


def test_known_samples_are_not_run_again(tmp_path):
    """A line that was cut off is dropped, whole ones are taken up, and more may be asked for."""
    path = tmp_path / "results.jsonl"
    lines = [
        json.dumps(SUBJECT),
        json.dumps({"sample": 1, "square": "kept"}),
        '{"sample": 0, "squ',
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    told = []
    results = Results(path, SUBJECT)
    found = run_samples(squared, 3, 1, results, lambda done, doing: told.append((done, doing)))
    results.close()
    assert [result["square"] for result in found] == [0, "kept", 4]
    assert told[0] == (pytest.approx(1 / 3), "1 of 3 samples")
    assert told[-1] == (1.0, "3 of 3 samples")
    again = Results(path, SUBJECT)
    assert sorted(again.known) == [0, 1, 2]
    again.close()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            '{"study": "cubes"}\n',
            'has results of {"study": "cubes"}, expected {"study": "squares"}',
        ),
        ("squares\n", "is no file of results"),
        ('{"study": "squares"}\n{"square": 4}\n', "is no file of results"),
    ],
)
def test_files_of_something_else_are_left_alone(tmp_path, text, problem):
    """They are refused, and not written to."""
    path = tmp_path / "other"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(OutputError) as caught:
        Results(path, SUBJECT)
    assert problem in str(caught.value)
    assert path.read_text(encoding="utf-8") == text


def test_an_interruption_loses_nothing(tmp_path):
    """After Ctrl-C the file has what ended, the processes are gone, and the rest can go on."""
    path = tmp_path / "results.jsonl"
    program = (
        "from pathlib import Path\n"
        "from robot_dynamics.reproductions.unseren_monte_carlo import Results, run_samples\n"
        "from support.samples import slow\n"
        "if __name__ == '__main__':\n"
        f"    results = Results(Path({str(path)!r}), {SUBJECT!r})\n"
        "    run_samples(slow, 60, 2, results, lambda done, doing: print(doing, flush=True))\n"
    )
    script = tmp_path / "program.py"
    script.write_text(program, encoding="utf-8")
    root = Path(__file__).parents[2]
    paths = os.pathsep.join([str(root), str(root / "test"), os.environ.get("PYTHONPATH", "")])
    running = subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": paths},
    )
    for line in running.stdout:
        if line.startswith("3 of 60"):
            break
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does: to all of them
    _, said = running.communicate(timeout=PATIENCE_S)
    assert said.rstrip().endswith("KeyboardInterrupt")
    results = Results(path, SUBJECT)
    kept = len(results.known)
    results.close()
    assert 3 <= kept < 60
    assert len(path.read_text(encoding="utf-8").splitlines()) == kept + 1
