# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Tracking errors if the mass of the box differs from the modelled one.

python examples/wrong_payload.py

Every run uses the same machine code: payloads are parameters, not part of the program.
"""

from matplotlib.figure import Figure

import robot_dynamics as rd

SCALES = (0.8, 1.0, 1.2)  # true mass of the box over the modelled one


axes = Figure(figsize=(6.0, 3.4), layout="constrained").subplots()
for scale in SCALES:
    run = rd.simulate("lift_box", overrides=[f"plant.object_mass_scale={scale}"])
    report = run.report
    print(
        f"true mass {scale:.1f} x modelled: "
        f"{1e3 * report['object_position_error_max_m']:6.3f} mm at most, "
        f"{1e3 * report['object_position_error_settled_m']:6.3f} mm at rest, "
        f"{100 * report['torque_fraction_of_limit_max']:.0f} % of the torque limits"
    )
    error = run.recording["object_pose"] - run.recording["reference_pose"]
    axes.plot(run.recording["time"], 1e3 * error[:, 2], label=f"{scale:g} x the modelled mass")
axes.set(xlabel="time [s]", ylabel="box above its reference [mm]", xlim=(0.0, 1.0))
axes.legend()
axes.figure.savefig("wrong_payload.webp", dpi=80)
