# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A motion of an arm with the least torques, by SciPy and gradients of compiled dynamics.

The motion between two postures at rest is a spline of fifth degree; the unknowns are its control
points. The cost is the mean square of torques, relative to their limits. Its gradient by all
control points takes one product with the derivatives of inverse dynamics at all times.

python examples/trajectory_optimisation.py
"""

import numpy as np
from matplotlib.figure import Figure
from scipy.interpolate import BSpline
from scipy.optimize import check_grad, minimize

import robot_dynamics as rd

DURATION = 1.0  # [s]
POINTS, SAMPLES, DEGREE = 14, 60, 5  # control points, times of the cost, degree of the spline

robot = rd.load("package://robot_dynamics/urdf/arm.urdf")
n, limit = robot.model.nv, robot.model.limits()["effort"]
start = np.array([0.0, -0.6, 0.0, 1.2, 0.0, 0.8, 0.0])
goal = np.array([1.6, 0.5, -0.4, 1.0, 0.3, -0.4, 0.8])

# Positions, velocities and accelerations at all times are matrices times control points.
inner = np.linspace(0.0, DURATION, POINTS - DEGREE + 1)
knots = np.concatenate([[0.0] * DEGREE, inner, [DURATION] * DEGREE])
spline = BSpline(knots, np.eye(POINTS), DEGREE)
times = np.linspace(0.0, DURATION, SAMPLES)
B, Bd, Bdd = (spline.derivative(k)(times) if k else spline(times) for k in range(3))


def points_of(x):
    """Return all control points: three at each end keep it at rest there."""
    return np.vstack([[start] * 3, x.reshape(-1, n), [goal] * 3])


def cost(x):
    """Return the cost of free control points, and its gradient by them."""
    points = points_of(x)
    q, qd, qdd = B @ points, Bd @ points, Bdd @ points
    tau = robot.inverse_dynamics(q, qd, qdd) / limit
    by_q, by_qd, by_qdd = robot.inverse_dynamics_vjp(q, qd, qdd, 2.0 * tau / limit / tau.size)
    gradient = B.T @ by_q + Bd.T @ by_qd + Bdd.T @ by_qdd
    return np.mean(tau**2), gradient[3:-3].ravel()


s = np.linspace(0.0, 1.0, POINTS - 4)[1:-1, None]
straight = (start + s * (goal - start)).ravel()
wrong = check_grad(lambda x: cost(x)[0], lambda x: cost(x)[1], straight)
size = np.linalg.norm(cost(straight)[1])
print(f"gradient: {wrong / size:.0e} from that of differences, relatively")
found = minimize(cost, straight, jac=True, method="L-BFGS-B", options={"maxiter": 200})
before, after = np.sqrt(cost(straight)[0]), np.sqrt(found.fun)
print(f"mean torque: {100 * before:.1f} % of the limits before, {100 * after:.1f} % after")
q, qd = B @ points_of(found.x), Bd @ points_of(found.x)
print(
    f"it ends {np.abs(q[-1] - goal).max():.3f} rad from the goal, {np.abs(qd[-1]).max():.3f} rad/s"
)

pair = Figure(figsize=(6.0, 3.4), layout="constrained").subplots(1, 2, sharey=True)
for axes, x, title in zip(pair, (straight, found.x), ("before", "after"), strict=True):
    points = points_of(x)
    tau = robot.inverse_dynamics(B @ points, Bd @ points, Bdd @ points)
    axes.plot(times, 100.0 * tau / limit)
    axes.set(title=title, xlabel="time [s]")
pair[0].set_ylabel("torques, % of the limits")
pair[0].figure.savefig("trajectory_optimisation.webp", dpi=80)
