# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The analytical derivatives of loop constraints against dual numbers of the constraints."""

import numpy as np
import pytest
from dynamics.joint_mechanisms import EVERY, random_pose, random_state, random_tree

from robot_dynamics.dynamics.closed_loop import closed_loop_terms
from robot_dynamics.dynamics.loop_derivatives import loop_derivatives
from robot_dynamics.model import LoopElement, Mechanism, build
from robot_dynamics.model.parameters import parameters_of
from robot_dynamics.scalar.derivatives import directional_derivative
from robot_dynamics.scalar.linear_algebra import subtract, times, transposed_times

TYPES = ["revolute", "floating", "planar", "spherical", "helical", "prismatic", "cylindrical"]
CLOSING = ["fixed", "helical", "planar", "soft_finger"]
# Of these the directions of T depend on the placement.
TURNING = ["line", "point_on_plane", "edge_on_plane", "point_on_line"]
TURNING += ["universal", "rack_and_pinion"]
TOL = 1e-12  # relative: rounding of some thousand operations


def along(function, x, directions):
    """Return the derivatives of a function along directions, as columns."""
    columns = [directional_derivative(function, x, d)[1] for d in directions]
    return np.array(columns, dtype=float).T


@pytest.mark.parametrize("kind", CLOSING + TURNING)
def test_equal_to_dual_numbers(kind, rng):
    """Of loops of every type through joints of several freedoms, open by any distance."""
    tree = random_tree(rng, TYPES)
    ends = [tree.links[i].name for i in rng.permutation(len(tree.links))[:4]]
    loops = [
        LoopElement(
            f"loop{at}",
            kind,
            *ends[at : at + 2],
            random_pose(rng),
            random_pose(rng),
            EVERY.get(kind, {}),
        )
        for at in (0, 2)
    ]
    model = build(Mechanism("loops", tree.links, tree.joints, tuple(loops)))
    q, qd, qdd = random_state(rng, model)
    parameters, multipliers = parameters_of(model), rng.normal(size=model.constraint_count)

    def terms(q, qd):
        loops = closed_loop_terms(model, q, qd, parameters).loops
        push = transposed_times(loops.K, multipliers.tolist(), model.nv)
        rates = subtract(times(loops.K, qdd), loops.k)
        return [*(-p for p in push), *rates, *times(loops.K, qd)]

    units = np.eye(model.nv).tolist()
    by_q = along(lambda x: terms(x, qd), q, [model.position_rate(q, unit) for unit in units])
    by_qd = along(lambda x: terms(q, x), qd, units)
    found = loop_derivatives(model, q, qd, qdd, multipliers.tolist(), parameters)
    n, m = model.nv, model.constraint_count
    for ours, expected in (
        (found.forces_q, by_q[:n]),
        (found.rates_q, by_q[n : n + m]),
        (found.rates_qd, by_qd[n : n + m]),
        (found.drift_q, by_q[n + m :]),
    ):
        assert np.abs(np.array(ours) - expected).max() <= TOL * np.abs(expected).max()
