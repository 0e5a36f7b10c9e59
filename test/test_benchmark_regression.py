# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Comparing an earlier commit with the working tree: pairs, ratios, refusals; no timings.

A repository of two commits holds a substitute for the package that answers the same commands with
figures of its own, so nothing is compiled.
"""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from benchmarks import regression
from benchmarks.regression import MeasurementError, Row, Tree, commit_of, table

# Reports a control step of STEP_US.
SUBSTITUTE = """
import json, sys
STEP_US = {step}
if "--help" in sys.argv:
    sys.exit()
duration = float(sys.argv[sys.argv.index("--duration") + 1])
report = {{"ticks": round(500 * duration), "period_s": 0.002, "real_time_factor": 2.0,
          "control_step_median_us": STEP_US, "start_to_first_torque_s": 1.0}}
with open(sys.argv[sys.argv.index("--json") + 1], "w") as file:
    json.dump(report, file)
{end}
"""

pytestmark = pytest.mark.skipif(not shutil.which("git"), reason="needs git")


@pytest.fixture(name="repository")
def repository_with_two_commits(tmp_path, monkeypatch):
    """Return a clean checkout whose control step took 10 us, and takes 20 us."""
    root = tmp_path / "checkout"
    (root / "robot_dynamics").mkdir(parents=True)
    (root / "robot_dynamics" / "__init__.py").touch()
    git(root, "init", "--quiet")
    git(root, "config", "user.name", "Test")
    git(root, "config", "user.email", "test@example.com")
    (root / ".gitignore").write_text("__pycache__\n")
    for step in (10, 20):
        write(root, step)
        git(root, "add", ".")
        git(root, "commit", "--quiet", "-m", f"Take {step} us")
    monkeypatch.setattr(regression, "ROOT", root)
    monkeypatch.setattr(regression, "STARTS", 1)
    return root


def git(root, *arguments):
    return subprocess.run(
        ["git", "-C", root, *arguments], check=True, capture_output=True, text=True
    ).stdout.strip()


def write(root, step, end=""):
    (root / "robot_dynamics" / "__main__.py").write_text(SUBSTITUTE.format(step=step, end=end))


def test_ratio_is_the_median_of_the_pairs():
    """A slowdown of both of a pair leaves its ratio unchanged."""
    row = Row.of("step [us]", [(1.0, 1.1), (10.0, 11.5), (2.0, 2.0)])
    assert (row.earlier, row.now, row.pairs) == (2.0, 2.0, 3)
    # Quotients of numbers with two digits: rounding errors only.
    assert (row.ratio, row.lowest, row.highest) == pytest.approx((1.1, 1.0, 1.15))


def test_slower_figures_are_marked():
    """A ratio above 1.2 is marked, one below is not."""
    slow, alike = Row.of("slow", [(1.0, 1.3)]), Row.of("alike", [(1.0, 1.1)])
    marked = [line for line in table([slow, alike]).splitlines() if "slower than" in line]
    assert len(marked) == 1
    assert marked[0].startswith("slow")
    assert table([]) == "Nothing was measured."


def test_default_commit_is_the_one_before_the_changes(repository):
    """A clean working tree is compared with HEAD~1, one with changes with HEAD."""
    found, described = commit_of(None)
    assert found == git(repository, "rev-parse", "HEAD~1")
    assert "Take 10 us (HEAD~1, because the working tree has no changes)" in described
    write(repository, 30)
    found, described = commit_of(None)
    assert found == git(repository, "rev-parse", "HEAD")
    assert "Take 20 us (HEAD, because the working tree has changes)" in described


def test_unknown_commit_is_refused_in_one_sentence(repository, capsys):
    """The sentence names the commit, the checkout and the expected value."""
    assert regression.main(["nowhere"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert f"nowhere: git knows no such commit in {repository}; expected a hash" in said


def test_both_trees_are_measured(repository, tmp_path, capsys, monkeypatch):
    """Each tree runs its own package: the earlier one reports 10 us, the working tree 20 us.

    Wall times are those of a machine on which nothing else runs: 1 s and a tenth of the simulated
    time.
    """
    report = Tree.report

    def report_on_a_quiet_machine(tree, *arguments):
        _, told = report(tree, *arguments)
        return 1.0 + 0.1 * told["ticks"] * told["period_s"], told

    monkeypatch.setattr(Tree, "report", report_on_a_quiet_machine)
    file = tmp_path / "figures.json"
    arguments = ["--only", "lift_box", "lockstep", "import", "help", "--repeat", "2"]
    assert regression.main([*arguments, "--json", str(file)]) == 0
    told = json.loads(file.read_text())
    assert told["earlier"] == git(repository, "rev-parse", "HEAD~1")
    assert told["not_measured"] == {}
    rows = {row["what"]: row for row in told["rows"]}
    assert list(rows) == [
        *(f"{name}: {figure}" for name in ("lift_box", "lockstep") for figure in (
            "control step [us]", "period [us]", "start to first torque [s]",
        )),
        "import robot_dynamics [ms]",
        "--help [ms]",
    ]  # fmt: skip
    assert rows["lift_box: control step [us]"]["samples"] == [[10.0, 20.0]] * 2
    assert rows["lift_box: control step [us]"]["ratio"] == 2.0
    # Rounding errors of differences of seconds.
    assert rows["lift_box: period [us]"]["now"] == pytest.approx(200.0, rel=1e-9)
    # 2 ms of simulated time, twice as fast as real time.
    assert rows["lockstep: period [us]"]["now"] == 1000.0
    seen = capsys.readouterr()
    assert "round 2 of 2: lift_box ... 2.000" in seen.err
    assert "slower than 1.2 times" in seen.out


@pytest.mark.parametrize(("bar", "status"), [("1.9", 1), ("2.1", 0)])
def test_a_ratio_above_the_bar_is_a_failure(repository, monkeypatch, bar, status):
    """With --fail-above the exit status says whether a ratio is larger."""
    values = {"earlier": 1.0, "now": 2.0}
    monkeypatch.setattr(regression, "warm_up", lambda *_: None)
    monkeypatch.setattr(regression, "measured", lambda tree, _: {"figure": values[tree.label]})
    assert regression.main(["--only", "help", "--repeat", "1", "--fail-above", bar]) == status


def test_a_working_tree_that_fails_is_a_failure(repository, capsys):
    """A failed measurement is reported with the last line of the error; the rest is measured."""
    write(repository, 20, end="print('no such scenario', file=sys.stderr); sys.exit(2)")
    assert regression.main(["--only", "lift_box", "help", "--repeat", "1"]) == 1
    out = capsys.readouterr().out
    assert "not measured: lift_box: now: `python -m robot_dynamics simulate lift_box" in out
    assert "ended with status 2: no such scenario" in out
    assert "--help [ms]" in out


def test_missing_figures_are_told(repository, tmp_path):
    """A report without a figure is no measurement."""
    main = repository / "robot_dynamics" / "__main__.py"
    main.write_text(main.read_text().replace("control_step_median_us", "another_name"))
    with pytest.raises(MeasurementError, match=r"now: figures of lockstep are missing: .*median"):
        regression.measured(Tree("now", repository, tmp_path), "lockstep")


def test_a_package_from_elsewhere_is_refused(repository, tmp_path):
    """A tree without the package would measure another installation."""
    Tree("now", repository, tmp_path).check_origin()
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "robot_dynamics.py").touch()  # found first, but not the package of the tree
    with pytest.raises(MeasurementError, match=r"earlier: Python imports .*robot_dynamics.py"):
        Tree("earlier", empty, tmp_path).check_origin()


def test_settings_of_the_package_are_not_passed_on(repository, tmp_path, monkeypatch):
    """Another commit may not know a setting by that name; the cache is that of the tree."""
    monkeypatch.setenv("ROBOT_DYNAMICS_INTERPRET", "1")
    monkeypatch.setenv("PYTHONPATH", "elsewhere")
    environment = Tree("now", repository, tmp_path).environment()
    ours = {k: v for k, v in environment.items() if k.startswith("ROBOT_DYNAMICS_")}
    assert ours == {"ROBOT_DYNAMICS_CACHE_DIR": str(tmp_path / "kernels")}
    assert environment["PYTHONPATH"].split(":") == [str(repository), "elsewhere"]


def test_ctrl_c_leaves_what_was_measured(repository, monkeypatch, capsys):
    """After an interrupt the table holds the pairs of the complete measures."""
    taken = []

    def measured(tree, _):
        if len(taken) == 2:
            raise KeyboardInterrupt
        taken.append(tree.label)
        return {"figure": 1.0}

    monkeypatch.setattr(regression, "warm_up", lambda *_: None)
    monkeypatch.setattr(regression, "measured", measured)
    assert regression.main(["--only", "help"]) == 130
    seen = capsys.readouterr()
    assert "interrupted" in seen.err
    assert "figure" in seen.out
    assert taken == ["earlier", "now"]
