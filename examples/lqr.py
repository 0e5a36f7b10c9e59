# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A linear-quadratic regulator (LQR) of two arms without an object, as a user's controller.

The dynamics are linearised exactly at a target 0.01 rad from the start in each joint, and the
algebraic Riccati equation gives the gains that bring the arms there.

python examples/lqr.py
"""

import numpy as np
from scipy.linalg import expm, solve_continuous_are

import robot_dynamics as rd


class LQR(rd.Controller):
    """tau = tau_0 - K (x - x_d) with x = (q, qd), for the cost of errors and accelerations.

    Args:
        error: Error of a joint that counts as 1 [rad].
        speed: Speed of a joint that counts as 1 [rad/s].
        acceleration: Acceleration of a joint by torques alone that counts as 1 [rad/s^2].
        step: Distance from the start to the target, the same for each joint [rad].
    """

    def __init__(self, error=0.02, speed=0.5, acceleration=5.0, step=0.01):
        self.error, self.speed, self.acceleration = error, speed, acceleration
        self.step = step

    def start(self, seen):
        n = len(seen.q)
        self.target = seen.q + self.step
        self.linearise()
        Q = np.diag([self.error**-2] * n + [self.speed**-2] * n)
        R = self.B.T @ self.B / self.acceleration**2
        P = solve_continuous_are(self.A, self.B, Q, R)
        self.K = np.linalg.solve(R, self.B.T @ P)

    def torque(self, seen):
        return self.tau_0 - self.K @ np.concatenate([seen.q - self.target, seen.qd])

    def linearise(self):
        """Set tau_0 (n,), and A and B of d/dt x = A x + B (tau - tau_0), at rest at the target."""
        arms, joints = self.task.arms, self.task.joints
        at, still = np.zeros(arms.model.nv), np.zeros(arms.model.nv)
        at[joints] = self.target
        weight = arms.inverse_dynamics(at, still, still)
        system = arms.linearize(at, still, weight)
        rows = np.concatenate([joints, len(at) + joints])
        self.tau_0 = weight[joints]
        self.A, self.B = system.A[np.ix_(rows, rows)], system.B[np.ix_(rows, joints)]


if __name__ == "__main__":
    controller = LQR()
    # Without friction, ramp, delay and limit of the torque's rate, as the linear model has it.
    ideal = ["plant.friction_scale=0", "plant.damping_scale=0", "control.start.ramp_s=0"]
    ideal += ["plant.command_delay_periods=0", "safety.torque_rate=.inf"]
    run = rd.simulate("gravity", controller=controller, overrides=[*ideal, "acceptance={}"])
    print(*run.report["failures"], sep="\n")

    q, time = run.recording["joint_position"], run.recording["time"]
    closed = controller.A - controller.B @ controller.K
    poles = np.linalg.eigvals(closed)
    print(f"closed-loop poles: real parts {poles.real.min():.1f} to {poles.real.max():.1f} 1/s")
    start = np.concatenate([q[0] - controller.target, np.zeros(q.shape[1])])
    late = np.searchsorted(time, 0.2)
    linear = expm(closed * time[late]) @ start
    error = (q[late] - controller.target - linear[: q.shape[1]]) / controller.step
    print(f"after 0.2 s: {100 * np.abs(error).max():.1f} % of the step from the linear model")
    print(f"at the end: {1e3 * np.abs(q[-1] - controller.target).max():.3f} mrad from the target")

    from matplotlib.figure import Figure

    axes = Figure(figsize=(6.0, 3.4), layout="constrained").subplots()
    rows = time < 0.6
    axes.plot(time[rows], 1e3 * (q[rows] - controller.target))
    axes.set(xlabel="time [s]", ylabel="14 joints from the target [mrad]")
    axes.figure.savefig("lqr.webp", dpi=80)
