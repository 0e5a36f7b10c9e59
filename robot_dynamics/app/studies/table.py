# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Table of a study as a Parquet file: a row for each sample, and shared metadata."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.app.output_files import OutputError, whole_file
from robot_dynamics.app.studies.study import StudyResult
from robot_dynamics.errors import optional_package


def require_parquet() -> Any:
    """Return pyarrow.

    Raises:
        OutputError: If it is missing; says how to install it.
    """
    return optional_package("pyarrow.parquet", "tables of studies", "study", OutputError)


def table_of(result: StudyResult) -> Any:
    """Return the table of a study.

    Its columns are `sample`, the varied numbers by their keys, the recorded figures, `outcome`,
    `reason` and, of a task, the `phase` in which it failed; figures that are no finite number, and
    phases of samples that failed in none, are null. The metadata of its schema have, as JSON
    below the key "robot_dynamics", study, seed, sampling, number of samples, version, the command
    of the run without variations, and the scenario with the changes that all samples have.
    """
    arrow = require_parquet()
    rows = [result.design.row(number) for number in range(result.design.count)]
    columns: dict[str, Any] = {"sample": np.arange(len(rows))}
    for i, name in enumerate(result.design.columns):
        values = [row[i] for row in rows]
        plain = all(isinstance(one, (int, float)) for one in values)
        columns[name] = arrow.array(values if plain else [json.dumps(one) for one in values])
    for name in result.figures:
        found = [sample["figures"][name] for sample in result.samples]
        columns[name] = arrow.array(found, arrow.float64())
    for name in ("outcome", "reason"):
        columns[name] = arrow.array([sample[name] for sample in result.samples], arrow.string())
    study = result.study
    if result.scenario.task:
        phases = [sample.get("phase") for sample in result.samples]
        columns["phase"] = arrow.array(phases, arrow.string())
    about = {
        "study": study.name,
        "seed": study.seed,
        "sampling": study.sampling,
        "samples": result.design.count,
        "version": result.version,
        "nominal": result.command(None),
        "scenario": result.scenario.text(),
    }
    return arrow.table(columns).replace_schema_metadata({"robot_dynamics": json.dumps(about)})


def write_table(result: StudyResult, path: Path) -> Path:
    """Write the table of a study; the file appears whole or not at all.

    Raises:
        OutputError: If it cannot be written, or pyarrow is missing.
    """
    arrow = require_parquet()
    with whole_file(path, OutputError) as part:
        arrow.parquet.write_table(table_of(result), part, compression="zstd")
    return path
