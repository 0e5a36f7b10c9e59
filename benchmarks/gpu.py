# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Dynamics of many states on a GPU, beside all cores of the processor and frax on the same GPU.

    python -m benchmarks.gpu [--states 100000 1000000] [--rounds 20]

Needs an NVIDIA GPU and the extra `gpu`; frax (`pip install frax jax[cuda13]`) is left out if it is
not installed. Results are compared before anything is timed. Times are wall time per state:

- `processor`: `rd.in_parallel` of the method with all cores, results in arrays that are there,
- `gpu`: arrays of CuPy in Fortran order, as results are, from launch to end,
- `rows`: the same with arrays in C order, which are copied on the GPU first,
- `transfers`: arrays of NumPy in and out,
- `frax`: compiled by JAX, in double and in single precision, arrays on the GPU.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

import cupy
import numpy as np

import robot_dynamics as rd
from robot_dynamics.app.scenarios.cell import build_system
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.manipulation.assembly import closed_configuration
from robot_dynamics.resources import resolve_package_uri

ARMS = {
    "panda": "panda_description/urdf/panda.urdf",
    "ur5": "ur_description/urdf/ur5_robot.urdf",
}
CELLS = ("lift_box", "lift_box_panda")
METHODS = ("inverse_dynamics", "tree_forward_dynamics", "closed_loop")
# Over the largest result of a state.
LARGEST_ERROR, LARGEST_ERROR_SINGLE = 1e-9, 0.1


def main() -> None:
    """Compare, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--states", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    properties = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)
    print(f"{properties['name'].decode()}, {len(os.sched_getaffinity(0))} cores", flush=True)
    for name in ARMS:
        path = str(resolve_package_uri(f"package://example-robot-data/robots/{ARMS[name]}"))
        robot = rd.load(path)
        peer = frax_functions(path, robot)
        for method in METHODS[:2]:
            compare_and_time(name, robot, method, np.zeros(robot.model.nq), options, peer)
    for name in CELLS:
        scenario = load_scenario(name)
        system = build_system(scenario)
        start = closed_configuration(system, scenario.object_pose)
        for method in METHODS:
            compare_and_time(name, rd.Robot(system.model), method, start, options, {})


def compare_and_time(
    name: str,
    robot: rd.Robot,
    method: str,
    start: np.ndarray,
    options: argparse.Namespace,
    peer: dict[str, Callable[..., Any]],
) -> None:
    """Print the error and the times of a method of a robot."""
    before = time.perf_counter()
    on_gpu, on_processor = robot.on_gpu(method), getattr(robot, method)  # type: ignore[arg-type]
    took = time.perf_counter() - before
    print(f"{name} {method}, made in {took:.1f} s")
    for states in options.states:
        inputs = states_of(robot, start, states)
        error, times = compared(on_gpu, on_processor, inputs, options.rounds)
        for kind, functions in peer.items():
            times[kind] = functions[method](inputs, on_processor(*inputs), options.rounds)
        text = "  ".join(f"{kind} {1e9 * t / states:.3f}" for kind, t in times.items())
        print(f"  {states} states, error {error:.1e}, ns a state: {text}", flush=True)


def compared(
    on_gpu: Callable[..., Any],
    on_processor: Callable[..., Any],
    inputs: list[np.ndarray],
    rounds: int,
) -> tuple[float, dict[str, float]]:
    """Return the relative error on the GPU, and times [s] by kind."""
    results = rd.in_parallel(on_processor, *inputs)
    expected = [np.array(a) for a in (results if isinstance(results, tuple) else (results,))]
    error = max(map(relative_error, to_host(on_gpu(*inputs)), expected))
    if not error < LARGEST_ERROR:
        raise RuntimeError(f"relative error {error}, expected less than {LARGEST_ERROR}")
    rows = [cupy.asarray(a) for a in inputs]
    columns = [cupy.asfortranarray(a) for a in rows]
    return error, {
        "processor": wall(lambda: rd.in_parallel(on_processor, *inputs, out=results), rounds),
        "gpu": on_device(lambda: on_gpu(*columns), rounds),
        "rows": on_device(lambda: on_gpu(*rows), rounds),
        "transfers": wall(lambda: to_host(on_gpu(*inputs)), rounds),
    }


def states_of(robot: rd.Robot, start: np.ndarray, states: int) -> list[np.ndarray]:
    """Return random states about a posture, and forces or accelerations."""
    rng, nv = np.random.default_rng(0), robot.model.nv
    reach = 0.05 if robot.model.constraint_count else 2.0
    q = start + rng.uniform(-reach, reach, (states, robot.model.nq))
    return [q, *rng.normal(size=(2, states, nv))]


def relative_error(found: np.ndarray, expected: np.ndarray) -> float:
    """Return the largest error over the largest entry of its state."""
    if expected.ndim == 1:
        found, expected = found[:, None], expected[:, None]
    size = np.abs(expected).max(axis=1, keepdims=True)
    return float((np.abs(found - expected) / size).max())


def to_host(results: Any) -> list[np.ndarray]:
    """Copy results to the processor's memory."""
    return [cupy.asnumpy(a) for a in (results if isinstance(results, tuple) else (results,))]


def wall(function: Callable[[], object], rounds: int) -> float:
    """Return the median wall time [s] of a function that ends by itself."""
    function()
    times = []
    for _ in range(rounds):
        before = time.perf_counter()
        function()
        times.append(time.perf_counter() - before)
    return float(np.median(times))


def on_device(function: Callable[[], object], rounds: int) -> float:
    """Return the median time [s] of a function between events on the GPU."""
    function()
    times = []
    for _ in range(rounds):
        first, last = cupy.cuda.Event(), cupy.cuda.Event()
        first.record()
        function()
        last.record()
        last.synchronize()
        times.append(1e-3 * cupy.cuda.get_elapsed_time(first, last))
    return float(np.median(times))


def frax_functions(path: str, robot: rd.Robot) -> dict[str, dict[str, Callable[..., float]]]:
    """Return functions that compare and time frax, by precision and method; none without it."""
    try:
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        import frax
        import jax
        import jax.numpy as jnp
    except ModuleNotFoundError:
        return {}
    theirs = frax.Robot(path)
    order = [list(theirs.joint_names).index(joint) for joint in robot.model.joint_names]
    places = np.argsort(order)

    def timed(function: Callable[..., Any], kind: Any, error: float) -> Callable[..., float]:
        compiled = jax.jit(jax.vmap(function))

        def run(inputs: list[np.ndarray], expected: np.ndarray, rounds: int) -> float:
            jax.config.update("jax_enable_x64", kind == jnp.float64)
            given = [jnp.asarray(a[:, places], kind) for a in inputs]
            found = np.asarray(compiled(*given))[:, order]
            if not relative_error(found, expected) < error:
                raise RuntimeError(f"frax: relative error {relative_error(found, expected)}")
            return wall(lambda: jax.block_until_ready(compiled(*given)), rounds)

        return run

    def functions(kind: Any, error: float) -> dict[str, Callable[..., float]]:
        gravity = np.array([0.0, 0.0, 9.81, 0.0, 0.0, 0.0])
        return {
            METHODS[0]: timed(lambda q, v, a: theirs.rnea(q, v, a, gravity, None), kind, error),
            METHODS[1]: timed(lambda q, v, f: theirs.forward_dynamics(q, v, f, None), kind, error),
        }

    return {
        "frax": functions(jnp.float64, LARGEST_ERROR),
        "frax, single": functions(jnp.float32, LARGEST_ERROR_SINGLE),
    }


if __name__ == "__main__":
    main()
