# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Whether links and joints form one tree."""

import numpy as np
import pytest

from robot_dynamics.description.diagnosis import Diagnosis
from robot_dynamics.description.tree_checks import Places, check_tree
from robot_dynamics.model import JointElement, LinkElement


def problems(links, joints, **options):
    """Return the messages about links "abc" and joints "parent child"."""
    diagnosis = Diagnosis()
    elements = [
        JointElement(f"{pair[0]}{pair[1]}{number}", "fixed", pair[0], pair[1])
        for number, pair in enumerate(joints)
    ]
    places = Places("f", joints={joint.name: f"f:{n}" for n, joint in enumerate(elements)})
    check_tree([LinkElement(name) for name in links], elements, places, diagnosis, **options)
    return [problem.sentence() for problem in diagnosis.problems]


def test_random_trees_pass(rng):
    """A tree passes, whatever the order of its links and joints."""
    for _ in range(20):
        size = int(rng.integers(1, 20))
        names = [str(n) for n in range(size)]
        joints = [(str(rng.integers(0, n)), str(n)) for n in range(1, size)]
        assert problems(rng.permutation(names), rng.permutation(np.array(joints, str))) == []


def test_two_parents_name_both_joints():
    """A link with two parents names both and points to files of loop joints."""
    (sentence,) = problems("abc", ["ab", "ac", "bc"])
    assert "link 'c' has two parents, 'a' by joint 'ac1' and 'b' by this one" in sentence
    assert "loop joints" in sentence


@pytest.mark.parametrize(
    ("links", "joints", "path"),
    [
        ("ab", ["ab", "ba"], "a -> b -> a"),
        ("abcd", ["ab", "cd", "dc"], "c -> d -> c"),
        ("abcde", ["bc", "cd", "db", "de"], "b -> c -> d -> b"),
    ],
)
def test_circles_are_spelt_out_once(links, joints, path):
    """A circle of links is one error, beginning where the file does."""
    (sentence,) = problems(links, joints)
    assert path in sentence


def test_several_circles_are_all_found():
    """Circles that do not touch are separate errors."""
    sentences = problems("abcd", ["ab", "ba", "cd", "dc"])
    assert len(sentences) == 2


def test_roots_are_counted_only_when_nothing_else_is_wrong():
    """A second root is an error of its own, not an echo of another one."""
    assert "second root" in problems("abc", ["ab"])[0]
    assert problems("abc", ["ab"], complete=False) == []
    assert len(problems("abcd", ["ab", "xc"])) == 1


def test_no_links_and_own_parents_are_errors():
    """A file without links, and a joint from a link to itself."""
    assert problems("", []) == ["f: has no links, expected at least one."]
    assert "parent and child are both 'b'" in problems("ab", ["ab", "bb"])[0]


def test_long_chains_are_no_trouble():
    """A chain of thousands of links is walked once, not once a link."""
    names = [str(n) for n in range(5000)]
    assert problems(names, [(names[n], names[n + 1]) for n in range(4999)]) == []


def test_graphs_may_have_loops():
    """If joints may close loops, several parents and circles are allowed."""
    for joints in (["ab", "ac", "bc"], ["ab", "bc", "cb"]):
        assert problems("abc", joints)
        assert problems("abc", joints, graph=True) == []
    (sentence,) = problems("abcd", ["ab", "cd", "dc"], graph=True)
    assert "link 'c': is connected to 'a' by no joint" in sentence
    (sentence,) = problems("ab", ["ab", "ba"], graph=True)
    assert "expected one root" in sentence
    (sentence,) = problems("abc", ["ac", "bc"], graph=True)
    assert "second root" in sentence
