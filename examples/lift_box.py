# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Two arms lift a box: run the shipped scenario in this process, and print its figures.

python examples/lift_box.py
"""

import numpy as np

import robot_dynamics as rd

run = rd.simulate("lift_box")
print("good" if run.ok else "NOT good: " + " ".join(run.report["failures"]))

# The report has the figures ...
print(f"largest position error: {1e3 * run.report['object_position_error_max_m']:.3f} mm")

# ... and the recording everything they were computed from, one row a control period.
recording = run.recording
time = recording["time"]
height = recording["object_pose"][:, 2]
squeeze = recording["internal_force"][:, 0]
for at in np.linspace(0, len(recording) - 1, 8, dtype=int):
    print(f"{time[at]:5.2f} s  height {height[at]:.3f} m  squeeze {squeeze[at]:5.1f} N")

print(f"written: {run.plot('lift_box.png')}")
