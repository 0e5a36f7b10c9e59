# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Settings of control: servos, the start, the reference and safety.

The defaults suit two arms of human size, so that a scenario states only what differs. Numbers are
in SI units; messages use `unit` of the metadata.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Any, Literal, cast

from robot_dynamics.control.admittance_settings import AdmittanceSettings
from robot_dynamics.control.impedance_settings import ImpedanceSettings
from robot_dynamics.control.jointed_settings import JointedControlSettings
from robot_dynamics.control.touch_settings import (
    HIGHEST_RATE,
    LONGEST_S,
    ContactForceSettings,
    TouchSettings,
)
from robot_dynamics.errors import ArgumentError, UnknownNameError
from robot_dynamics.manipulation.contact_settings import ANGLES, Triple
from robot_dynamics.manipulation.contact_settings import number as _number


@dataclass(frozen=True)
class ServoSettings:
    """A servo of second order, given by the poles of its error.

    Attributes:
        bandwidth: Natural frequency of the error's second-order part [rad/s].
        damping_ratio: Its damping ratio.
        integral: Rate of integral action against a constant disturbance [1/s]: the third pole of
            the error is at minus this rate. 0 without integral action.
    """

    bandwidth: float = _number(30.0, "rad/s", above=0.0, maximum=HIGHEST_RATE)
    damping_ratio: float = _number(1.0, "", minimum=0.3, maximum=3.0)
    integral: float = _number(10.0, "1/s", minimum=0.0, maximum=HIGHEST_RATE)


@dataclass(frozen=True)
class PayloadBoundSettings:
    """Bounds of the estimated payload, for `payload: adapt`.

    Attributes:
        mass_share: Largest difference from the stated mass, as a share of it.
        center_m: Largest distance from the stated centre of mass [m].
        change_s: Least time in which the values that the law uses go from the stated ones to their
            bounds [s].
    """

    mass_share: float = _number(0.5, "", above=0.0, maximum=0.9)
    center_m: float = _number(0.05, "m", above=0.0, maximum=1.0)
    change_s: float = _number(1.0, "s", minimum=0.1, maximum=LONGEST_S)


@dataclass(frozen=True)
class ForceServoSettings:
    """Servo of the internal force.

    Attributes:
        bandwidth: K_II of `u_3 = f_d + K_II integral(f_d - f)` [1/s]: the measured internal
            force approaches the desired one at this rate. 0 means feed-forward only.
        basis: "transmitted": the wrench transmitted through the object, in N and N m.
            "orthonormal": the basis of Yoshikawa and Zheng's paper, which mixes the units.
        margin_n: Distance from the friction cone that an automatic squeeze keeps at every contact
            [N]; a task that does not keep it is refused.
        may_slip: Whether such a task only gives a warning.
        max_internal_force_correction_n: Largest correction of the desired internal force, by the
            largest component of any contact force [N]. The law uses it to keep every contact
            `margin_n` inside its cone, and torques within their limits, under loads that the plan
            does not contain. 0 for no correction; tasks that may slip are not corrected.
        sharing: Load sharing of the arms. "declared": by their `load_share`. "drives": equal loads
            of the drives, as torque over limit at the posture of the start.
    """

    bandwidth: float = _number(20.0, "1/s", minimum=0.0, maximum=HIGHEST_RATE)
    basis: Literal["transmitted", "orthonormal"] = "transmitted"
    margin_n: float = _number(5.0, "N", minimum=0.0)
    may_slip: bool = False
    max_internal_force_correction_n: float = _number(50.0, "N", minimum=0.0)
    sharing: Literal["declared", "drives"] = "declared"

    def __post_init__(self) -> None:
        if self.basis == "orthonormal" and self.sharing == "drives":
            raise ArgumentError(
                "the orthonormal basis comes with the paper's own sharing of the load; expected "
                "sharing 'declared', or the basis 'transmitted'."
            )


@dataclass(frozen=True)
class PostureSettings:
    """Self-motion of redundant arms, which stay near their posture: d_q of (34).

    Attributes:
        bandwidth: Natural frequency w of the self-motion [rad/s]; 0 only damps it.
        damping_ratio: Its damping ratio z. The self-motion is damped by 2 z max(w, 1 rad/s). The
            law "gravity" damps all joint motion at the same rate, at most 100 1/s.
        limit_margin: Distance from a joint's limits within which the joint is driven back [rad,
            m].
        limit_bandwidth: Bandwidth of the drive back from limits [rad/s]; 0 for none.
        singularity_avoidance: Gain of the motion away from singularities, along the gradient of
            the arms' manipulability [rad^2/s^2]; 0 for none.
    """

    bandwidth: float = _number(10.0, "rad/s", minimum=0.0, maximum=HIGHEST_RATE)
    damping_ratio: float = _number(1.0, "", minimum=0.1, maximum=3.0)
    limit_margin: float = _number(0.1, "rad or m", minimum=0.0)
    limit_bandwidth: float = _number(20.0, "rad/s", minimum=0.0, maximum=HIGHEST_RATE)
    singularity_avoidance: float = _number(0.0, "rad^2/s^2", minimum=0.0, maximum=HIGHEST_RATE**2)


@dataclass(frozen=True)
class HandSettings:
    """Motion of hands in the directions that their contacts leave free: d_ah of (34).

    A soft finger leaves the tilt of the hand free, a point contact its rotation. In these
    directions the hand follows the object, and its offset e from the grasp decays as
    e'' + K_D e' + w^2 e = 0 with K_D = 2 z max(w, 1 rad/s). This moves neither the object
    nor any contact force. It has priority over the arm's posture. Joint limits drive the hand back
    as well.

    Attributes:
        bandwidth: w [rad/s]; 0 only damps the motion of the hand relative to the object.
        damping_ratio: z.
    """

    bandwidth: float = _number(10.0, "rad/s", minimum=0.0, maximum=HIGHEST_RATE)
    damping_ratio: float = _number(1.0, "", minimum=0.1, maximum=3.0)


@dataclass(frozen=True)
class FrictionSettings:
    """Compensation of the joint friction of the description.

    Attributes:
        share: Compensated share of it; above 1 the joints would be driven by their own motion.
        velocity: Speed v0 at which 71 % of Coulomb friction is compensated [rad/s or m/s]: the
            share at speed v is v / sqrt(v^2 + v0^2), which does not chatter at rest.
    """

    share: float = _number(1.0, "", minimum=0.0, maximum=1.0)
    velocity: float = _number(0.05, "rad/s or m/s", above=0.0)


@dataclass(frozen=True)
class StartSettings:
    """Conditions of the start, and its ramp.

    The object is held before the start: its grasps are closed, and brakes or drives carry the
    arms. The first torque contains the full support torque; everything else ramps in.

    Attributes:
        ramp_s: Time over which servo terms and squeeze ramp in [s].
        position_tolerance_m: Largest distance of the object, as each arm sees it, from the start
            of the reference [m]; in a task also of the tools from their places at the end of
            `approach`.
        rotation_tolerance_rad: Largest angle between them [rad].
        velocity_tolerance: Largest speed of a joint [rad/s or m/s].
        velocity_limit: Speed that a joint can reach while servo terms and squeeze ramp in [rad/s
            or m/s]. Beyond it the model counts as wrong, for example because the drives compensate
            gravity themselves, or torques have the wrong sign.
        tare: Whether wrist sensors must be tared before the grasp, while they carry only their
            tools. A simulated run tares them by itself.
        touch_tolerance: Distance within which a surface that the reference touches at the start
            counts as touched [m or rad].
    """

    ramp_s: float = _number(0.2, "s", minimum=0.0, maximum=LONGEST_S)
    position_tolerance_m: float = _number(0.01, "m", above=0.0)
    rotation_tolerance_rad: float = _number(0.05, "rad", above=0.0, maximum=3.1416)
    velocity_tolerance: float = _number(0.02, "rad/s or m/s", above=0.0)
    velocity_limit: float = _number(1.0, "rad/s or m/s", above=0.0, infinite=True)
    tare: bool = False
    touch_tolerance: float = _number(1e-3, "m or rad", minimum=0.0)


@dataclass(frozen=True)
class ResumeSettings:
    """Return of the object to its reference if control starts elsewhere, for example after a stop.

    Attributes:
        velocity: Largest speed of its origin on the way there [m/s].
        acceleration: Largest acceleration of its origin [m/s^2].
        angular_velocity: Largest angular velocity [rad/s].
        angular_acceleration: Largest angular acceleration [rad/s^2].
    """

    velocity: float = _number(0.05, "m/s", above=0.0)
    acceleration: float = _number(0.2, "m/s^2", above=0.0)
    angular_velocity: float = _number(0.2, "rad/s", above=0.0)
    angular_acceleration: float = _number(0.8, "rad/s^2", above=0.0)


#: Group of entry points under which installed packages offer controllers.
CONTROLLERS = "robot_dynamics.controllers"


@dataclass(frozen=True)
class LawFacts:
    """Properties of a control law; `app/scenarios/laws.py` makes the laws.

    Attributes:
        contacts: Whether arms may hold the object by contacts that are not rigid, and whether it
            may touch surfaces.
        jointed: Whether the object has two parts and a joint between them.
        holds_object: Whether the arms hold an object.
        touches: Whether the reference may ask for forces on surfaces.
        gains: Groups of settings that are its gains.
    """

    contacts: bool = False
    jointed: bool = False
    holds_object: bool = True
    touches: bool = False
    gains: tuple[str, ...] = ("object", "internal_force", "posture", "friction")


LawName = Literal["hybrid", "impedance", "admittance", "jointed", "gravity"]

#: Shipped control laws that a scenario can name.
LAW_FACTS: dict[str, LawFacts] = {
    "hybrid": LawFacts(contacts=True, touches=True),
    "impedance": LawFacts(contacts=True, gains=("impedance", "posture", "friction")),
    "admittance": LawFacts(
        contacts=True, gains=("object", "internal_force", "posture", "friction", "admittance")
    ),
    "jointed": LawFacts(jointed=True, gains=("jointed", "friction")),
    "gravity": LawFacts(holds_object=False),
}


@dataclass(frozen=True)
class ControlSettings:
    """The control law, its rate and its servos.

    Attributes:
        law: Name of the control law. "hybrid": Yoshikawa and Zheng's controller of an object in
            any grasp, in free space and on surfaces.
            "impedance": springs and dampers between object and reference, and between the hands.
            "admittance": the reference gives way to measured wrenches, and a servo follows it.
            "jointed": Unseren's controller of an object of two parts with a joint.
            "gravity": gravity compensation of arms that hold no object. "module:name",
            "file.py:name" or the name of an entry point of the group "robot_dynamics.controllers":
            a user-defined controller, see `control.controller`; it is imported only if the user
            allows it.
        options: Arguments of the constructor of a user-defined controller.
        observer: With a user-defined controller, the shipped law that estimates object and forces,
            checks start and path and is recorded beside it; "gravity" for arms without an object.
        rate_hz: Control rate [Hz].
        object: Servo of the object's position and orientation.
        object_pose: Source of the object's pose. "joints": the arms' joints, through the contacts.
            "sensor": a camera or tracker that measures pose and twist.
        payload: Mass and centre of mass of the object. "fixed": as its description states.
            "adapt": the law "hybrid" estimates them from grasp wrenches and motion while the arms
            hold the object, and uses the estimate.
        payload_bounds: Bounds of that estimate.
        internal_force: Servo of the internal force.
        impedance: Springs and dampers of the law "impedance".
        admittance: Compliance of the reference to wrenches on the object, for the law
            "admittance".
        jointed: Servos of an object with a joint, of the law "jointed".
        contact_force: Servo of the force on surfaces.
        hand: Servo of the hands in the directions that contacts leave free.
        posture: Servo of the arms' self-motion.
        null_space: Generalised inverse of (34), which determines the self-motion. "inertia": in
            the metric of the arms' inertia, dynamically consistent. "plain": the pseudo-inverse of
            the paper, which weights all joint coordinates equally.
        safe_pivot: Smallest relative pivot of J_S M^-1 J_S^T (of J J^T with the law "jointed") at
            which the solution for the arms is exact; below it the solution is damped.
        ahead: Whether the model is evaluated in the middle of the interval in which the torque
            acts, not at the measurement.
        blend_s: Time over which a new reference is blended in [s].
        friction: Compensation of joint friction.
        command_delay_periods: Control periods between a measurement and the instant from which
            the torque computed from it acts; the reference is looked up that much ahead.
        start: Conditions and manner of the start.
        resume: Motion from where the arms hold the object to the reference, after a stop.
    """

    law: LawName | str = "hybrid"
    options: dict[str, Any] = field(default_factory=dict)
    observer: LawName = "hybrid"
    rate_hz: float = _number(500.0, "Hz", above=0.0, maximum=1e5)
    object: ServoSettings = field(default_factory=ServoSettings)
    object_pose: Literal["joints", "sensor"] = "joints"
    payload: Literal["fixed", "adapt"] = "fixed"
    payload_bounds: PayloadBoundSettings = field(default_factory=PayloadBoundSettings)
    internal_force: ForceServoSettings = field(default_factory=ForceServoSettings)
    impedance: ImpedanceSettings = field(default_factory=ImpedanceSettings)
    admittance: AdmittanceSettings = field(default_factory=AdmittanceSettings)
    jointed: JointedControlSettings = field(default_factory=JointedControlSettings)
    contact_force: ContactForceSettings = field(default_factory=ContactForceSettings)
    hand: HandSettings = field(default_factory=HandSettings)
    posture: PostureSettings = field(default_factory=PostureSettings)
    null_space: Literal["inertia", "plain"] = "inertia"
    safe_pivot: float = _number(1e-5, "", above=0.0, below=1.0)
    ahead: bool = True
    blend_s: float = _number(0.3, "s", above=0.0, maximum=LONGEST_S)
    friction: FrictionSettings = field(default_factory=FrictionSettings)
    command_delay_periods: int = field(
        default=1, metadata={"unit": "periods", "minimum": 0, "maximum": 100}
    )
    start: StartSettings = field(default_factory=StartSettings)
    resume: ResumeSettings = field(default_factory=ResumeSettings)

    def __post_init__(self) -> None:
        if self.law not in LAW_FACTS and ":" not in self.law:
            installed = entry_points(group=CONTROLLERS).names
            if self.law not in installed:
                known = [*LAW_FACTS, *sorted(installed), "MODULE:NAME", "FILE.py:NAME"]
                raise UnknownNameError("control law", self.law, known)
        if self.options and self.law in LAW_FACTS:
            raise ArgumentError(
                f"options are for controllers of one's own; expected none of law {self.law!r}."
            )
        if self.object_pose == "sensor" and not self.law_facts.contacts:
            raise ArgumentError(
                f"law {self.law!r} takes the object's pose from the arms' joints alone; expected "
                "object_pose 'joints', or the law 'hybrid'."
            )
        if self.payload == "adapt" and self.law != "hybrid":
            raise ArgumentError(
                f"law {self.law!r} takes the payload as stated; expected payload 'fixed', or the "
                "law 'hybrid'."
            )
        if self.base_law == "impedance" and self.internal_force.basis != "transmitted":
            raise ArgumentError(
                "springs between the hands have no stiffness in the basis 'orthonormal', which "
                "mixes the units; expected internal_force.basis 'transmitted'."
            )

    @property
    def law_facts(self) -> LawFacts:
        """Properties of the law."""
        return LAW_FACTS[self.base_law]

    @property
    def key_of_base_law(self) -> str:
        """Key of the setting that names it, for messages."""
        return "law" if self.law in LAW_FACTS else "observer"

    @property
    def base_law(self) -> LawName:
        """The law, or the observer of a user-defined controller."""
        return cast(LawName, self.law) if self.law in LAW_FACTS else self.observer

    @property
    def period(self) -> float:
        """The control period [s]."""
        return 1.0 / self.rate_hz

    @property
    def ramp_ticks(self) -> int:
        """Number of control periods over which control ramps in at a start."""
        return max(1, round(self.start.ramp_s / self.period))


@dataclass(frozen=True)
class TurnSettings:
    """A rotation about an axis through the object's origin.

    Attributes:
        axis: The axis; its length does not matter.
        degrees: The angle, more than 180 allowed; positive by the right-hand rule.
        about: Frame of `axis`: the world, or the object at the beginning of the segment.
    """

    axis: Triple = field(metadata={"unit": ""})
    degrees: float = field(metadata={"unit": "degrees"})
    about: Literal["world", "object"] = "world"

    def __post_init__(self) -> None:
        if not any(self.axis):
            raise ArgumentError("the axis of a rotation is zero; expected a direction.")


@dataclass(frozen=True)
class SegmentSettings:
    """Segment of the object's path, from rest to rest; a pause without motion.

    Attributes:
        duration_s: Its duration [s].
        move: Displacement of the object's origin, world axes [m].
        move_to: Position of the origin at its end instead, in the world [m].
        rotate: Rotation at the same time.
        rotate_to: Orientation at its end instead, roll, pitch, yaw in the world [rad], by the
            shortest rotation.
    """

    duration_s: float = field(metadata={"unit": "s", "above": 0.0, "maximum": LONGEST_S})
    move: Triple | None = None
    move_to: Triple | None = None
    rotate: TurnSettings | None = None
    rotate_to: Triple | None = field(default=None, metadata=ANGLES)

    def __post_init__(self) -> None:
        for one, other in (("move", "move_to"), ("rotate", "rotate_to")):
            if getattr(self, one) is not None and getattr(self, other) is not None:
                raise ArgumentError(f"a segment has both {one!r} and {other!r}; expected one.")


@dataclass(frozen=True)
class ForceStepSettings:
    """A smooth change of the internal force.

    Attributes:
        time_s: Its beginning, from the start of the reference [s].
        squeeze_n: The new squeeze: force along the line from the first grasp to the last,
            positive inwards [N]; the other components become zero. "automatic": the least squeeze
            that keeps every contact in its friction cone, with the margin of
            `control.internal_force`.
        wrench: All internal forces instead, in the order of `ForceDistribution.of_contacts`: of
            two rigid grasps squeeze, shear y, shear z [N], twist, bending y, bending z [N m], in
            the frame in the middle of the grasps. For an object with a joint: the force in the
            joint on the second part, one component for each blocked direction, moments first, in
            world axes if all three moments or forces are blocked.
        duration_s: Duration of the change [s].
    """

    time_s: float = field(metadata={"unit": "s", "minimum": 0.0, "maximum": LONGEST_S})
    squeeze_n: float | Literal["automatic"] | None = _number(None, "N")
    wrench: tuple[float, ...] | None = None
    duration_s: float = _number(0.5, "s", above=0.0, maximum=LONGEST_S)

    def __post_init__(self) -> None:
        if (self.squeeze_n is None) == (self.wrench is None):
            raise ArgumentError("expected either 'squeeze_n' or 'wrench'.")


@dataclass(frozen=True)
class ReferenceSettings:
    """Motion of the object and internal force over time.

    Attributes:
        segments: Segments of its path, one after the other, from the pose at the start.
        force: Changes of the internal force, in the order of time; zero before the first. If
            contacts can only push, a first change at time 0 acts from the start.
        touches: Surfaces that the object touches, with times and forces.
        time_law: Time law of each segment and change: "quintic" (no jump of the acceleration) or
            "septic" (also no jump of the jerk; peaks are higher by 30 %).
        fold: Simultaneous motion of the second part of an object with a joint, relative to the
            first, in the axes of the joint's frame there.
    """

    segments: tuple[SegmentSettings, ...] = ()
    force: tuple[ForceStepSettings, ...] = ()
    touches: tuple[TouchSettings, ...] = ()
    time_law: Literal["quintic", "septic"] = "quintic"
    fold: tuple[SegmentSettings, ...] = ()


@dataclass(frozen=True)
class SafetySettings:
    """Limits of the safety layer and of the check before the start.

    Attributes:
        effort_fraction: Share of the description's effort limits that control can use.
        velocity_fraction: Share of the velocity limits that a reference can need.
        position_margin: Distance from position limits that a reference must keep [rad or m];
            the running controller stops at the limits themselves.
        torque_rate: Largest rate of a joint's torque [N m/s or N/s].
        stale_after_periods: Control periods without a sample of an arm after which it counts as
            lost; also for wrist sensors.
        reference_stale_after_s: Time without a streamed reference after which the pose is
            held [s].
        closure_warning_m: Disagreement of the arms about the object's position beyond which there
            is a warning [m].
        closure_warning_rad: The same for its orientation [rad].
        closure_limit_m: Disagreement about the position beyond which a grasp counts as lost [m];
            a measured object pose that is farther from the hands counts as lost as well.
        closure_limit_rad: The same for the orientation [rad].
        fallback: Torque after control has ended: a hold of the joints where they were, also under
            a load that the description does not have; gravity compensation with joint damping,
            which yields to a push and to such a load; or zero torque, for drives that compensate
            gravity themselves. The object's weight counts while it is held.
        fallback_bandwidth: Bandwidth of the fallback's joint servo [rad/s]; a hold limits it so
            that bandwidth times delay is at most 0.05. Its gains are scaled by the inertia of the
            arms with their shares of the object; after the grasp was lost by an inertia between
            those with and without it.
        lost_arm_end: End of the support torque of a lost arm: the hold of a drive that brakes
            without commands, which then cease, or zero torque. Drives that do not brake hold
            nothing: with `drive_hold` they get the support torque until good samples come.
        lost_arm_end_after_s: Time until that end [s]; the arm is held by the fallback again if
            good samples come before.
        minimum_arm_distance_m: Distance that links of different arms, and of one arm, must keep,
            on the reference and while control runs [m].
        minimum_object_distance_m: Distance that links must keep from the box around the object
            while control runs [m].
        link_radius_m: Radius of the capsules that represent the links in these checks [m].
        wrench_residual_share: Limit of the wrench residual, measured wrenches less the wrench of
            the object's motion, as a share of the object's weight; with wrist sensors.
        wrench_residual_n: Least limit of the residual, also for light objects [N].
        wrench_warning_share: Residual beyond which there is a warning with the name of the sensor,
            as a share of the object's weight.
        wrench_warning_n: Least residual for a warning, also for light objects [N].
        wrench_residual_s: Smoothing time of the residual [s].
        tracking_limit_m: Distance of the object from its reference at which control ends [m]; in a
            task also of prismatic joints of free arms, at which the phase fails.
        tracking_limit_rad: The same for its orientation and for revolute joints [rad].
        tilt_limit_deg: Largest tilt of a soft finger, the angle between its z axis and that of its
            grasp: on the reference, while control runs, and in the figures of a run [degrees].
        least_task_scale: Scale of the task, or of the change of torques, that limits must leave.
        scaled_for_s: Longest time below `least_task_scale` [s].
        wrench_limit_n: Force at a wrist beyond which its sensor counts as lost [N].
        wrench_limit_nm: Moment at a wrist beyond which its sensor counts as lost [N m].
        minimum_pivot: Smallest relative pivot of an arm's J H^-1 J^T on the reference; 0 is a
            singularity.
    """

    effort_fraction: float = _number(0.95, "", above=0.0, maximum=1.0)
    velocity_fraction: float = _number(0.9, "", above=0.0, maximum=1.0)
    position_margin: float = _number(0.02, "rad or m", minimum=0.0)
    torque_rate: float = _number(1000.0, "N m/s", above=0.0, infinite=True)
    stale_after_periods: int = field(default=5, metadata={"unit": "periods", "minimum": 1})
    reference_stale_after_s: float = _number(0.5, "s", above=0.0)
    closure_warning_m: float = _number(0.001, "m", above=0.0)
    closure_warning_rad: float = _number(0.005, "rad", above=0.0, maximum=3.1416)
    closure_limit_m: float = _number(0.01, "m", above=0.0)
    closure_limit_rad: float = _number(0.05, "rad", above=0.0, maximum=3.1416)
    fallback: Literal["hold", "gravity_compensation_with_damping", "zero"] = "hold"
    fallback_bandwidth: float = _number(25.0, "rad/s", above=0.0, maximum=50.0)
    lost_arm_end: Literal["drive_hold", "zero"] = "drive_hold"
    lost_arm_end_after_s: float = _number(0.2, "s", minimum=0.0)
    minimum_arm_distance_m: float = _number(0.02, "m", minimum=0.0)
    minimum_object_distance_m: float = _number(0.0, "m", minimum=0.0)
    link_radius_m: float = _number(0.06, "m", minimum=0.0)
    wrench_residual_share: float = _number(0.5, "", minimum=0.0, infinite=True)
    wrench_residual_n: float = _number(15.0, "N", above=0.0, infinite=True)
    wrench_warning_share: float = _number(0.05, "", minimum=0.0, infinite=True)
    wrench_warning_n: float = _number(5.0, "N", above=0.0, infinite=True)
    wrench_residual_s: float = _number(0.05, "s", above=0.0)
    tracking_limit_m: float = _number(0.05, "m", above=0.0)
    tracking_limit_rad: float = _number(0.2, "rad", above=0.0, maximum=3.1416)
    tilt_limit_deg: float = _number(10.0, "degrees", above=0.0, infinite=True)
    least_task_scale: float = _number(0.9, "", minimum=0.0, maximum=1.0)
    scaled_for_s: float = _number(0.25, "s", minimum=0.0)
    wrench_limit_n: float = _number(1000.0, "N", above=0.0)
    wrench_limit_nm: float = _number(200.0, "N m", above=0.0)
    minimum_pivot: float = _number(1e-4, "", minimum=0.0, below=1.0)

    def __post_init__(self) -> None:
        for unit in ("m", "rad"):
            warning = getattr(self, f"closure_warning_{unit}")
            limit = getattr(self, f"closure_limit_{unit}")
            if warning > limit:
                raise ArgumentError(
                    f"closure_warning_{unit} {warning:g} is above closure_limit_{unit} {limit:g}."
                )
