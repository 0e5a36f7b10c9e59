# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Operations that compiled code executes, counted by the code itself while it runs.

For contact steps, whose loops depend on data. Every basic block of the code adds its operations to
counters before it ends.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

from robot_dynamics.compile import kernel, routine

_ENDS = re.compile(r"  (?:br|ret|unreachable)\b")
_WIDTH = re.compile(r"= (?:call |f\w+ )(?:contract )?<(\d+) x double>")


class Executed(NamedTuple):
    """Operations that were executed.

    Attributes:
        traced: Additions and multiplications of traced programs, fused ones counted once.
        looped: Those of routines: in each block of code the larger of both numbers, as if all that
            can be fused were.
        divisions: Divisions.
        roots: Square roots.
    """

    traced: float
    looped: float
    divisions: float
    roots: float


@contextmanager
def counting() -> Iterator[Callable[[], Executed]]:
    """Count what code executes that is compiled within; yields a function that returns it so far.

    Routines stay as they were compiled: use a process of its own, which bound none before.
    """
    counters = np.zeros(len(Executed._fields), dtype=np.int64)
    place, compile_object, object_code = (
        counters.ctypes.data,
        kernel.compile_object,
        routine.object_code,
    )

    def of_program(text: str, host: Any) -> list[bytes]:
        return compile_object(counted(text, place, routine=False), host)

    def of_routine(text: str, *target: Any, **options: Any) -> bytes:
        return object_code(counted(text, place, routine=True), *target, **options)

    with (
        patch.dict(os.environ, ROBOT_DYNAMICS_CACHE="0"),
        patch.object(kernel, "compile_object", of_program),
        patch.object(routine, "object_code", of_routine),
    ):
        yield lambda: Executed(*counters.tolist())


def counted(text: str, place: int, *, routine: bool) -> str:
    """Return code in LLVM's assembly language that counts its operations.

    Args:
        text: The code.
        place: Address of the counters, in the order of `Executed`.
        routine: Whether it is a routine's.
    """
    lines: list[str] = []
    adds = products = fused = divisions = roots = 0
    for number, line in enumerate(text.splitlines()):
        if _ENDS.match(line):
            plain = max(adds, products) if routine else adds + products
            of_block = (
                (0, plain, divisions, roots) if routine else (plain + fused, 0, divisions, roots)
            )
            for i, count in enumerate(of_block):
                if count:
                    at, name = f"ptr inttoptr (i64 {place + 8 * i} to ptr)", f"%count.{number}.{i}"
                    lines += [
                        f"  {name} = load i64, {at}",
                        f"  {name}.n = add i64 {name}, {count}",
                        f"  store i64 {name}.n, {at}",
                    ]
            adds = products = fused = divisions = roots = 0
        width = _WIDTH.search(line)
        lanes = int(width[1]) if width else 1
        adds += lanes * bool(re.search(r"= f(?:add|sub) ", line))
        products += lanes * (" = fmul " in line)
        fused += lanes * (" = call " in line and "@llvm.fma." in line)
        divisions += lanes * (" = fdiv " in line)
        roots += lanes * (" = call " in line and "@llvm.sqrt." in line)
        lines.append(line)
    return "\n".join([*lines, ""])
