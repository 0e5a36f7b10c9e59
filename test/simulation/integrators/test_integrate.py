# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Motion of linkages by every method: energy, closure, order, and refusals."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from support import linkages
from support.mechanisms import random_tree
from support.motions import (
    Motion,
    rolling_body,
    skew_four_bar,
    swinging_platform,
    swinging_rockers,
    turning_bricard,
    turning_four_bar,
    turning_slider_crank,
)

from robot_dynamics.errors import ArgumentError, UnknownNameError
from robot_dynamics.model import build
from robot_dynamics.robot import Robot
from robot_dynamics.simulation.integrators import (
    METHODS,
    IntegrationError,
    IntegrationInterrupted,
    integrate,
)

RECOMMENDED = [turning_four_bar, turning_slider_crank, swinging_platform]


@pytest.mark.parametrize("start", RECOMMENDED)
def test_energy_and_closure(start):
    """Over 5 s of steps of 1 ms energy keeps to 1e-10 of the kinetic energy, loops to 1e-12 m."""
    run = integrate(*start(), 5.0, outputs=500)
    assert run.effort.steps == 5000
    assert run.energy_drift < 1e-10
    assert run.worst_closure_error < 1e-12
    assert np.max(run.velocity_error) < 1e-10
    assert np.ptp(run.kinetic) > 0.1 * np.max(run.kinetic)  # energy is exchanged


@pytest.mark.slow
@pytest.mark.parametrize("start", RECOMMENDED)
def test_a_million_steps(start):
    """Over 10^6 steps of 1 ms energy keeps to 1e-6 of the largest kinetic energy, and loops to
    1e-10 m throughout, with the method and order that are the default; cranks turn about twice a
    second all the time.
    """
    motion = start()
    run = integrate(*motion, 1000.0, outputs=20_000)
    assert run.effort.steps == 1_000_000
    assert run.energy_drift < 1e-6
    assert run.worst_closure_error < 1e-10
    if start is not swinging_platform:
        turns = (run.q[-1, 0] - run.q[0, 0]) / (2.0 * np.pi)
        assert abs(turns / 1000.0 - 2.0) < 0.2


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "start",
    [turning_four_bar, skew_four_bar, swinging_platform, swinging_rockers, turning_bricard],
)
def test_methods_agree(start, method):
    """Every method gives the same motion, with redundant constraints and without (C4, C12)."""
    motion = start()
    expected = integrate(*motion, 1.0, outputs=5)
    run = integrate(*motion, 1.0, outputs=5, method=method, step=5e-4)
    # Errors of 1e-10 a step grow over some revolutions at 10 to 20 rad/s.
    assert_allclose(run.q, expected.q, atol=1e-7)
    assert_allclose(run.qd, expected.qd, atol=1e-6 * np.max(np.abs(expected.qd)))
    assert run.worst_closure_error < 1e-9
    assert run.energy_drift < 1e-7


@pytest.mark.parametrize("method", METHODS)
def test_constraints_on_velocities_alone(method):
    """A body rolls on a soft finger: it never spins about the normal, which no position forbids,
    and energy stays.
    """
    motion = rolling_body()
    assert not motion.robot.model.holonomic.all()
    run = integrate(*motion, 2.0, outputs=20, method=method)
    assert np.max(run.velocity_error) < 1e-13
    assert run.energy_drift < 1e-8
    assert_allclose(run.q, integrate(*motion, 2.0, outputs=20, step=5e-4).q, atol=1e-8)


def test_one_turn_takes_the_time_of_the_quadrature():
    """A slider-crank turns once in the integral of sqrt(M / (2 (E - V))) over the crank's angle,
    with kinematics written down by hand.
    """
    motion = turning_slider_crank()

    def parts(angle):
        """Return M(angle) and V(angle) from derivatives by complex steps."""
        z = angle + 1e-30j
        rod = np.arcsin(-0.3 * np.sin(z))  # of the rod against the slider's axis
        joint = 0.3 * np.array([np.cos(z), np.sin(z)])
        com = [
            0.1 * np.array([np.cos(z), np.sin(z)]),
            joint + 0.1 * np.array([np.cos(rod), np.sin(rod)]),
            np.array([0.3 * np.cos(z) + np.cos(rod) + 0.1, 0.0]),
        ]
        slopes = [np.imag(point) / 1e-30 for point in com]
        M = sum(slope @ slope for slope in slopes) + 0.04 * (1.0 + (np.imag(rod) / 1e-30) ** 2)
        return M, 9.81 * sum(float(np.real(point[1])) for point in com)

    angle, speed = motion.q[0], motion.qd[0]
    M, V = parts(angle)
    energy = 0.5 * M * speed**2 + V

    def slowness(at):
        M, V = parts(at)
        return np.sqrt(M / (2.0 * (energy - V)))

    period = quad(slowness, angle, angle + 2.0 * np.pi, epsabs=1e-13, epsrel=1e-13)[0]
    for method in METHODS:
        end = integrate(*motion, period, outputs=1, method=method, tolerance=1e-12)
        assert_allclose(end.q[-1, 0] - angle, 2.0 * np.pi, atol=1e-9)
        assert_allclose(end.qd[-1], motion.qd, atol=1e-8)


@pytest.mark.parametrize(
    ("method", "order", "step"),
    [("projection", 4, 0.004), ("projection", 5, 0.004), ("projection", 8, 0.016),
     ("independent", 4, 0.004)],
)  # fmt: skip
def test_correction_falls_with_the_order(method, order, step):
    """Correction and prediction gap fall with the power order + 1 of the step."""
    motion = turning_four_bar()
    corrections = [
        integrate(*motion, 0.48, outputs=1, order=order, step=h, method=method).effort.correction
        for h in (step, step / 2, step / 4)
    ]
    powers = np.log2(np.array(corrections[:-1]) / corrections[1:])
    # The largest over a turn: its place moves, and the next power is felt.
    assert_allclose(powers, order + 1, atol=0.6)


@pytest.mark.parametrize("order", [4, 5, 8])
@pytest.mark.parametrize("method", ["projection", "independent", "stabilised"])
def test_error_falls_with_the_order(method, order):
    """The state's error falls with the order of the scheme, whatever closes the loops."""
    motion = turning_four_bar()
    exact = integrate(*motion, 0.48, outputs=1, step=5e-4).q[-1]
    step = 0.008 if order == 8 else 0.004
    errors = [
        np.max(np.abs(
            integrate(*motion, 0.48, outputs=1, order=order, step=h, method=method).q[-1] - exact
        ))
        for h in (step, step / 2)
    ]  # fmt: skip
    assert np.log2(errors[0] / errors[1]) > order - 0.5


@pytest.mark.parametrize("order", [5, 8])
def test_adaptive_keeps_its_tolerance(order):
    """Correction, error and energy drift fall with the tolerance, and steps become more."""
    motion = turning_four_bar()
    exact = integrate(*motion, 1.0, outputs=1, step=5e-4).q[-1]
    runs = [
        integrate(*motion, 1.0, outputs=1, method="adaptive", order=order, tolerance=tolerance)
        for tolerance in (1e-5, 1e-7, 1e-9)
    ]
    for coarse, fine in itertools.pairwise(runs):
        # A hundredth of the tolerance; a third of it is left to how steps happen to fall.
        assert fine.effort.correction < coarse.effort.correction / 30
        assert fine.energy_drift < coarse.energy_drift / 30
        assert np.max(np.abs(fine.q[-1] - exact)) < np.max(np.abs(coarse.q[-1] - exact)) / 30
        assert fine.effort.steps > coarse.effort.steps
    assert runs[-1].effort.correction < 1e-9


def test_adaptive_outputs_are_closed_and_accurate():
    """States between steps are closed as well, and as good as those at the ends of steps."""
    motion = turning_four_bar()
    options = {"method": "adaptive", "tolerance": 1e-9}
    run = integrate(*motion, 0.5, outputs=200, **options)
    assert run.effort.steps < 100
    assert_allclose(run.q, integrate(*motion, 0.5, outputs=200).q, atol=1e-6)
    assert run.worst_closure_error < 1e-12


def test_adaptive_shortens_steps_at_spikes():
    """A blow of 2 ms is met with many rejected and short steps, a hundred times less before."""
    motion = turning_four_bar()

    def blow(time, q, qd):
        return np.array([-3e3 * np.exp(-0.5 * ((time - 0.25) / 5e-4) ** 2), 0.0, 0.0])

    run = integrate(*motion, 0.5, tau=blow, method="adaptive", tolerance=1e-9, outputs=50)
    exact = integrate(*motion, 0.5, tau=blow, step=5e-5, outputs=50)
    assert run.effort.rejected > 5
    assert_allclose(run.q, exact.q, atol=1e-6)
    assert abs(run.kinetic[-1] - run.kinetic[0]) > 0.1 * run.kinetic[0]


@pytest.mark.parametrize("method", METHODS)
def test_forces_as_a_function(method):
    """A function of the state is asked at every stage: the order is kept. A constant function
    gives the motion of the constant.
    """
    motion = turning_four_bar()
    tau = np.array([1.0, -0.5, 0.3])
    constant = integrate(*motion, 0.1, tau=tau, outputs=2, method=method)
    function = integrate(*motion, 0.1, tau=lambda t, q, qd: tau, outputs=2, method=method)
    assert_allclose(function.q, constant.q, atol=1e-12)

    def damped(t, q, qd):
        return np.array([np.sin(20.0 * t) - 0.3 * qd[0], 0.0, -0.1 * q[2]])

    ends = [
        integrate(*motion, 0.1, tau=damped, outputs=1, method=method, step=h, tolerance=1e-12).q[
            -1
        ]
        for h in (0.005, 0.0025)
    ]
    # At eighth order the two differ by less than a force held over 5 ms would make 1e7 times.
    assert_allclose(ends[0], ends[1], atol=1e-9)


def test_coordinates_are_chosen_again():
    """A four-bar none of whose links turns round: each coordinate fails now and then."""
    motion = swinging_rockers()
    run = integrate(*motion, 5.0, method="independent")
    assert run.effort.choices > 3
    assert run.effort.correction < 1e-12
    assert run.energy_drift < 1e-11


def test_stabilisation_closes_an_open_start():
    """An opening decays as (1 + t/T) exp(-t/T), the solution of Baumgarte's equation (C3)."""
    robot, q, _ = turning_four_bar()
    robot = robot.replace(gravity=(0.0, 0.0, 0.0))
    gap = np.array([0.0, 1e-5, 0.0])
    run = integrate(
        robot, q + gap, np.zeros(3), 0.5, method="stabilised", stabilisation_time=0.05, outputs=10
    )
    expected = run.closure_error[0] * (1.0 + run.t / 0.05) * np.exp(-run.t / 0.05)
    # The equation is linear in the opening; its square is left.
    assert_allclose(run.closure_error, expected, atol=1e-3 * run.closure_error[0])


def test_trees_are_integrated_as_well():
    """A chain without loops keeps its energy; nothing is corrected."""
    rng = np.random.default_rng(1)
    chain = random_tree(rng, ["revolute", "spherical", "prismatic"], chain=True)
    robot = Robot(build(chain, gravity=(0.0, 0.0, 0.0)))
    qd = rng.normal(size=5)
    for method in METHODS:
        run = integrate(robot, robot.model.neutral(), qd, 0.5, outputs=10, method=method)
        assert run.energy_drift < 1e-8
        assert run.worst_closure_error == run.effort.correction == 0.0


@pytest.mark.parametrize("method", ["projection", "stabilised", "independent"])
def test_steps_that_are_too_long_are_refused(method):
    """The message names the time, and the earlier rows can be had: all of it closed."""
    motion = turning_four_bar()
    with pytest.raises(IntegrationError, match=r"ended at .* s: .*a shorter step") as error:
        integrate(*motion, 5.0, outputs=50, order=4, step=0.1, method=method)
    assert 0.0 <= error.value.time < 5.0
    before = error.value.trajectory
    assert before.t[-1] <= error.value.time + 1e-9
    assert np.isfinite(before.q).all()


@pytest.mark.parametrize("method", METHODS)
def test_unbounded_motion_is_refused(method):
    """A force that grows with the speed ends the integration at a time, never in NaN."""
    motion = turning_four_bar()

    def runaway(t, q, qd):
        return np.array([5.0 * qd[0] ** 3, 0.0, 0.0])

    with pytest.raises(IntegrationError, match="ended at") as error:
        integrate(*motion, 1.0, tau=runaway, outputs=1000, method=method)
    assert np.isfinite(error.value.trajectory.qd).all()
    assert 0.0 <= error.value.time < 1.0


def falling_arm():
    """Return an arm without loops at rest."""
    b = linkages.Builder("arm")
    b.add("upper", "base", axis=linkages.Y)
    b.add("lower", "upper", at=(0.3, 0, 0), axis=linkages.Y)
    return Motion(Robot.from_mechanism(b.done()), np.zeros(2), np.zeros(2))


@pytest.mark.parametrize("method", ["projection", "adaptive"])
@pytest.mark.parametrize("start", [turning_four_bar, falling_arm])
def test_forces_that_are_no_numbers(start, method):
    """A controller that returns nan ends the integration with the time and its name."""
    robot, q, qd = start()
    nan = np.full(robot.model.nv, np.nan)
    with pytest.raises(IntegrationError, match=r"tau returned \[nan") as error:
        integrate(
            robot,
            q,
            qd,
            0.5,
            method=method,
            tau=lambda t, q, qd: nan if t > 0.3 else np.zeros(len(nan)),
        )
    assert 0.3 < error.value.time < 0.5


def test_jumps_of_the_energy_are_told():
    """A step that is too long shows in the energy, and the result says so."""
    motion = turning_four_bar()
    fine = integrate(*motion, 1.0, outputs=20)
    assert not fine.warnings
    coarse = integrate(*motion, 1.0, outputs=20, order=4, step=0.02)
    assert coarse.energy_drift > 1e-4
    (words,) = coarse.warnings
    assert "take a shorter step" in words
    assert words in str(coarse)
    # Energy that forces put in is none.
    pushed = integrate(*motion, 0.2, outputs=20, tau=np.array([5.0, 0.0, 0.0]))
    assert not pushed.warnings


def test_interruption_keeps_what_was_computed():
    """Ctrl-C ends as a KeyboardInterrupt that carries the outputs until then."""

    def stop(time, duration):
        assert duration == 1.0
        if time > 0.45:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as error:
        integrate(*turning_four_bar(), 1.0, outputs=10, progress=stop)
    assert isinstance(error.value, IntegrationInterrupted)
    assert_allclose(error.value.trajectory.t, np.linspace(0.0, 0.5, 6))
    assert str(error.value) == "integration stopped at 0.5 s of the motion"


def test_progress_is_told():
    """After every output, with the time reached."""
    told = []
    integrate(*turning_four_bar(), 0.1, outputs=4, progress=lambda *at: told.append(at))
    assert_allclose(told, [(0.025, 0.1), (0.05, 0.1), (0.075, 0.1), (0.1, 0.1)])


def test_outputs_are_a_whole_number_of_steps_apart():
    """The step is the longest one: intervals are divided evenly."""
    run = integrate(*turning_four_bar(), 0.1, outputs=3, step=0.01)
    assert run.effort.steps == 12
    assert_allclose(run.t, np.linspace(0.0, 0.1, 4))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"q": np.zeros(2)}, "q has shape"),
        ({"qd": [np.nan, 0.0, 0.0]}, "qd has entries that are not finite"),
        ({"duration": -1.0}, "duration"),
        ({"step": 0.0}, "step"),
        ({"tolerance": np.nan}, "tolerance"),
        ({"order": 6}, "order 6"),
        ({"order": 4, "method": "adaptive"}, "no error control of order 4"),
        ({"tau": [1.0]}, "tau has shape"),
        ({"tau": lambda t, q, qd: [1.0]}, "tau returned the shape"),
        ({"qd": [1.0, 0.0, 0.0]}, "Robot.assemble"),
        ({"q": [0.0, 0.0, 0.0]}, "Robot.assemble"),
    ],
)
def test_wrong_arguments(changes, message):
    """Each is named, with the expected value."""
    motion = turning_four_bar()
    arguments = {**dict(zip(Motion._fields, motion, strict=True)), "duration": 0.1, **changes}
    with pytest.raises(ArgumentError, match=message):
        integrate(**arguments)


def test_unknown_method():
    """The message proposes the name that was meant."""
    with pytest.raises(UnknownNameError, match="did you mean 'projection'"):
        integrate(*turning_four_bar(), 0.1, method="projektion")


@pytest.mark.parametrize("branch", [(12.0, -12.0, 12.0), (12.0, -240.0 / 17.0, 144.0 / 17.0)])
@pytest.mark.parametrize("method", ["independent", "adaptive", "stabilised"])
def test_a_start_on_a_singular_configuration_is_refused(method, branch):
    """Flat, a parallelogram could go on as such or fold over: methods that cannot pass through
    say so at the start and name those that can, with velocities of an existing motion or of none.
    """
    robot = Robot.from_mechanism(linkages.four_bar("revolute", (0.3, 0.8, 0.3), 0.8))
    with pytest.raises(
        IntegrationError, match=r'at 0 s: the start is a singular .* "projection"'
    ) as e:
        integrate(robot, [0.0, 0.0, np.pi], branch, 1.0, method=method)
    assert e.value.time == 0.0
    assert len(e.value.trajectory.t) == 1


def test_projection_starts_on_a_singular_configuration_with_a_motion_that_exists():
    """Flat, the first step is of lower order; with velocities that no branch has it says so."""
    robot = Robot.from_mechanism(linkages.four_bar("revolute", (0.3, 0.8, 0.3), 0.8),
                                 gravity=(0.0, -9.81, 0.0))  # fmt: skip
    run = integrate(robot, [0.0, 0.0, np.pi], [12.0, -12.0, 12.0], 1.0)
    assert run.energy_drift < 1e-5
    with pytest.raises(IntegrationError, match="one of the motions that meet there"):
        integrate(robot, [0.0, 0.0, np.pi], [12.0, -240.0 / 17.0, 144.0 / 17.0], 1.0)


def test_the_example_of_the_documentation_runs(capsys):
    """The first listing of docs/integration.md runs as it stands, and takes the steps it says."""
    text = (Path(__file__).parents[3] / "docs" / "integration.md").read_text(encoding="utf-8")
    code, printed = text.split("```python\n")[1].split("\n```\n\n```\n")[:2]
    exec(code, {})
    # The other figures are rounding.
    assert capsys.readouterr().out.split(";")[0] == printed.split(";")[0]
