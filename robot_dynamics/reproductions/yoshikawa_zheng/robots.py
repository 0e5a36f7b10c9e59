# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The paper's two robots (Table 1) and the bar between them, as mechanisms and as numbers.

Each robot is a parallelogram in a horizontal plane: link 0 and crank 1 turn about the base, link 2
joins the crank to the rear end 3 of the forearm 4. Its drives turn link 0 and the crank; their
angles are the angles of link 0 and of the forearm in the plane.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.manipulation.hybrid import (
    Contact,
    Environment,
    ForceDistribution,
    HybridSystem,
    ObjectPose,
)
from robot_dynamics.model import JointElement, LinkElement, LoopElement, Mechanism, build, pose
from robot_dynamics.reproductions.yoshikawa_zheng.pinned_bar import Bar, PlanarArm, joint_state
from robot_dynamics.scalar.functions import atan2
from robot_dynamics.spatial import Scalar

LENGTH = (0.128, 0.050, 0.128, 0.050, 0.063)  # of links 0 to 4 [m]
CENTER = (0.068, 0.030, 0.064, 0.025, 0.040)  # of mass, from the link's joint [m]
_SIDES = ("left", "right")
_BASE = 0.13  # of the robots from the middle [m]; the paper is silent
PIN, TIP = 0.08, 0.03  # of pins and of the contact point from the bar's middle [m], likewise


@dataclass(frozen=True)
class Inertias:
    """Masses and moments of inertia in the law.

    Attributes:
        mass: Masses of links 0 to 4 of each robot (2, 5) [kg].
        moment: Moments about their centres of mass (2, 5) [kg m^2].
        bar_mass: Mass of the bar [kg].
        bar_moment: Moment of the bar [kg m^2].
    """

    mass: Array
    moment: Array
    bar_mass: float
    bar_moment: float

    @classmethod
    def of_paper(cls) -> Inertias:
        """Return the inertias of Table 1 and of the bar."""
        mass = np.array([29.0, 19.5, 28.5, 23.9, 30.0]) * 1e-3
        moment = np.array([16.40, 6.24, 8.96, 0.75, 5.00]) * 1e-5
        return cls(np.tile(mass, (2, 1)), np.tile(moment, (2, 1)), 0.03, 14.4e-5)

    def scaled(self, factor: float) -> Inertias:
        """Return all inertias times a factor."""
        return Inertias(
            factor * self.mass, factor * self.moment, factor * self.bar_mass,
            factor * self.bar_moment,
        )  # fmt: skip

    def drawn(self, seed: int, part: float = 0.2) -> Inertias:
        """Return inertias with independent random errors of up to a part."""
        factors = 1.0 + part * np.random.default_rng(seed).uniform(-1.0, 1.0, 22)
        return Inertias(
            self.mass * factors[:10].reshape(2, 5),
            self.moment * factors[10:20].reshape(2, 5),
            self.bar_mass * float(factors[20]),
            self.bar_moment * float(factors[21]),
        )

    def in_closed_form(self, side: int) -> tuple[float, float, float]:
        """Return M11, M22 and R of a robot's equations of motion, the paper's A, B, R and I_i."""
        m, I, l, g = self.mass[side], self.moment[side], LENGTH, CENTER
        A = m[0] * g[0] ** 2 + m[2] * g[2] ** 2 + m[3] * l[0] ** 2 + m[4] * l[0] ** 2
        B = m[1] * g[1] ** 2 + m[2] * l[1] ** 2 + m[3] * g[3] ** 2 + m[4] * g[4] ** 2
        R = m[2] * l[1] * g[2] + m[3] * l[0] * g[3] - m[4] * l[0] * g[4]
        return float(A + I[0] + I[2]), float(B + I[1] + I[3] + I[4]), float(R)


def planar_arms(inertias: Inertias) -> tuple[PlanarArm, PlanarArm]:
    """Return both robots in closed form, elbows outward."""
    left, right = (
        PlanarArm(
            *inertias.in_closed_form(side),
            upper=LENGTH[0],
            fore=LENGTH[4],
            base=(_BASE * sign, 0.0),
            elbow=-sign,
        )
        for side, sign in ((0, -1.0), (1, 1.0))
    )
    return left, right


def bar(inertias: Inertias) -> Bar:
    """Return the bar."""
    return Bar(inertias.bar_mass, inertias.bar_moment, pin=PIN, tip=TIP)


def linkages(inertias: Inertias) -> Mechanism:
    """Return both robots as five links each with a closed loop, on one base."""
    links, joints, loops = [LinkElement("base")], [], []
    back = np.diag([-1.0, -1.0, 1.0])  # half a turn about z
    for side, (name, sign) in enumerate(zip(_SIDES, (-1.0, 1.0), strict=True)):
        m, I = inertias.mass[side], inertias.moment[side]

        def rod(i: int, direction: float = 1.0, m: Array = m, I: Array = I) -> dict[str, object]:
            center = (direction * CENTER[i], 0.0, 0.0)
            return {"mass": m[i], "center": center, "inertia": np.diag([0.0, I[i], I[i]])}

        base = pose((_BASE * sign, 0.0, 0.0))
        chain = [
            ("link0", "base", "revolute", base, rod(0)),
            ("crank", "base", "revolute", base @ pose(rotation=back), rod(1)),
            ("link2", "crank", "revolute", pose((LENGTH[1], 0.0, 0.0)), rod(2)),
            ("forearm", "link0", "revolute", pose((LENGTH[0], 0.0, 0.0)), rod(4)),
            ("rear", "forearm", "fixed", pose(), rod(3, -1.0)),
            ("tip", "forearm", "fixed", pose((LENGTH[4], 0.0, 0.0)), {}),
        ]
        for link, parent, kind, at, body in chain:
            on = parent if parent == "base" else f"{name}_{parent}"
            links.append(LinkElement(f"{name}_{link}", **body))  # type: ignore[arg-type]
            active = link in ("link0", "crank") if kind == "revolute" else None
            own = f"{name}_{link}"
            joints.append(JointElement(f"{own}_joint", kind, on, own, at, active=active))
        # A pin that does not hold along its axis, along which there is no motion in the plane.
        loops.append(
            LoopElement(
                f"{name}_pin",
                "point_on_line",
                f"{name}_link2",
                f"{name}_rear",
                pose((LENGTH[2], 0.0, 0.0)),
                pose((-LENGTH[3], 0.0, 0.0)),
            )
        )
    return Mechanism("two parallelograms", tuple(links), tuple(joints), tuple(loops))


@dataclass(frozen=True)
class Hand:
    """The law's model: two linkages, the bar on two pins, free or with its tip on a wall.

    Attributes:
        system: With the bar in contact, or free.
        distribution: Least forces for a wrench in the plane; internal force squeezes the bar.
        arms: Both robots in closed form, for the positions of joints.
        bar: The bar.
    """

    system: HybridSystem
    distribution: ForceDistribution
    arms: tuple[PlanarArm, PlanarArm]
    bar: Bar

    @classmethod
    def of(cls, inertias: Inertias, wall: float | None) -> Hand:
        """Return the model with some inertias.

        Args:
            inertias: Inertias of the law.
            wall: Position of the wall, y [m]; None for a free bar.
        """
        arms = build(linkages(inertias), gravity=(0.0, 0.0, 0.0))
        held = LinkElement("bar", inertias.bar_mass, inertia=np.eye(3) * inertias.bar_moment)
        forces = np.eye(6)[:, 3:5]  # a pin in the plane: forces along x and y
        contacts = tuple(Contact.of_directions(forces, pose((x, 0.0, 0.0))) for x in (-PIN, PIN))
        system = HybridSystem(
            arms,
            tuple(f"{name}_tip" for name in _SIDES),
            held,
            contacts,
            in_plane(wall),
            tuple(f"{name}_{link}_joint" for name in _SIDES for link in ("link0", "crank")),
        )
        return cls(system, squeeze(system), planar_arms(inertias), bar(inertias))

    def with_wall(self, wall: float | None) -> Hand:
        """Return the same model with another wall, or without one."""
        return replace(self, system=replace(self.system, environment=in_plane(wall)))

    def joint_positions(self, r: Array, rd: Array) -> tuple[Array, Array]:
        """Return positions and velocities (8,) of all joints at x, y, phi and their rates (3,)."""
        model = self.system.arms
        q, qd = np.zeros(model.nq), np.zeros(model.nv)
        angles, rates = joint_state(self.arms, self.bar, r, rd)
        for side, name in enumerate(_SIDES):
            (a, b), (da, db) = angles[2 * side : 2 * side + 2], rates[2 * side : 2 * side + 2]
            values = {
                "link0": (a, da),
                "crank": (b, db),
                "link2": (a - b - np.pi, da - db),
                "forearm": (b - a, db - da),
            }
            for link, (position, velocity) in values.items():
                at = model.joint_index(f"{name}_{link}_joint")
                q[at], qd[at] = position, velocity
        return q, qd


@cache  # its derivatives are compiled once
def in_plane(wall: float | None) -> Environment:
    """Return a wall at y = `wall` [m] for the bar's tip, and the remaining coordinates.

    The paper's coordinates come first, x, phi with the wall and x, y, phi without, then height and
    tilts, along which no force acts.
    """

    def x(at: ObjectPose) -> Scalar:
        return at.x.x

    def y(at: ObjectPose) -> Scalar:
        return at.x.y

    def phi(at: ObjectPose) -> Scalar:
        return atan2(at.R.rows[1][0], at.R.rows[0][0])

    def surface(at: ObjectPose) -> Scalar:
        return at.point((0.0, TIP, 0.0)).y - (wall or 0.0)

    still = (
        lambda at: at.x.z,
        lambda at: at.R.rows[2][0],
        lambda at: at.R.rows[2][1],
    )
    if wall is None:
        return Environment((), (x, y, phi, *still))
    return Environment((surface,), (x, phi, *still))


def squeeze(system: HybridSystem) -> ForceDistribution:
    """Return the least forces for a wrench in the plane, and A = [e; -e]: the pins push inward."""
    W = system.constant_wrench_map[2:5]  # moment about z and forces along x and y
    share = np.zeros((4, 6))
    share[:, 2:5] = W.T @ np.linalg.inv(W @ W.T)
    inward = np.array([[1.0], [0.0], [-1.0], [0.0]])
    return ForceDistribution.of(system.constant_wrench_map, share, inward, names=("squeeze",))
