# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The figure of the space robot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial.transform import Rotation

from robot_dynamics.app.figures import BLUE, GREY, INK, ORANGE, VERMILION, XYZ
from robot_dynamics.app.studies.two_arms import BASE, outline

if TYPE_CHECKING:
    from robot_dynamics.app.studies.space import SpaceRun

_SMALLEST = 1e-17


def draw_robot(ax: Any, robot: Any, q: Any, *, alpha: float = 1.0) -> None:
    """Draw arms, base and box from above."""
    for name, points in outline(robot, q).items():
        color = {BASE: INK, "box": VERMILION, "left": BLUE, "right": ORANGE}[name]
        arm = name in ("left", "right")
        style = {"marker": "o", "markersize": 2.5} if arm else {}
        ax.plot(points[:, 0], points[:, 1], color=color, alpha=alpha, linewidth=1.6, **style)
    ax.set_aspect("equal")
    ax.set(xlabel="x [m]", ylabel="y [m]")


def draw_space(figure: Any, robot: Any, found: SpaceRun, title: str) -> None:
    """Fill the figure of a run.

    Args:
        figure: An empty figure of matplotlib.
        robot: The robot with the satellite.
        found: The run.
        title: What kind of base it was.
    """
    axes = figure.subplots(2, 3)
    t, k = found.t, found.caught
    for i, alpha in ((0, 0.2), (k, 0.5), (len(t) - 1, 1.0)):
        draw_robot(axes[0, 0], robot, found.q[i], alpha=alpha)
    axes[0, 0].set_title(f"From above: 0, {t[k]:.0f} (catch), {t[-1]:.0f} s")
    turned = np.degrees(Rotation.from_quat(found.q[:, 3:7]).as_rotvec())
    for i, name in enumerate("xyz"):
        axes[0, 1].plot(t, turned[:, i], color=XYZ[i], label=f"turned about {name} [degrees]")
        axes[0, 1].plot(t, 100.0 * found.q[:, i], color=XYZ[i], linestyle=(0, (4, 2)),
                        linewidth=1.0, label=f"moved along {name} [cm]")  # fmt: skip
        axes[0, 2].plot(t[k:], np.degrees(found.wanted[k:, i]), color="#C9D3DC", linewidth=5.0,
                        label="wanted" if i == 0 else None)  # fmt: skip
        axes[0, 2].plot(t[k:], np.degrees(found.turned[k:, i]), color=XYZ[i], label=name)
    axes[0, 1].set_title("Base")
    axes[0, 2].set_title("Satellite in the base since the catch")
    axes[0, 2].set_ylabel("rotation vector [degrees]")
    for i, name in enumerate("xyz"):
        axes[1, 0].plot(t, found.momentum[:, i], color=XYZ[i], label=f"angular {name} [N m s]")
        axes[1, 0].plot(t, found.momentum[:, 3 + i], color=XYZ[i], linestyle=(0, (4, 2)),
                        linewidth=1.0, label=f"linear {name} [N s]")  # fmt: skip
    axes[1, 0].set_title("Momentum of all bodies")
    axes[1, 1].plot(
        t, np.linalg.norm(found.reaction[:, 3:], axis=1), color=BLUE, label="force [N]"
    )
    axes[1, 1].plot(
        t, np.linalg.norm(found.reaction[:, :3], axis=1), color=ORANGE, label="moment [N m]"
    )
    axes[1, 1].set_title("Reaction of the arms on the base")
    if np.any(found.thrust):
        _thrusters(axes[1, 2], found)
    else:
        _conserved(axes[1, 2], found)
    for ax in (axes[0, 1], axes[1, 0]):
        low, high = ax.get_ylim()
        ax.set_ylim(low - 0.35 * (high - low), high)  # room for the legend
    for ax in axes.flat[1:]:
        ax.axvline(t[k], color=GREY, linewidth=0.8, zorder=0)
        ax.set_xlabel("time [s]")
        ax.set_xlim(t[0], t[-1])
        wide = ax in (axes[0, 1], axes[1, 0])
        ax.legend(ncols=2, fontsize=7, loc="lower left") if wide else ax.legend(fontsize=7)
    figure.suptitle(f"Two arms on a {title} base catch and turn a satellite", x=0.01, ha="left")


def _thrusters(ax: Any, found: SpaceRun) -> None:
    for part, color, name in (
        (slice(3, 6), BLUE, "force [N]"),
        (slice(0, 3), ORANGE, "moment [N m]"),
    ):
        ax.plot(found.t, np.linalg.norm(found.thrust[:, part], axis=1), color=color, label=name)
    ax.set_title("Thrusters")


def _conserved(ax: Any, found: SpaceRun) -> None:
    h0, k = found.momentum[0], found.caught
    change = np.abs(found.momentum - h0)
    for part, color, name in ((slice(0, 3), BLUE, "angular"), (slice(3, 6), ORANGE, "linear")):
        drift = np.max(change[:, part], axis=1) / np.linalg.norm(h0[part])
        ax.semilogy(found.t, np.maximum(drift, _SMALLEST), color=color, label=f"{name} momentum")
    base = found.qd[:k, :6]
    off = np.max(np.abs(base - found.predicted), axis=1) / np.max(np.abs(base))
    label = "base velocity by $-J_D \\dot q$"
    ax.semilogy(found.t[:k], np.maximum(off, _SMALLEST), color=INK, label=label)
    ax.axhline(1e-9, color=GREY, linestyle=(0, (5, 3)), linewidth=1.0)
    ax.set_title("Relative change, and error of prediction")
