# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Simulated drives do what was asked for when commands stop."""

import numpy as np
import pytest

from robot_dynamics.nodes.drives import Drives, EarlierRun

TORQUE = np.array([1.0, -2.0])
ARMS, BOTH = (slice(0, 1), slice(1, 2)), (0, 1)


def after(drives, periods):
    """Return what drives give in the last of some periods without a command."""
    for _ in range(periods):
        torque = drives.next()
    return torque


@pytest.mark.parametrize("behaviour", ["brake", "zero", "hold"])
def test_brakes_hold_until_the_first_command(behaviour):
    """Nothing falls because the controller starts late."""
    drives = Drives(ARMS, [behaviour] * 2, timeout_periods=3)
    assert after(drives, 100) is None
    assert drives.braked
    assert not drives.lost
    drives.command(TORQUE, BOTH)
    assert drives.next().tolist() == TORQUE.tolist()
    assert not drives.braked


@pytest.mark.parametrize("behaviour", ["brake", "zero", "hold"])
def test_the_last_torque_is_held_for_the_timeout(behaviour):
    """A command that comes a little late does no harm."""
    drives = Drives(ARMS, [behaviour] * 2, timeout_periods=3)
    drives.command(TORQUE, BOTH)
    assert after(drives, 3).tolist() == TORQUE.tolist()
    assert not drives.lost


def test_brakes_stay_on_until_a_reset():
    """A controller that comes back must not move arms that it does not know."""
    drives = Drives(ARMS, ["brake"] * 2, timeout_periods=3)
    drives.command(TORQUE, BOTH)
    assert after(drives, 4) is None
    assert drives.lost
    drives.command(TORQUE, BOTH)
    assert drives.next() is None
    drives.reset()
    drives.command(TORQUE, BOTH)
    assert drives.next() is not None


def test_zero_torque_lets_go_and_takes_new_commands():
    """The arms fall, which is what such a drive does."""
    drives = Drives(ARMS, ["zero"] * 2, timeout_periods=3)
    drives.command(TORQUE, BOTH)
    assert after(drives, 4).tolist() == [0.0, 0.0]
    assert drives.lost
    drives.command(TORQUE, BOTH)
    assert drives.next().tolist() == TORQUE.tolist()
    assert not drives.lost


def test_a_forwarding_drive_holds_the_last_torque_for_ever():
    """But it is known that commands have stopped."""
    drives = Drives(ARMS, ["hold"] * 2, timeout_periods=3)
    drives.command(TORQUE, BOTH)
    assert after(drives, 1000).tolist() == TORQUE.tolist()
    assert drives.lost


@pytest.mark.parametrize(
    ("behaviour", "left", "right"),
    [("brake", None, None), ("zero", 5.0, 0.0), ("hold", 5.0, -2.0)],
)
def test_one_arm_without_commands(behaviour, left, right):
    """The other one still does what it is told, unless brakes hold both."""
    drives = Drives(ARMS, [behaviour] * 2, timeout_periods=3)
    drives.command(TORQUE, BOTH)
    for _ in range(10):
        drives.command(5.0 * abs(TORQUE), [0])
        torque = drives.next()
    assert drives.lost
    assert not drives.is_silent(0)
    if left is None:
        assert torque is None
    else:
        assert torque.tolist() == [left, right]
        assert drives.is_silent(1)
        drives.command(TORQUE, BOTH)
        assert not drives.lost


def test_every_drive_has_a_behaviour_of_its_own():
    """Commands stop: one keeps its last torque for ever, the other has none."""
    drives = Drives(ARMS, ["hold", "zero"], timeout_periods=3)
    drives.command(np.arange(1.0, ARMS[-1].stop + 1.0), [0, 1])
    for _ in range(10):
        torque = drives.next()
    assert torque[ARMS[0]].all()
    assert not torque[ARMS[1]].any()


def test_commands_of_an_earlier_run():
    """They are told by numbers that are ahead; time may catch up with the last of them."""
    earlier = EarlierRun()
    assert not earlier.has("left", 0, 0)  # of somebody who does not number what he sends
    assert earlier.number is None
    assert earlier.has("left", 500, 3)
    assert earlier.number == 500
    assert earlier.has("left", 501, 3)  # it had one more state to answer
    assert earlier.has("left", 501, 800)
    assert not earlier.has("right", 501, 800)
    assert not earlier.has("left", 799, 800)
    assert earlier.number is None
    assert not earlier.has("left", 2**32 - 1, 2**32)  # numbers begin anew
    assert earlier.has("left", 1, 2**32)
