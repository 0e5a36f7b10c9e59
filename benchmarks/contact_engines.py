# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Engines that run the scenes of `contact_scenes`: ours, MuJoCo, Pinocchio's solver."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import robot_dynamics as rd
from benchmarks.contact_scenes import PERIOD, G, Motion, Scene, Touch
from robot_dynamics.contact.material import Material
from robot_dynamics.contact.points import PointContact
from robot_dynamics.contact.surfaces import plane, sphere
from robot_dynamics.description.orientations import rotation_of_quaternion
from robot_dynamics.model import JointElement, LinkElement, Mechanism

Array = NDArray[np.float64]


class State(NamedTuple):
    """Of b bodies: centres, their velocities in the world, turning rates in bodies' axes."""

    places: Array
    velocities: Array
    rates: Array


class Engine:
    """An engine that runs a scene in steps of a length [s]; made anew for each run."""

    name = ""

    def __init__(self, scene: Scene, step: float) -> None:
        self.scene, self.step = scene, step
        self.substeps = round(PERIOD / step)

    def advance(self) -> None:
        """Go on by a period."""
        raise NotImplementedError

    def state(self) -> State:
        """Return the state of all bodies."""
        raise NotImplementedError


def run(make: Callable[[], Engine]) -> Motion:
    """Return the motion of a scene and what it took of the processor, without building it."""
    engine = make()
    states, spent, count = [engine.state()], 0.0, round(engine.scene.duration / PERIOD)
    for _ in range(count):
        begin = time.thread_time()
        engine.advance()
        spent += time.thread_time() - begin
        states.append(engine.state())
    places, velocities, rates = (np.array(part) for part in zip(*states, strict=True))
    times = PERIOD * np.arange(count + 1)
    return Motion(times, places, velocities, rates, spent / engine.scene.duration)


def simulation(scene: Scene, step: float, **options: Any) -> tuple[rd.Robot, rd.Simulation]:
    """Return a scene at its start as a robot and its simulation."""
    links, joints = [LinkElement("world")], []
    q: list[float] = []
    qd: list[float] = []
    for body in scene.bodies:
        links.append(LinkElement(body.name, body.mass, (0.0, 0.0, 0.0), np.diag(body.inertia)))
        if body.slides is None:
            joints.append(JointElement(f"to {body.name}", "floating", "world", body.name))
            turn = rotation_of_quaternion(list(body.turn))
            q += [*body.place, *body.turn]
            qd += [0.0, 0.0, 0.0, *(turn.T @ np.array(body.velocity)).tolist()]
        else:
            at = np.eye(4)
            at[:3, 3] = body.place
            joints.append(
                JointElement(
                    f"to {body.name}", "prismatic", "world", body.name, at, axis=body.slides
                )
            )
            q.append(0.0)
            qd.append(0.0)
    robot = rd.Robot.from_mechanism(Mechanism(scene.name, tuple(links), tuple(joints)))
    contacts = [_contact(i, touch) for i, touch in enumerate(scene.touches)]
    return robot, rd.Simulation(
        robot, contacts=contacts, q=q, qd=qd, period=PERIOD, step=step, **options
    )


def _contact(i: int, touch: Touch) -> PointContact:
    kind, *numbers = touch.surface
    surface: Any = plane(*numbers) if kind == "plane" else sphere((0, 0, 0), *numbers)
    material = Material(touch.friction, restitution=touch.restitution)
    return PointContact(
        f"touch {i}", touch.body, touch.point, surface, touch.on, touch.radius, material=material
    )


class Ours(Engine):
    """`rd.Simulation`."""

    name = "robot_dynamics"

    def __init__(self, scene: Scene, step: float) -> None:
        super().__init__(scene, step)
        robot, self.sim = simulation(scene, step)
        self._tau = np.zeros(robot.model.nv)
        self._wrenches = {b.name: [0, 0, 0, *b.force] for b in scene.bodies if any(b.force)}

    def advance(self) -> None:
        self.sim.step(self._tau, self._wrenches)

    def state(self) -> State:
        seen = self.sim.observation
        q, qd, found = seen.q, seen.qd, []
        for body in self.scene.bodies:
            if body.slides is not None:
                axis = np.array(body.slides)
                found.append((np.array(body.place) + q[0] * axis, qd[0] * axis, np.zeros(3)))
                q, qd = q[1:], qd[1:]
                continue
            turn = rotation_of_quaternion(q[3:7].tolist())
            found.append((q[:3], turn @ qd[3:6], qd[:3]))
            q, qd = q[7:], qd[6:]
        return State(*(np.array(part) for part in zip(*found, strict=True)))


class Tuning(NamedTuple):
    """Parameters of MuJoCo's contacts; see `TUNED`.

    Attributes:
        steps: Time constant of `solref` in steps, 2 at least; of bounces half a period of the
            spring, which has no damper then.
        impedance: d of `solimp`.
        integrator: Of the motion.
    """

    steps: int
    impedance: float
    integrator: str = "Euler"


#: For each scene the best in 1 ms of time constants of 2, 5 and 20 steps (bounces: 5, 10, 20, 50),
#: impedances of 0.95, 0.99 and 0.9999 (bounces: 0.5 to 0.9999), impratio of 1, 10 and 100, slip
#: iterations or none (bounces: Euler or RK4), to two digits; impratio of 10 is as good as any.
TUNED = {
    "rolling": Tuning(20, 0.95),
    "carried": Tuning(5, 0.95),
    "stack": Tuning(2, 0.9999),
    "rod": Tuning(20, 0.99),
    "jam": Tuning(2, 0.9999),
    "palms": Tuning(20, 0.99),
    "bounce": Tuning(50, 0.5, "RK4"),
    "bounces": Tuning(10, 0.5, "RK4"),
}


class MuJoCo(Engine):
    """MuJoCo, Newton's method to 1e-12, contacts tuned to the scene and to the step."""

    name = "MuJoCo, elliptic"
    cone = "elliptic"
    tuned = True

    def __init__(self, scene: Scene, step: float) -> None:
        import mujoco

        super().__init__(scene, step)
        self._mujoco = mujoco
        self.model = mujoco.MjModel.from_xml_string(self._xml())
        self.data = mujoco.MjData(self.model)
        for i, body in enumerate(scene.bodies):
            if body.slides is None:
                self.data.qvel[self.model.jnt_dofadr[i] :][:3] = body.velocity
            self.data.xfrc_applied[i + 1, :3] = body.force
        mujoco.mj_forward(self.model, self.data)

    def _xml(self) -> str:
        scene = self.scene
        bodies, pairs = [], {}
        for body in scene.bodies:
            kind, size = body.shape
            x, y, z, w = body.turn
            if kind == "box":
                geom = f'type="box" size="{_text(size)}"'
            elif kind == "ball":
                geom = f'type="sphere" size="{size}"'
            else:  # it has no points: a ball of a micrometre
                geom = f'type="sphere" size="1e-6" pos="{_text(size)}"'
            joint = "<freejoint/>"
            if body.slides is not None:
                joint = f'<joint type="slide" axis="{_text(body.slides)}"/>'
            gravity = "" if body.slides is None else 'gravcomp="1"'
            bodies.append(
                f'<body name="{body.name}" pos="{_text(body.place)}" {gravity} '
                f'quat="{_text((w, x, y, z))}">{joint}'
                f'<inertial pos="0 0 0" mass="{body.mass}" diaginertia="{_text(body.inertia)}"/>'
                f'<geom name="{body.name}" {geom} contype="0" conaffinity="0"/></body>'
            )
        for touch in scene.touches:
            pairs[touch.body, touch.on or "ground"] = touch
        tuning, soft = TUNED[scene.name], ""
        d = f'solimp="{tuning.impedance} {tuning.impedance} 0.001 0.5 2"'
        if any(touch.restitution for touch in scene.touches):
            stiffness = (np.pi / (tuning.steps * self.step)) ** 2
            soft = f'solref="{-stiffness} 0" {d}'
        elif self.tuned:
            soft = f'solref="{tuning.steps * self.step} 1" {d}'
        contacts = "".join(
            f'<pair geom1="{a}" geom2="{b}" {soft} condim="{3 if t.friction else 1}" '
            f'friction="{t.friction} {t.friction} 0 0 0"/>'
            for (a, b), t in pairs.items()
        )
        options = f'integrator="{tuning.integrator}" impratio="10"' if self.tuned else ""
        return (
            f'<mujoco><option timestep="{self.step}" gravity="0 0 {-G}" cone="{self.cone}" '
            f'solver="Newton" tolerance="1e-12" iterations="100" {options}/>'
            f'<worldbody><geom name="ground" type="plane" size="50 50 1" contype="0" '
            f'conaffinity="0"/>{"".join(bodies)}</worldbody><contact>{contacts}</contact></mujoco>'
        )

    def advance(self) -> None:
        self._mujoco.mj_step(self.model, self.data, self.substeps)

    def state(self) -> State:
        found, model, data = [], self.model, self.data
        for i, body in enumerate(self.scene.bodies):
            v = data.qvel[model.jnt_dofadr[i] :]
            if body.slides is not None:
                axis = np.array(body.slides)
                x = np.array(body.place) + axis * data.qpos[model.jnt_qposadr[i]]
                found.append((x, v[0] * axis, np.zeros(3)))
            else:
                x = data.qpos[model.jnt_qposadr[i] :][:3]
                found.append((x.copy(), v[:3].copy(), v[3:6].copy()))
        return State(*(np.array(part) for part in zip(*found, strict=True)))


class MuJoCoPyramids(MuJoCo):
    """MuJoCo with pyramids in the place of cones, which is its default."""

    name = "MuJoCo, pyramidal"
    cone = "pyramidal"


class MuJoCoDefault(MuJoCo):
    """MuJoCo as it comes: pyramids, contacts as soft as it likes them."""

    name = "MuJoCo, as it comes"
    cone = "pyramidal"
    tuned = False


#: Of steps that Python assembles for Pinocchio [s].
SHORTEST = 5e-4


class Pinocchio(Engine):
    """Pinocchio's conic solver (ADMM, exact cones) in semi-implicit Euler steps of ours.

    Contacts that would close within the step keep their gap open to its end. Python assembles
    every step: its time says little of the solver, which `contact_solvers` times by itself.
    """

    name = "Pinocchio ADMM"

    def __init__(self, scene: Scene, step: float) -> None:
        import pinocchio as pin

        super().__init__(scene, step)
        if any(touch.restitution for touch in scene.touches) or step < SHORTEST:
            raise NotImplementedError("no law of impact, or too slow in Python")
        self._pin, model = pin, pin.Model()
        self._index = {None: 0}
        force, q, v = [], [], []
        for body in scene.bodies:
            at = pin.SE3.Identity()
            if body.slides is None:
                joint, turn = pin.JointModelFreeFlyer(), rotation_of_quaternion(list(body.turn))
                q += [*body.place, *body.turn]
                v += [*(turn.T @ np.array(body.velocity)).tolist(), 0.0, 0.0, 0.0]
            else:
                at.translation = np.array(body.place)
                joint = pin.JointModelPrismaticUnaligned(np.array(body.slides))
                q.append(0.0)
                v.append(0.0)
            i = model.addJoint(0, joint, at, body.name)
            own = pin.Inertia(body.mass, np.zeros(3), np.diag(body.inertia))
            model.appendBodyToJoint(i, own, pin.SE3.Identity())
            self._index[body.name] = i
            force.append(np.array(body.force))
        self.model, self.data = model, model.createData()
        self._force, self.q, self.v = force, np.array(q), np.array(v)
        self._settings = pin.ADMMSolverSettings()
        self._settings.max_iterations = 2000
        for of in ("feasibility", "complementarity"):
            setattr(self._settings, f"absolute_{of}_tol", 1e-10)
            setattr(self._settings, f"relative_{of}_tol", 0.0)
        self._settings.measure_timings = True
        self._guess = b"", np.zeros(0)
        #: J, H, velocities without impulses, impulses, mu and microseconds of the last problem.
        self.last: tuple[Any, ...] = ()

    def advance(self) -> None:
        for _ in range(self.substeps):
            self._advance()

    def _advance(self) -> None:
        pin, model, data, h = self._pin, self.model, self.data, self.step
        pin.forwardKinematics(model, data, self.q)
        outside = pin.StdVec_Force()
        outside.append(pin.Force.Zero())
        for at, force in zip(list(data.oMi)[1:], self._force, strict=True):
            outside.append(pin.Force(at.rotation.T @ force, np.zeros(3)))
        free = self.v + h * pin.aba(model, data, self.q, self.v, np.zeros(model.nv), outside)
        models, gaps, which = pin.StdVec_ConstraintModel(), [], []
        for i, touch in enumerate(self.scene.touches):
            gap, first, second = self._closest(touch)
            if gap > h * 20.0:
                continue
            item = pin.PointContactConstraintModel(
                model, self._index[touch.on], first, self._index[touch.body], second
            )
            item.setFriction(touch.friction)
            models.append(item)
            gaps += [0.0, 0.0, max(gap, 0.0) / h]
            which.append(i)
        if not which:
            self.v, self.q = free, pin.integrate(model, self.q, h * free)
            return
        datas = pin.StdVec_ConstraintData()
        for item in models:
            datas.append(item.createData())
            item.calc(model, data, datas[-1])
        pin.crba(model, data, self.q, pin.Convention.WORLD)
        factors = pin.ContactCholeskyDecomposition(model, data, models, datas)
        factors.compute(model, data, models, datas, 1e-12)
        J = pin.getConstraintsJacobian(model, data, models, datas)
        solver, result = pin.ADMMConstraintSolver(), pin.ADMMSolverResult()
        key, guess = bytes(which), self._guess
        if guess[0] == key:
            result.setConstraintImpulseGuess(guess[1])
        c = J @ free + np.array(gaps)
        solver.solve(
            factors.getDelassusOperatorCholeskyExpression(), c, models, datas, self._settings,
            result,
        )  # fmt: skip
        P = result.retrieveConstraintImpulses()
        self._guess = key, P
        H = pin.crba(model, data, self.q)
        H = np.triu(H) + np.triu(H, 1).T
        self.v = free + np.linalg.solve(H, J.T @ P)
        friction = np.array([self.scene.touches[i].friction for i in which])
        self.last = J, H, c, P, friction, solver.getElapsedTime()
        self.q = pin.integrate(model, self.q, h * self.v)

    def _closest(self, touch: Touch) -> tuple[float, Any, Any]:
        """Return the gap, and frames of the contact in both bodies, z along the normal."""
        pin, data = self._pin, self.data
        mine, other = data.oMi[self._index[touch.body]], data.oMi[self._index[touch.on]]
        point = mine.act(np.array(touch.point))
        if touch.surface[0] == "plane":
            at, normal = other.act(np.array(touch.surface[1])), np.array(touch.surface[2])
            normal = other.rotation @ normal
            gap = float(normal @ (point - at)) - touch.radius
        else:
            between = point - other.translation
            normal = between / np.linalg.norm(between)
            gap = float(np.linalg.norm(between)) - touch.radius - touch.surface[1]
        x = np.eye(3)[int(np.argmin(np.abs(normal)))]
        y = np.cross(normal, x)
        y /= np.linalg.norm(y)
        frame = np.column_stack([np.cross(y, normal), y, normal])
        place = point - touch.radius * normal
        here = pin.SE3(frame, place)
        return gap, other.inverse() * here, mine.inverse() * here

    def state(self) -> State:
        pin = self._pin
        pin.forwardKinematics(self.model, self.data, self.q, self.v)
        found = []
        for i in range(1, self.model.njoints):
            at, v = self.data.oMi[i], self.data.v[i]
            found.append((at.translation.copy(), at.rotation @ v.linear, v.angular.copy()))
        return State(*(np.array(part) for part in zip(*found, strict=True)))


ENGINES: tuple[type[Engine], ...] = (Ours, MuJoCo, MuJoCoPyramids, MuJoCoDefault, Pinocchio)


def _text(values: Any) -> str:
    return " ".join(map(repr, map(float, values)))
