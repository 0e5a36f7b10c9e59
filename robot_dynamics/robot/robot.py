# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`Robot`: a model with all its algorithms; `load` reads one from a file."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np

from robot_dynamics.arrays import Array, Batch, Vector
from robot_dynamics.compile.gpu import GpuFunction
from robot_dynamics.dynamics.arguments import pose_matrix, require_text
from robot_dynamics.dynamics.closed_loop import CLOSED_LOOP
from robot_dynamics.dynamics.closure_functions import ClosureFunction
from robot_dynamics.dynamics.forward import TREE_FORWARD_DYNAMICS
from robot_dynamics.dynamics.inertia_matrix import INERTIA_MATRIX
from robot_dynamics.dynamics.inertial_parameters import inertias_of
from robot_dynamics.dynamics.inverse import BIAS_FORCES, INVERSE_DYNAMICS
from robot_dynamics.dynamics.inverse_kinematics import InverseKinematics, inverse_kinematics
from robot_dynamics.errors import ArgumentError, UnknownNameError, several_names
from robot_dynamics.model import Link, Mechanism, build, transform_of
from robot_dynamics.model.model import JointFriction
from robot_dynamics.robot.derivatives import Derivatives
from robot_dynamics.robot.explicit_robot import ExplicitRobot
from robot_dynamics.spatial import Inertia, Transform

#: Methods of `Robot` that run on a GPU.
OnGpu = Literal[
    "inverse_dynamics", "bias_forces", "inertia_matrix", "tree_forward_dynamics", "closed_loop"
]
#: Name of a frame, or of two frames together.
Frames = str | tuple[str, str]
#: A pose (4, 4) or position (3,); of two frames by "absolute" and "relative".
Target = Batch | Mapping[str, Batch]

_ON_GPU = {
    algorithm.name: algorithm
    for algorithm in (
        INVERSE_DYNAMICS,
        BIAS_FORCES,
        INERTIA_MATRIX,
        TREE_FORWARD_DYNAMICS,
        CLOSED_LOOP,
    )
}


class Robot(Derivatives):
    """A model with its algorithms, each compiled when it is first used.

    The methods are defined in one class for each topic, each derived from the previous one:
    `TreeDynamics`, `FrameMotion`, `ClosedLoops`, `Regressors`, `Derivatives`. Arguments (..., n)
    may have leading batch dimensions, which broadcast, and lists are accepted; `out` takes an
    array that the result is written to, or a tuple of arrays. Compiled code releases the
    interpreter lock. NaN and infinity propagate to the results unless an error is documented;
    NumPy warns of invalid operations according to `numpy.errstate`.
    """

    @classmethod
    def from_mechanism(
        cls,
        mechanism: Mechanism,
        *,
        gravity: Iterable[float] = (0.0, 0.0, -9.81),
        variable: Iterable[str] = (),
        joint_friction: JointFriction = False,
        spanning_tree: str | Iterable[str] | None = None,
        root: str | None = None,
    ) -> Robot:
        """Return the robot of named elements; arguments and errors as of `model.build`."""
        model = build(
            mechanism,
            gravity=gravity,
            variable=variable,
            joint_friction=joint_friction,
            spanning_tree=spanning_tree,
            root=root,
        )
        return cls(model)

    def __repr__(self) -> str:
        names = self.model.joint_names
        if len(names) > 8:
            names = (*names[:3], "...", *names[-3:])
        joints = f"{len(self.model.bodies)} joints ({', '.join(names)})"
        return f"<Robot {self.model.name!r}: {joints}, {len(self.model.loops)} loops>"

    def replace(
        self,
        *,
        gravity: Iterable[float] | None = None,
        joint_friction: JointFriction | None = None,
        inertia: Mapping[str, Inertia] | None = None,
        predecessor_placement: Mapping[str, Transform] | None = None,
        successor_placement: Mapping[str, Transform] | None = None,
    ) -> Robot:
        """Return a robot with other parameters; arguments and errors as of `Model.replace`.

        Machine code is shared if only gravity and parts named in `model.variable` differ.
        """
        return Robot(
            self.model.replace(
                gravity=gravity,
                joint_friction=joint_friction,
                inertia=inertia,
                predecessor_placement=predecessor_placement,
                successor_placement=successor_placement,
            )
        )

    def with_inertial_parameters(self, parameters: Vector) -> Robot:
        """Return a robot with other inertial parameters (10 N,), see `inertial_parameters`.

        Machine code is shared for bodies that are named in `model.variable`.

        Raises:
            ArgumentError: If their number differs, or one is not finite.
        """
        return self.replace(inertia=inertias_of(self.model, parameters))

    def with_frame(self, name: str, link: str, pose: Batch) -> Robot:
        """Return a robot with one more frame, such as a tool's tip; machine code is shared.

        Args:
            name: Its name, by which `pose`, `jacobian` and the others know it.
            link: The link, or other frame, that it is fixed to.
            pose: Its pose (4, 4) in that link's frame.

        Raises:
            UnknownNameError: If there is no such link.
            ArgumentError: If the name is taken, or `pose` is no pose.
        """
        require_text("name", name)
        carrier, links = self.model.link(link), self.model.links
        if any(other.name == name for other in links):
            raise ArgumentError(
                f"{self.model.name}: there is a frame {name!r}, expected a new name."
            )
        placement = transform_of(pose_matrix("pose", pose)).compose(carrier.placement)
        added = Link(name, carrier.body, placement, Inertia.zero())
        return Robot(dataclasses.replace(self.model, links=(*links, added)))

    def inverse_kinematics(
        self,
        frame: Frames | Mapping[Frames, Target],
        pose: Target | None = None,
        q0: Vector | None = None,
        *,
        limits: bool = True,
        held: Iterable[str] = (),
        length: float | None = None,
        tolerance: float = 1e-6,
        iterations: int = 100,
        restarts: int | None = None,
        seed: int = 0,
    ) -> InverseKinematics:
        """Return positions at which frames are at their targets, or as near as possible.

        Loops stay closed. Targets out of reach are not an error: `converged` is then false, and
        the remaining errors are a local minimum, in the least-squares sense.

        Args:
            frame: Name of a link or other frame (see `pose`). Two names `(first, second)` for a
                target of both together, see `cooperative_task`. Or a mapping from such to
                targets, for several at once.
            pose: Its target: a pose (4, 4) in the world, or a position (3,) [m] alone. Of two
                frames a mapping with "absolute", "relative" or both, of each a pose or position.
            q0: Initial guess (nq,), near which the result is; without it, random starts are tried
                as well.
            limits: Whether positions must be within the joint limits.
            held: Joints or coordinates that keep their value of `q0`.
            length: Length [m] at which an angle counts like a distance if targets are out of
                reach; a typical link's by default.
            tolerance: Errors up to which targets count as reached [m and rad].
            iterations: Steps of one start.
            restarts: Random starts if the first does not converge; by default 20 without `q0`,
                otherwise none.
            seed: Of the random starts.

        Raises:
            ArgumentError: If a target is neither a pose nor a position, or an argument has the
                wrong size or value.
            UnknownNameError: If there is no frame or joint of a name.
            AssemblyError: If the loops cannot be closed near `q0`.
        """
        if isinstance(frame, Mapping):
            if pose is not None:
                raise ArgumentError("there are several frames and a pose; expected one or other.")
            given: Mapping[Any, Any] = frame
        elif isinstance(frame, (str, tuple)):
            given = {frame: pose}
        else:
            raise ArgumentError(
                f"frame is {frame!r:.60}, expected one name, two names, or a mapping from such to "
                "targets."
            )
        targets, pairs = self._targets(given)
        names = several_names("held", held)

        def pose_of(name: str, q: Array) -> Array:
            if name not in pairs:
                return self.pose(name, q)
            first, second, part = pairs[name]
            return np.asarray(getattr(self._cooperative_task(first, second, q), part))

        def jacobian_of(name: str, q: Array) -> Array:
            if name not in pairs:
                return self.jacobian(name, q, "aligned")
            first, second, part = pairs[name]
            J = self._cooperative_task(first, second, q).jacobian
            return J[:6] if part == "absolute" else J[6:]

        return inverse_kinematics(
            self.model,
            targets,
            q0,
            pose_of,
            jacobian_of,
            self.closure,
            lambda q: self.assemble(q, held=names, limits=limits).q,
            limits=limits,
            held=names,
            length=length,
            tolerance=tolerance,
            iterations=iterations,
            restarts=restarts,
            seed=seed,
        )

    def _targets(
        self, given: Mapping[Any, Any]
    ) -> tuple[dict[str, Any], dict[str, tuple[str, str, str]]]:
        """Return targets by name; for targets of two frames, the frames and the part."""
        targets: dict[str, Any] = {}
        pairs: dict[str, tuple[str, str, str]] = {}
        for frames, target in given.items():
            if isinstance(frames, str):
                self.model.link(frames)
                targets[frames] = target
                continue
            if not (isinstance(frames, tuple) and len(frames) == 2):
                raise ArgumentError(
                    f"there is a target of {frames!r:.60}, expected one or two names."
                )
            for frame in frames:
                self.model.link(frame)
            parts = target if isinstance(target, Mapping) else {}
            if not parts or not set(parts) <= {"absolute", "relative"}:
                raise ArgumentError(
                    f"the target of {' and '.join(frames)} is {target!r:.60}, expected a mapping "
                    "with 'absolute', 'relative' or both."
                )
            for part, value in parts.items():
                name = f"{' and '.join(frames)}, {part}"
                targets[name], pairs[name] = value, (*frames, part)
        return targets, pairs

    def with_closure(
        self,
        *functions: ClosureFunction,
        independent: Iterable[str] = (),
        check: bool = True,
        samples: Batch | None = None,
    ) -> ExplicitRobot:
        """Return this mechanism in independent coordinates, its loops closed by functions.

        Couplings need no function: they are closure functions already.

        Args:
            functions: Closure functions, which return the positions of joints in loops (section
                8.11).
            independent: Independent coordinates, if couplings allow several choices.
            check: Whether to check the functions against the loops.
            samples: Independent coordinates (N, size) of the check; random by default.

        Raises:
            ClosureFunctionError: If they do not return all joints, or do not close the loops; it
                names the joint, or the loop and the gap.
        """
        explicit = ExplicitRobot(self.model, functions, independent)
        if check:
            explicit.check(samples)
        return explicit

    def on_gpu(self, method: OnGpu) -> GpuFunction:
        """Return a method of this robot as a function of many states on an NVIDIA GPU.

        Each thread evaluates one state in double precision. The function takes arrays of CuPy or
        NumPy and returns arrays of CuPy, see `GpuFunction`. The robot's parameters are constants
        of its code, which is compiled for each robot, in about a second.

        Args:
            method: "inverse_dynamics", "bias_forces", "inertia_matrix", "tree_forward_dynamics" or
                "closed_loop"; inputs and results are as for the method.

        Raises:
            UnknownNameError: If it is another name.
            CompilerError: If CuPy is not installed, or a program has more than 10000 operations.
            RobotDynamicsError: If a joint moves no inertia and the method needs it.
        """
        if method not in _ON_GPU:
            raise UnknownNameError("function on a GPU", str(method), _ON_GPU)
        return self._functions.on_gpu(_ON_GPU[method])


def load(
    path: str | Path | Any,
    loops: str | Path | None = None,
    *,
    strict: bool = False,
    locked: Mapping[str, float] | None = None,
    arguments: Mapping[str, object] | None = None,
    gravity: Iterable[float] | None = None,
    variable: Iterable[str] | None = None,
    joint_friction: JointFriction = False,
    spanning_tree: str | Iterable[str] | None = None,
    root: str | None = None,
) -> Robot:
    """Return the robot of a description file.

    Its warnings are issued by `warnings.warn`, as `robot_dynamics.description.DescriptionWarning`.

    Args:
        path: A URDF, MJCF, xacro or model file, a DH table, the text of a URDF or an MJCF,
            `robot_descriptions:` and the name of a robot, an object of urdfpy, urchin or
            yourdfpy, or a description, a saved model or a mechanism of this package (see
            `load_description`).
        loops: A YAML file with loop joints and gears.
        strict: Refuse files with warnings.
        locked: Joints that are fixed, and their positions [rad or m].
        arguments: Values of the arguments of a xacro file.
        gravity: Acceleration of gravity [m/s^2]; by default as an MJCF or model file states it,
            otherwise 9.81 downwards.
        variable: Bodies and loop joints whose values are parameters of compiled code; by default
            those that a model file names.
        joint_friction: Whether damping and Coulomb friction of the joints are part of all
            dynamics; otherwise they are data, and `damping_forces` returns the damping. With
            "coulomb", `rd.Simulation` and `rd.integrate` also hold joints at rest by constraint
            forces instead of the smooth law.
        spanning_tree: See `model.build`.
        root: See `model.build`.

    Raises:
        DescriptionError: If the file does not define a mechanism; it lists every problem.
    """
    from robot_dynamics.description.load import load_saved

    saved = load_saved(path, loops, strict=strict, locked=locked, arguments=arguments)
    saved.description.diagnosis.issue_warnings(saved.description.source, stacklevel=2)
    return Robot.from_mechanism(
        saved.description.mechanism,
        gravity=saved.gravity if gravity is None else gravity,
        variable=saved.variable if variable is None else variable,
        joint_friction=joint_friction,
        spanning_tree=spanning_tree,
        root=root,
    )
