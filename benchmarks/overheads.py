# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Costs of the machinery around the equations: `python -m benchmarks.overheads`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from robot_dynamics.app.scenarios.cell import build_system
from robot_dynamics.app.scenarios.laws import control_loop
from robot_dynamics.app.scenarios.plant import make_plant
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.compile import compile_program, trace
from robot_dynamics.compile.graph import Graph

_CALLS = 2000
_OPERATIONS = 10_000


def main() -> int:
    """Print the figures and return the exit status."""
    for name, microseconds in (_of_recording() | _of_calls() | _of_safety()).items():
        print(f"{name:<44s}{microseconds:8.2f} us")
    return 0


def _of_recording() -> dict[str, float]:
    """Return the costs of an operation while a function is traced."""

    def record() -> None:
        graph = Graph()
        a, b = graph.input(0, 0), graph.input(0, 1)
        for _ in range(_OPERATIONS // 2):
            a, b = b - a, a * b

    return {"recording an operation": _best(record, 1) / _OPERATIONS}


def _of_calls() -> dict[str, float]:
    """Return the costs of calls from Python, beside NumPy's, and inside of machine code."""
    x = np.ones(7)

    def product(a: Any, b: Any, c: Any, p: Any) -> dict[str, list[Any]]:
        return {"y": [a[i] + p[0] * b[i] * c[i] for i in range(7)]}

    def turned(x: Any, rate: Any, p: Any) -> dict[str, list[Any]]:
        return {"x": [x[0] - rate * x[1], rate * x[0] + p[0] * x[1]]}

    kernel = compile_program(trace(product, "product", dict.fromkeys("abc", 7), 1))
    call = kernel.bind([0.5])
    chain = compile_program(trace(turned, "turned", {"x": 2, "rate": ()}, 1), lanes=1).chain([1.0])
    return {
        "a call with three vectors": _best(lambda: call(x, x, x)),
        "a call of numpy.matmul with two": _best(lambda: np.matmul(x, x)),
        "binding parameters": _best(lambda: kernel.bind([0.5])),
        "a link of a chain": _best(lambda: chain(_CALLS, [1.0, 0.5], 0.01), 1) / _CALLS,
    }


def _of_safety() -> dict[str, float]:
    """Return the cost of a good instant of the safety layer of two arms."""
    scenario = load_scenario("lift_box")
    system = build_system(scenario)
    loop, q = control_loop(scenario, system), make_plant(scenario, system).reset().q
    still, wrenches = np.zeros(q.size), np.zeros((len(system.arms), 6))
    step, safety = loop.begin_law(q, still), loop.safety
    safety.observe(0, q, still, wrenches)
    safety.start(0, step.torque)

    def instant() -> None:
        safety.observe(1, q, still, wrenches)
        safety.command(1, step, wrists=wrenches)

    return {"an instant of the safety layer": _best(instant)}


def _best(function: Callable[[], object], calls: int = _CALLS) -> float:
    """Return the cost of a call in the best of some rounds [us]."""
    best = np.inf
    for _ in range(10):
        begin = time.perf_counter()
        for _ in range(calls):
            function()
        best = min(best, (time.perf_counter() - begin) / calls)
    return 1e6 * best


if __name__ == "__main__":
    sys.exit(main())
