# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Oscillations at rest are found and named, and gains are lowered within bounds."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from robot_dynamics.app.runs.run import simulate
from robot_dynamics.app.scenarios.laws import control_loop
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.control.control_law import LawStep
from robot_dynamics.control.oscillation import (
    WINDOW_S,
    WINDOWS,
    OscillationWatch,
    lowered,
    sentence,
)
from robot_dynamics.control.reference import TWIST
from robot_dynamics.control.settings import ControlSettings, FrictionSettings
from robot_dynamics.resources import resolve_package_uri

PERIOD = 0.002
ARMS = (slice(0, 2), slice(2, 4))
PATIENCE_S = WINDOWS * WINDOW_S
SYSTEM = SimpleNamespace(
    joint_names=("a", "b", "c", "d"),
    joint_units=("rad", "m", "rad", "rad"),
    arms=(SimpleNamespace(name="left"), SimpleNamespace(name="right")),
)
AT_REST = LawStep(np.zeros(4), np.zeros(4), np.zeros(25), np.zeros(7))


def watched(motion, seconds=PATIENCE_S, step=AT_REST):
    """Return the first oscillation that is found in a motion of time, and the watch."""
    watch = OscillationWatch(ARMS, PERIOD)
    found = None
    for i in range(0, round(seconds / PERIOD), watch.every):
        found = found or watch.look(i, np.array(motion(i * PERIOD)), step)
    return found, watch


def wave(size, hz, decay=0.0):
    """Return a motion of the second joint, of a size from peak to peak [rad]."""

    def motion(t):
        return [0.3, 0.5 * size * np.exp(-decay * t) * np.sin(2.0 * np.pi * hz * t), 0.01 * t, 0.0]

    return motion


@pytest.mark.parametrize("hz", [3.0, 5.0, 15.0, 40.0])
def test_a_lasting_oscillation_is_found(hz):
    """With its joint, its size and its frequency; slow motion of others is none."""
    found, watch = watched(wave(0.01, hz))
    assert found is not None
    assert (found.joint, found.others) == (1, 0)
    assert found.amplitude == pytest.approx(0.01, rel=0.06)
    assert found.hz == pytest.approx(hz, abs=1.0 / WINDOW_S)
    assert found.rates.tolist() == pytest.approx([1.0, 1.0], abs=0.05)
    assert not watch.quiet


@pytest.mark.parametrize(
    ("motion", "seconds"),
    [
        (wave(1.97e-3, 10.0), PATIENCE_S),
        (wave(0.01, 1.75), PATIENCE_S),
        (wave(0.01, 5.0), PATIENCE_S - 6.0 * PERIOD),
        (wave(0.01, 5.0, decay=-np.log(0.792) / (2.0 * WINDOW_S)), PATIENCE_S),
        (lambda t: [t, t * t, np.exp(-t), 0.1 * np.tanh(t - 2.0)], PATIENCE_S),
    ],
    ids=["small", "slow", "short", "decaying", "monotonous"],
)
def test_other_motion_is_no_oscillation(motion, seconds):
    """Nor is noise of encoders; see `test_noise_is_no_oscillation`."""
    assert watched(motion, seconds)[0] is None


@pytest.mark.parametrize(
    ("size", "decay"), [(2.03e-3, 0.0), (0.01, -np.log(0.808) / (2.0 * WINDOW_S))]
)
def test_the_smallest_and_the_slowest_decay_that_count(size, decay):
    """The other sides of the limits."""
    assert watched(wave(size, 10.0, decay))[0] is not None


def test_the_slowest_oscillation():
    """Three periods in a window."""
    assert watched(wave(0.01, 2.1))[0] is not None


def test_noise_is_no_oscillation():
    """A hundred times that of encoders."""
    random = np.random.default_rng(1)
    assert watched(lambda t: 1e-4 * random.standard_normal(4))[0] is None


@pytest.mark.parametrize(("ripple", "found"), [(0.1245, False), (0.1265, True)])
def test_a_ripple_counts_from_an_eighth_of_the_whole_motion_on(ripple, found):
    """Five waves and two spikes in a window, without mean and trend."""
    count = round(WINDOW_S / (3 * PERIOD))

    def motion(t):
        k = round(t / (3 * PERIOD)) % count
        spike = {count // 2 - 1: 0.5, count // 2: -0.5}
        wave = ripple * np.cos(2.0 * np.pi * 5.0 * (k - 0.5 * (count - 1)) / count)
        return [0.3, 0.1 * spike.get(k, wave), 0.0, 0.0]

    assert (watched(motion)[0] is not None) is found


def test_the_largest_motion_of_the_object_is_named():
    """Of the three directions."""
    watch, found = OscillationWatch(ARMS, PERIOD), None
    for i in range(0, round(PATIENCE_S / PERIOD), watch.every):
        t = i * PERIOD
        pose, middle = np.zeros(7), 0.5 * (WINDOW_S - watch.every * PERIOD)  # no trend about it
        pose[:3] = np.array([5e-4, 1.5e-3, 1e-4]) * np.cos(8.0 * np.pi * (t - middle))
        step = replace(AT_REST, pose=pose)
        found = found or watch.look(i, np.array(wave(0.01, 4.0)(t)), step)
    assert found is not None
    assert found.object_m == pytest.approx(3e-3, rel=0.02)


@pytest.mark.parametrize(
    ("period", "every"),
    [(2e-3, 3), (2e-3 * (1.0 + 5e-7), 2), (3e-4, 20), (3.03e-3, 1), (0.01, 1)],
)
def test_looks_are_at_most_six_milliseconds_apart(period, every):
    """Or a control period that is longer; rounding of a quotient makes none shorter."""
    assert OscillationWatch(ARMS, period).every == every


@pytest.mark.parametrize(("speed", "looks"), [(1.1e-9, 10), (0.9e-9, 1)])
def test_looks_are_rare_while_the_reference_moves(speed, looks):
    """Ten times as far apart."""
    watch, step = OscillationWatch(ARMS, PERIOD), replace(AT_REST, reference=np.zeros(25))
    step.reference[TWIST.start] = speed
    watch.look(7, np.zeros(4), step)
    assert watch.due == 7 + looks * watch.every


@pytest.mark.parametrize(("share", "lower"), [(0.303, 0.1515), (0.297, 0.0)])
def test_a_small_share_of_friction_is_left_out_at_once(share, lower):
    """Up to 0.3 of it; more is halved."""
    control = ControlSettings(friction=FrictionSettings(share=share))
    assert lowered(control, control)[0].friction.share == pytest.approx(lower)


def test_a_reference_that_moves_is_followed():
    """Joints may go to and fro with it."""
    row = np.zeros(25)
    row[12] = 1e-8
    assert watched(wave(0.01, 5.0), step=replace(AT_REST, reference=row))[0] is None


def test_slow_samples_are_named():
    """An arm whose positions change less often than the control rate; friction and delay."""
    found, _ = watched(lambda t: wave(0.01, 5.0)(np.floor(t / 0.01 + 1e-6) * 0.01))
    assert found is not None
    assert found.rates[0] == pytest.approx(0.2, abs=0.02)
    said = sentence(found, SYSTEM, ControlSettings())
    assert re.match("joint 'b' oscillates by 0.0[0-9]* m at ", said)
    assert "arm 'left' that are new only" in said
    assert "control.friction.share 1" in said
    assert "above 2 ms (control.command_delay_periods)" in said
    slow = found._replace(rates=np.array([0.81, 0.79]))
    said = sentence(slow, SYSTEM, ControlSettings())
    assert "arm 'right'" in said
    assert "arm 'left'" not in said
    none = ControlSettings(friction=FrictionSettings(share=0.0))
    assert "friction" not in sentence(found, SYSTEM, none)


@pytest.mark.parametrize("law", ["hybrid", "jointed", "impedance"])
def test_gains_are_lowered_within_bounds(law):
    """Compensated friction first, then bandwidths to half; poles keep their proportions."""
    first = settings = ControlSettings(law=law)
    said = []
    while True:
        lower, which = lowered(settings, first)
        if not which:
            assert lower == settings
            break
        said.append(which)
        settings = lower
    if law == "hybrid":
        assert said == [
            *(f"control.friction.share is {share} now" for share in ("0.5", "0.25", "0")),
            *(f"control.object.bandwidth is {b} rad/s now" for b in ("21", "15")),
        ]
        assert settings.object.integral == pytest.approx(0.5 * first.object.integral)
    elif law == "impedance":
        assert said[-1] == "control.friction.share is 0 now"
    else:
        assert said[-2:] == [f"control.jointed.velocity_gain is {g} 1/s now" for g in (84, 60)]
        assert settings.jointed.position_gain == pytest.approx(1000.0)
    assert settings.friction.share == 0.0


def test_the_loop_warns_and_lowers():
    """A warning with its time, and lower gains; it ends when the arms are at rest."""
    scenario = load_scenario("lift_box", ["reference.segments=[{duration_s: 0.1}]"])
    loop = control_loop(scenario)
    q, still = loop.system.posture, np.zeros(len(loop.system.posture))
    loop.check(q, still)
    loop.start_at(0, 0, q, still, None)
    period = scenario.control.period
    for tick in range(round((PATIENCE_S + 0.5) / period)):
        moved = q + 1e-7 * np.sin(40.0 * tick * period)
        rate = still.copy()
        moved[6] += 2e-3 * np.sin(40.0 * tick * period)
        rate[6] = 0.08 * np.cos(40.0 * tick * period)
        loop.update(tick, tick, moved, rate, None)
    assert loop.safety.cause == ""
    ((time, said),) = loop.warnings
    assert said == loop.oscillation
    assert time * period == pytest.approx(PATIENCE_S + 0.2, abs=0.01)
    assert said.startswith("joint 'left_joint7' oscillates by 0.0040")
    assert loop.law.settings.friction.share == 0.5
    assert loop.law.settings.object == scenario.control.object
    for later in range(tick, tick + round(2.0 * WINDOW_S / period)):
        loop.update(later, later, q + 1e-7 * np.sin(40.0 * later * period), still, None)
    assert loop.safety.cause == ""
    assert loop.oscillation == ""
    assert len(loop.warnings) == 1


@pytest.mark.slow
def test_arms_with_much_friction_come_to_rest(tmp_path):
    """Friction of 3 N m that is a fifth of it in truth, one arm at 100 Hz, 6 ms of delay."""
    urdf = resolve_package_uri("package://robot_dynamics/urdf/dual_arm.urdf").read_text("utf-8")
    urdf = re.sub('friction="[0-9.]*"', 'friction="3.0"', urdf)
    (tmp_path / "dual_arm.urdf").write_text(urdf, encoding="utf-8")
    lift_box = resolve_package_uri("package://robot_dynamics/config/scenarios/lift_box.yaml")
    text = lift_box.read_text("utf-8")
    text = text.replace("package://robot_dynamics/urdf/dual_arm.urdf", "dual_arm.urdf")
    (tmp_path / "hard.yaml").write_text(text, encoding="utf-8")
    run = simulate(
        tmp_path / "hard.yaml",
        overrides=[
            "reference.segments=[{duration_s: 1.0, move: [0, 0, 0.1]}]",
            *("control.object.bandwidth=15", "control.object.integral=5"),
            *("plant.command_delay_periods=3", "plant.friction_scale=0.2"),
            "plant.sensors.sample_periods.right=5",
        ],
        duration=9.0,
    )
    recording = run.recording
    times, speeds = recording["time"], np.abs(recording["joint_velocity"]).max(axis=1)
    assert speeds[(times > 4.0) & (times < 6.0)].max() > 0.1
    assert speeds[times > 8.5].max() < 0.02
    (warning,) = [one for one in run.report["warnings"] if "oscillate" in one]
    assert "arm 'right' that are new only" in warning
