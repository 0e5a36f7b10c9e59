# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Inverse dynamics, inertia matrix, forward dynamics and its derivatives of single robots."""

from __future__ import annotations

import mujoco
import numpy as np
import pinocchio as pin

from benchmarks.robots import Subject, mujoco_inertia_matrix
from benchmarks.rows import Row
from benchmarks.timing import interleaved, quickest
from robot_dynamics.compile.parallel import in_parallel
from robot_dynamics.dynamics.forward import TREE_FORWARD_DYNAMICS
from robot_dynamics.dynamics.forward_derivatives import FORWARD_DYNAMICS_DERIVATIVES
from robot_dynamics.dynamics.inertia_matrix import INERTIA_MATRIX
from robot_dynamics.dynamics.inverse import INVERSE_DYNAMICS

# Max-norm relative; accelerations are divided by the condition of H before.
TOLERANCE = 1e-12
# Not divided by it.
DERIVATIVE_TOLERANCE = 1e-9
# The public methods; a geared robot's forward_dynamics closes its loops, Pinocchio's aba does not.
METHODS = {"rnea": "inverse_dynamics", "crba": "inertia_matrix", "aba": "tree_forward_dynamics"}
ALGORITHMS = {"rnea": INVERSE_DYNAMICS, "crba": INERTIA_MATRIX, "aba": TREE_FORWARD_DYNAMICS}
# Largest ratio of our time to Pinocchio's; of batches with AVX2 alone.
THRESHOLDS = {
    "loop": {"rnea": 1 / 4, "crba": 1 / 2, "aba": 1 / 4},
    "batch": {"rnea": 1 / 10, "crba": 1 / 5, "aba": 1 / 10},
    "call": {"rnea": 1.0, "crba": 1.2, "aba": 1.0},
}
CALLS = 64  # states that a pass of single calls goes through
MANY = 600_000  # joints in a batch that is worth starting threads for


def errors_of(subject: Subject) -> dict[str, float]:
    """Return the largest relative difference from Pinocchio over all states, by algorithm.

    Raises:
        AssertionError: If one is above the tolerance.
    """
    robot, model, data = subject.robot, subject.pin_model, subject.pin_data
    states = list(zip(subject.pin_q, subject.pin_qd, subject.pin_x, strict=True))
    H = subject.pin_inertia_matrices()
    order = subject.order
    theirs = {
        "rnea": np.array([pin.rnea(model, data, *state)[order] for state in states]),
        "aba": np.array([pin.aba(model, data, *state)[order] for state in states]),
        "crba": H.reshape(len(H), -1),
    }
    single = robot.inverse_dynamics(subject.q[0], subject.qd[0], subject.x[0])
    ours = {
        "rnea": robot.inverse_dynamics(subject.q, subject.qd, subject.x),
        "aba": robot.tree_forward_dynamics(subject.q, subject.qd, subject.x),
        "crba": robot.inertia_matrix(subject.q).reshape(len(H), -1),
    }
    for name, algorithm in ALGORITHMS.items():
        arguments = (subject.q,) if name == "crba" else (subject.q, subject.qd, subject.x)
        scalar = algorithm.bind(subject.model, lanes=1)(*arguments)
        if not np.array_equal(scalar.reshape(ours[name].shape), ours[name]):
            raise AssertionError(f"{subject.name}: {name} depends on the number of lanes.")
    if not np.array_equal(single, ours["rnea"][0]):
        raise AssertionError(f"{subject.name}: a batch differs from a single state.")
    errors = {}
    for name in ALGORITHMS:
        scale = np.max(np.abs(theirs[name]), axis=1)
        relative = np.max(np.abs(ours[name] - theirs[name]), axis=1) / scale
        if name == "aba":
            relative = relative / np.linalg.cond(H)
        errors[name] = float(relative.max())
        if not errors[name] < TOLERANCE:
            raise AssertionError(f"{subject.name}: {name} is off by {errors[name]:.1e}.")
    return errors


def rows_of(name: str, rounds: int) -> list[Row]:
    """Return the rows of one robot."""
    subject = Subject(name)
    errors = errors_of(subject)
    return [
        *_loops(subject, errors, rounds),
        *_all_cores(subject, errors, rounds),
        *_derivatives(subject, rounds),
        *_calls(subject, errors, rounds),
    ]


def _loops(subject: Subject, errors: dict[str, float], rounds: int) -> list[Row]:
    """Compare loops over many states inside compiled code."""
    q, qd, x = subject.q, subject.qd, subject.x
    model, data, n = subject.pin_model, subject.pin_data, subject.model.nv
    pool = pin.ModelPool(model, 1)
    pin_arrays = (subject.pin_q, subject.pin_qd, subject.pin_x)
    columns = [np.asfortranarray(array.T) for array in pin_arrays]
    theirs = np.zeros((n, len(q)), order="F")
    vector, matrix = np.empty((len(q), n)), np.empty((len(q), n, n))
    # The same binding with nothing to compute.
    nothing = pin.Model()
    no_data, no_q = nothing.createData(), np.zeros(0)
    positions = list(subject.pin_q)

    def crba_calls() -> None:
        for q_i in positions:
            pin.crba(model, data, q_i)

    def empty_calls() -> None:
        for _ in positions:
            pin.crba(nothing, no_data, no_q)

    functions = {
        "rneaInParallel, 1 thread": lambda: pin.rneaInParallel(1, pool, *columns, theirs),
        "abaInParallel, 1 thread": lambda: pin.abaInParallel(1, pool, *columns, theirs),
        "crba less an empty call": crba_calls,
        "empty": empty_calls,
    }
    kernels = {}
    for short, algorithm in ALGORITHMS.items():
        kernels[short, "loop"] = algorithm.bind(subject.model, lanes=1)
        kernels[short, "batch"] = getattr(subject.robot, METHODS[short])
    for (short, mode), kernel in kernels.items():
        arguments, out = ((q,), matrix) if short == "crba" else ((q, qd, x), vector)
        functions[f"{short} {mode}"] = lambda k=kernel, a=arguments, o=out: k(*a, out=o)
    timings = interleaved(functions, dict.fromkeys(functions, len(q)), rounds)
    peers = {
        "rnea": "rneaInParallel, 1 thread",
        "aba": "abaInParallel, 1 thread",
        "crba": "crba less an empty call",
    }
    return [
        Row.of(
            timings[f"{short} {mode}"],
            timings[peers[short]],
            timings["empty"] if short == "crba" else None,
            robot=subject.name,
            algorithm=short,
            mode=mode,
            lanes=1 if mode == "loop" else host_lanes(),
            peer=f"pin.{peers[short]}",
            max_rel_error=errors[short],
            threshold=THRESHOLDS.get(mode, {}).get(short),
        )
        for short, mode in kernels
    ]


def _all_cores(subject: Subject, errors: dict[str, float], rounds: int) -> list[Row]:
    """Compare large batches on all cores with the same on one."""
    times = MANY // subject.q.size
    arrays = [np.tile(array, (times, 1)) for array in (subject.q, subject.qd, subject.x)]
    out = np.empty_like(arrays[1])
    functions = {}
    for short in ("rnea", "aba"):
        function = getattr(subject.robot, METHODS[short])
        functions[short] = lambda f=function: in_parallel(f, *arrays, out=out)
        functions[f"{short}, one core"] = lambda f=function: f(*arrays, out=out)
    timings = quickest(functions, dict.fromkeys(functions, len(out)), 8 * rounds)
    return [
        Row.of(
            timings[short],
            timings[f"{short}, one core"],
            robot=subject.name,
            algorithm=short,
            mode="all cores",
            lanes=host_lanes(),
            peer="ours on one core",
            max_rel_error=errors[short],
        )
        for short in ("rnea", "aba")
    ]


def _derivatives(subject: Subject, rounds: int) -> list[Row]:
    """Compare the derivatives of forward dynamics, of geared robots with their gears in ours.

    Raises:
        AssertionError: If those of a robot without gears differ from Pinocchio's.
    """
    pin_model, pin_data, order = subject.pin_model, subject.pin_data, subject.order
    arrays = [array[:CALLS] for array in (subject.q, subject.qd, subject.x)]
    pin_arrays = (subject.pin_q, subject.pin_qd, subject.pin_x)
    theirs = list(zip(*(array[:CALLS] for array in pin_arrays), strict=True))
    loops = {
        mode: FORWARD_DYNAMICS_DERIVATIVES.bind(subject.model, lanes=lanes)
        for mode, lanes in (("loop", 1), ("batch", None))
    }
    places = {mode: loop(*arrays) for mode, loop in loops.items()}
    error = 0.0
    if not subject.model.constraint_count:
        for i, state in enumerate(theirs):
            slopes = pin.computeABADerivatives(pin_model, pin_data, *state)
            for found, slope in zip(places["loop"][1:], slopes, strict=True):
                expected = slope[np.ix_(order, order)]
                error = max(error, np.abs(found[i] - expected).max() / np.abs(expected).max())
        if not error < DERIVATIVE_TOLERANCE:
            raise AssertionError(f"{subject.name}: derivatives are off by {error:.1e}.")

    def pin_calls() -> None:
        for state in theirs:
            pin.computeABADerivatives(pin_model, pin_data, *state)

    functions = {
        "loop": lambda: loops["loop"](*arrays, out=places["loop"]),
        "batch": lambda: loops["batch"](*arrays, out=places["batch"]),
        "pin": pin_calls,
    }
    timings = interleaved(functions, dict.fromkeys(functions, CALLS), rounds)
    return [
        Row.of(
            timings[mode],
            timings["pin"],
            robot=subject.name,
            algorithm="aba derivatives",
            mode=mode,
            lanes=1 if mode == "loop" else host_lanes(),
            peer="pin.computeABADerivatives",
            max_rel_error=error,
            threshold=1 / 3 if mode == "loop" else None,
        )
        for mode in loops
    ]


def _calls(subject: Subject, errors: dict[str, float], rounds: int) -> list[Row]:
    """Compare calls from Python with one state each."""
    robot, model, data = subject.robot, subject.pin_model, subject.pin_data
    states = list(zip(subject.q, subject.qd, subject.x, strict=True))[:CALLS]
    pin_states = list(zip(subject.pin_q, subject.pin_qd, subject.pin_x, strict=True))[:CALLS]
    inverse, forward, inertia = (
        robot.inverse_dynamics,
        robot.tree_forward_dynamics,
        robot.inertia_matrix,
    )
    mj_model = subject.mujoco_model
    mj_data = mujoco.MjData(mj_model)
    mj_errors = _mujoco_errors(subject)
    full = np.zeros((mj_model.nv, mj_model.nv))

    def rnea() -> None:
        for q, qd, x in states:
            inverse(q, qd, x)

    def aba() -> None:
        for q, qd, x in states:
            forward(q, qd, x)

    def crba() -> None:
        for q, _, _ in states:
            inertia(q)

    def pin_rnea() -> None:
        for q, qd, x in pin_states:
            pin.rnea(model, data, q, qd, x)

    def pin_aba() -> None:
        for q, qd, x in pin_states:
            pin.aba(model, data, q, qd, x)

    def pin_crba() -> None:
        for q, _, _ in pin_states:
            pin.crba(model, data, q)

    def mj_inverse() -> None:
        for q, qd, x in states:
            mj_data.qpos[:], mj_data.qvel[:], mj_data.qacc[:] = q, qd, x
            mujoco.mj_inverse(mj_model, mj_data)

    def mj_forward() -> None:
        for q, qd, x in states:
            mj_data.qpos[:], mj_data.qvel[:], mj_data.qfrc_applied[:] = q, qd, x
            mujoco.mj_forward(mj_model, mj_data)

    def mj_crb() -> None:
        for q, _, _ in states:
            mj_data.qpos[:] = q
            mujoco_inertia_matrix(mj_model, mj_data, full)

    functions = {
        "rnea": rnea, "aba": aba, "crba": crba,
        "pin.rnea": pin_rnea, "pin.aba": pin_aba, "pin.crba": pin_crba,
        "mj_inverse": mj_inverse, "mj_forward": mj_forward, "mj_crb": mj_crb,
    }  # fmt: skip
    timings = interleaved(functions, dict.fromkeys(functions, len(states)), rounds)
    peers = {"rnea": "mj_inverse", "aba": "mj_forward", "crba": "mj_crb"}
    return [
        Row.of(
            timings[short],
            timings[peer],
            robot=subject.name,
            algorithm=short,
            mode="call",
            lanes=1,
            peer=peer,
            max_rel_error=(errors if peer.startswith("pin") else mj_errors)[short],
            threshold=THRESHOLDS["call"][short] if peer.startswith("pin") else None,
        )
        for short in ALGORITHMS
        for peer in (f"pin.{short}", peers[short])
    ]


def _mujoco_errors(subject: Subject) -> dict[str, float]:
    """Return the largest relative difference from MuJoCo over some states, by algorithm.

    Raises:
        AssertionError: If one is above the tolerance.
    """
    robot, model = subject.robot, subject.mujoco_model
    data = mujoco.MjData(model)
    full = np.zeros((model.nv, model.nv))
    worst = dict.fromkeys(ALGORITHMS, 0.0)

    def compare(name: str, ours: np.ndarray, theirs: np.ndarray, condition: float = 1.0) -> None:
        error = np.max(np.abs(ours - theirs)) / np.max(np.abs(theirs)) / condition
        worst[name] = max(worst[name], float(error))
        if not error < TOLERANCE:
            raise AssertionError(f"{subject.name}: {name} is off MuJoCo's by {error:.1e}.")

    for q, qd, x in list(zip(subject.q, subject.qd, subject.x, strict=True))[:CALLS]:
        data.qpos[:], data.qvel[:], data.qacc[:] = q, qd, x
        mujoco.mj_inverse(model, data)
        compare("rnea", robot.inverse_dynamics(q, qd, x), data.qfrc_inverse)
        mujoco_inertia_matrix(model, data, full)
        compare("crba", robot.inertia_matrix(q), full)
        data.qfrc_applied[:] = x
        mujoco.mj_forward(model, data)
        compare("aba", robot.tree_forward_dynamics(q, qd, x), data.qacc, np.linalg.cond(full))
    return worst


def host_lanes() -> int:
    """Return the number of states in the SIMD lanes of our code on this machine."""
    from robot_dynamics.compile.host import find_host

    host = find_host()
    return host.lanes if host else 1
