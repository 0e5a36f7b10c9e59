# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Arrays of routines, and records of arrays and numbers that belong together."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Tensor = NDArray[np.float64]
Mask = NDArray[np.bool_]
Indices = NDArray[np.int64]
Call = Callable[[], Any]
Table = NDArray[np.int64]
Fields = TypeVar("Fields")

#: Of each kind of array its element's type in LLVM and in NumPy, and its number of dimensions.
#: Numbers of a `Record` are arrays without dimensions.
ARRAYS: dict[str, tuple[str, Any, int]] = {
    "Vector": ("double", np.float64, 1),
    "Matrix": ("double", np.float64, 2),
    "Tensor": ("double", np.float64, 3),
    "Mask": ("i8", np.bool_, 1),
    "Indices": ("i64", np.int64, 1),
    "Table": ("i64", np.int64, 2),
    "float in memory": ("double", np.float64, 0),
    "int in memory": ("i64", np.int64, 0),
    "bool in memory": ("i8", np.bool_, 0),
}
#: LLVM's types of numbers that are handed over by value.
NUMBERS = {"float": "double", "int": "i64", "bool": "i1"}


class Record:
    """Arrays and numbers that routines read and write by name.

        class Trial(Record):
            h: float  #: Length of the step [s].
            end: Vector  #: Velocities at its end (nv,).

        trial = Trial(h=1e-3, end=nv)
        trial.h = 0.5 * trial.h

    Every field is memory of its own, also a number, which is an array without dimensions: so it
    stays where compiled code finds it, and an assignment writes it in place. Fields of N records
    may lie in arrays (N, ...): `Trial(h=lengths[i, ...], end=ends[i])` is the i-th of them.

    Args:
        fields: Arrays, or their shapes for arrays of zeros; numbers, zero by default, or their
            memory; other records.

    Attributes:
        memory: Its arrays and numbers by their names.
    """

    memory: dict[str, NDArray[Any]]

    def __init_subclass__(cls) -> None:
        for name, kind in cls.__annotations__.items():
            if kind in NUMBERS:
                setattr(cls, name, property(_reader(name)))

    def __init__(self, **fields: Any) -> None:
        memory: dict[str, NDArray[Any]] = {}
        vars(self)["memory"] = memory
        for name in type(self).__annotations__:
            kind, given = kind_of(type(self), name), fields.pop(name, ())
            if kind not in ARRAYS:
                vars(self)[name] = given
                continue
            element = ARRAYS[kind][1]
            if kind.endswith("memory"):
                own = given if isinstance(given, np.ndarray) else np.array(given or 0, element)
                memory[name] = own
            else:
                own = given if isinstance(given, np.ndarray) else np.zeros(given, element)
                memory[name] = vars(self)[name] = own
        if fields:
            raise TypeError(f"{type(self).__name__} has no field {next(iter(fields))!r}.")

    def __setattr__(self, name: str, value: Any) -> None:
        self.memory[name][...] = value

    def arrays(self) -> Iterator[NDArray[Any]]:
        """Yield the memory of all its fields, and of those of its records."""
        yield from self.memory.values()
        for field in vars(self).values():
            if isinstance(field, Record):
                yield from field.arrays()


def _reader(name: str) -> Callable[[Record], Any]:
    return lambda record: record.memory[name].item()


def new_record(of: Callable[..., Fields], **fields: Any) -> Fields:
    """Return a NamedTuple of the given fields; a shape stands for an array of zeros."""
    for name, given in fields.items():
        kind = kind_of(of, name)
        if kind in ARRAYS and isinstance(given, int | tuple):
            fields[name] = np.zeros(given, ARRAYS[kind][1])
    return of(**fields)


def fields_of(kind: Any) -> tuple[str, ...]:
    """Return the names of the fields of a record's class; none of anything else."""
    if isinstance(kind, type) and issubclass(kind, Record):
        return tuple(kind.__annotations__)
    return tuple(getattr(kind, "_fields", ()))


def kind_of(record: Any, field: str) -> str:
    """Return the kind of a field as it is written; of a number also whether it is in memory."""
    kind = record.__annotations__[field]
    written = str(getattr(kind, "__forward_arg__", kind))
    if written in NUMBERS and issubclass(record, Record):
        return f"{written} in memory"
    return written


def class_of(record: Any, field: str) -> Any:
    """Return the class of a field that is a record, else None."""
    found = vars(sys.modules[record.__module__]).get(kind_of(record, field))
    return found if fields_of(found) else None


def field_of(record: Any, path: list[str]) -> Any:
    """Return a field of a record, by the names that lead to it; a `Record`'s number as memory."""
    for name in path:
        memory = record.memory if isinstance(record, Record) else {}
        record = memory[name] if name in memory else getattr(record, name)
    return record
