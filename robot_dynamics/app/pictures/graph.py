# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The connectivity graph of a mechanism: the tree of links, and the loops across it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from robot_dynamics.app.output_files import whole_file
from robot_dynamics.app.pictures.figures import (
    BLUE,
    GREY,
    INK,
    VERMILION,
    PlotError,
    require_matplotlib,
)
from robot_dynamics.model.elements import JointElement, LinkElement, LoopElement, Mechanism

#: Suffixes of texts for Graphviz.
DOT = (".dot", ".gv")
_ROW, _LANE = 0.95, 0.22  # inch: height of a generation, and of a loop joint below the tree
_LARGEST = 60.0  # inch
_LETTER = 0.009  # inch: widest usual width of a letter, for each point of its height
_LINK_SIZE, _JOINT_SIZE = 7.0, 6.0  # points


def write_graph(mechanism: Mechanism, path: str | Path) -> Path:
    """Write the connectivity graph of a mechanism.

    Args:
        mechanism: The elements.
        path: The file; with the suffix .dot as a text for Graphviz, otherwise as a picture in a
            format that matplotlib knows by its suffix.

    Raises:
        PlotError: If it cannot be written, or matplotlib is needed and not there.
    """
    path = Path(path)
    figure = None if path.suffix.lower() in DOT else draw_graph(mechanism)
    with whole_file(path, PlotError) as part:
        if figure is None:
            part.write_text(dot_text(mechanism), encoding="utf-8")
        else:
            figure.savefig(part, dpi=120)
    return path


def dot_text(mechanism: Mechanism) -> str:
    """Return the graph in Graphviz' language: links as boxes, joints as arrows."""
    lines = [f"digraph {_quoted(mechanism.name)} {{", "  node [shape=box, style=rounded];"]
    for link in mechanism.links:
        lines.append(f"  {_quoted(link.name)} [label={_quoted(_label(link))}];")
    for joint in mechanism.joints:
        style = "color=gray" if joint.type == "fixed" else f'color="{BLUE}"'
        lines.append(_arrow(joint.parent, joint.child, f"{joint.name}\n{joint.type}", style))
    for loop in _closing(mechanism):
        style = f'color="{VERMILION}", style=dashed, constraint=false'
        label = f"{loop.name}\n{loop.type}"
        lines.append(_arrow(loop.predecessor, loop.successor, label, style))
    return "\n".join([*lines, "}", ""])


def _label(link: LinkElement) -> str:
    return f"{link.name}\n{link.mass:.4g} kg" if link.mass else link.name


def _closing(mechanism: Mechanism) -> list[LoopElement]:
    """Return the loop joints, and gears from driver to follower as loops."""
    carried = {joint.name: joint.child for joint in mechanism.joints}
    gears = [
        LoopElement(coupling.name, "gear", carried[driver], carried[coupling.terms[0][0]])
        for coupling in mechanism.couplings
        for driver, _ in coupling.terms[1:]
    ]
    return [*mechanism.loops, *gears]


def layout(mechanism: Mechanism) -> dict[str, tuple[float, float]]:
    """Return the place of each link: x counts leaves, y is minus the number of joints above."""
    children: dict[str, list[JointElement]] = {link.name: [] for link in mechanism.links}
    for joint in mechanism.joints:
        children[joint.parent].append(joint)
    places: dict[str, tuple[float, float]] = {}
    leaves = 0.0
    # Not recursive: a chain may be longer than Python's stack. A link is placed over its children
    # at its second visit.
    pending = [(mechanism.root, 0, False)]
    met: set[str] = set()
    while pending:
        link, depth, below_done = pending.pop()
        if link in met and not below_done:  # by a joint that closes a loop
            continue
        met.add(link)
        if not children[link]:
            places[link] = (leaves, -float(depth))
            leaves += 1.0
        elif below_done:
            xs = [places[joint.child][0] for joint in children[link] if joint.child in places]
            if not xs:
                xs = [leaves]
                leaves += 1.0
            places[link] = (0.5 * (min(xs) + max(xs)), -float(depth))
        else:
            pending.append((link, depth, True))
            pending += [(joint.child, depth + 1, False) for joint in reversed(children[link])]
    return places


def draw_graph(mechanism: Mechanism) -> Any:
    """Return the graph as a figure of matplotlib.

    Raises:
        PlotError: If matplotlib is not there.
    """
    require_matplotlib()
    from matplotlib.figure import Figure

    at = layout(mechanism)
    column = _column_width(mechanism)
    columns = 1.0 + max(x for x, _ in at.values())
    rows = 1.0 - min(y for _, y in at.values())
    closing = _closing(mechanism)
    lanes = 0.4 + _LANE * len(closing)
    # In inches, with the origin at the middle of the root's row. A picture of a very large tree is
    # as large as printers take; its names overlap then.
    labels = [f"{loop.name} ({loop.type})" for loop in closing]
    beside = _LETTER * _JOINT_SIZE * max(map(len, labels), default=0)
    width, height = column * (columns + 0.2) + beside, _ROW * rows + lanes
    figure = Figure(figsize=(min(width, _LARGEST), min(height, _LARGEST)))
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    axes.set_xlim(-0.6 * column, width - 0.6 * column)
    axes.set_ylim(0.5 * _ROW - height, 0.5 * _ROW)
    place = {link: (column * x, _ROW * y) for link, (x, y) in at.items()}
    for joint in mechanism.joints:
        _draw_joint(axes, joint, place)
    used: dict[float, int] = {}
    for number, loop in enumerate(closing):
        lane = -_ROW * (rows - 0.5) - 0.1 - _LANE * number
        ends = [
            (*place[link], _gutter(at[link][0], column, used))
            for link in (loop.predecessor, loop.successor)
        ]
        box = _LETTER * _LINK_SIZE * max(len(loop.successor), 4) + 0.1
        _draw_loop(axes, labels[number], ends, lane, 0.5 * box)
    for link in mechanism.links:
        axes.annotate(
            _label(link), place[link.name], ha="center", va="center", fontsize=_LINK_SIZE,
            color=INK, zorder=3,
            bbox={"boxstyle": "round", "facecolor": "white", "edgecolor": INK},
        )  # fmt: skip
    return figure


def _column_width(mechanism: Mechanism) -> float:
    """Return the distance of columns [inch] at which no name reaches into the next column."""
    sizes = [_LINK_SIZE * len(link.name) for link in mechanism.links]
    sizes += [_JOINT_SIZE * len(joint.name) for joint in mechanism.joints]
    return max(0.9, _LETTER * max(sizes) + 0.4)


def _draw_joint(axes: Any, joint: JointElement, place: dict[str, tuple[float, float]]) -> None:
    """Draw a joint as a line that comes down on its child, with its name there.

    Names are over the child, so that each sibling has a separate column.
    """
    (x0, y0), (x1, y1) = place[joint.parent], place[joint.child]
    color = GREY if joint.type == "fixed" else BLUE
    branch = y0 - 0.28 * _ROW
    axes.plot([x0, x0, x1, x1], [y0, branch, branch, y1], color=color, linewidth=1.2, zorder=1)
    axes.annotate(
        f"{joint.name}\n{joint.type}", (x1, 0.5 * (branch + y1) + 0.03), ha="center", va="center",
        fontsize=_JOINT_SIZE, color=color, zorder=2,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
    )  # fmt: skip


def _gutter(x: float, column: float, used: dict[float, int]) -> float:
    """Return the x coordinate [inch] of a vertical line beside a link."""
    middle = math.floor(x) + 0.5
    used[middle] = used.get(middle, 0) + 1
    # Lines in one gutter are beside each other, alternating left and right of its middle.
    aside = 0.05 * (used[middle] // 2) * (-1) ** used[middle]
    return column * middle + aside


def _draw_loop(
    axes: Any, label: str, ends: Sequence[tuple[float, float, float]], lane: float, half: float
) -> None:
    """Draw a loop joint: down beside its predecessor, along a lane below all, up to the successor.

    Args:
        axes: Axes of the figure.
        label: The text on the lane.
        ends: For predecessor and successor the place of the link, and of the vertical line.
        lane: Place of the horizontal line; every loop has a separate one.
        half: Half the width of the successor's box [inch], where the arrow ends.
    """
    (x0, y0, down), (x1, y1, up) = ends
    style = {"linestyle": (0, (4, 2)), "color": VERMILION, "linewidth": 1.0, "zorder": 1}
    axes.plot([x0, down, down, up, up], [y0, y0, lane, lane, y1], **style)
    axes.annotate(
        "", (x1, y1), (up, y1), zorder=4,
        arrowprops={"arrowstyle": "->", "color": VERMILION, "shrinkA": 0, "shrinkB": 72.0 * half},
    )  # fmt: skip
    # If both ends are beside one column, there is no room between them.
    apart = abs(down - up) > 1.0
    at, align = (0.5 * (down + up), "center") if apart else (max(down, up) + 0.08, "left")
    axes.annotate(
        label, (at, lane), ha=align, va="center", fontsize=_JOINT_SIZE,
        color=VERMILION, zorder=2, bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
    )  # fmt: skip


def _arrow(tail: str, head: str, label: str, style: str) -> str:
    return f"  {_quoted(tail)} -> {_quoted(head)} [label={_quoted(label)}, {style}];"


def _quoted(text: str) -> str:
    escaped = text.replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
