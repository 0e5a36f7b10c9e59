# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What a user states about control: servos, the start, the reference and safety.

Every field has a default that suits two arms of the size of a person's, so that a scenario states
only what it is about. Numbers are in SI units; `unit` in the metadata is what messages name.
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
        integral: Rate at which a constant disturbance is learned [1/s]: the third pole of the
            error is at minus this. 0 without integral action.
    """

    bandwidth: float = _number(30.0, "rad/s", above=0.0, maximum=HIGHEST_RATE)
    damping_ratio: float = _number(1.0, "", minimum=0.3, maximum=3.0)
    integral: float = _number(10.0, "1/s", minimum=0.0, maximum=HIGHEST_RATE)


@dataclass(frozen=True)
class ForceServoSettings:
    """How the internal force is made.

    Attributes:
        bandwidth: K_II of `u_3 = f_d + K_II integral(f_d - f)` [1/s]: the measured internal
            force approaches the desired one at this rate. 0 is feed-forward alone.
        basis: "transmitted": the wrench transmitted through the object, in N and N m.
            "orthonormal": the basis of Yoshikawa and Zheng's paper, which mixes the units.
        margin_n: How far inside its friction cone a squeeze that is chosen automatically keeps
            every contact [N]; a task that does not keep it is refused.
        may_slip: Whether such a task is warned of only.
        max_internal_force_correction_n: How much the law may add to the internal force that is
            asked for, so that every contact stays that margin inside its cone and torques stay
            within their limits, whatever the plan did not know: the largest component of any
            contact force [N]; 0 for nothing. Tasks that may slip do as they are told.
        sharing: How the arms share the load: "declared": by their `load_share`. "drives": so that
            drives are loaded alike, by their torques over their limits at the posture of the
            start.
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
    """How arms with freedom left stay near their posture: d_q of (34).

    Attributes:
        bandwidth: Natural frequency w of the self-motion [rad/s]; 0 only damps it.
        damping_ratio: Its damping ratio z. The self-motion is damped by 2 z max(w, 1 rad/s). The
            law "gravity" damps all motion of the joints by as much, at most by 100 1/s.
        limit_margin: Distance from a joint's limits within which the joint is driven back [rad,
            m].
        limit_bandwidth: How fast [rad/s]; 0 for not at all.
        singularity_avoidance: Gain of the way out of singularities, along the gradient of the
            arms' manipulability [rad^2/s^2]; 0 for none.
    """

    bandwidth: float = _number(10.0, "rad/s", minimum=0.0, maximum=HIGHEST_RATE)
    damping_ratio: float = _number(1.0, "", minimum=0.1, maximum=3.0)
    limit_margin: float = _number(0.1, "rad or m", minimum=0.0)
    limit_bandwidth: float = _number(20.0, "rad/s", minimum=0.0, maximum=HIGHEST_RATE)
    singularity_avoidance: float = _number(0.0, "rad^2/s^2", minimum=0.0, maximum=HIGHEST_RATE**2)


@dataclass(frozen=True)
class HandSettings:
    """How hands move where their contacts leave them free: d_ah of (34).

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
    """How much of the joint friction that the description states is compensated.

    Attributes:
        share: Part of it; above 1 the joints would be driven by their own motion.
        velocity: Speed v0 at which 71 % of Coulomb friction is compensated [rad/s or m/s]: its
            part at a speed v is v / sqrt(v^2 + v0^2), which does not chatter at rest.
    """

    share: float = _number(1.0, "", minimum=0.0, maximum=1.0)
    velocity: float = _number(0.05, "rad/s or m/s", above=0.0)


@dataclass(frozen=True)
class StartSettings:
    """When control may start, and how it starts.

    The object is held before the start: its grasps are closed and brakes or drives carry the
    arms. Support is there with the first torque; everything else ramps in.

    Attributes:
        ramp_s: Time over which servo terms and squeeze ramp in [s].
        position_tolerance_m: Largest distance of the object, as each arm sees it, from where the
            reference starts [m].
        rotation_tolerance_rad: Likewise for its orientation [rad].
        velocity_tolerance: Largest speed of a joint [rad/s or m/s].
        velocity_limit: Speed that a joint may reach while servo terms and squeeze ramp in [rad/s
            or m/s]: beyond it the model counts as wrong, as with gravity that the drives
            compensate or not, or with torques of the wrong sign.
        tare: Whether wrist sensors must have been tared before the grasp, while they carried
            nothing but their tools. A simulated run does that by itself.
        touch_tolerance: Distance within which a surface that is to be touched at the start counts
            as touched [m or rad].
    """

    ramp_s: float = _number(0.2, "s", minimum=0.0, maximum=LONGEST_S)
    position_tolerance_m: float = _number(0.01, "m", above=0.0)
    rotation_tolerance_rad: float = _number(0.05, "rad", above=0.0)
    velocity_tolerance: float = _number(0.02, "rad/s or m/s", above=0.0)
    velocity_limit: float = _number(1.0, "rad/s or m/s", above=0.0, infinite=True)
    tare: bool = False
    touch_tolerance: float = _number(1e-3, "m or rad", minimum=0.0)


#: Group of entry points under which installed packages offer controllers.
CONTROLLERS = "robot_dynamics.controllers"


@dataclass(frozen=True)
class LawFacts:
    """What a control law controls; `app/scenarios/laws.py` makes the laws.

    Attributes:
        contacts: Whether arms may hold the object by contacts that are not rigid, and whether it
            may touch surfaces.
        jointed: Whether the object has two parts and a joint between them.
        holds_object: Whether the arms hold an object.
        touches: Whether the reference may ask for forces on surfaces.
        gains: The groups of settings that are its gains.
    """

    contacts: bool = False
    jointed: bool = False
    holds_object: bool = True
    touches: bool = False
    gains: tuple[str, ...] = ("object", "internal_force", "posture", "friction")


LawName = Literal["hybrid", "impedance", "admittance", "jointed", "gravity"]

#: The shipped control laws that a scenario may name.
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
            "gravity": none of them, and no object: arms that only hold themselves up.
            "module:name", "file.py:name" or the name of an entry point of the group
            "robot_dynamics.controllers": a controller of one's own, see `control.controller`; it
            is imported only where the user allows it.
        options: Arguments of the constructor of a controller of one's own.
        observer: With a controller of one's own, the shipped law that estimates object and forces,
            checks start and path and is recorded beside it; "gravity" for arms without an object.
        rate_hz: Control rate [Hz].
        object: Servo of the object's position and orientation.
        object_pose: Where the object is. "joints": what the arms' joints say, through the
            contacts. "sensor": what a camera or tracker measures of its pose and twist.
        internal_force: Servo of the internal force.
        impedance: Springs and dampers of the law "impedance".
        admittance: How the reference gives way to wrenches on the object, of the law "admittance".
        jointed: Servos of an object with a joint, of the law "jointed".
        contact_force: Servo of the force on surfaces.
        hand: Servo of the hands in the directions that contacts leave free.
        posture: Servo of the arms' self-motion.
        null_space: Generalised inverse of (34), which decides on the self-motion. "inertia": that
            in the metric of the arms' inertia, dynamically consistent. "plain": the pseudo-inverse
            of the paper, which takes all joint coordinates alike.
        safe_pivot: Smallest relative pivot of J_S M^-1 J_S^T (of J J^T with the law "jointed") at
            which arms are moved exactly; nearer to singularities the solution is damped.
        ahead: Whether the model is evaluated in the middle of the time in which the torque acts,
            not at the measurement.
        blend_s: Time over which a new reference takes over from the one that is followed [s].
        friction: Compensation of joint friction.
        command_delay_periods: Control periods between a measurement and the instant from which
            the torque computed from it acts; the reference is looked up that much ahead.
        start: Conditions and manner of the start.
    """

    law: LawName | str = "hybrid"
    options: dict[str, Any] = field(default_factory=dict)
    observer: LawName = "hybrid"
    rate_hz: float = _number(500.0, "Hz", above=0.0, maximum=1e5)
    object: ServoSettings = field(default_factory=ServoSettings)
    object_pose: Literal["joints", "sensor"] = "joints"
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
        default=1, metadata={"unit": "periods", "minimum": 0, "maximum": 1000}
    )
    start: StartSettings = field(default_factory=StartSettings)

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
        if self.base_law == "impedance" and self.internal_force.basis != "transmitted":
            raise ArgumentError(
                "springs between the hands have no stiffness in the basis 'orthonormal', which "
                "mixes the units; expected internal_force.basis 'transmitted'."
            )

    @property
    def law_facts(self) -> LawFacts:
        """What the law controls."""
        return LAW_FACTS[self.base_law]

    @property
    def key_of_base_law(self) -> str:
        """The key that says so, for messages."""
        return "law" if self.law in LAW_FACTS else "observer"

    @property
    def base_law(self) -> LawName:
        """The law, or that which observes for a controller of one's own."""
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
        about: Whose axes `axis` is in: the world's, or the object's as it stands when the
            segment begins.
    """

    axis: Triple = field(metadata={"unit": ""})
    degrees: float = field(metadata={"unit": "degrees"})
    about: Literal["world", "object"] = "world"

    def __post_init__(self) -> None:
        if not any(self.axis):
            raise ArgumentError("the axis of a rotation is zero; expected a direction.")


@dataclass(frozen=True)
class SegmentSettings:
    """One stretch of the object's path, from rest to rest; a pause if it moves nothing.

    Attributes:
        duration_s: How long it takes [s].
        move: Displacement of the object's origin, world axes [m].
        move_to: Where the origin goes instead, in the world [m].
        rotate: Rotation at the same time.
        rotate_to: Orientation to reach instead, roll, pitch, yaw in the world [rad], by the
            shortest way.
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
        time_s: When it begins, counted from the start of the reference [s].
        squeeze_n: The new squeeze: force along the line from the first grasp to the last,
            positive inwards [N]; the other components become zero. "automatic": as much as keeps
            every contact in its friction cone, with the margin of `control.internal_force`.
        wrench: All internal forces instead, in the order of `ForceDistribution.of_contacts`: of
            two rigid grasps squeeze, shear y, shear z [N], twist, bending y, bending z [N m], in
            the frame in the middle of the grasps. Of an object with a joint it is the force in
            that, on the second part: a component for each direction that the joint blocks,
            moments first, in world axes where it blocks three alike.
        duration_s: How long the change takes [s].
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
    """What the object is to do.

    Attributes:
        segments: Its path, one stretch after the other, from the pose at the start.
        force: Changes of the internal force, in the order of time; zero before the first. Where
            contacts can only push, a first one at time 0 is there from the start.
        touches: When the object touches which surface, and how hard.
        time_law: How each stretch and change is run through: "quintic" (no jump of the
            acceleration) or "septic" (no jump of the jerk either, peaks higher by 30 %).
        fold: What the second part of an object with a joint does meanwhile, relative to the
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
        effort_fraction: Part of the description's effort limits that control may use.
        velocity_fraction: Part of the velocity limits that a reference may need.
        position_margin: Distance from position limits that a reference must keep [rad or m];
            the running controller stops at the limits themselves.
        torque_rate: Largest change of a joint's torque [N m/s or N/s].
        stale_after_periods: Control periods without a sample of an arm after which it counts as
            lost; also for wrist sensors.
        reference_stale_after_s: Time without a streamed reference after which the pose is
            held [s].
        closure_warning_m: Disagreement of the arms about the object that is reported [m].
        closure_warning_rad: Likewise for its orientation [rad].
        closure_limit_m: Disagreement at which a grasp counts as lost [m].
        closure_limit_rad: Likewise for its orientation [rad].
        fallback: What the arms do when control cannot go on: hold the joints where they were,
            also with a load that the description does not know; gravity compensation with joint
            damping, which yields to a push and to such a load; or zero torque, for drives that
            compensate gravity themselves. The object's weight counts while it is held.
        fallback_bandwidth: Bandwidth of the fallback's joint servo [rad/s]; a hold takes a
            twentieth of the rate at which commands answer measurements at most. Its gains are
            scaled by the inertia of the arms and, while the object is held, of their shares.
        lost_arm_end: What follows for an arm whose state is lost: its drive's own hold, for
            which commands to it cease, or zero torque.
        lost_arm_end_after_s: When that follows [s]; gravity at the last good position until then,
            and the fallback's damping again if good samples come before.
        minimum_arm_distance_m: Distance that links of different arms, and of one arm, must keep,
            on the reference and while control runs [m].
        minimum_object_distance_m: Distance that links must keep from the box around the object
            while control runs [m].
        link_radius_m: Radius of the capsules that stand for the links in these checks [m].
        wrench_residual_share: Part of the object's weight that the grasp wrenches may be more or
            less than its motion takes, where there are wrist sensors.
        wrench_residual_n: What they may be at least, also for light objects [N].
        wrench_warning_share: Part of the object's weight beyond which a difference that does not
            end control is a warning, with the name of the sensor.
        wrench_warning_n: Least difference that is a warning, also for light objects [N].
        wrench_residual_s: Time over which that is smoothed [s].
        tracking_limit_m: Distance of the object from its reference at which control gives up [m].
        tracking_limit_rad: Likewise for its orientation [rad].
        tilt_limit_deg: Largest tilt of a soft finger, the angle between its z axis and that of its
            grasp: on the reference, while control runs, and in the figures of a run [degrees].
        least_task_scale: Part of the task, or of a torque's change, below which limits count as
            ruling over the law.
        scaled_for_s: Time for which they may [s].
        wrench_limit_n: Force at a wrist beyond which its sensor counts as lost [N].
        wrench_limit_nm: Likewise the moment [N m].
        minimum_pivot: Smallest relative pivot of an arm's J H^-1 J^T that a reference may come
            to; 0 is a singularity.
    """

    effort_fraction: float = _number(0.95, "", above=0.0, maximum=1.0)
    velocity_fraction: float = _number(0.9, "", above=0.0, maximum=1.0)
    position_margin: float = _number(0.02, "rad or m", minimum=0.0)
    torque_rate: float = _number(1000.0, "N m/s", above=0.0, infinite=True)
    stale_after_periods: int = field(default=5, metadata={"unit": "periods", "minimum": 1})
    reference_stale_after_s: float = _number(0.5, "s", above=0.0)
    closure_warning_m: float = _number(0.001, "m", above=0.0)
    closure_warning_rad: float = _number(0.005, "rad", above=0.0)
    closure_limit_m: float = _number(0.01, "m", above=0.0)
    closure_limit_rad: float = _number(0.05, "rad", above=0.0)
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
    tracking_limit_rad: float = _number(0.2, "rad", above=0.0)
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
