# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The command `robot_dynamics reproduce`."""

import json

import pytest

from robot_dynamics.__main__ import main
from robot_dynamics.reproductions import study
from robot_dynamics.reproductions.study import STUDIES, Check, Sampling, Study, StudyOutcome


def short(monkeypatch, value):
    """Put a study that measures a value, and draws a line, in the place of all others."""

    class Short(Study):
        def run(self, tell, *, quick=False):
            tell(0.5, "half of it")
            figures = {"list": [1.0, 2.0], "by name": {"a": 0.25}, "count": 3, "quick": quick}
            check = Check("error [m]", value, 1e-3)
            return StudyOutcome(figures, (check,), lambda figure: figure.subplots().plot([0, 1]))

    monkeypatch.setattr(study, "STUDIES", (Short("short", "a short one", "short"),))


def test_studies_are_listed(capsys):
    """A line for each, with its name and its subject."""
    assert main(["reproduce", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [study.name for study in STUDIES]
    assert all(study.summary in line for line, study in zip(lines, STUDIES, strict=True))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["flexible-lnk"], "unknown study 'flexible-lnk'; did you mean 'flexible-link'?"),
        (["zzz"], "unknown study 'zzz'; expected one of"),
        ([], "names no study, expected one of"),
        (["flexible-link", "--jobs", "2"], "study 'flexible-link' has no samples"),
        (
            ["yoshikawa-zheng", "--law", "literel"],
            "unknown law of study 'yoshikawa-zheng' 'literel'; did you mean 'literal'?",
        ),
        (["flexible-link", "--law", "damped"], "there is no law of study 'flexible-link' at all"),
        (["flexible-link", "--json", "no/folder/f.json"], "there is no folder no/folder"),
        (["flexible-link", "--plot", "no/folder/f.png"], "there is no folder no/folder"),
    ],
)
def test_invalid_arguments_are_refused_before_the_run(words, message, capsys):
    """One sentence with the valid names, and status 2."""
    assert main(["reproduce", *words]) == 2
    assert message in capsys.readouterr().err


def test_figures_claims_and_files(monkeypatch, capsys, tmp_path):
    """Figures and claims are printed, and written as JSON; the plot is a picture."""
    pytest.importorskip("matplotlib")
    short(monkeypatch, 2e-4)
    files = tmp_path / "f.json", tmp_path / "f.png"
    words = ["reproduce", "short", "--quick", "--json", str(files[0]), "--plot", str(files[1])]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "half of it" in said
    assert "list: 1, 2\nby name: a 0.25\ncount: 3\nquick: True\n" in said
    *_, head, _, row, blank, verdict = said.splitlines()
    assert head.split() == ["claim", "measured", "at", "most", "holds"]
    assert row.split() == ["error", "[m]", "0.0002", "0.001", "yes"]
    assert (blank, verdict) == ("", "short: all 1 claims hold")
    report = json.loads(files[0].read_text())
    assert report["study"] == "short"
    assert report["ok"] is True
    assert report["checks"] == [{"claim": "error [m]", "value": 2e-4, "limit": 1e-3, "ok": True}]
    assert files[1].read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("value", [2e-3, float("nan")])
def test_claims_that_do_not_hold(monkeypatch, capsys, value):
    """Status 1 and the claim on standard error; a number that is none holds nothing."""
    short(monkeypatch, value)
    assert main(["reproduce", "short"]) == 1
    said = capsys.readouterr()
    assert "robot_dynamics: short: error [m]: " in said.err
    *_, row, _, verdict = said.out.splitlines()
    assert row.endswith("NO")
    assert verdict == "short: 1 of 1 claims FAIL"


def test_json_alone_on_standard_output(monkeypatch, capsys):
    """With `--json -` another program reads the standard output."""
    short(monkeypatch, 2e-4)
    assert main(["reproduce", "short", "--json", "-"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["ok"] is True
    assert "all 1 claims hold" in said.err


def test_samples_reach_the_study(monkeypatch, tmp_path):
    """The study gets the number of samples, the processes and the folder."""
    seen = []

    class Sampled(Study):
        def run(self, tell, *, quick=False, sampling=None):
            seen.append(sampling)
            return StudyOutcome({}, (), print)

    monkeypatch.setattr(study, "STUDIES", (Sampled("many", "m", "many", sampled=True),))
    file = tmp_path / "r.jsonl"
    words = ["reproduce", "many", "--samples", "7", "--jobs", "2", "--results", str(file)]
    assert main(words) == 0
    assert seen == [Sampling(7, 2, file)]
    with pytest.raises(SystemExit):
        main(["reproduce", "many", "--samples", "none"])
