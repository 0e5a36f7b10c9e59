# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Joint states are matched by name, and a wrong name is blamed on the arm that lacks a joint."""

import numpy as np
import pytest

from robot_dynamics.nodes.joint_samples import JointSamples, stacked

ARMS = {"left": ("left_a", "left_b"), "right": ("right_a",)}
NAMES = ["left_a", "left_b", "right_a"]
Q, QD = np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.2, 0.3])


class Listener(JointSamples):
    """Samples that remember the complaints."""

    def __init__(self, *ignored):
        self.complaints = []
        super().__init__(
            ARMS, 5.0, 1.0, ignored, lambda *complaint: self.complaints.append(complaint)
        )

    def take(self, names, q=Q, qd=QD, stamp=0):
        """Take a message at its own time."""
        return self.accept("joint_states", stamp, list(names), q, qd, stamp)


@pytest.fixture
def samples():
    """Return samples that nobody has filled yet."""
    return Listener("locked")


def test_order_does_not_matter(samples):
    """Any permutation of a message gives the same positions and velocities."""
    order = [2, 0, 1]
    assert samples.take([NAMES[i] for i in order], Q[order], QD[order])
    q, qd = stacked(samples.streams.values())
    assert q.tolist() == Q.tolist()
    assert qd.tolist() == QD.tolist()
    assert samples.complaints == []


def test_the_order_may_change_between_messages(samples):
    """Names are looked at again when they are others than before."""
    samples.take(NAMES)
    samples.take(NAMES[::-1], 10.0 * Q[::-1], QD[::-1], stamp=1)
    assert stacked(samples.streams.values())[0].tolist() == [10.0, 20.0, 30.0]


def test_arms_may_come_in_messages_of_their_own(samples):
    """A message with the joints of one arm leaves the others alone."""
    assert samples.take(NAMES[:2], Q[:2], QD[:2])
    assert samples.streams["right"].watch.stamp is None
    assert samples.take(NAMES[2:], Q[2:], QD[2:])
    assert stacked(samples.streams.values())[0].tolist() == Q.tolist()
    assert samples.complaints == []


def test_announced_joints_are_ignored(samples):
    """Grippers and locked joints may be in the same message."""
    assert samples.take(["locked", *NAMES], np.append(9.0, Q), np.append(0.0, QD))
    assert stacked(samples.streams.values())[0].tolist() == Q.tolist()
    assert samples.complaints == []


def test_a_misspelt_joint_is_blamed_on_its_arm(samples):
    """The sentence says which name was probably meant; the other arm goes on."""
    assert samples.take(["left_a", "left_bb", "right_a"])
    ((arm, sentence, jumped),) = samples.complaints
    assert arm == "left"
    assert sentence == "unknown joint 'left_bb'; did you mean 'left_b'?"
    assert not jumped
    assert samples.streams["left"].watch.stamp is None
    assert samples.streams["right"].position.tolist() == [3.0]


def test_an_additional_unknown_joint_is_refused(samples):
    """Until somebody says that it is no mistake."""
    assert not samples.take([*NAMES, "gripper"], np.append(Q, 0.0), np.append(QD, 0.0))
    assert {arm for arm, _, _ in samples.complaints} == {"left", "right"}
    tolerant = Listener("gripper")
    assert tolerant.take([*NAMES, "gripper"], np.append(Q, 0.0), np.append(QD, 0.0))


def test_a_missing_joint_is_named(samples):
    """The arm that lacks it is told."""
    samples.take(["left_a", "right_a"], Q[[0, 2]], QD[[0, 2]])
    assert samples.complaints == [
        ("left", "joint 'left_b' is missing; expected all of left_a, left_b.", False)
    ]


@pytest.mark.parametrize(
    ("q", "qd", "words"),
    [
        (np.array([1.0, np.nan, 3.0]), QD, "position of joint 'left_b' is nan"),
        (Q, np.array([np.inf, 0.0, 0.0]), "velocity of joint 'left_a' is inf"),
        (Q[:2], QD, "position has 2 entries, expected 3"),
        (Q, np.zeros(0), "velocity has 0 entries, expected 3. A velocity is needed"),
    ],
)
def test_bad_numbers_are_named_and_not_kept(samples, q, qd, words):
    """What was good before stays."""
    samples.take(NAMES)
    samples.take(NAMES, q, qd, stamp=1)
    assert samples.complaints[0][0] == "left"
    assert samples.complaints[0][1].startswith(words)
    assert samples.streams["left"].position.tolist() == [1.0, 2.0]


def test_a_jump_of_time_is_told_apart(samples):
    """Somebody may want to forget the time before."""
    samples.take(NAMES, stamp=0)
    samples.take(NAMES, stamp=100)
    assert [jumped for _, _, jumped in samples.complaints] == [True, True]
    samples.take(NAMES, stamp=0)
    assert len(samples.complaints) == 2


def test_unknown_joints_are_remembered(samples):
    """A message without any joint of any arm is no fault, but worth a word."""
    assert not samples.take(["l_a", "l_b", "r_a"])
    assert samples.complaints == []
    assert samples.unknown_joints.startswith("joint_states: unknown joint 'l_a'")
    samples.take(NAMES)
    assert samples.unknown_joints == ""


def test_a_message_of_another_robots_known_joints_is_nothing(samples):
    """Such as that of the locked joints alone."""
    assert not samples.take(["locked"], Q[:1], QD[:1])
    assert samples.complaints == []
    assert samples.unknown_joints == ""
