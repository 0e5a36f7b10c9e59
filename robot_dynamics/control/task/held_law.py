# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The law of an object that the hands of a task hold, between its grasp and its release."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.linalg import block_diag

from robot_dynamics.arrays import Array
from robot_dynamics.control.control_law import ObjectPlan
from robot_dynamics.control.hybrid.law import HybridLaw
from robot_dynamics.control.hybrid.step import HybridStep
from robot_dynamics.control.resume import Resumed, ResumeError, nearest_time
from robot_dynamics.control.task.held_plan import SEARCH_SHARE, PlanPart
from robot_dynamics.control.task.phases import SETTLE_S, Now
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.manipulation.hybrid import FrictionCone
from robot_dynamics.wording import apart

_PULL_N = 5.0  # measured pull by a palm that no noise explains
_GRIPS = 0.25  # share of its planned push from which a palm holds an object
_Z = 5  # force along z in a wrench


class HeldLaw:
    """The law of a held object in a task: its plan starts again with each grasp.

    The object weighs what the arms carry in the air: before it is put down the difference from the
    model is taken off the measured wrenches (`tare`), which would count as a force on the surface.

    Args:
        law: The law; its plan is that of `held_plan.plan_held`.
        weight: Weight of the object [N].

    Attributes:
        law: The law.
        weight: Weight of the object [N].
        search_n: Force on a surface that is searched for [N].
        duration: Of the plan [s].
        tick: Control periods since it started.
        stood: Pose of the object at the start (7,), on its support.
    """

    def __init__(self, law: HybridLaw, weight: float) -> None:
        self.law, self.weight, self._plan, self.tick = law, weight, law.plan, 0
        self.search_n = SEARCH_SHARE * weight
        self.stood, self.duration = law.plan.start, law.plan.duration
        self._stage, self.first = 0, law.plan
        S = block_diag(*(contact.directions for contact in law.hybrid_system.contacts))
        self._to_tools = S @ law.distribution.share
        self._to_pushes = (S @ law.distribution.internal)[_Z::6]
        self._palms = {
            i: arm.name
            for i, arm in enumerate(law.system.arms)
            if isinstance(law.hybrid_system.contacts[i].limits, FrictionCone)
        }
        self._smoothing = law.period / SETTLE_S
        self._forget_load()

    def _forget_load(self) -> None:
        """Forget the load of the arms."""
        self._residual, self._tare = np.zeros(6), np.zeros((len(self.law.system.arms), 6))
        # Measured pushes of all tools, and the planned ones, smoothed alike (2, k) [N].
        self._grip: Array | None = None

    def part(self, part: tuple[float, float]) -> PlanPart:
        """Return a part of the plan; computing its rows takes longer than a control period."""
        return PlanPart(self._plan, *part, self.law.period)

    def prepare(self, q: Array, part: PlanPart) -> bool:
        """Do a quarter of a start with a part of the plan; return whether `start` is next.

        All of it takes longer than a control period: first the part is moved to where the arms
        hold the object, then its rows and the damping are computed, and then the law starts.
        """
        if self._stage == 0:
            self.stood = self.law.object_pose(q)
            self.first = part.moved_to(self.stood)
        elif self._stage == 1:
            self.law.begin_with(self.first)
        else:
            self.law.prepare_start(q)
        self._stage += 1
        return self._stage == 3

    def forget(self) -> None:
        """Forget an earlier run or an interrupted start."""
        self._stage = 0
        self._forget_load()
        self.law.forget()
        if self.law.reference is not self._plan:
            self.law.begin_with(self._plan)

    def start(self, now: Now) -> None:
        """Start the law after its preparation, from the torque that was sent last."""
        self._stage = 0
        self._forget_load()
        self.law.start(now.q, now.qd, now.last)
        self.tick = self.law.ramp_ticks  # nothing ramps in: the arms carry nothing that is new

    def choose_resumed(self, q: Array, part: PlanPart, begin: float, near: float) -> Resumed:
        """Return a part of the plan, taken up from where arms at `q` (na,) hold the object.

        The law then begins with the whole plan from there on, which can be checked.

        Args:
            q: Positions of the arm joints (na,).
            part: The part.
            begin: Its time in the plan [s].
            near: Where the object passes a place more than once, the time nearest to this one [s].

        Raises:
            ResumeError: If the object touches a surface on the part before it is in the air.
        """
        law, settings = self.law, self.law.settings
        pose = law.object_pose(q)
        times = np.arange(0.0, part.duration, settings.period)
        touching = part.rows(times)[:, law.row_columns["touch"]].any(axis=1)
        free = float(times[np.argmax(touching)]) if touching.any() else part.duration
        if free <= 0.0:
            raise ResumeError(
                "resume refused: the object touches its support in this phase; expected it in the "
                "air: move the arms by the drives' own controllers."
            )
        time = nearest_time([part], free, pose[None], settings.start, min(near, free))
        law.begin_with(Resumed(self._plan, pose, begin + time, settings.resume))
        return Resumed(part, pose, time, settings.resume)

    def prepare_resume(self, q: Array, resumed: Resumed) -> PlanPart:
        """Do the work of `resume` that takes longer than a control period; return its plan.

        It changes nothing that a fallback needs, so that another thread can do it.

        Args:
            q: Positions of the arm joints at the start (na,).
            resumed: The result of `choose_resumed`.
        """
        self.law.prepare_start(q)
        return PlanPart(resumed, 0.0, resumed.duration, self.law.period)

    def resume(self, now: Now, plan: PlanPart) -> None:
        """Start the law in the air, on the result of `prepare_resume`."""
        self._residual = np.zeros(6)  # the tare of this grasp stays: the object weighs the same
        self._grip = None
        self.law.begin_with(plan)
        self.law.keep_payload()
        self.law.start(now.q, now.qd, now.last)
        self.tick, self._stage = 0, 0

    def step(self, q: Array, qd: Array, wrenches: Array | None) -> HybridStep:
        """Return the step of a control period; see `ControlLaw.update`.

        Raises:
            RobotDynamicsError: If a palm seems to pull, or to push less than it must.
        """
        tared = None
        if wrenches is not None:
            require_push(self._palms, wrenches)
            tared = wrenches - self._tare
        seen = self.law.update(self.tick, q, qd, tared)
        self.tick += 1
        if wrenches is not None:
            squeeze = seen.reference[self.law.internal_columns] + seen.added_internal_force
            load = (self._to_tools @ seen.outputs.desired_wrench)[_Z::6]
            # A palm above another one pushes less than it squeezes; the one below may push more.
            planned = self._to_pushes @ squeeze + np.minimum(load, 0.0)
            grip = np.stack([wrenches[:, _Z], planned])
            before = grip if self._grip is None else self._grip
            self._grip = before + self._smoothing * (grip - before)
            require_grip(self._palms, *self._grip)
            off = seen.held_body_wrenches[0, -6:] - self._residual
            self._residual = self._residual + self._smoothing * off
        return seen

    def tare(self) -> None:
        """Take the wrench that the arms carry now, in the air, for the weight of the object."""
        self._tare = self._tare + (self._to_tools @ self._residual).reshape(-1, 6)
        self._residual = np.zeros(6)

    def begin_with_whole(self) -> None:
        """Set the next start to follow the whole plan from its beginning."""
        self.law.begin_with(self._plan)

    def rows(self, times: Array, width: int) -> Array:
        """Return the rows, of the given width, of the law's first plan at times (N,)."""
        rows = np.zeros((len(times), width))
        planned = self.law.reference.rows(times)
        rows[:, : planned.shape[1]] = planned
        return rows

    def follow(self, plan: ObjectPlan, *, leave: bool = False) -> None:
        """Follow another plan from now on, as a part of the own one; see `HybridLaw.follow`."""
        self.law.follow(plan, self.tick, leave=leave)

    @property
    def carries(self) -> bool:
        """Whether the arms bear more than half of the weight, by the plan.

        A measured touch proves nothing: a bias of a wrist looks the same.
        """
        row, at = self.law.running.last.reference, self.law.row_columns["contact"]
        return bool(np.abs(row[at]).max(initial=0.0) < 0.5 * self.weight)


def require_push(palms: Mapping[int, str], wrenches: Array) -> None:
    """Refuse wrenches (k, 6) by which a palm pulls: on a support no residual shows their sign.

    Args:
        palms: Names of the arms with palms, by their numbers.
        wrenches: By the tools on the object, in tool frames.

    Raises:
        RobotDynamicsError: With the arm.
    """
    for i, name in palms.items():
        pushed = float(wrenches[i, _Z])
        if pushed < -_PULL_N:
            raise RobotDynamicsError(
                f"the wrist sensor of arm {name!r} measures a pull of {-pushed:.3g} N by a palm, "
                "which can only push: check its sign."
            )


def require_grip(palms: Mapping[int, str], pushes: Array, planned: Array) -> None:
    """Refuse palms that do not push: dead sensors look like a support that bears all the weight.

    Args:
        palms: Names of the arms with palms, by their numbers.
        pushes: Measured forces along the tools (k,) [N].
        planned: Planned ones (k,): of the internal force, less weight that they bear [N].

    Raises:
        RobotDynamicsError: With the arm.
    """
    for i, name in palms.items():
        least = _GRIPS * float(planned[i])
        if not pushes[i] >= least:
            pushed, expected = apart(float(pushes[i]), least)
            raise RobotDynamicsError(
                f"the palm of arm {name!r} pushes with {pushed} N, expected at least {expected} N "
                "while it holds the object: its wrist sensor is dead, or it has lost the object."
            )
