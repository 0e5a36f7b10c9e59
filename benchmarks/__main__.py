# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Run the benchmarks: results are compared first, then all functions are timed in turns."""

from __future__ import annotations

import argparse
import contextlib
import os
import platform
import sys
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from robot_dynamics.app.output_files import write_json

MISSING = 2


def main() -> int:
    """Run them and return the exit status: 0, or 1 if results differ from the peers'."""
    parser = argparse.ArgumentParser("robot_dynamics benchmark", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows as JSON")
    parser.add_argument(
        "--robots",
        nargs="+",
        metavar="ROBOT",
        help="only these (panda, ur5, xarm7, baxter, stewart_platform, ladder, large)",
    )
    parser.add_argument("--rounds", type=int, default=25, help="turns of each function")
    parser.add_argument(
        "--limits",
        action="store_true",
        help="times beside those that this machine needs for the operations at its peak",
    )
    options = parser.parse_args()
    if options.limits:
        from benchmarks import limits

        limited = limits.limits(options.rounds)
        print(limits.table(limited))
        if options.json:
            rows_of_limits = [one.as_json() for one in limited]
            write_json(
                {"host": host(), "rounds": options.rounds, "limits": rows_of_limits}, options.json
            )
        return 0
    try:
        from benchmarks import (
            closed_loops,
            contact_plant,
            generated,
            hybrid_law,
            ladder,
            large,
            robots,
            rows,
            stewart,
            trees,
            two_arms,
        )
    except ModuleNotFoundError as error:
        print(
            f"{error.name} is not installed; expected the extra `test`: "
            "pip install 'robot_dynamics[test]'.",
            file=sys.stderr,
        )
        return MISSING
    known = [*robots.FILES, "stewart_platform", "ladder", "large"]
    names = options.robots or known
    unknown = [name for name in names if name not in known]
    if unknown:
        parser.error(f"unknown robot {unknown[0]!r}, expected one of {', '.join(known)}")

    if not generated.is_available():
        print("No generated C code to compare with: it needs casadi and gcc.", file=sys.stderr)
    found: list[rows.Row] = []
    try:
        for name in names:
            if name in robots.FILES:
                found += trees.rows_of(name, options.rounds)
                if generated.is_available():
                    found += generated.rows_of(name, options.rounds)
                if generated.adam_is_available():
                    found += generated.adam_rows_of(name, options.rounds)
            if name in two_arms.ARMS:
                case = two_arms.two_arms(name)
                found += closed_loops.rows_of(case, options.rounds)
                found += closed_loops.derivative_rows_of(case, options.rounds)
                found += hybrid_law.rows_of(name, options.rounds)
                found += contact_plant.rows_of(name, options.rounds)
            if name == "stewart_platform":
                found += closed_loops.rows_of(stewart.stewart_platform(), options.rounds)
            if name == "ladder":
                found += ladder.rows_of(options.rounds)
            if name == "large":
                found += large.rows_of(options.rounds)
    except AssertionError as error:
        print(f"results differ: {error}", file=sys.stderr)
        return 1
    print(rows.table(found))
    if options.json:
        report = {
            "host": host(),
            "rounds": options.rounds,
            "rows": [asdict(row) | {"verdict": row.verdict} for row in found],
        }
        write_json(report, options.json)
    return 0


def host() -> dict[str, str]:
    """Return the conditions of the figures other than the code."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    cores = str(len(os.sched_getaffinity(0)))
    result = {"processor": model, "cores": cores, "python": platform.python_version()}
    for name in ("numpy", "llvmlite", "pin", "mujoco"):
        with contextlib.suppress(PackageNotFoundError):
            result[name] = version(name)
    return result


if __name__ == "__main__":
    sys.exit(main())
