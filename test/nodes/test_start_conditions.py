# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What stands against a start around the controller, and what is only not known yet."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest

pytest.importorskip("rclpy", reason="the nodes' modules are not importable without ROS 2")

from robot_dynamics.nodes.check_thread import NotYetError
from robot_dynamics.nodes.heartbeat import GuardError
from robot_dynamics.nodes.start_conditions import StartConditions


class World:
    """A guard, other command publishers, drives and samples that are as they are told to be."""

    def __init__(self, *, in_lockstep=False):
        self.guard = self.slow = ""
        self.other_publishers_known = self.drives_known = self.rates_known = True
        self.heard_at = time.monotonic() + 1.0
        loop = SimpleNamespace(arms=self)
        self.conditions = StartConditions(
            None,
            loop,
            self,
            self,
            self,
            ["states"],
            lambda: self.heard_at,
            in_lockstep=in_lockstep,
        )

    def require_guard(self):
        """Be its line to a guard."""
        if self.guard:
            raise GuardError(self.guard)

    def require_none(self):
        """Be its other command publishers."""
        return self.other_publishers_known

    def require_known(self, node, topics):
        """Be what is known of drives."""
        return self.drives_known

    @property
    def rate_warning(self):
        """Be its samples."""
        return self.slow


def test_all_is_well():
    """Known, and with a state that is newer than the wish."""
    World().conditions.require_known(time.monotonic())


@pytest.mark.parametrize("what", ["other_publishers_known", "drives_known", "rates_known"])
def test_what_is_not_known_yet(what):
    """It is waited for, except where simulated time waits for everything."""
    world = World()
    setattr(world, what, False)
    assert not world.conditions.require()
    with pytest.raises(NotYetError, match="not known yet"):
        world.conditions.require_known(time.monotonic())
    patient = World(in_lockstep=True)
    setattr(patient, what, False)
    assert patient.conditions.require()


def test_what_is_known_to_be_wrong():
    """Guards and rates are refused in their own words."""
    world = World()
    world.slow = "arm 'left' is slow."
    with pytest.raises(NotYetError, match="start refused: arm 'left' is slow"):
        world.conditions.require()
    world.guard = "the guard is in charge."
    with pytest.raises(GuardError, match="the guard is in charge"):
        world.conditions.require()
    assert world.conditions.about_guard() == "the guard is in charge."
    world.guard = ""
    assert world.conditions.about_guard() == ""


def test_a_state_newer_than_the_wish_is_waited_for_a_moment():
    """A simulator that was reset is elsewhere; in lockstep time may stand still."""
    world = World()
    now = time.monotonic()
    world.heard_at = now - 1.0
    with pytest.raises(NotYetError, match="no joint states have come since it was asked for"):
        world.conditions.require_known(now + 60.0)
    world.conditions.require_known(now - 0.5)
