# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Gains as parameters: a configured controller takes new ones while it runs, and ramps to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter

from robot_dynamics.control.gains import check_gains
from robot_dynamics.control.settings import ControlSettings
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.nodes.parameters import GAINS, Entry, descriptor, gain_name


class GainParameters:
    """The gains of a configured controller, as parameters of its node.

    Attributes:
        settings: The control settings with the gains that were given last.

    Args:
        node: The node.
        settings: The control settings of the scenario; parameters given to the node win.

    Raises:
        RobotDynamicsError: If a given gain is refused.
    """

    def __init__(self, node: Node, settings: ControlSettings) -> None:
        self._node, self.settings = node, settings
        self._entries = {gain_name(*key): _entry(settings, *key) for key in GAINS}
        self._apply: Callable[[ControlSettings], None] | None = None
        given = getattr(node, "_parameter_overrides", {})
        for name in self._entries:
            if name in given:
                self.settings = self._with(self.settings, name, given[name].value)
        check_gains(self.settings)
        for name, entry in self._entries.items():
            node.declare_parameter(name, entry.default, descriptor(entry, read_only=False))
        node.add_on_set_parameters_callback(self._check)
        node.add_post_set_parameters_callback(self._take)

    def connect(self, apply: Callable[[ControlSettings], None]) -> None:
        """Hand changes to the controller from now on; until then they are refused."""
        self._apply = apply

    def destroy(self) -> None:
        """Take the parameters off the node."""
        self._node.remove_on_set_parameters_callback(self._check)
        self._node.remove_post_set_parameters_callback(self._take)
        for name in self._entries:
            if self._node.has_parameter(name):
                self._node.undeclare_parameter(name)

    def _with(self, settings: ControlSettings, name: str, value: Any) -> ControlSettings:
        """Return settings with a gain that a parameter states.

        Raises:
            ParameterError: If it has the wrong type or is out of range.
        """
        _, group, field = name.split(".")
        checked = self._entries[name].checked(value)
        own = replace(getattr(settings, group), **{field: checked})
        return replace(settings, **{group: own})

    def _changed(self, parameters: list[Parameter]) -> ControlSettings:
        settings = self.settings
        for parameter in parameters:
            if parameter.name in self._entries:
                settings = self._with(settings, parameter.name, parameter.value)
        return settings

    def _check(self, parameters: list[Parameter]) -> SetParametersResult:
        """Refuse gains that the sampled loop with its declared delay does not bear."""
        if not any(parameter.name in self._entries for parameter in parameters):
            return SetParametersResult(successful=True)
        try:
            check_gains(self._changed(parameters))
        except RobotDynamicsError as error:
            return SetParametersResult(successful=False, reason=str(error))
        if self._apply is None:
            reason = "the control law takes gains from the scenario alone."
            return SetParametersResult(successful=False, reason=reason)
        return SetParametersResult(successful=True)

    def _take(self, parameters: list[Parameter]) -> None:
        settings = self._changed(parameters)
        if settings != self.settings and self._apply is not None:
            self.settings = settings
            self._apply(settings)


def _entry(settings: ControlSettings, group: str, name: str) -> Entry:
    """Return the parameter of a gain, with the bounds that the settings state."""
    own = getattr(settings, group)
    bounds = next(dict(field.metadata) for field in fields(own) if field.name == name)
    above = bounds.get("above")
    least = bounds.get("minimum", None if above is None else 1e-6)
    return Entry(
        gain_name(group, name),
        float(getattr(own, name)),
        GAINS[group, name],
        minimum=least,
        maximum=bounds.get("maximum", float("inf")),
    )
