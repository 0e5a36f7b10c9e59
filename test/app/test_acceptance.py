# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The thresholds of a scenario, and the sentences for those that were missed."""

import dataclasses

import numpy as np
import pytest

from robot_dynamics.app.acceptance import AcceptanceSettings, ThresholdSettings, failures
from robot_dynamics.app.recording import Recording
from robot_dynamics.app.report import report_of


def test_only_thresholds_that_are_asked_for():
    """Thresholds that a scenario leaves out are not asked for; each engine has its own."""
    acceptance = AcceptanceSettings(
        engine=ThresholdSettings(object_position_error_max_m=1e-3),
        mujoco=ThresholdSettings(correction_max=1.0),
    )
    assert acceptance.thresholds("engine") == {"object_position_error_max_m": 1e-3}
    assert acceptance.thresholds("mujoco") == {"correction_max": 1.0}


@pytest.mark.parametrize(
    ("value", "threshold", "sentence"),
    [
        (0.5, {"object_position_error_max_m": 1.0}, None),
        (1.0, {"object_position_error_max_m": 1.0}, None),
        (
            2.0,
            {"object_position_error_max_m": 1.0},
            "object position error max [m] is 2, expected at most 1.",
        ),
        (
            None,
            {"object_position_error_max_m": 1.0},
            "object position error max [m] could not be computed; expected at most 1.",
        ),
        (
            float("nan"),
            {"object_position_error_max_m": 1.0},
            "object position error max [m] is nan, expected at most 1.",
        ),
    ],
)
def test_missed_thresholds(value, threshold, sentence):
    """A threshold is missed by more than its value, by no value and by what is no number."""
    found = failures({"object_position_error_max_m": value}, threshold)
    assert found == ([] if sentence is None else [sentence])


def test_lower_bounds():
    """Thresholds that end in `least` are lower bounds of the figure of that name."""
    figures = {"torque_fraction_of_limit_max": 0.4, "real_time_factor": 3.0}
    thresholds = {"torque_fraction_of_limit_least": 0.5, "real_time_factor_least": 2.0}
    assert failures(figures, thresholds) == [
        "torque fraction of limit max is 0.4, expected at least 0.5."
    ]


def test_missing_figures_with_a_reason():
    """Figures that are missing for one reason share a sentence that says it."""
    thresholds = {"object_position_error_settled_m": 1.0, "internal_force_error_settled_n": 2.0}
    found = failures(dict.fromkeys(thresholds), thresholds, lambda name: "the run is too short")
    assert found == [
        "object position error settled [m], internal force error settled [N] could not be "
        "computed: the run is too short."
    ]


def test_every_threshold_has_a_figure(run):
    """A threshold bounds a figure of free motion, contacts or hinges, on either side."""
    recording = run.recording
    two = np.zeros((len(recording), 2))
    columns = dict.fromkeys(("contact_force", "grasp_slip", "holding_force"), two)
    four = np.zeros((len(recording), 4))
    more = {"surface_slip": two, "slip_margin": two, "reference_contact_force": four}
    held = [["hinge", 2, "N"], ["hinge", 3, "N m"]]
    contacts = Recording(
        {**recording.columns, **columns, **more},
        {**recording.metadata, "slip_tolerance_m": 1.0, "holding_rows": held},
    )
    figures = report_of(contacts)
    for threshold in dataclasses.fields(ThresholdSettings):
        name = threshold.name.removesuffix("_least")
        assert name in figures or f"{name}_max" in figures
