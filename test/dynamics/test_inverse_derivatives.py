# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The analytical derivatives of inverse dynamics against dual numbers of the algorithm itself."""

import numpy as np
import pytest
from dynamics.joint_mechanisms import random_state, random_tree

from robot_dynamics.dynamics.inverse import inverse_dynamics
from robot_dynamics.dynamics.inverse_derivatives import has_constant_subspaces, tree_derivatives
from robot_dynamics.model import build
from robot_dynamics.model.parameters import parameters_of
from robot_dynamics.scalar.derivatives import directional_derivative

TYPES = ["revolute", "floating", "planar", "spherical", "helical", "prismatic", "cylindrical"]
TOL = 1e-12  # relative: rounding of some thousand operations


@pytest.mark.parametrize("chain", [True, False])
def test_equal_to_dual_numbers(chain, rng):
    """By positions along velocities and by velocities, of all joints with constant subspaces."""
    model = build(random_tree(rng, TYPES, chain=chain), gravity=(1.0, -2.0, -9.0))
    assert has_constant_subspaces(model)
    q, qd, qdd = random_state(rng, model)
    parameters = parameters_of(model)
    ours = tree_derivatives(model, q, qd, qdd, parameters)

    def by(function, x, directions):
        columns = [directional_derivative(function, x, d)[1] for d in directions]
        return np.array(columns, dtype=float).T

    units = np.eye(model.nv).tolist()
    along = [model.position_rate(q, unit) for unit in units]
    of_q = by(lambda x: inverse_dynamics(model, x, qd, qdd, parameters), q, along)
    of_qd = by(lambda x: inverse_dynamics(model, q, x, qdd, parameters), qd, units)
    for found, expected in zip(ours, (of_q, of_qd), strict=True):
        assert np.abs(np.array(found) - expected).max() <= TOL * np.abs(expected).max()


def test_joints_with_varying_subspaces_are_refused(rng):
    """A joint whose subspace depends on its positions is not for the recursion."""
    assert not has_constant_subspaces(build(random_tree(rng, ["universal", "revolute"])))
