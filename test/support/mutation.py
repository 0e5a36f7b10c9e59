# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Mutations of a module's syntax tree: one expression or statement of one function is replaced.

A pattern is found by its structure, so that line breaks, quotes, parentheses and comments do not
matter. If it is not there word for word, names are variables: `p - Ic * a` also finds
`bias - inertia * twist`, provided that only one place of the function has this structure. `...` in
a pattern stands for any expression, and in its replacement for the same one.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from typing import NamedTuple


class Mutation(NamedTuple):
    """A mutation of one place of a function.

    Attributes:
        module: Key of the module in the table of modules.
        function: Qualified name of a function, or of a class, as "Transform.displacement".
        old: Expression or statement to be replaced.
        new: Its replacement; names are those of `old`.
        occurrence: Number of the place if `old` is there several times, from 0.
    """

    module: str
    function: str
    old: str
    new: str
    occurrence: int = 0


class MutationError(Exception):
    """A mutation whose function or expression is not in the module, or is there several times."""


def mutated(source: str, mutation: Mutation) -> str:
    """Return the source of a module after a mutation.

    Raises:
        MutationError: If the place is not found.
    """
    tree = ast.parse(source)
    old, new = _parsed(mutation.old), _parsed(mutation.new)
    scope: ast.AST = _scope(tree, mutation.function) or tree  # renamed functions: the whole module
    places = list(_matches(scope, old, exact=True))
    if len(places) <= mutation.occurrence:
        places = list(_matches(scope, old, exact=False))
        if len(places) != 1:
            raise MutationError(
                f"{mutation.module}: {mutation.function} has {mutation.old!r} at {len(places)} "
                "places, expected one; correct its row in test/support/book_rows.py."
            )
    place, found = places[min(mutation.occurrence, len(places) - 1)]
    replacement = _Filled(found).visit(copy.deepcopy(new))
    return ast.unparse(ast.fix_missing_locations(_Replaced(place, replacement).visit(tree)))


def _parsed(text: str) -> ast.AST:
    """Return the expression or the statement that a pattern is."""
    (statement,) = ast.parse(text).body
    return statement.value if isinstance(statement, ast.Expr) else statement


def _scope(tree: ast.AST, name: str) -> ast.AST | None:
    """Return the last definition of a qualified name, None if there is none."""
    scope: ast.AST | None = tree
    for part in filter(None, name.split(".")):
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        nodes = ast.walk(scope) if scope is not None else ()
        named = [n for n in nodes if isinstance(n, kinds) and n.name == part]
        scope = named[-1] if named else None
    return scope


def _matches(scope: ast.AST, old: ast.AST, exact: bool) -> Iterator[tuple[ast.AST, dict]]:
    """Yield the places that match a pattern, each with the values of the pattern's variables."""
    for node in ast.walk(scope):
        found: dict[str, ast.AST] = {}
        if _same(old, node, found, exact):
            yield node, found


def _same(old: ast.AST, node: ast.AST, found: dict[str, ast.AST], exact: bool) -> bool:
    """Return whether a node matches a pattern; collect the values of the pattern's variables."""
    if isinstance(old, ast.Constant) and old.value is Ellipsis:
        found["..."] = node
        return isinstance(node, ast.expr)
    if type(old) is not type(node):
        return False
    if isinstance(old, ast.Name) and isinstance(node, ast.Name):
        known = found.setdefault(old.id, node)
        return (
            isinstance(known, ast.Name)
            and known.id == node.id
            and (not exact or old.id == node.id)
        )
    for field, value in ast.iter_fields(old):
        other = getattr(node, field)
        if field in ("ctx", "kind", "type_comment"):
            continue
        mine, theirs = (x if isinstance(x, list) else [x] for x in (value, other))
        if len(mine) != len(theirs):
            return False
        for one, two in zip(mine, theirs, strict=True):
            if isinstance(one, ast.AST) and isinstance(two, ast.AST):
                if not _same(one, two, found, exact):
                    return False
            elif one != two or type(one) is not type(two):
                return False
    return True


class _Filled(ast.NodeTransformer):
    """Puts the values of a pattern's variables into its replacement."""

    def __init__(self, found: dict[str, ast.AST]) -> None:
        self.found = found

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Return the name that stands in the source."""
        known = self.found.get(node.id)
        return ast.Name(known.id, node.ctx) if isinstance(known, ast.Name) else node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        """Return the expression that `...` stands for."""
        return copy.deepcopy(self.found["..."]) if node.value is Ellipsis else node


class _Replaced(ast.NodeTransformer):
    """Replaces one node of a tree."""

    def __init__(self, place: ast.AST, replacement: ast.AST) -> None:
        self.place, self.replacement = place, replacement

    def visit(self, node: ast.AST) -> ast.AST:
        """Return the replacement for the node, and the others as they are."""
        return self.replacement if node is self.place else self.generic_visit(node)
