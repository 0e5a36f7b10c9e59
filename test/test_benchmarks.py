# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The benchmarks compare results before they time, and report what they promise."""

from __future__ import annotations

import json
import time

import numpy as np
import pytest

from benchmarks import timing
from benchmarks.rows import Row, table
from benchmarks.timing import Timing, interleaved

PROMISED = {"robot", "algorithm", "ours_us", "peer", "peer_us", "ratio", "max_rel_error"}


def row(**changes):
    about = {"robot": "arm", "algorithm": "rnea", "mode": "loop", "lanes": 1, "peer": "p"}
    about |= {"max_rel_error": 1e-15, "bar": 0.5} | changes
    return Row.of(Timing(1.0, 0.9, 0.1), Timing(4.0, 3.0, 0.2), Timing(1.0, 1.2, 0.0), **about)


def test_functions_take_turns():
    """No function is timed twice before the others had their turn, and medians are per state."""
    order = []

    def function(name, seconds):
        def run():
            order.append(name)
            end = time.thread_time() + seconds
            while time.thread_time() < end:
                pass

        return run

    functions = {"slow": function("slow", 0.004), "slower": function("slower", 0.008)}
    timings = interleaved(functions, {"slow": 2, "slower": 2}, rounds=3)
    # Two warm-up calls each, then one call a turn; perhaps again, if the machine was busy.
    assert order[4:10] == ["slow", "slower"] * 3
    assert 1900 < timings["slow"].best <= timings["slow"].median
    assert timings["slower"].best > 3900


def test_disturbed_timings_are_repeated(monkeypatch):
    """A noisy attempt is followed by another, and the quiet one counts."""
    noisy, quiet = {"f": Timing(9.0, 1.0, 2.0)}, {"f": Timing(1.0, 1.0, 0.01)}
    attempts = iter([noisy, quiet])
    monkeypatch.setattr(timing, "_one_attempt", lambda *_: next(attempts))
    assert interleaved({}, {}, 3) is quiet


def test_ratio_is_ours_over_the_peer_less_its_overhead():
    """A ratio below 1 means faster; the verdict compares it with the bar."""
    assert row().ratio == pytest.approx(1.0 / 3.0)
    assert row().ratio_of_best == pytest.approx(0.5)
    assert row().noise == 0.2
    assert (row().verdict, row(bar=0.1).verdict, row(bar=None).verdict) == ("met", "MISSED", "")
    assert "met: at least 2.00 times as fast" in table([row()])


def test_a_robot_is_compared_then_timed(tmp_path, monkeypatch, capsys):
    """A short run on one robot agrees with Pinocchio and MuJoCo and writes its rows."""
    pytest.importorskip("pinocchio")
    pytest.importorskip("mujoco")
    from benchmarks import __main__, closed_loops

    monkeypatch.setattr(closed_loops, "ARMS", {})
    file = tmp_path / "figures.json"
    monkeypatch.setattr(
        "sys.argv", ["benchmarks", "--robots", "ur5", "--rounds", "1", "--json", str(file)]
    )
    assert __main__.main() == 0
    report = json.loads(file.read_text())
    rows = report["rows"]
    assert all(set(r) >= PROMISED for r in rows)
    assert {(r["algorithm"], r["mode"]) for r in rows} == {
        (algorithm, mode)
        for algorithm in ("rnea", "crba", "aba")
        for mode in ("loop", "batch", "call")
    }
    assert all(r["max_rel_error"] < 1e-12 for r in rows)
    assert all(np.isfinite(r["ratio"]) and r["ours_us"] > 0 for r in rows)
    assert "numpy" in report["host"]
    assert "ur5" in capsys.readouterr().out


def test_results_that_differ_are_not_timed(monkeypatch, capsys):
    """If a result is off, nothing is reported but that."""
    pytest.importorskip("pinocchio")
    pytest.importorskip("mujoco")
    from benchmarks import __main__, trees

    monkeypatch.setattr(trees, "TOLERANCE", 1e-20)
    monkeypatch.setattr("sys.argv", ["benchmarks", "--robots", "ur5", "--rounds", "1"])
    assert __main__.main() == 1
    assert "results differ: ur5" in capsys.readouterr().err


def test_unknown_robots_are_refused(monkeypatch, capsys):
    """A robot that is none ends with the names there are."""
    pytest.importorskip("pinocchio")
    pytest.importorskip("mujoco")
    from benchmarks import __main__

    monkeypatch.setattr("sys.argv", ["benchmarks", "--robots", "hal"])
    with pytest.raises(SystemExit):
        __main__.main()
    assert "expected one of panda" in capsys.readouterr().err
