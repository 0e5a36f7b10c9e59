# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Torques that carry an object, against forward dynamics."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reproductions.unified.cases import random_states, random_unified

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.reproductions.unified import UnifiedTerms, carrying, forward_dynamics


@pytest.mark.parametrize("relative", [False, True])
@pytest.mark.parametrize("base", ["fixed", "floating", "planar", "sprung"])
def test_the_object_accelerates_as_wanted(base, relative):
    """Forward dynamics under these torques has the same accelerations and grasp wrenches."""
    rng = np.random.default_rng(5)
    system = random_unified(rng, base, (6, 7))
    for there, q, qd in random_states(rng, system, 10):
        terms = there.terms(q, qd)
        if np.linalg.cond(terms.parts.J_a) > 1e4:
            continue  # arms that can hardly follow
        wanted, force = rng.normal(size=6), rng.normal(size=len(system.following))
        internal = rng.normal(size=12)
        ours = carrying(terms, wanted, force, internal=internal, relative=relative, length=0.5)
        there_is = forward_dynamics(terms, ours.torque, force)
        for name in ("joint_accelerations", "following_accelerations", "object_acceleration",
                     "grasp_wrenches"):  # fmt: skip
            expected = getattr(there_is, name)
            # Two ways through matrices of condition up to 1e8.
            size = 1e-7 * max(1.0, np.max(np.abs(expected), initial=0.0))
            assert_allclose(getattr(ours, name), expected, atol=size, err_msg=name)
        if not relative:
            assert_allclose(ours.object_acceleration, wanted)
        # What is left of the internal wrench does not move the object.
        squeezed = (
            ours.grasp_wrenches
            - carrying(terms, wanted, force, relative=relative, length=0.5).grasp_wrenches
        )
        assert_allclose(terms.held.W.T @ squeezed, 0.0, atol=1e-12)
        assert np.linalg.norm(squeezed) > 0.1


def test_nothing_to_carry():
    """Without an object it is refused."""
    rng = np.random.default_rng(6)
    system = random_unified(rng, "fixed", (6, 6))
    there, q, qd = next(random_states(rng, system, 1))
    with pytest.raises(RobotDynamicsError, match="hold no object"):
        carrying(UnifiedTerms(there.terms(q, qd).parts, None), np.zeros(6), np.zeros(0))
