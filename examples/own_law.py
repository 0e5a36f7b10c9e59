# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A user-defined control law: two arms without an object sway at their first joints.

A law computes the torques and checks the start by itself, where a controller
(`own_controller.py`) relies on a shipped law for both. It has four methods and two attributes, and
runs behind the same safety layer as the shipped laws.
"""

import numpy as np
from matplotlib.figure import Figure

import robot_dynamics as rd

SWAY, FREQUENCY = 0.3, np.pi  # [rad], [rad/s]
BANDWIDTH = 30.0  # of the joint servo [rad/s]


class Sway(rd.ControlLaw):
    """Inverse dynamics with a servo: a sinusoidal motion of the first joint of each arm."""

    def __init__(self, scenario, system):
        self.system, self.reference = system, scenario.plan()
        self.start_settings, self.period = scenario.control.start, scenario.control.period
        self.row = self.reference.rows([0.0])[0]
        self.arms = rd.Robot(system.arms_alone)
        self.order = [self.arms.model.joint_index(name) for name in system.joint_names]
        self.first = [own.start for own in system.arm_slices]

    def check_start(self, q, qd):
        if np.abs(qd).max() > self.start_settings.velocity_tolerance:
            raise rd.RobotDynamicsError("start refused: a joint moves; expected arms at rest.")

    def start(self, q, qd, last=None):
        self.q, still = np.array(q), np.zeros(len(q))
        return self.step(q, still, still)

    def update(self, tick, q, qd, wrenches=None):
        time = max(tick * self.period - self.start_settings.ramp_s, 0.0)
        sway, rate, acceleration = np.zeros((3, len(q)))
        sway[self.first] = SWAY * (1.0 - np.cos(FREQUENCY * time))
        rate[self.first] = SWAY * FREQUENCY * np.sin(FREQUENCY * time)
        acceleration[self.first] = SWAY * FREQUENCY**2 * np.cos(FREQUENCY * time) * (time > 0.0)
        error, slip = self.q + sway - q, rate - qd
        return self.step(q, qd, acceleration + BANDWIDTH**2 * error + 2.0 * BANDWIDTH * slip)

    def hold_support(self, q):
        return self.torque(q, np.zeros(len(q)), np.zeros(len(q)))

    def step(self, q, qd, qdd):
        """Return the step that accelerates the joints by `qdd`."""
        return rd.LawStep(self.torque(q, qd, qdd), self.hold_support(q), self.row, self.row[:7])

    def torque(self, *vectors):
        """Return inverse dynamics of the arms, whose model has another order of joints."""
        own = np.zeros((3, len(self.order)))
        own[:, self.order] = vectors
        return self.arms.inverse_dynamics(*own)[self.order]


run = rd.simulate("gravity", law=Sway, overrides=["acceptance={}"], duration=2.3)
q = run.recording["joint_position"]
left = q[:, 0] - q[0, 0]
print(f"the left arm swayed by {left.max():.2f} rad; {run.report['failures'] or 'no failures'}")

axes = Figure(figsize=(6.0, 3.4), layout="constrained").subplots()
axes.plot(run.recording["time"], left, label="first joint of the left arm")
axes.set(xlabel="time [s]", ylabel="from the start [rad]")
axes.legend()
axes.figure.savefig("own_law.webp", dpi=80)
