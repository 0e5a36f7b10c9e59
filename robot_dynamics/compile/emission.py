# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A program and all it calls as one module in LLVM's assembly language."""

from __future__ import annotations

from robot_dynamics.compile.core import Core, Module
from robot_dynamics.compile.long_core import LongCore, lanes_that_fit
from robot_dynamics.compile.loop import Loop
from robot_dynamics.compile.preparation import Prepared
from robot_dynamics.compile.program import Program
from robot_dynamics.compile.writer import Lanes

#: Largest number of operations of one function: LLVM's time grows with more than their square.
LONGEST_FUNCTION = 10_000

#: The names of the two functions that a module exports: a loop as NumPy's ufuncs call it, and
#: `void prepare(const double *parameters, double *prepared, void *)`, which makes the loop's data.
ENTRY, PREPARE = "robot_dynamics_loop", "robot_dynamics_prepare"


class CoreModule(Module):
    """A module whose cores are written as they are asked for."""

    def __init__(self, fma: bool, columns: int = 1) -> None:
        super().__init__(fma, columns)
        self._cores: dict[tuple[int, int, bool], str] = {}

    def core(self, program: Program, lanes: Lanes, uniform: bool) -> str:
        """Return the name of the block core of a program, which is written if need be."""
        key = (id(program), lanes.width, uniform)
        if key not in self._cores:
            name = self._cores[key] = f"core{len(self._cores)}"
            if is_long(program):
                text = LongCore(self, program, lanes, uniform).block_form(name)
            else:
                text = Core(self, program, lanes, uniform).block_form(name)
            self.functions.append(text)
        return self._cores[key]

    def direct_core(self, program: Program, name: str, exported: bool = False) -> None:
        """Write the direct core of a program."""
        kind = LongCore if is_long(program) else Core
        core = kind(self, program, Lanes(1), True)
        self.functions.append(core.direct_form(name, exported))


def is_long(program: Program) -> bool:
    """Whether a program becomes pieces: as one function LLVM would take too long for it."""
    return len(program.nodes) > LONGEST_FUNCTION


def emit_module(parts: Prepared, width: int, fma: bool, columns: int = 1) -> tuple[str, int]:
    """Return the text of a module whose function `ENTRY` evaluates a program for many states.

    Also the number of states at a time: fewer than `width` for programs with very many values.

    Args:
        parts: The program in its two parts.
        width: Requested number of states at a time in a batch.
        fma: Whether the processor fuses multiplication and addition.
        columns: Number of calls of one state that are made side by side.
    """
    module = CoreModule(fma, columns)
    if parts.preparation is not None:
        module.direct_core(parts.preparation, PREPARE, exported=True)
    else:
        arguments = "ptr %parameters, ptr %prepared, ptr %nothing"
        module.functions.append(f"define void @{PREPARE}({arguments}) {{\n  ret void\n}}")
    program = parts.remainder
    if is_long(program):
        width = lanes_that_fit(program, module.pieces(program), width)
    lanes = Lanes(width)
    module.direct_core(program, "direct")
    core = module.core(program, lanes, True) if width > 1 else ""
    loop = Loop(program, lanes, "direct", core)
    text = loop.text(ENTRY)
    declarations = ["declare double @atan2(double, double)"]
    declarations += [f"declare double @{name}(double)" for name in ("exp", "log")]
    declarations += ["declare void @llvm.prefetch.p0(ptr, i32, i32, i32)"]
    declarations += ["declare ptr @malloc(i64)", "declare void @free(ptr)"]
    for kind in {each.width: each for each in (Lanes(1), lanes, Lanes(columns))}.values():
        suffix, real = kind.suffix, kind.real
        declarations += [
            f"declare {real} @llvm.fma.{suffix}({real}, {real}, {real})",
            f"declare {real} @llvm.sqrt.{suffix}({real})",
            f"declare {real} @llvm.fabs.{suffix}({real})",
        ]
    parts_of_text = [*sorted(declarations), *loop.tables, *module.data(), *module.functions, text]
    return "\n".join([*parts_of_text, ""]), width
