# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Step a simulation with a controller of one's own, push the box, and go back in time.

python examples/step_simulation.py [FIGURE.webp]
"""

import numpy as np

import robot_dynamics as rd
from robot_dynamics.app.command_line.arguments import picture_argument

picture = picture_argument(__doc__)

sim = rd.Simulation("lift_box")  # or plant="mujoco", or your scenario file
arms = sim.arms  # a Robot: the arms without the box
at = [arms.model.joint_index(name) for name in sim.joint_names]


def hold(seen, start):
    """A joint servo with gravity compensation of the arms: the box makes them sag."""
    q, still = arms.model.neutral(), np.zeros(arms.model.nv)
    q[at] = seen.q
    weight = arms.inverse_dynamics(q, still, still)[at]
    return weight + 4000.0 * (start.q - seen.q) - 100.0 * seen.qd


start = seen = sim.reset()
path = [start.object_pose]
for _ in range(500):
    seen = sim.step(hold(seen, start))
    path.append(seen.object_pose)
sag = 1e3 * (start.object_pose - seen.object_pose)[2]
print(f"after {seen.time:.1f} s the box sags by {sag:.1f} mm")

before = sim.state
for _ in range(100):
    seen = sim.step(hold(seen, start), {"box": [0.0, 0.0, 0.0, 100.0, 0.0, 0.0]})
    path.append(seen.object_pose)
moved = 1e3 * (seen.object_pose - before.observation.object_pose)
print(f"a push of 100 N along x moves it by {moved[0]:.2f} mm")

sim.state = before  # bit for bit where it was
print(f"back at {sim.observation.time:.1f} s")

if picture:
    from matplotlib.figure import Figure

    axes = Figure(figsize=(6.0, 3.4), layout="constrained").subplots()
    moved = 1e3 * (np.array(path) - start.object_pose)
    time = sim.period * np.arange(len(path))
    axes.plot(time, moved[:, [0, 2]], label=["along x, pushed by 100 N from 1 s on", "height"])
    axes.set(xlabel="time [s]", ylabel="motion of the box [mm]")
    axes.legend()
    axes.figure.savefig(picture, dpi=80)
