# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Transmissions: reductions, rotors and reflected inertia."""

import pytest
from description.urdf_texts import ARM

from robot_dynamics.description.urdf import read_urdf

ROS1 = """<transmission name="t"><type>transmission_interface/SimpleTransmission</type>
<joint name="shoulder"><hardwareInterface>EffortJointInterface</hardwareInterface></joint>
<actuator name="m"><mechanicalReduction>-50</mechanicalReduction>{}</actuator></transmission>"""
DRAKE = '<d:rotor_inertia xmlns:d="urn:d" value="2e-5"/>'


def arm_with(text):
    """Return the description of the arm with more tags."""
    return read_urdf(ARM.replace("</robot>", text + "</robot>"))


def test_a_simple_transmission_is_read():
    """Names, type and reduction arrive; without a rotor nothing is reflected."""
    description = arm_with(ROS1.format(""))
    (found,) = description.transmissions
    assert (found.name, found.joints, found.actuators) == ("t", ("shoulder",), ("m",))
    assert found.kind.endswith("SimpleTransmission")
    assert found.reductions == (-50.0,)
    assert description.mechanism.joints[0].armature == 0.0


@pytest.mark.parametrize("rotor", [DRAKE, "<rotorInertia>2e-5</rotorInertia>"])
def test_a_rotor_is_reflected_with_the_square_of_the_reduction(rotor):
    """The joint feels 2500 times the rotor's inertia, whatever the sign of the reduction."""
    description = arm_with(ROS1.format(rotor))
    # One product of three factors.
    assert description.mechanism.joints[0].armature == pytest.approx(0.05, rel=1e-15)
    assert description.mechanism.joints[1].armature == 0.0


def test_the_form_of_the_pr2_is_read():
    """The type is an attribute and the reduction stands beside the actuator."""
    (found,) = arm_with(
        '<transmission type="pr2_mechanism_model/SimpleTransmission" name="t">'
        '<actuator name="m"/><joint name="elbow"/><mechanicalReduction>79.25'
        "</mechanicalReduction></transmission>"
    ).transmissions
    assert (found.kind, found.reductions) == ("pr2_mechanism_model/SimpleTransmission", (79.25,))


def test_a_differential_is_kept_as_data():
    """Two actuators on two joints have no reflected inertia of one joint."""
    (found,) = arm_with(
        '<transmission name="d" type="DifferentialTransmission"><joint name="shoulder"/>'
        '<joint name="elbow"/><actuator name="a"><rotor_inertia value="1"/></actuator>'
        '<actuator name="b"><mechanicalReduction>2</mechanicalReduction></actuator>'
        "</transmission>"
    ).transmissions
    assert found.reductions == (1.0, 2.0)
    assert found.rotor_inertias == (1.0, 0.0)
    assert found.armature == 0.0


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"shoulder"', '"sholder"', "there is no joint 'sholder'"),
        ("-50", "fifty", "<mechanicalReduction> has 'fifty'"),
        ("-50", "nan", "expected a finite number"),
        ("2e-5", "-2e-5", "the rotor inertia is -2e-05"),
    ],
)
def test_doubtful_transmissions_are_warned_of(old, new, message):
    """They change no motion unless they state a rotor, so the file still loads."""
    warnings = arm_with(ROS1.format(DRAKE).replace(old, new)).diagnosis.warnings
    assert len(warnings) == 1
    assert message in warnings[0].sentence()
    assert warnings[0].element == "transmission 't'"


def test_transmissions_of_nothing_are_left_out():
    """Tags that name no joint belong to other programs."""
    description = arm_with('<transmission name="gripper"><gap_joint name="g"/></transmission>')
    assert description.transmissions == ()
    assert description.diagnosis.problems == ()
