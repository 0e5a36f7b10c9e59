# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Programs as kernels of NVIDIA GPUs: each thread evaluates one state in double precision.

The text of the kernel becomes PTX by LLVM, and machine code by the driver, which keeps it. Every
operation is rounded once, as IEEE 754 defines it, and in the order of the program: results are the
bits of a processor with fused multiplication and addition, except where a program calls `atan2`.

The kernel is `void (i64 count, double *inputs..., double *outputs...)`. Element e of state i is at
e * count + i: the 32 threads of a warp then read and write consecutive numbers.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from robot_dynamics.compile.core import Core
from robot_dynamics.compile.emission import LONGEST_FUNCTION, CoreModule, is_long
from robot_dynamics.compile.errors import CompilerError
from robot_dynamics.compile.ports import stack_inputs
from robot_dynamics.compile.program import Program
from robot_dynamics.compile.trigonometry import Arithmetic, write_arc_tangent
from robot_dynamics.compile.writer import Lanes, Writer

#: The name of the kernel.
ENTRY = "robot_dynamics_states"

_TRIPLE = "nvptx64-nvidia-cuda"
# Turing, the oldest processors that CUDA 13 knows; the driver compiles for newer ones.
_PROCESSOR = "sm_75"
# A thread takes up to 255 registers, of which a multiprocessor has 65536.
_THREADS = 128
_DECLARATIONS = (
    *(f"declare i32 @llvm.nvvm.read.ptx.sreg.{name}()" for name in ("ctaid.x", "ntid.x", "tid.x")),
    "declare double @llvm.fma.f64(double, double, double)",
    "declare double @llvm.sqrt.f64(double)",
    "declare double @llvm.fabs.f64(double)",
)


class GpuFunction:
    """A program as a function of arrays of CuPy, on the GPU that is current when it is made.

    Attributes:
        name: Its name.
        ports: The names and shapes of inputs and outputs.
        ptx: The code of the kernel.
    """

    def __init__(self, program: Program) -> None:
        """Compile a program; errors as of `ptx_of`.

        Raises:
            CompilerError: If CuPy is not installed.
        """
        cupy = _cupy()
        self.name, self.ports, self.ptx = program.name, program.ports, ptx_of(program)
        module = cupy.cuda.function.Module()
        module.load(self.ptx.encode())
        self._kernel = module.get_function(ENTRY)

    def __repr__(self) -> str:
        return f"<GPU function {self.name} {self.ports.signature}>"

    def __call__(self, *arrays: Any) -> Any:
        """Evaluate the program for many states.

        Args:
            arrays: The inputs, of shapes (..., *input shape); leading dimensions broadcast. Arrays
                of NumPy are copied to the GPU; arrays of CuPy are read in place if they are in
                Fortran order, as results are, and otherwise copied on the GPU.

        Returns:
            The output as an array of CuPy, of shape (..., *output shape), or a tuple of outputs.
            The elements of a state are a column: a batch (N, n) is in Fortran order.

        Raises:
            ShapeError: If an array has another shape than declared.
        """
        cupy, ports = _cupy(), self.ports
        values, batch = stack_inputs(ports, arrays, asarray=cupy.asarray)
        count = prod(batch)
        inputs = [
            cupy.asfortranarray(value.reshape(count, size))
            for value, size in zip(values, ports.input_sizes, strict=True)
        ]
        outputs = [cupy.empty((size, count)) for size in ports.output_sizes]
        if count:
            blocks = -(-count // _THREADS)
            self._kernel((blocks,), (_THREADS,), (np.int64(count), *inputs, *outputs))
        results = []
        for output, (_, shape) in zip(outputs, ports.outputs, strict=True):
            first, last = range(len(shape)), range(len(shape), len(shape) + len(batch))
            results.append(output.reshape((*shape, *batch)).transpose((*last, *first)))
        return results[0] if len(results) == 1 else tuple(results)


def ptx_of(program: Program) -> str:
    """Return the code of a program's kernel in PTX.

    Raises:
        CompilerError: If the program is too long, has parameters or calls `exp` or `log`, or
            LLVM cannot make such code.
    """
    text = kernel_text(program)
    try:
        from llvmlite import binding

        binding.initialize_all_targets()
        binding.initialize_all_asmprinters()
        target = binding.Target.from_triple(_TRIPLE)
        machine = target.create_target_machine(cpu=_PROCESSOR, opt=1)
        module = binding.parse_assembly(text)
        module.triple, module.data_layout = _TRIPLE, str(machine.target_data)
        return str(machine.emit_assembly(module))
    except (ImportError, RuntimeError) as error:
        raise CompilerError(f"{program.name}: LLVM makes no code for GPUs: {error}") from error


def kernel_text(program: Program) -> str:
    """Return the text of a program's kernel in LLVM's assembly language; errors as of `ptx_of`."""
    counts = program.operation_counts()
    if is_long(program):
        raise CompilerError(
            f"{program.name} has {len(program.nodes)} operations, expected at most "
            f"{LONGEST_FUNCTION} on a GPU."
        )
    if program.parameters or counts.get("exp") or counts.get("log"):
        raise CompilerError(
            f"{program.name}: expected a program without parameters, exp and log on a GPU."
        )
    module = CoreModule(fma=True)
    core = Core(module, program, Lanes(1), True)
    _write_state(core)
    ports = program.ports
    arguments = ["i64 %count"]
    arguments += [f"ptr noalias readonly %in{port}" for port in range(len(ports.inputs))]
    arguments += [f"ptr noalias %out{port}" for port in range(len(ports.outputs))]
    return "\n".join(
        [
            *_DECLARATIONS,
            *([_arc_tangent()] if counts.get("atan2") else []),
            *module.functions,
            f"define ptx_kernel void @{ENTRY}({', '.join(arguments)}) nounwind {{",
            "entry:",
            *core.allocations,
            *core.writer.lines,
            "  ret void",
            "}",
            "",
        ]
    )


def _write_state(core: Core) -> None:
    """Write the evaluation of the state of a thread."""
    writer, program = core.writer, core.program

    def register(name: str) -> str:
        number = writer.emit(f"call i32 @llvm.nvvm.read.ptx.sreg.{name}()")
        return writer.emit(f"zext i32 {number} to i64")

    before = writer.emit(f"mul i64 {register('ctaid.x')}, {register('ntid.x')}")
    state = writer.emit(f"add i64 {before}, {register('tid.x')}")
    writer.branch(writer.emit(f"icmp slt i64 {state}, %count"), "state", "done")
    writer.label("state")
    first, step = writer.emit(f"mul i64 {state}, 8"), writer.emit("mul i64 %count, 8")

    def place(array: str, element: int) -> str:
        distance = writer.emit(f"mul i64 {step}, {element}")
        return writer.offset(writer.offset(array, first), distance)

    def load_input(port: int, element: int) -> str:
        return writer.load("double", place(f"%in{port}", element))

    places: dict[int, list[tuple[int, int]]] = {}
    ports = program.ports
    for port, (start, size) in enumerate(
        zip(ports.output_starts, ports.output_sizes, strict=True)
    ):
        for element, value in enumerate(program.results[start : start + size]):
            if isinstance(value, int):
                places.setdefault(value, []).append((port, element))
            else:
                writer.store("double", core.lanes.constant(value), place(f"%out{port}", element))

    def store(index: int) -> None:
        for port, element in places[index]:
            writer.store("double", core.names[index], place(f"%out{port}", element))

    core.write(load_input, dict.fromkeys(program.slots, store))
    writer.jump("done")
    writer.label("done")


def _arc_tangent() -> str:
    """Return the definition of the C library's function, which GPUs lack."""
    writer = Writer()
    angle = write_arc_tangent(Arithmetic(writer, Lanes(1), True), "%y", "%x")
    head = "define internal double @atan2(double %y, double %x) nounwind {"
    return "\n".join([head, "entry:", *writer.lines, f"  ret double {angle}", "}"])


@lru_cache(maxsize=1)
def _cupy() -> Any:
    try:
        import cupy
    except ImportError:
        raise CompilerError(
            "functions on a GPU need CuPy: pip install 'robot_dynamics[gpu]'."
        ) from None
    return cupy
