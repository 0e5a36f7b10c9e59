# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""From LLVM's assembly language to object code, and from object code to a function in memory."""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import subprocess
import sys
from functools import lru_cache
from itertools import count
from typing import Any
from weakref import WeakValueDictionary

from robot_dynamics.compile import machine_child
from robot_dynamics.compile.emission import ENTRY, PREPARE
from robot_dynamics.compile.errors import CompilerError
from robot_dynamics.compile.host import Host

# Modules with longer texts take LLVM half a second or more.
_LONG = 500_000  # characters
# Run it by its path: as a module it would import the whole package.
_RUN = "import runpy, sys; runpy.run_path(sys.argv[1], run_name='__main__')"


def compile_object(text: str, host: Host) -> bytes:
    """Return the object code of a module; Ctrl-C interrupts long compilations.

    Args:
        text: The module in LLVM's assembly language.
        host: Target of the code.

    Raises:
        CompilerError: If LLVM refuses the module.
    """
    target = (host.triple, host.cpu, host.features, host.opt_level)
    try:
        code = _of_child(text, target) if len(text) > _LONG else None
        return machine_child.object_code(text, *target) if code is None else code
    except RuntimeError as error:
        raise CompilerError(f"LLVM refused the generated code: {error}") from error


def _of_child(text: str, target: tuple[str, str, str, int]) -> bytes | None:
    """Return the object code that another process makes; None if no process can be started.

    Ctrl-C ends that process; LLVM in this process could not be interrupted.

    Raises:
        RuntimeError: If LLVM refuses the module.
    """
    path = os.pathsep.join(filter(None, sys.path))
    try:
        child = subprocess.Popen(
            [sys.executable, "-c", _RUN, machine_child.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
        )
    except OSError:
        return None
    try:
        code, words = child.communicate(json.dumps(target).encode() + b"\n" + text.encode())
    finally:
        child.kill()
    if child.returncode == 1 and words.strip():
        raise RuntimeError(words.decode(errors="replace"))
    return code if child.returncode == 0 else None


def load_object(code: bytes, host: Host) -> MachineCode:
    """Return object code in memory, the same object as long as it is referenced.

    LLVM keeps about ten kilobytes of every linked library until the process ends. Repeated loading
    of the same kernels, as in every check of a start, must therefore not link them again.

    Args:
        code: What `compile_object` returned.
        host: What it was made for.

    Raises:
        CompilerError: If the object code does not contain the two functions.
    """
    key = hashlib.sha256(code).digest()
    machine = _loaded.get(key)
    if machine is None:
        machine = _loaded[key] = MachineCode(code, host)
    return machine


class MachineCode:
    """Object code in memory; see `load_object`.

    Attributes:
        address: The address of the loop. It is valid as long as this object lives.
        preparation: The address of the function that makes the loop's data from parameters.
    """

    def __init__(self, code: bytes, host: Host) -> None:
        """Load object code.

        Args:
            code: What `compile_object` returned.
            host: What it was made for.

        Raises:
            CompilerError: If the object code does not contain the two functions.
        """
        from llvmlite import binding

        builder = binding.JITLibraryBuilder().add_object_img(code)
        builder.export_symbol(ENTRY).export_symbol(PREPARE)
        for name, address in _library_functions().items():
            builder.import_symbol(name, address)
        try:
            linker = _linker(host.triple, host.cpu, host.features)
            self._library = builder.link(linker, f"kernel{next(_numbers)}")
            self._linker = linker  # which must outlive the library
        except RuntimeError as error:
            raise CompilerError(f"object code could not be loaded: {error}") from error
        self.address = int(self._library[ENTRY])
        self.preparation = int(self._library[PREPARE])


_numbers = count()
_loaded: WeakValueDictionary[bytes, MachineCode] = WeakValueDictionary()


@lru_cache(maxsize=1)
def _linker(triple: str, cpu: str, features: str) -> Any:
    """Return the linker that all object code is loaded by.

    It puts code and constants into one stretch of memory, which small position-independent code
    needs.
    """
    from llvmlite import binding

    return binding.create_lljit_compiler(
        machine_child.target_machine(triple, cpu, features, opt_level=0), use_jit_link=True
    )


@lru_cache(maxsize=1)
def _library_functions() -> dict[str, int]:
    """Return the addresses of the functions of the C library that kernels call."""
    library = ctypes.CDLL(None)  # what Python itself is linked with, the C library included
    if not hasattr(library, "atan2"):
        library = ctypes.CDLL("libm.so.6")
    return {
        name: ctypes.cast(library[name], ctypes.c_void_p).value or 0
        for name in ("atan2", "exp", "log", "malloc", "free", "memset", "memcpy", "memmove")
    }
