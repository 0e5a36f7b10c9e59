# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Generated C code of the same readable source: CasADi's, compiled by gcc with all it can do.

It is the strongest peer of one state at a time. CasADi takes our algorithms on its symbols and
writes C; a loop in C goes over the states, so that no call from Python is measured on either side.
So does it with the algorithms of adam-robotics, another library, where that is installed.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from benchmarks.robots import Subject, file_of
from benchmarks.rows import Row
from benchmarks.timing import interleaved
from robot_dynamics.description.load import load_description
from robot_dynamics.dynamics.forward import TREE_FORWARD_DYNAMICS, forward_dynamics
from robot_dynamics.dynamics.forward_derivatives import FORWARD_DYNAMICS_DERIVATIVES
from robot_dynamics.dynamics.inertia_matrix import INERTIA_MATRIX, inertia_matrix
from robot_dynamics.dynamics.inverse import BIAS_FORCES, INVERSE_DYNAMICS, inverse_dynamics
from robot_dynamics.dynamics.inverse_derivatives import INVERSE_DYNAMICS_DERIVATIVES
from robot_dynamics.model import Model, build, joined
from robot_dynamics.model.parameters import parameters_of
from robot_dynamics.robot import Robot

# Max-norm relative; accelerations and their derivatives are divided by the condition of H before.
TOLERANCE = 1e-12
FLAGS = ("-O3", "-march=native", "-shared", "-fPIC")
PEER = "CasADi, gcc -O3"
ADAM = "adam-robotics, gcc -O3"
# gcc takes minutes for the derivatives of robots with more joints.
_MOST_JOINTS = 9
_LOOP = """
void loop(long count, const double **in, const long *in_size,
          double **out, const long *out_size) {{
  static double w[{w}];
  casadi_int iw[{iw}];
  const double *arg[{arg}];
  double *res[{res}];
  for (long i = 0; i < count; ++i) {{
    for (int k = 0; k < {inputs}; ++k) arg[k] = in[k] + i * in_size[k];
    for (int k = 0; k < {outputs}; ++k) res[k] = out[k] + i * out_size[k];
    f(arg, res, iw, w, 0);
  }}
}}
"""


def is_available() -> bool:
    """Return whether CasADi and gcc are there."""
    try:
        import casadi  # noqa: F401
    except ImportError:
        return False
    return shutil.which("gcc") is not None


class Generated:
    """A function of CasADi as machine code that goes over many states.

    Args:
        function: The function.
        folder: Where its source and machine code go.
    """

    def __init__(self, function, folder: Path) -> None:
        import casadi as ca

        generator = ca.CodeGenerator("f.c")
        generator.add(function)
        name = f"{function.n_in()}_{function.n_out()}_{function.n_instructions()}"
        source, library = folder / f"{name}.c", folder / f"{name}.so"
        sizes = {
            "w": function.sz_w() + 1, "iw": function.sz_iw() + 1, "arg": function.sz_arg() + 1,
            "res": function.sz_res() + 1, "inputs": function.n_in(), "outputs": function.n_out(),
        }  # fmt: skip
        source.write_text(generator.dump() + _LOOP.format(**sizes))
        subprocess.run(["gcc", *FLAGS, str(source), "-o", str(library), "-lm"], check=True)
        self._loop = ctypes.CDLL(str(library)).loop

    def __call__(self, arrays, out) -> None:
        """Evaluate all states (N, size) and write results (N, ...), matrices by columns."""

        def pointers(group):
            return (ctypes.c_void_p * len(group))(*(array.ctypes.data for array in group))

        def sizes(group):
            return (ctypes.c_long * len(group))(*(array[0].size for array in group))

        count = ctypes.c_long(len(arrays[0]))
        self._loop(count, pointers(arrays), sizes(arrays), pointers(out), sizes(out))


def _expressions(subject: Subject):
    """Return functions of CasADi by algorithm, and the kernels of ours beside them."""
    import casadi as ca

    model, n, parameters = subject.model, subject.model.nv, parameters_of(subject.model)
    q, qd, x = (ca.SX.sym(name, n) for name in ("q", "qd", "x"))
    state = [ca.vertsplit(part) for part in (q, qd, x)]
    tau = ca.vertcat(*inverse_dynamics(model, *state, parameters))
    qdd = ca.vertcat(*forward_dynamics(model, *state, parameters))
    H = ca.vertcat(*(ca.horzcat(*row) for row in inertia_matrix(model, state[0], parameters)))
    three = [q, qd, x]
    found = {"rnea": (three, [tau]), "crba": ([q], [ca.densify(H)]), "aba": (three, [qdd])}
    if n <= _MOST_JOINTS:
        of = {"rnea derivatives": tau}
        if not model.constraint_count:  # ours are those of closed loops otherwise
            of["aba derivatives"] = qdd
        for name, value in of.items():
            found[name] = three, [ca.densify(ca.jacobian(value, part)) for part in three]
    functions = {
        name: ca.Function("f", inputs, outputs, {"cse": True})
        for name, (inputs, outputs) in found.items()
    }
    kernels = {
        "rnea": INVERSE_DYNAMICS.bind(model, lanes=1),
        "crba": INERTIA_MATRIX.bind(model, lanes=1),
        "aba": TREE_FORWARD_DYNAMICS.bind(model, lanes=1),
    }
    for name, algorithm in (
        ("rnea derivatives", INVERSE_DYNAMICS_DERIVATIVES),
        ("aba derivatives", FORWARD_DYNAMICS_DERIVATIVES),
    ):
        if name in functions:
            kernels[name] = algorithm.bind(model, lanes=1)
    return functions, kernels


def rows_of(name: str, rounds: int) -> list[Row]:
    """Return the rows of one robot.

    Raises:
        AssertionError: If results differ.
    """
    subject = Subject(name)
    functions, kernels = _expressions(subject)
    states = (subject.q, subject.qd, subject.x)
    condition = np.linalg.cond(kernels["crba"](subject.q))
    timed, errors = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for short, function in functions.items():
            generated = Generated(function, Path(folder))
            arrays = states[: function.n_in()]
            ours = kernels[short](*arrays)
            ours = list(ours) if isinstance(ours, tuple) else [ours]
            matrices = [value for value in ours if value.ndim > 1]  # no pivot
            theirs = [np.zeros(value.shape) for value in matrices]
            generated(arrays, theirs)
            error = 0.0
            for a, b in zip(matrices, theirs, strict=True):
                turned = b.swapaxes(1, -1) if b.ndim == 3 else b
                axes = tuple(range(1, a.ndim))
                off = np.abs(a - turned).max(axis=axes)
                relative = off / np.abs(turned).max(axis=axes)
                error = max(error, (relative / condition if "aba" in short else relative).max())
            if not error < TOLERANCE:
                raise AssertionError(f"{name}: {short} is {error:.1e} off generated code.")
            errors[short] = error
            out = tuple(ours) if len(ours) > 1 else ours[0]
            timed[short] = lambda k=kernels[short], a=arrays, o=out: k(*a, out=o)
            timed[f"{short} generated"] = lambda g=generated, a=arrays, o=theirs: g(a, o)
        timings = interleaved(timed, dict.fromkeys(timed, len(subject.q)), rounds)
    return [
        Row.of(
            timings[short],
            timings[f"{short} generated"],
            robot=name,
            algorithm=short,
            mode="loop",
            lanes=1,
            peer=PEER,
            max_rel_error=errors[short],
            threshold=1.0,
        )
        for short in functions
    ]


def adam_is_available() -> bool:
    """Return whether adam-robotics is there, besides CasADi and gcc."""
    try:
        import adam.casadi  # noqa: F401
    except ImportError:
        return False
    return is_available()


def adam_rows_of(name: str, rounds: int) -> list[Row]:
    """Return the rows of one robot beside adam-robotics.

    Its bases float, and prismatic joints do not work there (0.5.0): fingers are locked.
    With the base held still its inverse dynamics is that without accelerations, its CRBA ours;
    its ABA is compared on a floating base.

    Raises:
        AssertionError: If results differ.
    """
    mechanism = load_description(file_of(name)).mechanism
    arm = mechanism.locked({j.name: 0.0 for j in mechanism.joints if j.type == "prismatic"})
    flying = joined(name, [(arm, np.eye(4), "floating")], root="outside")
    model, floating = build(arm), build(flying)
    n, rng = model.nv, np.random.default_rng(0)
    q, qd, tau = rng.uniform(-2.0, 2.0, (1000, n)), *rng.normal(size=(2, 1000, n))
    place, twist = rng.normal(size=(1000, 3)), rng.normal(size=(1000, 6))
    turn = Rotation.random(1000, random_state=0)
    base = np.tile(np.eye(4), (1000, 1, 1))
    base[:, :3, :3], base[:, :3, 3] = turn.as_matrix(), place
    linear_first = [3, 4, 5, 0, 1, 2, *range(6, n + 6)]
    cases = {  # arrays for us, and for them
        "bias_forces": ((q, qd), (q, qd)),
        "inertia_matrix": ((q,), (q,)),
        "forward_dynamics": (
            (np.hstack([place, turn.as_quat(), q]), np.hstack([twist, qd]),
             np.hstack([np.zeros((1000, 6)), tau])),
            (np.ascontiguousarray(base.swapaxes(1, 2)), q, twist[:, linear_first[:6]].copy(),
             qd, tau),
        ),
    }  # fmt: skip
    labels = {"bias_forces": "rnea without accelerations", "inertia_matrix": "crba"}
    algorithms = {
        "bias_forces": BIAS_FORCES,
        "inertia_matrix": INERTIA_MATRIX,
        "forward_dynamics": TREE_FORWARD_DYNAMICS,
    }
    functions, timed, errors = _adam_functions(name, model), {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for kind, (ours, theirs) in cases.items():
            of = floating if kind == "forward_dynamics" else model
            kernel = algorithms[kind].bind(of, lanes=1)
            generated = Generated(functions[kind], Path(folder))
            found, expected = kernel(*ours), np.zeros((1000, functions[kind].numel_out(0)))
            generated(theirs, [expected])
            # Of symmetric matrices, and of vectors whose first six may stand otherwise.
            flat = found.reshape(1000, -1)
            off, scale = flat - expected, np.abs(expected).max(axis=1)
            if of is floating:
                off = flat[:, linear_first] - expected
                scale = scale * np.linalg.cond(Robot(of).inertia_matrix(ours[0]))
            errors[kind] = float((np.abs(off).max(axis=1) / scale).max())
            if not errors[kind] < TOLERANCE:
                raise AssertionError(f"{name}: {kind} is {errors[kind]:.1e} off adam-robotics.")
            timed[kind] = lambda k=kernel, a=ours, o=found: k(*a, out=o)
            timed[f"{kind} adam"] = lambda g=generated, a=theirs, o=expected: g(a, [o])
        timings = interleaved(timed, dict.fromkeys(timed, 1000), rounds)
    return [
        Row.of(
            timings[kind],
            timings[f"{kind} adam"],
            robot=name,
            algorithm=labels.get(kind, "aba, floating base"),
            mode="loop",
            lanes=1,
            peer=ADAM,
            max_rel_error=errors[kind],
            threshold=1.0,
        )
        for kind in cases
    ]


def _adam_functions(name: str, model: Model):
    """Return functions of CasADi by algorithm."""
    import casadi as ca
    from adam import Representations
    from adam.casadi import KinDynComputations

    with tempfile.NamedTemporaryFile("w", suffix=".urdf") as file:
        text = Path(file_of(name)).read_text().replace('type="prismatic"', 'type="fixed"')
        file.write(text)
        file.flush()
        gravity = np.array([*model.gravity, 0.0, 0.0, 0.0])
        adam = KinDynComputations(file.name, list(model.joint_names), gravity=gravity)
    adam.set_frame_velocity_representation(Representations.BODY_FIXED_REPRESENTATION)
    n = model.nv
    q, qd, tau = (ca.SX.sym(symbol, n) for symbol in ("q", "qd", "tau"))
    base, twist = ca.SX.sym("base", 4, 4), ca.SX.sym("twist", 6)
    held, still = ca.SX.eye(4), ca.SX.zeros(6)
    found = {
        "bias_forces": ([q, qd], adam.bias_force(held, q, still, qd)[6:]),
        "inertia_matrix": ([q], adam.mass_matrix(held, q)[6:, 6:]),
        "forward_dynamics": ([base, q, twist, qd, tau], adam.aba(base, q, twist, qd, tau)),
    }
    return {
        kind: ca.Function("f", inputs, [ca.densify(value)], {"cse": True})
        for kind, (inputs, value) in found.items()
    }
