# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Samples are drawn from the distributions that a study states, the same ones every time."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats

from robot_dynamics.app.studies.design import design_of, override
from robot_dynamics.app.studies.settings import DistributionSettings, StudySettings
from robot_dynamics.description.diagnosis import DescriptionError
from robot_dynamics.errors import ArgumentError

DISTRIBUTIONS = {
    "uniform": (DistributionSettings(uniform=(2.0, 5.0)), stats.uniform(2.0, 3.0)),
    "normal": (DistributionSettings(normal=(1.0, 0.2)), stats.norm(1.0, 0.2)),
    "log_uniform": (DistributionSettings(log_uniform=(0.01, 10.0)), stats.loguniform(0.01, 10.0)),
}


def study(vary, **options):
    """Return a study of some keys."""
    return StudySettings("lift_box", vary, **options)


def drawn(design, key):
    """Return the values of a key in all samples."""
    return [design.values(number)[key] for number in range(design.count)]


@pytest.mark.parametrize("kind", DISTRIBUTIONS)
@pytest.mark.parametrize("sampling", ["plain", "latin_hypercube", "sobol"])
def test_values_have_the_distribution(kind, sampling):
    """The test of Kolmogorov and Smirnov against SciPy's own distribution does not object."""
    settings, wanted = DISTRIBUTIONS[kind]
    values = drawn(design_of(study({"a": settings}, samples=512, sampling=sampling)), "a")
    # Seeds are fixed: this fails where the distribution is another one, and never by chance.
    assert stats.kstest(values, wanted.cdf).pvalue > 0.01
    other = stats.kstest(1.1 * np.array(values) ** 1.2, wanted.cdf).pvalue
    assert other < 0.01  # it can tell


@pytest.mark.parametrize("sampling", ["plain", "latin_hypercube", "sobol"])
def test_whole_numbers_and_choices_are_equally_likely(sampling):
    """Each comes as often as any other, ends included."""
    vary = {
        "whole": DistributionSettings(integer=(-1, 2)),
        "choice": DistributionSettings(choice=("a", [1, 2], None)),
    }
    design = design_of(study(vary, samples=1024, sampling=sampling))
    whole = drawn(design, "whole")
    assert sorted(set(whole)) == [-1, 0, 1, 2]
    # Plain random counts of 256 differ by 14 (standard deviation).
    assert all(abs(whole.count(value) - 256) < 60 for value in range(-1, 3))
    kinds = [json.dumps(value) for value in drawn(design, "choice")]
    assert {kind: abs(kinds.count(kind) - 341) < 60 for kind in kinds} == {
        '"a"': True, "[1, 2]": True, "null": True,
    }  # fmt: skip


@pytest.mark.parametrize("sampling", ["plain", "sobol"])
def test_more_samples_go_on_from_the_first(sampling):
    """Results that are there stay valid when a study is made larger."""
    vary = {"a": DistributionSettings(uniform=(0.0, 1.0), size=3)}
    few, many = (
        design_of(study(vary, samples=count, sampling=sampling, seed=4)) for count in (10, 37)
    )
    assert np.array_equal(many.points[:10], few.points)
    other = design_of(study(vary, samples=10, sampling=sampling, seed=5))
    assert not np.array_equal(other.points, few.points)


def test_a_latin_hypercube_has_one_sample_in_each_layer():
    """Of N samples one is in every N-th part of each number."""
    vary = {name: DistributionSettings(uniform=(0.0, 1.0)) for name in "abc"}
    points = design_of(study(vary, samples=50, sampling="latin_hypercube")).points
    layers = np.sort(np.floor(50 * points), axis=0)
    assert np.array_equal(layers, np.tile(np.arange(50.0)[:, None], 3))


def test_a_grid_has_all_combinations():
    """In the order of the keys, the last one fastest, whatever number of samples is stated."""
    vary = {
        "delay": DistributionSettings(choice=(0, 1, 2)),
        "kind": DistributionSettings(choice=("x", "y")),
    }
    design = design_of(study(vary, sampling="grid"))
    pairs = list(zip(drawn(design, "delay"), drawn(design, "kind"), strict=True))
    assert pairs == [(0, "x"), (0, "y"), (1, "x"), (1, "y"), (2, "x"), (2, "y")]


def test_blocks_of_a_saltelli_design_differ_in_one_number():
    """A with one column of B each; another number of samples is refused with one that fits."""
    vary = {"a": DistributionSettings(uniform=(0.0, 1.0), size=2)}
    design = design_of(study(vary, sampling="saltelli", samples=4 * 8))
    A, B, first, second = design.points.reshape(4, 8, 2)
    assert np.array_equal(first, np.column_stack([B[:, 0], A[:, 1]]))
    assert np.array_equal(second, np.column_stack([A[:, 0], B[:, 1]]))
    with pytest.raises(DescriptionError, match="expected 4 times a power of two, as 32"):
        design_of(study(vary, sampling="saltelli", samples=33))


def test_overrides_come_back_to_the_last_bit():
    """The value read by `--set` is the drawn value."""
    vary = {
        "plant.grasp_error.left.xyz": DistributionSettings(normal=(0.0, 1e-3), size=3),
        "plant.object_mass_scale": DistributionSettings(log_uniform=(1e-9, 1e9)),
    }
    design = design_of(study(vary, samples=64))
    for number in range(64):
        for text in design.overrides(number):
            key, _, value = text.partition("=")
            assert json.loads(value) == design.values(number)[key]
    assert design.columns[2:] == ("plant.grasp_error.left.xyz.2", "plant.object_mass_scale")
    assert override("a.b", True) == "a.b=true"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({}, "has no distribution; expected one of uniform"),
        ({"uniform": (0, 1), "choice": (1,)}, "has uniform and choice; expected one of"),
        ({"uniform": (2.0, 1.0)}, "uniform is from 2 to 1; expected a range"),
        ({"log_uniform": (0.0, 1.0)}, "log_uniform begins at 0; expected more than 0"),
        ({"normal": (0.0, -1.0)}, "standard deviation -1; expected 0 or more"),
        ({"choice": ()}, "choice is empty"),
    ],
)
def test_distributions_that_are_none_are_refused(options, problem):
    """In a sentence with the expected value."""
    with pytest.raises(ArgumentError, match=problem):
        DistributionSettings(**options)
