# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Cells as environments of Gymnasium: spaces, episodes, rewards, and the two kinds of actions."""

import warnings

import numpy as np
import pytest

from robot_dynamics.errors import ArgumentError, UnknownNameError

pytest.importorskip("gymnasium")
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

from robot_dynamics.app.batches.learning import CellEnv, CellVectorEnv

NOISY = ["plant.sensors.velocity=1e-4"]
STEP_S = 0.02


def reward(happened):
    """Return the height of the object, which tells cells and times apart."""
    return happened.after.object_pose[:, 2] + happened.after.time


def make(count, overrides=NOISY, **arguments):
    given = {"reward": reward, "episode_s": 0.06, "action": "reference", "threads": 1, **arguments}
    return CellVectorEnv("lift_box", count, overrides=overrides, **given)


@pytest.mark.parametrize("action", ["torque", "reference"])
def test_gymnasium_accepts_the_environment(action):
    """Its own checker: spaces, seeds, determinism, and nothing that is used again."""
    env = CellEnv("lift_box", reward=reward, action=action, overrides=NOISY)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # recommendations of normalised and bounded spaces
        check_env(env, skip_render_check=True)


def test_cells_begin_anew_in_the_step_after_their_end():
    """As Gymnasium defines it by default: that step does nothing else, and earns nothing."""
    envs = make(3)
    assert envs.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    first, _ = envs.reset(seed=3)
    assert envs.observation_space.contains(first)
    action = np.tile([1.0, 10.0], (3, 1))
    for k in range(3):
        seen, gained, terminated, truncated, info = envs.step(action)
        assert not terminated.any()
        assert truncated.tolist() == [k == 2] * 3
        assert info["time"] == pytest.approx(STEP_S * (k + 1))
        assert (gained > 0.7 + STEP_S * (k + 1)).all()
    seen, gained, terminated, truncated, info = envs.step(action)
    assert gained.tolist() == [0.0] * 3
    assert not (terminated | truncated).any()
    assert info["time"].tolist() == [0.0] * 3
    assert np.array_equal(seen["object_pose"], first["object_pose"])
    assert (seen["qd"] != first["qd"]).any()  # other noise
    _, gained, *_, info = envs.step(action)
    assert info["time"] == pytest.approx([STEP_S] * 3)
    assert (gained > 0.7).all()


def test_cells_begin_anew_in_the_same_step():
    """The last observation is in `final_obs`."""
    envs = make(2, autoreset_mode="SameStep", done=lambda one: [one.after.time[0] > 0.03, False])
    first, _ = envs.reset(seed=3)
    envs.step(np.zeros((2, 2)))
    seen, gained, terminated, truncated, info = envs.step(np.zeros((2, 2)))
    assert terminated.tolist() == [True, False]
    assert info["_final_obs"].tolist() == [True, False]
    assert (gained > 0.7).all()
    assert np.array_equal(seen["object_pose"][0], first["object_pose"][0])
    assert np.array_equal(info["final_obs"]["qd"][1], seen["qd"][1])
    assert (info["final_obs"]["qd"][0] != seen["qd"][0]).all()
    *_, truncated, info = envs.step(np.zeros((2, 2)))
    assert truncated.tolist() == [False, True]


def test_the_caller_begins_cells_anew():
    """By a mask; a step before that is refused."""
    envs = make(3, autoreset_mode=AutoresetMode.DISABLED, done=lambda one: [True, False, True])
    envs.reset(seed=[1, 2, 3])
    action = np.tile([1.0, 10.0], (3, 1))
    _, _, over, _, _ = envs.step(action)
    with pytest.raises(ArgumentError, match="expected a reset"):
        envs.step(action)
    _, info = envs.reset(options={"reset_mask": over})
    assert info["time"].tolist() == pytest.approx([0.0, STEP_S, 0.0])
    *_, info = envs.step(action)
    assert info["time"] == pytest.approx([STEP_S, 2 * STEP_S, STEP_S])


def test_parameters_are_drawn_anew_for_each_episode():
    """By a function of the caller before each, or as options of a reset."""

    def drawn(random, count):
        return {"plant.object_mass_scale": random.uniform(0.9, 1.1, count)}

    envs = make(3, parameters=drawn)
    envs.reset(seed=1)
    masses = envs.batch.parameters["plant.object_mass_scale"]
    envs.reset(seed=1)
    assert np.array_equal(envs.batch.parameters["plant.object_mass_scale"], masses)
    for _ in range(4):  # the third step is the last of the episode
        envs.step(np.zeros((3, 2)))
    assert (envs.batch.parameters["plant.object_mass_scale"] != masses).all()
    given = {"plant.object_mass_scale": [1.05]}
    mask = np.array([False, True, False])
    envs.reset(options={"reset_mask": mask, "parameters": given})
    assert envs.batch.parameters["plant.object_mass_scale"][1] == 1.05
    with pytest.raises(ArgumentError, match="one value for each cell"):
        envs.reset(options={"parameters": given})
    with pytest.raises(UnknownNameError, match="did you mean 'parameters'"):
        envs.reset(options={"paramters": given})
    one = CellEnv("lift_box", reward=reward, parameters={"plant.object_mass_scale": [1.0]})
    one.reset(options={"parameters": given})
    assert one.batch.parameters["plant.object_mass_scale"][0] == 1.05


def test_rewards_that_are_no_numbers_are_refused():
    """In the step in which they come, with the cell."""
    envs = make(2, reward=lambda one: [0.0, np.nan])
    envs.reset(seed=0)
    with pytest.raises(ArgumentError, match="the reward of cell 1 is nan"):
        envs.step(np.zeros((2, 2)))


def test_a_cell_of_many_is_one_by_itself():
    """The same seed and the same actions give the same bits."""
    envs = make(3, episode_s=5.0)
    alone = make(1, [*NOISY, "plant.seed=1"], episode_s=5.0)  # cell 1 was prepared with it
    seen, _ = envs.reset(seed=[5, 6, 7])
    own, _ = alone.reset(seed=[6])
    rng = np.random.default_rng(0)
    for _ in range(12):
        action = rng.uniform([0.0, 0.0], [1.5, 60.0], (3, 2))
        seen, gained, *_ = envs.step(action)
        own, earned, *_ = alone.step(action[1:2])
        assert gained[1] == earned[0]
        for name, values in own.items():
            assert np.array_equal(seen[name][1], values[0])


def test_references_are_followed():
    """At twice the pace the object is where the plan has it, with the squeeze of the action."""
    envs = make(2, episode_s=5.0)
    seen, _ = envs.reset(seed=0)
    action = np.array([[2.0, 30.0], [0.0, 60.0]])
    for _ in range(60):
        seen, *_ = envs.step(action)
    table, start = envs.batch.reference_rows, envs.batch.scenario.start_tick
    # The path waits for 0.2 s, and takes 0.4 s to come to its pace: half of that is lost.
    expected = 2.0 * (1.2 - 0.2 - 0.2) / (len(table) - 1 - start) / 0.002
    assert seen["progress"][:, 0] == pytest.approx([expected, 0.0], rel=0.02)
    at = round(seen["progress"][0, 0] * (len(table) - 1 - start)) + start
    wanted = table[[at, 0], :3]
    # The plan is half a period or two ahead of what is seen, at up to half a metre a second.
    assert np.abs(seen["object_pose"][:, :3] - wanted).max() < 3e-3
    assert np.linalg.norm(wanted[0] - wanted[1]) > 0.1
    assert seen["squeeze"][:, 0].tolist() == [30.0, 60.0]
    assert seen["wrenches"][1, :, 5] == pytest.approx([60.0, 60.0], abs=0.1)
    assert seen["wrenches"][0, :, 5] == pytest.approx([30.0, 30.0], abs=5.0)  # it accelerates


def test_a_cell_that_the_safety_layer_stops_is_terminated():
    """With the cause, and alone; later it begins anew."""
    envs = make(2, episode_s=5.0, parameters={"plant.object_mass_scale": [1.0, 1.7]})
    envs.reset(seed=0)
    for _ in range(20):
        seen, _, terminated, truncated, info = envs.step(np.zeros((2, 2)))
        if terminated.any():
            break
    assert terminated.tolist() == [False, True]
    assert not truncated.any()
    assert info["cause"].tolist() == [None, "unexpected contact"]
    assert np.isfinite(seen["q"]).all()
    *_, info = envs.step(np.zeros((2, 2)))
    assert info["time"][1] == 0.0
    assert info["time"][0] > 0.05


def test_references_that_are_no_numbers_end_their_cell_alone():
    """As torques do; the cell begins anew, and the other one does not notice."""
    envs = make(2, overrides=())
    envs.reset(seed=0)
    *_, terminated, _, info = envs.step([[np.nan, 20.0], [1.0, 20.0]])
    assert terminated.tolist() == [True, False]
    assert info["cause"].tolist() == ["reference lost", None]
    seen, _, terminated, _, info = envs.step([[1.0, 20.0], [1.0, 20.0]])
    assert not terminated.any()
    assert info["time"][0] == 0.0
    assert all(np.isfinite(values).all() for values in seen.values())


def test_arguments_are_checked():
    """Names, shapes and numbers."""
    with pytest.raises(ArgumentError, match="'torque' or 'reference'"):
        make(1, action="force")
    with pytest.raises(ArgumentError, match="steps of 0 control periods"):
        make(1, periods=0)
    envs = make(2)
    envs.reset()
    with pytest.raises(ArgumentError, match="actions of shape"):
        envs.step(np.zeros(2))
    with pytest.raises(ArgumentError, match="3 seeds"):
        envs.reset(seed=[1, 2, 3])
    for shape in ((), (2, 1)):
        envs = make(2, reward=lambda _, shape=shape: np.zeros(shape))
        envs.reset()
        with pytest.raises(ArgumentError, match="rewards of shape"):
            envs.step(np.zeros((2, *envs.single_action_space.shape)))
