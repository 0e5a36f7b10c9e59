# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Properties of all joint types."""

import pickle
from dataclasses import dataclass

import numpy as np
import pytest
from model.joints.cases import EVERY, MOVABLE, columns, random_positions

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model.joints import (
    Fixed,
    Floating,
    Helical,
    JointType,
    Planar,
    PointOnPlane,
    Prismatic,
    RackAndPinion,
    Revolute,
    combined,
    forces,
    motions,
    reverse,
)
from robot_dynamics.spatial import Transform, Vector3


def test_unit_vectors_are_numbered_as_in_the_book():
    """e1 to e3 are angular, e4 to e6 linear, for motions and forces alike."""
    np.testing.assert_array_equal(columns(motions(1, 2, 3, 4, 5, 6)), np.eye(6))
    np.testing.assert_array_equal(columns(forces(3, 6)), np.eye(6)[:, [2, 5]])


def test_combined_is_S_times_rates(rng):
    """A sum of columns times rates; of no columns it is zero."""
    S, qd = motions(3, 6), rng.normal(size=2)
    assert combined(S, qd.tolist()).components() == [0.0, 0.0, qd[0], 0.0, 0.0, qd[1]]
    assert not any(combined((), ()).components())


@pytest.mark.parametrize("kind", EVERY, ids=repr)
def test_rows_describe_the_constraints(kind, rng):
    """There is a row for each column of T and each residual; moments are rotational rows."""
    X = Transform.identity()
    T, rows = columns(kind.constraints(X)), kind.rows
    assert T.shape == (6, len(rows))
    assert len(kind.residual(X)) == len(kind.constraint_rates(X, motions(1)[0])) == len(rows)
    assert len({row.direction for row in rows}) == len(rows)
    for row, column in zip(rows, T.T, strict=True):
        at = ("rx", "ry", "rz", "x", "y", "z").index(row.direction)
        assert column[at] == pytest.approx(1.0)
        assert row.rotational == (at < 3)


@pytest.mark.parametrize("kind", MOVABLE, ids=repr)
def test_the_neutral_position_is_where_differences_start(kind, rng):
    """The step from the neutral position to itself is zero, and to any other leads there."""
    neutral, q = kind.neutral(), random_positions(rng, kind)
    np.testing.assert_allclose(kind.difference(neutral, neutral), 0.0, atol=1e-15)
    step = kind.difference(neutral, q)
    np.testing.assert_allclose(kind.integrate(neutral, step), q, atol=1e-12)


@pytest.mark.parametrize("kind", MOVABLE, ids=repr)
def test_coasting_moves_at_the_rates_of_positions_and_velocities(kind, rng):
    """Central differences of positions and velocities are their rates."""
    q, qd, small = random_positions(rng, kind), rng.normal(size=kind.nv).tolist(), 1e-5
    center = rng.normal(size=3).tolist()
    ahead, behind = (kind.coast(q, qd, time, center) for time in (small, -small))
    for i, rates in enumerate((kind.position_rate(q, qd), kind.coasting_rate(qd, center))):
        moved = (np.array(ahead[i]) - behind[i]) / (2.0 * small)
        np.testing.assert_allclose(moved, rates, atol=1e-9)


@pytest.mark.parametrize("kind", [Floating(), Planar()], ids=repr)
def test_coasting_moves_a_point_straight_while_the_body_turns(kind, rng):
    """Over a long time, a point of it at a constant velocity in the predecessor's axes."""
    q, qd = random_positions(rng, kind), rng.normal(size=kind.nv).tolist()
    center = rng.normal(size=3).tolist()
    there, after = kind.coast(q, qd, 0.7, center)

    def seen(q, qd):
        """Return the position and the velocity of the point."""
        X, small = kind.transform(q), 1e-6
        places = []
        for time in (0.0, small, -small):
            X = kind.transform(kind.integrate(q, [time * x for x in qd]))
            places.append(np.array([*(X.r + X.E.inverse_times(Vector3.of(center)))]))
        return places[0], (places[1] - places[2]) / (2.0 * small)

    (start, rate), (end, last) = seen(q, qd), seen(there, after)
    np.testing.assert_allclose(end, start + 0.7 * rate, atol=1e-8)
    np.testing.assert_allclose(last, rate, atol=1e-8)
    n = 3 if kind.nq == 7 else 1
    np.testing.assert_array_equal(after[:n], qd[:n])
    turned = kind.difference(q, there)[:n]
    # The series of `turn` is good to 1e-11 at such an angle.
    np.testing.assert_allclose(turned, 0.7 * np.array(qd[:n]), rtol=1e-10)


def test_types_compare_by_kind_and_parameters():
    """Two objects of a type are equal, hash alike and survive pickling; parameters tell apart."""
    assert Fixed() == Fixed()
    assert Fixed() != Floating()
    assert Helical(0.1) == Helical(0.1)
    assert Helical(0.1) != Helical(0.2)
    assert len({Helical(0.1), Helical(0.1), Helical(0.2), Revolute(), Revolute()}) == 3
    assert pickle.loads(pickle.dumps(Helical(0.1))) == Helical(0.1)
    assert repr(Helical(0.1)) == "<helical joint, pitch 0.1>"


def test_keys_tell_compiled_code_apart():
    """Equal types have equal keys; other types, parameters and classes of users do not."""

    class Mine(Revolute):
        name = "revolute"

    kinds = [Revolute(), Prismatic(), Helical(0.1), Helical(0.1 + 1e-16), Helical(0.2), Mine()]
    assert Revolute().key == Revolute().key
    assert Mine().key == Mine().key
    assert len({kind.key for kind in kinds}) == len(kinds)


def test_keys_follow_the_code_of_users(monkeypatch):
    """A changed source gives another key, so that no machine code of the old one is found."""
    from robot_dynamics.model.joints import base

    class Mine(Revolute):
        pass

    monkeypatch.setattr(base.inspect, "getsource", lambda _: "one")
    base._code_of.cache_clear()
    one = Mine().key
    monkeypatch.setattr(base.inspect, "getsource", lambda _: "two")
    base._code_of.cache_clear()
    assert Mine().key != one


def test_contacts_carry_no_bodies():
    """A type that can only close loops has no transform, and says so."""
    assert not PointOnPlane().carries
    with pytest.raises(RobotDynamicsError, match="can only close a loop"):
        PointOnPlane().transform([])


def test_types_without_residual_cannot_close_loops():
    """A tree joint of a user that lacks the loop's part says so instead of closing it wrongly."""

    @dataclass(frozen=True, eq=False, repr=False)
    class Half(JointType):
        name, nq, nv = "half", 1, 1
        motion_subspace = motions(3)
        constraint_subspace = ()

        def transform(self, q):
            return Transform.identity()

    assert not Half().closes
    with pytest.raises(NotImplementedError, match="a half joint cannot close a loop"):
        Half().residual(Transform.identity())


@pytest.mark.parametrize("kind", [*MOVABLE, Fixed(), PointOnPlane()], ids=repr)
def test_coordinates_are_the_inverse_of_the_transform(kind, rng):
    """A placement has the coordinates of its positions, whichever way round the joint is."""
    for _ in range(5):
        if not kind.carries:
            assert kind.coordinates(Transform.identity()) == []
            continue
        q = random_positions(rng, kind)
        expected = kind.coordinates_of(q)
        assert len(expected) == kind.nv
        X = kind.transform(q)
        np.testing.assert_allclose(kind.coordinates(X), expected, atol=1e-13)
        np.testing.assert_allclose(reverse(kind).coordinates(X.inverse()), expected, atol=1e-13)
        assert kind.coordinates_of(kind.neutral()) == [0.0] * kind.nv


@pytest.mark.parametrize("kind", [k for k in MOVABLE if k.nq == k.nv], ids=repr)
def test_whole_turns_of_coordinates_follow_the_guess(kind, rng):
    """Coordinates of a placement are found again many turns away, given a guess that near."""
    turns = [*2.0 * np.pi * rng.integers(-9, 9, kind.nv)]
    if kind.name in ("prismatic", "cylindrical", "planar"):
        turns[-1] = 0.0
    if kind.name == "planar":
        turns[1] = 0.0
    if kind.name == "yaw_pitch_roll":
        turns[1] = 0.0  # a pitch is below 90 degrees
    q = np.array(random_positions(rng, kind)) + turns
    near = q + rng.uniform(-3.0, 3.0, kind.nv)
    found = kind.coordinates(kind.transform(q.tolist()), near.tolist())
    np.testing.assert_allclose(found, q, atol=1e-12)


def test_screws_and_pinions_know_their_turns():
    """Their displacement tells the turns, independent of the position `near`."""
    for kind in (Helical(0.3), Helical(-0.01), RackAndPinion(0.4)):
        for angle in (17.0, -40.0, 3.2):
            (found,) = kind.coordinates(kind.transform([angle]))
            assert found == pytest.approx(angle, abs=1e-12)
    (found,) = Helical(0.0).coordinates(Helical(0.0).transform([17.0]), (18.0,))
    assert found == pytest.approx(17.0, abs=1e-13)


def test_a_type_that_says_nothing_has_no_coordinates():
    """A type of a user may leave them out, and says so."""

    class Mute(Revolute):
        coordinates = JointType.coordinates

    assert not Mute().has_coordinates
    assert not reverse(Mute()).has_coordinates
    assert Revolute().has_coordinates
    with pytest.raises(NotImplementedError, match="coordinates"):
        Mute().coordinates(Transform.identity())
