# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A stand-in for CuPy: kernels for GPUs run on the processor, one thread after the other."""

from __future__ import annotations

import ctypes
import re
from types import SimpleNamespace
from typing import Any

import numpy as np
from llvmlite import binding

from robot_dynamics.compile import machine_child
from robot_dynamics.compile.gpu import ENTRY
from robot_dynamics.compile.host import find_host

REGISTERS = ("ctaid.x", "ntid.x", "tid.x")


def on_processor(text: str) -> Any:
    """Return a kernel's text as a function `(blocks, threads, arguments)`, as CuPy's kernels are.

    The special registers of a thread become variables; nothing else changes.
    """
    text = re.sub(r"declare i32 @llvm\.nvvm.*\n", "", text).replace("ptx_kernel ", "")
    for name in REGISTERS:
        text = text.replace(f"call i32 @llvm.nvvm.read.ptx.sreg.{name}()", f"load i32, ptr @{name}")
        text += f"@{name} = global i32 0\n"
    host = find_host()
    code = machine_child.object_code(text, host.triple, host.cpu, host.features, host.opt_level)
    builder = binding.JITLibraryBuilder().add_object_img(code).export_symbol(ENTRY)
    for name in REGISTERS:
        builder.export_symbol(name)
    linker = binding.create_lljit_compiler(
        machine_child.target_machine(host.triple, host.cpu, host.features, host.opt_level),
        use_jit_link=True,
    )
    library = builder.link(linker, "kernel")
    variables = [ctypes.c_int32.from_address(library[name]) for name in REGISTERS]

    def kernel(blocks: tuple[int], threads: tuple[int], arguments: tuple[Any, ...]) -> None:
        count, *arrays = arguments
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
        entry = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * len(arrays))
        function = entry(library[ENTRY])
        variables[1].value = threads[0]
        for variables[0].value in range(blocks[0]):
            for variables[2].value in range(threads[0]):
                function(int(count), *pointers)

    kernel.kept = linker
    return kernel


class Module:
    """A module of code: its text in LLVM's language, in the place of PTX."""

    def load(self, code: bytes) -> None:
        """Take the text."""
        self.text = code.decode()

    def get_function(self, name: str) -> Any:
        """Return the kernel."""
        assert name == ENTRY
        return on_processor(self.text)


#: What `GpuFunction` uses of CuPy.
CUPY = SimpleNamespace(
    asarray=np.asarray,
    asfortranarray=np.asfortranarray,
    empty=lambda shape: np.full(shape, np.nan),
    cuda=SimpleNamespace(function=SimpleNamespace(Module=Module)),
)
