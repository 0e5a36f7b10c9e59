# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Machine code as a generalised ufunc, by NumPy's C interface through ctypes.

NumPy keeps only pointers to its arguments. A record of all of them is therefore stored in the
ufunc itself, in the field that `numpy.frompyfunc` uses for its function, and lives exactly as
long.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.compile.ports import Ports

# Places in the table of functions, and values, that NumPy's C interface guarantees.
_FROM_FUNC_AND_DATA_AND_SIGNATURE = 31
_DOUBLE = 12
_NO_IDENTITY = -1

_pointer = ctypes.c_void_p


class _UfuncHead(ctypes.Structure):
    """PyUFuncObject after its PyObject_HEAD, as numpy/ufuncobject.h declares it."""

    _fields_ = (
        ("nin", ctypes.c_int),
        ("nout", ctypes.c_int),
        ("nargs", ctypes.c_int),
        ("identity", ctypes.c_int),
        ("functions", _pointer),
        ("data", _pointer),
        ("ntypes", ctypes.c_int),
        ("reserved1", ctypes.c_int),
        ("name", _pointer),
        ("types", _pointer),
        ("doc", _pointer),
        ("ptr", _pointer),
        ("obj", _pointer),
    )


class _Record:
    """All that a ufunc points to."""

    __slots__ = ("data", "function", "owners", "shared")

    def __init__(self, address: int, shared: tuple[Any, ...], owners: tuple[Any, ...]) -> None:
        self.function = (_pointer * 1)(address)
        self.data = (_pointer * 1)()
        self.shared = shared
        self.owners = owners


class UfuncTemplate:
    """The common part of the ufuncs of one kernel.

    Args:
        ports: Names and shapes.
        address: The address of the loop.
        owner: Object that keeps the loop in memory.
    """

    def __init__(self, ports: Ports, address: int, owner: object) -> None:
        self.address, self.owner = address, owner
        self.nin, self.nout = len(ports.inputs), len(ports.outputs)
        self.types = ctypes.create_string_buffer(bytes([_DOUBLE]) * (self.nin + self.nout))
        self.name = ctypes.create_string_buffer(ports.name.encode())
        self.document = ctypes.create_string_buffer(ports.document.encode())
        self.signature = ports.signature.encode()

    def bind(self, parameters: NDArray[np.float64]) -> np.ufunc:
        """Return a ufunc with a parameter block, which must not be changed afterwards."""
        create = _constructor()
        record = _Record(
            self.address, (self.types, self.name, self.document), (self.owner, parameters)
        )
        record.data[0] = parameters.ctypes.data
        ufunc = create(
            record.function,
            record.data,
            self.types,
            1,
            self.nin,
            self.nout,
            _NO_IDENTITY,
            self.name,
            self.document,
            0,
            self.signature,
        )
        _hang_into(ufunc, record)
        return ufunc  # type: ignore[no-any-return]


def can_be_ufunc(ports: Ports) -> bool:
    """Whether NumPy admits ports like these: inputs, outputs, and no dimension of length 0."""
    shapes = [shape for _, shape in (*ports.inputs, *ports.outputs)]
    few_enough = len(shapes) <= 32 and all(len(shape) <= 16 for shape in shapes)
    return bool(ports.inputs and ports.outputs and few_enough) and all(map(all, shapes))


@lru_cache(maxsize=1)
def _constructor() -> Any:
    """Return NumPy's PyUFunc_FromFuncAndDataAndSignature."""
    try:
        umath: Any = import_module("numpy._core._multiarray_umath")
    except ImportError:  # NumPy 1
        umath = import_module("numpy.core._multiarray_umath")
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = _pointer, [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(get_pointer(umath._UFUNC_API, None), ctypes.POINTER(_pointer))
    prototype = ctypes.PYFUNCTYPE(
        ctypes.py_object,
        _pointer,
        _pointer,
        ctypes.c_char_p,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_char_p,
        ctypes.c_char_p,
        ctypes.c_int,
        ctypes.c_char_p,
    )
    return prototype(table[_FROM_FUNC_AND_DATA_AND_SIGNATURE])


def _hang_into(ufunc: Any, record: _Record) -> None:
    """Make a ufunc own the record of its arguments."""
    head = _UfuncHead.from_address(id(ufunc) + object.__basicsize__)
    if (
        head.functions != ctypes.addressof(record.function)
        or head.data != ctypes.addressof(record.data)
        or head.doc != ctypes.addressof(record.shared[2])
        or head.obj is not None
    ):
        raise RuntimeError(
            "NumPy's ufunc objects differ from ufuncobject.h, expected a supported NumPy."
        )
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(record))
    head.obj = id(record)


@lru_cache(maxsize=1)
def ufuncs_work() -> bool:
    """Test one ufunc, and return whether it works."""

    def loop(arguments: int, dimensions: int, steps: int, data: int) -> None:
        pointers = (_pointer * 2).from_address(arguments)
        count = ctypes.c_ssize_t.from_address(dimensions).value
        strides = (ctypes.c_ssize_t * 4).from_address(steps)
        factor = ctypes.c_double.from_address(data).value
        for state in range(count):
            x, y = (p + state * step for p, step in zip(pointers, strides[:2], strict=True))
            for element in range(2):
                value = ctypes.c_double.from_address(x + element * strides[2]).value
                ctypes.c_double.from_address(y + element * strides[3]).value = factor * value

    callback = ctypes.CFUNCTYPE(None, *[_pointer] * 4)(loop)
    address = ctypes.cast(callback, _pointer).value or 0
    ports = Ports("self_test", (("x", (2,)),), (("y", (2,)),), 1)
    x = np.array([[1, 2], [3, 4], [5, 6]])[:, ::-1]
    try:
        ufunc = UfuncTemplate(ports, address, callback).bind(np.array([2.0]))
        right = bool(np.array_equal(ufunc(x), 2.0 * x)) and ufunc.__name__ == "self_test"
        try:
            ufunc(np.zeros(3))
        except ValueError:
            return right
        return False
    except (AttributeError, ImportError, RuntimeError, TypeError, ValueError):
        return False
