# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The verification of joint types finds mistakes."""

import pytest
from model.joints.cases import EVERY

from robot_dynamics.model.joints import (
    Floating,
    Helical,
    Planar,
    RackAndPinion,
    Revolute,
    SoftFinger,
    Spherical,
    Universal,
    forces,
    motions,
    verify,
)
from robot_dynamics.model.joints.base import ORIGIN
from robot_dynamics.spatial import Force


@pytest.mark.parametrize("kind", EVERY, ids=repr)
def test_the_library_is_sound(kind):
    """Ten random states of each type show nothing wrong."""
    assert verify(kind, samples=10, seed=1) == []


class WrongProduct(RackAndPinion):
    def velocity_product(self, q, qd):
        return -super().velocity_product(q, qd)


class WrongRate(Universal):
    def constraint_rates(self, X, vJ):
        return tuple(Force.zero() for _ in self.rows)


class WrongResidual(Revolute):
    def residual(self, X):
        return [-delta for delta in super().residual(X)]


class WrongOrder(Revolute):
    def residual(self, X):
        return list(reversed(super().residual(X)))


class NotClosed(Revolute):
    def residual(self, X):
        return [delta + 1e-3 for delta in super().residual(X)]


class WrongSubspace(Revolute):
    motion_subspace = motions(2)


class WrongConstraints(Helical):
    constraint_subspace = forces(1, 2, 4, 5, 6)


class TooFew(Revolute):
    constraint_subspace = forces(1, 2, 4, 5)

    def residual(self, X):
        return super().residual(X)[:4]


class Literal(Planar):
    """The printed Table 4.1: rates of the positions taken for the velocities."""

    def position_rate(self, q, qd):
        return list(qd)


class WrongDifference(Floating):
    def difference(self, q0, q1):
        return super().difference(q1, q0)


class Projected(SoftFinger):
    def residual(self, X):
        return [X.E.rows[0][1], *super().residual(X)[1:]]


class WrongDrive(Helical):
    def active_forces(self, X):
        return forces(6)


class WrongCoordinates(Planar):
    def coordinates(self, X, near=ORIGIN):
        return super().coordinates(X.inverse(), near)


class WrongWork(Spherical):
    def coordinate_forces(self, X, forces):
        return list(forces)


class Shifted(Revolute):
    def neutral(self):
        return [0.1]


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (WrongProduct(0.4), "c_J is not the rate of S times qd"),
        (WrongRate(), "constraint_rates is not the rate of T"),
        (WrongResidual(), "the residual does not change by T^T d"),
        (WrongOrder(), "the residual does not change by T^T d"),
        (NotClosed(), "the residual of the closed joint is not zero"),
        (WrongSubspace(), "dX_J/dt is not -v_J x X_J"),
        (WrongSubspace(), "T^T S is not zero"),
        (WrongConstraints(0.3), "T^T S is not zero"),
        (TooFew(), "freedoms and constraints do not make six"),
        (Literal(), "dX_J/dt is not -v_J x X_J"),
        (Literal(), "integrate does not follow position_rate"),
        (WrongDifference(), "difference does not undo integrate"),
        (Projected(), "a velocity-only row has a position error"),
        (WrongDrive(0.3), "T_a^T S is not the identity"),
        (WrongCoordinates(), "coordinates does not undo transform"),
        (WrongWork(), "coordinate_forces does other work than forces on the coordinates"),
        (Shifted(), "the neutral position does not make the frames coincide"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_mistakes_are_found(kind, message):
    """Each part that is wrong is named."""
    assert f"{kind.name}: {message}" in verify(kind)


class TwoPositions(Revolute):
    nq = 2


class LongNeutral(Revolute):
    def neutral(self):
        return [0.0, 0.0]


@pytest.mark.parametrize(
    ("kind", "part"), [(TwoPositions, "integrate"), (LongNeutral, "neutral has 2 entries")]
)
def test_wrong_sizes_are_named(kind, part):
    """A wrong nq, or a part with another number of entries, names the part and raises nothing."""
    problems = verify(kind())
    assert any(problem.startswith(f"revolute: {part}") for problem in problems)
