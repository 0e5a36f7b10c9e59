# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Generated C code of the same readable source: CasADi's, compiled by gcc with all it can do.

It is the strongest peer of one state at a time. CasADi takes our algorithms on its symbols and
writes C; a loop in C goes over the states, so that no call from Python is measured on either side.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.robots import Subject
from benchmarks.rows import Row
from benchmarks.timing import interleaved
from robot_dynamics import derivatives
from robot_dynamics.compile.kernel import compile_program
from robot_dynamics.dynamics.forward import forward_dynamics
from robot_dynamics.dynamics.inertia_matrix import inertia_matrix
from robot_dynamics.dynamics.inverse import inverse_dynamics
from robot_dynamics.model.parameters import pack, parameters_of

# Max-norm relative; accelerations and their derivatives are divided by the condition of H before.
TOLERANCE = 1e-12
FLAGS = ("-O3", "-march=native", "-shared", "-fPIC")
PEER = "CasADi, gcc -O3"
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
        "rnea": subject.scalar_kernel("inverse_dynamics"),
        "crba": subject.scalar_kernel("inertia_matrix"),
        "aba": subject.scalar_kernel("forward_dynamics"),
    }
    for name, make in (
        ("rnea derivatives", derivatives.inverse_dynamics_derivatives_program),
        ("aba derivatives", derivatives.forward_dynamics_derivatives_program),
    ):
        if name in functions:
            kernels[name] = compile_program(make(model), lanes=1).bind(pack(model))
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
