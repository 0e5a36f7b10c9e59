# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Gains of a controller as parameters that change while control runs."""

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
    """The gains of a configured controller, which can be changed while it runs.

    Attributes:
        settings: The control settings with the present gains.

    Args:
        node: The node.
        settings: The control settings of the scenario; parameters of the node override them.

    Raises:
        RobotDynamicsError: If a given gain is refused.
    """

    def __init__(self, node: Node, settings: ControlSettings) -> None:
        self._node, self.settings = node, settings
        self._entries = {
            gain_name(*key): _entry(settings, *key)
            for key in GAINS
            if key[0] in settings.law_facts.gains
        }
        self._apply: Callable[[ControlSettings], None] | None = None
        self._law_check: Callable[[ControlSettings], None] = check_gains
        given = getattr(node, "_parameter_overrides", {})
        for name in self._entries:
            if name in given:
                self.settings = self._with(self.settings, name, given[name].value)
        check_gains(self.settings)
        for name, entry in self._entries.items():
            default = entry.default
            first = list(default) if isinstance(default, tuple) else default
            node.declare_parameter(name, first, descriptor(entry, read_only=False))
        node.add_on_set_parameters_callback(self._check)
        node.add_post_set_parameters_callback(self._take)

    def connect(
        self,
        apply: Callable[[ControlSettings], None],
        check: Callable[[ControlSettings], None] = check_gains,
    ) -> None:
        """Pass changes to the controller; before this call they are refused.

        Args:
            apply: Takes accepted settings.
            check: Raises a `RobotDynamicsError` for settings to be refused.
        """
        self._apply, self._law_check = apply, check

    def destroy(self) -> None:
        """Undeclare the parameters."""
        self._node.remove_on_set_parameters_callback(self._check)
        self._node.remove_post_set_parameters_callback(self._take)
        for name in self._entries:
            if self._node.has_parameter(name):
                self._node.undeclare_parameter(name)

    def _with(self, settings: ControlSettings, name: str, value: Any) -> ControlSettings:
        """Return settings with the gain of a parameter.

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
        """Refuse gains too high for the sampled loop with its declared delay."""
        if not any(parameter.name in self._entries for parameter in parameters):
            return SetParametersResult(successful=True)
        try:
            self._law_check(self._changed(parameters))
        except RobotDynamicsError as error:
            return SetParametersResult(successful=False, reason=str(error))
        if self._apply is None:
            reason = (
                "the gains of this control law are fixed while it is configured; expected them in "
                "the scenario."
            )
            return SetParametersResult(successful=False, reason=reason)
        return SetParametersResult(successful=True)

    def _take(self, parameters: list[Parameter]) -> None:
        settings = self._changed(parameters)
        if settings != self.settings and self._apply is not None:
            self.settings = settings
            self._apply(settings)


def _entry(settings: ControlSettings, group: str, name: str) -> Entry:
    """Return the parameter of a gain, with the bounds of its setting."""
    own = getattr(settings, group)
    bounds = next(dict(field.metadata) for field in fields(own) if field.name == name)
    above = bounds.get("above")
    least = bounds.get("minimum", None if above is None else 1e-6)
    value = getattr(own, name)
    return Entry(
        gain_name(group, name),
        tuple(map(float, value)) if isinstance(value, tuple) else float(value),
        GAINS[group, name],
        minimum=least,
        maximum=bounds.get("maximum", float("inf")),
    )
