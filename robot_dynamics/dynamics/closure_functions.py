# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""User-defined loop-closure functions: q = gamma(y) (section 8.11).

Their derivatives G = dgamma/dy and g = Gdot yd come from the same function.
`closure_composition` makes one function of several, and of couplings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from robot_dynamics.dynamics.scaling import coordinate_names
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.model import Model
from robot_dynamics.model.joints import JointType
from robot_dynamics.scalar.derivatives import directional_derivative
from robot_dynamics.scalar.linear_algebra import dot, factor, times
from robot_dynamics.spatial import Scalar

# The positions of joints, and the values of other coordinates, by name.
Positions = dict[str, list[Scalar]]


class ClosureFunctionError(RobotDynamicsError):
    """A loop-closure function that does not fit the mechanism."""


@dataclass(frozen=True)
class ClosureFunction:
    """A function from independent coordinates to the positions of some joints.

    Attributes:
        independent: Names of the coordinates that the function takes: joints, or other names for
            coordinates that are not a joint's position, one number each.
        positions: The function. It takes a list of their values, joints with several numbers in
            sequence, and returns a mapping from the names of dependent joints to their positions:
            one scalar, or a sequence for a joint with several. It uses the functions of
            `robot_dynamics.scalar.functions` or of NumPy, does not branch on values, and has two
            derivatives in its domain.
        domain: Returns whether values of the coordinates (floats) are in the domain C. Without it
            the domain is where the value is finite.
        explanation: The domain in words, for messages.
    """

    independent: tuple[str, ...]
    positions: Callable[[list[Scalar]], Mapping[str, Any]]
    domain: Callable[[list[float]], bool] | None = None
    explanation: str = ""

    def __post_init__(self) -> None:
        if isinstance(self.independent, str) or not self.independent:
            raise ArgumentError(
                f"a closure function has the independent coordinates {self.independent!r}, "
                "expected a sequence of names."
            )
        object.__setattr__(self, "independent", tuple(self.independent))

    def __str__(self) -> str:
        return f"the closure function of {', '.join(map(repr, self.independent))}"


@dataclass(frozen=True)
class Coordinate:
    """An independent coordinate: a joint's position, or another number.

    Attributes:
        name: The joint, or the name that the user gave.
        type: The joint's type; None for a number that is not a joint's.
    """

    name: str
    type: JointType | None

    @property
    def nq(self) -> int:
        """Length of its position."""
        return 1 if self.type is None else self.type.nq

    @property
    def nv(self) -> int:
        """Length of its velocity."""
        return 1 if self.type is None else self.type.nv


@dataclass(frozen=True)
class Step:
    """One function of the composition, with the names of its inputs and outputs.

    Attributes:
        needs: Names of its inputs.
        gives: Names of the joints whose positions it returns.
        run: The function, called with all known values.
        function: The user's function; None for a coupling.
    """

    needs: tuple[str, ...]
    gives: tuple[str, ...]
    run: Callable[[Positions], Positions]
    function: ClosureFunction | None = None


@dataclass(frozen=True)
class ClosureMotion:
    """Positions and velocities of all joints, and the terms of their accelerations.

    Attributes:
        q: gamma(y) (nq,).
        qd: G yd (nv,).
        G: dgamma/dy in velocities (nv, dimension): qd = G yd.
        g: Gdot yd (nv,): qdd = G ydd + g.
    """

    q: list[Scalar]
    qd: list[Scalar]
    G: list[list[Scalar]]
    g: list[Scalar]


@dataclass(frozen=True)
class Closure:
    """All closure functions of a mechanism as one: q = gamma(y), qd = G yd, qdd = G ydd + g.

    Attributes:
        model: The mechanism.
        functions: The user's functions.
        coordinates: Independent coordinates: first the user's, then undetermined joints in the
            order of the model.
        steps: Functions and couplings, ordered so that each has its inputs.
    """

    model: Model
    functions: tuple[ClosureFunction, ...]
    coordinates: tuple[Coordinate, ...]
    steps: tuple[Step, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """A name for each independent velocity, as `coordinate_names` has them."""
        of_model = coordinate_names(self.model)
        names: list[str] = []
        for c in self.coordinates:
            if c.type is None:
                names.append(c.name)
            else:
                names += of_model[self.model.v_slices[self.model.joint_index(c.name)]]
        return tuple(names)

    @property
    def size(self) -> int:
        """The number of position variables y."""
        return sum(c.nq for c in self.coordinates)

    @property
    def dimension(self) -> int:
        """The number of independent velocities yd: the mobility n - r."""
        return sum(c.nv for c in self.coordinates)

    def of_coordinates(self, y: Sequence[Scalar]) -> Positions:
        """Return the independent coordinates by name."""
        return _split(y, [(c.name, c.nq) for c in self.coordinates])

    def values(self, y: Sequence[Scalar]) -> Positions:
        """Return the positions of all joints, and of other coordinates, by name."""
        known = self.of_coordinates(y)
        for step in self.steps:
            known.update(step.run(known))
        return known

    def positions(self, y: Sequence[Scalar]) -> list[Scalar]:
        """Return q = gamma(y) (nq,)."""
        known = self.values(y)
        return [value for name in self.model.joint_names for value in known[name]]

    def position_rate(self, y: Sequence[Scalar], yd: Sequence[Scalar]) -> list[Scalar]:
        """Return the time derivatives of y; they equal yd for coordinates of one number."""
        rate: list[Scalar] = []
        rates = _split(yd, [(c.name, c.nv) for c in self.coordinates])
        for c, at in zip(self.coordinates, self.of_coordinates(y).values(), strict=True):
            rate += rates[c.name] if c.type is None else c.type.position_rate(at, rates[c.name])
        return rate

    def integrate(self, y: Sequence[Scalar], step: Sequence[Scalar]) -> list[Scalar]:
        """Return the coordinates reached from y by velocity times time `step`."""
        result: list[Scalar] = []
        steps = _split(step, [(c.name, c.nv) for c in self.coordinates])
        for c, at in zip(self.coordinates, self.of_coordinates(y).values(), strict=True):
            by = steps[c.name]
            result += [at[0] + by[0]] if c.type is None else c.type.integrate(at, by)
        return result

    def velocities(self, y: Sequence[Scalar], yd: Sequence[Scalar]) -> list[Scalar]:
        """Return qd = G yd (nv,)."""
        q, rate = directional_derivative(self.values, y, self.position_rate(y, yd))
        # Independent velocities are passed on, not computed back from the rate of a quaternion.
        given = _split(yd, [(c.name, c.nv) for c in self.coordinates])
        qd: list[Scalar] = []
        for body in self.model.bodies:
            name = body.joint.name
            known = given.get(name)
            qd += velocity_of(body.joint.type, q[name], rate[name]) if known is None else known
        return qd

    def motion(self, y: Sequence[Scalar], yd: Sequence[Scalar]) -> ClosureMotion:
        """Return positions, velocities, G and g."""
        n = self.dimension
        columns = [self.velocities(y, [float(i == j) for i in range(n)]) for j in range(n)]
        qd, g = directional_derivative(
            lambda at: self.velocities(at, yd), y, self.position_rate(y, yd)
        )
        G = [list(row) for row in zip(*columns, strict=True)]
        return ClosureMotion(self.positions(y), qd, G, g)

    def outside(self, y: Sequence[float]) -> str:
        """Return the error of y outside a known domain; None inside."""
        known = self.of_coordinates(y)
        for step in self.steps:
            function = step.function
            if function is not None and function.domain is not None:
                at = [float(value) for name in step.needs for value in known[name]]
                if not function.domain(at):
                    expected = function.explanation or "what its domain allows"
                    return f"{function} at {at}, expected {expected}"
            known.update(step.run(known))
        return ""


def velocity_of(kind: JointType, q: Sequence[Scalar], rate: Sequence[Scalar]) -> list[Scalar]:
    """Return the velocity (nv,) of a joint of which the positions change at `rate` (nq,).

    The rate is N(q) times the velocity. An impossible rate, such as that of a quaternion that
    changes its length, is replaced by the nearest possible one.
    """
    units = [[float(i == j) for i in range(kind.nv)] for j in range(kind.nv)]
    N_T = [kind.position_rate(q, unit) for unit in units]
    if all(isinstance(entry, float) for row in N_T for entry in row) and units == N_T:
        return list(rate)
    square = [[dot(a, b) for b in N_T] for a in N_T]
    return factor(square).solve(times(N_T, rate))


def _split(values: Sequence[Scalar], sizes: Iterable[tuple[str, int]]) -> Positions:
    """Return consecutive parts of a sequence by name."""
    parts, start = {}, 0
    for name, size in sizes:
        parts[name] = list(values[start : start + size])
        start += size
    if start != len(values):
        raise ArgumentError(f"expected {start} independent values, got {len(values)}.")
    return parts
