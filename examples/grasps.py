# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Two finger tips on a box: force closure, and the squeeze that prevents slip.

python examples/grasps.py
"""

import numpy as np
from matplotlib.figure import Figure
from scipy.spatial.transform import Rotation

import robot_dynamics as rd
from robot_dynamics.manipulation.hybrid import (
    Contact,
    FrictionCone,
    contact_margins,
    require_closure,
)
from robot_dynamics.model import pose

HALF, MASS = 0.2, 2.0  # half the width of the box along y [m], its mass [kg]
FRICTION, MARGIN = 0.6, 3.0  # coefficient of friction, distance from slip [N]


def finger(kind: str, side: float) -> Contact:
    """A finger on the left (-1) or right (1) face; its z axis points into the box."""
    inwards = Rotation.from_euler("x", side * np.pi / 2.0).as_matrix()
    frame = pose((0.0, side * HALF, 0.0), inwards)
    return Contact.of_kind(kind, frame, FrictionCone(FRICTION, torsion=0.02))


for kind in ("soft finger", "frictional point"):
    contacts = [finger(kind, side) for side in (-1.0, 1.0)]
    try:
        require_closure(contacts, length=HALF, names=("left", "right"))
        print(f"two contacts of kind {kind}: hold the box against any wrench")
    except rd.RobotDynamicsError as error:
        print(f"two contacts of kind {kind}: {error}")

# Each finger carries half of the weight by friction, with a margin to its cone.
load = 0.5 * MASS * 9.81
squeeze = (load + MARGIN * np.hypot(1.0, FRICTION)) / FRICTION
points = [finger("frictional point", side) for side in (-1.0, 1.0)]
# x, y, z of each finger, in its own axes: y is down on the left, and up on the right.
forces = np.array([0.0, -load, squeeze, 0.0, load, squeeze])
print(f"a box of {MASS:g} kg needs a squeeze of {squeeze:.1f} N")
print("distance from slip:", np.round(contact_margins(points, forces), 6), "N")

axes = Figure(figsize=(6.0, 3.4), layout="constrained").subplots()
tried = np.linspace(0.0, 2.0 * squeeze, 100)
each = np.array([contact_margins(points, [0, -load, f, 0, load, f])[0] for f in tried])
axes.plot(tried, each)
axes.axhline(0.0, color="gray", ls="--")
axes.plot(squeeze, MARGIN, "o", label=f"{squeeze:.1f} N: a margin of {MARGIN:g} N")
axes.set(xlabel="squeeze [N]", ylabel="distance from slip [N]")
axes.legend()
axes.figure.savefig("grasps.webp", dpi=80)
