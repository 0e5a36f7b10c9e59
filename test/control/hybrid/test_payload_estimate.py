# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The estimate of mass and centre, against a cloud of points that is moved as one body."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from scipy.spatial.transform import Rotation as Turn
from support.hybrid_step import arguments_of
from support.hybrid_systems import environment_of, state_of

from robot_dynamics.control.hybrid.law_inputs import LawOptions
from robot_dynamics.control.hybrid.law_program import HybridLawProgram
from robot_dynamics.control.hybrid.payload_estimate import (
    PAYLOAD_STATE,
    AdaptedPayload,
    HeldWrench,
    PayloadBounds,
    PayloadEstimate,
    kept_at_start,
    payload_at_rest,
)
from robot_dynamics.control.settings import ControlSettings
from robot_dynamics.errors import ArgumentError
from robot_dynamics.reproductions.yoshikawa_zheng.system_motion import system_motion
from robot_dynamics.spatial import Motion, Rotation, Symmetric3, Vector3

G = np.array([0.0, 0.0, -9.81])
PERIOD, MASS = 0.004, 10.0
BOUNDS = PayloadBounds(0.5, 0.05, 1.0)
# Points of the body from its centre of mass, and their shares of its mass.
POINTS = 0.2 * np.array([*np.eye(3), *-np.eye(3)])
SHARES = np.array([0.1, 0.15, 0.25, 0.1, 0.15, 0.25])
INERTIA = MASS * sum(
    s * (p @ p * np.eye(3) - np.outer(p, p)) for s, p in zip(SHARES, POINTS, strict=True)
)


class Body(NamedTuple):
    """A moving body: mass and centre relative to the stated ones, and gravity over 9.81 m/s^2."""

    ratio: float = 1.0
    offset: tuple[float, ...] = (0.0, 0.0, 0.0)
    g: float = 1.0

    def places(self, t):
        """Return the orientation, the stated centre, and the points in the world at a time."""
        R = Turn.from_rotvec([0.7 * np.sin(1.3 * t), 0.5 * np.sin(2.1 * t), 0.9 * np.sin(1.7 * t)])
        c = np.array([0.3 * np.sin(2.0 * t), 0.2 * np.sin(1.1 * t), 0.2 * np.sin(1.6 * t)])
        return R, c, c + R.apply(POINTS + np.array(self.offset))

    def held(self, t, h=1e-4):
        """Return the wrench that moves it, by Newton's law for each point, and its motion."""
        (R, c, x), (R0, c0, x0), (R1, c1, x1) = (self.places(t + s) for s in (0.0, -h, h))
        force = MASS * self.ratio * SHARES[:, None] * ((x1 - 2.0 * x + x0) / h**2 - self.g * G)
        wrench = [*np.cross(x - c, force).sum(axis=0), *force.sum(axis=0)]
        omega, v = (R1 * R0.inv()).as_rotvec() / (2.0 * h), (c1 - c0) / (2.0 * h)
        held = held_wrench(wrench, R, omega, v)
        return replace(held, gravity=held.gravity * self.g)


def held_wrench(wrench, R, omega, v):
    """Return the inputs of the estimate for a wrench (6,) and motion in world axes."""
    wrench, back = np.array(wrench, dtype=float), R.inv()
    own = [*back.apply(wrench[:3]), *back.apply(wrench[3:])]
    twist = Motion(Vector3.of(back.apply(omega).tolist()), Vector3.of(back.apply(v).tolist()))
    E = Rotation.of(back.as_matrix().tolist())
    inertia = Symmetric3.of(INERTIA.tolist())
    return HeldWrench(own, E, twist, MASS, inertia, Vector3.of(G.tolist()))


def step(held, state, *, known=1.0, gate=1.0):
    """Return the next estimate."""
    return PayloadEstimate.of(held, state, BOUNDS, PERIOD, known=known, gate=gate)


def estimates(body, duration, noise=0.0, seed=0):
    """Yield the estimates of a run from the start on."""
    state, rng = [0.0] * PAYLOAD_STATE, np.random.default_rng(seed)
    sizes = noise * np.array([0.1] * 3 + [0.5] * 3)
    for tick in range(round(duration / PERIOD)):
        held = body.held(tick * PERIOD)
        wrench = np.array(held.wrench) + sizes * rng.standard_normal(6)
        found = step(replace(held, wrench=wrench.tolist()), state)
        state = found.state
        yield found


@pytest.mark.parametrize(
    "body", [Body(), Body(1.2, (0.01, -0.02, 0.015)), Body(0.8, (-0.02, 0.0, 0.01))]
)
def test_mass_and_center_of_a_moving_body_are_found(body):
    """Within 0.1 % and 0.15 mm, by wrench and velocity alone: accelerations are not used."""
    *_, last = estimates(body, 2.0)
    used = AdaptedPayload.of(last.state)
    assert used.ratio == pytest.approx(body.ratio, abs=1e-3)
    assert list(used.offset) == pytest.approx(body.offset, abs=1.5e-4)


def test_the_mass_of_a_body_without_weight_is_found():
    """By its momentum alone."""
    *_, last = estimates(Body(1.2, g=0.0), 1.0)
    assert AdaptedPayload.of(last.state).ratio == pytest.approx(1.2, abs=2e-3)


def test_errors_are_as_large_as_their_standard_deviations():
    """Of 4 runs with the assumed noise, relative to the run without noise."""
    body = Body(1.1, (0.01, 0.0, -0.01))
    *_, exact = estimates(body, 0.8)
    off = []
    for seed in range(4):
        *_, last = estimates(body, 0.8, 1.0, seed)
        scale = np.array([MASS, 1.0, 1.0, 1.0]) / last.deviation
        off.append(scale * (np.array(last.state[:4]) - exact.state[:4]))
    assert 0.4 < np.sqrt(np.mean(np.square(off))) < 1.6


@pytest.mark.parametrize(("ratio", "used"), [(1.9, 1.5), (0.2, 0.5)])
def test_the_mass_stays_within_its_bounds(ratio, used):
    """It goes there within `change_s`, and not faster."""
    ratios = [AdaptedPayload.of(each.state).ratio for each in estimates(Body(ratio), 1.5)]
    assert ratios[-1] == pytest.approx(used, abs=1e-12)
    fastest = BOUNDS.mass_share * PERIOD / BOUNDS.change_s
    assert np.abs(np.diff(ratios)).max() == pytest.approx(fastest, rel=1e-6)


def test_the_center_stays_within_its_bound():
    """A displacement that is too large keeps its direction."""
    *_, last = estimates(Body(1.0, (0.06, -0.08, 0.0)), 1.4)
    offset = list(AdaptedPayload.of(last.state).offset)
    assert np.linalg.norm(offset) == pytest.approx(BOUNDS.center_m, rel=1e-9)
    assert offset == pytest.approx([0.03, -0.04, 0], abs=2e-3)


def test_no_data_move_the_payload_faster_or_farther():
    """Wrenches and motions at random, a thousand newtons large."""
    rng, state = np.random.default_rng(1), [0.0] * PAYLOAD_STATE
    sizes = np.array([BOUNDS.mass_share, *[BOUNDS.center_m] * 3])
    for _ in range(300):
        R = Turn.random(random_state=rng)
        held = held_wrench(1e3 * rng.standard_normal(6), R, *(3.0 * rng.standard_normal((2, 3))))
        after = step(held, state, known=float(rng.random() > 0.02)).state
        moved = np.abs(np.subtract(after[:4], state[:4])) * BOUNDS.change_s / PERIOD
        assert np.isfinite(after).all()
        assert (moved <= sizes * (1.0 + 1e-9)).all()
        assert abs(after[0]) <= BOUNDS.mass_share
        assert np.linalg.norm(after[1:4]) <= BOUNDS.center_m * (1.0 + 1e-9)
        state = after


def test_a_frozen_estimate_does_not_change():
    """By limits at once; by other forces also until the filters have forgotten them."""
    *_, last = estimates(Body(1.2), 0.6)
    limited = step(Body(1.4).held(0.6), last.state, gate=0.0)
    kept = [*range(4), *range(34, PAYLOAD_STATE - 2)]
    assert limited.learned == 0.0
    assert [limited.state[i] for i in kept] == [last.state[i] for i in kept]
    state, learned = step(Body(1.4).held(0.6), last.state, known=0.0).state, []
    for tick in range(100):
        found = step(Body(1.4).held(0.6 + tick * PERIOD), state)
        state = found.state
        learned.append(found.learned)
    assert PERIOD * learned.index(1.0) == pytest.approx(0.3, abs=1.5 * PERIOD)


def test_another_object_is_learned_after_a_change():
    """An estimate is forgotten as soon as it does not explain the wrench."""
    *_, last = estimates(Body(1.3), 1.0)
    state = last.state
    for tick in range(round(2.0 / PERIOD)):
        state = step(Body(0.9).held(tick * PERIOD), state).state
    assert AdaptedPayload.of(state).ratio == pytest.approx(0.9, abs=5e-3)


def test_a_start_forgets_another_object():
    """Of the same object mass and centre stay, and the filters are emptied."""
    *_, last = estimates(Body(1.2), 1.0)
    state = np.array(last.state)
    assert not kept_at_start(state, same_object=False).any()
    kept = kept_at_start(state, same_object=True)
    assert kept[0] == state[0] > 0.19
    assert not kept[4:34].any()
    assert step(Body(1.2).held(1.0), kept.tolist()).learned == 0.0


def test_an_object_at_rest_is_weighed():
    """Its mass, and its centre across gravity; nothing if one is beyond its bounds."""
    gravity = np.array([3.0, -5.0, 7.0])

    def weighed(ratio, d):
        force = -MASS * ratio * gravity
        wrench = np.concatenate([np.cross(d, force), force + MASS * gravity])
        return payload_at_rest(wrench, gravity, MASS, BOUNDS)

    d = np.cross(gravity, [0.0, 0.002, 0.001])
    assert weighed(1.2, d) == pytest.approx([0.2, *d])
    assert weighed(1.49, d) is not None
    assert weighed(1.51, d) is None
    far = 0.05 * d / np.linalg.norm(d)
    assert weighed(1.0, 0.99 * far) is not None
    assert weighed(1.0, 1.01 * far) is None


def accelerations(used):
    """Return the acceleration of an object's origin: as asked of the law, and as it moves (6,).

    Its mass and centre are [0.2, 0.03, -0.02, 0.04] from the stated ones.

    Args:
        used: Estimate that the law uses (4,).
    """
    rng = np.random.default_rng(4)
    state = state_of(2, "rigid", 6, environment_of(0), rng)
    system, R, omega = state.system, state.pose[:3, :3], state.twist[:3]
    center, asked = np.array(system.held.center), rng.standard_normal(6)
    arrays, block, _ = arguments_of(state, acceleration=asked)
    q, qd, wrenches, sensors, reference, memory, ramp = arrays
    memory = np.concatenate([memory, used, np.zeros(PAYLOAD_STATE - 4)])
    inputs = [q, qd, wrenches, np.append(sensors, 0.0), reference, memory, ramp]
    options = LawOptions(ahead=False, adapts=True)
    law = HybridLawProgram(system, tuple(range(12)), options)
    block = np.concatenate([block, BOUNDS])
    torque = law(*(np.asarray(each).tolist() for each in (*inputs, block)))["torque"]
    d, ratio = np.array([0.03, -0.02, 0.04]), 1.2
    held = replace(
        system.held, mass=ratio * system.held.mass, center=tuple(center + d),
        inertia=ratio * np.asarray(system.held.inertia),
    )  # fmt: skip
    twist = np.concatenate([omega, state.twist[3:] + np.cross(omega, R @ d)])
    heavy = state._replace(system=replace(system, held=held), twist=twist)
    moved = system_motion(heavy.terms, np.array(torque)).object_acceleration
    r = R @ (center + d)
    moved[3:] -= np.cross(moved[:3], r) + np.cross(omega, np.cross(omega, r))
    return asked, moved


def test_the_right_estimate_moves_another_object_as_asked():
    """By forward dynamics of arms and true object; one of the stated object does not."""
    asked, moved = accelerations([0.2, 0.03, -0.02, 0.04])
    assert moved == pytest.approx(asked, abs=1e-9)
    asked, moved = accelerations([0.0, 0.0, 0.0, 0.0])
    assert np.abs(moved - asked).max() > 0.1


def test_only_the_hybrid_law_adapts():
    """A law that yields to forces would take them for weight."""
    assert ControlSettings(payload="adapt").payload_bounds.mass_share == 0.5
    for law in ("impedance", "admittance", "jointed", "gravity"):
        with pytest.raises(ArgumentError, match="expected payload 'fixed', or the law 'hybrid'"):
            ControlSettings(law=law, payload="adapt")
