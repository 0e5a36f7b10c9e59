# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A program and all it calls as one module in LLVM's assembly language."""

from __future__ import annotations

from robot_dynamics.compile.core import Core
from robot_dynamics.compile.loop import Loop
from robot_dynamics.compile.preparation import Prepared
from robot_dynamics.compile.program import Program
from robot_dynamics.compile.schedule import Plan, plan
from robot_dynamics.compile.writer import Lanes

#: The names of the two functions that a module exports: a loop as NumPy's ufuncs call it, and
#: `void prepare(const double *parameters, double *prepared, void *)`, which makes the loop's data.
ENTRY, PREPARE = "robot_dynamics_loop", "robot_dynamics_prepare"


class Module:
    """Collects the functions of a module.

    Args:
        fma: Whether the processor fuses multiplication and addition.
    """

    def __init__(self, fma: bool) -> None:
        self.fma = fma
        self.functions: list[str] = []
        self._cores: dict[tuple[int, int, bool], str] = {}
        self._plans: dict[int, Plan] = {}

    def plan(self, program: Program) -> Plan:
        """Return the decisions about a program, which all its cores share."""
        if id(program) not in self._plans:
            self._plans[id(program)] = plan(program)
        return self._plans[id(program)]

    def core(self, program: Program, lanes: Lanes, uniform: bool) -> str:
        """Return the name of the block core of a program, which is written if need be."""
        key = (id(program), lanes.width, uniform)
        if key not in self._cores:
            name = f"core{len(self._cores)}"
            self._cores[key] = name
            self.functions.append(Core(self, program, lanes, uniform).block_form(name))
        return self._cores[key]

    def direct_core(self, program: Program, name: str, exported: bool = False) -> None:
        """Write the direct core of a program."""
        core = Core(self, program, Lanes(1), True)
        self.functions.append(core.direct_form(name, exported))


def emit_module(parts: Prepared, width: int, fma: bool) -> str:
    """Return the text of a module whose function `ENTRY` evaluates a program for many states.

    Args:
        parts: The program in its two parts.
        width: How many states to take at once where there are many.
        fma: Whether the processor fuses multiplication and addition.
    """
    module = Module(fma)
    lanes = Lanes(width)
    if parts.preparation is not None:
        module.direct_core(parts.preparation, PREPARE, exported=True)
    else:
        arguments = "ptr %parameters, ptr %prepared, ptr %nothing"
        module.functions.append(f"define void @{PREPARE}({arguments}) {{\n  ret void\n}}")
    program = parts.remainder
    module.direct_core(program, "direct")
    core = module.core(program, lanes, True) if width > 1 else ""
    loop = Loop(program, lanes, "direct", core)
    text = loop.text(ENTRY)
    declarations = ["declare double @atan2(double, double)"]
    declarations += [f"declare double @{name}(double)" for name in ("exp", "log")]
    for suffix, real in {(Lanes(1).suffix, "double"), (lanes.suffix, lanes.real)}:
        declarations += [
            f"declare {real} @llvm.fma.{suffix}({real}, {real}, {real})",
            f"declare {real} @llvm.sqrt.{suffix}({real})",
            f"declare {real} @llvm.fabs.{suffix}({real})",
        ]
    return "\n".join([*sorted(declarations), *loop.tables, *module.functions, text, ""])
