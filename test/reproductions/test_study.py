# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Studies: all by name, their claims and outcomes."""

from __future__ import annotations

import json
from importlib import import_module

import pytest

from robot_dynamics.errors import UnknownNameError
from robot_dynamics.reproductions.study import STUDIES, Check, StudyOutcome, largest, study_called
from robot_dynamics.reproductions.yoshikawa_zheng.controller import LAWS


@pytest.mark.parametrize(
    ("value", "ok", "words"),
    [(0.5, True, "at most 1"), (1.0, True, "at most 1"), (1.5, False, "NOT at most 1")],
)
def test_a_claim_holds_up_to_its_limit(value, ok, words):
    """A number at the limit is good, one above is not and says so."""
    check = Check("length [m]", value, 1.0)
    assert check.ok is ok
    assert str(check).endswith(f"({words})")


def test_one_bad_claim_spoils_the_outcome():
    """All claims have to hold; NaN holds nothing."""
    good, bad = Check("a", 0.0, 1.0), Check("b", float("nan"), 1.0)
    assert StudyOutcome({}, (good,), print).ok
    outcome = StudyOutcome({"x": 1}, (good, bad), print)
    assert not outcome.ok
    assert [check["ok"] for check in outcome.as_json()["checks"]] == [True, False]
    assert outcome.as_json()["figures"] == {"x": 1}


def test_json_has_numbers_or_null():
    """Values that are not finite are null, also in lists; finite ones stay."""
    check = Check("a", float("inf"), 1.0)
    figures = {"x": [1.0, float("nan")], "y": {"z": float("inf")}, "n": 3}
    found = StudyOutcome(figures, (check,), print).as_json()
    assert found["figures"] == {"x": [1.0, None], "y": {"z": None}, "n": 3}
    assert found["checks"][0]["value"] is None
    assert json.loads(json.dumps(found, allow_nan=False)) == found


@pytest.mark.parametrize(
    "values", [(0.0, float("nan"), 1.0), (float("nan"), 1.0), (1.0, float("nan"))]
)
def test_the_largest_number_keeps_what_is_none(values):
    """Wherever it stands, as no claim on it may hold; Python's own maximum drops some."""
    assert not Check("a", largest(*values), 2.0).ok
    assert largest(0.0, 3.0, 1.0) == 3.0


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)
def test_every_study_is_there(study):
    """Its function exists, and its name finds it."""
    module = import_module(f"robot_dynamics.reproductions.{study.module}")
    assert callable(getattr(module, study.function))
    assert study_called(study.name) is study


def test_names_are_different():
    """No study hides another one, and unknown names are answered by those that there are."""
    names = [study.name for study in STUDIES]
    assert len(set(names)) == len(names)
    with pytest.raises(UnknownNameError) as caught:
        study_called("no such study")
    assert caught.value.valid == tuple(names)


def test_laws_of_studies_are_those_that_they_have():
    """The registry, which imports no study, names the laws as the study itself does."""
    assert study_called("yoshikawa-zheng").laws == LAWS
