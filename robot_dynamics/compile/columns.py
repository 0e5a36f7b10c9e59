# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Linear functions of the columns of a matrix in traced programs: a small program for each kind.

Calls that share their parameters are made side by side in the lanes of one state (see `emission`),
so that products with matrices take a part of the code and of the time that their operations would.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from robot_dynamics.compile.graph import NEGATE, Symbol
from robot_dynamics.compile.program import Program
from robot_dynamics.compile.tracing import call, trace
from robot_dynamics.scalar.linear_algebra import Matrix, is_zero

Term = tuple[int, bool] | None
Pattern = tuple[tuple[Term, ...], ...]

# Largest factor by which zeros may fill a column so that it can be computed together with others.
_LONGER = 1.75


def by_columns(
    function: Callable[..., Sequence[Any]], matrices: Sequence[Matrix], X: Matrix, columns: int
) -> list[list[Any]]:
    """Return a linear function of each column; entries that are the float 0.0 stay zeros.

    Args:
        function: Called with a column (k,) and the matrices, returns the entries of a column.
        matrices: Matrices by which it multiplies columns.
        X: The columns (k, columns).
        columns: Number of columns, if X has no rows.
    """
    # Entries of the matrices that are equal up to sign are one parameter.
    places: dict[Any, int] = {}
    signed = [[[_signed(entry) for entry in row] for row in matrix] for matrix in matrices]
    patterns = tuple(
        tuple(
            tuple(
                None if is_zero(x) else (places.setdefault(x, len(places)), minus)
                for x, minus in row
            )
            for row in matrix
        )
        for matrix in signed
    )
    results: list[list[Any]] = [[] for _ in range(columns)]
    for group in _alike(X, columns):
        filled = tuple(any(not is_zero(row[j]) for j in group) for row in X)
        program = _column_program(function, patterns, filled, len(places))
        for j in group:
            x = [row[j] for row, there in zip(X, filled, strict=True) if there]
            results[j] = call(program, x, parameters=list(places))["y"]
    return [list(row) for row in zip(*results, strict=True)]


def _alike(X: Matrix, columns: int) -> list[list[int]]:
    """Return groups of columns whose entries are in about the same rows."""
    filled = [{k for k, row in enumerate(X) if not is_zero(row[j])} for j in range(columns)]
    groups: list[list[int]] = []
    for j, own in enumerate(filled):
        for group in groups:
            others = [filled[i] for i in group]
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
def _column_program(
    function: Callable[..., Sequence[Any]],
    patterns: tuple[Pattern, ...],
    filled: tuple[bool, ...],
    parameters: int,
) -> Program:
    """Return the program of a function of a column, whose parameters are entries of matrices.

    Args:
        function: The function of a column and the matrices.
        patterns: For each matrix the indices of its entries among the parameters, and their signs.
        filled: Rows of the column that are not zero.
        parameters: Number of parameters.
    """

    def run(x: Any, entries: Any) -> dict[str, Any]:
        values = iter(x)
        column = [next(values) if there else 0.0 for there in filled]

        def entry(term: Term) -> Any:
            return 0.0 if term is None else -entries[term[0]] if term[1] else entries[term[0]]

        matrices = [[[entry(term) for term in row] for row in pattern] for pattern in patterns]
        return {"y": function(column, *matrices)}

    return trace(run, "columns", {"x": sum(filled)}, parameters)
