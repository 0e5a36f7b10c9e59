# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The table of sampled decoupling in all combinations of arms, contacts and planes.

To be run in the folder of the tests: `python -m support.decoupling_table`.
"""

from __future__ import annotations

import argparse
from itertools import product

from support.hybrid_systems import GRASPS, SURFACES
from support.sampled_decoupling import run

PERIODS = (2e-3, 1e-3)
HEAD = """\
At periods of 2 ms; 1 ms. Of the object's position the largest error [mm]. Of forces [N]
what steps of something else make: in the mean of a period, at any instant, and half of the
change within a period of that run.

| arms, contacts, planes, joints | object | force on planes | internal force |
|---|---|---|---|"""


def sampled(count, kind, planes, joints):
    """Return the cells of the disturbances by steps of all kinds."""
    steps = ("motion", "contact", "internal") if planes else ("motion", "internal")
    at = [{what: run(count, kind, planes, joints, what, T) for what in steps} for T in PERIODS]
    yield "; ".join(f"{1e3 * max(f.position for f in each.values()):.3f}" for each in at)
    for name, own in (("contact", "contact"), ("force", "internal")):
        cell = []
        for each in at:
            others = [found for what, found in each.items() if what != own]
            parts = [max(getattr(f, of + name) for f in others) for of in ("mean_", "", "half_")]
            cell.append(", ".join(f"{value:.3f}" for value in parts))
        yield "; ".join(cell) if planes or name == "force" else ""


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--arms", type=int, nargs="+", default=[2, 3])
    parser.add_argument("--joints", type=int, nargs="+", default=[6, 7])
    chosen = parser.parse_args()
    print(HEAD, flush=True)
    for (count, kind), name, joints in product(GRASPS, SURFACES, chosen.joints):
        if count in chosen.arms:
            given = count, kind, SURFACES[name], joints
            cells = [f"{count}, {kind}, {name}, {joints}", *sampled(*given)]
            print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
