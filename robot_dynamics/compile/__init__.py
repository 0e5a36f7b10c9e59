# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The compiler of traced programs: from straight-line Python to NumPy functions."""

from robot_dynamics.compile.errors import CompilerError, ShapeError, TraceError
from robot_dynamics.compile.kernel import (
    Kernel,
    TunableKernel,
    compile_program,
    load_kernel,
    shared_kernel,
)
from robot_dynamics.compile.program import Program
from robot_dynamics.compile.tracing import call, trace

__all__ = [
    "CompilerError",
    "Kernel",
    "Program",
    "ShapeError",
    "TraceError",
    "TunableKernel",
    "call",
    "compile_program",
    "load_kernel",
    "shared_kernel",
    "trace",
]
