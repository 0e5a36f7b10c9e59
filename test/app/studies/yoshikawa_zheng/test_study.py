# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The three experiments keep their thresholds."""

from __future__ import annotations

import json

import pytest

from robot_dynamics.app.studies.yoshikawa_zheng.study import run


def test_a_few_of_every_kind(tmp_path):
    """The short version keeps all thresholds, tells how far it is, and is drawn and written."""
    told = []
    outcome = run(True, lambda done, doing: told.append(done))
    assert outcome.ok, [str(check) for check in outcome.checks if not check.ok]
    assert told == sorted(told)
    text = json.dumps(outcome.as_json(), allow_nan=False)
    assert "contact force rms [N]" in text
    bounced = outcome.figures["experiment 3, literal law, 1e4 N/m, perfect"]
    assert bounced["lost"] is True
    assert bounced["contacts"] > 1
    assert "bounces" in outcome.figures["warning of the literal law"]
    assert outcome.plot(tmp_path / "experiments.png").stat().st_size > 20_000


@pytest.mark.slow
def test_all_cases():
    """Models off by 20 % in many ways, walls, friction, noise and delay."""
    outcome = run(False, lambda done, doing: None)
    assert outcome.ok, [str(check) for check in outcome.checks if not check.ok]
