# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The picture of what hangs on what."""

import sys

import pytest
from support import linkages

from robot_dynamics.app.graph import dot_text, layout, write_graph
from robot_dynamics.app.plots import PlotError
from robot_dynamics.model import JointElement, LinkElement, Mechanism

MECHANISM = linkages.stewart_platform()


def test_picture(tmp_path):
    """A mechanism with loops is drawn into an image of some size."""
    pytest.importorskip("matplotlib")
    path = write_graph(MECHANISM, tmp_path / "tree.png")
    assert path.read_bytes().startswith(b"\x89PNG")
    assert path.stat().st_size > 20_000  # an empty figure is far smaller


def test_dot(tmp_path):
    """The text for Graphviz has every link, joint and loop once, quoted."""
    text = write_graph(MECHANISM, tmp_path / "tree.dot").read_text()
    assert text.count("->") == len(MECHANISM.joints) + len(MECHANISM.loops)
    assert text.count("dashed") == len(MECHANISM.loops)
    for link in MECHANISM.links:
        assert text.count(f'  "{link.name}" [label=') == 1
    awkward = Mechanism('a "name"', (LinkElement('one "two"'),))
    assert dot_text(awkward).startswith('digraph "a \\"name\\"" {')
    assert '[label="one \\"two\\""]' in dot_text(awkward)


def test_layout():
    """Links on one level do not share a place, and children hang under their parents."""
    at = layout(MECHANISM)
    assert len(set(at.values())) == len(MECHANISM.links)
    for joint in MECHANISM.joints:
        assert at[joint.child][1] == at[joint.parent][1] - 1.0


def test_a_chain_longer_than_the_stack():
    """Ten thousand links are laid out without recursion."""
    n = 10_000
    links = tuple(LinkElement(f"l{i}") for i in range(n))
    joints = tuple(JointElement(f"j{i}", "fixed", f"l{i}", f"l{i + 1}") for i in range(n - 1))
    assert layout(Mechanism("chain", links, joints))[f"l{n - 1}"] == (0.0, 1.0 - n)


def test_what_cannot_be_written(tmp_path, monkeypatch):
    """An unknown format, a missing folder and a missing matplotlib are named."""
    with pytest.raises(PlotError, match="cannot be written"):
        write_graph(MECHANISM, tmp_path / "no" / "tree.dot")
    pytest.importorskip("matplotlib")
    with pytest.raises(PlotError, match=r"tree\.docx: the graph cannot be written"):
        write_graph(MECHANISM, tmp_path / "tree.docx")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(PlotError, match="matplotlib"):
        write_graph(MECHANISM, tmp_path / "tree.png")


def test_joints_that_close_loops_are_drawn_once():
    """A link with two parents, or on a circle of them, hangs under the first."""
    links = tuple(LinkElement(name) for name in "abc")
    pairs = ("ab", "bc", "ac", "cb")
    joints = tuple(JointElement(pair, "revolute", pair[0], pair[1]) for pair in pairs)
    at = layout(Mechanism("ring", links, joints))
    assert len(set(at.values())) == 3
