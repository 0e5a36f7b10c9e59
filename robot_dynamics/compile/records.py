# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Arrays of routines, and records of arrays and numbers that belong together."""

from __future__ import annotations

import ctypes
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
#: Numbers of a `MutableRecord` are arrays without dimensions.
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
_IN_C: dict[str, Any] = {"float": ctypes.c_double, "int": ctypes.c_int64, "bool": ctypes.c_bool}


class MutableRecord(ctypes.Structure):
    """Arrays and numbers that routines read and write by name.

        class Trial(MutableRecord):
            h: float  #: Length of the step [s].
            end: Vector  #: Velocities at its end (nv,).

        trial = Trial(h=1e-3, end=nv)
        trial.h = 0.5 * trial.h

    Numbers are side by side in memory, as in a structure of C, where compiled code finds them.
    Arrays are places of their own: `Trial(end=ends[i])` is one of N records whose arrays are rows
    of arrays (N, ...). They are written to, `trial.end[:] = v`, and not replaced.

    Args:
        fields: Arrays, or their shapes for arrays of zeros; numbers, zero by default; other
            records.
    """

    def __new__(cls, **_: Any) -> MutableRecord:
        """Return a record with memory for its numbers."""
        if "_fields_" not in vars(cls):
            numbers = [
                (name, kind) for name, kind in cls.__annotations__.items() if kind in NUMBERS
            ]
            cls._fields_ = [(name, _IN_C[kind]) for name, kind in numbers]
        return super().__new__(cls)

    def __init__(self, **fields: Any) -> None:
        for name in type(self).__annotations__:
            kind, given = kind_of(type(self), name), fields.pop(name, ())
            if kind.endswith("in memory"):
                setattr(self, name, given or 0)
            elif kind in ARRAYS and not isinstance(given, np.ndarray):
                vars(self)[name] = np.zeros(given, ARRAYS[kind][1])
            else:
                vars(self)[name] = given
        if fields:
            raise TypeError(f"{type(self).__name__} has no field {next(iter(fields))!r}.")

    def place(self, name: str) -> NDArray[Any]:
        """Return the memory of a number as an array without dimensions."""
        element = ARRAYS[kind_of(type(self), name)][1]
        return np.ndarray((), element, memoryview(self), getattr(type(self), name).offset)

    def arrays(self) -> list[NDArray[Any]]:
        """Return the memory of all its fields, numbers as bytes, and of those of its records."""
        return [array for _, _, array in self._places()]

    def _places(self) -> Iterator[tuple[MutableRecord, str, NDArray[Any]]]:
        """Yield record, name and memory of each array, and with an empty name of the numbers."""
        yield self, "", np.ndarray(ctypes.sizeof(self), np.uint8, memoryview(self))
        for name, field in vars(self).items():
            if isinstance(field, MutableRecord):
                yield from field._places()
            elif isinstance(field, np.ndarray):
                yield self, name, field

    def put_together(self) -> list[NDArray[Any]]:
        """Move all arrays into one piece of memory; return this, then the numbers' as bytes.

        Few pieces are copied faster than many arrays. None of them is bound before.
        """
        places = [*self._places()]
        numbers = [array for _, name, array in places if not name]
        moved = [place for place in places if place[1]]
        starts = np.cumsum([0, *(-(-array.nbytes // 8) for _, _, array in moved)]).tolist()
        memory = np.zeros(starts[-1]).view(np.uint8)
        for (record, name, array), start in zip(moved, starts, strict=False):
            own = memory[8 * start : 8 * start + array.nbytes].view(array.dtype)
            vars(record)[name] = own.reshape(array.shape)
            vars(record)[name][...] = array
        return [memory, *numbers]


def new_record(of: Callable[..., Fields], **fields: Any) -> Fields:
    """Return a NamedTuple of the given fields; a shape stands for an array of zeros."""
    for name, given in fields.items():
        kind = kind_of(of, name)
        if kind in ARRAYS and isinstance(given, int | tuple):
            fields[name] = np.zeros(given, ARRAYS[kind][1])
    return of(**fields)


def fields_of(kind: Any) -> tuple[str, ...]:
    """Return the names of the fields of a record's class; none of anything else."""
    if isinstance(kind, type) and issubclass(kind, MutableRecord):
        return tuple(kind.__annotations__)
    return tuple(getattr(kind, "_fields", ()))


def kind_of(record: Any, field: str) -> str:
    """Return the kind of a field as it is written; of a number also whether it is in memory."""
    kind = record.__annotations__[field]
    written = str(getattr(kind, "__forward_arg__", kind))
    if written in NUMBERS and issubclass(record, MutableRecord):
        return f"{written} in memory"
    return written


def class_of(record: Any, field: str) -> Any:
    """Return the class of a field that is a record, else None."""
    found = vars(sys.modules[record.__module__]).get(kind_of(record, field))
    return found if fields_of(found) else None


def field_of(record: Any, path: list[str]) -> Any:
    """Return a field of a record, by the names that lead to it; a number in memory as an array."""
    for name in path:
        in_memory = isinstance(record, MutableRecord) and name not in vars(record)
        record = record.place(name) if in_memory else getattr(record, name)
    return record
