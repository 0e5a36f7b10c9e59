# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Run the published tests of contact simulators on our engine, MuJoCo and Pinocchio's solver.

    python -m benchmarks.contact_peers --json figures.json --plot figures.png
    python -m benchmarks.contact_peers --quick --scenes rolling palms
    python -m benchmarks.contact_peers --solvers

Errors are against closed forms (`contact_scenes`); times are of the processor, for the thread that
steps, without building, the best of two runs that take turns. `--solvers` compares solvers on
problems of these scenes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import contact_scenes as scenes
from robot_dynamics.app.output_files import write_json

MISSING = 2
STEPS = (4e-3, 2e-3, 1e-3, 5e-4, 2.5e-4, 1e-4)
QUICK = (4e-3, 1e-3)
# An error below this is rounding.
_LEAST = 1e-16

SCENES: dict[str, Callable[[], scenes.Scene]] = {
    "rolling": scenes.rolling,
    "carried": scenes.carried,
    "stack": scenes.stack,
    "rod": scenes.rod,
    "jam": lambda: scenes.rod(2.0),
    "palms": scenes.palms,
    "bounce": scenes.bounce,
    "bounces": scenes.bounces,
}
SMALL: dict[str, Callable[[], scenes.Scene]] = SCENES | {
    "rolling": lambda: scenes.rolling(2, 0.2),
    "carried": lambda: scenes.carried(2, 0.2),
    "stack": lambda: scenes.stack(duration=0.2),
    "palms": lambda: scenes.palms(0.2),
    "bounce": lambda: scenes.bounce(1.0),
    "bounces": lambda: scenes.bounces(1, 1.0),
}


class Result(NamedTuple):
    """One run.

    Attributes:
        scene: What was simulated.
        engine: By what.
        step: Length of its steps [s].
        error: Of the scene, in `unit`; infinite if the engine gave up.
        unit: Of the error.
        seconds: For a second.
    """

    scene: str
    engine: str
    step: float
    error: float
    unit: str
    seconds: float


def results_of(scene: scenes.Scene, step: float, rounds: int) -> list[Result]:
    """Return the results of all engines for a scene with steps of a length [s]."""
    from benchmarks.contact_engines import ENGINES, run

    errors: dict[str, float] = {}
    seconds: dict[str, list[float]] = {}
    for _ in range(rounds):
        for kind in ENGINES:
            try:
                motion = run(lambda kind=kind: kind(scene, step))  # type: ignore[misc]
            except NotImplementedError:
                continue
            error = scene.error(motion)
            errors[kind.name] = error if np.isfinite(error) else np.inf
            seconds.setdefault(kind.name, []).append(motion.seconds)
    return [
        Result(scene.name, name, step, error, scene.unit, min(seconds[name]))
        for name, error in errors.items()
    ]


def table(found: list[Result]) -> str:
    """Return errors and seconds a second, a line for each engine and scene."""
    steps = sorted({r.step for r in found}, reverse=True)
    lines = [f"{'':30s}" + "".join(f"{1e3 * h:>12.3g} ms   " for h in steps)]
    for scene in dict.fromkeys(r.scene for r in found):
        own = [r for r in found if r.scene == scene]
        lines.append(f"{scene} [error {own[0].unit}; seconds a second]")
        for engine in dict.fromkeys(r.engine for r in own):
            cells = {r.step: f"{r.error:9.1e} {r.seconds:7.3f}" for r in own if r.engine == engine}
            lines.append(f"  {engine:28s}" + "".join(f"{cells.get(h, ''):18s}" for h in steps))
    return "\n".join(lines)


def plot(found: list[Result], path: Path) -> None:
    """Draw errors over seconds a second, a line for each engine, a point for each step."""
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(r.scene for r in found))
    columns = min(4, len(names))
    rows = -(-len(names) // columns)
    figure, axes = plt.subplots(
        rows, columns, figsize=(3.1 * columns, 2.6 * rows), layout="constrained", squeeze=False
    )
    for ax in axes.ravel()[len(names) :]:
        ax.set_axis_off()
    engines = list(dict.fromkeys(r.engine for r in found))
    for ax, name in zip(axes.ravel(), names, strict=False):
        for i, engine in enumerate(engines):
            own = [r for r in found if r.scene == name and r.engine == engine]
            if own:
                errors = [max(r.error, _LEAST) for r in own]
                ax.loglog([r.seconds for r in own], errors, "osv^D"[i % 5] + "-", ms=3, lw=1,
                          color=f"C{i}", label=engine)  # fmt: skip
        ax.set_title(name, fontsize=9)
        ax.set_ylabel(f"error {next(r.unit for r in found if r.scene == name)}", fontsize=8)
        ax.tick_params(labelsize=7)
        ax.grid(alpha=0.3)
    for ax in axes[-1]:
        ax.set_xlabel("processor seconds for a second", fontsize=8)
    handles = {}
    for ax in axes.ravel():
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            handles[label] = handle
    figure.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=5, fontsize=8
    )
    figure.savefig(path, dpi=100)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> int:
    """Run them and return the exit status."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks.contact_peers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--scenes", nargs="+", choices=SCENES, default=list(SCENES))
    parser.add_argument("--quick", action="store_true", help="small scenes, two step lengths")
    parser.add_argument("--solvers", action="store_true", help="solvers on the same problems")
    parser.add_argument("--rounds", type=int, default=2, help="runs of each, in turns")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--plot", type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    every = SMALL if options.quick else SCENES
    try:
        if options.solvers:
            from benchmarks.contact_solvers import report

            print(report([every[name]() for name in options.scenes]))
            return 0
        found: list[Result] = []
        for name in options.scenes:
            scene, own = every[name](), []
            for step in QUICK if options.quick else STEPS:
                own += results_of(scene, step, options.rounds)
                print(f"{name} with steps of {1e3 * step:g} ms", file=sys.stderr, flush=True)
            print(table(own), flush=True)
            found += own
    except ModuleNotFoundError as error:
        print(f"{error.name} is not installed; expected the extra `test`: "
              "pip install 'robot_dynamics[test]'.", file=sys.stderr)  # fmt: skip
        return MISSING
    if options.json:
        from benchmarks.__main__ import host

        rows: list[dict[str, Any]] = [r._asdict() for r in found]
        write_json({"host": host(), "rows": rows}, options.json)
    if options.plot:
        plot(found, options.plot)
    return 0


if __name__ == "__main__":
    sys.exit(main())
