# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Inertial parameters of an arm from measured torques: linear least squares, then physical ones.

The "measurement" is an arm whose links differ from the model's by some 15 to 30 %, with noise on
its torques. Base parameters, the combinations on which torques depend, are a linear problem. Ten
parameters for each link with positive masses are found in log-Cholesky coordinates, near the
model's parameters where torques do not determine them.

python examples/system_identification.py
"""

import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import least_squares

import robot_dynamics as rd
from robot_dynamics.dynamics.inertial_parameters import (
    from_log_cholesky,
    is_physical,
    log_cholesky,
)

NOISE = 0.05  # standard deviation of the torques [N m]


def motion(rng, n, samples=200):
    """Return q, qd, qdd (samples, n) of sums of sines, as excite parameters well."""
    t = np.linspace(0.0, 10.0, samples)[:, None, None]
    amplitude, phase = rng.uniform(0.1, 0.4, (n, 5)), rng.uniform(0.0, 6.28, (n, 5))
    w = 2.0 * np.pi * 0.2 * np.arange(1, 6)
    angle = w * t + phase
    q = np.sum(amplitude * np.sin(angle), axis=-1)
    qd = np.sum(amplitude * w * np.cos(angle), axis=-1)
    return q, qd, np.sum(-amplitude * w**2 * np.sin(angle), axis=-1)


def root_mean_square(error):
    return float(np.sqrt(np.mean(np.square(error))))


rng = np.random.default_rng(0)
robot = rd.load("package://robot_dynamics/urdf/arm.urdf")
modelled, n = robot.inertial_parameters, robot.model.nv
theta_0 = log_cholesky(modelled.reshape(-1, 10)).ravel()
true = from_log_cholesky((theta_0 + rng.uniform(-0.15, 0.15, theta_0.size)).reshape(-1, 10))
arm = robot.with_inertial_parameters(true.ravel())

at, check = motion(rng, n), motion(rng, n)
measured = (arm.inverse_dynamics(*at) + NOISE * rng.normal(size=at[0].shape)).ravel()
Y = robot.inverse_dynamics_regressor(*at).reshape(-1, modelled.size)

# Base parameters: linear least squares of full rank.
base = robot.base_parameters()
found, *_ = np.linalg.lstsq(Y[:, base.independent], measured, rcond=None)
print(f"{len(found)} of {modelled.size} parameters can be told from the torques")
error = Y[:, base.independent] @ found - measured
print(f"base parameters: torques to {root_mean_square(error):.3f} N m, noise {NOISE} N m")

# Physical parameters: the same torques, positive masses, else as near to the model as can be.
Q, R = np.linalg.qr(Y)
projected = Q.T @ measured


def residual(theta):
    parameters = from_log_cholesky(theta.reshape(-1, 10)).ravel()
    return np.concatenate([(R @ parameters - projected) / NOISE, (theta - theta_0) / 0.15])


solution = least_squares(residual, theta_0, method="lm", ftol=1e-4)
parameters = from_log_cholesky(solution.x.reshape(-1, 10))
identified = robot.with_inertial_parameters(parameters.ravel())
print(f"every link of positive mass: {bool(is_physical(parameters).all())}")
for name, one in (("model", robot), ("identified", identified)):
    error = one.inverse_dynamics(*check) - arm.inverse_dynamics(*check)
    print(f"torques of another motion, {name}: off by {root_mean_square(error):.3f} N m")

axes = Figure(figsize=(6.0, 3.4), layout="constrained").subplots()
time, joint = np.linspace(0.0, 10.0, 200), 1
for name, one in (("true", arm), ("model", robot), ("identified", identified)):
    style = "--" if name == "identified" else "-"
    axes.plot(time, one.inverse_dynamics(*check)[:, joint], style, label=name)
axes.set(xlabel="time [s]", ylabel=f"torque of {robot.model.joint_names[joint]} [N m]")
axes.legend()
axes.figure.savefig("system_identification.webp", dpi=80)
