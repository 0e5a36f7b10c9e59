# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Compiled terms of one step of a scene with contacts: one program for each scene.

All are at the middle of the step, to which its initial velocity would lead (Moreau's midpoint
rule). Friction of joints is taken at the step's end, so that no step is too long for it:

    (H + h D) (v+ - v) = h (tau - C - H e - D v + tau_p) + J^T P.

v and v+ are velocities at both ends in coordinates of the middle: free bodies coast from one to
the other, straight on while they turn, and their coordinates have the rates e then. The momentum
of a flying body is therefore exact at any spin. Bodies that loops, grasps or links of other
mechanisms can hold do not coast. The rows of these constraints turn with the body; constraints on
the mean velocity of a step would oscillate with growing amplitude.

tau_p are the moments of the pads of soft fingers that tip; see `pad`.

D is diagonal except for hinges and lines with damping d, which add g^T d g for a rate g v.

Rows of J are relative velocities, object less arm, or object less world, in axes of the contact:
first rows of contacts that hold, then the rates of joints with Coulomb friction, and of hinges and
lines that resist, then for each contact that opens its normal, which separates if positive, two
tangential ones, and the spin if there are soft fingers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.compile import Program, TunableKernel, load_kernel, trace
from robot_dynamics.compile.differentiation import jacobian_times_vector
from robot_dynamics.compile.routine import Matrix, Tensor, Vector, new_record, nothing
from robot_dynamics.contact.points import Inequality, contact_geometry
from robot_dynamics.contact.shapes import SeenPoint
from robot_dynamics.dynamics.closed_loop import terms_of_transforms
from robot_dynamics.dynamics.coulomb import friction_rows, joint_frictions
from robot_dynamics.dynamics.energy import body_energies
from robot_dynamics.dynamics.jacobian import columns_in_frame
from robot_dynamics.dynamics.kinematics import (
    body_transforms,
    body_velocities,
    joint_transforms,
)
from robot_dynamics.manipulation.hybrid.grasp_kinematics import holonomic_rows
from robot_dynamics.model import WORLD, Model
from robot_dynamics.model.joints import Floating
from robot_dynamics.model.parameters import block_size, pack, unpack
from robot_dynamics.scalar.linear_algebra import add, dot, factor, is_zero, transposed_times
from robot_dynamics.simulation.contact.environment_joints import EnvironmentJoint
from robot_dynamics.simulation.contact.groups import Groups, groups_of
from robot_dynamics.simulation.contact.manifolds import Manifolds
from robot_dynamics.simulation.scene import RobotScene, Scene
from robot_dynamics.spatial import Motion, Rotation, Scalar, Transform, Vector3, rotation_vector


class StepTerms(NamedTuple):
    """Terms of a step; b rows hold, f by friction; c contacts open, with w rows each."""

    q: Vector  #: Positions in the middle of the step (nq,).
    start: Vector  #: Velocities at its start, in coordinates of the middle, as all below (nv,).
    free: Vector  #: Velocities at its end without contact forces (nv,).
    H: Matrix  #: Inertia matrix with damping, H + h D (nv, nv).
    J: Matrix  #: Rows (b + w c, nv).
    HJ: Matrix  #: Its inverse times J^T, transposed (b + w c, nv).
    before: Vector  #: J start (b + w c,).
    after: Vector  #: J free (b + w c,).
    #: Gaps of the rows that hold without friction (b - f,); 0 for velocity-only rows.
    error: Vector
    #: Where the contacts that open are, relative (c, 3): on the face of the object, or in the
    #: world.
    places: Matrix
    #: Their tangents and normal, in the coordinates of the places (c, 3, 3): t1, t2, n.
    axes: Tensor
    gaps: Vector  #: Their distances [m] (c,).
    turns: Tensor  #: From the axes of each arm's contact to those of its tool (k, 3, 3).
    pads: Matrix  #: Moments of the pads on the object, about x and y of their contacts (p, 2).
    pad_force: Vector  #: Their joint forces (nv,).
    #: Tangents of contacts that give way along the surface, in the coordinates of the body that
    #: has it (g, 2, 3).
    patches: Tensor
    #: Velocities (nv, 3) of a motion as a whole at unit speed along each of the world's axes, for
    #: groups of bodies that can move as a whole.
    wholes: Matrix


class SceneTerms:
    """`(q, v, acceleration, force, drag, h) -> StepTerms` of a scene.

    Bias forces are evaluated at the velocity to which `acceleration` leads in half a step; for
    free bodies this is the acceleration of their motion, not of its coordinates. `force` acts on
    the joints (nv,), `drag` (nv,) is D, h the length of the step [s]. `pressed` (p,) are the
    normal forces of pads; zero by default. `near` (s, 3) are the places of points of shapes in the
    previous step, NaN where there was no point.

    Args:
        scene: The scene.
        coulomb: Whether friction of joints holds them at rest, by additional rows.
    """

    def __init__(self, scene: Scene | RobotScene, coulomb: bool = False) -> None:
        self.scene: Any = scene
        self.width = 4 if any(cone.torsion > 0.0 for _, _, cone in scene.touches) else 3
        self.closing = scene.model.constraint_count + sum(
            scene.contacts[i].contact.directions.shape[1] for i in scene.holding
        )
        #: Coulomb friction of the joints' freedoms that have a row [N m or N], by name.
        self.rubbing = joint_frictions(scene.model) if coulomb else {}
        #: Hinges and lines that have a row for friction and damping; these are the last that hold.
        self.resisting = tuple(one for one in scene.environment_joints if one.resists)
        self.holding = self.closing + len(self.rubbing) + len(self.resisting)
        self.opening = len(scene.touches)
        stiffness = [material.tangential_stiffness for _, material, _ in scene.touches]
        self._giving = np.flatnonzero(np.isfinite(stiffness)).tolist()
        self.seen = np.array([isinstance(p, SeenPoint) for p in scene.points], dtype=bool)
        self._held = _held(scene)
        self._manifolds = None
        if scene.shapes:
            self._manifolds = Manifolds(scene.model, scene.shapes, self._held)
        self._found = [] if self._manifolds is None else [self._manifolds.seen]
        self._unseen = np.full((int(self.seen.sum()), 3), np.nan)
        #: Bodies that act on one another without contacts.
        self.groups: Groups
        self._source = program = self._program()
        self._names = [name for name, _ in program.ports.outputs]
        self._written: Any = itemgetter(*map(StepTerms._fields.index, self._names))
        self._model, block = scene.model, pack(scene.model)
        key = b"contact\0" + program.fingerprint
        self._terms = TunableKernel(load_kernel(key, lambda: program, lanes=1), block)
        self._kernel = self._terms.bind()
        inputs: dict[str, int | tuple[int, ...]] = {"q": scene.model.nq, "v": scene.model.nv}
        self._coast_source = coast = trace(self._coasted, "coast", inputs | {"time": ()})
        self._coasting = load_kernel(b"coast\0" + coast.fingerprint, lambda: coast, lanes=1)
        self._coast: Any = self._coasting.bind()
        energy = trace(self._energy, "energy", inputs, block_size(scene.model))
        key = b"energy\0" + energy.fingerprint
        self._energies = TunableKernel(load_kernel(key, lambda: energy, lanes=1), block)
        self._momentum = []
        if self.groups.free.any():
            whole = trace(self._as_a_whole, "momentum", inputs, block_size(scene.model))
            key = b"momentum\0" + whole.fingerprint
            self._momentum = [TunableKernel(load_kernel(key, lambda: whole, lanes=1), block)]
        k, b, c = len(scene.contacts), self.closing, self.opening
        rows, nv = self.holding + self.width * c, scene.model.nv
        self._new = partial(
            new_record, StepTerms, q=scene.model.nq, start=nv, free=nv, H=(nv, nv), J=(rows, nv),
            HJ=(rows, nv), before=rows, after=rows, error=b, places=(c, 3), axes=(c, 3, 3),
            gaps=c, turns=(k, 3, 3), pads=(len(scene.pads), 2), pad_force=nv,
            patches=(len(self._giving), 2, 3), wholes=(nv, 3),
        )  # fmt: skip
        self._absent, self._rest = self._new(), np.zeros(nv)
        self._none = [np.zeros(len(scene.pads))] if scene.pads else []

    def tune(self, model: Model, numbers: Sequence[Array] | None = None) -> Sequence[Array]:
        """Take over gravity and variable inertias of a model that differs in these alone.

        All functions that are bound follow. Return the numbers, with which it is faster the next
        time.
        """
        self._model = model
        vars(self).pop("_rates", None)  # bound to other parameters
        mass, kernels = self.groups.mass, [self._terms, self._energies, *self._momentum]
        places = [mass, self.groups.weight, *(kernel.data for kernel in kernels)]
        if numbers is not None:
            for place, given in zip(places, numbers, strict=True):
                place[:] = given
            return numbers
        for kernel in kernels:
            kernel.tune(pack(model))
        mass[:] = 0.0
        np.add.at(mass, self.groups.of_body, [body.inertia.mass for body in model.bodies])
        self.groups.weight[:] = np.outer(mass, [*model.gravity])
        return [place.copy() for place in places]

    def __call__(
        self,
        q: Array,
        v: Array,
        acceleration: Array,
        force: Array,
        drag: Array,
        h: float,
        *more: Array,
        near: Array | None = None,
    ) -> StepTerms:
        """Return the terms of a step.

        `more` is `pressed` if there are pads; see the class. The step is as long as `look` says.
        """
        h = self.look(q, v, h, near)
        given = [*(more or self._none), *self._found]
        outputs = self._kernel(q, v, acceleration, force, drag, h, *given)
        return self._absent._replace(**dict(zip(self._names, outputs, strict=True)))

    def look(self, q: Array, v: Array, h: float, near: Array | None) -> float:
        """Find out where shapes touch in the middle of a step; see the class.

        Return its length: h, or less where they might pass through each other.
        """
        if self._manifolds is None:
            return h
        self._manifolds(q, v, h, self._unseen if near is None else near)
        return self._manifolds.length

    def bind_look(self, q: Array, v: Array, near: Array) -> Any:
        """Return a function that finds out where shapes touch at the state of these arrays."""
        if self._manifolds is None:
            return nothing.bind()
        return partial(self.look, q, v, 0.0, near)

    def bind(self, *given: Array, out: StepTerms) -> Any:
        """Return a function without arguments that evaluates the terms on arrays, in place.

        Args:
            given: Arguments as for a call; contacts of shapes are the last result of `look`.
            out: Arrays for the terms.
        """
        return self._terms.bind_arrays([*given, *self._found], self._written(out))

    def move(self, q: Array, step: Array) -> Array:
        """Return positions moved by velocities times time (nv,)."""
        return np.asarray(self._coast(q, step, 1.0)[0])

    def bind_coast(self, q: Array, v: Array, time: Array, to_q: Array, to_v: Array) -> Any:
        """Return a function that writes positions and velocities after a time of steady motion."""
        return self._coasting.bind_arrays(None, [q, v, time], [to_q, to_v])

    def bind_energy(self, q: Array, v: Array, kinetic: Array, potential: Array) -> Any:
        """Return a function that writes the energies of groups (g,) [J] of these arrays."""
        return self._energies.bind_arrays([q, v], [kinetic, potential])

    def bind_momentum(self, q: Array, v: Array, momentum: Array, wholes: Array) -> Any:
        """Return a function that writes momentum of groups in the world (g, 3), and `wholes`.

        For mechanisms of which some group may move as a whole.
        """
        return self._momentum[0].bind_arrays([q, v], [momentum, wholes])

    def at(self, q: Array, v: Array, near: Array | None = None) -> StepTerms:
        """Return the terms of a state, of a step that takes no time."""
        return self(q, v, self._rest, self._rest, self._rest, 0.0, near=near)

    def bind_at(self, q: Array, v: Array, out: StepTerms) -> Any:
        """Return a function that writes the result of `at` for these arrays, like `bind`."""
        rest = [self._rest] * 3
        return self.bind(q, v, *rest, np.zeros(()), *self._none, out=out)

    def output(self, **arrays: Array) -> StepTerms:
        """Return arrays for terms; some can be given."""
        return self._new(**arrays)

    def rates(self, at: Sequence[Any], moving: Sequence[Array]) -> dict[str, Array]:
        """Return the rates of terms (c, ...) by name, for c changes of the inputs of a call.

        Args:
            at: q, v, acceleration, force, drag and h, then `pressed` if there are pads; see the
                class. Without shapes.
            moving: Changes of all but h, as columns (..., c).
        """
        found = self._rates(*at, *(columns.T for columns in moving))
        return dict(zip(self._moving, found, strict=True))

    def coast_rates(self, at: Sequence[Any], moving: Sequence[Array]) -> tuple[Array, Array]:
        """Return the changes (nq, c) and (nv, c) of positions and velocities after steady motion.

        Args:
            at: Positions (nq,), velocities (nv,) and the time [s].
            moving: Changes of the first two, as columns.
        """
        q, v = self._coast_rates(*at, *(columns.T for columns in moving))
        return q.T, v.T

    @cached_property
    def _moving(self) -> list[str]:
        wanted = ("q", "start", "free", "J", "HJ", "before", "after", "error", "places", "gaps")
        return [name for name in wanted if name in self._names]

    @cached_property
    def _rates(self) -> Any:
        """The compiled rates of terms."""
        source, names = self._source, self._moving

        def run(*given: Any) -> dict[str, Any]:
            *inputs, block = given
            count = len(source.ports.inputs)
            at, moving = inputs[:count], inputs[count:]
            rates = jacobian_times_vector(source, at, [*moving[:5], 0.0, *moving[5:]], block)
            return {name: rates[name] for name in names}

        inputs = source.inputs
        changes = {f"d{name}": shape for name, shape in inputs.items() if name != "h"}
        program = trace(run, "contact_rates", {**inputs, **changes}, source.parameters)
        key = b"contact rates\0" + program.fingerprint
        return load_kernel(key, lambda: program).bind(pack(self._model))

    @cached_property
    def _coast_rates(self) -> Any:
        """The compiled changes after steady motion."""
        source, model = self._coast_source, self.scene.model

        def run(q: Any, v: Any, time: Any, dq: Any, dv: Any, _: Any) -> dict[str, Any]:
            return jacobian_times_vector(source, [q, v, time], [dq, dv, 0.0])

        inputs = {"q": model.nq, "v": model.nv, "time": (), "dq": model.nq, "dv": model.nv}
        program = trace(run, "coast_rates", inputs)
        key = b"coast rates\0" + program.fingerprint
        return load_kernel(key, lambda: program).bind()

    def _energy(self, q: Any, v: Any, block: Any) -> dict[str, Any]:
        model = self.scene.model
        found = body_energies(model, q, v, unpack(model, block))
        sums = [[0.0] * len(self.groups.lossless) for _ in found]
        for total, own in zip(sums, found, strict=True):
            for i, energy in zip(self.groups.of_body.tolist(), own, strict=True):
                total[i] = total[i] + energy
        return dict(zip(("kinetic", "potential"), sums, strict=True))

    def _as_a_whole(self, q: Any, v: Any, block: Any) -> dict[str, Any]:
        model = self.scene.model
        inertias = unpack(model, block).inertias
        Xup = joint_transforms(model, q)
        X0, rates = body_transforms(model, Xup), body_velocities(model, Xup, v, q)
        momentum = [Vector3(0.0, 0.0, 0.0) for _ in self.groups.mass]
        for group, X, rate, I in zip(self.groups.of_body, X0, rates, inertias, strict=True):
            momentum[group] += X.E.inverse_times((I * rate).linear)
        return {"momentum": [[*p] for p in momentum], "wholes": self._wholes(X0)}

    def _wholes(self, X0: Sequence[Transform]) -> list[list[Scalar]]:
        """Return the velocities of groups as a whole, see `StepTerms`; empty without any."""
        if not self.groups.free.any():
            return []
        found: list[list[Scalar]] = [[0.0] * 3 for _ in range(self.scene.model.nv)]
        for k, (i, direction) in self.groups.roots.items():
            found[k] = [*X0[i].E.inverse_times(Vector3.of(direction))]
        return found

    def _relative(self) -> list[bool]:
        """Return which rows push two bodies with opposite forces; see `groups_of`."""
        model, points = self.scene.model, self.scene.points
        found = [True] * self.holding
        loops = model.constraint_count - len(model.couplings)
        found[loops : model.constraint_count] = [False] * len(model.couplings)
        fingers = [True] * (self.opening - len(points))
        for own in [*fingers, *(not isinstance(point, Inequality) for point in points)]:
            found += [own] * self.width
        return found

    def _coasted(self, q: Any, v: Any, time: Any, _: Any) -> dict[str, Any]:
        model = self.scene.model
        there, at_v = model.coast(q, v, time, self._held)
        return {"q": model.normalized(there), "v": at_v}

    def _program(self) -> Program:
        model = self.scene.model

        def run(
            q: Any, v: Any, acceleration: Any, force: Any, drag: Any, h: Any, *more: Any
        ) -> dict[str, Any]:
            *given, block = more
            seen = given.pop() if self._manifolds else ()
            pressed = given.pop() if self.scene.pads else ()
            parameters = unpack(model, block)
            middle, v = model.coast(q, v, 0.5 * h, self._held)
            at_v = [x + 0.5 * h * a for x, a in zip(v, acceleration, strict=True)]
            Xup = joint_transforms(model, middle)
            terms = terms_of_transforms(model, Xup, at_v, parameters, middle)
            H = terms.H
            A = [[H[max(i, j)][min(i, j)] for j in range(len(H))] for i in range(len(H))]
            for i, d in enumerate(drag):
                A[i][i] = A[i][i] + h * d
            push = [
                h * (f - c - d * x) for f, c, d, x in zip(force, terms.C, drag, v, strict=True)
            ]
            for j, e in enumerate(model.coasting_rate(at_v, self._held)):
                if not is_zero(e):
                    push = [p - h * e * H[max(i, j)][min(i, j)] for i, p in enumerate(push)]
            geometry = _Geometry(self.scene, Xup, middle, self.width, seen)
            along = [geometry.resisted(one) for one in self.resisting]
            pads, pad_force = geometry.pad_moments(v, pressed)
            push = add(push, [h * f for f in pad_force]) if pads else push
            for row, one in zip(along, self.resisting, strict=True):
                d, rate = one.damping, dot(row, v)
                moving = [i for i, x in enumerate(row) if d and not is_zero(x)]
                for i in moving:
                    push[i] = push[i] - h * d * rate * row[i]
                    for j in moving:
                        A[i][j] = A[i][j] + h * d * row[i] * row[j]
            factors = factor(A)
            free = [x + dx for x, dx in zip(v, factors.solve(push), strict=True)]
            rubbing = friction_rows(model, Xup, parameters, middle) if self.rubbing else []
            J = [*terms.loops.K, *geometry.held, *rubbing, *along, *geometry.opening]
            moves = [[not is_zero(x) for x in row] for row in J]
            self.groups = groups_of(model, moves, self._relative(), self.holding, self.width)
            outputs = {
                "q": middle,
                "start": v,
                "free": free,
                "H": A,
                "J": J,
                "HJ": [factors.solve(row) for row in J],
                "before": [dot(row, v) for row in J],
                "after": [dot(row, free) for row in J],
                "error": [*terms.loops.position_error, *geometry.error],
                "places": geometry.places,
                "axes": geometry.axes,
                "gaps": geometry.gaps,
                "turns": geometry.turns,
                "pads": pads,
                "pad_force": pad_force if pads else [],
                "patches": [geometry.tangents[c] for c in self._giving],
                "wholes": self._wholes(geometry.X0),
            }
            return {name: value for name, value in outputs.items() if value}

        nv = model.nv
        inputs: dict[str, int | tuple[int, ...]] = {
            "q": model.nq, "v": nv, "acceleration": nv, "force": nv, "drag": nv, "h": (),
        }  # fmt: skip
        if self.scene.pads:
            inputs["pressed"] = len(self.scene.pads)
        if self._manifolds:
            inputs["seen"] = (self._manifolds.count, 7)
        return trace(run, "contact", inputs, block_size(model))


def _held(scene: Any) -> frozenset[int]:
    """Return the bodies that loops, grasps or moving links may hold."""
    model = scene.model
    ends = [(loop.predecessor, loop.successor) for loop in model.loops]
    for arm in scene.system.arms if scene.contacts else ():
        ends.append((scene.system.object_body, model.link(arm.tool).body))
    for point in scene.points:
        pair = () if isinstance(point, Inequality) else (point.body, point.base)
        # Friction holds two free bodies only for a short time.
        if pair and WORLD not in pair and not all(_is_alone(model, body) for body in pair):
            ends.append(pair)
    return frozenset[int]().union(*({*model.support(a)} ^ {*model.support(b)} for a, b in ends))


def _is_alone(model: Model, body: int) -> bool:
    """Return whether a body is free and carries no other."""
    return (
        model.support(body) == (body,)
        and not model.tree.children(body)
        and isinstance(model.bodies[body].joint.type, Floating)
    )


class _Geometry:
    """Rows, gaps and frames of all contacts at positions q, traceable."""

    def __init__(
        self,
        scene: Any,
        Xup: Sequence[Transform],
        q: Sequence[Scalar],
        width: int,
        seen: Sequence[Sequence[Scalar]],
    ) -> None:
        self._scene, self._Xup, self._q, self._width = scene, Xup, q, width
        self.X0 = body_transforms(scene.model, Xup)
        self.held: list[list[Scalar]] = []
        self.opening: list[list[Scalar]] = []
        self.error: list[Scalar] = []
        self.places: list[list[Scalar]] = []
        self.axes: list[list[list[Scalar]]] = []
        self.tangents: list[list[list[Scalar]]] = []  # where their surface is at rest
        self.gaps: list[Scalar] = []
        self.turns: list[list[list[Scalar]]] = []
        opening: list[list[list[Scalar]]] = []
        # Of each arm that pushes the z axis and the rows of the object's angular velocity.
        self._fingers: list[tuple[list[Scalar], list[list[Scalar]]]] = []
        for index, contact in enumerate(scene.contacts):
            R, p = _parts(contact.contact.pose)
            finger = self._finger(index)
            # The finger's frame in that of the contact on the object.
            relative = Transform(R.transpose(), p).compose(self._object).compose(finger.inverse())
            inverse = relative.inverse()  # E: from the contact's axes to the finger's
            frame = _parts(scene.finger_frames[index])[0]
            self.turns.append([list(row) for row in frame.compose(inverse.E).rows])
            place = inverse.r  # of the finger, in the contact's frame
            turn = rotation_vector(inverse.E.transpose())
            rows = self._rows_between(index, R, finger)
            if index in scene.holding:
                S = contact.contact.directions.T.tolist()
                moved = [-x for x in (*turn, *place)]
                # A rotation that is blocked alone is so in velocity: no position tells of it.
                blocked = holonomic_rows(contact.contact)
                self.error += [
                    dot(s, moved) if b else 0.0 for s, b in zip(S, blocked, strict=True)
                ]
                self.held += [_combined(s, rows) for s in S]
            else:
                cone = contact.friction
                scale = cone.torsion / cone.friction if cone.torsion > 0.0 else 0.0
                opening.append([rows[5], rows[3], rows[4], [x * scale for x in rows[2]]])
                self.places.append([-x for x in place])
                self.axes.append(np.eye(3).tolist())
                self.tangents.append(np.eye(3)[:2].tolist())
                self.gaps.append(-place.z)
                self._fingers.append((list(inverse.E.rows[2]), rows[:2]))
        for point in scene.points:
            of = contact_geometry(scene.model, Xup, self.X0, q, point, seen)
            opening.append([*of.rows, [0.0] * scene.model.nv])
            self.places.append(list(of.place))
            self.axes.append(of.axes)
            base = WORLD if isinstance(point, Inequality) else point.base
            E = Rotation.identity() if base == WORLD else self.X0[base].E
            self.tangents.append([[*(E * Vector3.of(t))] for t in of.axes[:2]])
            self.gaps.append(of.gap)
        self.opening += [row for rows in opening for row in rows[:width]]

    @property
    def _object(self) -> Transform:
        return self.X0[self._scene.system.object_body]

    def pad_moments(
        self, v: Sequence[Scalar], pressed: Sequence[Scalar]
    ) -> tuple[list[list[Scalar]], list[Scalar]]:
        """Return moments on the object (p, 2), and their joint forces (nv,).

        Args:
            v: Velocities (nv,).
            pressed: Normal forces (p,).
        """
        found: list[list[Scalar]] = []
        total: list[Scalar] = [0.0] * self._scene.model.nv
        for (c, pad), force in zip(self._scene.pads, pressed, strict=True):
            axis, rows = self._fingers[c]
            moments = pad.moments(axis, [-dot(row, v) for row in rows], force)
            total = add(total, transposed_times(rows, moments, len(total)))
            found.append(moments)
        return found, total

    def resisted(self, environment_joint: EnvironmentJoint) -> list[Scalar]:
        """Return the row (nv,) of the rate of a hinge's or line's freedom."""
        R, _ = _parts(environment_joint.frame)
        _, point = _parts(environment_joint.part)
        place = self._object.r + self._object.E.inverse_times(point)
        at_part = Transform(R.transpose(), place)
        columns = self._columns(self._scene.system.object_body, at_part)
        return self._as_rows(columns)[environment_joint.free]

    def _finger(self, index: int) -> Transform:
        """Return the transform from the world to the contact's frame on an arm."""
        link = self._scene.model.link(self._scene.system.arms[index].tool)
        R, p = _parts(self._scene.finger_frames[index])
        return Transform(R.transpose(), p).compose(link.placement).compose(self.X0[link.body])

    def _rows_between(self, index: int, R: Rotation, finger: Transform) -> list[list[Scalar]]:
        """Return the velocity of the object relative to a finger, at the finger's point.

        Rows of angular and linear velocity (6, nv), in the axes of the contact on the object.
        """
        scene = self._scene
        axes = R.transpose().compose(self._object.E)  # from the world's
        at_point = Transform(axes, finger.r)
        link = scene.model.link(scene.system.arms[index].tool)
        columns: dict[int, Motion] = {}
        for body, sign in ((scene.system.object_body, 1.0), (link.body, -1.0)):
            moving = self._columns(body, at_point)
            columns |= {at: column * sign for at, column in moving.items()}
        return self._as_rows(columns)

    def _columns(self, body: int, world_to_frame: Transform) -> dict[int, Motion]:
        frame = world_to_frame.compose(self.X0[body].inverse())
        return columns_in_frame(self._scene.model, body, self._Xup, frame, q=self._q)

    def _as_rows(self, columns: dict[int, Motion]) -> list[list[Scalar]]:
        rows: list[list[Scalar]] = [[0.0] * self._scene.model.nv for _ in range(6)]
        for at, column in columns.items():
            for row, value in zip(rows, column.components(), strict=True):
                row[at] = value
        return rows


def _parts(pose: Array) -> tuple[Rotation, Vector3]:
    """Return orientation and origin of a frame (4, 4)."""
    return Rotation.of(pose[:3, :3].tolist()), Vector3.of(pose[:3, 3].tolist())


def _combined(weights: Sequence[float], rows: Sequence[Sequence[Scalar]]) -> list[Scalar]:
    """Return a weighted sum of rows."""
    return [dot(weights, column) for column in zip(*rows, strict=True)]
