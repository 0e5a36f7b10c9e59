# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Services of the simulator with names and types of `mujoco_ros2_control`.

They are offered where its package `mujoco_ros2_control_msgs` is installed.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from rclpy.node import Node
from scipy.spatial.transform import Rotation

from robot_dynamics.app.recordings.bags.messages import wrench_of
from robot_dynamics.app.recordings.topic_names import WORLD
from robot_dynamics.arrays import Array
from robot_dynamics.control.clock import SECOND
from robot_dynamics.errors import ArgumentError
from robot_dynamics.nodes.process import RunError
from robot_dynamics.nodes.pushes import Push
from robot_dynamics.nodes.services import NextCycle, serve
from robot_dynamics.nodes.simulated_run import Pause, SimulatedRun

_LONGEST_S = 30.0  # without the steps that were asked for, or 10 ms for each of them


class MujocoServices:
    """Answers to the requests of `mujoco_ros2_control_msgs`.

    Args:
        run: The simulated run.
        pause: Its pause.
        switch: Pauses simulated time, or lets it go on; returns a sentence.
        ask_steps: Asks for control periods of a paused run.
        restart: Goes back to the start, calls its argument there, and returns a sentence.
    """

    def __init__(
        self,
        run: SimulatedRun,
        pause: Pause,
        switch: Callable[[bool], str],
        ask_steps: Callable[[int], None],
        restart: Callable[[Callable[[], None]], str],
    ) -> None:
        self._run, self._pause, self._plant = run, pause, run.plant
        self._switch, self._ask_steps, self._restart = switch, ask_steps, restart
        self._pose = run.pushes.pose

    def set_pause(self, request: Any) -> str:
        """Pause simulated time, or let it go on."""
        return self._switch(bool(request.paused))

    async def step(self, request: Any) -> str:
        """Simulate some control periods of a paused run, and answer after them."""
        steps, run = int(request.steps), self._run
        if steps < 1:
            raise ArgumentError(f"steps are {steps}; expected 1 or more.")
        begin, end = run.tick, run.tick + steps
        self._ask_steps(steps)
        until = time.monotonic() + max(_LONGEST_S, 0.01 * steps)
        while run.tick < end:
            if not self._pause.paused or run.over or run.tick < begin:
                raise RunError("steps ended: the run is not paused any more, over, or was reset.")
            if time.monotonic() > until:
                raise RunError(
                    f"{end - run.tick} of {steps} control periods are left; expected commands "
                    "for all arms."
                )
            await NextCycle()
        return f"{steps} control periods to tick {run.tick}"

    def reset_world(self, request: Any) -> str:
        """Go back to the start, and put the object elsewhere if the request says so."""
        given = request.state_overrides
        for what, present in (
            ("a keyframe", request.keyframe),
            ("a state of joints", given.joint_states.name),
        ):
            if present:
                raise ArgumentError(f"{what} is given; expected none: the scenario has the start.")
        return self._restart(lambda: self._place(given.free_joints))

    def set_free_joint_state(self, request: Any) -> str:
        """Put the object elsewhere."""
        self._place(request.free_joints)
        return f"{len(request.free_joints)} bodies were placed"

    async def apply_wrench(self, request: Any) -> str:
        """Apply wrenches to links, and answer when the longest has ended."""
        run, period = self._run, self._plant.period
        begin = run.tick
        pushes = []
        for one in request.wrenches.external_wrenches:
            wrench = wrench_of(one.wrench.wrench)
            at = one.application_point
            moment = np.cross([at.x, at.y, at.z], wrench[3:])
            duration, ramp = (
                (span.sec + span.nanosec / SECOND) / period
                for span in (one.duration, one.ramp_down_duration)
            )
            if not 0.0 <= ramp <= duration:
                raise ArgumentError(
                    f"duration {duration * period:g} s and ramp_down_duration {ramp * period:g} s;"
                    " expected 0 or more, and a ramp that is no longer."
                )
            wrench[:3] += moment
            end = begin + max(1, round(duration))
            pushes.append(Push(one.wrench.header.frame_id, wrench, end, round(ramp)))
        run.pushes.add(pushes)
        end = max((push.end for push in pushes), default=begin)
        while begin <= run.tick < end and not run.over:
            await NextCycle()
        if run.tick < end:
            raise RunError("wrenches ended: the run is over, or was reset.")
        return f"{len(pushes)} wrenches were applied"

    def _place(self, states: Sequence[Any]) -> None:
        """Put the object at the last state of the list, after all of them are checked."""
        placed = None
        for i, state in enumerate(states):
            if state.name != self._pose.object:
                raise ArgumentError(
                    f"entry {i} is {state.name!r}; expected the object, {self._pose.object!r}."
                )
            placed = self._pose_of(state.pose), self._twist_of(state.twist)
        if placed is not None:
            self._plant.place(*placed)

    def _pose_of(self, stamped: Any) -> Array:
        p, o = stamped.pose.position, stamped.pose.orientation
        frame = self._frame(stamped.header.frame_id)
        turn = Rotation.from_matrix(frame[:3, :3]) * Rotation.from_quat([o.x, o.y, o.z, o.w])
        return np.concatenate([(frame @ [p.x, p.y, p.z, 1.0])[:3], turn.as_quat()])

    def _twist_of(self, stamped: Any) -> Array:
        v, w = stamped.twist.linear, stamped.twist.angular
        R = self._frame(stamped.header.frame_id)[:3, :3]
        return np.concatenate([R @ [w.x, w.y, w.z], R @ [v.x, v.y, v.z]])

    def _frame(self, name: str) -> Array:
        """Return the pose (4, 4) of a link, or of the world."""
        return np.eye(4) if name in ("", WORLD) else self._pose(name)


def serve_names_of_mujoco(node: Node, services: MujocoServices) -> None:
    """Offer the services, where their types are installed."""
    try:
        types = importlib.import_module("mujoco_ros2_control_msgs.srv")
    except ImportError:
        return
    for kind, name, action in (
        (types.SetPause, "set_pause", services.set_pause),
        (types.StepSimulation, "step_simulation", services.step),
        (types.ResetWorld, "reset_world", services.reset_world),
        (types.SetFreeJointState, "set_free_joint_state", services.set_free_joint_state),
        (types.ApplyExternalWrench, "apply_wrench", services.apply_wrench),
    ):
        serve(node, f"~/{name}", action, kind)
