# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Moving states between the user's arrays, row by row, and blocks, in which lanes are adjacent.

Rows are read and written in pieces of 2^k consecutive numbers, and the numbers change places in
registers: this takes a third of the instructions of moving them one by one.
"""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.compile.writer import Lanes, Writer


def pieces(size: int, width: int) -> list[tuple[int, int]]:
    """Cut a row into (start, length) pieces whose lengths are powers of two up to `width`."""
    cut = []
    start, length = 0, width
    while length:
        while size - start >= length:
            cut.append((start, length))
            start += length
        length //= 2
    return cut


def gather_piece(writer: Writer, lanes: Lanes, rows: Sequence[str], length: int) -> list[str]:
    """Read a piece of every row; return one value in lanes for each column.

    Args:
        writer: Where to write.
        lanes: The lanes; there is one row for each.
        rows: Pointers to the piece in every row.
        length: The length of the piece, a power of two up to the number of lanes.
    """
    kind = _vector(length)
    loaded = [writer.load(kind, row) for row in rows]
    width = lanes.width
    vectors = []
    for place in range(length):
        # Every `length`-th row, side by side.
        parts = loaded[place::length]
        size = length
        while len(parts) > 1:
            parts = [_join(writer, parts[i], parts[i + 1], size) for i in range(0, len(parts), 2)]
            size *= 2
        vectors.append(parts[0])
    return _transpose(writer, vectors, width)


def scatter_piece(
    writer: Writer, lanes: Lanes, columns: Sequence[str], rows: Sequence[str]
) -> None:
    """Write a piece of every row from one value in lanes for each column.

    Args:
        writer: Where to write.
        lanes: The lanes; there is one row for each.
        columns: The values, as many as the piece is long: a power of two.
        rows: Pointers to the piece in every row.
    """
    length, width = len(columns), lanes.width
    vectors = _transpose(writer, list(columns), width)
    kind = _vector(length)
    for lane, row in enumerate(rows):
        vector = vectors[lane % length]
        if length == width:
            part = vector
        else:
            start = lane - lane % length
            part = _pick(writer, vector, width, range(start, start + length))
        writer.store(kind, part, row)


def _transpose(writer: Writer, vectors: list[str], width: int) -> list[str]:
    """Transpose square blocks that lie side by side in as many vectors as the blocks have rows."""
    count = len(vectors)
    distance = 1
    while distance < count:
        # Exchange the off-diagonal quarters of blocks of twice this distance.
        for i in range(count):
            if i & distance:
                continue
            j = i + distance
            a, b = vectors[i], vectors[j]
            first = [p if not p & distance else width + p - distance for p in range(width)]
            second = [p + distance if not p & distance else width + p for p in range(width)]
            vectors[i] = _shuffle(writer, a, b, width, first)
            vectors[j] = _shuffle(writer, a, b, width, second)
        distance *= 2
    return vectors


def _vector(length: int) -> str:
    return "double" if length == 1 else f"<{length} x double>"


def _join(writer: Writer, a: str, b: str, size: int) -> str:
    """Return two vectors of a size as one."""
    if size == 1:
        first = writer.emit(f"insertelement <2 x double> undef, double {a}, i32 0")
        return writer.emit(f"insertelement <2 x double> {first}, double {b}, i32 1")
    return _shuffle(writer, a, b, size, list(range(2 * size)))


def _pick(writer: Writer, vector: str, width: int, places: range) -> str:
    """Return some consecutive elements of a vector."""
    if len(places) == 1:
        return writer.emit(f"extractelement {_vector(width)} {vector}, i32 {places[0]}")
    return _shuffle(writer, vector, "undef", width, list(places))


def _shuffle(writer: Writer, a: str, b: str, size: int, places: list[int]) -> str:
    mask = ", ".join(f"i32 {place}" for place in places)
    kind = _vector(size)
    return writer.emit(f"shufflevector {kind} {a}, {kind} {b}, <{len(places)} x i32> <{mask}>")
