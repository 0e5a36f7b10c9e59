# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Settings of the simulated plant, and its differences from the model."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

from robot_dynamics.errors import ArgumentError
from robot_dynamics.manipulation.contact_settings import Triple
from robot_dynamics.manipulation.settings import PoseSettings
from robot_dynamics.simulation import EngineName
from robot_dynamics.simulation.faults import FaultSettings

_STEP_TOLERANCE = 1e-5  # of the period: a step is written with six digits
_LONGEST_STEP_S = {"step_s": 0.002, "mujoco_step_s": 0.0002}  # where none is stated
_LONGEST_CONTACT_STEP_S = 0.00025  # the same, of steps with contacts


@dataclass(frozen=True)
class SensorSettings:
    """Errors of sensors, in this order: delay, scale, bias, noise, rounding.

    Attributes:
        position: Standard deviation of the white noise of joint positions [rad or m].
        velocity: Standard deviation of joint velocities [rad/s or m/s].
        force: Standard deviation of wrist forces [N].
        moment: Standard deviation of wrist moments [N m].
        force_bias: Constant error of every wrist force, in the axes of the tool [N].
        moment_bias: Constant error of every wrist moment, in the axes of the tool [N m].
        force_drift: Growth of the error of every wrist force [N/s].
        wrench_scale: Measured over true wrench of the wrist sensor, by arm; 1 by default.
        wrench_delay_periods: Control periods by which wrist sensors are late.
        encoder_step: Positions are multiples of this [rad or m]; 0 for positions of any value.
        velocities: Whether velocities are measured; without it they are not finite numbers, and
            are missing in messages.
        sample_periods: Control periods between two samples of the joints, by arm; between them the
            last sample stays. 1 by default.
    """

    position: float = field(default=0.0, metadata={"minimum": 0.0})
    velocity: float = field(default=0.0, metadata={"minimum": 0.0})
    force: float = field(default=0.0, metadata={"minimum": 0.0, "unit": "N"})
    moment: float = field(default=0.0, metadata={"minimum": 0.0, "unit": "N m"})
    force_bias: Triple = field(default=(0.0, 0.0, 0.0), metadata={"unit": "N"})
    moment_bias: Triple = field(default=(0.0, 0.0, 0.0), metadata={"unit": "N m"})
    force_drift: Triple = field(default=(0.0, 0.0, 0.0), metadata={"unit": "N/s"})
    wrench_scale: dict[str, float] = field(default_factory=dict, metadata={"unit": ""})
    wrench_delay_periods: int = field(
        default=0, metadata={"unit": "periods", "minimum": 0, "maximum": 1000}
    )
    encoder_step: float = field(default=0.0, metadata={"minimum": 0.0, "unit": "rad or m"})
    velocities: bool = True
    sample_periods: dict[str, int] = field(
        default_factory=dict, metadata={"unit": "periods", "minimum": 1, "maximum": 1000}
    )


@dataclass(frozen=True)
class PushSettings:
    """External force that is unknown to the controller.

    Attributes:
        link: The pushed link; by default the object.
        force: World axes, at the link's origin [N].
        moment: World axes [N m].
        time_s: Its beginning [s].
        duration_s: Its duration [s].
    """

    link: str = ""
    force: Triple = field(default=(0.0, 0.0, 0.0), metadata={"unit": "N"})
    moment: Triple = field(default=(0.0, 0.0, 0.0), metadata={"unit": "N m"})
    time_s: float = field(default=0.0, metadata={"unit": "s", "minimum": 0.0})
    duration_s: float = field(
        default=math.inf, metadata={"unit": "s", "above": 0.0, "infinite": True}
    )


@dataclass(frozen=True)
class PayloadSettings:
    """A point mass on the object, or on its first part, unknown to the controller.

    Velocities do not change when it is added or removed: it is added with the object's velocity.

    Attributes:
        mass: Its mass [kg]; less than zero for a mass that is taken away.
        center: Its place in the object's axes [m].
        time_s: Time at which it is added [s].
        duration_s: Time after which it is removed [s].
    """

    mass: float = field(metadata={"unit": "kg"})
    center: Triple = field(default=(0.0, 0.0, 0.0), metadata={"unit": "m"})
    time_s: float = field(default=0.0, metadata={"unit": "s", "minimum": 0.0})
    duration_s: float = field(
        default=math.inf, metadata={"unit": "s", "above": 0.0, "infinite": True}
    )


@dataclass(frozen=True)
class PlantSettings:
    """The simulated plant; its differences from the cell are unknown to the controller.

    Attributes:
        engine: Its engine: our closed-loop dynamics, or MuJoCo with weld equalities.
        step_s: Integration step of our engine [s]; a control period is a whole number of them. By
            default the longest step up to 2 ms that is stable with the friction of the joints.
        mujoco_step_s: The same for MuJoCo, whose welds are springs and need shorter steps [s]:
            up to 0.2 ms by default.
        command_delay_periods: Control periods from a measurement until the torque computed from it
            acts.
        object_mass_scale: True mass and inertia of the object over those of the cell.
        object_center_error: True centre of mass of the object (of its first part if it has two)
            relative to the cell's, in the object's axes.
        object_inertia_scale: True inertia about that centre over the cell's, in addition to the
            effect of the mass.
        link_mass_scale: True mass and inertia of the arms' links over those of their descriptions.
        grasp_error: By arm, true pose of its grasp relative to the modelled one, in the grasp's
            frame.
        surface_error: By surface, its true pose relative to the modelled one, in its frame.
        object_error: True pose of the object at the start relative to the stated one, in its
            frame, in a task; it stands on the true surface.
        surface_friction_scale: True Coulomb friction of surfaces over the modelled one.
        grasp_friction_scale: The same for the arms' contacts that can slip, torsional friction
            included.
        gravity_tilt: Rotation of the true gravity relative to the modelled one about the world's
            axes x, then y [rad], as in a cell that is not level.
        damping_scale: True viscous friction of the joints over that of their descriptions.
        friction_scale: The same for Coulomb friction.
        joint_friction: Law of Coulomb friction of the joints. "smooth": F v / sqrt(v^2 + v0^2),
            under which a loaded joint creeps. "coulomb": a constraint force of at most F, which
            holds it; our engine then takes the time steps of contacts.
        friction_velocity: Speed v0 [rad/s or m/s] at which smooth Coulomb friction reaches 71 % of
            its value.
        torque_limit: Whether the drives cut torques off at the effort limits.
        sensors: Errors of the sensors.
        seed: Seed of the noise.
        faults: Faults, with their times.
        pushes: External forces, with their times.
        payloads: Masses that are added to the object or taken away, with their times.
    """

    engine: EngineName = "engine"
    step_s: float | None = field(default=None, metadata={"minimum": 1e-6, "unit": "s"})
    mujoco_step_s: float | None = field(default=None, metadata={"minimum": 1e-6, "unit": "s"})
    command_delay_periods: int = field(
        default=1, metadata={"unit": "periods", "minimum": 0, "maximum": 10}
    )
    object_mass_scale: float = field(
        default=1.0, metadata={"unit": "", "above": 0.0, "maximum": 1000.0}
    )
    object_center_error: Triple = field(default=(0.0, 0.0, 0.0), metadata={"unit": "m"})
    object_inertia_scale: float = field(
        default=1.0, metadata={"unit": "", "above": 0.0, "maximum": 1000.0}
    )
    link_mass_scale: float = field(
        default=1.0, metadata={"unit": "", "above": 0.0, "maximum": 10.0}
    )
    grasp_error: dict[str, PoseSettings] = field(default_factory=dict)
    surface_error: dict[str, PoseSettings] = field(default_factory=dict)
    object_error: PoseSettings = field(default_factory=PoseSettings)
    surface_friction_scale: float = field(
        default=1.0, metadata={"unit": "", "minimum": 0.0, "maximum": 100.0}
    )
    grasp_friction_scale: float = field(
        default=1.0, metadata={"unit": "", "minimum": 0.0, "maximum": 100.0}
    )
    gravity_tilt: tuple[float, float] = field(
        default=(0.0, 0.0), metadata={"unit": "rad", "minimum": -1.5708, "maximum": 1.5708}
    )
    damping_scale: float = field(
        default=1.0, metadata={"unit": "", "minimum": 0.0, "maximum": 1e6}
    )
    friction_scale: float = field(
        default=1.0, metadata={"unit": "", "minimum": 0.0, "maximum": 1e6}
    )
    joint_friction: Literal["smooth", "coulomb"] = "smooth"
    friction_velocity: float = field(default=0.05, metadata={"unit": "rad/s or m/s", "above": 0.0})
    torque_limit: bool = True
    sensors: SensorSettings = field(default_factory=SensorSettings)
    seed: int = field(default=0, metadata={"unit": "", "minimum": 0})
    faults: tuple[FaultSettings, ...] = ()
    pushes: tuple[PushSettings, ...] = ()
    payloads: tuple[PayloadSettings, ...] = ()

    def steps(self, key: Literal["step_s", "mujoco_step_s"], period: float) -> int:
        """Return the number of integration steps of a control period.

        Args:
            key: Name of the setting of the step.
            period: Control period [s].

        Raises:
            ArgumentError: If the stated step does not divide the period.
        """
        step: float | None = getattr(self, key)
        if step is None:
            # Less rounding: ten steps of 0.0002 s are 0.002 s.
            return max(1, math.ceil(period / _LONGEST_STEP_S[key] * (1.0 - 1e-9)))
        count = round(period / step)
        if count < 1 or abs(count * step - period) > _STEP_TOLERANCE * period:
            possible = period / math.ceil(period / step)
            raise ArgumentError(
                f"plant.{key} {step:g} s does not divide the control period of {period:g} s; "
                f"expected {period:g} s over a whole number, as {possible:.6g}."
            )
        return count

    def contact_steps(self, period: float) -> int:
        """Return the number of steps with contacts of a control period [s]; see `steps`."""
        if self.step_s is not None:
            return self.steps("step_s", period)
        if not period > 0.0:
            raise ArgumentError(f"a control period of {period:g} s, expected a positive one.")
        return max(1, math.ceil(period / _LONGEST_CONTACT_STEP_S * (1.0 - 1e-9)))
