# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The samples of a study: which value each key has in which run."""

from __future__ import annotations

import itertools
import json
import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

from robot_dynamics.app.studies.settings import MOST_SAMPLES, DistributionSettings, StudySettings
from robot_dynamics.arrays import Array

_TINY = 2.0**-53  # a normal distribution has no value at 0 or 1
#: Samplings whose first samples do not depend on the number of samples.
EXTENSIBLE = ("plain", "sobol")


def override(key: str, value: Any) -> str:
    """Return a change of a scenario as `--set` takes it; numbers come back to the last bit."""
    return f"{key}={json.dumps(value)}"


@dataclass(frozen=True)
class Design:
    """Design of a study: points in the unit cube, and the values that they represent.

    Attributes:
        vary: Distributions of values by key.
        points: Points of all samples (N, d), from 0 to 1, in the order of the keys.
        saltelli: Number of samples of each block for Sobol indices; 0 without such blocks. The
            blocks are A, B, and for each number A with that number of B.
    """

    vary: Mapping[str, DistributionSettings]
    points: Array
    saltelli: int = 0

    @property
    def count(self) -> int:
        """Number of samples."""
        return len(self.points)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of the d numbers: keys, with an index where a value has several."""
        return tuple(
            key if drawn.size is None else f"{key}.{i}"
            for key, drawn in self.vary.items()
            for i in range(drawn.size or 1)
        )

    def values(self, sample: int) -> dict[str, Any]:
        """Return the value of each key in a sample."""
        found: dict[str, Any] = {}
        numbers = iter(self.points[sample].tolist())
        for key, drawn in self.vary.items():
            if drawn.size is None:
                found[key] = quantile(drawn, next(numbers))
            else:
                found[key] = [quantile(drawn, next(numbers)) for _ in range(drawn.size)]
        return found

    def overrides(self, sample: int) -> list[str]:
        """Return the changes of the scenario in a sample, as `--set` takes them."""
        return [override(key, value) for key, value in self.values(sample).items()]

    def row(self, sample: int) -> list[Any]:
        """Return the values of `columns` in a sample."""
        values = self.values(sample)
        return [
            one
            for key, drawn in self.vary.items()
            for one in (values[key] if drawn.size is not None else [values[key]])
        ]


def design_of(study: StudySettings) -> Design:
    """Return the samples of a study; the same file gives the same ones.

    Raises:
        DescriptionError: If the number of samples does not fit the sampling.
    """
    sizes = [drawn.size or 1 for drawn in study.vary.values()]
    d, n = sum(sizes), study.samples
    if study.sampling == "grid":
        return _grid(study)
    if study.sampling == "plain":
        return Design(study.vary, np.random.default_rng(study.seed).random((n, d)))
    with warnings.catch_warnings():
        # Numbers that are not a power of two: a truncated sequence is still good.
        warnings.simplefilter("ignore", UserWarning)
        if study.sampling == "latin_hypercube":
            return Design(study.vary, qmc.LatinHypercube(d, rng=study.seed).random(n))
        if study.sampling == "sobol":
            return Design(study.vary, qmc.Sobol(d, rng=study.seed).random(n))
    block, rest = divmod(n, d + 2)
    if rest or block < 2 or block & (block - 1):
        fitting = 2 ** max(1, round(math.log2(max(2.0, n / (d + 2)))))
        raise study.refused(
            "samples",
            f"{n} make no blocks for Sobol indices of {d} numbers; expected {d + 2} times a power "
            f"of two, as {fitting * (d + 2)}",
        )
    both = qmc.Sobol(2 * d, rng=study.seed).random(block)
    A, B = both[:, :d], both[:, d:]
    mixed = [np.where(np.arange(d) == i, B, A) for i in range(d)]
    return Design(study.vary, np.concatenate([A, B, *mixed]), block)


def _grid(study: StudySettings) -> Design:
    lengths = [len(drawn.choice or ()) for drawn in study.vary.values()]
    if math.prod(lengths) > MOST_SAMPLES:
        raise study.refused(
            "vary",
            f"the grid has {math.prod(lengths)} combinations; expected at most {MOST_SAMPLES}",
        )
    middles = [[(i + 0.5) / length for i in range(length)] for length in lengths]
    return Design(study.vary, np.array(list(itertools.product(*middles))))


def quantile(drawn: DistributionSettings, part: float) -> Any:
    """Return the value below which a part of a distribution lies, from 0 to 1."""
    if drawn.uniform is not None:
        low, high = drawn.uniform
        return low + part * (high - low)
    if drawn.normal is not None:
        mean, deviation = drawn.normal
        return mean + deviation * float(ndtri(min(max(part, _TINY), 1.0 - _TINY)))
    if drawn.log_uniform is not None:
        low, high = drawn.log_uniform
        return low * (high / low) ** part
    if drawn.integer is not None:
        first, last = drawn.integer
        return min(first + math.floor(part * (last - first + 1)), last)
    values = drawn.choice or ()
    return values[min(math.floor(part * len(values)), len(values) - 1)]
