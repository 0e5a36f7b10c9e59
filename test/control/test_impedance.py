# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Springs and dampers hold the object and the hands: against closed forms, with both plants."""

import dataclasses
import re

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import robot_dynamics as rd
from robot_dynamics.app.scenarios.laws import control_loop, make_law
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.control.gains import GainError, PidGains, sampled_spectral_radius
from robot_dynamics.control.impedance import _spectral_radius, check_springs
from robot_dynamics.control.path_check import PreflightError
from robot_dynamics.control.reference import TWIST
from robot_dynamics.description.diagnosis import DescriptionError
from robot_dynamics.errors import ArgumentError
from robot_dynamics.resources import share_directory

# Joints without friction: what drives lose is beside the closed form.
FREE = ["control.law=impedance", "reference={}", "acceptance={}"]
FREE += ["plant.friction_scale=0", "plant.damping_scale=0", "control.friction.share=0"]
BOTH = ["engine", pytest.param("mujoco", marks=pytest.mark.slow)]


def spring_wrench(law, step):
    """Return the recorded wrench of springs and dampers on the object (6,)."""
    widths = law.columns
    ends = np.cumsum(list(widths.values()))
    parts = np.split(np.concatenate(step.recorded), ends[:-1])
    return dict(zip(widths, parts, strict=True))["spring_wrench"]


def inertia_at_the_load(sim, law, seen):
    """Return Lambda (6, 6) about the object's origin from the Jacobians of the hands alone."""
    arms, p = sim.arms, seen.object_pose[:3]
    names = [body.joint.name for body in arms.model.bodies]
    q = np.zeros(len(names))
    q[[names.index(name) for name in sim.joint_names]] = seen.q
    J, W = [], []
    for arm in law.system.arms:
        J.append(arms.jacobian(arm.tool, q, "aligned"))
        G = np.eye(6)
        G[:3, 3:] = np.cross(np.eye(3), arms.pose(arm.tool, q)[:3, 3] - p)  # r x f
        W.append(G)
    J, W = np.vstack(J), np.hstack(W)
    held, R = law.hybrid_system.held, Rotation.from_quat(seen.object_pose[3:]).as_matrix()
    m, c = held.mass, np.cross(np.eye(3), R @ np.asarray(held.center))  # c x
    M_o = np.block(
        [[R @ np.asarray(held.inertia) @ R.T - m * c @ c, m * c], [-m * c, m * np.eye(3)]]
    )
    return M_o + W @ np.linalg.inv(J @ np.linalg.inv(arms.inertia_matrix(q)) @ J.T) @ W.T


@pytest.mark.parametrize("plant", BOTH)
def test_a_push_moves_the_object_as_springs_and_inertia_say(plant, tmp_path):
    """Lambda e'' + D e' + K e = -f of all six directions, as SciPy integrates it.

    The centre of mass is not at the origin, which springs and reference are about.
    """
    box = (share_directory() / "urdf" / "box.urdf").read_text()
    elsewhere = box.replace('<origin xyz="0 0 0"', '<origin xyz="0.03 -0.02 0.04"', 1)
    (tmp_path / "box.urdf").write_text(elsewhere)
    at_once = ["control.start.ramp_s=0", "control.command_delay_periods=0"]
    at_once += ["plant.command_delay_periods=0", "control.rate_hz=1000", "safety.torque_rate=.inf"]
    scenario = load_scenario(
        "lift_box", [*FREE, *at_once, f"cell.object.urdf={tmp_path}/box.urdf"]
    )
    law, sim = make_law(scenario), rd.Simulation(scenario, plant=plant)
    assert np.any(law.hybrid_system.held.center)
    seen = sim.reset()
    law.check_start(seen.q, seen.qd)
    law.start(seen.q, seen.qd)
    springs, still = scenario.control.impedance, seen.object_pose
    K = np.diag([*springs.rotational_stiffness, *springs.stiffness])
    D = np.diag([*springs.rotational_damping, *springs.damping])
    inertia = inertia_at_the_load(sim, law, seen)
    np.testing.assert_allclose(law.inertia, inertia, atol=1e-8)  # of up to 30 kg
    # A torque that is held for a period acts half a period late: e is e - (h / 2) e'.
    late = 0.5 * sim.period
    inverse, D_h = np.linalg.inv(inertia - late * D), D - late * K
    f = 0.1 * np.array([1.0, -0.5, 0.8, 10.0, -20.0, 30.0])  # N m, N: a millimetre

    count, moved = 300, []
    for tick in range(count):
        torque = law.update(tick, seen.q, seen.qd, seen.wrenches).torque
        seen = sim.step(torque, {"box": f})
        turned = Rotation.from_quat(seen.object_pose[3:]) * Rotation.from_quat(still[3:]).inv()
        moved.append([*turned.as_rotvec(), *(seen.object_pose[:3] - still[:3])])
    times = sim.period * np.arange(1, count + 1)

    def rate(_, x):
        return np.concatenate([x[6:], inverse @ (f - D_h @ x[6:] - K @ x[:6])])

    exact = solve_ivp(rate, (0.0, times[-1]), np.zeros(12), t_eval=times, rtol=1e-9, atol=1e-12)
    expected = exact.y[:6].T
    # What is left is of second order in the period: 3e-4 of the largest motion, 7e-4 of MuJoCo.
    error = np.abs(np.array(moved) - expected).max(axis=0)

    assert (error < 1e-3 * np.abs(expected).max(axis=0)).all()


@pytest.mark.parametrize("plant", BOTH)
def test_stiffness_of_the_object_and_of_the_hands(plant):
    """A heavier box sinks by the weight over K; a grasp elsewhere adds K_I times that."""
    springs = "control.impedance={stiffness: [2000, 2000, 12000], damping: [500, 500, 1500]}"
    wrong = ["plant.object_mass_scale=1.2"]
    wrong += ["plant.grasp_error={right: {xyz: [0, 0, -0.001], rpy: [0, 0, 0.002]}}"]
    run = rd.simulate("lift_box", plant, overrides=[*FREE, springs, *wrong], duration=1.2)
    assert run.ok, run.report["failures"]
    z = run.recording["object_pose"][:, 2]
    # 1e-4 of the static deflection is left after 1.2 s; grasps that are elsewhere turn the box.
    assert 0.2 * 10.0 * 9.81 / (z[0] - z[-1]) == pytest.approx(12000.0, rel=0.01)
    names = run.recording.metadata["internal_forces"]
    internal = dict(zip(names, run.recording["internal_force"][-1], strict=True))
    assert internal["squeeze"] == pytest.approx(2e4 * 0.001, rel=0.01)
    assert internal["twist"] == pytest.approx(-200.0 * 0.002, rel=0.02)
    spring = run.recording["spring_wrench"][-1]
    assert spring[5] == pytest.approx(0.2 * 10.0 * 9.81, rel=0.01)


@pytest.mark.slow  # the stiffness of the object alone is shown above
@pytest.mark.parametrize("plant", ["engine", "mujoco"])
def test_a_wall_in_the_way_is_pressed_as_two_springs_in_series_do(plant):
    """1000 N/m of the law and 20000 N/m of the wall over 1 cm: 9.52 N. Nothing is commanded."""
    path = "reference.segments=[{duration_s: 0.6, move: [0.05, 0, 0]}, {duration_s: 0.6}]"
    ideal = ["plant.friction_scale=0", "plant.damping_scale=0", "acceptance={}"]
    run = rd.simulate("lean", plant, overrides=[path, *ideal])
    assert run.ok, run.report["failures"]
    force = run.recording["contact_force"][-1, 0]
    # The pad is 6 cm from the grasps' line and turns the board: a little of the way is its.
    assert force == pytest.approx(0.01 / (1.0 / 1000.0 + 1.0 / 2e4), rel=0.01)
    assert "reference_contact_force" not in run.recording


def _seen(scenario):
    """Return the law of a scenario, not started, and the joints of its simulation."""
    law, sim = make_law(scenario), rd.Simulation(scenario)
    return law, sim.reset()


@pytest.mark.parametrize(
    ("name", "override", "words", "wrong"),
    [
        ("tray", "{}", r"rotational_damping about y is 20 N m s/rad, too high", ["y"]),
        pytest.param(
            "two_ur5",
            "{}",
            r"rotational_damping about y is 20 N m s/rad, too high",
            ["y"],
            marks=pytest.mark.slow,
        ),
        ("lift_box", "{damping: [5, 500, 500]}", r"\.damping along x is 5 N s/m, too low", ["x"]),
        ("lift_box", "{damping: [0, 0, 0]}", r"\.damping along y is 0 N s/m, too low", [*"xyz"]),
        ("lift_box", "{stiffness: [2e7, 2e3, 2e3]}", r"\.stiffness along x .* too high", ["x"]),
        ("lift_box", "{stiffness: [2e7, 2e3, 2e3], damping: [9e4, 5e2, 5e2]}", "and", ["x", "x"]),
    ],
)
def test_the_bound_that_a_refusal_states_is_accepted(name, override, words, wrong):
    """It names the number, in its own unit; the stated value is accepted, and more is refused."""
    law, seen = _seen(load_scenario(name, [*FREE, f"control.impedance={override}"]))
    with pytest.raises(GainError, match=words) as refused:
        law.check_start(seen.q, seen.qd)
    sentence, settings = str(refused.value), law.settings
    named = re.findall(r"impedance\.(\w+) (?:about|along) ([xyz]) is", sentence)
    stated = [float(v) for v in re.findall(r"at (?:least|most) ([\d.e+]+) N", sentence)]
    assert sorted(axis for _, axis in named) == wrong

    def entered(factor):
        springs = settings.impedance
        for (key, axis), bound in zip(named, stated, strict=True):
            values = list(getattr(springs, key))
            more = bound > values["xyz".index(axis)]
            values["xyz".index(axis)] = bound * (2.0 - factor if more else factor)
            springs = dataclasses.replace(springs, **{key: tuple(values)})
        return dataclasses.replace(settings, impedance=springs)

    check_springs(entered(1.0), law.inertia[None])
    if len(named) == len(set(named)) and len(wrong) == 1:  # the bound is where it begins
        with pytest.raises(GainError):
            check_springs(entered(1.02), law.inertia[None])


def test_springs_are_checked_along_the_path():
    """A tray that turns by 30 degrees is stable at the start, and not at the end.

    It turns easily about the line between the palms, which is no longer along an axis then.
    """
    turn = "{duration_s: 2.0, rotate: {axis: [0, 0, 1], degrees: 30}}"
    springs = "{rotational_damping: [20, 4.2, 20], rotational_stiffness: [100, 30, 100]}"
    still = "reference.segments=[{duration_s: 0.3}, {duration_s: 2.0}]"
    turned = f"reference.segments=[{{duration_s: 0.3}}, {turn}, {{duration_s: 0.7}}]"
    own = ["control.law=impedance", f"control.impedance={springs}"]
    law, seen = _seen(load_scenario("tray", [*own, still]))
    law.check_path(seen.q)
    law, seen = _seen(load_scenario("tray", [*own, turned]))
    law.check_start(seen.q, seen.qd)
    with pytest.raises(PreflightError, match=r"rotational_damping about [xy] .* at 500 Hz") as no:
        law.check_path(seen.q)
    assert 0.3 < no.value.problems[0].time <= 2.3
    # Springs that a path was accepted with do not change to some that it would not be.
    good = dataclasses.replace(law.settings.impedance, rotational_damping=(4.0, 4.0, 20.0))
    good = dataclasses.replace(good, rotational_stiffness=(30.0, 30.0, 100.0))
    wild, law.settings = law.settings, dataclasses.replace(law.settings, impedance=good)
    law.check_path(seen.q)
    law.check_start(seen.q, seen.qd)
    with pytest.raises(GainError, match="rotational_damping"):
        law.retune(wild)


def test_springs_are_judged_where_control_starts():
    """The posture in a file may be any guess: a controller is made, and refuses the start."""
    springs = "control.impedance.rotational_damping=[900, 900, 900]"
    scenario = load_scenario("lift_box", ["control.law=impedance", springs])
    loop, seen = control_loop(scenario), rd.Simulation(scenario).reset()
    with pytest.raises(GainError, match="rotational_damping"):
        loop.check_state(seen.q, seen.qd)


@pytest.mark.parametrize("delay", [0, 1, 3])
def test_the_spectral_radius_of_the_sampled_loop(delay):
    """Of one direction it is that of the loop of the hybrid law's servo, which is another code."""
    for K, D in ((900.0, 40.0), (900.0, 700.0), (2e5, 40.0)):
        radius = _spectral_radius(np.array([[K]]), np.array([[D]]), 0.002, delay)
        assert radius == pytest.approx(sampled_spectral_radius(PidGains(K, D), 0.002, delay))


def test_gains_change_while_it_runs():
    """Half the stiffness, half the force; a value that the loop does not bear changes nothing."""
    scenario = load_scenario("lift_box", FREE[:1])
    law, seen = _seen(scenario)
    q, still, settings = seen.q, np.zeros(len(seen.q)), scenario.control
    softer = dataclasses.replace(settings.impedance, stiffness=(2000.0, 2000.0, 1000.0))

    law.check_start(q, still)

    def force(change):  # arms stay, and the reference goes on: of K e alone at one instant
        law.start(q, still)
        for tick in range(law.ramp_ticks + 260):
            if change and tick == law.ramp_ticks + 130:
                law.retune(dataclasses.replace(settings, impedance=softer))
            step = law.update(tick, q, still)
        damping = settings.impedance.damping[2] * step.reference[TWIST][5]
        assert not spring_wrench(law, step.with_torque(step.torque)).any()  # another controller's
        return spring_wrench(law, step)[5] - damping

    before, after = force(False), force(True)
    assert before > 1.0  # N
    assert after == pytest.approx(0.5 * before, rel=1e-6)
    assert law.settings.impedance == softer
    assert law.metadata["stiffness"][5] == 1000.0
    wild = dataclasses.replace(settings.impedance, damping=(1e6, 1e6, 1e6))
    with pytest.raises(GainError, match="damping along"):
        law.retune(dataclasses.replace(settings, impedance=wild))
    assert law.settings.impedance == softer


def test_the_first_command_of_the_page_ends_well():
    """With its settings the scenario meets its acceptance."""
    page = (share_directory() / "docs" / "impedance.md").read_text(encoding="utf-8")
    command = next(line for line in page.splitlines() if " demo lift_box " in line)
    overrides = command.split(" --set ")[1:]
    assert overrides[0] == "control.law=impedance"
    run = rd.simulate("lift_box", overrides=overrides)
    assert run.ok, run.report["failures"]


@pytest.mark.parametrize(
    ("scenario", "override", "words"),
    [
        ("wipe", "control.law=impedance", "reference.touches"),
        ("lift_box", "control.impedance.stiffness=[1, 2]", "stiffness"),
        ("lift_box", "control.impedance.damping=[1, 2, -3]", "damping"),
        ("lift_box", "control.impedance.internal_stiffness=-1", "internal_stiffness"),
        ("lift_box", "control.impedance.internal_stiffness=1e9", "internal_stiffness.*1e.06"),
        ("lift_box", "control.impedance.internal_damping=1e6", "internal_damping"),
        ("lift_box", "control.internal_force.basis=orthonormal", "transmitted"),
    ],
)
def test_invalid_settings_are_refused(scenario, override, words):
    """Forces on surfaces are not its business; stiffness is not negative, and has units."""
    with pytest.raises((DescriptionError, ArgumentError), match=words):
        load_scenario(scenario, ["control.law=impedance", override])
