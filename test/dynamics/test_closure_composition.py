# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Several closure functions and couplings as one, and their independent variables."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support import closures, golden, linkages
from support.linkages import Builder

from robot_dynamics.dynamics.closure_composition import compose
from robot_dynamics.dynamics.closure_functions import ClosureFunction, ClosureFunctionError
from robot_dynamics.errors import UnknownNameError
from robot_dynamics.model import CouplingElement, build, joined, pose


def chain(*couplings, joints=4):
    """Return a chain of hinges j0 ... with couplings and no loops."""
    b = Builder("chain")
    parent = "base"
    for i in range(joints):
        b.add(f"l{i}", parent, at=(0.3, 0, 0))
        parent = f"l{i}"
    mechanism = b.done()
    names = {f"l{i}_joint": f"j{i}" for i in range(joints)}
    renamed = tuple(replace(j, name=names[j.name]) for j in mechanism.joints)
    return build(replace(mechanism, joints=renamed, couplings=couplings))


def two_four_bars(*couplings):
    """Return two four-bars side by side, with couplings between them."""
    bar = linkages.four_bar()
    both = joined(
        "two", [(bar.prefixed(s), pose((0, 0, z)), "fixed") for s, z in (("a_", 0.0), ("b_", 1.0))]
    )
    return build(replace(both, couplings=couplings))


THRESHOLDS = (closures.four_bar_function(prefix="a_"), closures.four_bar_function(prefix="b_"))


def test_couplings_are_functions_by_themselves():
    """Gears, sums and offsets are functions by themselves; drivers are independent."""
    gear = CouplingElement.gear("gear", "j2", "j1", 3.0, 0.5)
    total = CouplingElement("sum", (("j3", 2.0), ("j0", 1.0), ("j1", -4.0)), 1.0)
    closure = compose(chain(gear, total), [])
    assert closure.names == ("j0", "j1")
    y, yd = [0.3, -0.7], [1.1, 0.4]
    motion = closure.motion(y, yd)
    assert_allclose(motion.q, [0.3, -0.7, 3.0 * -0.7 + 0.5, (1.0 - 0.3 + 4.0 * -0.7) / 2.0])
    assert_allclose(motion.G, [[1, 0], [0, 1], [0, 3], [-0.5, 2]])
    assert motion.g == [0.0] * 4


def test_a_chain_of_gears_starts_at_its_driver():
    """Of a gear that drives a gear the first driver is independent, in whatever order they are."""
    gears = [CouplingElement.gear(f"g{i}", f"j{i}", f"j{i + 1}", 2.0) for i in range(3)]
    for order in ([0, 1, 2], [2, 0, 1], [1, 2, 0]):
        closure = compose(chain(*(gears[i] for i in order)), [])
        assert closure.names == ("j3",)
        assert_allclose(closure.positions([0.1]), [0.8, 0.4, 0.2, 0.1])


def test_a_wish_turns_a_gear_round():
    """A follower that is wished for is independent, and its driver follows."""
    closure = compose(chain(CouplingElement.gear("gear", "j2", "j1", 4.0)), [], ["j2"])
    assert closure.names == ("j2", "j0", "j3")
    assert_allclose(closure.positions([0.8, 0.0, 0.0]), [0.0, 0.2, 0.8, 0.0])


def test_a_coefficient_of_zero_gives_nothing():
    """A joint that stands in a coupling with the coefficient zero stays independent."""
    closure = compose(chain(CouplingElement("odd", (("j0", 0.0), ("j1", 2.0)), 0.6)), [])
    assert closure.names == ("j0", "j2", "j3")
    assert_allclose(closure.positions([0.1, 0.2, 0.3]), [0.1, 0.3, 0.2, 0.3])


def test_gears_drive_loops():
    """A gear on the crank of a four-bar: the driver is independent, gammas are composed."""
    bar = linkages.four_bar()
    b = Builder("geared")
    b.add("motor", "base", at=(0, 0, 0.2), active=True)
    motor = b.done()
    gear = CouplingElement.gear("gear", "crank_joint", "motor_joint", -0.1, 0.7)
    mechanism = replace(
        bar,
        links=(*bar.links, motor.links[1]),
        joints=(*bar.joints, *motor.joints),
        couplings=(gear,),
    )
    closure = compose(build(mechanism), [closures.four_bar_function()])
    assert closure.names == ("motor_joint",)
    alone = compose(build(bar), [closures.four_bar_function()])
    y, yd = 2.0, 3.0
    crank, rate = -0.1 * y + 0.7, -0.1 * yd
    ours, theirs = closure.motion([y], [yd]), alone.motion([crank], [rate])
    for name in alone.model.joint_names:
        i, j = closure.model.joint_index(name), alone.model.joint_index(name)
        assert ours.q[i] == pytest.approx(theirs.q[j], rel=1e-14)
        assert ours.qd[i] == pytest.approx(theirs.qd[j], rel=1e-14)
        assert ours.G[i][0] == pytest.approx(-0.1 * theirs.G[j][0], rel=1e-14)
        assert ours.g[i] == pytest.approx(theirs.g[j], rel=1e-13, abs=1e-15)


def test_loops_coupled_to_one_another():
    """Two four-bars are two functions; a gear between their cranks leaves one coordinate."""
    assert compose(two_four_bars(), THRESHOLDS).names == ("a_crank_joint", "b_crank_joint")
    gear = CouplingElement.gear("gear", "b_crank_joint", "a_crank_joint", -1.0)
    assert compose(two_four_bars(gear), THRESHOLDS).names == ("a_crank_joint",)
    assert compose(two_four_bars(gear), THRESHOLDS[::-1]).names == ("a_crank_joint",)
    # Where a follower of one loop drives the other.
    gear = CouplingElement.gear("gear", "b_crank_joint", "a_rocker_joint", 2.0)
    closure = compose(two_four_bars(gear), THRESHOLDS)
    assert closure.names == ("a_crank_joint",)
    known = closure.values([0.4])
    assert known["b_crank_joint"][0] == 2.0 * known["a_rocker_joint"][0]


def function_of(independent, positions):
    return ClosureFunction(tuple(independent), lambda y: positions)


@pytest.mark.parametrize(
    ("functions", "words"),
    [
        ((), r"position of joint 'q1', which"),
        ((function_of(["q1"], {"q2": 0.0}),), r"position of joint 'q3'"),
        (
            (function_of(["q11"], {"q2": 0.0, "q3": 0.0}),),
            r"'q1'.*'q11'",
        ),
        ((function_of(["q1"], [0.0, 0.0]),), "returned list, expected a mapping"),
        ((function_of(["q1"], {"q2": 0.0, "q3": [0.0, 1.0]}),), r"\b2\b.*'q3'"),
        ((function_of(["q1"], {"q1": 0.0}),), "gives the position of 'q1', which it takes"),
        (
            (function_of(["q1"], {"q2": 0.0, "q3": 0.0}), function_of(["q1"], {"q3": 0.0})),
            r"'q3'.*'q1'",
        ),
        (
            (function_of(["q2"], {"q3": 0.0}), function_of(["q3"], {"q2": 0.0, "q1": 0.0})),
            r"'q3'.*'q2'",
        ),
        (
            (ClosureFunction(("q1",), lambda y: {"q2": y[1]}),),
            r"'q1'.*\b1\b.*\b1\b",
        ),
    ],
)
def test_functions_that_do_not_fit(functions, words):
    """Each error names the joint and the function, and the expected value."""
    with pytest.raises(ClosureFunctionError, match=words):
        compose(golden.actuated_arm_model(), functions)


def test_unknown_joints_of_closure_functions_are_named():
    """A function for a joint that is not there, and a wish for one, name those that are."""
    with pytest.raises(UnknownNameError, match=r"'q33'.*'q3'"):
        compose(golden.actuated_arm_model(), [function_of(["q1"], {"q33": 0.0})])
    with pytest.raises(UnknownNameError, match="'q0'"):
        compose(golden.actuated_arm_model(), [closures.actuated_arm_function()], ["q0"])


def test_a_tree_is_its_own_closure():
    """Without loops and couplings every joint is independent, in the order of the model."""
    closure = compose(chain(), [])
    assert closure.names == ("j0", "j1", "j2", "j3")
    assert np.eye(4).tolist() == closure.motion([1.0, 2.0, 3.0, 4.0], [1.0] * 4).G
