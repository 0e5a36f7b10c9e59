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

#: The most states at a time of any processor.
MOST_LANES = 8

#: Names that a module exports: the loop over states, as NumPy's ufuncs call it; `void
#: prepare(const double *parameters, double *prepared, void *)`, which makes the loop's data; and
#: the same loop for batches. That takes several states at a time with the code whose address is
#: in the first word of a variable, after it called the function in the second word, if any.
ENTRY, PREPARE = "robot_dynamics_loop", "robot_dynamics_prepare"
BATCHES, BATCH_CODE = "robot_dynamics_batches", "robot_dynamics_batch_code"

_BATCH_CODE = f"@{BATCH_CODE} = global [2 x ptr] [ptr @{ENTRY}, ptr null]"
_BATCHES = f"""\
define void @{BATCHES}(ptr %args, ptr %dimensions, ptr %steps, ptr %data) nounwind {{
entry:
  %count = load i64, ptr %dimensions, align 8
  %several = icmp sgt i64 %count, 1
  br i1 %several, label %batch, label %single
batch:
  %second = getelementptr i8, ptr @{BATCH_CODE}, i64 8
  %make = load atomic ptr, ptr %second acquire, align 8
  %made = icmp eq ptr %make, null
  br i1 %made, label %several_states, label %first_batch
first_batch:
  call void %make()
  br label %several_states
several_states:
  %code = load atomic ptr, ptr @{BATCH_CODE} acquire, align 8
  tail call void %code(ptr %args, ptr %dimensions, ptr %steps, ptr %data)
  ret void
single:
  tail call void @{ENTRY}(ptr %args, ptr %dimensions, ptr %steps, ptr %data)
  ret void
}}"""


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

    Also the most states at a time: few for programs with very many values.

    Args:
        parts: The program in its two parts.
        width: Number of states at a time, at most as many as that. If it is 1, the module has the
            other exported functions, too.
        fma: Whether the processor fuses multiplication and addition.
        columns: Number of calls of one state that are made side by side.
    """
    module = CoreModule(fma, columns)
    program, most = parts.remainder, MOST_LANES
    if is_long(program):
        most = lanes_that_fit(program, module.pieces(program), most)
    lanes = Lanes(min(width, most))
    data = []
    if width > 1:
        loop = Loop(program, lanes, module.core(program, lanes, True))
    else:
        if parts.preparation is not None:
            module.direct_core(parts.preparation, PREPARE, exported=True)
        module.direct_core(program, "direct")
        data.append(_BATCH_CODE)
        module.functions.append(_BATCHES)
        loop = Loop(program, lanes, "direct")
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
    data += [*loop.tables, *module.data()]
    return "\n".join([*sorted(declarations), *data, *module.functions, text, ""]), most
