# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A picture of what hangs on what: the tree of links, and the loops across it."""

from __future__ import annotations

from pathlib import Path

from robot_dynamics.app.plots import PlotError, require_matplotlib
from robot_dynamics.model.elements import JointElement, Mechanism

# Okabe and Ito's colours, which people with impaired colour vision can tell apart.
_INK, _FIXED, _TREE, _LOOP = "#222222", "#9A9A9A", "#0072B2", "#D55E00"


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
    if path.suffix.lower() in (".dot", ".gv"):
        try:
            path.write_text(dot_text(mechanism), encoding="utf-8")
        except OSError as error:
            raise PlotError(f"{path}: the graph cannot be written ({error.strerror}).") from error
        return path
    return _draw(mechanism, path)


def dot_text(mechanism: Mechanism) -> str:
    """Return the graph in Graphviz' language: links as boxes, joints as arrows."""
    lines = [f"digraph {_quoted(mechanism.name)} {{", "  node [shape=box, style=rounded];"]
    for link in mechanism.links:
        label = f"{link.name}\n{link.mass:.4g} kg" if link.mass else link.name
        lines.append(f"  {_quoted(link.name)} [label={_quoted(label)}];")
    for joint in mechanism.joints:
        style = "color=gray" if joint.type == "fixed" else 'color="#0072B2"'
        lines.append(_arrow(joint.parent, joint.child, f"{joint.name}\n{joint.type}", style))
    for loop in mechanism.loops:
        style = 'color="#D55E00", style=dashed, constraint=false'
        label = f"{loop.name}\n{loop.type}"
        lines.append(_arrow(loop.predecessor, loop.successor, label, style))
    return "\n".join([*lines, "}", ""])


def layout(mechanism: Mechanism) -> dict[str, tuple[float, float]]:
    """Return where each link is drawn: x counts leaves, y is minus the number of joints above."""
    children: dict[str, list[JointElement]] = {link.name: [] for link in mechanism.links}
    for joint in mechanism.joints:
        children[joint.parent].append(joint)
    places: dict[str, tuple[float, float]] = {}
    leaves = 0.0
    # Not recursive: a chain may be longer than Python's stack. A link is placed over its
    # children, when it is met for the second time.
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


def _draw(mechanism: Mechanism, path: Path) -> Path:
    require_matplotlib()
    from matplotlib.figure import Figure

    at = layout(mechanism)
    width = 1.0 + max(x for x, _ in at.values())
    height = 1.0 - min(y for _, y in at.values())
    # A picture of a very large tree is as large as printers take; its names overlap then.
    figure = Figure(figsize=(min(3.0 + 1.6 * width, 60.0), min(1.0 + 1.0 * height, 60.0)))
    axes = figure.add_axes((0.02, 0.02, 0.96, 0.96))
    axes.set_axis_off()
    axes.set_xlim(-0.8, width - 0.2)
    axes.set_ylim(-height + 0.4, 0.6)
    for joint in mechanism.joints:
        (x0, y0), (x1, y1) = at[joint.parent], at[joint.child]
        color = _FIXED if joint.type == "fixed" else _TREE
        axes.plot([x0, x1], [y0, y1], color=color, linewidth=1.2, zorder=1)
        label = f"{joint.name}\n{joint.type}"
        middle = (0.5 * (x0 + x1), 0.5 * (y0 + y1))
        axes.annotate(
            label, middle, ha="center", va="center", fontsize=6.0, color=color, zorder=2,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
        )  # fmt: skip
    for number, loop in enumerate(mechanism.loops):
        bend = 0.3 if at[loop.successor][0] > at[loop.predecessor][0] else -0.3  # downwards
        axes.annotate(
            "",
            at[loop.successor],
            at[loop.predecessor],
            zorder=1,
            arrowprops={
                "arrowstyle": "->", "linestyle": "--", "color": _LOOP, "shrinkA": 12,
                "shrinkB": 12, "connectionstyle": f"arc3,rad={bend}",
            },
        )  # fmt: skip
        x, y = at[loop.predecessor]
        before = [other.predecessor for other in mechanism.loops[:number]]
        below = 0.3 + 0.2 * before.count(loop.predecessor)
        label = f"{loop.name} ({loop.type})"
        axes.annotate(
            label, (x, y - below), ha="center", va="center", fontsize=6.0, color=_LOOP, zorder=2
        )
    for link in mechanism.links:
        label = f"{link.name}\n{link.mass:.4g} kg" if link.mass else link.name
        axes.annotate(label, at[link.name], ha="center", va="center", fontsize=7.0, color=_INK,
                      bbox={"boxstyle": "round", "facecolor": "white", "edgecolor": _INK},
                      zorder=3)  # fmt: skip
    try:
        figure.savefig(path, dpi=120)
    except (OSError, ValueError) as error:
        raise PlotError(f"{path}: the graph cannot be written ({error}).") from error
    return path


def _arrow(tail: str, head: str, label: str, style: str) -> str:
    return f"  {_quoted(tail)} -> {_quoted(head)} [label={_quoted(label)}, {style}];"


def _quoted(text: str) -> str:
    escaped = text.replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
