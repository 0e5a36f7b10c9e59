# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Studies and their outcomes."""

import pytest

from robot_dynamics.app.studies.study import Check, Outcome


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
    """All claims have to hold; what is no number holds nothing."""
    good, bad = Check("a", 0.0, 1.0), Check("b", float("nan"), 1.0)
    assert Outcome({}, (good,), print).ok
    outcome = Outcome({"x": 1}, (good, bad), print)
    assert not outcome.ok
    assert [check["ok"] for check in outcome.as_json()["checks"]] == [True, False]
    assert outcome.as_json()["figures"] == {"x": 1}
