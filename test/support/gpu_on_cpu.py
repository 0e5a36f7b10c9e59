# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels for GPUs without a GPU: run on the processor, thread by thread, and assembled."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from robot_dynamics.compile import gpu, machine_child
from robot_dynamics.compile.host import find_host

REGISTERS = ("ctaid.x", "ntid.x", "tid.x")


def on_processor(text: str) -> Any:
    """Return a kernel's text as a function `(blocks, threads, arguments)`, as CuPy's kernels are.

    The special registers of a thread become variables; nothing else changes.
    """
    text = re.sub(r"declare i32 @llvm\.nvvm.*\n", "", text).replace("ptx_kernel ", "")
    for name in REGISTERS:
        text = text.replace(
            f"call i32 @llvm.nvvm.read.ptx.sreg.{name}()", f"load i32, ptr @{name}"
        )
        text += f"@{name} = global i32 0\n"
    from llvmlite import binding

    host = find_host()
    code = machine_child.object_code(text, host.triple, host.cpu, host.features, host.opt_level)
    builder = binding.JITLibraryBuilder().add_object_img(code).export_symbol(gpu.ENTRY)
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
        function = entry(library[gpu.ENTRY])
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
        assert name == gpu.ENTRY
        return on_processor(self.text)


# What `GpuFunction` uses of CuPy.
_CUPY = SimpleNamespace(
    asarray=np.asarray,
    asfortranarray=np.asfortranarray,
    empty=lambda shape: np.full(shape, np.nan),
    cuda=SimpleNamespace(function=SimpleNamespace(Module=Module)),
)


def run_on_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run functions for a GPU on the processor, with arrays of NumPy."""
    monkeypatch.setattr(gpu, "_cupy", lambda: _CUPY)
    monkeypatch.setattr(gpu, "ptx_of", gpu.kernel_text)


def check_ptx(text: str, folder: Path) -> None:
    """Check that code has one entry, is complete and is accepted by ptxas, if that is there.

    Every operation is rounded by itself: without .rn ptxas could fuse some.
    """
    assert re.findall(r"\.entry (\w+)\(", text) == [gpu.ENTRY]
    assert ".extern" not in text
    assert not re.search(r"\b(add|sub|mul|fma)\.f64", text)
    if shutil.which("ptxas"):
        (folder / "kernel.ptx").write_text(text)
        subprocess.run(["ptxas", "-arch=sm_90", "kernel.ptx"], cwd=folder, check=True)
