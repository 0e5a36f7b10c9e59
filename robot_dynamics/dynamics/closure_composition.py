# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Composition of the user's closure functions and couplings, such as gears, to one function."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from robot_dynamics.dynamics.closure_functions import (
    Closure,
    ClosureFunction,
    ClosureFunctionError,
    Coordinate,
    Positions,
    Step,
)
from robot_dynamics.errors import UnknownNameError
from robot_dynamics.model import Model
from robot_dynamics.model.couplings import Coupling
from robot_dynamics.scalar.symbolic import Scalar


def compose(
    model: Model, functions: Iterable[ClosureFunction], independent: Iterable[str] = ()
) -> Closure:
    """Return all closure functions of a mechanism as one.

    A coupling gives the position of one joint from the others. Coordinates that a function names
    are independent unless another function or a coupling gives them. Joints outside loops and
    couplings are independent. For couplings without a given joint the driving joints are
    independent.

    Args:
        model: The mechanism.
        functions: The user's functions, for the joints in loops.
        independent: Coordinates to take as independent if couplings leave a choice.

    Raises:
        ClosureFunctionError: If a joint is given twice or not at all, or positions are missing.
        UnknownNameError: If a function gives the position of an unknown joint.
    """
    functions, preferred = tuple(functions), tuple(independent)
    types = {body.joint.name: body.joint.type for body in model.bodies}
    for name in preferred:
        if name not in types and not any(name in f.independent for f in functions):
            raise UnknownNameError("joint", name, types, model.name)
    steps = [_step_of(model, function) for function in functions]
    given: dict[str, str] = {}
    for function, step in zip(functions, steps, strict=True):
        for name in step.gives:
            if name in given:
                raise ClosureFunctionError(
                    f"{model.name}: joint {name!r} is given by {given[name]} and by {function}, "
                    "expected one function for each joint."
                )
            given[name] = str(function)
    chosen, order = _Composition(model, functions, steps, preferred).run()
    listed = [*preferred, *(name for function in functions for name in function.independent)]
    ranks = {name: place for place, name in reversed(list(enumerate([*listed, *types])))}
    names = sorted(chosen, key=lambda name: ranks[name])
    return Closure(
        model, functions, tuple(Coordinate(n, types.get(n)) for n in names), tuple(order)
    )


class _Composition:
    """Finds the independent joints, and the order in which the others are computed."""

    def __init__(
        self,
        model: Model,
        functions: tuple[ClosureFunction, ...],
        steps: list[Step],
        preferred: tuple[str, ...],
    ) -> None:
        self.model, self.functions, self.preferred = model, functions, preferred
        self.waiting = steps
        # A joint with the coefficient zero is not part of a coupling.
        self.couplings = [
            replace(c, terms=tuple(term for term in c.terms if term[1] != 0.0))
            for c in model.couplings
        ]
        self.given = {name for step in steps for name in step.gives}
        self.known: set[str] = set()
        self.order: list[Step] = []

    def run(self) -> tuple[list[str], list[Step]]:
        chosen: list[str] = []
        candidates = self._candidates()
        self._propagate()
        for name in candidates:
            if name not in self.known and name not in self.given:
                chosen.append(name)
                self.known.add(name)
                self._propagate()
        self._require_all()
        return chosen, self.order

    def _candidates(self) -> list[str]:
        """Return joints that may be independent, the most likely first."""
        names, joints = self.model.joint_names, set(self.model.joint_names)
        coupled = [[names[body] for body, _ in c.terms] for c in self.couplings]
        followers = {terms[0] for terms in coupled}
        listed = [name for function in self.functions for name in function.independent]
        in_couplings = [name for terms in coupled for name in terms]
        looped = self._in_loops()
        free = [n for n in names if n not in looped and n not in in_couplings]
        first = [*listed, *(n for n in in_couplings if n not in looped)]
        leading = [n for n in first if n not in followers]
        result = dict.fromkeys([*self.preferred, *leading, *first, *free])
        # `_require_all` reports a name that is neither a joint nor used.
        return [name for name in result if name in joints or name in listed]

    def _in_loops(self) -> set[str]:
        """Return the joints on the path of a loop."""
        model = self.model
        bodies: set[int] = set()
        for loop in model.loops:
            bodies |= set(model.support(loop.predecessor)) ^ set(model.support(loop.successor))
        return {model.joint_names[body] for body in bodies}

    def _propagate(self) -> None:
        """Add every function and coupling whose arguments are known."""
        moving = True
        while moving:
            moving = False
            for step in [s for s in self.waiting if self.known.issuperset(s.needs)]:
                self.waiting.remove(step)
                self._take(step)
                moving = True
            for coupling in list(self.couplings):
                names = [self.model.joint_names[body] for body, _ in coupling.terms]
                unknown = [n for n in names if n not in self.known]
                if not unknown:  # it says nothing new, which the check of the closure tests
                    self.couplings.remove(coupling)
                elif len(unknown) == 1 and unknown[0] not in self.given:
                    self.couplings.remove(coupling)
                    self._take(_coupling_step(self.model, coupling, unknown[0]))
                    moving = True

    def _take(self, step: Step) -> None:
        self.order.append(step)
        self.known.update(step.gives)

    def _require_all(self) -> None:
        place, joints = self.model.name, self.model.joint_names
        if self.waiting:
            step = self.waiting[0]
            missing = next(n for n in step.needs if n not in self.known)
            raise ClosureFunctionError(
                f"{place}: closure functions go round in a circle: that which gives "
                f"{step.gives[0]!r} needs {missing!r}."
            )
        unknown = [name for name in joints if name not in self.known]
        if unknown:
            own = [n for f in self.functions for n in f.independent if n not in joints]
            hint = f"; {', '.join(map(repr, own))} is no joint" if own else ""
            raise ClosureFunctionError(
                f"{place}: nothing gives the position of joint {unknown[0]!r}, which is in a "
                f"loop; expected a closure function with it{hint}."
            )


def _step_of(model: Model, function: ClosureFunction) -> Step:
    """Return a user's function as a step, after a try with values that are not numbers."""
    types = {body.joint.name: body.joint.type for body in model.bodies}
    sizes = {name: types[name].nq if name in types else 1 for name in function.independent}
    try:
        given = function.positions([np.nan] * sum(sizes.values()))
    except (ValueError, IndexError, TypeError) as error:
        raise ClosureFunctionError(
            f"{model.name}: {function} failed on {sum(sizes.values())} values "
            f"({', '.join(f'{n}: {s}' for n, s in sizes.items())}): {error}"
        ) from error
    if not isinstance(given, Mapping):
        raise ClosureFunctionError(
            f"{model.name}: {function} returned {type(given).__name__}, expected a mapping from "
            "names of joints to their positions."
        )
    for name, value in given.items():
        if name not in types:
            raise UnknownNameError("joint", name, types, f"{model.name}: {function}")
        if name in function.independent:
            raise ClosureFunctionError(
                f"{model.name}: {function} gives the position of {name!r}, which it takes."
            )
        count, nq = len(_entries(value, types[name].nq)), types[name].nq
        if count != nq:
            raise ClosureFunctionError(
                f"{model.name}: {function} gives {count} numbers for joint {name!r}, "
                f"expected {nq}."
            )

    def run(known: Positions) -> Positions:
        values = [value for name in function.independent for value in known[name]]
        return {n: _entries(value, types[n].nq) for n, value in function.positions(values).items()}

    return Step(function.independent, tuple(given), run, function)


def _coupling_step(model: Model, coupling: Coupling, name: str) -> Step:
    """Return a coupling as a function that gives one joint."""
    terms = {model.joint_names[body]: factor for body, factor in coupling.terms}
    own = terms.pop(name)

    def run(known: Positions) -> Positions:
        total: Scalar = coupling.offset / own
        for other, ratio in terms.items():
            total = total + known[other][0] * (-ratio / own)
        return {name: [total]}

    return Step(tuple(terms), (name,), run)


def _entries(value: Any, nq: int) -> list[Scalar]:
    """Return the numbers of a joint's position, which may be one or a sequence."""
    vector = isinstance(value, np.ndarray) and (value.dtype == object or nq > 1)
    return list(value) if isinstance(value, (list, tuple)) or vector else [value]
