# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The reference of the object gives way to measured wrenches: closed forms, with both plants."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import robot_dynamics as rd
from robot_dynamics.app.scenarios.laws import control_loop, make_law
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.control import admittance
from robot_dynamics.control.admittance import (
    AdmittanceError,
    Compliance,
    SetPoints,
    _on_a_surface,
    check_compliance,
)
from robot_dynamics.control.admittance_settings import AdmittanceSettings
from robot_dynamics.control.closed_path import ClosedPath
from robot_dynamics.control.gains import sampled_spectral_radius, servo_gains
from robot_dynamics.control.path_check import PreflightError
from robot_dynamics.description.diagnosis import DescriptionError
from robot_dynamics.errors import ArgumentError
from robot_dynamics.resources import share_directory
from robot_dynamics.robot import Robot

# Joints without friction, and every wrench counts: what is left is the closed form.
FREE = ["control.law=admittance", "reference={}", "acceptance={}"]
FREE += ["plant.friction_scale=0", "plant.damping_scale=0", "control.friction.share=0"]
ALL = ["control.admittance.dead_band_n=0", "control.admittance.dead_band_nm=0"]
BOTH = ["engine", pytest.param("mujoco", marks=pytest.mark.slow)]

CHOSEN = AdmittanceSettings(
    inertia=(20.0, 15.0, 25.0), damping=(200.0, 220.0, 240.0), stiffness=(1000.0, 1500.0, 1200.0),
    rotational_inertia=(1.0, 1.2, 0.8), rotational_damping=(8.0, 10.0, 9.0),
    rotational_stiffness=(30.0, 40.0, 35.0), dead_band_n=0.0, dead_band_nm=0.0,
)  # fmt: skip


def with_settings(scenario, settings):
    control = dataclasses.replace(scenario.control, admittance=settings)
    return dataclasses.replace(scenario, control=control)


@pytest.mark.parametrize("plant", BOTH)
def test_a_push_moves_the_reference_as_the_chosen_inertia_says(plant, tmp_path):
    """M e'' + D e' + K e = h in all six directions, as SciPy integrates it; 1 % of each shows.

    The centre of mass is not at the origin, about which M, D and K are.
    """
    box = (share_directory() / "urdf" / "box.urdf").read_text()
    elsewhere = box.replace('<origin xyz="0 0 0"', '<origin xyz="0.03 -0.02 0.04"', 1)
    (tmp_path / "box.urdf").write_text(elsewhere)
    scenario = load_scenario("lift_box", [*FREE, f"cell.object.urdf={tmp_path}/box.urdf"])
    scenario = with_settings(scenario, CHOSEN)
    law, sim = make_law(scenario), rd.Simulation(scenario, plant=plant)
    assert np.any(law.hybrid_system.held.center)
    seen = sim.reset()
    law.check_path(seen.q)
    law.start(seen.q, seen.qd)
    still, period = seen.object_pose, sim.period
    f = np.array([0.4, -0.3, 0.35, 3.0, -4.0, 5.0])  # N m, N
    begin, count, followed, moved = law.ramp_ticks + 10, 700, [], []
    for tick in range(begin + count):
        step = law.update(tick, seen.q, seen.qd, seen.wrenches)
        if tick > begin:
            turned = Rotation.from_quat(seen.object_pose[3:]) * Rotation.from_quat(still[3:]).inv()
            moved.append([*turned.as_rotvec(), *(seen.object_pose[:3] - still[:3])])
            followed.append(step.more[1])
        seen = sim.step(step.torque, {"box": f} if tick >= begin else None)
    followed, moved = np.array(followed), np.array(moved)

    # A wrench that is held for a period acts half a period late.
    times = period * (np.arange(1, count) - 0.5)
    M = np.array([*CHOSEN.rotational_inertia, *CHOSEN.inertia])
    D = np.array([*CHOSEN.rotational_damping, *CHOSEN.damping])
    K = np.array([*CHOSEN.rotational_stiffness, *CHOSEN.stiffness])

    def motion(M, D, K):
        def rate(_, x):
            e, v, h = x.reshape(3, 6)
            return np.concatenate([v, (h - D * v - K * e) / M, CHOSEN.wrench_bandwidth * (f - h)])

        x = solve_ivp(rate, (0, times[-1]), np.zeros(18), t_eval=times, rtol=1e-8, atol=1e-11)
        return x.y[:6].T

    expected = motion(M, D, K)
    largest = np.abs(expected).max(axis=0)

    def differs(expected):
        return np.abs(followed - expected).max(axis=0) / largest

    # What is left is of second order in the period, and the servo's motion in the estimate.
    assert (differs(expected) < 1e-3).all()
    for scales in ((1.01, 1.0, 1.0), (1.0, 1.01, 1.0), (1.0, 1.0, 1.01)):
        wrong = motion(*(scale * value for scale, value in zip(scales, (M, D, K), strict=True)))
        assert (differs(wrong) > 1e-3).all()

    # The object is where it is to be but for what the push takes of the inner loop: the stiffness
    # of its servo is Lambda w^2 at least, and its integral forgets it within some 1 / w_i.
    servo = scenario.control.object
    pushed = np.abs(np.linalg.solve(law.inertia, f)) / servo.bandwidth**2
    off = np.abs(moved - followed)
    assert (off.max(axis=0) < 1.1 * pushed).all()
    assert (off[-1] < 0.02 * pushed).all()
    np.testing.assert_allclose(step.more[0], f, rtol=2e-3)


@pytest.mark.parametrize("plant", BOTH)
def test_a_constant_push_is_a_displacement_of_the_object(plant):
    """K^-1 h, less the dead band; with no stiffness it goes on at D^-1 h and stays there."""
    own = "control.admittance={inertia: [5, 5, 5], damping: [200, 200, 200], "
    own += "stiffness: [2000, 0, 2000], dead_band_n: 2, dead_band_nm: 0.2}"
    scenario = load_scenario("lift_box", [*FREE, own])
    run = rd.simulate(
        scenario, plant, duration=1.5,
        watch=lambda time, _: {"box": [0, 0, 0, 6.0, 0, 8.0]} if time < 1.0 else {
            "box": [0, 0, 0, 0, 10.0, 0]} if time < 1.25 else None,
    )  # fmt: skip
    assert run.ok, run.report["failures"]
    moved = run.recording["object_pose"][:, :3] - run.recording["object_pose"][0, :3]
    at = round(1.0 / 0.002)
    expected = 0.8 * np.array([6.0, 0.0, 8.0]) / 2000.0  # 2 N of 10 N
    np.testing.assert_allclose(moved[at], expected, atol=2e-5)
    # D^-1 times the impulse of what counts: 8 N for 0.25 s, less 9.8 N times the filter's time
    # constant while it rises, and 4.8 N times that more while it falls.
    impulse = 8.0 * 0.25 - 5.0 / scenario.control.admittance.wrench_bandwidth
    assert moved[-1, 1] == pytest.approx(impulse / 200.0, rel=0.01)
    assert abs(moved[-1, 0]) < 1e-4


@pytest.mark.parametrize("plant", BOTH)
def test_drives_that_take_positions_give_way_alike(plant):
    """Stiff servos of the joints alone, on the set points: K^-1 h, and the hands stay together."""
    scenario = with_settings(load_scenario("lift_box", FREE), CHOSEN)
    law, sim = make_law(scenario), rd.Simulation(scenario, plant=plant)
    seen = sim.reset()
    arms, first = sim.arms, seen.q
    law.start(seen.q, seen.qd)
    names = [body.joint.name for body in arms.model.bodies]
    order = [names.index(name) for name in sim.joint_names]
    force, still, squeeze = np.array([4.0, -3.0, 5.0]), seen.object_pose, []
    for tick in range(law.ramp_ticks + 800):
        law.update(tick, seen.q, seen.qd, seen.wrenches)
        points, q = law.set_points, np.zeros(len(names))
        q[order] = seen.q
        H = arms.inertia_matrix(q)[np.ix_(order, order)]
        servo = H @ (80.0**2 * (points - seen.q) - 2.0 * 80.0 * seen.qd)
        push = np.array([0.0, 0.0, 0.0, *force]) if tick > law.ramp_ticks else np.zeros(6)
        seen = sim.step(law.hold_support(first) + servo, {"box": push})
        squeeze.append(seen.wrenches[0, 5])
    # 1e-3 of it is left after 1.6 s. The servos give way by the push over 80^2 of the inertia, and
    # hold_support is that of the first posture: together 1e-4 m.
    moved = seen.object_pose[:3] - still[:3]
    np.testing.assert_allclose(moved, force / np.array(CHOSEN.stiffness), atol=2e-4)
    # At the set points themselves each hand is where the object at x_c has its grasp.
    wanted = law.compliant.row[:7]
    to_object = np.eye(4)
    to_object[:3, :3] = Rotation.from_quat(wanted[3:]).as_matrix()
    to_object[:3, 3] = wanted[:3]
    at_start = np.eye(4)
    at_start[:3, :3], at_start[:3, 3] = Rotation.from_quat(still[3:]).as_matrix(), still[:3]
    for arm in law.system.arms:
        hands = []
        for joints, frame in ((first, at_start), (points, to_object)):
            q[order] = joints
            hands.append(np.linalg.solve(frame, arms.pose(arm.tool, q)))
        np.testing.assert_allclose(hands[1], hands[0], atol=1e-9)


def test_set_points_stay_within_limits_and_speeds():
    """A pose out of reach is approached as far and as fast as joints may; then it goes on."""
    law = make_law(load_scenario("lift_box", FREE))
    system, period = law.system, law.period
    q, near = system.posture, law.reference.start
    points = SetPoints(system, law.safety, law.grasp.contacts, period, 4.0)
    points.begin(q, near)
    away, before = near + np.array([0.0, 0.9, 0.4, 0.0, 0.0, 0.0, 0.0]), q
    limits, margin, fastest = system.limits, law.safety.position_margin, []
    most = limits["velocity"] * law.safety.velocity_fraction * period
    for tick in range(3000):
        now = points.next(away if tick < 500 else near, min(tick / 100, 1.0))
        fastest.append(np.max(np.abs(now - before) / most))
        assert ((now >= limits["lower"]) & (now <= limits["upper"])).all()
        before = now
    assert max(fastest) == pytest.approx(1.0)
    np.testing.assert_allclose(now, q, atol=1e-6)  # the posture that it began with
    opening = ClosedPath(system, Robot(system.model).constraint_terms, law.grasp.contacts)
    opening.at = system.positions(now)
    row = np.zeros(19)
    row[:7] = near
    assert opening.close(row)
    np.testing.assert_allclose(opening.at[system.q_index], now, atol=1e-9)
    for end, nearest in (
        ("lower", limits["lower"] + margin),
        ("upper", limits["upper"] - margin),
    ):
        points._at = system.positions(limits[end] * 1.5)
        np.testing.assert_allclose(points.next(near, 1.0), nearest)


def test_set_points_begin_where_the_arms_are():
    """Their offsets vanish in the ramp; wrenches count from its end on."""
    law = make_law(load_scenario("lift_box", [*FREE, *ALL, "control.start.ramp_s=0.2"]))
    q = law.system.posture.copy()
    q[3] += 1e-3
    wrenches = np.ones((2, 6))
    law.start(q, 0.0 * q)
    counted = []
    for tick in range(110):
        counted.append(law.update(tick, q, 0.0 * q, wrenches).more[0].any())
        if tick == 0:
            np.testing.assert_allclose(law.set_points, q, atol=1e-4)
    assert counted.index(True) == law.ramp_ticks + 1 == 101


@pytest.mark.parametrize(("ratio", "rate"), [(0.8, 1.25), (0.3, 2.0)])
def test_how_fast_set_points_go_to_the_posture(monkeypatch, ratio, rate):
    """As a servo of 2 rad/s and that damping does in the end."""
    given = []
    monkeypatch.setattr(admittance, "SetPoints", lambda *arguments: given.append(arguments[-1]))
    servo = f"control.posture={{bandwidth: 2.0, damping_ratio: {ratio}}}"
    make_law(load_scenario("lift_box", [*FREE, servo]))
    assert given == [pytest.approx(rate)]


def test_the_wrench_from_outside_is_that_of_the_time_that_has_passed():
    """A change of momentum over three periods of which two were left out."""
    law = make_law(load_scenario("lift_box", FREE))
    held, keep = law.hybrid_system.held, np.exp(-30.0 * 0.002)
    estimate = admittance.WrenchEstimate(law.hybrid_system, 30.0, 0.002)
    weight = held.mass * np.asarray(law.hybrid_system.arms.gravity)
    wrenches = np.zeros((1, 18))
    wrenches[0, 3:6] = -weight
    step = {"pose": law.reference.start, "held_body_wrenches": wrenches}
    estimate.update(7, SimpleNamespace(twist=np.zeros(6), **step))
    h = estimate.update(10, SimpleNamespace(twist=np.array([0, 0, 0, 0.1, 0, 0]), **step))
    assert h[3] == pytest.approx((1.0 - keep) * held.mass * 0.1 / (3 * 0.002))


@pytest.mark.parametrize(
    ("at", "wrench", "counted"), [(4, 5.0, 3.0), (4, 50.0, 10.0), (1, 0.5, 0.3), (1, 5.0, 1.0)]
)
def test_how_much_of_a_wrench_counts(at, wrench, counted):
    """Beyond 2 N and 0.2 N m, up to 10 N and 1 N m."""
    limits = {"dead_band_n": 2.0, "dead_band_nm": 0.2, "largest_n": 10.0, "largest_nm": 1.0}
    limited = Compliance(dataclasses.replace(CHOSEN, **limits), 0.002)
    free, unit = Compliance(CHOSEN, 0.002), np.eye(6)[at]
    limited.advance(wrench * unit)
    free.advance(counted * unit)
    np.testing.assert_allclose(limited.state, free.state, rtol=1e-9)


@pytest.mark.parametrize(("axis", "fastest", "farthest"), [(0, 0.7, 0.4), (4, 0.3, 0.2)])
def test_how_fast_and_how_far_the_reference_gives_way(axis, fastest, farthest):
    """Along one axis up to both limits, slower and slower within the last tenth of a second."""
    speeds = {"largest_angular_speed": 0.7, "largest_speed": 0.3, "largest_nm": 1e6}
    reach = {"largest_displacement_rad": 0.4, "largest_displacement_m": 0.2, "largest_n": 1e6}
    compliance = Compliance(dataclasses.replace(CHOSEN, **speeds, **reach), 0.002)
    for sign in (1.0, -1.0):
        compliance.forget()
        for tick in range(2000):
            before = compliance.e[axis]
            compliance.advance(1e5 * sign * np.eye(6)[axis])
            wanted = min(fastest, (farthest - sign * before) / 0.1)
            assert tick < 10 or compliance.rate[axis] == pytest.approx(sign * wanted, abs=1e-9)
        assert compliance.e[axis] == pytest.approx(sign * farthest, rel=1e-6)


def test_the_mass_on_a_spring_is_changed_while_it_runs():
    """Twice the stiffness, half the way; a value that the loop does not bear changes nothing."""
    own = dataclasses.replace(CHOSEN, damping=(600.0, 600.0, 600.0))
    scenario = with_settings(load_scenario("lift_box", FREE), own)
    law, sim = make_law(scenario), rd.Simulation(scenario)
    seen = sim.reset()
    law.check_path(seen.q)
    law.start(seen.q, seen.qd)
    stiffer = dataclasses.replace(own, stiffness=(8000.0, 9000.0, 10000.0))
    h, before, jumps = np.array([0.0, 0.0, 0.0, 8.0, 6.0, 4.0]), None, []
    for tick in range(law.ramp_ticks + 1400):
        step = law.update(tick, seen.q, seen.qd, seen.wrenches)
        if tick == law.ramp_ticks + 700:
            soft = law.compliance.e.copy()
            law.retune(dataclasses.replace(law.settings, admittance=stiffer))
        if tick > law.ramp_ticks + 700:
            jumps.append(np.abs(step.torque - before).max())
        before = step.torque
        seen = sim.step(step.torque, {"box": h})
    np.testing.assert_allclose(soft[3:], h[3:] / own.stiffness, rtol=0.12)  # e^-2.3 is left
    np.testing.assert_allclose(law.compliance.e[3:], h[3:] / stiffer.stiffness, rtol=0.01)
    assert max(jumps) < 0.3  # N m in a period, of some 50
    assert law.metadata["admittance"]["stiffness"][3:] == list(stiffer.stiffness)
    wild = dataclasses.replace(own, damping=(20.0, 20.0, 20.0))
    with pytest.raises(AdmittanceError, match="would chatter"):
        law.retune(dataclasses.replace(law.settings, admittance=wild))


@pytest.mark.slow  # the stiffness of the object alone is shown above
@pytest.mark.parametrize("plant", ["engine", "mujoco"])
def test_a_wall_in_the_way_is_pressed_as_two_springs_in_series_do(plant):
    """1000 N/m of the law and 20000 N/m of the wall over 1 cm: 9.52 N. Nothing is commanded."""
    path = "reference.segments=[{duration_s: 0.6, move: [0.05, 0, 0]}, {duration_s: 1.0}]"
    ideal = ["plant.friction_scale=0", "plant.damping_scale=0", "acceptance={}"]
    run = rd.simulate("comply", plant, overrides=[path, *ideal, *ALL])
    assert run.ok, run.report["failures"]
    force = run.recording["contact_force"][-1, 0]
    assert force == pytest.approx(0.01 / (1.0 / 1000.0 + 1.0 / 2e4), rel=0.003)
    assert run.recording["external_wrench"][-1, 3] == pytest.approx(-force, rel=1e-3)


def test_the_reference_stays_within_its_bounds_for_any_wrench():
    """Huge, alternating and sudden wrenches: bounded displacement and speed, along every axis."""
    settings = dataclasses.replace(CHOSEN, largest_n=500.0, stiffness=(0.0, 1500.0, 1200.0))
    compliance, period = Compliance(settings, 0.002), 0.002
    row = np.zeros(19)
    row[6] = 1.0
    random = np.random.default_rng(0)
    before, largest = compliance.shifted(row)[:3], np.zeros(6)
    for i in range(6000):
        h = 1e9 * np.ones(6) if i < 2000 else 1e6 * random.standard_normal(6)
        compliance.advance(None if i >= 5000 else h)
        now = compliance.shifted(row)
        assert np.abs(now[:3] - before).max() <= settings.largest_speed * period * (1 + 1e-9)
        assert np.abs(now[7:10]).max() <= settings.largest_angular_speed
        largest, before = np.maximum(largest, np.abs(compliance.e)), now[:3]
    assert (largest[3:] <= settings.largest_displacement_m).all()
    assert (largest[:3] <= 1.02 * settings.largest_displacement_rad).all()  # turns add up
    assert largest[3] > 0.9 * settings.largest_displacement_m
    # Without wrenches it has come to rest where it was.
    assert np.abs(compliance.rate).max() < 1e-3
    assert np.abs(compliance.e).max() > 1e-3


def test_the_displaced_reference_is_one_motion():
    """Twist and acceleration are rates of the displaced pose, also while it turns."""
    compliance, period = Compliance(CHOSEN, 1e-4), 1e-4
    omega, rows = np.array([0.3, -0.2, 0.4]), []
    for i in range(4000):
        row = np.zeros(19)
        row[3:7] = Rotation.from_rotvec(omega * i * period).as_quat()
        row[:3], row[7:10], row[10:13] = np.array([0.1, 0, 0]) * i * period, omega, [0.1, 0, 0]
        rows.append(compliance.shifted(row))
        compliance.advance(np.array([1.0, -2.0, 3.0, 8.0, 5.0, -4.0]))
    rows = np.array(rows)
    turns = Rotation.from_quat(rows[:, 3:7])
    twist = np.hstack([(turns[2:] * turns[:-2].inv()).as_rotvec(), rows[2:, :3] - rows[:-2, :3]])
    np.testing.assert_allclose(twist / (2 * period), rows[1:-1, 7:13], atol=2e-4)
    rates = (rows[2:, 7:13] - rows[:-2, 7:13]) / (2 * period)
    np.testing.assert_allclose(rates, rows[1:-1, 13:19], atol=5e-3)


@pytest.mark.parametrize("wrong", [np.nan, 1e6])
def test_without_wrenches_the_object_stays_where_it_was_pushed_to(wrong):
    """A sensor that tells no number or nonsense is lost: the pose is held, without coming back."""
    scenario = load_scenario("lift_box", FREE)
    loop, sim = control_loop(scenario), rd.Simulation(scenario)
    seen = sim.reset()
    loop.check(seen.q, seen.qd)
    loop.start_at(0, 0, seen.q, seen.qd, seen.wrenches)
    height = []
    for tick in range(500):
        wrenches = seen.wrenches.copy()
        if tick == 400:
            wrenches[1, 4] = wrong
        outcome = loop.update(tick, tick, seen.q, seen.qd, wrenches)
        assert np.isfinite(outcome.torque).all()
        height.append(seen.object_pose[2])
        seen = sim.step(outcome.torque, {"box": [0, 0, 0, 0, 0, 10.0]} if tick < 400 else None)
    assert not loop.safety.wrenches_usable
    assert loop.safety.law_runs
    given_way = height[400] - height[0]
    assert given_way > 2e-3
    assert height[-1] - height[0] == pytest.approx(given_way, rel=0.2)  # v M / D, and the servo's


def test_settings_that_chatter_on_surfaces_are_refused():
    """Too little damping chatters on stiff surfaces; a sentence names the axis."""
    scenario = load_scenario("lift_box", ["control.law=admittance"])
    law = make_law(scenario)
    q = law.system.posture
    law.check_path(q)
    check_compliance(scenario.control, law.inertia)
    light = dataclasses.replace(scenario.control.admittance, damping=(600.0, 20.0, 600.0))
    with pytest.raises(AdmittanceError, match="along y: with inertia 20 kg and damping 20 N s/m"):
        check_compliance(dataclasses.replace(scenario.control, admittance=light), law.inertia)
    softer = dataclasses.replace(light, surface_stiffness=500.0)
    check_compliance(dataclasses.replace(scenario.control, admittance=softer), law.inertia)
    # A controller refuses it before anything moves, and where on the path.
    refused = load_scenario("lift_box", [*FREE, "control.admittance.damping=[600, 20, 600]"])
    with pytest.raises(PreflightError, match=r"at 0\.00 s: control\.admittance along y"):
        make_law(refused).check_path(q)
    with pytest.raises(ArgumentError, match="measured grasp wrenches"):
        control_loop(scenario, wrist_sensors=False)


def test_on_which_surfaces_the_loop_is_checked(monkeypatch):
    """From a hundredth of the stiffest one, with its delay and a period more; to rounding."""
    asked, radius = set(), 1.0

    def looked_at(settings, compliance, axis, k, stiffness, delay):
        asked.add((axis < 3, stiffness, delay))
        return radius * np.eye(2)

    monkeypatch.setattr(admittance, "_on_a_surface", looked_at)
    stiff = dataclasses.replace(CHOSEN, surface_stiffness=2e4, rotational_surface_stiffness=500.0)
    control = load_scenario("lift_box", FREE).control
    control = dataclasses.replace(control, admittance=stiff, command_delay_periods=1)
    check_compliance(control, np.eye(6))
    for angular, largest in ((True, 500.0), (False, 2e4)):
        stiffnesses = [k for about, k, _ in asked if about == angular]
        assert (min(stiffnesses), max(stiffnesses)) == pytest.approx((0.01 * largest, largest))
    assert {delay for _, _, delay in asked} == {1, 2}
    radius = 1.0 + 0.9e-9
    check_compliance(control, np.eye(6))
    radius = 1.0 + 1.1e-9
    with pytest.raises(AdmittanceError, match="would chatter"):
        check_compliance(control, np.eye(6))


def test_gains_of_the_inner_loop_change_by_the_same_rule():
    """90 N s/m are enough for a servo of 40 rad/s, not for one of 60 rad/s."""
    damped = "control.admittance.damping=[90, 90, 90]"
    law = make_law(load_scenario("lift_box", ["control.law=admittance", damped]))
    before, own = law.settings, law.settings.object
    q = law.system.posture
    law.check_path(q)
    with pytest.raises(AdmittanceError, match="would chatter"):
        law.retune(dataclasses.replace(before, object=dataclasses.replace(own, bandwidth=60.0)))
    assert law.settings is before
    softer = dataclasses.replace(own, bandwidth=20.0)
    law.retune(dataclasses.replace(before, object=softer))
    law.start(q, np.zeros(len(q)))
    assert law.settings.object == softer


@pytest.mark.parametrize("delay", [0, 1, 3])
def test_the_matrix_of_a_period_on_no_surface(delay):
    """It has the poles of the servo, as another code has them, and those of e and the filter."""
    control = load_scenario("lift_box", ["control.law=admittance"]).control
    compliance = Compliance(CHOSEN, control.period)
    A = _on_a_surface(control, compliance, 3, 0.0, 0.0, delay)
    own = np.roots([20.0, 200.0, 1000.0])
    known = np.exp(control.period * np.array([*own, -CHOSEN.wrench_bandwidth]))
    poles = np.linalg.eigvals(A)
    for pole in known:
        assert np.abs(poles - pole).min() < 1e-6
    rest = [p for p in poles if np.abs(known - p).min() > 1e-6]
    radius = sampled_spectral_radius(servo_gains(control.object), control.period, delay)
    assert max(abs(p) for p in rest) == pytest.approx(radius)


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("control.admittance.damping=[1, 2, 0]", "damping"),
        ("control.admittance.inertia=[1, 2, 0]", "inertia"),
        ("control.admittance.stiffness=[1, 2, -3]", "stiffness"),
        ("control.admittance.largest_n=-1", "largest_n"),
    ],
)
def test_invalid_settings_are_refused(override, words):
    """Inertia and damping are positive, stiffness is not negative."""
    with pytest.raises(DescriptionError, match=words):
        load_scenario("lift_box", ["control.law=admittance", override])
