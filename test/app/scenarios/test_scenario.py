# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Scenarios: found, read, changed, and made into arms that hold an object."""

import math
import re
import shutil
from dataclasses import dataclass, field

import numpy as np
import pytest

from robot_dynamics.app.runs.run import simulate
from robot_dynamics.app.scenarios.cell import build_system, true_system
from robot_dynamics.app.scenarios.robot_folder import shipped_robots
from robot_dynamics.app.scenarios.scenario import (
    find_scenario,
    load_scenario,
    scenario_of_text,
    shipped_scenarios,
    with_overrides,
)
from robot_dynamics.description.diagnosis import DescriptionError
from robot_dynamics.description.yaml_document import decode, parse_yaml
from robot_dynamics.errors import ArgumentError, RobotDynamicsError, UnknownNameError
from robot_dynamics.manipulation.grasping import hybrid_system
from robot_dynamics.resources import share_directory


@pytest.mark.parametrize(
    "touch",
    ["force_n: -2", "changes: [{time_s: 1.0, force_n: 5.0}, {time_s: 2.0, force_n: -2.0}]"],
)
def test_only_environment_joints_take_negative_forces(touch):
    """A wall is refused a pull; a hinge bears both."""
    overrides = [f"reference.touches=[{{surface: NAME, {touch}}}]"]
    for name, surface in (("lid", "hinge"), ("wipe", "wall")):
        given = [overrides[0].replace("NAME", surface)]
        if name == "lid":
            assert load_scenario(name, given).reference.touches[0].surface == surface
        else:
            with pytest.raises(DescriptionError, match=r"-2 N on 'wall', a plane, which can only"):
                load_scenario(name, given)


@pytest.fixture
def folder(tmp_path):
    """Return a folder with a scenario that extends the shipped one."""
    (tmp_path / "own.yaml").write_text(
        f"extends: {shipped_scenarios()['lift_box']}\nname: own\nplant: {{seed: 7}}\n"
    )
    return tmp_path


@pytest.mark.parametrize(
    ("stiffness", "law", "accepted"),
    [
        ("2.0e+4", "admittance", True),
        ("2.01e+4", "admittance", False),
        (".inf", "admittance", False),
        (".inf", "impedance", True),
    ],
)
def test_admittances_are_for_surfaces_up_to_a_stiffness(stiffness, law, accepted):
    """A stiffer one is refused, with the key that says how stiff it may be."""
    changes = [f"cell.surfaces.0.stiffness={stiffness}", f"control.law={law}"]
    if accepted:
        load_scenario("comply", changes)
        return
    with pytest.raises(DescriptionError, match=r"'wall' .*control\.admittance\.surface_stiffness"):
        load_scenario("comply", changes)


def test_numbers_of_shipped_files_are_numbers_for_other_readers():
    """PyYAML, as YAML 1.1 says, takes 2.0e4 as a text, and 2.0e+4 as a number."""
    for file in shipped_scenarios().values():
        assert not re.findall(r"^[^#\n]*\d[eE]\d", file.read_text(encoding="utf-8"), re.M), file


def test_shipped_scenarios_are_accepted(shipped):
    """Every shipped scenario is read without a problem, and describes itself."""
    scenario = load_scenario(shipped)
    assert scenario.name == shipped
    assert scenario.description
    assert scenario.acceptance.thresholds("engine")
    linked = any(arm.drives for arm in scenario.cell.arms)  # not with MuJoCo as the plant
    assert linked or scenario.acceptance.thresholds("mujoco")


def test_other_arms_do_the_same(shipped, scenario):
    """With other arms and payloads, task, control, safety and thresholds are the same."""
    if "wrong" in shipped or not shipped.startswith("lift_box"):
        pytest.skip("has the same arms, or another task")
    other = load_scenario(shipped)
    for name in ("reference", "control", "safety", "acceptance"):
        assert getattr(other, name) == getattr(scenario, name)


def test_names_and_files(folder, monkeypatch):
    """A shipped scenario is found by its name; a file of that name comes first."""
    shipped = shipped_scenarios()["lift_box"]
    assert find_scenario("lift_box") == find_scenario("lift_box.yaml") == shipped
    shutil.copy(folder / "own.yaml", folder / "lift_box.yaml")
    monkeypatch.chdir(folder)
    assert load_scenario("lift_box.yaml").name == "own"
    assert load_scenario("lift_box").name == "lift_box"
    package = "package://robot_dynamics/config/scenarios/lift_box.yaml"
    assert load_scenario(package).name == "lift_box"


def test_a_scenario_that_is_not_there(folder, monkeypatch):
    """A name that nothing has is answered with those that exist, a file with its likely name."""
    monkeypatch.chdir(folder)
    with pytest.raises(UnknownNameError, match="unknown scenario 'lift_bix'; did you mean"):
        load_scenario("lift_bix")
    with pytest.raises(UnknownNameError, match=r"expected one of .*, FILE\.yaml, FOLDER"):
        load_scenario("qqq")
    with pytest.raises(ArgumentError, match=r"scenario 'own'; did you mean 'own\.yaml'"):
        load_scenario("own")
    with pytest.raises(DescriptionError, match=r"no such file.*did you mean 'own\.yaml'"):
        load_scenario("owm.yaml")
    with pytest.raises(ArgumentError, match=r"is a folder without scenario\.yaml"):
        load_scenario(str(folder) + "/")


def test_the_folder_of_a_robot_is_its_scenario(folder):
    """By its path and, of a shipped one, by its name: a user has the folder in mind."""
    (folder / "mine").mkdir()
    (folder / "mine" / "scenario.yaml").write_text((folder / "own.yaml").read_text())
    assert find_scenario(folder / "mine") == folder / "mine" / "scenario.yaml"
    assert find_scenario("two_ur5") == shipped_robots()["two_ur5"] / "scenario.yaml"


def test_a_scenario_extends_another(folder):
    """Keys missing in a file are taken from the file that it extends."""
    own, base = load_scenario(folder / "own.yaml"), load_scenario("lift_box")
    assert (own.name, own.plant.seed) == ("own", 7)
    assert own.cell == base.cell
    assert own.reference == base.reference


def test_paths_are_relative_to_the_file(folder, monkeypatch):
    """A URDF beside the scenario is found from everywhere."""
    shutil.copy(share_directory() / "urdf" / "box.urdf", folder / "my_box.urdf")
    text = (folder / "own.yaml").read_text()
    (folder / "own.yaml").write_text(text + "cell: {object: {urdf: my_box.urdf}}\n")
    monkeypatch.chdir("/")
    assert load_scenario(folder / "own.yaml").cell.object.urdf == str(folder / "my_box.urdf")


def test_a_text_does_not_depend_on_the_working_directory(folder, monkeypatch):
    """A scenario read by a relative path, or extended by one, is written with absolute paths."""
    (folder / "parts").mkdir()
    shutil.copy(share_directory() / "urdf" / "box.urdf", folder / "parts" / "my_box.urdf")
    text = (folder / "own.yaml").read_text()
    (folder / "own.yaml").write_text(text + "cell: {object: {urdf: parts/my_box.urdf}}\n")
    (folder / "more.yaml").write_text("extends: own.yaml\n")
    monkeypatch.chdir(folder)
    override = "cell.object.urdf=parts/my_box.urdf"
    loaded = [load_scenario("own.yaml"), load_scenario("more.yaml")]
    loaded.append(load_scenario("lift_box", [override]))
    monkeypatch.chdir("/")
    for scenario in loaded:
        copied = scenario_of_text(scenario.text())
        assert copied.cell.object.urdf == str(folder / "parts" / "my_box.urdf")
        build_system(copied)


def test_the_text_contains_all_settings(folder):
    """A scenario's text gives the same scenario again, on its own."""
    changes = [
        "plant.grasp_error.left.xyz=[0.002, 0, 0]",
        "plant.faults=[{kind: silent, arm: left, time_s: 0.5}]",
        "plant.sensors={sample_periods: {left: 2}, force_bias: [1, 0, 0]}",
    ]
    scenario = load_scenario(folder / "own.yaml", changes)
    assert scenario_of_text(scenario.text()) == scenario


def test_true_arms_may_be_heavier(scenario):
    """Links get their part of mass and inertia, the object keeps its own."""
    heavier = load_scenario("lift_box", ["plant.link_mass_scale=1.2"])
    believed = build_system(heavier)
    true = true_system(heavier, believed)
    for one, other in zip(believed.model.bodies, true.model.bodies, strict=True):
        factor = 1.0 if one.name == "box" else 1.2
        expected = factor * np.array(one.inertia.components())
        np.testing.assert_allclose(other.inertia.components(), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("plant.object_mas_scale=2", "unknown key 'object_mas_scale'; did you mean"),
        ("plant.object_mass_scale=heavy", "plant.object_mass_scale: expected a number"),
        ("plant.grasp_error.lft={}", "unknown arm 'lft'; did you mean 'left'"),
        ("plant.faults=[{kind: silence}]", "did you mean 'silent'"),
        ("plant.faults=[{kind: silent, arm: lft}]", "plant.faults: unknown arm 'lft'"),
        ("plant.sensors.sample_periods={rigt: 2}", "sample_periods: unknown arm 'rigt'"),
        ("plant.sensors.sample_periods={right: 0}", "expected at least 1"),
        ("plant.step_s=0.0013", "plant.step_s 0.0013 s does not divide the control period"),
        ("plant.step_s=0.02", "expected 0.002 s over a whole number, as 0.002"),
        ("control.rate_hz=.nan", "finite"),
        ("cell.object.urdf=nix.urdf", "nix.urdf: there is no such file, expected a URDF"),
        ("cell.arms.0.tool=left_tol", "unknown link 'left_tol'; did you mean 'left_tool'"),
        ("cell.arms.0.posture=[0]", "posture of arm 'left' has 1 entries, expected 7"),
        (
            "cell.arms.0.posture.1=-69",
            "posture of joint 'left_joint2' is -69 rad, expected -2.1 to",
        ),
        ("cell.arms.1.name=left", "each with its own name"),
        ("cell.object.rpy=[0, -180, 0]", "rpy[1]: expected at least -6.2832 rad, not -180; -180 "),
        ("control.law=hold.Hold", "gravity, MODULE:NAME, FILE.py:NAME"),
        ("cell.object.mass=0", "cell.object.mass: expected more than 0 kg"),
    ],
)
def test_bad_input(override, message):
    """Each mistake in a scenario is answered with a sentence that names the place."""
    with pytest.raises(RobotDynamicsError) as raised:
        build_system(load_scenario("lift_box", [override]))
    assert message in str(raised.value)


@pytest.mark.parametrize("rate", [333.0, 400.0, 1000.0])
def test_another_control_rate_needs_no_other_step(rate):
    """Unless steps are stated, they follow the control period."""
    scenario = load_scenario("lift_box", [f"control.rate_hz={rate}"])
    assert simulate(scenario, duration=0.02).report["ticks"] == round(0.02 * rate)


def test_a_typo_is_located(folder):
    """A typo in a key is reported with its line and the key that was probably meant."""
    (folder / "own.yaml").write_text("extends: lift.yaml\nplant:\n  seeed: 1\n")
    shutil.copy(shipped_scenarios()["lift_box"], folder / "lift.yaml")
    with pytest.raises(DescriptionError, match=r"own\.yaml:3.*'seeed'; did you mean 'seed'"):
        load_scenario(folder / "own.yaml")


def test_the_plant_differs_as_stated(scenario):
    """Payload and grasps of the plant differ from the believed ones, its structure does not."""
    changes = ["plant.object_mass_scale=1.2", "plant.grasp_error.left.xyz=[0.002, 0, 0]"]
    scenario = load_scenario("lift_box", changes)
    believed = build_system(scenario)
    true = true_system(scenario, believed)
    ratio = np.array(true.model.bodies[true.object_body].inertia.components())
    own = np.array(believed.model.bodies[believed.object_body].inertia.components())
    np.testing.assert_allclose(ratio, 1.2 * own, rtol=1e-15)
    moved = np.linalg.inv(believed.grasps[0]) @ true.grasps[0]
    np.testing.assert_allclose(moved[:3, 3], [0.002, 0, 0], atol=1e-15)
    np.testing.assert_array_equal(true.grasps[1], believed.grasps[1])
    assert true.model.structure_key == believed.model.structure_key


def test_the_plant_has_another_centre_and_inertia():
    """The mass stays; the inertia about the true centre is scaled, whatever the mass's share."""
    changes = ["plant.object_center_error=[0.05, 0, -0.02]", "plant.object_inertia_scale=3"]
    scenario = load_scenario("lift_box", changes)
    believed = hybrid_system(build_system(scenario)).held
    true = hybrid_system(true_system(scenario)).held
    assert true.mass == believed.mass
    np.testing.assert_allclose(np.subtract(true.center, believed.center), [0.05, 0, -0.02])
    np.testing.assert_allclose(true.inertia, 3.0 * np.array(believed.inertia), atol=1e-12)


def test_length_of_a_run(scenario):
    """A run is as long as its start and its reference, or as is asked for."""
    reference = scenario.plan()
    start = scenario.start_tick
    assert scenario.ticks(reference) == start + round(
        reference.duration * scenario.control.rate_hz
    )
    assert scenario.ticks(reference, 60.0) == 30_000
    with pytest.raises(ArgumentError, match="duration is '1', expected a positive number"):
        scenario.ticks(reference, "1")
    np.testing.assert_allclose(scenario.object_pose[:3], scenario.cell.object.xyz)


TEXT = "{plant: {seed: 1, noise: {force: 0.0}}, arms: [{name: a}, {name: b}]}"


@dataclass(frozen=True)
class _Noise:
    """A part of the text."""

    force: float = 0.0


@dataclass(frozen=True)
class _Plant:
    """Another."""

    seed: int = 0
    noise: _Noise = field(default_factory=_Noise)


@dataclass(frozen=True)
class _Arm:
    """An entry of its list."""

    name: str


@dataclass(frozen=True)
class _Document:
    """All of it."""

    plant: _Plant
    arms: tuple[_Arm, ...] = ()


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (["plant.seed=2"], {"plant": {"seed": 2, "noise": {"force": 0.0}}}),
        (["plant.seed=2", "plant.seed=3"], {"plant": {"seed": 3, "noise": {"force": 0.0}}}),
        (["plant.noise={}"], {"plant": {"seed": 1, "noise": {}}}),
        (["arms.1.name=c"], {"arms": [{"name": "a"}, {"name": "c"}]}),
        (["arms[1].name=c"], {"arms": [{"name": "a"}, {"name": "c"}]}),
        (["new.key=[1, 2]"], {"new": {"key": [1, 2]}}),
        (["name=a=b"], {"name": "a=b"}),
    ],
)
def test_values_are_replaced(overrides, expected):
    """Keys lead into mappings and lists, values are YAML, and the last word counts."""
    base = parse_yaml(TEXT)
    before = base.plain()
    assert with_overrides(base, overrides).plain() == {**before, **expected}
    assert base.plain() == before


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("plant.seed", "--set plant.seed: expected KEY=VALUE"),
        ("=3", "--set =3: expected KEY=VALUE"),
        ("plant..seed=3", "expected KEY=VALUE"),
        ("arms.2.name=c", "arms has 2 entries, expected a number from 0 to 1"),
        ("arms.b.name=c", "arms has 2 entries, expected a number from 0 to 1"),
        ("plant.seed=[1", "is not YAML"),
    ],
)
def test_nonsense_is_refused(override, message):
    """An override without key or value, or beyond a list, is refused and named."""
    with pytest.raises(DescriptionError) as raised:
        with_overrides(parse_yaml(TEXT), [override])
    assert message in str(raised.value)


@pytest.mark.parametrize("overrides", ["plant.seed=1", [1], None])
def test_overrides_are_a_list_of_texts(overrides):
    """Other types are refused by their kind."""
    with pytest.raises(ArgumentError, match="expected a list of"):
        with_overrides(parse_yaml(TEXT), overrides)


@pytest.mark.parametrize(
    ("override", "place"),
    [
        ("plant.seed=x", "--set plant.seed=x: plant.seed"),
        ("plant.noise={force: x}", "--set plant.noise={force: x}: plant.noise.force"),
        ("arms=[{name: a}, {name: [1]}]", "--set arms=[{name: a}, {name: [1]}]: arms[1].name"),
    ],
)
def test_places_in_overrides_are_keys(override, place):
    """Positions in an override are named by the keys that lead to them, without lines."""
    document = with_overrides(parse_yaml(TEXT, "f.yaml"), [override])
    with pytest.raises(DescriptionError) as raised:
        decode(_Document, document)
    assert str(raised.value).startswith(place + ": expected ")


def test_overrides_keep_the_places_of_other_keys():
    """Its line in the file."""
    document = with_overrides(parse_yaml("plant:\n  seed: x\narms: []", "f.yaml"), ["plant.a=1"])
    assert document["plant"]["seed"].place == "f.yaml:2"


@pytest.mark.parametrize("rate", [300.0, 500.0, 700.0, 977.0])
def test_a_step_size_that_is_advised_is_accepted(rate):
    """The step in the message of a refused one can be entered as it is printed."""
    with pytest.raises(DescriptionError, match="over a whole number, as ") as refused:
        load_scenario("lift_box", [f"control.rate_hz={rate}", "plant.step_s=0.0007"])
    advised = str(refused.value).rpartition(" as ")[2].rstrip(".")
    scenario = load_scenario("lift_box", [f"control.rate_hz={rate}", f"plant.step_s={advised}"])
    steps = scenario.plant.steps("step_s", scenario.control.period)
    assert steps == math.ceil(scenario.control.period / 0.0007)
