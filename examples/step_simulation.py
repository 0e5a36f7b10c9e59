# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Step a simulation with torques of a joint servo, push the box, and go back in time.

python examples/step_simulation.py
"""

import numpy as np
from matplotlib.figure import Figure

import robot_dynamics as rd

STIFFNESS, DAMPING = 4000.0, 100.0  # of the joint servo [N m/rad], [N m s/rad]
PUSH = 100.0  # along x [N]

sim = rd.Simulation("lift_box")  # or plant="mujoco", or your scenario file
arms = sim.arms  # a Robot: the arms without the box
at = [arms.model.joint_index(name) for name in sim.joint_names]


def hold(seen, start):
    """A joint servo with gravity compensation of the arms: the box makes them sag."""
    q, still = arms.model.neutral(), np.zeros(arms.model.nv)
    q[at] = seen.q
    weight = arms.inverse_dynamics(q, still, still)[at]
    return weight + STIFFNESS * (start.q - seen.q) - DAMPING * seen.qd


start = seen = sim.reset()
path = [start.object_pose]
for _ in range(500):
    seen = sim.step(hold(seen, start))
    path.append(seen.object_pose)
sag = 1e3 * (start.object_pose - seen.object_pose)[2]
print(f"after {seen.time:.1f} s the box sags by {sag:.1f} mm")

before = sim.state
for _ in range(100):
    seen = sim.step(hold(seen, start), {"box": [0.0, 0.0, 0.0, PUSH, 0.0, 0.0]})
    path.append(seen.object_pose)
moved = 1e3 * (seen.object_pose - before.observation.object_pose)
print(f"a push of {PUSH:.0f} N along x moves it by {moved[0]:.2f} mm")

sim.state = before  # bit for bit where it was
print(f"back at {sim.observation.time:.1f} s")

axes = Figure(figsize=(6.0, 3.4), layout="constrained").subplots()
moved = 1e3 * (np.array(path) - start.object_pose)
time = sim.period * np.arange(len(path))
axes.plot(time, moved[:, [0, 2]], label=[f"along x, pushed by {PUSH:.0f} N from 1 s on", "height"])
axes.set(xlabel="time [s]", ylabel="motion of the box [mm]")
axes.legend()
axes.figure.savefig("step_simulation.webp", dpi=80)
