# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The benchmarks compare results before they time, and report all promised rows."""

from __future__ import annotations

import json
import time
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import timing
from benchmarks.rows import Row, table
from benchmarks.timing import Timing, interleaved

PROMISED = {"robot", "algorithm", "ours_us", "peer", "peer_us", "ratio", "max_rel_error"}


def row(**changes):
    about = {"robot": "arm", "algorithm": "rnea", "mode": "loop", "lanes": 1, "peer": "p"}
    about |= {"max_rel_error": 1e-15, "threshold": 0.5} | changes
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
    """A ratio below 1 means faster; the verdict compares it with the threshold."""
    assert row().ratio == pytest.approx(1.0 / 3.0)
    assert row().ratio_of_best == pytest.approx(0.5)
    assert row().noise == 0.2
    assert (row().verdict, row(threshold=0.1).verdict, row(threshold=None).verdict) == (
        "met",
        "MISSED",
        "",
    )
    assert "met: at least 2.00 times as fast" in table([row()])


def test_a_robot_is_compared_then_timed(tmp_path, monkeypatch, capsys):
    """A short run on one robot agrees with Pinocchio and MuJoCo and writes its rows."""
    pytest.importorskip("pinocchio", exc_type=ImportError)
    pytest.importorskip("mujoco")
    from benchmarks import __main__, generated

    monkeypatch.setattr(generated, "is_available", lambda: False)
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
    } | {
        ("rnea", "all cores"),
        ("aba", "all cores"),
        ("aba derivatives", "loop"),
        ("aba derivatives", "batch"),
    }
    assert all(r["max_rel_error"] < 1e-12 for r in rows)
    assert all(np.isfinite(r["ratio"]) and r["ours_us"] > 0 for r in rows)
    assert "numpy" in report["host"]
    assert "ur5" in capsys.readouterr().out


def test_large_models_are_compared_then_timed(monkeypatch):
    """Chains, trees and rings agree with Pinocchio; rows state the time of compilation."""
    pytest.importorskip("pinocchio", exc_type=ImportError)
    pytest.importorskip("mujoco")
    from benchmarks import large

    for name, bodies in (("CHAINS", (6,)), ("TREES", (6,)), ("RINGS", (24,)), ("MATRICES", ())):
        monkeypatch.setattr(large, name, bodies)
    rows = large.rows_of(1)
    assert [row.robot for row in rows] == [*["chain of 6"] * 3, *["tree of 6"] * 3, "ring of 24"]
    assert all("ns a body, compiled in" in row.remark for row in rows)


@pytest.mark.usefixtures("interpreted")
def test_matrices_of_large_models_are_compared_then_timed(monkeypatch):
    """Matrices of a chain and a ring have an entry for every pair of joints."""
    pytest.importorskip("pinocchio", exc_type=ImportError)
    pytest.importorskip("mujoco")
    from benchmarks import large
    from robot_dynamics.robot import long_trees

    monkeypatch.setattr(long_trees, "_LONG", 0)
    for name in ("CHAINS", "TREES", "RINGS"):
        monkeypatch.setattr(large, name, ())
    monkeypatch.setattr(large, "MATRICES", (8,))
    rows = large.rows_of(1)
    assert [row.robot for row in rows] == [*["chain of 8"] * 5, "ring of 8"]
    assert all(row.max_rel_error < large.TOLERANCE for row in rows)


@pytest.mark.slow
def test_generated_code_is_compared_then_timed():
    """C code that CasADi makes of our source computes the same, derivatives included."""
    pytest.importorskip("casadi")
    pytest.importorskip("pinocchio", exc_type=ImportError)
    pytest.importorskip("mujoco")
    from benchmarks import generated

    if not generated.is_available():
        pytest.skip("there is no gcc")
    rows = generated.rows_of("ur5", 1)
    assert [row.algorithm for row in rows] == [
        *("rnea", "crba", "aba", "rnea derivatives", "aba derivatives")
    ]
    assert all(row.max_rel_error < 1e-12 and row.peer_us for row in rows)


@pytest.mark.slow
def test_adam_robotics_is_compared_then_timed():
    """Its C code computes the same of an arm whose fingers are locked, on a floating base too."""
    for package in ("adam.casadi", "pinocchio", "mujoco"):
        pytest.importorskip(package, exc_type=ImportError)
    from benchmarks import generated

    if not generated.adam_is_available():
        pytest.skip("there is no gcc")
    rows = generated.adam_rows_of("panda", 1)
    assert len(rows) == 3
    assert all(row.max_rel_error < 1e-12 and row.peer_us for row in rows)


def test_a_threshold_may_be_a_time():
    """If a time is set as well as a ratio, meeting one of them is enough."""
    assert row(threshold=0.1, threshold_us=1.0).verdict == "met"
    assert row(threshold=0.1, threshold_us=0.5).verdict == "MISSED"
    assert row(threshold=0.5, threshold_us=0.5).verdict == "met"
    assert "or at most 1.0 us" in table([row(threshold_us=1.0)])


def test_closed_loops_are_compared_then_timed(tmp_path, monkeypatch):
    """A platform agrees with Pinocchio; ladders have no peer, but a time a rung and a slope."""
    pytest.importorskip("pinocchio", exc_type=ImportError)
    pytest.importorskip("mujoco")
    from benchmarks import __main__, ladder

    monkeypatch.setattr(ladder, "RUNGS", (10, 40))
    file, names = tmp_path / "figures.json", ["stewart_platform", "ladder"]
    monkeypatch.setattr(
        "sys.argv", ["benchmarks", "--robots", *names, "--rounds", "1", "--json", str(file)]
    )
    assert __main__.main() == 0
    rows = json.loads(file.read_text())["rows"]
    assert all(set(r) >= PROMISED for r in rows)
    assert {r["algorithm"] for r in rows} == {"closed_loop_forward_dynamics"}
    assert [r["mode"] for r in rows] == ["loop", "batch", "call", "sparse", "sparse"]
    assert all(r["max_rel_error"] < 1e-10 for r in rows)
    assert all("pin.constraintDynamics" in r["peer"] and r["ratio"] > 0 for r in rows[:3])
    few, many = rows[3:]
    assert (few["peer"], few["peer_us"], few["ratio"]) == (None, None, None)
    assert (few["rungs"], many["rungs"], few["slope"]) == (10, 40, None)
    assert many["us_per_rung"] == pytest.approx(many["ours_us"] / 40)
    growth = np.log(many["ours_us"] / few["ours_us"]) / np.log(4)
    assert many["slope"] == pytest.approx(growth)


@pytest.mark.parametrize(
    ("module", "robot", "said"),
    [
        ("trees", "ur5", "ur5"),
        ("closed_loops", "stewart_platform", "Stewart platform"),
        ("ladder", "ladder", "ladder of 10"),
    ],
)
def test_results_that_differ_are_not_timed(module, robot, said, monkeypatch, capsys):
    """If a result is off, nothing is reported but that."""
    pytest.importorskip("pinocchio", exc_type=ImportError)
    pytest.importorskip("mujoco")
    from importlib import import_module

    from benchmarks import __main__

    monkeypatch.setattr(import_module(f"benchmarks.{module}"), "TOLERANCE", 1e-20)
    monkeypatch.setattr("sys.argv", ["benchmarks", "--robots", robot, "--rounds", "1"])
    assert __main__.main() == 1
    assert f"results differ: {said}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("internal_force_adapted", "part", "added", "kind"),
    [
        (False, 1.0, 0.0, "step"),
        (False, 1.0, -3.0, "relieved step"),
        (True, 1.0, -3.0, "relieving step"),
        (True, 0.7, -1.0, "relieving step"),
        (False, 0.7, -1.0, "held-back step"),
    ],
)
def test_steps_are_told_apart_by_what_limits_make_of_them(
    internal_force_adapted, part, added, kind
):
    """An internal force may give way, have done so before, or be of no help."""
    pytest.importorskip("pinocchio", exc_type=ImportError)
    from benchmarks.hybrid_law import kind_of

    force = np.array([added])
    step = SimpleNamespace(
        internal_force_adapted=internal_force_adapted,
        effort_scale=part,
        added_internal_force=force,
    )
    assert kind_of(step) == kind


@pytest.mark.slow
def test_steps_of_every_kind_are_timed():
    """The limited controller makes each kind, the free one none of them; both are compared."""
    pytest.importorskip("pinocchio", exc_type=ImportError)
    from benchmarks import hybrid_law

    rows = hybrid_law.rows_of("xarm7", rounds=1)
    kinds = ["step", "relieved step", "relieving step", "held-back step"]
    assert [r.mode for r in rows] == kinds
    assert all(0.0 < r.ours_us <= r.p99_us for r in rows)


def test_unknown_robots_are_refused(monkeypatch, capsys):
    """A robot that is none ends with the names there are."""
    pytest.importorskip("pinocchio", exc_type=ImportError)
    pytest.importorskip("mujoco")
    from benchmarks import __main__

    monkeypatch.setattr("sys.argv", ["benchmarks", "--robots", "hal"])
    with pytest.raises(SystemExit):
        __main__.main()
    assert "expected one of panda" in capsys.readouterr().err


def test_late_commands_do_not_count():
    """Whoever computes for longer than a period answers none; nobody answers more than all."""
    from benchmarks.bare_exchange import answered

    assert answered(0.2, 0.01, here=0.0, there=0.02) == 0.0
    assert 0.0 <= answered(0.2, 0.01, here=0.0, there=0.0) <= 1.0
