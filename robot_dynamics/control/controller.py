# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""User-defined controllers: torques from the measurements of a law, behind the same safety layer.

A shipped law runs beside such a controller as its observer: it estimates object and forces,
provides the reference, checks start and path, and is recorded. Its torque is not used.
"""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.arrays import Array
from robot_dynamics.control.arm_model import ArmModel
from robot_dynamics.control.control_law import ControlLaw, HeldStep, LawStep, ObjectPlan
from robot_dynamics.control.reference import ACCELERATION, POSE, TWIST
from robot_dynamics.control.settings import ControlSettings
from robot_dynamics.errors import RobotDynamicsError, sentence_of
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.robot import Robot


class ControllerError(RobotDynamicsError):
    """A user-defined controller could not be made, or raised an error."""


class ControllerInput(NamedTuple):
    """Inputs of a controller at a control instant.

    With na arm joints, k arms and m internal forces. For an object of two parts, pose, twist and
    reference belong to the first part.

    Names that `Simulation.step` also returns have the same meaning, except that the state of the
    object is estimated from the arms (or its sensor) and not the true one.

    Attributes:
        time: Time since control began [s].
        q: Measured positions of the arm joints (na,) [rad or m].
        qd: Their velocities (na,) [rad/s or m/s].
        wrenches: Measured grasp wrenches by the arms on the object (k, 6), moment [N m] and force
            [N] in tool frames; None where there are no wrist sensors.
        object_pose: Estimated pose of the object, x y z qx qy qz qw in the world (7,).
        object_twist: Its angular velocity and the velocity of its origin, world axes (6,).
        error: Rotation vector and displacement from the object to its reference, world axes
            (6,) [rad, m].
        internal_force: Measured internal force (m,), in the order of the task's
            `internal_force_names`.
        support: The torque that holds arms and object up at rest (na,).
        reference_pose: Desired pose of the object, as `object_pose` (7,).
        reference_twist: Desired twist, as `object_twist` (6,).
        reference_acceleration: Desired angular acceleration and acceleration of its origin, world
            axes (6,).
        reference_internal_force: Desired internal force (m,).
    """

    time: float
    q: Array
    qd: Array
    wrenches: Array | None
    object_pose: Array
    object_twist: Array
    error: Array
    internal_force: Array
    support: Array
    reference_pose: Array
    reference_twist: Array
    reference_acceleration: Array
    reference_internal_force: Array


class ControlTask:
    """Task of a controller: the arms, the object, its reference, and the control rate.

    Attributes:
        system: Arms, object and grasps according to the model.
        settings: Control settings of the scenario.
        period: Control period [s].
        joint_names: The arm joints, in the order of torques and measurements.
        arm_names: The arms, in the order of wrenches.
        effort_limits: The largest torques of the drives (na,) [N m or N].
        internal_force_names: Names of the internal forces (m,), as "squeeze".

    Args:
        law: The observer.
        settings: Control settings.
    """

    def __init__(self, law: ControlLaw, settings: ControlSettings) -> None:
        self.system: GraspSystem = law.system
        self._law = law
        self.settings, self.period = settings, settings.period
        self.joint_names = self.system.joint_names
        self.arm_names = tuple(arm.name for arm in self.system.arms)
        self.effort_limits: Array = np.array(self.system.limits["effort"])
        self.internal_force_names = tuple(law.internal_force_names)

    @property
    def reference(self) -> ObjectPlan:
        """Desired motion of the object, from the end of the start ramp on."""
        return self._law.reference

    @cached_property
    def arms(self) -> Robot:
        """Algorithms of the arms without the object; it has its own order of joints."""
        return Robot(self.system.arms_alone)

    @cached_property
    def joints(self) -> NDArray[np.intp]:
        """Indices of the arm joints in the vectors of `arms` (na,)."""
        return np.array([self.arms.model.joint_index(name) for name in self.joint_names])

    def inertia(self, q: ArrayLike) -> Array:
        """Return the joint-space inertia matrix of the arms (na, na) at positions `q` (na,)."""
        return self._arm_model.inertia(np.asarray(q, dtype=float))

    @cached_property
    def _arm_model(self) -> ArmModel:
        return ArmModel(self.system)


class Controller:
    """A user-defined controller; only `torque` must be written.

        class Hold(rd.Controller):
            def start(self, seen):
                self.q, self.H = seen.q, self.task.inertia(seen.q)

            def torque(self, seen):
                return seen.support + self.H @ (400.0 * (self.q - seen.q) - 40.0 * seen.qd)

    It runs by `simulate(..., controller=Hold())`, and by the name `module:Hold` or `file.py:Hold`
    as `control.law` of a scenario; `control.options` are then the arguments of its constructor.

    Attributes:
        task: Its task; set before `prepare`.
    """

    task: ControlTask

    def prepare(self, task: ControlTask) -> None:
        """Prepare for arms and reference, once, before all other calls; compute gains here."""

    def start(self, seen: ControllerInput) -> None:
        """Reset all state from the measurements; called before every start, and for a trial."""

    def torque(self, seen: ControllerInput) -> ArrayLike:
        """Return the torques of the arm joints (na,) [N m or N].

        After any error the fallback of the safety layer takes over.
        """
        raise NotImplementedError("`torque(seen)` is what a controller must have.")


class _OfFunctions(Controller):
    """A controller of functions, or of an object with some of the methods."""

    def __init__(
        self,
        torque: Callable[[ControllerInput], ArrayLike],
        start: Callable[[ControllerInput], None] | None = None,
        prepare: Callable[[ControlTask], None] | None = None,
    ) -> None:
        self._torque, self._start, self._prepare = torque, start, prepare

    def prepare(self, task: ControlTask) -> None:
        if self._prepare is not None:
            self._prepare(task)

    def start(self, seen: ControllerInput) -> None:
        if self._start is not None:
            self._start(seen)

    def torque(self, seen: ControllerInput) -> ArrayLike:
        return self._torque(seen)


def as_controller(given: Any, options: dict[str, Any] | None = None) -> Controller:
    """Return a controller made from a class, an object, or a function of the user.

    Args:
        given: A function of `ControllerInput`, an object with `torque` and maybe `start` and
            `prepare`, or a class of such objects.
        options: Arguments of the class, or further arguments of the function.

    Raises:
        ControllerError: If `given` is something else, or its constructor raises an error.
    """
    options, name = dict(options or {}), controller_name(given)
    if isinstance(given, type):
        _require_options(name, given, options)
        try:
            given = given(**options)
        except Exception as error:
            with_options = f" with control.options {options}" if options else ""
            raise _failure(name, error, with_options) from error
    elif options and callable(given) and not hasattr(given, "torque"):
        function = given
        _require_options(name, function, options, "seen")

        def given(seen: ControllerInput) -> Any:
            return function(seen, **options)

    elif options:
        raise ControllerError(
            f"controller {name!r}: control.options are for classes and functions; expected none."
        )
    if isinstance(given, Controller):
        return given
    if callable(getattr(given, "torque", None)):
        more = (getattr(given, method, None) for method in ("start", "prepare"))
        return _OfFunctions(given.torque, *more)
    if callable(given):
        return _OfFunctions(given)
    raise ControllerError(
        f"controller {name!r}: expected a function of what is seen that returns torques, or an "
        "object with a method 'torque'."
    )


def _require_options(name: str, given: Any, options: dict[str, Any], *others: str) -> None:
    """Check that a class or function takes the options.

    Raises:
        ControllerError: If not; with the options that it takes, and its file and line.
    """
    try:
        taken = inspect.signature(given)
    except (TypeError, ValueError):  # not written in Python
        return
    try:
        taken.bind(*others, **options)
    except TypeError as error:
        names = [*taken.parameters][len(others) :]
        written = vars(given).get("__init__") if isinstance(given, type) else given
        code = getattr(written, "__code__", None)
        place = f" ({code.co_filename}:{code.co_firstlineno})" if code else ""
        raise ControllerError(
            f"controller {name!r} with control.options {options} {error}; expected "
            f"{'options ' + ', '.join(names) if names else 'no options'}{place}."
        ) from error


def controller_name(given: Any) -> str:
    """Return the name of a user's class, object or function, as "module:name"."""
    named = given if hasattr(given, "__qualname__") else type(given)
    return f"{named.__module__}:{named.__qualname__}"


class RunningController:
    """A controller beside the law that observes for it.

    Args:
        name: Its name in messages.
        controller: The controller.
        law: The observer.
        settings: Control settings.

    Raises:
        ControllerError: If its `prepare` raises an error.
    """

    def __init__(
        self, name: str, controller: Controller, law: ControlLaw, settings: ControlSettings
    ) -> None:
        self._name, self._controller, self._law = name, controller, law
        self._period, self._ramp_ticks = settings.period, settings.ramp_ticks
        self._count = len(law.system.joint_names)
        self._no_force = np.zeros(len(law.internal_force_names))
        task = ControlTask(law, settings)
        self._limits = task.effort_limits
        controller.task = task
        self._call(controller.prepare, task)

    def start(self, step: LawStep, q: Array, qd: Array) -> None:
        """Reset the controller; see `Controller.start`.

        Raises:
            ControllerError: If it raises an error.
        """
        self._call(self._controller.start, self._seen(step, 0, q, qd, None))

    def step(
        self, step: LawStep, tick: int, q: Array, qd: Array, wrenches: Array | None
    ) -> LawStep:
        """Return the observer's step with the torque of the controller.

        At the start the torque ramps in from the support torque.

        Raises:
            ControllerError: If the controller raises an error, or returns no numbers.
        """
        returned = self._call(self._controller.torque, self._seen(step, tick, q, qd, wrenches))
        if returned is None:
            raise ControllerError(
                f"controller {self._name!r} returned None, as a function without `return` does; "
                f"expected {self._count} torques, one for each arm joint."
            )
        try:
            torque = np.array(returned, dtype=float)
        except (TypeError, ValueError) as error:
            raise ControllerError(
                f"controller {self._name!r} returned {type(returned).__name__}; expected "
                f"{self._count} torques, one for each arm joint."
            ) from error
        if torque.shape != (self._count,):
            raise ControllerError(
                f"controller {self._name!r} returned an array of shape {torque.shape}; expected "
                f"{self._count} torques, one for each arm joint."
            )
        if tick < self._ramp_ticks:
            ramped = step.support + tick / self._ramp_ticks * (torque - step.support)
            # A torque that is still too large is refused with the number that the controller
            # returned.
            if (abs(ramped) <= self._limits).all() or (abs(torque) <= self._limits).all():
                torque = ramped
        return step.with_torque(torque)

    def _seen(
        self, step: LawStep, tick: int, q: Array, qd: Array, wrenches: Array | None
    ) -> ControllerInput:
        row = step.reference
        return ControllerInput(
            tick * self._period,
            np.array(q),
            np.array(qd),
            None if wrenches is None else np.array(wrenches),
            step.pose,
            step.twist,
            step.error,
            step.internal_force if isinstance(step, HeldStep) else self._no_force,
            step.support,
            row[POSE],
            row[TWIST],
            row[ACCELERATION],
            row[self._law.internal_columns],
        )

    def _call(self, method: Callable[[Any], Any], argument: Any) -> Any:
        try:
            return method(argument)
        except Exception as error:
            raise _failure(self._name, error) from error


def _failure(name: str, error: Exception, how: str = "") -> ControllerError:
    """Return an error with the place at which code of the user failed."""
    if isinstance(error, ControllerError):
        return error
    last = traceback.extract_tb(error.__traceback__)[-1]
    what = sentence_of(error).removeprefix("unexpected ").rstrip(".")
    place = f"{last.filename}:{last.lineno}"
    return ControllerError(f"controller {name!r}{how} failed: {what} ({place}).")


def of_observer(warning: str) -> str:
    """Return a warning of the observer of a user-defined controller."""
    return f"the observer warns: {warning}"
