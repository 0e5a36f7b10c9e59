# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Two arms take a box from a table, put it down elsewhere, and bring it back, as one task.

python examples/put_down.py
robot_dynamics render put_down.npz --output put_down.webp --size 480x270 --rate 6 --speed 3  # film
"""

import numpy as np

import robot_dynamics as rd

THERE, BACK = [0.06, 0.0, 0.0], [-0.06, 0.0, 0.0]  # ways of the box [m]


def pick(way: list[float]) -> list[str]:
    """Return the phases that carry the box by a displacement."""
    return [
        "{approach: {distance_m: 0.08, speed: 0.2}}",
        "{grasp: {squeeze_n: 80.0, touch_within_m: 0.01}}",
        "{lift: {height_m: 0.05}}",
        f"{{carry: {{segments: [{{duration_s: 1.0, move: {way}}}]}}}}",
        "{put_down: {on: table, touch_within_m: 0.005}}",
        "{release: {distance_m: 0.08, speed: 0.2}}",
    ]


phases = [*pick(THERE), *pick(BACK), "{move: {to: home}}"]
run = rd.simulate("pick_and_place", overrides=[f"task=[{', '.join(phases)}]"])
for phase in run.report["phases"]:
    print(f"{phase['from_s']:5.1f} s to {phase['to_s']:5.1f} s: {phase['name']}")
box, force = run.recording["object_pose"], run.recording["contact_force"]
along, _, up = 1e3 * np.ptp(box[:, :3], axis=0)
print(f"carried by {along:.1f} mm and lifted by {up:.1f} mm")
print(f"back within 0.1 mm: {np.abs(box[-1, :3] - box[0, :3]).max() < 1e-4}")
print(f"it rests on the table with its weight of {force[-1, 0]:.2f} N; no failures: {run.ok}")
run.save("put_down.npz")
