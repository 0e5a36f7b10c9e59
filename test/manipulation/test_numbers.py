# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers that a user states know their default, unit and bounds."""

from dataclasses import dataclass

import pytest

from robot_dynamics.description.diagnosis import DescriptionError
from robot_dynamics.description.yaml_document import decode, parse_yaml
from robot_dynamics.manipulation.contact_settings import number


@dataclass(frozen=True)
class Rate:
    """A thing with a number."""

    rate: float = number(5.0, "1/s", minimum=0.0)


def test_a_number_has_a_default_and_is_refused_out_of_bounds_with_its_unit():
    """Nothing given is the default; a wrong value is answered with bound and unit."""
    assert decode(Rate, parse_yaml("{}")).rate == 5.0
    with pytest.raises(DescriptionError, match="expected at least 0 1/s, not -1"):
        decode(Rate, parse_yaml("rate: -1"))
