# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Failure rates and sensitivities, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.app.studies.design import design_of
from robot_dynamics.app.studies.report import failures_of_phases, worst_sample
from robot_dynamics.app.studies.settings import DistributionSettings, StudySettings
from robot_dynamics.app.studies.statistics import FAILURE, failure_rate, sensitivity
from robot_dynamics.app.studies.study import StudyResult, outcome_of

FIGURE = "object_position_error_max_m"
NOTHING = {"outcome": "good", "reason": "", "figures": {FIGURE: 0.0}}


def result_of(function, sampling, samples, numbers=3, figure=FIGURE, scenario="lift_box"):
    """Return a study whose figure is a function of numbers from 0 to 1, and which may fail."""
    vary = {f"x{i}": DistributionSettings(uniform=(0.0, 1.0)) for i in range(numbers)}
    study = StudySettings("lift_box", vary, samples=samples, sampling=sampling, seed=2)
    design = design_of(study)
    found = []
    for point in design.points:
        value = function(point)
        outcome = "good" if value is not None else "refused"
        found.append({"outcome": outcome, "reason": "", "figures": {figure: value}})
    return StudyResult(study, load_scenario(scenario), design, (figure,), NOTHING, found, "0")


@pytest.mark.parametrize(
    ("figure", "least", "lower"),
    [
        ("slip_margin_min", True, False),
        ("contact_speed_moving_max", True, True),
        ("slip_warning_lead_s", True, False),
        ("real_time_factor", True, False),
        ("torque_fraction_of_limit_max", False, False),  # it may have both bounds
        ("contact_force_max_n", False, False),
    ],
)
def test_the_worst_sample_has_the_worst_value(figure, least, lower):
    """Where more is better, as a speed that must be reached, it is the smallest value."""
    result = result_of(lambda x: float(x[0]), "plain", 20, 1, figure, "wipe")
    values = result.values(figure)
    worst = int(np.argmin(values) if least else np.argmax(values))
    assert result.worst(figure) == worst_sample(result) == worst
    assert bool(result.threshold(figure) and result.threshold(figure)[1]) == lower


@pytest.mark.parametrize(("failed", "count"), [(0, 10), (3, 10), (10, 10), (50, 2000)])
def test_the_interval_is_wilsons(failed, count):
    """Its ends are where the score test has its 95 % quantile: (p - x)^2 = z^2 x (1 - x) / n."""
    rate = failure_rate(np.arange(count) < failed)
    assert rate.value == failed / count
    for end in rate.interval:
        # The end at 0 or 1 is exact; z to ten digits.
        assert (rate.value - end) ** 2 == pytest.approx(
            1.959963984540054**2 * end * (1.0 - end) / count, abs=1e-12
        )
    low, high = rate.interval
    assert low <= rate.value <= high
    assert str(failure_rate(np.array([True, False]))).startswith("1 of 2 failed: 50 %")


def test_the_interval_of_sobol_blocks_counts_what_is_independent():
    """Blocks that repeat numbers of the first two say nothing new of the rate."""
    failed = np.tile([True, False, False, False], 6 * 4)  # 4 numbers, 6 blocks of 16
    rate, two = failure_rate(failed, saltelli=16), failure_rate(failed[:32])
    assert (rate.failed, rate.count) == (24, 96)
    assert rate.interval == two.interval


def test_a_grid_has_no_interval():
    """Its combinations are chosen, so that their number says nothing of a probability."""
    rate = failure_rate(np.array([True, False, False]), "grid")
    assert rate.interval is None
    assert str(rate) == "1 of 3 combinations failed"


def test_sobol_indices_of_a_sum_of_squares():
    """Of a x0 + b x1 the parts are a^2 and b^2 over their sum; of a product there is more."""
    found = sensitivity(result_of(lambda x: 3.0 * x[0] + 1.0 * x[1], "saltelli", 5 * 1024))
    assert found.kind == "total Sobol index"
    # A thousand scrambled samples have errors of about 1 %.
    assert found.first[:, 0] == pytest.approx([0.9, 0.1, 0.0], abs=0.02)
    assert found.values[:, 0] == pytest.approx([0.9, 0.1, 0.0], abs=0.02)
    found = sensitivity(result_of(lambda x: (x[0] - 0.5) * (x[1] - 0.5), "saltelli", 5 * 1024))
    assert found.first[:, 0] == pytest.approx([0.0, 0.0, 0.0], abs=0.05)
    assert found.values[:, 0] == pytest.approx([1.0, 1.0, 0.0], abs=0.05)


def test_rank_correlations_are_spearmans():
    """As SciPy has them, whatever monotonic function the figure is; samples without are left."""
    result = result_of(lambda x: None if x[2] > 0.9 else float(np.exp(9.0 * x[0])), "plain", 300)
    found = sensitivity(result)
    assert found.kind == "rank correlation"
    assert found.columns == (FAILURE, FIGURE)
    known = np.isfinite(result.values(FIGURE))
    points = result.design.points
    for j, (rows, output) in enumerate(
        ((slice(None), result.failed), (known, result.values(FIGURE)[known]))
    ):
        for i in range(3):
            straight = spearmanr(points[rows, i], output).statistic
            folded = spearmanr(np.abs(points[rows, i] - 0.5), output).statistic
            wanted = max(straight, folded, key=abs)
            assert found.values[i, j] == pytest.approx(wanted, abs=1e-12)  # rounding
            assert found.distance[i, j] == (wanted == folded)
    assert found.values[0, 1] == pytest.approx(1.0)
    assert found.values[2, 0] > 3.0 * found.noise[0]
    assert abs(found.values[1, 1]) < 2.0 * found.noise[1]
    # As of so many samples, of those that have the figure.
    assert found.noise == pytest.approx(2.24 / np.sqrt([299.0, known.sum() - 1]), rel=1e-12)


def test_errors_to_either_side_are_seen():
    """A figure that grows with the distance from the middle has no correlation but with that."""
    found = sensitivity(result_of(lambda x: float((x[1] - 0.5) ** 2), "sobol", 256))
    assert found.values[1, 0] == pytest.approx(1.0)
    assert found.distance[1, 0]
    assert np.all(np.abs(found.values[[0, 2], 0]) < 2.0 * found.noise[0])


def test_constant_figures_have_no_sensitivity():
    """A figure that is the same in all samples, and failures that are all or none."""
    found = sensitivity(result_of(lambda x: 1.0, "sobol", 16))
    assert found.columns == (FIGURE,)
    assert np.isnan(found.values).all()
    assert not found.noise.any()


@pytest.mark.parametrize(("having", "known"), [(2, False), (3, True)])
def test_figures_that_hardly_any_sample_has(having, known):
    """Two samples have no rank correlation, and say nothing about those of other figures."""
    values = iter([*range(having), *([None] * (16 - having))])
    found = sensitivity(result_of(lambda x: next(values), "sobol", 16))
    j = found.columns.index(FIGURE)
    assert np.isfinite(found.values[:, j]).all() == bool(found.noise[j]) == known


def test_saltelli_samples_that_fail_leave_rank_correlations():
    """Sobol indices need every sample; the first two blocks are independent samples."""
    result = result_of(lambda x: None if x[0] > 0.95 else float(x[0]), "saltelli", 5 * 64)
    found = sensitivity(result)
    assert found.kind == "rank correlation"
    assert found.values[0, 1] == pytest.approx(1.0)


def test_failures_of_phases_are_counted_without_their_numbers():
    """One line for each phase and reason, the most frequent one first; good samples have none."""
    slips = (
        "the task ended early, phase 3, lift: the hands moved by {} m, expected at most 0.002 m"
    )
    reasons = [("grasp", "the task ended early, phase 2, grasp: arm 'left' presses with 1.2 N.")]
    reasons += [("lift", slips.format(moved)) for moved in ("0.0021", "3e-05", "1")]
    reasons.append(("lift", "the controller stopped, at 2.5 s: the arms disagree by 0.01 m."))
    found = result_of(lambda point: 0.0, "plain", 1 + len(reasons), 1)
    for sample, (phase, reason) in zip(found.samples, reasons, strict=False):
        sample |= {"phase": phase, "reason": reason, "outcome": outcome_of({"failures": [reason]})}
    assert failures_of_phases(found) == [
        ("lift", "the hands moved by ... m, expected at most ... m", 3),
        ("grasp", "arm 'left' presses with ... N.", 1),
        ("lift", "the arms disagree by ... m.", 1),
    ]
    outcomes = [sample["outcome"][0] for sample in found.samples[:-1]]
    assert outcomes == ["ended", "ended", "ended", "ended", "stopped"]
