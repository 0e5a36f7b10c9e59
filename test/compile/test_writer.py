# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Text of LLVM's assembly language."""

import math

from robot_dynamics.compile.writer import Lanes, Writer


def test_types():
    """One lane is a plain scalar, several are a vector."""
    assert Lanes(1).real == "double"
    assert Lanes(4).real == "<4 x double>"
    assert Lanes(4).mask == "<4 x i1>"
    assert Lanes(4).suffix == "v4f64"
    assert Lanes(8).size == 64


def test_constants_are_exact():
    """Constants are written bit by bit, and once for each lane."""
    assert Lanes(1).constant(1.0) == "0x3FF0000000000000"
    assert Lanes(1).constant(-0.0) == "0x8000000000000000"
    assert Lanes(1).constant(math.inf) == "0x7FF0000000000000"
    assert Lanes(1).constant(math.nan) == "0x7FF8000000000000"
    assert Lanes(2).constant(0.1) == "<double 0x3FB999999999999A, double 0x3FB999999999999A>"
    assert Lanes(2).whole(3) == "<i64 3, i64 3>"


def test_names_are_new():
    """Values and labels never share a name."""
    writer = Writer()
    names = [writer.name(), writer.name(), writer.new_label("a"), writer.emit("add i64 1, 2")]
    assert len(set(names)) == 4


def test_loop_counts():
    """A loop's counter comes from the block before and from the end of its body."""
    writer = Writer()
    with writer.loop(5) as outer, writer.loop("%n") as inner:
        writer.do(f"; {outer} {inner}")
    text = "\n".join(writer.lines)
    assert text.count("phi i64") == 2
    assert "icmp slt i64" in text
    assert writer.block.startswith("after")


def test_offset_of_nothing_is_the_pointer():
    """Moving a pointer by zero bytes writes nothing."""
    writer = Writer()
    assert writer.offset("%p", 0) == "%p"
    assert not writer.lines
    writer.offset("%p", 8)
    assert len(writer.lines) == 1
