# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Content of the page in the browser: charts, legend, and the state at an instant."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

import numpy as np

from robot_dynamics.app.pictures.charts import Chart
from robot_dynamics.app.pictures.figures import GREEN, GREY, INK, ORANGE, VERMILION
from robot_dynamics.app.pictures.legend import LegendEntry, clock, legend
from robot_dynamics.app.pictures.visual_scene import ShownContact, VisualScene
from robot_dynamics.arrays import Array

_HIGH, _FULL = 0.7, 0.95  # parts of a limit from which a bar is amber, and red
_CHART = 120  # height of a chart [pixels]
_SHADE = f"{INK}14"  # phases of a task, every other one
# The page creates charts of width zero, without numbers at the axis of time. It computes them anew
# only if the last time changes, here by as much in every second drawing [s].
_NUDGE = 1e-6
_TICKS = {"ticks": {"size": 4, "width": 1}, "gap": 3}
_STYLE = "font-size:11px;padding:4px 12px"


class PageCharts:
    """Charts in a panel at the left, with a line at the time that is shown.

    Args:
        gui: Viser's interface.
        charts: The charts; without any there is no panel.
        width: Of the panel [pixels].
    """

    def __init__(self, gui: Any, charts: Sequence[Chart], width: int) -> None:
        self._handles: list[tuple[Any, Any]] = []
        self._nudge = 0.0
        if not charts:
            return
        panel = gui.add_panel()
        with panel.add_tab("plots over time [s]"):
            for chart in charts:
                title = gui.add_html(_chart_title(chart))
                self._handles.append(
                    (
                        title,
                        gui.add_uplot(
                            _chart_data(chart, float(chart.times[0])),
                            _chart_series(chart),
                            scales=_scales(chart),
                            axes=({"size": 26, **_TICKS}, {"size": 52, **_TICKS}),
                            legend={"show": False},
                            height=_CHART,
                            padding=(8, 12, 0, 0),
                        ),
                    )
                )
        panel.dock_left()
        panel.set_width(width)

    def show(self, charts: Sequence[Chart], time: float) -> None:
        """Draw charts, of the same curves as at first, and the line at a time [s]."""
        self._nudge = _NUDGE - self._nudge
        for (title, handle), chart in zip(self._handles, charts, strict=False):
            times, *series = _chart_data(chart, time)
            times[-1] += self._nudge
            handle.data = (times, *series)
            if title.content != _chart_title(chart):
                title.content = _chart_title(chart)


def _scales(chart: Chart) -> dict[str, Any]:
    """Return uPlot's scales; a range that changes would make it draw a new chart each time."""
    y = {} if chart.fixed is None else {"range": chart.fixed}
    return {"x": {"time": False}, "y": y, "part": {"range": (0.0, 1.0)}}


def _chart_title(chart: Chart) -> str:
    named = "".join(
        f' <span style="color:{curve.color[:7]};white-space:nowrap">&#9644; '
        f"{html.escape(curve.label)}</span>"
        for curve in chart.curves
        if curve.label
    )
    title = f"<b>{html.escape(chart.title)}</b> {html.escape(chart.unit)}"
    return f'<div style="{_STYLE};padding-bottom:0">{title}<br>{named}</div>'


def _chart_series(chart: Chart) -> tuple[dict[str, Any], ...]:
    """Return uPlot's series: time, shaded spans, limits, curves, and the line at the time."""
    limit = {"stroke": VERMILION, "width": 1, "dash": (5, 3)}
    curves = [
        {"stroke": one.color, "width": one.width, "dash": one.dash or None} for one in chart.curves
    ]
    series: list[dict[str, Any]] = [
        {"stroke": "transparent", "fill": _SHADE, "scale": "part"},
        *[limit for _ in chart.levels],
        *curves,
        {"stroke": INK, "width": 1, "scale": "part"},
    ]
    return {"label": "time [s]"}, *({**one, "points": {"show": False}} for one in series)


def _chart_data(chart: Chart, time: float) -> tuple[Array, ...]:
    """Return the values of the series.

    At the time there are three points of the same time, between which the last series goes up and
    back: the vertical line. It and the shade are in parts of the chart's height.
    """
    at = int(np.searchsorted(chart.times, time))
    nearest = min(at, len(chart.times) - 1)
    shade = chart.shaded().astype(float)
    levels = [np.full(len(chart.times), level) for level in chart.levels]
    curves = [curve.values for curve in chart.curves]
    series = [np.insert(one, at, [one[nearest]] * 3) for one in (shade, *levels, *curves)]
    line = np.insert(np.zeros(len(chart.times)), at, [0.0, 1.0, 0.0])
    return np.insert(chart.times, at, [time] * 3), *series, line


def legend_html(scene: VisualScene, *, pushes: bool, frames: bool) -> str:
    """Return the legend of a scene.

    Args:
        scene: The scene.
        pushes: Whether the mouse can push bodies.
        frames: Whether axes of frames can be shown.
    """
    rows = [_symbol(entry) + html.escape(entry.text) for entry in legend(scene, pushes=pushes)]
    if frames:
        axes = zip("xyz", ("#FF0000", "#00A000", "#0000FF"), strict=True)
        letters = " ".join(f'<b style="color:{color}">{axis}</b>' for axis, color in axes)
        rows.append(f"{letters} axes of frames")
    if pushes:
        rows.append("Drag a body to push it, the background to turn the view.")
    return f'<div style="{_STYLE};line-height:1.6">{"<br>".join(rows)}</div>'


def _symbol(entry: LegendEntry) -> str:
    r, g, b = (round(255.0 * one) for one in entry.color[:3])
    color = f"rgba({r},{g},{b},{entry.color[3]:.2f})"
    if entry.kind == "arrow":
        return f'<b style="color:{color};font-size:14px;line-height:1">&#10140;</b> '
    box = "display:inline-block;width:12px;height:9px;margin-right:3px;border:1px solid #666"
    return f'<span style="{box};background:{color}"></span> '


def state_html(scene: VisualScene, instant: int) -> str:
    """Return time, phase and contacts at an instant."""
    rows = [f'<b style="font-size:15px;white-space:pre">{html.escape(clock(scene, instant))}</b>']
    if scene.contacts:
        rows.append("<div><b>contacts, normal force</b></div>")
        rows += [_contact(one, instant) for one in scene.contacts]
    return f'<div style="{_STYLE}">{"".join(rows)}</div>'


def bars_html(scene: VisualScene, instant: int) -> str:
    """Return bars of torques and friction at an instant."""
    rows = []
    if scene.joints:
        rows.append("<b>torque, % of the limit</b>")
        rows += [_bar(*one) for one in zip(scene.joints, scene.torques[instant], strict=True)]
    if scene.arms:
        rows.append("<b>friction used, %</b>")
        rows += [_bar(*one) for one in zip(scene.arms, scene.friction[instant], strict=True)]
    return f'<div style="{_STYLE}">{"".join(rows)}</div>'


def _contact(contact: ShownContact, instant: int) -> str:
    touching, force = contact.touching[instant], contact.force[instant]
    state = f"{force:.1f} N" if touching else "apart"
    color = GREEN if touching else GREY
    return (
        '<div style="display:flex;align-items:center;height:15px">'
        f'<span style="width:45%;overflow:hidden">{html.escape(contact.name)}</span>'
        f'<span style="color:{color};width:15px">&#9679;</span><span>{state}</span></div>'
    )


def _bar(name: str, share: float) -> str:
    known = bool(np.isfinite(share))
    part = abs(float(share)) if known else 0.0
    color = VERMILION if part > _FULL else ORANGE if part > _HIGH else GREEN
    text = str(round(100.0 * float(share))) if known else "no limit"
    return (
        '<div style="display:flex;align-items:center;height:15px">'
        f'<span style="width:45%;overflow:hidden">{html.escape(name)}</span>'
        '<span style="width:40%;background:#ddd;height:8px">'
        f'<span style="display:block;height:8px;width:{100.0 * min(part, 1.0):.0f}%;'
        f'background:{color}"></span></span>'
        f'<span style="width:15%;text-align:right">{text}</span></div>'
    )
