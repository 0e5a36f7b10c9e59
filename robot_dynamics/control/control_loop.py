# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The control loop: samples in, torque out, safety before the law.

`simulate` and the controller node run this same object. `update` is one control instant; the node
calls it by `cycle`, with the samples that came over topics. Times are integers in the unit of the
loop's `clock.Clock`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.arrays import Array
from robot_dynamics.control.abilities import (
    AdjustsGrip,
    FollowsPlan,
    HoldsObject,
    RunsTask,
    SensesObject,
    TakesReferences,
    TunesGains,
)
from robot_dynamics.control.arm_model import ArmModel, with_load_in_hand
from robot_dynamics.control.clock import Clock
from robot_dynamics.control.control_law import ControlLaw, LawStep
from robot_dynamics.control.controller import RunningController
from robot_dynamics.control.fallback import FallbackTorque
from robot_dynamics.control.faults import Cause, Finding, SafetyError, StaleStreamError, State
from robot_dynamics.control.joint_motion import LOOK_S, StillArms
from robot_dynamics.control.joint_states import JointStates
from robot_dynamics.control.link_distance import FindsTooClose, Proximity
from robot_dynamics.control.oscillation import OscillationWatch, lowered, sentence
from robot_dynamics.control.path_check import PathProblem, PreflightError, in_phase
from robot_dynamics.control.reference import POSE
from robot_dynamics.control.resume import Resumed, ResumeError, Way
from robot_dynamics.control.safety import SafetyLayer
from robot_dynamics.control.settings import ControlSettings, SafetySettings
from robot_dynamics.control.start_check import StartError, disagreement
from robot_dynamics.control.streamed.intake import ReferenceIntake
from robot_dynamics.control.streamed.trajectory import TrajectoryError
from robot_dynamics.control.streams import StreamError, StreamWatch, VectorStream
from robot_dynamics.control.wrench_residual import WrenchResidual, watched_bodies
from robot_dynamics.control.wrist_sensors import WristSensors
from robot_dynamics.errors import RobotDynamicsError, sentence_of

_TRIALS = 5
_STEP_SHARE = 0.5  # part of the control period that the law may take on a clock
_SAME_PLACE = 1e-3  # how far joints may move between check and start [rad or m]
_PAUSED = "deactivated on request."


class Outcome(NamedTuple):
    """Result of a control instant.

    Attributes:
        torque: Torque to send (na,); None if the arms have never relied on torques from here.
        released: Arms to which no command must be sent: their drives hold them.
        step: Step of the law, whose torque can differ from the one to send; None if the law did
            not run, because it is not called with bad samples.
        elapsed_s: Time that the law and the safety layer took [s].
    """

    torque: Array | None
    released: tuple[str, ...] = ()
    step: LawStep | None = None
    elapsed_s: float = 0.0


class Streams(NamedTuple):
    """Properties of the streams of samples over topics.

    Attributes:
        ignored_joints: Names of other joints that joint states may hold.
        stale_after_s: Time without a sample after which a stream counts as lost [s]; 0 for the
            number of periods that the safety settings state.
        rate_tolerance: Share of the control rate by which the samples of an arm may be slower.
    """

    ignored_joints: Iterable[str] = ()
    stale_after_s: float = 0.0
    rate_tolerance: float = 0.2


class ControlLoop:
    """A control law, the safety layer before and after it, and the samples that both work on.

    The constructor compiles everything that a fault needs, before arms move.
    It has 32 attributes, because samples, law, safety and the parts that watch them meet here.

    Attributes:
        law: Computes the torques, or observes for a user-defined controller.
        controller: User-defined controller; None if the law computes the torques.
        system: Arms and object according to the model.
        safety: Decides whether the law's torques are sent.
        clock: Meaning of times.
        step_time: Duration of one step of the law, measured before the start [s].
        intake: Takes references while control runs; None if the law follows none.
        task: The law, if it runs a task; else None.
        began: Tick at which control was started last; None before the first start.
        oscillation: Present warning about an oscillation; empty without.
        warnings: All of them, each with its time.
        joint_states: Joint states that came over topics.
        wrist_sensors: Values subtracted from the readings of wrist sensors.
        wrenches: Streams of wrist sensors over topics, by arm; empty if there are none.
        object_box: Corners of the object's box (2, 3) [m] in its frame; None without.
        object_pose: Stream of the measured pose and twist of the object (13,) over a topic; None
            if the law takes none.

    Args:
        law: Computes the torques.
        control: Rate and start.
        settings: Limits and fallback.
        clock: Meaning of times.
        wrist_sensors: Whether the arms have sensors of the grasp wrenches.
        object_box: Lower and upper corner of the object's box in its own frame (2, 3) [m], which
            links keep away from.
        clearances: Finds other collisions on planned motions; None without any.
        friction: Largest friction of the surfaces that the object pushes on.
        streams: Properties of samples over topics; None if only `update` is used.
        controller: User-defined controller, which computes the torques instead of the law.
        like: A loop for the same system, from which models of the arms are taken.

    Raises:
        RobotDynamicsError: If the settings do not fit the system.
    """

    def __init__(
        self,
        law: ControlLaw,
        control: ControlSettings,
        settings: SafetySettings,
        clock: Clock,
        *,
        wrist_sensors: bool = True,
        object_box: ArrayLike | None = None,
        clearances: FindsTooClose | None = None,
        friction: float = 0.0,
        streams: Streams | None = None,
        controller: RunningController | None = None,
        like: ControlLoop | None = None,
    ) -> None:
        self.law, self.clock, self.controller = law, clock, controller
        self.system = system = law.system
        self._control, self._ramp_ticks = control, control.ramp_ticks
        held = law if isinstance(law, HoldsObject) else None
        self.task = law if isinstance(law, RunsTask) else None
        self._grasp_gap = min(settings.closure_limit_m, settings.closure_limit_rad)
        self._arms: ArmModel = ArmModel(system) if like is None else like._arms
        self._laden: ArmModel = self._arms
        if like is not None:
            self._laden = like._laden
        elif held:
            self._laden = ArmModel(with_load_in_hand(system))
        self.object_box = object_box
        self._proximity = proximity = Proximity(system, settings, object_box)
        self._clearances = clearances
        bodies: tuple[WrenchResidual, ...] = ()
        if wrist_sensors and held:
            payload = "estimated" if control.payload == "adapt" else "stated"
            bodies = watched_bodies(system, settings, control.period, friction, payload)
            if held.grasp.bodies != len(bodies):
                raise RobotDynamicsError(
                    f"the law estimates the wrench of {held.grasp.bodies} body, expected one that "
                    f"estimates it for each of the {len(bodies)} parts that are held."
                )
        self.safety = SafetyLayer(
            settings,
            {arm.name: arm.joints for arm in system.arms},
            system.limits,
            FallbackTorque(
                settings,
                self._support,
                self._inertia,
                system.limits["effort"],
                system.arm_slices,
                control.command_delay_periods,
                self._firmer_grip,
                self._inverse_inertia,
            ),
            period=control.period,
            clock=clock,
            ramp_s=control.start.ramp_s,
            start_speed=control.start.velocity_limit,
            wrench_count=len(system.arms) if wrist_sensors else 0,
            held_bodies=held.grasp.bodies if held else 0,
            rigid_object=system.object_joint is None,
            proximity=proximity,
            bodies=bodies,
            soft_fingers=held.grasp.soft_fingers if held else (),
            units=system.joint_units,
        )
        # Load everything that a fault needs now: then nothing can be compiled.
        self._support(system.posture, True)
        self._support(system.posture, False)
        for laden in (True, False):
            self._inertia(system.posture, laden)
        self.step_time = self._try_step()
        self.intake: ReferenceIntake | None = None
        if isinstance(law, TakesReferences):
            self.intake = ReferenceIntake(
                law, system, settings, self._arms.terms, proximity, control
            )
        self.wrist_sensors = WristSensors(system)
        # Surfaces or people can stop arms that give way, and a user-defined controller can let
        # them stay.
        self._still_arms: StillArms | None = None
        if held and held.moves_as_asked and controller is None:
            grasps = np.array([grasp[:3, 3] for grasp in system.grasps])
            self._still_arms = StillArms(system.arm_slices, grasps, control.object.bandwidth)
        self._looked, self._look_ticks = 0, max(1, round(LOOK_S / control.period))
        self._oscillations: OscillationWatch | None = None
        if held and controller is None and isinstance(law, TunesGains):
            self._oscillations = OscillationWatch(system.arm_slices, control.period)
        self.oscillation = ""
        self.warnings: tuple[tuple[int, str], ...] = ()
        self._must_tare = wrist_sensors and control.start.tare
        self._last_step: LawStep | None = None
        self._holding = False
        self._checked_start: Array | None = None
        self.began: int | None = None
        self._ran = 0  # control periods for which the law ran last
        self._listen(control, settings, streams, wrist_sensors=wrist_sensors)

    def _listen(
        self,
        control: ControlSettings,
        settings: SafetySettings,
        streams: Streams | None,
        *,
        wrist_sensors: bool,
    ) -> None:
        """Make the buffers of samples from topics, watched if there are such samples."""
        ignored, stale_after_s, rate_tolerance = streams or Streams()
        self.joint_states = JointStates(
            self.system,
            control,
            settings,
            self.safety,
            self.clock,
            ignored=ignored,
            stale_after_s=stale_after_s,
            rate_tolerance=rate_tolerance,
        )
        stale_after_s = self.joint_states.stale_after_s
        arms = self.system.arms if wrist_sensors else ()
        self.wrenches = {
            arm.name: VectorStream(f"{arm.name}/wrench", 6, stale_after_s, self.clock)
            for arm in arms
        }
        of_wrenches = [stream.watch for stream in self.wrenches.values()]
        self.object_pose: VectorStream | None = None
        if isinstance(self.law, SensesObject) and self.law.senses:
            self.object_pose = VectorStream("object pose", 13, stale_after_s, self.clock)
        of_object = [self.object_pose.watch] if self.object_pose is not None else []
        self._watches: list[StreamWatch] = [
            *(*self.joint_states.watches, *of_wrenches, *of_object)
        ]
        if streams is None:
            return
        for watch in self.joint_states.watches:
            self.safety.monitor(watch, Cause.ARM_LOST)
        for watch in of_wrenches:
            self.safety.monitor(watch, Cause.WRENCH_LOST)
        for watch in of_object:
            self.safety.monitor(watch, Cause.OBJECT_POSE_LOST)

    # -- samples over topics ------------------------------------------------------------------

    @property
    def complaint(self) -> str:
        """Sentence about currently refused samples; empty without any."""
        return self.joint_states.complaint

    @property
    def complete(self) -> bool:
        """Whether every stream has a fresh sample."""
        return not any(watch.is_stale(self.joint_states.now) for watch in self._watches)

    def take_wrench(self, arm: str, stamp: int, wrench: Array, now: int) -> None:
        """Take the wrench (6,) of an arm's wrist sensor, by the arm on the object."""
        self._accept(self.wrenches[arm], stamp, wrench, now, Cause.WRENCH_LOST)

    def reject_wrench(self, arm: str, why: str, now: int) -> None:
        """Refuse the wrench of an arm's wrist sensor, as one in an unknown frame."""
        self._reject(StreamError(self.wrenches[arm].name, why), now, Cause.WRENCH_LOST)

    def take_object_pose(self, stamp: int, pose: Array, twist: Array, now: int) -> None:
        """Take the measured pose of the object.

        Args:
            stamp: The sample's own time.
            pose: x y z qx qy qz qw of the object's frame in the world (7,).
            twist: Angular velocity and velocity of its origin, world axes (6,).
            now: Current time.
        """
        if self.object_pose is not None:
            length = float(np.linalg.norm(pose[3:]))
            if length > 0.0:  # a zero quaternion becomes nan, which is refused
                unit = np.concatenate([pose[:3], pose[3:] / length])
            else:
                unit = np.full(7, np.nan)
            values = np.concatenate([unit, twist])
            self._accept(self.object_pose, stamp, values, now, Cause.OBJECT_POSE_LOST)

    def _accept(
        self, stream: VectorStream, stamp: int, values: Array, now: int, cause: Cause
    ) -> None:
        """Take a sample of a stream; a refused sample is a fault while control runs."""
        complaints = self.joint_states.complaints
        self.joint_states.now = now
        if self.safety.state is State.INACTIVE:
            stream.watch.follow(stamp)
        try:
            stream.accept(stamp, values, now)
            complaints.pop(stream.name, None)
        except StreamError as error:
            self._reject(error, now, cause)
            stream.watch.follow(stamp)  # the fault is latched; the next sample is the first

    def reject_object_pose(self, why: str, now: int) -> None:
        """Refuse a measured pose of the object, as one in another frame."""
        if self.object_pose is not None:
            error = StreamError(self.object_pose.name, why)
            self._reject(error, now, Cause.OBJECT_POSE_LOST)

    def _reject(self, error: StreamError, now: int, cause: Cause) -> None:
        self.joint_states.complaints[error.stream] = f"{error.stream}: {error.cause}"
        self.safety.rejected(now, error, cause)

    def require_samples(self, now: int, refused: str = "start") -> None:
        """Refuse a start, or something else that needs samples, while a stream is silent.

        Raises:
            StaleStreamError: If one is; why is of more use than that it is.
        """
        self.joint_states.now = now
        for watch in self._watches:
            if watch.is_stale(now):
                reason = self.complaint or f"{watch.name}: {watch.staleness(now)}"
                raise StaleStreamError(f"{refused} refused: {reason}")

    def _sense(self) -> None:
        """Hand the measured pose of the object to the law."""
        if self.object_pose is not None and isinstance(self.law, SensesObject):
            values = self.object_pose.values
            self.law.sense(pose=values[:7], twist=values[7:])

    def _is_in_hands(self, now: int, q: Array) -> bool:
        """Return whether the measured object is where arms at `q` (na,) hold it; else fall back.

        The law would follow a false pose at once, and take the grasps for lost.
        """
        away = self._object_away(q)
        if away:
            self.safety.trip(now, Finding(Cause.OBJECT_POSE_LOST, "object pose", away))
        return not away

    def _object_away(self, q: Array) -> str:
        """Return a sentence if the measured object is not where arms at `q` (na,) hold it."""
        if self.object_pose is None or self.object_pose.watch.arrival is None:
            return ""
        settings = self.safety.settings
        distance, angle = self._arms.object_gap(q, self.object_pose.values[:7])
        if distance <= settings.closure_limit_m and angle <= settings.closure_limit_rad:
            return ""
        return (
            f"it is {distance:.3g} m and {angle:.3g} rad from where the arms hold the object; "
            f"expected at most {settings.closure_limit_m:g} m and {settings.closure_limit_rad:g} "
            "rad: check the sensor's calibration and delay, and the grasps."
        )

    def _require_in_hands(self, q: Array) -> None:
        """Refuse a start with a measured object that is elsewhere than arms at `q` hold it."""
        away = self._object_away(q)
        if away:
            raise SafetyError(f"start refused: object pose: {away}")

    def _wrenches_seen(self) -> Array | None:
        """Return the last good wrenches (k, 6); None without sensors."""
        if not self.wrenches:
            return None
        return np.array([stream.values for stream in self.wrenches.values()])

    def _grasp_wrenches(self, q: Array, measured: Array | None) -> Array | None:
        """Return the grasp wrenches (k, 6) of a measurement; None if they are unknown.

        Positions are unchecked: if loops of an arm do not close there, its data are false. The
        check of the measurement finds that, and must see the other arms.
        """
        if measured is None:
            return None
        try:
            return self.wrist_sensors.grasp_wrenches(q, measured)
        except RobotDynamicsError:
            return None

    def _try_step(self) -> float:
        """Return the time that a step of the law takes [s].

        The shortest of some trials: one alone may have been held up by another process. Whatever
        the law learned in them is forgotten at its start.
        """
        q = self.system.posture
        still, shortest = np.zeros_like(q), np.inf
        self.begin_law(q, still)
        for _ in range(_TRIALS):
            begin = time.perf_counter()
            self.step_law(0, q, still)
            shortest = min(shortest, time.perf_counter() - begin)
        return shortest

    # -- the law ------------------------------------------------------------------------------

    def begin_law(self, q: Array, qd: Array, last: Array | None = None) -> LawStep:
        """Start the law without any check; see `ControlLaw.start`."""
        seen = self.law.start(q, qd, last)
        if self.controller is not None:
            self.controller.start(seen, q, qd)
        return seen

    def step_law(self, tick: int, q: Array, qd: Array, wrenches: Array | None = None) -> LawStep:
        """Return the law's step, without any check; see `ControlLaw.update`."""
        step = self.law.update(tick, q, qd, wrenches)
        if self.controller is not None:
            step = self.controller.step(step, tick, q, qd, wrenches)
        return step

    # -- start --------------------------------------------------------------------------------

    def prepare(self, now: int, way: Way = "start") -> Callable[[], None]:
        """Check the sampled state before a start, and return the check of the path from there.

        That takes a tenth of a second, and may be done by another thread; see `check_path`.

        Args:
            now: Current time.
            way: How control begins; see `FollowsPlan.choose_start`.

        Raises:
            RobotDynamicsError: If the state is refused; one sentence says why.
        """
        self.require_samples(now)
        self._require_tared()
        q, qd = self.joint_states.state()
        try:
            self.check_state(q, qd, way)
        except StartError as error:
            if way == "start" and error.subject not in self.system.joint_names:
                raise self._elsewhere(error) from error
            raise
        self._check_hands(q, self._wrenches_seen())
        self._require_in_hands(q)
        return partial(self.check_path, q)

    def _check_hands(self, q: Array, wrenches: Array | None) -> None:
        """Refuse a start of a task from positions `q` (na,) with wrenches (k, 6) at its hands."""
        if self.task is not None:
            if wrenches is not None:
                wrenches = self.wrist_sensors.grasp_wrenches(q, wrenches)
            self.task.check_hands(q, wrenches)

    def _elsewhere(self, error: StartError) -> StartError:
        """Return a refused start, with the ways on if the arms hold the object elsewhere."""
        if not self._is_grasped():
            return error
        return error.with_remedy(
            "If the arms hold the object there, use the services controller/resume or "
            "controller/put_down."
        )

    def check(self, q: Array, qd: Array, way: Way = "start") -> None:
        """Check state and reference before a start; that takes a tenth of a second.

        Args:
            q: Positions of the arm joints (na,).
            qd: Their velocities (na,).
            way: How control begins; see `FollowsPlan.choose_start`.

        Raises:
            RobotDynamicsError: As `check_state` and `check_path` do.
        """
        self.check_state(q, qd, way)
        self.check_path(q)

    def tare(self, q: Array, measured: ArrayLike) -> None:
        """Tare the wrist sensors, which must carry only their tools; see `WristSensors.tare`.

        Args:
            q: Positions of the arm joints (na,).
            measured: Measured wrenches (k, 6), the mean over some time.

        Raises:
            SafetyError: If control runs, or the arms hold the object.
        """
        self.require_free_hands()
        self.wrist_sensors.tare(q, measured)

    def require_free_hands(self) -> None:
        """Refuse to tare wrist sensors while control runs, or while the arms hold the object.

        Raises:
            SafetyError: If that is so.
        """
        safety = self.safety
        if safety.law_runs or (safety.in_charge and safety.object_held):
            doing = "the arms hold the object" if safety.object_held else "control runs"
            raise SafetyError(
                f"taring refused: {doing}; expected wrist sensors that carry nothing but their "
                "tools, before the grasp."
            )

    def check_state(self, q: Array, qd: Array, way: Way = "start") -> None:
        """Check in a moment whether control may start from a state.

        Args:
            q: Positions of the arm joints (na,).
            qd: Their velocities (na,).
            way: How control begins; see `FollowsPlan.choose_start`.

        Raises:
            StartError: If the arms are not at their grasps, or not at rest.
            SafetyError: If a fault is latched, control runs already, the arms carry the object of
                a task, or a step takes too long for the control rate on a clock.
        """
        self.safety.require_inactive(way)
        if way == "start":
            self._require_free_hands()
        period = self._control.period
        if not self.clock.lockstep and self.step_time > _STEP_SHARE * period:
            raise SafetyError(
                f"start refused: a step of the law takes {1e3 * self.step_time:.2g} ms of the "
                f"period of {1e3 * period:.2g} ms; expected at most {100 * _STEP_SHARE:.0f} %: "
                "install llvmlite, or lower control.rate_hz."
            )
        if isinstance(self.law, FollowsPlan):
            self.law.choose_start(way, q, self._ran)
        elif way != "start":
            raise ResumeError(f"{way} refused: the law follows no plan; expected a start.")
        self.law.check_start(q, qd)

    @property
    def beginning(self) -> str:
        """Kind of start of control, in words."""
        if self.task is not None:
            return self.task.beginning
        reference = self.law.reference
        return str(reference) if isinstance(reference, Resumed) else "control ramps in"

    def check_path(self, q: Array) -> None:
        """Check the reference from a state on, and note that control may start near to it.

        Another thread can call this while the fallback runs: it changes no data of the fallback.

        Args:
            q: Positions of the arm joints (na,).

        Raises:
            PreflightError: If the arms cannot follow the reference from there.
            SafetyError: If the arms carry the object of a task.
        """
        task = self.task
        if task is None or not task.resumes:
            self._require_free_hands()
        self._checked_start = None
        if isinstance(self.law, FollowsPlan):
            motion = self.law.check_path(q)
            poses = self.law.reference.rows(motion.times)[:, POSE]
            phases = () if task is None else task.planned_phases(motion.times)
            close = self._proximity.first_too_close(motion.q, poses)
            if close is not None and phases:
                close = close._replace(sentence=in_phase(close.sentence, phases[close.row]))
            if close is None and self._clearances is not None:
                close = self._clearances.first_too_close(motion.q, poses, phases)
            if close is not None:
                time = float(motion.times[close.row])
                problem = PathProblem(time, close.joint, close.sentence)
                raise PreflightError([problem], "reference" if task is None else "task")
        self._checked_start = np.array(q, dtype=float)

    def _require_free_hands(self) -> None:
        """Refuse a task while the fallback carries its object: the law must not forget it."""
        if self.task is not None and self.safety.in_charge and self.safety.object_held:
            raise SafetyError(
                "start refused: the arms carry the object; expected it on its support, because a "
                "task begins with free hands. The service controller/resume goes on with the task."
            )

    def take_path_check(self, other: ControlLoop) -> None:
        """Take the result of `check_path` from a loop with an equal law and plan."""
        self._checked_start = other._checked_start

    def start(self, now: int, tick: int) -> LawStep:
        """Start control from the state in the samples from topics.

        Args:
            now: Current time.
            tick: The control tick, from which the reference is counted.

        Raises:
            RobotDynamicsError: As `start_at` does, or if a stream is silent.
        """
        self.require_samples(now)
        self._sense()
        q, qd = self.joint_states.state()
        sampled = self.joint_states.sampled
        return self.start_at(now, tick, q, qd, self._wrenches_seen(), sampled)

    def start_at(
        self,
        now: int,
        tick: int,
        q: Array,
        qd: Array,
        wrenches: Array | None,
        sampled: Array | None = None,
    ) -> LawStep:
        """Start control near the state of the reference's check; return the step of the law.

        Args:
            now: Current time.
            tick: The control tick, from which the reference is counted.
            q: Positions of the arm joints (na,).
            qd: Their velocities (na,).
            wrenches: Grasp wrenches (k, 6), if they are measured.
            sampled: When each arm was sampled [s]; now by default.

        Raises:
            StartError: If the arms have moved since the check.
            SafetyError: If a fault is latched, a stream is stale, or control runs already.
        """
        self._require_checked(q)
        self._require_tared()
        self.law.check_start(q, qd)
        self._check_hands(q, wrenches)
        self._require_in_hands(q)
        safety = self.safety
        if wrenches is not None:
            wrenches = self.wrist_sensors.grasp_wrenches(q, wrenches)
        safety.observe(now, q, qd, wrenches, sampled)
        # The safety layer decides first: a refused start must not change a law that runs, or its
        # fallback.
        safety.require_inactive()
        if wrenches is not None and self.wrist_sensors.tared and isinstance(self.law, HoldsObject):
            self.law.weigh(q, wrenches)
        safety.start(now, self.law.hold_support(q))
        self.began, self._holding, self._looked = tick, False, 0
        if self._still_arms is not None:
            self._still_arms.begin()
        if self._oscillations is not None:
            self._oscillations.begin()
        self.oscillation = ""
        try:
            seen = self.begin_law(q, qd, safety.last)
            self._count_object()
            safety.begin_checks(q, seen.pose)
            if self.intake is not None:
                self.intake.begin()
        except Exception as error:  # nobody knows what the law has learned
            self.fall_back(now, Cause.CONTROLLER_FAILED, "controller", sentence_of(error))
            raise
        return seen

    def _require_tared(self) -> None:
        """Refuse a start with wrist sensors that were not tared, if they must be."""
        if self._must_tare and not self.wrist_sensors.tared:
            raise SafetyError(
                "start refused: the wrist sensors were not tared; expected that before the grasp, "
                "by the service controller/tare or ControlLoop.tare, as control.start.tare says: "
                "a bias along the squeeze cannot be seen later."
            )

    def _require_checked(self, q: Array) -> None:
        """Refuse a start from elsewhere than where the reference was checked."""
        moved = np.inf if self._checked_start is None else np.abs(q - self._checked_start)
        if not np.all(moved <= _SAME_PLACE):
            worst = int(np.argmax(moved))
            name, far = self.system.joint_names[worst], float(np.atleast_1d(moved)[worst])
            sentence = f"joint {name!r} has moved since the reference was checked."
            raise StartError(name, far, _SAME_PLACE, sentence)

    # -- a control instant --------------------------------------------------------------------

    def cycle(self, now: int, tick: int) -> Outcome:
        """Return the outcome of a control instant, from the samples from topics.

        Args:
            now: Current time.
            tick: The control tick.
        """
        try:
            q, qd = self.joint_states.use(now)
            wrenches = self._wrenches_seen()
            self._sense()
        except Exception as error:
            return self._fail(now, error)
        return self.update(now, tick, q, qd, wrenches, self.joint_states.sampled)

    def update(
        self,
        now: int,
        tick: int,
        q: Array,
        qd: Array,
        wrenches: Array | None,
        sampled: Array | None = None,
    ) -> Outcome:
        """Return the outcome of a control instant.

        Any error ends in the fallback. An error of the fallback is raised, and the watchdog takes
        over.

        Args:
            now: Current time.
            tick: The control tick.
            q: Positions of the arm joints (na,); unchecked.
            qd: Their velocities (na,); unchecked.
            wrenches: Grasp wrenches (k, 6), by the arms on the object, in tool frames; unchecked.
            sampled: When each arm was sampled [s]; now by default.
        """
        begin = time.perf_counter()
        safety, step = self.safety, None
        try:
            if not safety.wrenches_usable:
                wrenches = None
            wrenches = self._grasp_wrenches(q, wrenches)
            if safety.observe(now, q, qd, wrenches, sampled) and self._is_in_hands(now, q):
                step, torque = self._run_law(now, tick - (self.began or 0), q, qd, wrenches)
            else:
                torque = safety.command(now)
        except Exception as error:  # arms hang on this: no error whatever may end the control
            return self._fail(now, error)
        return Outcome(torque, safety.released, step, time.perf_counter() - begin)

    def update_unchecked(
        self, now: int, tick: int, q: Array, qd: Array, wrenches: Array | None
    ) -> Outcome:
        """Return the outcome without any check; for simulations only.

        Like `update`, but errors of the law are raised. Control must begin with `begin_law`.
        """
        begin = time.perf_counter()
        if wrenches is not None:
            wrenches = self.wrist_sensors.grasp_wrenches(q, wrenches)
        step = self.step_law(tick, q, qd, wrenches)
        return Outcome(step.torque, (), step, time.perf_counter() - begin)

    def _fail(self, now: int, error: Exception) -> Outcome:
        """Fall back after an unexpected error; raise it if no arm relies on this loop."""
        if not self.safety.in_charge:
            raise error
        return self.fall_back(now, Cause.CONTROLLER_FAILED, "controller", sentence_of(error))

    def _run_law(
        self, now: int, tick: int, q: Array, qd: Array, wrenches: Array | None
    ) -> tuple[LawStep, Array | None]:
        """Return the law's step from a state that passed, and the torque after its checks."""
        safety = self.safety
        if not safety.wrenches_usable:  # since this instant
            wrenches = None
        if safety.reference_held and not self._holding:
            self._holding = True
            if isinstance(self.law, FollowsPlan):
                self.law.hold(tick)
        step, self._ran = self.step_law(tick, q, qd, wrenches), tick
        self._count_object()
        intake = self.intake if self.intake is not None and self.intake.came else None
        if intake is not None:
            lost = intake.lost(self.clock.seconds(now))
            if lost is not None:
                safety.trip(now, lost)
        ramped = tick >= self._ramp_ticks
        torque = safety.command(now, step, wrists=wrenches, ramped=ramped)
        if self.task is not None and torque is not None:
            self.task.sent(torque)
        if tick - self._looked >= self._look_ticks and ramped:
            self._looked = tick
            self._look_for_still_arms(q, step)
        self._last_step = step
        watch = self._oscillations
        if watch is not None and tick >= watch.due and ramped and safety.law_runs:
            self._look_for_oscillations(now, tick, watch, q, step)
        if intake is not None and safety.law_runs and not safety.reference_held:
            intake.advance(self.clock.seconds(now), tick, q, step)
        return step, torque

    def _count_object(self) -> None:
        """Count the object's weight, or not, as the running phase of a task says."""
        if self.task is not None:
            self.safety.object_held = self.task.holds_object

    def _look_for_still_arms(self, q: Array, step: LawStep) -> None:
        """Stop trusting arms that do not move although the object or their references do.

        See `StillArms` and `StillJoints`.
        """
        if not self.safety.law_runs:
            return
        measurement, system = self.safety.arms.measurement, self.system
        expected = "expected new measurements, not stale data under new time stamps, and"
        if self._still_arms is not None:
            for i in self._still_arms.look(q, step.reference[POSE]):
                measurement.distrust(
                    system.arms[i].name,
                    "it did not move although its grasp should have moved by 1 mm; "
                    f"{expected} an arm that is free to move.",
                )
        for j in () if self.task is None else self.task.still_joints(q):
            arm = next(i for i, own in enumerate(system.arm_slices) if own.start <= j < own.stop)
            measurement.distrust(
                system.arms[arm].name,
                f"joint {system.joint_names[j]!r} did not move although its reference did; "
                f"{expected} a joint that is free to move, or a wrist sensor that feels what "
                "stops it.",
            )

    def _look_for_oscillations(
        self, now: int, tick: int, watch: OscillationWatch, q: Array, step: LawStep
    ) -> None:
        """Warn of an oscillation, and lower the gains if the law's are those of the servos."""
        found, law = watch.look(tick, q, step), self.law
        if watch.quiet:
            self.oscillation = ""
        if found is None or not isinstance(law, TunesGains):
            return
        watch.begin()  # gains ramp
        for i, samples in enumerate(self.joint_states.watches):  # extrapolated between samples
            if samples.hz is not None:
                found.rates[i] = min(found.rates[i], samples.hz * self._control.period)
        said = sentence(found, self.system, law.settings)
        lower, which = lowered(law.settings, self._control)
        try:
            if which:
                law.retune(lower)
        except RobotDynamicsError as error:
            which = sentence_of(error).removesuffix(".")
        self.oscillation = f"{said}; {which or 'gains are not lowered any further'}."
        self.warnings += ((now, self.oscillation),)

    def cycle_without_samples(self, now: int) -> Outcome:
        """Return the outcome without new samples: the fallback, once a stream is stale."""
        self.joint_states.now = now
        wrenches = self._wrenches_seen() if self.safety.wrenches_usable else None
        q, qd = self.joint_states.state()
        wrenches = self._grasp_wrenches(q, wrenches)
        self.safety.observe(now, q, qd, wrenches, self.joint_states.sampled)
        return Outcome(self.safety.command(now), self.safety.released)

    def fall_back(self, now: int, cause: Cause, subject: str, sentence: str) -> Outcome:
        """Handle a fault that was found outside, and return the outcome."""
        self.safety.trip(now, Finding(cause, subject, sentence))
        return Outcome(self.safety.command(now), self.safety.released)

    def _support(self, q: Array, held: bool) -> Array:
        """Return the torque that holds the arms up at rest (na,), with or without the object."""
        if not held:
            return self._arms.support(q)
        law = self.law
        return law.grip_support(q) if isinstance(law, AdjustsGrip) else law.hold_support(q)

    def _firmer_grip(self, q: Array) -> Array:
        """Return the torque (na,) that makes the grip as firm as control may."""
        law = self.law
        return law.firmer_grip(q) if isinstance(law, AdjustsGrip) else np.zeros_like(q)

    def _inertia(self, q: Array, held: bool) -> Array:
        """Return the inertia of the arms (na, na), with their shares of the object or without."""
        if not held:
            return self._arms.inertia(q)
        laden, law = self._laden.inertia(q), self.law
        ratio = law.mass_ratio if isinstance(law, HoldsObject) else 1.0
        if ratio == 1.0:
            return laden
        empty = self._arms.inertia(q)
        return empty + ratio * (laden - empty)

    def _inverse_inertia(self, q: Array) -> Array | None:
        """Return joint accelerations (na, na) for unit torques of arms that hold the object."""
        step = self._last_step
        if step is None or self.system.object_joint is not None:
            return None
        try:
            return self._arms.inverse_inertia_with_object(q, step.pose)
        except (RobotDynamicsError, np.linalg.LinAlgError):  # as where a linkage cannot be
            return None

    # -- stop, pause, reset -------------------------------------------------------------------

    def require_startable(self, way: Way = "start") -> None:
        """Refuse a start while control runs, or a fault is latched that is no mere pause.

        Args:
            way: How control begins.

        Raises:
            SafetyError: If that is so.
        """
        if not self._paused:
            self.safety.require_inactive(way)

    def pause(self, now: int) -> None:
        """Hand over to the fallback until the next start, if control runs."""
        if self.safety.law_runs:
            self.safety.stop(now, _PAUSED)

    def forget_pause(self, now: int) -> None:
        """Forget that control was paused: who asks for a start wants it to go on.

        Raises:
            SafetyError: If a stream is stale.
        """
        if self._paused:
            self.reset(now)

    @property
    def _paused(self) -> bool:
        """Whether control is inactive only because a pause was requested."""
        faults = self.safety.faults
        return bool(faults) and all(found.sentence == _PAUSED for _, found in faults)

    def stop(self, now: int) -> None:
        """Hand over to the fallback until `reset`."""
        self.safety.stop(now)

    def let_go(self) -> None:
        """Command nothing until the next start, unless the law runs: brakes hold the arms.

        A latched fault stays latched.
        """
        if not self.safety.law_runs:
            self.safety.in_charge = False

    def reset(self, now: int) -> None:
        """Clear faults and become inactive; the fallback continues until the next start.

        Raises:
            SafetyError: If control runs, a stream is still stale, or the samples of a lost arm are
                still false.
        """
        self._refuse_if_apart()
        self.safety.reset(now)
        self.joint_states.complaints.clear()
        # A lost grasp counts as closed again if the arms agree about the object: without its
        # weight they would sink, and a start from motion is refused.
        if (
            isinstance(self.law, HoldsObject)
            and (self.task is None or self.task.holds_object)
            and not self.safety.object_held
            and self._is_grasped()
        ):
            self.safety.count_object()

    def _refuse_if_apart(self) -> None:
        """Refuse to trust a lost arm again that holds the object elsewhere than the others do."""
        safety, system = self.safety, self.system
        q = safety.arms.measurement.q
        held = safety.in_charge and safety.object_held and system.object_loop_joint is None
        if held and safety.lost_arms and np.isfinite(q).all():
            gap = disagreement(system, q)
            if not gap <= self._grasp_gap:
                raise SafetyError(
                    f"reset refused: by their joints the arms disagree by {gap:.3g} m or rad "
                    f"about the object that they hold; expected at most {self._grasp_gap:g}. The "
                    f"data of arm {' or '.join(safety.lost_arms)} are still false."
                )

    def _is_grasped(self) -> bool:
        """Return whether all arms see a rigid object at one place."""
        system = self.system
        if system.object_loop_joint is not None:
            return False
        q, _ = self.joint_states.state()
        return disagreement(system, q) <= self._grasp_gap

    def following(self) -> tuple[ReferenceIntake, LawStep]:
        """Return the intake of references, and the last step of the running law.

        Raises:
            TrajectoryError: If the law follows none, or control does not run.
        """
        if self.intake is None:
            raise TrajectoryError("the control law follows the scenario alone.")
        if self._last_step is None or not self.safety.law_runs or self.safety.reference_held:
            raise TrajectoryError("control does not run; expected a start before it.")
        return self.intake, self._last_step
