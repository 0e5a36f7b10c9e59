# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Times of the hot paths of an earlier commit beside those of the working tree.

`python -m benchmarks.regression [COMMIT]` unpacks the commit into a temporary folder and measures
both trees in turns, so that whatever else the machine does meets both. It uses only the command
line of the package and its JSON reports, so the internals of the two may differ.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.__main__ import host
from benchmarks.wall_clock import within

ROOT = Path(__file__).resolve().parents[1]
# Simulated time of the long run of each scenario [s]; that of the short run, which is subtracted.
SCENARIOS = {"lift_box": 20.0, "tray": 5.0, "wipe": 5.0, "three_arms": 5.0}
SHORT_S = 0.1
LOCKSTEP_S = 4.0  # of `demo lift_box`
MEASURES = (*SCENARIOS, "lockstep", "import", "help")
STARTS = 5  # of a Python process for a sample of the import and `--help` times
SLOWER = 1.2  # Ratios above this are marked in the table.
TIME_LIMIT_S = 600.0  # of one process
STOP_S = 15.0  # after SIGINT, before SIGKILL
IMPORT = (
    "import time; t = time.perf_counter(); import robot_dynamics; print(time.perf_counter() - t)"
)
LOCATE = "import robot_dynamics; print(robot_dynamics.__file__)"

Pair = tuple[float, float]  # earlier, now


class MeasurementError(Exception):
    """Something could not be measured; the message is one sentence."""


@dataclass(frozen=True)
class Tree:
    """A copy of the source.

    Attributes:
        label: "earlier" or "now".
        root: Folder that holds the package.
        scratch: Folder where its processes run, which holds its kernel cache.
    """

    label: str
    root: Path
    scratch: Path

    def environment(self) -> dict[str, str]:
        """Return the environment of its processes: its package first, a kernel cache of its own.

        Settings of this package are dropped: another commit may not know them by that name.
        """
        kept = {k: v for k, v in os.environ.items() if not k.startswith("ROBOT_DYNAMICS_")}
        kept.pop("PYTHONDONTWRITEBYTECODE", None)  # An unpacked commit has no bytecode yet.
        others = [path for path in [kept.get("PYTHONPATH")] if path]
        kept["PYTHONPATH"] = os.pathsep.join([str(self.root), *others])
        kept["ROBOT_DYNAMICS_CACHE_DIR"] = str(self.scratch / "kernels")
        return kept

    def run(self, *arguments: str, accepted: Sequence[int] = (0,)) -> tuple[float, float, str]:
        """Run Python; return the wall time [s], the processor time [s] and the standard output.

        Raises:
            MeasurementError: If the exit status is not among `accepted`, or it takes too long.
        """
        begin, spent = time.perf_counter(), _processor_time()
        with subprocess.Popen(
            [sys.executable, *arguments], cwd=self.scratch, env=self.environment(), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        ) as child:  # fmt: skip
            try:
                out, said = child.communicate(timeout=TIME_LIMIT_S)
            except BaseException as error:
                _stop(child)
                if isinstance(error, subprocess.TimeoutExpired):
                    raise self.error(arguments, f"did not end in {TIME_LIMIT_S:g} s") from None
                raise
        wall, spent = time.perf_counter() - begin, _processor_time() - spent
        if child.returncode not in accepted:
            last = (said.strip().splitlines() or ["no message"])[-1]
            raise self.error(arguments, f"ended with status {child.returncode}: {last}")
        return wall, spent, out

    def report(self, *arguments: str) -> tuple[float, dict[str, Any]]:
        """Run a command of the package and return its processor time [s] and its JSON report.

        A short run is "not good" (status 1) because it ends before the reference does.
        """
        file = self.scratch / "report.json"
        file.unlink(missing_ok=True)
        command = ("-m", "robot_dynamics", *arguments, "--json", str(file))
        _, spent, _ = self.run(*command, accepted=(0, 1))
        try:
            return spent, json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise self.error(command, f"wrote no report: {error}") from None

    def error(self, arguments: Sequence[str], problem: str) -> MeasurementError:
        """Return the error that says what was run in this tree and what went wrong."""
        return MeasurementError(f"{self.label}: `python {' '.join(arguments)}` {problem}")

    def check_origin(self) -> None:
        """Raise a MeasurementError unless its processes import the package of this tree."""
        found = Path(self.run("-c", LOCATE)[2].strip()).resolve()
        if self.root.resolve() / "robot_dynamics" not in found.parents:
            raise MeasurementError(
                f"{self.label}: Python imports {found}, expected the package in {self.root}; is "
                "another installation ahead of PYTHONPATH?"
            )


def _processor_time() -> float:
    """Return the processor time [s] of all processes that this one has waited for."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def _stop(child: subprocess.Popen[str]) -> None:
    """Interrupt a process, so that it ends the nodes that it started; kill it if it stays."""
    try:
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=STOP_S)
    except BaseException as error:
        os.killpg(child.pid, signal.SIGKILL)
        if not isinstance(error, subprocess.TimeoutExpired):
            raise


def warm_up(tree: Tree, measure: str) -> None:
    """Run once what a measure runs, so that kernels and bytecode are cached."""
    if measure in SCENARIOS:
        tree.report("simulate", measure, "--duration", str(SHORT_S))
    elif measure == "lockstep":
        tree.report("demo", "lift_box", "--duration", str(SHORT_S))
    else:
        measured(tree, measure)


def measured(tree: Tree, measure: str) -> dict[str, float]:
    """Return one sample of each figure of a measure: name and unit, value."""
    if measure == "import":
        times = [float(tree.run("-c", IMPORT)[2]) for _ in range(STARTS)]
        return {"import robot_dynamics [ms]": 1e3 * statistics.median(times)}
    if measure == "help":
        times = [tree.run("-m", "robot_dynamics", "--help")[0] for _ in range(STARTS)]
        return {"--help [ms]": 1e3 * statistics.median(times)}
    try:
        if measure == "lockstep":
            _, told = tree.report("demo", "lift_box", "--duration", str(LOCKSTEP_S))
            period = told["period_s"] / told["real_time_factor"]
            first_torque = told["start_to_first_torque_s"]
        else:
            duration = str(SCENARIOS[measure])
            begin, short = tree.report("simulate", measure, "--duration", str(SHORT_S))
            end, told = tree.report("simulate", measure, "--duration", duration)
            # Of processor time: on a busy machine a long run can end before a short one.
            period = (end - begin) / (told["ticks"] - short["ticks"])
            # Both runs start alike; the quicker start was disturbed less.
            first_torque = min(run["start_to_first_torque_s"] for run in (short, told))
        step = told["control_step_median_us"]
        figures = {"control step [us]": step, "period [us]": 1e6 * period}
        figures["start to first torque [s]"] = first_torque
        if not min(figures.values()) > 0.0:
            raise MeasurementError(f"{tree.label}: {measure} gave {figures}, expected times > 0")
    except (KeyError, TypeError, ZeroDivisionError) as error:
        raise MeasurementError(
            f"{tree.label}: figures of {measure} are missing: {error}"
        ) from None
    return {f"{measure}: {name}": float(value) for name, value in figures.items()}


class Row(NamedTuple):
    """A figure of both trees.

    Attributes:
        what: Its name and unit.
        earlier, now: Medians.
        ratio: Median of now over earlier, of the pairs; above 1 is slower.
        lowest, highest: Of the ratios of the pairs.
        pairs: How many there are.
    """

    what: str
    earlier: float
    now: float
    ratio: float
    lowest: float
    highest: float
    pairs: int

    @classmethod
    def of(cls, what: str, pairs: Sequence[Pair]) -> Row:
        """Return the row of a figure with these pairs."""
        earlier, now = (statistics.median(side) for side in zip(*pairs, strict=True))
        ratios = [after / before for before, after in pairs]
        middle = statistics.median(ratios)
        return cls(what, earlier, now, middle, min(ratios), max(ratios), len(pairs))


def table(rows: Sequence[Row]) -> str:
    """Return the table that is printed."""
    if not rows:
        return "Nothing was measured."
    lines = [f"{'':<38s}{'earlier':>10s}{'now':>10s}{'ratio':>8s}   lowest to highest"]
    for row in rows:
        mark = f"   slower than {SLOWER:g} times" if row.ratio > SLOWER else ""
        lines.append(
            f"{row.what:<38s}{row.earlier:>10.4g}{row.now:>10.4g}{row.ratio:>8.3f}"
            f"   {row.lowest:.3f} to {row.highest:.3f}{mark}"
        )
    return "\n".join([*lines, "Medians; a ratio is now over earlier, of pairs measured in turns."])


def commit_of(name: str | None) -> tuple[str, str]:
    """Return the hash of the commit to compare with, and its description.

    Args:
        name: What git calls it; None is HEAD if the working tree has changes, otherwise HEAD~1.

    Raises:
        MeasurementError: If there is no such commit.
    """
    wanted = name or ("HEAD" if git("status", "--porcelain") else "HEAD~1")
    try:
        found = git("rev-parse", "--verify", "--quiet", f"{wanted}^{{commit}}")
    except MeasurementError:
        raise MeasurementError(
            f"{wanted}: git knows no such commit in {ROOT}; expected a hash, a branch or a tag"
        ) from None
    reasons = {"HEAD": "the working tree has changes", "HEAD~1": "the working tree has no changes"}
    why = "" if name else f" ({wanted}, because {reasons[wanted]})"
    return found, git("log", "-1", "--format=%h %s", found) + why


def git(*arguments: str) -> str:
    """Return the output of a git command in this checkout, or raise a MeasurementError."""
    command = ["git", "-C", str(ROOT), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except FileNotFoundError:
        raise MeasurementError("git is not installed; expected it and a checkout") from None
    except subprocess.CalledProcessError as error:
        raise MeasurementError(f"git {arguments[0]} failed: {error.stderr.strip()}") from None
    return done.stdout.strip()


def compared(
    earlier: Tree,
    now: Tree,
    measures: Sequence[str],
    repeat: int,
    pairs: dict[str, list[Pair]],
    failed: dict[str, str],
) -> None:
    """Measure two trees in turns.

    Args:
        earlier: The tree of the commit.
        now: The working tree.
        measures: Of MEASURES.
        repeat: How many pairs of each figure.
        pairs: Gets the pairs by figure as they come, and so holds them after Ctrl-C as well.
        failed: Gets the measures that could not be taken, and why.
    """
    for number in range(repeat + 1):
        for measure in (one for one in measures if one not in failed):
            label = f"round {number} of {repeat}" if number else "warm-up"
            print(f"{label}: {measure} ...", end=" ", file=sys.stderr, flush=True)
            try:
                if number == 0:
                    warm_up(earlier, measure)
                    warm_up(now, measure)
                    print("done", file=sys.stderr)
                    continue
                # Each is the first one in every other round.
                order = (earlier, now) if number % 2 else (now, earlier)
                found = {tree.label: measured(tree, measure) for tree in order}
            except MeasurementError as error:
                failed[measure] = str(error)
                print(error, file=sys.stderr)
                continue
            new = {k: (found["earlier"][k], v) for k, v in found["now"].items()}
            for figure, pair in new.items():
                pairs.setdefault(figure, []).append(pair)
            print(", ".join(f"{b / a:.3f}" for a, b in new.values()), file=sys.stderr)


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare and return the exit status: 1 if too slow or broken, 2 if refused, 130 if ended."""
    parser = argparse.ArgumentParser("python -m benchmarks.regression", description=__doc__)
    parser.add_argument(
        "commit", nargs="?", metavar="COMMIT",
        help="to compare with (default: HEAD if the working tree has changes, otherwise HEAD~1)",
    )  # fmt: skip
    parser.add_argument(
        "--repeat", type=within(1, 1000, int), default=5, metavar="N",
        help="pairs of each figure (default: 5)",
    )  # fmt: skip
    parser.add_argument(
        "--only", nargs="+", choices=MEASURES, default=MEASURES, metavar="NAME",
        help=f"measure only these: {', '.join(MEASURES)}",
    )  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE", help="write rows and pairs as JSON")
    parser.add_argument(
        "--fail-above", type=within(0.0, 1e6, float), metavar="RATIO",
        help="exit with status 1 if a ratio is larger (default: never)",
    )  # fmt: skip
    options = parser.parse_args(arguments)
    pairs: dict[str, list[Pair]] = {}
    failed: dict[str, str] = {}
    commit, ended = "", False
    try:
        commit, described = commit_of(options.commit)
        with tempfile.TemporaryDirectory(prefix="regression-") as name:
            folder = Path(name)
            source = folder / "source"
            git("archive", "--format=tar", "--output", str(folder / "commit.tar"), commit)
            shutil.unpack_archive(folder / "commit.tar", source, "tar")
            trees = []
            for label, root in (("earlier", source), ("now", ROOT)):
                (folder / label).mkdir()
                trees.append(Tree(label, root, folder / label))
                trees[-1].check_origin()
            print(f"earlier: {described}\nnow:     the working tree {ROOT}", flush=True)
            names = tuple(dict.fromkeys(options.only))
            compared(trees[0], trees[1], names, options.repeat, pairs, failed)
    except MeasurementError as error:
        print(f"regression: {error}.", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nregression: interrupted; this is what was measured.", file=sys.stderr)
        ended = True
    rows = [Row.of(what, some) for what, some in pairs.items()]
    print(table(rows))
    for measure, why in failed.items():
        print(f"not measured: {measure}: {why}")
    if options.json:
        told = [row._asdict() | {"samples": pairs[row.what]} for row in rows]
        result = {"host": host(), "earlier": commit, "rows": told, "not_measured": failed}
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if ended:
        return 130
    bar = options.fail_above
    slow = bar is not None and any(row.ratio > bar for row in rows)
    broken = any(why.startswith("now:") for why in failed.values())
    return 1 if slow or broken else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # `timeout` ends it as Ctrl-C does
    sys.exit(main())
