# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The steps of a control period in MuJoCo, as one compiled loop.

Between two calls of MuJoCo's library nothing runs in Python, except contacts that are observed
there.
"""

from __future__ import annotations

import ctypes
from typing import Any

from robot_dynamics.compile.routine import Call, routine


class LibraryCall:
    """A function of MuJoCo's library on a model and its data, as a `Call`.

    Compiled code calls it at its address; where the address is not found, by Python. At its
    address an error of the library ends the process: a lack of memory, of which scenes use a
    thousandth.

    Args:
        mujoco: The module.
        name: Of a function whose arguments are model and data.
        model: The model.
        data: Its state.
    """

    def __init__(self, mujoco: Any, name: str, model: Any, data: Any) -> None:
        self._function, self._arguments = getattr(mujoco, name), (model, data)
        try:
            # The library itself is among those that the extension module has loaded.
            function = getattr(ctypes.CDLL(mujoco._functions.__file__), name)
            places = ctypes.cast(function, ctypes.c_void_p).value, model._address, data._address
        except (AttributeError, OSError):
            return
        self.entry = places

    def __call__(self) -> None:
        """Call it."""
        self._function(*self._arguments)


@routine
def advance(before: Call, first: Call, step: Call, after: Call, forward: Call, count: int) -> None:
    """Take the steps of a control period, then evaluate its end.

    Steps leave sensors and poses at the start of the last one.

    Args:
        before: Is called before each step.
        first: The first step.
        step: Another step.
        after: Is called after each step.
        forward: Evaluates the state.
        count: Number of steps.
    """
    for i in range(count):
        before()
        if i == 0:
            first()
        else:
            step()
        after()
    forward()


@routine
def in_turn(first: Call, second: Call) -> None:
    """Call both."""
    first()
    second()
