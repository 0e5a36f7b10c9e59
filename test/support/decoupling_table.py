# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The table of docs/hybrid_control_results.md: sampled decoupling, all combinations.

To be run in the folder of the tests: `python -m support.decoupling_table`.
"""

from __future__ import annotations

import argparse
from itertools import product

from support.hybrid_systems import GRASPS, SURFACES
from support.sampled_decoupling import run

HEAD = """\
| arms | grasps | planes | joints | object [mm] | planes [N]: mean | any instant | half change \
| internal [N]: mean | any instant | half change |
|---|---|---|---|---|---|---|---|---|---|---|"""


def sampled(count, kind, planes, joints, period):
    """Return the cells of the disturbances by steps of all kinds."""
    steps = ("motion", "contact", "internal") if planes else ("motion", "internal")
    runs = {what: run(count, kind, planes, joints, what, period) for what in steps}
    yield f"{1e3 * max(found.position for found in runs.values()):.3f}"
    for name, own in (("contact", "contact"), ("force", "internal")):
        others = [found for what, found in runs.items() if what != own]
        for of in ("mean_", "", "half_"):
            largest = max(getattr(found, of + name) for found in others)
            yield f"{largest:.3f}" if planes or name == "force" else ""


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--arms", type=int, nargs="+", default=[2, 3])
    parser.add_argument("--joints", type=int, nargs="+", default=[6, 7])
    parser.add_argument("--period", type=float, default=2e-3, help="control period [s]")
    chosen = parser.parse_args()
    print(HEAD, flush=True)
    for (count, kind), name, joints in product(GRASPS, SURFACES, chosen.joints):
        if count in chosen.arms:
            cells = sampled(count, kind, SURFACES[name], joints, chosen.period)
            cells = [str(count), kind, name, str(joints), *cells]
            print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
