# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The least squeeze that holds."""

from __future__ import annotations

import numpy as np
import pytest
from manipulation.hybrid.grasps import around, facing, held_by
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from robot_dynamics.errors import ArgumentError
from robot_dynamics.manipulation.hybrid import Contact, ForceDistribution, FrictionCone
from robot_dynamics.manipulation.hybrid.squeeze import (
    CorrectionLimit,
    Squeeze,
    SqueezeError,
    TorqueBounds,
    contact_margins,
)

FINGER, POINT = FrictionCone(0.5, torsion=0.02), FrictionCone(0.5)
WEIGHT = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 2.0 * 9.81])  # of 2 kg, carried


def squeezing(contacts, margin=1.0, **options):
    """Return the distribution and the squeeze of contacts."""
    distribution = ForceDistribution.of_contacts(held_by(contacts))
    return distribution, Squeeze(contacts, distribution, margin, **options)


def test_two_fingers_squeeze_by_the_weight_over_friction():
    """In closed form: half the weight at each, mu f - t = margin sqrt(1 + mu^2)."""
    distribution, squeeze = squeezing(facing("soft finger", FINGER))
    found = squeeze.at(WEIGHT)
    exact = (9.81 + np.hypot(1.0, 0.5)) / 0.5
    at = distribution.names.index("squeeze")
    # The polytope of 16 sides gives 4 % of friction away at most.
    error = FINGER.facets().error
    assert error < 0.04
    assert exact <= found.internal_force[at] + 1e-9
    assert found.internal_force[at] <= exact / (1.0 - error)
    assert found.margins.min() >= 1.0 - 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_no_smaller_squeeze_holds_three_points(seed):
    """Against a search over the cones themselves, to the error of polygons."""
    contacts = around("frictional point", 3, POINT)
    distribution, squeeze = squeezing(contacts, sides=32)
    wrench = np.random.default_rng(seed).normal(size=6) * [0.1, 0.1, 0.1, 5.0, 5.0, 5.0]
    found = squeeze.at(wrench)
    assert found.margins.min() >= 1.0 - 1e-9

    def size(u):
        return float(np.sum((distribution.internal @ u) ** 2))

    def bounds(u):
        return contact_margins(contacts, distribution.contact_forces(wrench, u)) - 1.0

    best = minimize(
        size, found.internal_force * 1.5, constraints={"type": "ineq", "fun": bounds},
        # A smaller one is below rounding, at which its line search gives up on some machines.
        options={"ftol": 1e-9, "maxiter": 300},
    )  # fmt: skip
    assert best.success
    assert size(found.internal_force) >= best.fun * (1.0 - 1e-6)
    # 0.5 % of friction, and what it takes of forces of this size, squared.
    assert size(found.internal_force) <= best.fun * 1.05


def test_a_wish_that_holds_is_granted():
    """Internal forces inside all cones are kept; smaller ones are raised until they hold."""
    distribution, squeeze = squeezing(facing("soft finger", FINGER))
    target = np.zeros(len(distribution.names))
    target[distribution.names.index("squeeze")] = 60.0
    assert_allclose(squeeze.at(WEIGHT, target).internal_force, target, atol=1e-9)
    least = squeeze.at(WEIGHT).internal_force
    assert_allclose(squeeze.at(WEIGHT, 0.1 * target).internal_force, least, rtol=0.1, atol=1.0)


def test_in_the_loop_it_is_the_same():
    """Granted wishes as they are, others raised, and nothing where nothing holds."""
    distribution, squeeze = squeezing(around("frictional point", 3, FrictionCone(0.5, most=40.0)))
    rng = np.random.default_rng(0)
    none = np.zeros(len(distribution.names))
    for _ in range(50):
        wrench = rng.normal(size=6) * [0.3, 0.3, 0.3, 9.0, 9.0, 9.0]
        expected = squeeze.at(wrench).internal_force
        assert_allclose(squeeze.in_loop(wrench, none), expected, atol=1e-9)
        assert squeeze.in_loop(wrench, 1.001 * expected) is not None
    assert squeeze.in_loop(20.0 * WEIGHT, none) is None
    assert squeeze.in_loop(np.full(6, np.nan), none) is None
    assert squeeze.in_loop(WEIGHT, np.full(3, np.nan)) is None


@pytest.mark.parametrize("seed", range(3))
def test_a_correction_limit_is_kept_with_the_margins(seed):
    """The best force within the limit is kept; else another that holds is found, or no force."""
    distribution, squeeze = squeezing(around("frictional point", 3, POINT))
    rng, count = np.random.default_rng(seed), len(distribution.names)
    refused = 0
    for _ in range(30):
        wrench = rng.normal(size=6) * [0.1, 0.1, 0.1, 5.0, 5.0, 5.0]
        around_ = rng.normal(size=count)
        best = squeeze.in_loop(wrench, around_)
        size = squeeze.size(best - around_)
        same = squeeze.in_loop(wrench, around_, None, CorrectionLimit(around_, 1.001 * size))
        assert_allclose(same, best, atol=1e-9 * size)
        less = squeeze.in_loop(wrench, around_, None, CorrectionLimit(around_, 0.99 * size))
        refused += less is None
        if less is not None:
            assert squeeze.size(less - around_) <= 0.99 * size + 1e-9
            assert squeeze.margins(wrench, less).min() >= 1.0 - 1e-9
    assert 0 < refused < 30


def test_a_change_goes_as_far_as_a_size():
    """The end of the part has that size, or is the end of all of it."""
    distribution, squeeze = squeezing(around("frictional point", 3, POINT))
    rng = np.random.default_rng(0)
    for _ in range(20):
        start, change = rng.normal(size=(2, len(distribution.names)))
        most = squeeze.size(start) + 0.3
        part = squeeze.part_within(start, change, most)
        end = squeeze.size(start + part * change)
        assert end == pytest.approx(most) or (part == 1.0 and end <= most)
    assert squeeze.part_within(start, 0.0 * change, most) == 1.0


def test_the_size_of_an_internal_force_is_that_of_its_largest_contact_force():
    """A squeeze of 1 N presses with 1 N; a twist of 1 N m counts by the length of 0.1 m."""
    distribution, squeeze = squeezing(facing("soft finger", FINGER))
    assert distribution.names == ("squeeze", "twist")
    assert squeeze.size(np.array([1.0, 0.0])) == pytest.approx(1.0)
    assert squeeze.size(np.array([0.0, 1.0])) == pytest.approx(10.0)


def test_one_squeeze_serves_a_whole_reference():
    """It keeps the margin at every wrench, and is no larger than the worst of them needs."""
    contacts = around("frictional point", 3, POINT)
    distribution, squeeze = squeezing(contacts)
    t = np.linspace(0.0, 1.0, 400)[:, None]
    wrenches = WEIGHT + np.sin(9.0 * t) * [0.1, 0.2, 0.0, 4.0, 0.0, 3.0]
    found = squeeze.over(wrenches)
    margins = squeeze.margins(wrenches, found.internal_force)
    assert_allclose(margins.min(axis=0), found.margins)
    assert margins.min() >= 1.0 - 1e-9
    assert_allclose(margins[found.worst, range(3)], found.margins)
    each = [np.linalg.norm(distribution.internal @ squeeze.at(w).internal_force) for w in wrenches]
    assert np.linalg.norm(distribution.internal @ found.internal_force) >= max(each) - 1e-9


def test_weak_contacts_are_refused_by_name():
    """Fingers that press 15 N at most cannot carry 2 kg: the message says which, and how short."""
    fragile = FrictionCone(0.5, torsion=0.02, most=15.0)
    _, squeeze = squeezing(facing("soft finger", fragile), names=("left", "right"))
    with pytest.raises(SqueezeError, match=r"leaves '(left|right)'") as error:
        squeeze.at(WEIGHT)
    assert set(error.value.contacts) <= {"left", "right"}
    # mu (15 - m) - 9.81 = m sqrt(1 + mu^2) with m the margin left on both planes
    assert error.value.margin == pytest.approx((0.5 * 15 - 9.81) / (np.hypot(1, 0.5) + 0.5), 0.1)
    wrenches = np.outer(np.linspace(0.1, 1.0, 10), WEIGHT)
    with pytest.raises(SqueezeError, match="at wrench 10 of 10"):
        squeeze.over(wrenches)
    # Both contacts are at their limits alike; rounding decides whether one of them proves it.
    named = r"a margin of -[\d.]+ N at 0\.9 s, .* expected [\d.]+ N\."
    with pytest.raises(SqueezeError, match=named):
        squeeze.over(wrenches, times=np.linspace(0.0, 0.9, 10))


def test_torque_limits_move_the_load_to_the_arm_that_can():
    """Rigid grasps: the squeeze problem finds the sharing that keeps every drive inside."""
    contacts = facing("rigid")
    distribution, squeeze = squeezing(contacts, margin=0.0)
    # Each arm a substitute with a drive for every direction, as strong as written.
    limits = np.concatenate([np.full(6, 5.0), np.full(6, 50.0)])
    bounds = TorqueBounds(np.eye(12), np.zeros(12), limits)
    found = squeeze.at(WEIGHT, None, bounds)
    forces = distribution.contact_forces(WEIGHT, found.internal_force)
    assert np.all(np.abs(forces) <= limits + 1e-9)
    assert np.linalg.norm(forces[3:6]) == pytest.approx(5.0)  # the weak arm does what it can
    assert_allclose(held_by(contacts).constant_wrench_map @ forces, WEIGHT, atol=1e-9)
    with pytest.raises(SqueezeError, match="torque limits"):
        squeeze.at(10.0 * WEIGHT, None, bounds)


def test_drives_without_a_limit_take_what_is_left():
    """The weak arm keeps its limits; the other one, which has none, bears whatever load."""
    contacts = facing("rigid")
    distribution, squeeze = squeezing(contacts, margin=0.0)
    limits = np.concatenate([np.full(6, 5.0), np.full(6, np.inf)])
    with np.errstate(invalid="raise"):  # no row of numbers that are none
        found = squeeze.at(100.0 * WEIGHT, None, TorqueBounds(np.eye(12), np.zeros(12), limits))
    forces = distribution.contact_forces(100.0 * WEIGHT, found.internal_force)
    assert np.all(np.abs(forces[:6]) <= 5.0 + 1e-9)
    wrench = held_by(contacts).constant_wrench_map @ forces
    assert_allclose(wrench, 100.0 * WEIGHT, atol=1e-9 * 2000.0)


def test_drives_that_can_do_nothing_do_nothing():
    """A limit of zero: the internal force is the one with which that drive has no torque."""
    contacts = facing("rigid")
    distribution, squeeze = squeezing(contacts, margin=0.0)
    limits = np.where(np.arange(12) == 5, 0.0, 50.0)
    bounds = TorqueBounds(np.eye(12), np.zeros(12), limits)
    with np.errstate(all="raise"):
        found = squeeze.at(WEIGHT, None, bounds)
        in_loop = squeeze.in_loop(WEIGHT, np.zeros(6), bounds.left(WEIGHT, distribution))
    forces = distribution.contact_forces(WEIGHT, found.internal_force)
    assert forces[5] == pytest.approx(0.0, abs=1e-9)
    assert_allclose(in_loop, found.internal_force, atol=1e-12)


def test_contacts_without_limits_need_no_squeeze():
    """Rigid grasps that bear anything: the target is all there is."""
    distribution, squeeze = squeezing(facing("rigid"))
    target = np.arange(6.0)
    found = squeeze.at(WEIGHT, target)
    assert_allclose(found.internal_force, target, atol=1e-12)
    assert np.all(np.isinf(found.margins))
    assert len(distribution.names) == 6


def test_one_contact_holds_or_does_not():
    """Without internal forces there is nothing to choose, only to refuse."""
    flat = (Contact.of_kind("rigid", np.eye(4), FrictionCone(0.5)),)
    _, squeeze = squeezing(flat, names=("palm",))
    assert squeeze.at(WEIGHT).margins[0] > 1.0
    with pytest.raises(SqueezeError, match="'palm'"):
        squeeze.at(-WEIGHT)


def test_numbers_that_are_none_are_refused():
    """Before they reach the solver."""
    _, squeeze = squeezing(facing("soft finger", FINGER))
    with pytest.raises(ArgumentError, match="is not finite"):
        squeeze.at(np.full(6, np.nan))
    with pytest.raises(ArgumentError, match="margin"):
        squeezing(facing("soft finger", FINGER), margin=-1.0)
    distribution, _ = squeezing(facing("soft finger", FINGER))
    with pytest.raises(ArgumentError, match="has 8 contact forces; expected 9"):
        Squeeze(around("frictional point", 3, POINT), distribution, 1.0)


def test_margins_of_a_list_of_forces():
    """Lists are taken like arrays; too few forces are refused with their shape."""
    contacts = around("frictional point", 3, POINT)
    forces = np.tile([0.1, 0.0, 2.0], 3)
    assert np.array_equal(
        contact_margins(contacts, forces.tolist()), contact_margins(contacts, forces)
    )
    with pytest.raises(ArgumentError, match=r"forces have shape \(8,\); expected \(\.\.\., 9\)"):
        contact_margins(contacts, forces[:8].tolist())
