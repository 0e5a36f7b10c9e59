# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Where solids touch at some positions, by MuJoCo's collision detection.

Each contact has as many slots as it may have points. A point stays in the slot that it had, so
that its force can go on from that of the step before: of the points of a contact each takes the
slot whose last place is nearest. A slot without a point is infinitely far away.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from lxml import etree
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.spatial.transform import Rotation

from robot_dynamics.compile import load_kernel, trace
from robot_dynamics.contact.shapes import ShapeContact, Solid
from robot_dynamics.dynamics.kinematics import body_transforms, joint_transforms
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model import WORLD, Model, pose, pose_of

Array = NDArray[np.float64]

#: Points farther apart than this [m] are not looked for: what comes nearer by more than this in a
#: single time step is seen when it is in already, and pushed out by the correction of positions.
MARGIN = 0.01
_FREE, _NO_SLOT = 1e3, 1e5  # coordinates of slots that had no point, and of none [m]
# Of MuJoCo: before it, convex bodies that are apart had other points than those that touch.
_OLDEST = (3, 17)
_TOLERANCE = "1e-10"  # of convex distances [m]


class Manifolds:
    """`(q, v, h, last) -> (n, 7)`: gap, place and normal of each slot, in the world.

    They are those of the middle of a step of length h, where the velocity v at its start leads.
    The normal is unit and points to the first solid.

    Args:
        model: The mechanism.
        contacts: What may touch.

    Raises:
        RobotDynamicsError: If MuJoCo is not installed or refuses a solid.
    """

    def __init__(self, model: Model, contacts: Sequence[ShapeContact]) -> None:
        mujoco = _import_mujoco()
        ends = np.cumsum([0, *(one.points for one in contacts)]).tolist()
        self.count: int = ends[-1]
        self._room = [one.points for one in contacts]
        # Slots of each contact, filled up with one that is none.
        self._slots = np.full((len(contacts), max(self._room)), self.count)
        for own, first, room in zip(self._slots, ends[:-1], self._room, strict=True):
            own[:room] = first + np.arange(room)
        solids = [solid for one in contacts for solid in (one.first, one.second)]
        links = [model.link(solid.link) for solid in solids]
        self._bodies = sorted({link.body for link in links} - {WORLD})
        # The last pose is that of the world.
        row = {body: i for i, body in enumerate([*self._bodies, WORLD])}
        self._of = np.array([row[link.body] for link in links])
        try:
            self._model = mujoco.MjModel.from_xml_string(_document(contacts))
        except ValueError as error:
            raise RobotDynamicsError(f"MuJoCo refuses a shape: {error}.") from error
        self._data = mujoco.MjData(self._model)
        self._collide = mujoco.mj_collision
        # MuJoCo moves the frames of convex hulls to their centres.
        turns = Rotation.from_quat(np.roll(self._model.geom_quat, -1, axis=1)).as_matrix()
        self._frames = np.tile(np.eye(4), (len(solids), 1, 1))
        for i, (link, solid) in enumerate(zip(links, solids, strict=True)):
            moved = pose(self._model.geom_pos[i], turns[i])
            self._frames[i] = pose_of(link.placement) @ solid.pose @ moved
        self._poses = np.tile(np.eye(4), (len(row), 1, 1))
        self._kernel: Any = self._placing(model)
        self._none = np.zeros((self.count, 7))
        self._none[:, 0], self._none[:, 6] = np.inf, 1.0

    def __call__(self, q: Array, v: Array, h: float, last: Array) -> Array:
        """Return gap, place and normal of each slot (n, 7), gaps infinite where there is no point.

        Args:
            q: Positions (nq,).
            v: Velocities (nv,).
            h: Length of the step [s].
            last: Where points were in the step before (n, 3) [m], NaN where there was none.
        """
        data = self._data
        if self._bodies:
            self._poses[:-1, :3] = self._kernel(q, v, h)
        placed = self._poses[self._of] @ self._frames
        data.geom_xpos[:] = placed[:, :3, 3]
        data.geom_xmat[:] = placed[:, :3, :3].reshape(-1, 9)
        self._collide(self._model, data)
        seen = self._none.copy()
        if not data.ncon:
            return seen
        contact = data.contact
        # MuJoCo's normal is from the first solid of its pair to the second.
        sides = contact.geom
        found = np.column_stack([contact.dist, contact.pos, contact.frame[:, :3]])
        found[sides[:, 0] % 2 == 0, 4:] *= -1.0
        pairs, places = sides[:, 0] // 2, found[:, 1:4]
        # Of each point and each slot of its pair.
        off = places[:, None] - self._padded(last)[self._slots[pairs]]
        apart = np.einsum("ijk,ijk->ij", off, off)
        at = self._slots[pairs, apart.argmin(axis=1)]
        # Most often every point is nearest to a slot of its own.
        claimed = np.bincount(at)[at]
        for pair in {*pairs[claimed > 1].tolist()}:
            own = np.flatnonzero(pairs == pair)
            room = self._room[pair]
            if len(own) > room:
                own, most = np.split(own[np.argsort(found[own, 0], kind="stable")], [room])
                at[most] = self.count
            at[own] = self._slots[pair, linear_sum_assignment(apart[own, :room])[1]]
        kept = at < self.count
        seen[at[kept]] = found[kept]
        return seen

    def _padded(self, last: Array) -> Array:
        """Return places with those of free slots far away, and of no slot farther (n + 1, 3)."""
        padded = np.full((self.count + 1, 3), _NO_SLOT)
        padded[:-1] = np.where(np.isnan(last), _FREE, last)
        return padded

    def _placing(self, model: Model) -> Any:
        """Return compiled `(q, v, h) -> (k, 3, 4)`: where bodies are in mid-step."""

        def run(q: Any, v: Any, h: Any, _: Any) -> dict[str, Any]:
            middle = model.integrate(q, [0.5 * h * x for x in v])
            X0 = body_transforms(model, joint_transforms(model, middle))
            poses = []
            for body in self._bodies:
                R, r = X0[body].E.transpose().rows, list(X0[body].r)
                poses.append([[*row, x] for row, x in zip(R, r, strict=True)])
            return {"poses": poses}

        if not self._bodies:
            return None
        program = trace(run, "placing", {"q": model.nq, "v": model.nv, "h": ()})
        key = b"placing\0" + program.fingerprint
        return load_kernel(key, lambda: program, lanes=1).bind()


def _document(contacts: Sequence[ShapeContact]) -> str:
    """Return the solids of all pairs as a MuJoCo model; nothing else collides."""
    root = etree.Element("mujoco")
    option = etree.SubElement(root, "option", ccd_tolerance=_TOLERANCE, ccd_iterations="500")
    etree.SubElement(option, "flag", multiccd="enable")
    assets, world = (etree.SubElement(root, tag) for tag in ("asset", "worldbody"))
    pairs = etree.SubElement(root, "contact")
    for i, one in enumerate(contacts):
        names = [f"{2 * i}", f"{2 * i + 1}"]
        for name, solid in zip(names, (one.first, one.second), strict=True):
            geom = {"name": name, "type": solid.kind, "size": _numbers(_half_sizes(solid))}
            if solid.kind == "convex":
                etree.SubElement(assets, "mesh", name=name, vertex=_numbers(solid.points.ravel()))
                geom = {"name": name, "type": "mesh", "mesh": name}
            body = etree.SubElement(world, "body", mocap="true")
            etree.SubElement(body, "geom", geom)
        etree.SubElement(pairs, "pair", geom1=names[0], geom2=names[1], margin=repr(MARGIN))
    return etree.tostring(root, encoding="unicode")


def _half_sizes(solid: Solid) -> Sequence[float]:
    if solid.kind == "box":
        return [0.5 * x for x in solid.size]
    if solid.kind in ("capsule", "cylinder"):
        return solid.size[0], 0.5 * solid.size[1]
    return solid.size or (1.0, 1.0, 1.0)


def _numbers(values: Any) -> str:
    return " ".join(repr(float(x)) for x in values)


def _import_mujoco() -> Any:
    advice = "pip install 'robot_dynamics[collision]'."
    try:
        import mujoco
    except ImportError as error:
        raise RobotDynamicsError(
            f"contacts between shapes need the package mujoco: {advice}"
        ) from error
    if tuple(int(part) for part in mujoco.__version__.split(".")[:2]) < _OLDEST:
        raise RobotDynamicsError(
            f"contacts between shapes need MuJoCo 3.17 or newer, and this is "
            f"{mujoco.__version__}: {advice}"
        )
    return mujoco
