# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Efforts within bounds: against brute force, SLSQP and closed forms; conflicts by name."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from support import linkages
from support.actuated import HEIGHT, MASS, WIDTH, box_on_supports, frictional_grasp, motion
from support.closed_loops import twice
from support.mechanisms import two_arms

from robot_dynamics.dynamics.distribution import InfeasibleError, LeastSquaresGoal, distribute
from robot_dynamics.dynamics.force_bounds import ForceBounds
from robot_dynamics.dynamics.scaling import constraint_names
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.robot import Robot

WEIGHT = 9.81 * MASS


def bounds_of(rows, lower, upper):
    names = tuple(f"row {i}" for i in range(len(rows)))
    return ForceBounds(names, rows, lower, upper, np.ones(len(rows)))


def by_brute_force(x0, Z, rows, lower, upper):
    """Return the point x0 + Z y of least norm within bounds, from all sets of active ones."""
    best = None
    for active in product((0, -1, 1), repeat=len(rows)):
        at = np.array(active)
        held = np.flatnonzero(at)
        if len(held) > Z.shape[1]:
            continue
        A = rows[held] @ Z
        b = np.where(at[held] < 0, lower[held], upper[held]) - rows[held] @ x0
        y, *_ = np.linalg.lstsq(
            np.block([[Z.T @ Z, A.T], [A, np.zeros((len(held), len(held)))]]),
            np.concatenate([-Z.T @ x0, b]),
        )
        x = x0 + Z @ y[: Z.shape[1]]
        values = rows @ x
        if np.all(values >= lower - 1e-9) and np.all(values <= upper + 1e-9):
            size = x @ x
            best = x if best is None or size < best @ best else best
    return best


@pytest.mark.parametrize("seed", range(8))
def test_least_norm_within_bounds(seed):
    """The least norm is that found by trying every set of active bounds."""
    rng = np.random.default_rng(seed)
    x0, Z = 2.0 * rng.normal(size=5), rng.normal(size=(5, 3))
    rows = rng.normal(size=(4, 5))
    feasible = rows @ (x0 + Z @ rng.normal(size=3))
    lower, upper = feasible - rng.uniform(0.1, 1.0, 4), feasible + rng.uniform(0.1, 1.0, 4)
    bounds = bounds_of(rows, lower, upper)
    found = distribute("m", x0, Z, [LeastSquaresGoal(np.eye(5), np.zeros(5))], bounds, 1.0)
    assert_allclose(found, by_brute_force(x0, Z, rows, lower, upper), atol=1e-9)


def test_wishes_in_their_order(rng):
    """The second wish gets the rest of the first: nearest to it among all that meet the first."""
    Z = rng.normal(size=(5, 3))
    first = LeastSquaresGoal(np.eye(5)[:1], np.array([7.0]))
    second = LeastSquaresGoal(np.eye(5), np.ones(5))
    none = bounds_of(np.zeros((0, 5)), np.zeros(0), np.zeros(0))
    x = distribute("m", np.zeros(5), Z, [first, second], none, 1.0)
    assert_allclose(x[0], 7.0, atol=1e-12)
    # what is left of the second is orthogonal to all moves that keep the first
    keeps = Z @ np.linalg.svd(Z[:1])[2][1:].T
    assert_allclose(keeps.T @ (x - 1.0), 0.0, atol=1e-12)


def test_a_wish_out_of_reach_comes_as_near_as_bounds_allow(rng):
    """Bounded at 5, a wish for 7 gets 5, and the next wish is served within that."""
    Z = np.eye(3)
    goals = [
        LeastSquaresGoal(np.eye(3)[:1], np.array([7.0])),
        LeastSquaresGoal(np.eye(3), np.ones(3)),
    ]
    bounds = bounds_of(np.eye(3), -5.0 * np.ones(3), np.array([5.0, 0.5, 9.0]))
    x = distribute("m", np.zeros(3), Z, goals, bounds, 1.0)
    assert_allclose(x, [5.0, 0.5, 1.0], atol=1e-9)


def test_bounds_without_wishes_are_met():
    """Bounds hold although no wish decides."""
    bounds = bounds_of(np.eye(2), np.array([1.0, -9.0]), 9.0 * np.ones(2))
    x = distribute("m", np.zeros(2), np.eye(2), [], bounds, 1.0)
    assert x[0] >= 1.0 - 1e-9


@pytest.fixture(scope="module")
def squeezed():
    """Return two arms, a motion, and the efforts of least squares with their largest ones cut."""
    cell = two_arms()
    robot = Robot(cell.system.model)
    state = motion(robot, np.random.default_rng(1), cell.start)
    least = robot.closed_loop_inverse_dynamics(*state)
    cut = dict(zip(least.drives, 0.93 * np.max(np.abs(least.efforts)) * np.ones(14), strict=True))
    return robot, state, least, cut


def test_c13_bounded_efforts_of_two_arms(squeezed):
    """Row C13: within torque limits the motion is the same and the effort that of SLSQP, or less.

    SLSQP works on all 14 efforts under the equations G_u^T u = G^T tau_ID; ours on six.
    """
    robot, (q, qd, qdd), least, cut = squeezed
    found = robot.closed_loop_inverse_dynamics(q, qd, qdd, limits=cut)
    limit = next(iter(cut.values()))
    assert np.max(np.abs(least.efforts)) > limit
    assert np.max(np.abs(found.efforts)) <= limit * (1 + 1e-9)
    assert len(found.held) == 4
    assert all(name.startswith("the effort of") for name in found.held)
    assert_allclose(
        robot.forward_dynamics(q, qd, found.tau), qdd, atol=1e-10 * np.max(np.abs(qdd))
    )
    A = robot.independent_form(q, qd).G.T[:, robot.model.active]
    b = robot.independent_form(q, qd).G.T @ robot.inverse_dynamics(q, qd, qdd)
    Q, R = np.linalg.qr(A.T)  # the same equations, well conditioned
    other = minimize(
        lambda u: 0.5 * np.sum((u / limit) ** 2), least.efforts, jac=lambda u: u / limit**2,
        method="SLSQP", bounds=[(-limit, limit)] * 14, options={"ftol": 1e-14, "maxiter": 500},
        constraints={
            "type": "eq", "fun": lambda u: (Q.T @ u - np.linalg.solve(R.T, b)) / limit,
            "jac": lambda u: Q.T / limit,
        },
    )  # fmt: skip
    assert other.success
    # SLSQP ends near the optimum: efforts to a millionth, the sum of squares to twice the digits.
    assert_allclose(found.efforts, other.x, atol=1e-5 * limit)
    assert np.sum(found.efforts**2) <= np.sum(other.x**2) * (1 + 1e-9)
    # KKT: the gradient, without limits that hold, is orthogonal to the null space
    free = np.abs(found.efforts) < limit * (1 - 1e-8)
    pull = found.null_space.T @ found.efforts
    held = found.null_space[~free] * np.sign(found.efforts[~free])[:, None]
    multipliers = np.linalg.lstsq(-held.T, pull)[0]
    assert np.all(multipliers > 0.0)
    assert_allclose(-held.T @ multipliers, pull, atol=1e-9 * limit)


def test_c13_bounds_that_cannot_be_met(squeezed):
    """Row C13: the drives in the way are named, with their excess; relaxed by it, it works."""
    robot, state, least, _ = squeezed
    strong = float(np.max(np.abs(least.efforts)))
    limits = dict.fromkeys(least.drives, 0.05 * strong)
    with pytest.raises(InfeasibleError, match=r"the effort of 'arm\d_joint\d' by") as error:
        robot.closed_loop_inverse_dynamics(*state, limits=limits)
    excess = {name.split("'")[1]: more for name, more in error.value.excess.items()}
    assert set(excess) <= set(least.drives)
    relaxed = {
        name: limit + excess.get(name, 0.0) * (1 + 1e-6) + 1e-6 for name, limit in limits.items()
    }
    found = robot.closed_loop_inverse_dynamics(*state, limits=relaxed)
    assert np.all(np.abs(found.efforts) <= [relaxed[n] * (1 + 1e-9) for n in found.drives])


def test_c13_a_fully_actuated_mechanism_beyond_its_limit():
    """Row C13: where there is no choice the one drive is named, with the exact excess."""
    robot = Robot.from_mechanism(linkages.four_bar())
    state = motion(robot, np.random.default_rng(3))
    need = abs(robot.closed_loop_inverse_dynamics(*state).efforts[0])
    with pytest.raises(InfeasibleError, match="'crank_joint'") as error:
        robot.closed_loop_inverse_dynamics(*state, limits={"crank_joint": 0.25 * need})
    assert_allclose(list(error.value.excess.values()), 0.75 * need, rtol=1e-9)


def acceleration_along_x(a):
    """Return a state of the box on its supports that slides with an acceleration along x."""
    return np.zeros(3), np.zeros(3), np.array([0.0, a, 0.0])


def test_c13_supports_carry_what_they_can():
    """Row C13: sliding gently, the supports carry the box and the drives push sideways alone."""
    robot = box_on_supports()
    found = robot.closed_loop_inverse_dynamics(*acceleration_along_x(1.0), drives=["slide"])
    assert (found.actuation, found.mobility) == ("redundantly", 1)
    assert_allclose(found.efforts, [0.0, MASS * 1.0, 0.0], atol=1e-9)
    assert_allclose(found.multipliers, [WEIGHT / 2.0] * 2, rtol=1e-12)
    assert found.held == ()


def test_c13_a_support_does_not_pull():
    """Row C13: a wish that would have a support pull leaves it at zero; closed form of the rest.

    With the left support at zero the right one carries R, the drives lift by W - R and turn by
    -R w / 2. Least squares of forces, and torques at a length l: R = W / (1 + (w / 2 l)^2).
    """
    robot = box_on_supports()
    state = acceleration_along_x(0.0)
    wanted = {"left.z": -20.0}
    pulled = robot.closed_loop_inverse_dynamics(*state, prefer=wanted, push_only=False)
    assert_allclose(pulled.multipliers[0], -20.0, rtol=1e-12)
    pushed = robot.closed_loop_inverse_dynamics(*state, prefer=wanted)
    assert pushed.held == ("the push of 'left.z'",)
    right = WEIGHT / (1.0 + (WIDTH / 2.0 / pushed.length) ** 2)
    # The solver meets bounds to 1e-10 of the forces, and digits go with it.
    assert_allclose(pushed.multipliers, [0.0, right], atol=1e-8)
    assert_allclose(pushed.efforts, [-right * WIDTH / 2.0, 0.0, WEIGHT - right], atol=1e-8)


def test_c13_a_box_tips_at_its_closed_form_acceleration():
    """Row C13: friction at the feet of a box that accelerates tips it where a h > g w / 2.

    Drives stand for the friction: they push by m a at the centre and turn by -m a h. The supports
    bear W / 2 -+ m a h / w; where one of them would have to pull, it is named.
    """
    robot = box_on_supports()
    edge = 9.81 * WIDTH / 2.0 / HEIGHT
    for part, tips in ((0.99, False), (1.01, True)):
        a = part * edge
        moment = -MASS * a * HEIGHT
        limits = {"slide.rz": (moment, moment), "slide.y": 0.0}
        if tips:
            with pytest.raises(InfeasibleError, match=r"the push of '(left|right)\.z'"):
                robot.closed_loop_inverse_dynamics(*acceleration_along_x(a), limits=limits)
            continue
        found = robot.closed_loop_inverse_dynamics(*acceleration_along_x(a), limits=limits)
        shift = MASS * a * HEIGHT / WIDTH
        assert_allclose(sorted(found.multipliers), [WEIGHT / 2 - shift, WEIGHT / 2 + shift])


def test_c13_forces_in_friction_cones_cost_more_effort():
    """Row C13: two arms hold an object by friction; inside the cones it costs more effort.

    Without bounds the pushes are too small for the load that friction has to carry.
    """
    robot, (q, qd, qdd) = frictional_grasp()
    names = ("grasp0", "grasp1")
    at = [[constraint_names(robot.model).index(f"{n}.{d}") for d in "xyz"] for n in names]
    least = robot.gravity_compensation(q)
    held = robot.gravity_compensation(q, friction=dict.fromkeys(names, 0.4))
    for found, within in ((least, False), (held, True)):
        forces = found.multipliers[at]
        assert np.all(forces[:, 2] >= -1e-8)
        sideways = np.linalg.norm(forces[:, :2], axis=1)
        assert bool(np.all(sideways <= 0.4 * forces[:, 2] + 1e-8)) == within
    assert held.held
    assert set(held.held) <= {f"the friction of {n!r}" for n in names}
    assert_allclose(robot.forward_dynamics(q, qd, held.tau), qdd, atol=1e-10)
    cost = [np.sum((f.efforts / f.scales) ** 2) for f in (least, held)]
    assert cost[1] > cost[0]
    # A wanted squeeze that is more than friction needs is met, and then no cone holds.
    squeezed = robot.gravity_compensation(
        q, friction=dict.fromkeys(names, 0.4), prefer={"grasp0.z": 200.0}
    )
    assert_allclose(squeezed.multipliers[at[0][2]], 200.0, rtol=1e-9)


def test_c13_bounds_on_forces_nobody_determines(rng):
    """Row C13: of two joints in one place one may carry a newton at most: the other bears more."""
    robot = Robot.from_mechanism(twice(linkages.stewart_platform()))
    state = motion(robot, rng)
    free = robot.closed_loop_inverse_dynamics(*state)
    row = int(np.argmax(np.abs(free.multipliers[:3])))
    assert abs(free.multipliers[row]) > 1.0
    name = constraint_names(robot.model)[row]
    found = robot.closed_loop_inverse_dynamics(*state, forces={name: 1.0})
    assert_allclose(found.efforts, free.efforts, atol=1e-8 * np.max(np.abs(free.efforts)))
    assert_allclose(abs(found.multipliers[row]), 1.0, atol=1e-8)
    assert found.residual < 1e-8


def test_c13_a_force_that_no_drive_can_load(rng):
    """Row C13: two points can be squeezed along their line alone; other wishes change nothing.

    Effects of drives on forces across that line are rounding errors, and not taken for a handle.
    """
    robot, (start, _, _) = frictional_grasp()
    state = motion(robot, rng, start)
    least = robot.closed_loop_inverse_dynamics(*state, push_only=False)
    asked = robot.closed_loop_inverse_dynamics(*state, push_only=False, prefer={"grasp0.x": 50.0})
    scale = np.max(np.abs(least.efforts))
    assert_allclose(asked.efforts, least.efforts, atol=1e-6 * scale)
    squeezed = robot.closed_loop_inverse_dynamics(*state, prefer={"grasp0.z": 300.0})
    row = constraint_names(robot.model).index("grasp0.z")
    assert_allclose(squeezed.multipliers[row], 300.0, rtol=1e-9)


def test_a_solver_that_fails_where_it_cannot(monkeypatch):
    """Slacks meet any bounds: if no least excess is found it is the solver's failure."""
    monkeypatch.setattr("robot_dynamics.dynamics.distribution.nearest_within", lambda *_: None)
    bounds = bounds_of(np.eye(1), np.ones(1), np.ones(1))
    with pytest.raises(RobotDynamicsError, match="least excess"):
        distribute("m", np.zeros(1), np.eye(1), [], bounds, 1.0)
