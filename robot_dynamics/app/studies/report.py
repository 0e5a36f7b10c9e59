# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The report of a study as one file of HTML, and its summary for a terminal."""

from __future__ import annotations

import base64
import html
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from robot_dynamics.app.output_files import OutputError, whole_file
from robot_dynamics.app.scenarios.acceptance import more_is_better
from robot_dynamics.app.studies.pictures import words
from robot_dynamics.app.studies.statistics import Rate, Sensitivity, failure_rate
from robot_dynamics.app.studies.study import GOOD, OUTCOMES, StudyResult

_FEW = 10  # failures that are listed
_NUMBER = re.compile(r"\b\d+(\.\d+)?(e[+-]?\d+)?\b")
_STYLE = """\
body { font: 15px/1.5 sans-serif; max-width: 62em; margin: 2em auto; padding: 0 1em; color: #222 }
table { border-collapse: collapse; margin: 1em 0 } img { max-width: 100% }
td, th { padding: .2em .8em; border-bottom: 1px solid #ddd; text-align: right }
td:first-child, th:first-child, td.text { text-align: left }
code, pre { background: #f4f6f8; padding: .1em .3em } pre { white-space: pre-wrap; padding: .6em }
"""


def summary(result: StudyResult) -> list[str]:
    """Return the lines that a terminal shows of a study."""
    lines = [f"{result.study.name}: {_rate(result)}"]
    if result.singly:
        lines.append(f"  one run at a time in each process: {result.singly}")
    counts = Counter(sample["outcome"] for sample in result.samples)
    lines += [
        f"  {count} {outcome}: {OUTCOMES[outcome]}"
        for outcome, count in counts.most_common()
        if outcome != GOOD
    ]
    lines += [
        f"  {count} in {phase}: {reason}" for phase, reason, count in failures_of_phases(result)
    ]
    if result.nominal["outcome"] != GOOD:
        lines.append(f"  without variations: {_nominal(result)}")
    width = max(len(words(name)) for name in result.figures)
    lines.append(f"  {'':{width}}  {'median':>9}  {'95 %':>9}  {'worst':>9}  of sample")
    for name, (middle, most, worst, sample) in _quantiles(result).items():
        lines.append(
            f"  {words(name):{width}}  {middle:9.4g}  {most:9.4g}  {worst:9.4g}  {sample}"
        )
    worst_case = worst_sample(result)
    if worst_case is not None:
        lines.append(f"the worst case, sample {worst_case}:")
        lines.append(f"  {result.command(worst_case)}")
    return lines


def _rate(result: StudyResult) -> Rate:
    return failure_rate(result.failed, result.study.sampling, result.design.saltelli)


def _nominal(result: StudyResult) -> str:
    """Return the outcome of the run without variations."""
    return ": ".join(filter(None, (result.nominal["outcome"], result.nominal["reason"])))


def failures_of_phases(result: StudyResult) -> list[tuple[str, str, int]]:
    """Return the phases of tasks that failed, their reasons without numbers, and their counts.

    The most frequent ones come first.
    """
    counts = Counter(
        (sample["phase"], _NUMBER.sub("...", sample["reason"].partition(": ")[2]))
        for sample in result.samples
        if sample.get("phase")
    )
    return [(*which, count) for which, count in counts.most_common()]


def worst_sample(result: StudyResult) -> int | None:
    """Return the worst sample by the first figure; None without values.

    It is chosen among failed samples, if there are any.
    """
    values = result.values(result.figures[0])
    if result.failed.any():
        values = np.where(result.failed, values, np.nan)
    if np.isnan(values).all():
        return int(np.argmax(result.failed)) if result.failed.any() else None
    least = more_is_better(result.figures[0])
    return int(np.nanargmin(values) if least else np.nanargmax(values))


def _quantiles(result: StudyResult) -> dict[str, tuple[float, float, float, int]]:
    """Return median, 95 %, worst value and its sample of each figure that has values."""
    found = {}
    for name in result.figures:
        worst = result.worst(name)
        if worst is None:
            continue
        values = result.values(name)
        part = 0.05 if more_is_better(name) else 0.95
        middle, most = np.nanquantile(values, (0.5, part))
        found[name] = float(middle), float(most), float(values[worst]), worst
    return found


def write_report(
    result: StudyResult, found: Sensitivity, pictures: Mapping[str, Path], path: Path
) -> Path:
    """Write the report of a study, pictures included.

    Args:
        result: The study.
        found: Its sensitivities.
        pictures: Its figures (.png) by their titles.
        path: The file.

    Raises:
        OutputError: If it cannot be written.
    """
    with whole_file(path, OutputError) as part:
        part.write_text("\n".join(_page(result, found, pictures)), encoding="utf-8")
    return path


def _page(result: StudyResult, found: Sensitivity, pictures: Mapping[str, Path]) -> Iterable[str]:
    study, rate = result.study, _rate(result)
    title = html.escape(study.name)
    yield f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
    yield f"<style>{_STYLE}</style></head><body><h1>{title}</h1>"
    if study.description:
        yield f"<p>{html.escape(study.description)}</p>"
    yield (
        f"<p>{rate.count} samples ({html.escape(study.sampling)}, seed {study.seed}) of the "
        f"scenario {html.escape(result.scenario.name)}, robot_dynamics "
        f"{html.escape(result.version)}.</p>"
    )
    wilson = "" if rate.interval is None else " (Wilson's interval)"
    yield f"<h2>Failures</h2><p><b>{html.escape(str(rate))}</b>{wilson}</p>"
    counts = Counter(sample["outcome"] for sample in result.samples)
    yield _table(
        ("outcome", "samples", "meaning"),
        [(name, str(counts[name]), OUTCOMES[name]) for name in OUTCOMES if counts[name]],
    )
    if of_phases := failures_of_phases(result):
        rows_of_phases = [(phase, str(count), reason) for phase, reason, count in of_phases]
        yield _table(("phase", "samples", "reason"), rows_of_phases)
    nominal = result.nominal
    yield f"<p>Without variations: {html.escape(_nominal(result))}</p>"
    yield "<h2>What varies</h2>"
    yield _table(
        ("key", "distribution"),
        [(key, _distribution(drawn)) for key, drawn in study.vary.items()],
    )
    yield "<h2>Figures</h2>"
    rows = []
    for name, (middle, most, worst, sample) in _quantiles(result).items():
        value, bound = nominal["figures"].get(name), result.threshold(name)
        rows.append(
            (
                words(name),
                "" if value is None else f"{value:.4g}",
                *(f"{one:.4g}" for one in (middle, most, worst)),
                str(sample),
                "" if bound is None else f"{'at least' if bound[1] else 'at most'} {bound[0]:g}",
            )
        )
    yield _table(
        ("figure", "without variations", "median", "95 %", "worst", "its sample", "threshold"),
        rows,
    )
    for name, place in pictures.items():
        data = base64.b64encode(place.read_bytes()).decode("ascii")
        yield f"<h2>{html.escape(name)}</h2>"
        if name == "Distributions":
            yield "<p>Orange: without variations. Dashed: the threshold.</p>"
        if name == "Sensitivity" and found.noise.any():
            # More for figures that fewer samples have.
            noise = found.noise[found.noise > 0.0]
            ends = dict.fromkeys(f"{end:.2f}" for end in (noise.min(), noise.max()))
            yield (
                "<p>Spearman's rank correlations with the number or, marked &plusmn;, with its "
                "distance from the middle of its distribution, whichever is larger; bold are "
                "those beyond "
                f"{' to '.join(ends)}, which chance alone exceeds in one of twenty cases.</p>"
            )
        yield f'<img alt="{html.escape(name)}" src="data:image/png;base64,{data}">'
    if found.first is not None:
        yield "<h2>First-order and total Sobol indices</h2>"
        heads = ("number", *(words(name) for name in found.columns))
        yield _table(
            heads,
            [
                (row, *(f"{a:.2f} / {b:.2f}" for a, b in zip(*both, strict=True)))
                for row, *both in zip(found.rows, found.first, found.values, strict=True)
            ],
        )
    worst_case = worst_sample(result)
    if worst_case is not None:
        yield f"<h2>The worst case</h2><p>Sample {worst_case}, by {words(result.figures[0])}:</p>"
        yield f"<pre>{html.escape(result.command(worst_case))}</pre>"
    failures = np.flatnonzero(result.failed)
    if len(failures):
        listed = f"the first {_FEW} of {len(failures)}" if len(failures) > _FEW else "all"
        yield f"<h2>Failed samples, {listed}</h2>"
        for number in failures[:_FEW].tolist():
            sample = result.samples[number]
            yield f"<p>{number}, {sample['outcome']}: {html.escape(sample['reason'])}</p>"
            yield f"<pre>{html.escape(result.command(number))}</pre>"
    yield "</body></html>"


def _distribution(drawn: object) -> str:
    given = {name: value for name, value in vars(drawn).items() if value is not None}
    return ", ".join(
        f"{name.replace('_', '-')} {', '.join(map(str, value)) if name != 'size' else value}"
        for name, value in given.items()
    )


def _table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = "".join(f"<th>{html.escape(one)}</th>" for one in heads)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><tr>{head}</tr>{body}</table>"
