# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Routines: plain Python functions with loops over arrays, compiled as they are written.

Traced programs are straight-line code; code whose number of repetitions depends on data is a
routine:

    @routine
    def total(x: Vector) -> float:
        s = 0.0
        for i in range(len(x)):
            s += x[i]
        return s

The length of the code depends on the source and not on the sizes of arrays. Without a code
generator the function runs as Python.

Supported are numbers, truth values, elements of arrays, `+ - * / // %` and unary `-`, comparisons
of two, `and`, `or`, `not`, `x if c else y`; assignments, also `a, b = x, y` and `+=`; `if`,
`while`, `for` over `range`, `break`, `continue`, `pass`, `return`; `len`, `x.shape[0]`, `abs`,
`min` and `max` of two, `sqrt`, `float`, `int`, constants of the module; calls of other routines,
but not of itself; and outside loops `x = zeros(n)` or `zeros(n, m)` for local arrays. A variable
keeps the type of its first value, and `abs` returns a floating-point number. Indices are not
checked and count from the front, `//` and `%` are for whole numbers that are not negative, a step
of `range` that is not a constant is positive, and a division by zero is infinite. Arrays that are
written to must not overlap with others.

Arrays, numbers, calls and records that belong together are a record, whose fields are named as in
`state.pressed[i]`, `step.trial.h` or `len(step.gaps)`. A parameter is a record if its annotation
is one of two kinds of classes. Fields of a NamedTuple stay as they are when a routine is bound:
arrays as places, numbers as values. Numbers of a `MutableRecord` are in memory, which a routine
reads and writes: `trial.h = 0.5 * trial.h`. Routines hand records on as a whole, and only used
fields count. Outside loops `x = state.pressed` and `trial = step.trial` are shorter names.

Routines and kernels that are bound to their arrays (`Kernel.bind_arrays`) are passed to another
routine as a `Call`, which it calls without arguments: separately compiled steps run one after the
other without Python between them. Any Python function can be a `Call` as well; if it raises, it is
not called again, and its exception is raised when the outermost routine returns.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.compile import cache
from robot_dynamics.compile.errors import CompilerError
from robot_dynamics.compile.host import Host, find_host, interpretation_forced
from robot_dynamics.compile.machine import load_object
from robot_dynamics.compile.machine_child import object_code
from robot_dynamics.compile.records import (
    ARRAYS,
    Call,
    Indices,
    Mask,
    Matrix,
    MutableRecord,
    Table,
    Tensor,
    Vector,
    field_of,
    new_record,
)
from robot_dynamics.compile.routine_code import CALL_WORDS, Source, code_of

__all__ = [
    "Call",
    "Indices",
    "Mask",
    "Matrix",
    "MutableRecord",
    "Routine",
    "Table",
    "Tensor",
    "Vector",
    "new_record",
    "nothing",
    "routine",
    "zeros",
]

_RESULTS = {"double": ctypes.c_double, "i64": ctypes.c_int64, "i1": ctypes.c_bool, "void": None}


class Routine(Source):
    """A function that is compiled when it is first bound; see `routine`."""

    def __call__(self, *arguments: Any) -> Any:
        """Evaluate."""
        return self.bind(*arguments)()

    def bind(self, *arguments: Any) -> Callable[[], Any]:
        """Return a function without arguments that reads and writes these arrays in place.

        Args:
            arguments: Contiguous arrays, numbers, functions and records of these, as the function
                declares them.

        Raises:
            CompilerError: If an argument or the function is not supported.
        """
        if interpretation_forced() or find_host() is None:
            return partial(self.function, *arguments)
        entry, machine, parameters, places = self._compiled
        count = self.function.__code__.co_argcount
        if len(arguments) != count:
            raise CompilerError(
                f"{self.__name__}: got {len(arguments)} arguments, expected {count}."
            )
        given = (field_of(arguments[at], path) if path else arguments[at] for at, path in places)
        used = [*map(_entered, given)]
        words = self.words(parameters, used)
        content = struct.pack(f"{len(words)}q", *words)
        table = (ctypes.c_int64 * len(words)).from_buffer_copy(content)
        address = ctypes.addressof(table)
        failures = [one for each in used for one in getattr(each, "failures", ())]
        bound = (
            partial(_checked, entry, failures, address) if failures else partial(entry, address)
        )
        bound.failures = failures  # type: ignore[attr-defined]
        bound.kept = (table, used, machine)  # type: ignore[attr-defined]
        bound.entry = (machine.address, address)  # type: ignore[attr-defined]
        return bound

    @cached_property
    def _compiled(self) -> tuple[Any, Any, list[tuple[str, str]], list[tuple[int, list[str]]]]:
        """The compiled function, its machine code, its parameters and their places in arguments.

        A place is the index of an argument, and the names that lead to a field of a record.
        """
        host = find_host()
        assert host is not None
        metadata, code = self.stored(host, "routine", self._module)
        machine = load_object([code], host)
        entry = ctypes.CFUNCTYPE(_RESULTS[metadata["result"]], ctypes.c_void_p)(machine.address)
        parameters, names = metadata["parameters"], self.function.__code__.co_varnames
        paths = [name.split(".") for name, _ in parameters]
        places = [(names.index(first), rest) for first, *rest in paths]
        return entry, machine, parameters, places

    def _module(self) -> tuple[str, dict[str, Any]]:
        text, parameters, result = code_of(self)
        return text, {"parameters": parameters, "result": result}

    def stored(
        self, host: Host, kind: str, write: Callable[[], tuple[str, dict[str, Any]]]
    ) -> tuple[dict[str, Any], bytes]:
        """Return metadata and object code of a module with this routine, from the cache if any.

        Args:
            host: Target of the code.
            kind: Key of the module among those with this routine.
            write: Returns text and metadata of the module.
        """
        function = self.function
        source = Path(function.__code__.co_filename).read_bytes()
        key = f"{kind}\0{function.__module__}\0{function.__qualname__}\0".encode() + source
        entry = cache.entry_name(key, host, 0)
        if (found := cache.load(entry)) is not None:
            return found
        text, metadata = write()
        try:
            code = object_code(text, host.triple, host.cpu, host.features, 3, optimised=True)
        except RuntimeError as error:
            raise CompilerError(f"LLVM refused the generated code: {error}") from error
        cache.store(entry, metadata, code)
        return metadata, code

    def words(self, parameters: Sequence[tuple[str, str]], arguments: Sequence[Any]) -> list[int]:
        """Return addresses and lengths of arrays, and numbers, as machine code reads them."""
        words: list[int] = []
        for (name, kind), given in zip(parameters, arguments, strict=True):
            if kind == "Call":
                entry = getattr(given, "entry", None)
                if entry is None:
                    raise CompilerError(
                        f"{self.__name__}: {name} is {given!r:.60}, expected a function."
                    )
                words += [*entry, *[0] * (CALL_WORDS - len(entry))]
            elif kind in ARRAYS:
                _, element, rank = ARRAYS[kind]
                fits = isinstance(given, np.ndarray) and given.flags.c_contiguous
                if not fits or given.dtype != element or given.ndim != rank:
                    array = isinstance(given, np.ndarray)
                    found = f"{given.dtype} of shape {given.shape}" if array else repr(given)
                    raise CompilerError(
                        f"{self.__name__}: {name} is {found}, expected a contiguous {kind}."
                    )
                words += [given.__array_interface__["data"][0], *given.shape]
            elif kind == "float":
                words += struct.unpack("<q", struct.pack("<d", given))
            else:
                words.append(int(given))
        return words


def _entered(given: Any) -> Any:
    """Return an argument; a Python function as a function that machine code can call."""
    if not callable(given) or hasattr(given, "entry"):
        return given
    failure: list[BaseException] = []

    def guarded() -> None:
        if not failure:
            try:
                given()
            except BaseException as error:  # nothing can be raised through machine code
                failure.append(error)

    back = ctypes.CFUNCTYPE(None)(guarded)
    back.failures = [failure]  # type: ignore[attr-defined]
    back.entry = (ctypes.cast(back, ctypes.c_void_p).value,)  # type: ignore[attr-defined]
    return back


def _checked(entry: Any, failures: Sequence[list[BaseException]], address: int) -> Any:
    """Return the result of a routine; raise the error of a Python function that it called."""
    result = entry(address)
    for failure in failures:
        if failure:
            raise failure.pop()
    return result


def zeros(*shape: int) -> Any:
    """Return an array of zeros, which a routine frees when it returns."""
    return np.zeros(shape)


def routine(function: Callable[..., Any]) -> Routine:
    """Return a function as a routine; annotations give the kinds of its parameters.

    They are `Vector`, `Matrix`, `Tensor` of floating-point numbers, `Mask`, `Indices`, `Table` of
    whole numbers, `float`, `int`, `bool`, `Call`, or records of these; it returns a number, a
    truth value or None.
    """
    return Routine(function)


@routine
def nothing() -> None:
    """Do nothing, as a `Call` that is not needed."""
