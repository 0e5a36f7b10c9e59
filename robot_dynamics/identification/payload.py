# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""An identified payload: its parameters, physically consistent, with their deviations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.inertial_parameters import (
    from_log_cholesky,
    log_cholesky,
    of_pseudo_inertia,
    pseudo_inertia,
)
from robot_dynamics.dynamics.regressor import PER_BODY
from robot_dynamics.identification.least_squares import Fit
from robot_dynamics.identification.motion import parameters_in

_STRENGTH = 0.3  # of the prior that keeps constrained parameters from the boundary
_ROUNDING = 1e-12  # of the prior's variance, for the inverse of a covariance


@dataclass(frozen=True)
class Payload:
    """An identified payload, in the frame of the object's root link.

    Attributes:
        parameters: Standard parameters (10,), physically consistent; see `dynamics.regressor`.
        covariance: Their covariance (10, 10).
        constrained: Whether the data alone gave parameters of no body.
        fit: The fit of all parameters: of the object, of the joints' friction, of biases.
        held_out: Residual of the rows that the fit of the others did not use, over the noise:
            with the description's payload and with the identified one.
    """

    parameters: Array
    covariance: Array
    constrained: bool
    fit: Fit
    held_out: tuple[float, float]

    @property
    def mass(self) -> float:
        """Mass [kg]."""
        return float(self.parameters[0])

    @property
    def summary(self) -> tuple[Array, Array]:
        """Mass, centre (3) and inertia about it (6), and their standard deviations, each (10,)."""
        return about_center(self.parameters), deviations_about_center(
            self.parameters, self.covariance
        )


def deviations_about_center(parameters: Array, covariance: Array) -> Array:
    """Return standard deviations (10,) of `about_center`.

    Args:
        parameters: Standard parameters (10,).
        covariance: Their covariance (10, 10).
    """
    slopes = np.empty((PER_BODY, PER_BODY))
    for i in range(PER_BODY):
        step = np.zeros(PER_BODY)
        step[i] = 1e-6 * max(abs(parameters[i]), 1e-3)
        difference = about_center(parameters + step) - about_center(parameters - step)
        slopes[:, i] = difference / (2.0 * step[i])
    return np.sqrt(np.diag(slopes @ covariance @ slopes.T))


def about_center(parameters: Array) -> Array:
    """Return mass, centre of mass, and the inertia about it (10,) of standard parameters (10,)."""
    centre = parameters[1:4] / parameters[0]
    back = np.eye(4)
    back[:3, 3] = -centre
    inertia = (parameters_in(back) @ parameters)[4:]
    return np.concatenate([parameters[:1], centre, inertia])


def nearest_physical(parameters: Array, covariance: Array, prior: Array, radius: float) -> Array:
    """Return the parameters of a distribution of positive mass that explain the data best.

    Args:
        parameters: Estimates (10,) that belong to no such distribution.
        covariance: Their covariance (10, 10).
        prior: Parameters of the description (10,).
        radius: Size of the body [m].
    """
    m = prior[0]
    scale = m * np.array([1.0] + [radius] * 3 + [radius**2] * 6)
    relative = covariance / np.outer(scale, scale) + _ROUNDING * np.eye(PER_BODY)
    L = np.linalg.cholesky(np.linalg.inv(relative))
    # Of a ball of that size about the description's centre: a point or a rod has no such theta.
    ball = pseudo_inertia(prior) + np.diag([0.1 * m * radius**2] * 3 + [0.0])
    theta = log_cholesky(of_pseudo_inertia(ball))

    def distance(x: Array) -> Array:
        data = L.T @ ((from_log_cholesky(x) - parameters) / scale)
        return np.concatenate([data, _STRENGTH * (x - theta)])

    return from_log_cholesky(least_squares(distance, theta).x)
