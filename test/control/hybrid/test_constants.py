# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The block of the law's code has all values that the law reads from it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.hybrid_step import bare_gains, block_of
from support.hybrid_systems import GRASPS, environment_of, state_of

from robot_dynamics.control.hybrid.gains import HybridGains
from robot_dynamics.control.hybrid.law_inputs import LawConstants, Layout
from robot_dynamics.manipulation.hybrid import ForceDistribution
from robot_dynamics.model.parameters import block_size

pytestmark = pytest.mark.usefixtures("interpreted")


@pytest.mark.parametrize(("count", "kind"), GRASPS)
def test_a_block_is_all_of_it(count, kind):
    """Packed constants are unpacked, each number once."""
    system = state_of(count, kind, 6, environment_of(1), np.random.default_rng(3)).system
    layout, distribution = Layout.of(system), ForceDistribution.of_contacts(system)
    block = block_of(system, bare_gains(system), distribution)
    begin = block_size(system.arms) + HybridGains.size(layout.joints, layout.surfaces)
    assert len(block) == begin + LawConstants.size(layout)
    found, center = LawConstants.unpack(system, block[begin:].tolist()), system.held.center
    assert found.mass == system.held.mass
    assert_allclose(list(found.center), center)
    assert_allclose(found.W, system.constant_wrench_map)
    assert_allclose(found.share, distribution.share)
    assert_allclose(found.recovery, distribution.recovery)
    assert_allclose(
        np.array(found.inertia.rows()) @ found.inverse_inertia.rows(), np.eye(3), atol=1e-12
    )
    assert (found.observer.undetermined is None) == ((count, kind) != (2, "soft finger"))
    assert_allclose(list(found.points[-1].position), system.contacts[-1].pose[:3, 3] - center)
