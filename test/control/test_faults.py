# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The latch of faults."""

from __future__ import annotations

import pytest

from robot_dynamics.control.faults import (
    Cause,
    FaultLatch,
    Finding,
    Response,
    SafetyError,
    State,
)


def fault(cause: Cause, subject: str = "left") -> Finding:
    """Return a finding."""
    return Finding(cause, subject, "something happened.")


def started() -> FaultLatch:
    """Return a latch that started at time 10."""
    latch = FaultLatch()
    latch.start(10)
    return latch


@pytest.mark.parametrize("cause", list(Cause))
def test_every_cause_latches_with_its_sentence(cause):
    """Each fault ends normal control until a reset, and says why."""
    latch = started()
    assert latch.trip(12, fault(cause))
    assert latch.state in (State.FALLBACK, State.STOPPED)
    assert latch.cause == "left: something happened."
    assert latch.response is cause.response is not Response.NONE
    with pytest.raises(
        SafetyError, match=r"start refused: .*something happened.*controller/reset"
    ):
        latch.start(13)
    with pytest.raises(SafetyError, match=r"^resume refused: "):
        latch.require_inactive("resume")
    latch.reset()
    assert latch.state is State.INACTIVE
    assert latch.faults == ()
    latch.start(14)


@pytest.mark.parametrize("cause", [Cause.REFERENCE_LOST, Cause.WRENCH_LOST])
def test_the_pose_is_held_by_the_law_where_the_arms_are_well(cause):
    """The law goes on, and comes to rest."""
    latch = started()
    latch.trip(14, fault(cause))
    assert latch.law_runs
    assert latch.reference_held
    assert latch.wrenches_usable == (cause is not Cause.WRENCH_LOST)


def test_the_more_drastic_response_wins_in_either_order():
    """A lesser fault later changes nothing; a worse one takes over; both are kept."""
    for order in (
        (Cause.REFERENCE_LOST, Cause.GRASP_LOST, Cause.ARM_LOST),
        (Cause.GRASP_LOST, Cause.ARM_LOST, Cause.REFERENCE_LOST),
    ):
        latch = started()
        for cause in order:
            latch.trip(11, fault(cause))
        assert latch.response is Response.SUPPORT_WITHOUT_OBJECT
        assert not latch.law_runs
        assert [found.cause for _, found in latch.faults] == list(order)


def test_a_wrong_wrench_is_used_no_more():
    """The fallback keeps the object's weight; a contact leaves the sensors as they are."""
    for cause, usable in ((Cause.WRENCH_WRONG, False), (Cause.JAMMED, True)):
        latch = started()
        latch.trip(11, fault(cause))
        assert latch.response is Response.SUPPORT
        assert latch.wrenches_usable is usable


def test_a_fault_is_noted_once():
    """A NaN that stays does not fill the list; another arm's is another fault."""
    latch = started()
    assert latch.trip(11, fault(Cause.ARM_LOST))
    assert not latch.trip(12, fault(Cause.ARM_LOST))
    assert latch.trip(12, fault(Cause.ARM_LOST, "right"))
    assert [time for time, _ in latch.faults] == [11, 12]


def test_a_stop_latches_even_before_the_start():
    """Stopped stays stopped through further faults, and prevents a start."""
    latch = FaultLatch()
    assert not latch.trip(0, fault(Cause.ARM_LOST))  # nobody relies on torques yet
    latch.trip(1, fault(Cause.STOP_REQUESTED))
    assert latch.state is State.STOPPED
    latch.trip(2, fault(Cause.GRASP_LOST))
    assert latch.state is State.STOPPED
    with pytest.raises(SafetyError, match="start refused: stopped"):
        latch.start(3)


def test_a_reset_needs_a_stop_and_lets_nobody_fall():
    """While control runs it is refused; after it the arms still rely on torques."""
    latch = started()
    with pytest.raises(SafetyError, match="reset refused: starting"):
        latch.reset()
    latch.trip(11, fault(Cause.STOP_REQUESTED))
    latch.reset()
    assert latch.in_charge
    latch.trip(12, fault(Cause.ARM_LOST))
    assert latch.state is State.FALLBACK
