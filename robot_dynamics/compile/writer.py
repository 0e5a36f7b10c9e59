# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Writing LLVM's assembly language as text, for scalars and for vectors of any width.

It uses only stable parts of that language, so that many versions of llvmlite read it: vector
constants are written out, and no intrinsic functions except fma, sqrt and fabs are called.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache


class Lanes:
    """The types and constants of numbers in a number of lanes; one lane is a plain scalar.

    Attributes:
        width: The number of lanes.
        size: The size of one value in bytes, which is also its alignment in blocks.
        real: The type of floating-point values.
        integer: The type of 64-bit integers.
        mask: The type of truth values.
        suffix: Suffix of intrinsic functions for `real`.
    """

    def __init__(self, width: int) -> None:
        self.width = width
        self.size = 8 * width
        self.real, self.integer, self.mask, self.suffix = (
            ("double", "i64", "i1", "f64")
            if width == 1
            else (
                f"<{width} x double>",
                f"<{width} x i64>",
                f"<{width} x i1>",
                f"v{width}f64",
            )
        )

    def constant(self, value: float) -> str:
        """Return a floating-point constant in every lane."""
        return _constant(self.width, struct.pack("<d", value))

    def whole(self, value: int) -> str:
        """Return an integer constant in every lane."""
        return str(value) if self.width == 1 else _spread("i64", str(value), self.width)

    def spread(self, writer: Writer, value: str) -> str:
        """Write a number into every lane, and return the name."""
        if self.width == 1:
            return value
        first = writer.emit(f"insertelement {self.real} undef, double {value}, i32 0")
        return writer.emit(
            f"shufflevector {self.real} {first}, {self.real} undef, "
            f"<{self.width} x i32> zeroinitializer"
        )


@lru_cache(maxsize=65536)
def _constant(width: int, value: bytes) -> str:
    text = f"0x{int.from_bytes(value, 'little'):016X}"
    return text if width == 1 else _spread("double", text, width)


def _spread(kind: str, text: str, width: int) -> str:
    return "<" + ", ".join([f"{kind} {text}"] * width) + ">"


class Writer:
    """Collects the text of one function.

    Attributes:
        lines: The text so far.
        block: The label of the basic block being written.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.block = "entry"
        self._count = 0

    def name(self) -> str:
        """Return a new name of a local value."""
        self._count += 1
        return f"%t{self._count}"

    def emit(self, text: str) -> str:
        """Write an instruction with a result, and return the result's name."""
        name = self.name()
        self.lines.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        """Write an instruction without a result."""
        self.lines.append(f"  {text}")

    def label(self, name: str) -> None:
        """Begin a basic block."""
        self.lines.append(f"{name}:")
        self.block = name

    def new_label(self, meaning: str) -> str:
        """Return a new name for a basic block."""
        self._count += 1
        return f"{meaning}{self._count}"

    def jump(self, label: str) -> None:
        """End the basic block with a jump."""
        self.do(f"br label %{label}")

    def branch(self, condition: str, then: str, otherwise: str) -> None:
        """End the basic block with a choice."""
        self.do(f"br i1 {condition}, label %{then}, label %{otherwise}")

    def offset(self, pointer: str, distance: int | str) -> str:
        """Return a pointer moved by a number of bytes."""
        if distance == 0:
            return pointer
        return self.emit(f"getelementptr i8, ptr {pointer}, i64 {distance}")

    def load(self, kind: str, pointer: str, align: int = 8) -> str:
        """Return a value from memory."""
        return self.emit(f"load {kind}, ptr {pointer}, align {align}")

    def store(self, kind: str, value: str, pointer: str, align: int = 8) -> None:
        """Write to memory."""
        self.do(f"store {kind} {value}, ptr {pointer}, align {align}")

    def prefetch(self, pointer: str) -> None:
        """Prefetch memory that will be written soon; invalid addresses do no harm."""
        self.do(f"call void @llvm.prefetch.p0(ptr {pointer}, i32 1, i32 3, i32 1)")

    @contextmanager
    def loop(self, count: int | str) -> Iterator[str]:
        """Repeat the code written within, `count` times and at least once; yields the counter."""
        before, head, after = self.block, self.new_label("loop"), self.new_label("after")
        counter, following = self.name(), self.name()
        self.jump(head)
        self.label(head)
        place = len(self.lines)
        yield counter
        self.lines.insert(
            place,
            f"  {counter} = phi i64 [ 0, %{before} ], [ {following}, %{self.block} ]",
        )
        self.do(f"{following} = add i64 {counter}, 1")
        self.branch(self.emit(f"icmp slt i64 {following}, {count}"), head, after)
        self.label(after)

    def either(
        self, condition: str, then: Callable[[], None], otherwise: Callable[[], None]
    ) -> None:
        """Write two ways of doing something, between which a condition chooses."""
        first, second = self.new_label("then"), self.new_label("else")
        after = self.new_label("join")
        self.branch(condition, first, second)
        self.label(first)
        then()
        self.jump(after)
        self.label(second)
        otherwise()
        self.jump(after)
        self.label(after)
