# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Measurements of a held object in a task."""

from types import SimpleNamespace

import numpy as np
import pytest

from robot_dynamics.control.task.held_law import HeldLaw, require_grip, require_push
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.manipulation.hybrid import FrictionCone


def test_palms_do_not_pull():
    """Beyond 5 N, whatever grippers measure: a sensor's sign is wrong."""
    wrenches = np.zeros((2, 6))
    wrenches[:, 5] = -80.0, -4.9
    require_push({1: "right"}, wrenches)
    wrenches[1, 5] = -5.1
    with pytest.raises(RobotDynamicsError, match=r"wrist sensor of arm 'right' .* pull of 5.1 N"):
        require_push({1: "right"}, wrenches)


def test_palms_that_hold_push():
    """With a quarter of what is planned or more, whatever grippers measure."""
    planned = np.array([80.0, 40.0])
    require_grip({1: "right"}, np.array([0.0, 10.1]), planned)
    expected = "arm 'right' pushes with 9.9 N, expected at least 10 N .* wrist sensor is dead"
    with pytest.raises(RobotDynamicsError, match=expected):
        require_grip({1: "right"}, np.array([80.0, 9.9]), planned)


NOW = SimpleNamespace(q=np.zeros(0), qd=np.zeros(0), last=np.zeros(0))


class _Law:
    """A law of two palms on opposite sides, whose internal force is their squeeze."""

    period, internal_columns = 0.002, slice(0, 1)
    plan = SimpleNamespace(start=np.zeros(7), duration=1.0)
    system = SimpleNamespace(arms=[SimpleNamespace(name=name) for name in ("left", "right")])
    palm = SimpleNamespace(directions=np.eye(6), limits=FrictionCone(0.5))
    hybrid_system = SimpleNamespace(contacts=[palm, palm])
    along = np.tile(np.eye(6)[:, 5:], (2, 1))
    share = np.zeros((12, 6))
    share[[5, 11], 5] = -0.5, 0.5  # the right palm is below the left one
    distribution = SimpleNamespace(share=share, internal=along)
    planned = added = weight = 0.0

    def update(self, tick, q, qd, wrenches):
        """Return a step."""
        planned, added, nothing = np.array([self.planned]), np.array([self.added]), np.zeros(18)
        return SimpleNamespace(
            reference=planned,
            added_internal_force=added,
            held_body_wrenches=nothing[None],
            outputs=SimpleNamespace(desired_wrench=self.weight * np.eye(6)[5]),
        )

    def begin_with(self, plan):
        """Do nothing, as the others."""

    def keep_payload(self):
        pass

    def start(self, q, qd, last):
        pass


@pytest.fixture
def press():
    """Return a function that steps with pushes of both palms, and the law of a held object."""
    held = HeldLaw(_Law(), weight=20.0)

    def steps(left, right, periods):
        wrenches = np.zeros((2, 6))
        wrenches[:, 5] = left, right
        for _ in range(periods):
            held.step(np.zeros(0), np.zeros(0), wrenches)

    return steps, held


def test_only_a_grip_that_stays_lost_stops(press):
    """For 0.1 s nothing follows; after 0.2 s control stops."""
    steps, held = press
    held.law.planned = 40.0
    steps(40.0, 40.0, 5)
    steps(40.0, 0.0, 50)
    steps(40.0, 40.0, 100)
    with pytest.raises(RobotDynamicsError, match="palm of arm 'right' pushes with 9"):
        steps(40.0, 0.0, 100)


def test_a_resumed_grip_is_judged_by_new_pushes(press):
    """Palms that press again are not those before the stop; palms that do not still stop."""
    steps, held = press
    held.law.planned = 40.0
    with pytest.raises(RobotDynamicsError, match="palm of arm 'left'"):
        steps(0.0, 40.0, 1)
    held.resume(NOW, held.first)
    steps(40.0, 40.0, 1)
    held.resume(NOW, held.first)
    with pytest.raises(RobotDynamicsError, match="palm of arm 'left'"):
        steps(0.0, 40.0, 1)


def test_a_squeeze_that_grows_is_awaited(press):
    """A correction of the internal force acts at once; the palms follow it a period later."""
    steps, held = press
    held.law.planned = 10.0
    steps(10.0, 10.0, 5)
    held.law.added = 50.0
    steps(10.0, 10.0, 1)
    steps(60.0, 60.0, 100)
    with pytest.raises(RobotDynamicsError, match="palm of arm 'left' pushes with 14"):
        steps(10.0, 10.0, 300)


def test_pushes_that_are_no_numbers_stop(press):
    """They would stay in the smoothed ones, and no dead sensor would be seen any more."""
    steps, held = press
    held.law.planned = 40.0
    with pytest.raises(RobotDynamicsError, match="palm of arm 'left' pushes with nan N"):
        steps(np.nan, 40.0, 1)


def test_a_palm_above_pushes_less(press):
    """By the weight that the one below bears, which pushes with its squeeze at least."""
    steps, held = press
    held.law.planned, held.law.weight = 40.0, 20.0
    steps(7.6, 10.1, 1)
    for left, right, name in ((7.4, 10.1, "left"), (7.6, 9.9, "right")):
        held.resume(NOW, held.first)
        with pytest.raises(RobotDynamicsError, match=f"palm of arm '{name}'"):
            steps(left, right, 1)
