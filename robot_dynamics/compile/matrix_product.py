# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Products of matrices in traced programs: one small program, called for each column.

Calls that share their parameters are made side by side in the lanes of one state (see `emission`),
so that a product takes a part of the code and of the time that its operations would take.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from robot_dynamics.compile.graph import NEGATE, Symbol
from robot_dynamics.compile.program import Program
from robot_dynamics.compile.tracing import call, trace
from robot_dynamics.scalar.linear_algebra import Matrix, is_zero

Term = tuple[int, bool] | None

# How many times as many entries a column may be given that it can be computed along with others.
_LONGER = 1.75


def minus_product(A: Matrix, X: Matrix, columns: int) -> list[list[Any]]:
    """Return -A X; entries that are the float 0.0 are zeros by structure.

    Args:
        A: Matrix (m, k).
        X: Matrix (k, columns).
        columns: How many there are, if X has no rows.
    """
    # Equal entries of A are one parameter, whatever their signs.
    places: dict[Any, int] = {}
    signed = [[_signed(entry) for entry in row] for row in A]
    terms = [
        [None if is_zero(x) else (places.setdefault(x, len(places)), minus) for x, minus in row]
        for row in signed
    ]
    product: list[list[Any]] = [[0.0] * columns for _ in A]
    for group in _alike(X, columns):
        rows = sorted({k for j in group for k in _filled(X, j)})
        if not rows:
            continue
        pattern = tuple(tuple(row[k] for k in rows) for row in terms)
        program = _column_program(pattern, len(places))
        for j in group:
            column = call(program, [X[k][j] for k in rows], parameters=list(places))["y"]
            for i, value in enumerate(column):
                product[i][j] = value
    return product


def _filled(X: Matrix, j: int) -> set[int]:
    """Return the rows in which a column has entries."""
    return {k for k, row in enumerate(X) if not is_zero(row[j])}


def _alike(X: Matrix, columns: int) -> list[list[int]]:
    """Return groups of columns whose entries are in about the same rows."""
    groups: list[list[int]] = []
    for j in range(columns):
        own = _filled(X, j)
        for group in groups:
            others = [_filled(X, i) for i in group]
            shortest = min(map(len, (own, *others)))
            if len(own.union(*others)) <= _LONGER * shortest:
                group.append(j)
                break
        else:
            groups.append([j])
    return groups


def _signed(entry: Any) -> tuple[Any, bool]:
    """Return an entry without its sign, and whether that was a minus."""
    if isinstance(entry, Symbol) and entry.operation == NEGATE:
        return entry.left, True
    return entry, False


@lru_cache(maxsize=64)
def _column_program(pattern: tuple[tuple[Term, ...], ...], parameters: int) -> Program:
    """Return the program of -A x of a column x, whose parameters are the entries of A.

    Args:
        pattern: For each row of A where its entries are among the parameters, and their signs.
        parameters: How many there are.
    """

    def run(x: Any, entries: Any) -> dict[str, Any]:
        y = []
        for row in pattern:
            total: Any = 0.0
            for term, value in zip(row, x, strict=True):
                if term is not None:
                    product = entries[term[0]] * value
                    total = total - product if term[1] else total + product
            y.append(total if is_zero(total) else -total)
        return {"y": y}

    return trace(run, "product", {"x": len(pattern[0])}, parameters)
