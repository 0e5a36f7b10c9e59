# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""From LLVM's assembly language to object code, and from object code to a function in memory."""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import count
from typing import Any
from weakref import WeakValueDictionary

from robot_dynamics.compile import machine_child
from robot_dynamics.compile.emission import ENTRY
from robot_dynamics.compile.errors import CompilerError
from robot_dynamics.compile.host import Host

# Modules with longer texts take LLVM half a second or more.
_LONG = 500_000  # characters
# LLVM's time for a character [s] before any long module was compiled, and as the last one took, by
# optimisation level.
_PACE = 1e-6
_pace: dict[int, float] = {}
# Run it by its path: as a module it would import the whole package.
_RUN = "import runpy, sys; runpy.run_path(sys.argv[1], run_name='__main__')"


def compile_object(text: str, host: Host) -> list[bytes]:
    """Return the object code of a module; Ctrl-C interrupts long compilations.

    Functions of long modules are compiled in several processes, one for each core.

    Args:
        text: The module in LLVM's assembly language.
        host: Target of the code.

    Raises:
        CompilerError: If LLVM refuses the module.
    """
    target = (host.triple, host.cpu, host.features, host.opt_level)
    try:
        if len(text) > _LONG:
            begin, parts = time.monotonic(), divided(text, _parts(text))
            codes = _of_children(parts, target)
            if codes is not None:
                took = time.monotonic() - begin
                _pace[host.opt_level] = took * len(parts) / len(text)
                return codes
        return [machine_child.object_code(text, *target)]
    except RuntimeError as error:
        raise CompilerError(f"LLVM refused the generated code: {error}") from error


def expected_seconds(text: str, host: Host) -> float:
    """Return the expected time of LLVM for a module [s], at the pace of the last long one."""
    return len(text) / _parts(text) * _pace.get(host.opt_level, _PACE)


def _parts(text: str) -> int:
    """Return the number of modules that a long one is divided into."""
    return max(min(len(text) // max(_LONG, 1), len(os.sched_getaffinity(0))), 1)


def divided(text: str, count: int) -> list[str]:
    """Return the functions of a module as modules of similar lengths that call each other.

    Args:
        text: The module: declarations, constants, one in a line, and then functions.
        count: Number of modules, at most the number of functions.
    """
    head, *functions = re.split(r"^(?=define )", text, flags=re.MULTILINE)
    count = min(count, len(functions))
    if count < 2:
        return [text]
    functions = [one.replace("define internal ", "define ", 1) for one in functions]
    declared = {
        re.findall(r"@[\w.]+", one)[0]: one[: one.index(")") + 1].replace("define", "declare", 1)
        for one in functions
    }
    parts: list[list[str]] = [[] for _ in range(count)]
    for one in sorted(functions, key=len, reverse=True):
        min(parts, key=lambda part: sum(map(len, part))).append(one)
    found = []
    for part in parts:
        used = set(re.findall(r"@[\w.]+", "".join(part)))
        own = {re.findall(r"@[\w.]+", one)[0] for one in part}
        lines = [
            line
            for line in head.splitlines()
            if not line.startswith("@") or line.split(" ", 1)[0] in used
        ]
        lines += [line for name, line in declared.items() if name in used - own]
        found.append("\n".join([*lines, *part]))
    return found


def _of_children(texts: list[str], target: tuple[str, str, str, int]) -> list[bytes] | None:
    """Return the object code that other processes make; None if they cannot be started.

    Ctrl-C ends those processes; LLVM in this process could not be interrupted.

    Raises:
        RuntimeError: If LLVM refuses a text.
    """
    path = os.pathsep.join(filter(None, sys.path))
    children: list[subprocess.Popen[bytes]] = []
    with ThreadPoolExecutor(len(texts), "compilation") as threads:
        try:
            for _ in texts:
                child = subprocess.Popen(
                    # `site` would look for packages, whose places are known.
                    [sys.executable, "-S", "-c", _RUN, machine_child.__file__],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    env={**os.environ, "PYTHONPATH": path},
                )
                children.append(child)
            requests = [json.dumps(target).encode() + b"\n" + text.encode() for text in texts]
            answers = list(threads.map(subprocess.Popen.communicate, children, requests))
        except OSError:
            return None
        finally:
            for child in children:
                child.kill()
    for child, (_, words) in zip(children, answers, strict=True):
        if child.returncode == 1 and words.strip():
            raise RuntimeError(words.decode(errors="replace"))
    if any(child.returncode for child in children):
        return None
    return [code for code, _ in answers]


def load_object(
    objects: Sequence[bytes], host: Host, names: Sequence[str] = (ENTRY,), lanes: int = 1
) -> MachineCode:
    """Return object code in memory, the same object as long as it is referenced.

    LLVM keeps about ten kilobytes of every linked library until the process ends. Repeated loading
    of the same kernels, as in every check of a start, must therefore not link them again.

    Args:
        objects: Object code, as `compile_object` returns it.
        host: Processor for which it was compiled.
        names: Exported names.
        lanes: Number of states at a time in its batches, which other kernels do not share.

    Raises:
        CompilerError: If the object code does not contain the names.
    """
    key = hashlib.sha256(b"".join(objects)).digest(), lanes
    machine = _loaded.get(key)
    if machine is None:
        machine = _loaded[key] = MachineCode(objects, host, names)
    return machine


class MachineCode:
    """Object code in memory; see `load_object`.

    Attributes:
        addresses: The addresses of the exported names, valid as long as this object lives.
        address: The address of the loop.
        batch_code: Owner of the code for batches; None if there is none.
    """

    def __init__(
        self, objects: Sequence[bytes], host: Host, names: Sequence[str] = (ENTRY,)
    ) -> None:
        """Load object code; see `load_object`."""
        from llvmlite import binding

        builder = binding.JITLibraryBuilder()
        for each in objects:
            builder.add_object_img(each)
        for name in names:
            builder.export_symbol(name)
        for name, address in _library_functions().items():
            builder.import_symbol(name, address)
        try:
            linker = _linker(host.triple, host.cpu, host.features)
            self._library = builder.link(linker, f"kernel{next(_numbers)}")
            self._linker = linker  # which must outlive the library
        except RuntimeError as error:
            raise CompilerError(f"object code could not be loaded: {error}") from error
        self.addresses = {name: int(self._library[name]) for name in names}
        self.address = self.addresses[ENTRY]
        self.batch_code: object = None


_numbers = count()
_loaded: WeakValueDictionary[tuple[bytes, int], MachineCode] = WeakValueDictionary()


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
