# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""From LLVM's assembly language to object code, and from object code to a function in memory."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
from functools import lru_cache
from itertools import count
from typing import Any
from weakref import WeakValueDictionary

from robot_dynamics.compile.emission import ENTRY, PREPARE
from robot_dynamics.compile.errors import CompilerError
from robot_dynamics.compile.host import Host


@lru_cache(maxsize=1)
def _initialize() -> None:
    from llvmlite import binding

    with contextlib.suppress(RuntimeError):  # newer versions initialise themselves
        binding.initialize()
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()


def _target_machine(host: Host) -> Any:
    from llvmlite import binding

    _initialize()
    # Position-independent code reaches constants relative to the instruction pointer, in one
    # instruction; the loader below keeps code and constants together.
    return binding.Target.from_triple(host.triple).create_target_machine(
        cpu=host.cpu,
        features=host.features,
        opt=host.opt_level,
        reloc="pic",
        codemodel="small",
    )


def compile_object(text: str, host: Host) -> bytes:
    """Return the object code of a module.

    Args:
        text: The module in LLVM's assembly language.
        host: What to make code for.

    Raises:
        CompilerError: If LLVM refuses the module.
    """
    from llvmlite import binding

    machine = _target_machine(host)
    try:
        module = binding.parse_assembly(text)
        module.triple = host.triple
        module.data_layout = str(machine.target_data)
        return machine.emit_object(module)  # type: ignore[no-any-return]
    except RuntimeError as error:
        raise CompilerError(f"LLVM refused the generated code: {error}") from error


def load_object(code: bytes, host: Host) -> MachineCode:
    """Return object code in memory, the same object as long as it is referenced.

    LLVM keeps some ten kilobytes of every library that was ever linked, for as long as the process
    lives. Repeated loading of the same kernels, as in every check of a start, must therefore
    not link them again.

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
            linker = _linker(host)
            self._library = builder.link(linker, f"kernel{next(_numbers)}")
            self._linker = linker  # which must outlive the library
        except RuntimeError as error:
            raise CompilerError(f"object code could not be loaded: {error}") from error
        self.address = int(self._library[ENTRY])
        self.preparation = int(self._library[PREPARE])


_numbers = count()
_loaded: WeakValueDictionary[bytes, MachineCode] = WeakValueDictionary()


@lru_cache(maxsize=1)
def _linker(host: Host) -> Any:
    """Return the linker that all object code is loaded by.

    It puts code and constants into one stretch of memory, which small position-independent code
    needs.
    """
    from llvmlite import binding

    return binding.create_lljit_compiler(_target_machine(host), use_jit_link=True)


@lru_cache(maxsize=1)
def _library_functions() -> dict[str, int]:
    """Return the addresses of the functions of the C library that kernels call."""
    library = ctypes.CDLL(None)  # what Python itself is linked with, the C library included
    if not hasattr(library, "atan2"):
        library = ctypes.CDLL("libm.so.6")
    return {
        name: ctypes.cast(library[name], ctypes.c_void_p).value or 0
        for name in ("atan2", "exp", "log")
    }
