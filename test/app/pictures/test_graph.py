# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The connectivity graph of a mechanism as a picture and as a text."""

import itertools
import sys

import pytest
from support import linkages

from robot_dynamics.app.pictures.figures import PlotError
from robot_dynamics.app.pictures.graph import dot_text, draw_graph, layout, write_graph
from robot_dynamics.model import (
    CouplingElement,
    JointElement,
    LinkElement,
    LoopElement,
    Mechanism,
)

MECHANISM = linkages.stewart_platform()


def test_picture(tmp_path):
    """A mechanism with loops is drawn into an image of some size."""
    pytest.importorskip("matplotlib")
    path = write_graph(MECHANISM, tmp_path / "tree.png")
    assert path.read_bytes().startswith(b"\x89PNG")
    assert path.stat().st_size > 20_000  # an empty figure is far smaller


def two_arms():
    """Return two arms with grippers that hold a box."""
    links = [LinkElement("world"), LinkElement("box", 8.0)]
    joints = [JointElement("world_to_box", "floating", "world", "box")]
    loops = []
    for side in ("left", "right"):
        chain = ["world", *(f"{side}_arm_link{i}" for i in range(7)), f"{side}_gripper_hand"]
        links += [LinkElement(name, 1.0) for name in chain[1:]]
        links += [LinkElement(f"{side}_gripper_{which}_finger") for which in ("left", "right")]
        pairs = [*itertools.pairwise(chain)]
        pairs += [(chain[-1], link.name) for link in links[-2:]]
        joints += [JointElement(f"{b}_joint", "revolute", a, b) for a, b in pairs]
        loops.append(LoopElement(f"{side}_grasp_of_the_box", "fixed", chain[-1], "box"))
    return Mechanism("cell", tuple(links), tuple(joints), tuple(loops))


@pytest.mark.parametrize("mechanism", [MECHANISM, linkages.four_bar(), two_arms()])
def test_no_two_labels_overlap(mechanism):
    """Every name of a link, a joint and a loop can be read, and lies inside the picture."""
    pytest.importorskip("matplotlib")
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = draw_graph(mechanism)
    FigureCanvasAgg(figure).draw()
    texts = [text for text in figure.axes[0].texts if text.get_text()]
    wanted = len(mechanism.links) + len(mechanism.joints) + len(mechanism.loops)
    assert len(texts) == wanted
    boxes = [text.get_window_extent() for text in texts]
    for i, box in enumerate(boxes):
        assert figure.bbox.contains(*box.min)
        assert figure.bbox.contains(*box.max)
        for j in range(i):
            assert not box.overlaps(boxes[j]), (texts[i].get_text(), texts[j].get_text())


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


def test_a_file_that_cannot_be_written(tmp_path, monkeypatch):
    """An unknown format, a missing folder and a missing matplotlib are named."""
    with pytest.raises(PlotError, match="cannot be written"):
        write_graph(MECHANISM, tmp_path / "no" / "tree.dot")
    pytest.importorskip("matplotlib")
    with pytest.raises(PlotError, match=r"tree\.docx: cannot be written"):
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


def test_gears_are_drawn_from_driver_to_follower():
    """Between the links that the joints carry, in the text and in the picture."""
    links = tuple(LinkElement(name) for name in ("base", "left", "right"))
    joints = tuple(
        JointElement(f"{link.name}_joint", "prismatic", "base", link.name) for link in links[1:]
    )
    gear = CouplingElement.gear("grip", "right_joint", "left_joint")
    hand = Mechanism("hand", links, joints, (), (gear,))
    assert '"left" -> "right" [label="grip\\ngear"' in dot_text(hand)
    words = [text.get_text() for text in draw_graph(hand).axes[0].texts]
    assert "grip (gear)" in words
