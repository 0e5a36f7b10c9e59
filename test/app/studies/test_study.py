# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A study of a scenario: its runs equal those of `simulate`, its files have the results."""

from __future__ import annotations

import json
import multiprocessing
import re
import shlex
from contextlib import closing
from dataclasses import replace
from unittest.mock import Mock

import jsonschema
import numpy as np
import pytest
import yaml

from robot_dynamics.app.command_line.main import main
from robot_dynamics.app.command_line.scenario_schema import json_schema, reference_page
from robot_dynamics.app.output_files import OutputError
from robot_dynamics.app.runs.run import Preparation, simulate
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.app.studies.design import design_of
from robot_dynamics.app.studies.report import summary, worst_sample
from robot_dynamics.app.studies.samples import Results
from robot_dynamics.app.studies.settings import StudySettings, load_study, shipped_studies
from robot_dynamics.app.studies.study import (
    OUTCOMES,
    Task,
    checked_scenario,
    outcome_of,
    run_block,
    run_sample,
    run_study,
    why_single,
)
from robot_dynamics.app.studies.table import table_of
from robot_dynamics.description.diagnosis import DescriptionError
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.resources import share_directory
from robot_dynamics.version import find_version

# Short: the start and the first part of the way.
STUDY = """\
scenario: lift_box
description: A payload that is not what it should be.
samples: 6
seed: 3
duration_s: 0.3
figures: [object_position_error_max_m, torque_fraction_of_limit_max]
fixed:
  acceptance.engine: {object_position_error_max_m: 0.5e-3}
vary:
  plant.object_mass_scale: {uniform: [0.9, 1.2]}
  plant.grasp_error.left.xyz: {normal: [0.0, 0.5e-3], size: 3}
  plant.command_delay_periods: {integer: [0, 2]}
"""


def nothing(done, doing):
    """Tell nobody."""


def study_file(folder, text=STUDY, **changes):
    """Return a file with a study; changes of None take a key away."""
    document = {**yaml.safe_load(text), **changes}
    path = folder / "payload.yaml"
    path.write_text(
        yaml.safe_dump({k: v for k, v in document.items() if v is not None}, sort_keys=False)
    )
    return path


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    """Return the study above, run in this process."""
    folder = tmp_path_factory.mktemp("study")
    return run_study(load_study(study_file(folder)), folder / "samples.jsonl", nothing, jobs=1)


def test_a_sample_is_the_run_that_its_command_makes(result):
    """Figures are those of `simulate` with the printed changes, to the last bit."""
    number = worst_sample(result)
    words = shlex.split(result.command(number))
    assert words[:3] == ["robot_dynamics", "simulate", "lift_box"]
    changes = [words[i + 1] for i, word in enumerate(words) if word == "--set"]
    assert words[-2:] == ["--duration", "0.3"]
    report = simulate("lift_box", overrides=changes, duration=0.3).report
    sample = result.samples[number]
    assert {name: report[name] for name in result.figures} == sample["figures"]
    assert outcome_of(report) == (sample["outcome"], sample["reason"])
    assert sample["outcome"] == "threshold"  # the payload is too heavy
    assert not result.failed.all()


OF_OTHER_KINDS = ("tray", "fold", "comply", "lid")  # contacts, a joint, compliance, a hinge


@pytest.mark.parametrize(
    "scenario",
    ["lift_box", *(pytest.param(one, marks=pytest.mark.slow) for one in OF_OTHER_KINDS)],
)
def test_shared_preparation_changes_no_bit(scenario):
    """A run whose system and law were prepared by another one is the run alone."""
    base, shared = load_scenario(scenario), Preparation()
    other = base.changed(["plant.object_mass_scale=1.05", "plant.command_delay_periods=0"])
    reports = []
    for one in (other, base, other):
        reports.append(simulate(one, duration=0.2, preparation=shared).report)
    alone = simulate(other, duration=0.2).report
    assert reports[0]["state_hash"] == reports[2]["state_hash"] == alone["state_hash"]
    assert reports[1]["state_hash"] != alone["state_hash"]
    prepared = shared.system(base)
    assert shared.system(other) is prepared
    lighter = replace(base, cell=replace(base.cell, gravity=(0, 0, -9)))
    assert shared.system(lighter) is not prepared


def test_a_table_has_values_figures_seed_and_version(result):
    """Read back from Parquet it has a row for each sample, and where all of it comes from."""
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    sink = arrow.BufferOutputStream()
    parquet.write_table(table_of(result), sink)
    table = parquet.read_table(arrow.BufferReader(sink.getvalue()))
    assert table.column_names == [
        "sample", *result.design.columns, *result.figures, "outcome", "reason"
    ]  # fmt: skip
    masses = table["plant.object_mass_scale"].to_pylist()
    assert masses == [result.design.values(n)["plant.object_mass_scale"] for n in range(6)]
    assert np.array_equal(
        table["object_position_error_max_m"], result.values("object_position_error_max_m")
    )
    about = json.loads(table.schema.metadata[b"robot_dynamics"])
    assert (about["seed"], about["samples"], about["version"]) == (3, 6, result.version)
    assert "acceptance" in about["scenario"]


def test_every_way_to_fail_is_told_apart(tmp_path):
    """Refused starts, torques that grow, stops and missed thresholds, each with its reason."""
    wild = {
        "plant.grasp_error.right.xyz": {"choice": [[0.0, 0.0, 0.0], [0.3, 0.0, 0.0]]},
        "plant.command_delay_periods": {"choice": [1, 9]},
    }
    path = study_file(tmp_path, vary=wild, sampling="grid", duration_s=1.5)
    found = run_study(load_study(path), tmp_path / "samples.jsonl", nothing, jobs=1)
    outcomes = [sample["outcome"] for sample in found.samples]
    assert outcomes[0] in ("good", "threshold")
    assert outcomes[1] in ("stopped", "diverged")  # nine periods are no delay to bear
    assert outcomes[2] == outcomes[3] == "refused"
    assert all(sample["reason"] for sample in found.samples[1:])
    assert found.samples[2]["figures"] == dict.fromkeys(found.figures)
    assert set(outcomes) <= set(OUTCOMES)
    lines = summary(found)
    assert lines[0].startswith("payload: ")
    assert any("refused: the start" in line for line in lines)


def task_of(*changes, duration=0.3):
    """Return a task that records two figures."""
    figures = ("object_position_error_max_m", "torque_fraction_of_limit_max")
    asked = "acceptance.engine={object_position_error_max_m: 0.5e-3, closure_error_max: 1e-9}"
    scenario = load_scenario("lift_box", [asked, *changes])
    return Task(scenario, figures, duration, False, find_version())


def test_samples_of_a_block_are_single_runs(monkeypatch):
    """With equal noise; those that are refused, end early or grow are run again, no others."""
    task = task_of("plant.sensors.position=1e-6", "plant.seed=7")
    samples = [
        {"plant.object_mass_scale": 1.0, "plant.grasp_error.left.xyz": [1e-4, 0.0, -2e-4]},
        {"plant.object_mass_scale": 1.2, "plant.grasp_error.left.xyz": [0.0, 1e-3, 0.0]},
        {"plant.object_mass_scale": 1.7, "plant.grasp_error.left.xyz": [0.0, 0.0, 0.0]},
        {"plant.object_mass_scale": 1.0, "plant.grasp_error.left.xyz": [0.3, 0.0, 0.0]},
        {"plant.object_mass_scale": 0.95, "plant.grasp_error.left.xyz": [0.0, 0.0, 0.0]},
    ]
    expected = [run_sample(task, values) for values in samples]
    assert [one["outcome"] for one in expected] == [
        "good", "threshold", "stopped", "refused", "good"
    ]  # fmt: skip
    again = []

    def alone(task, values):
        again.append(samples.index(values))
        return run_sample(task, values)

    monkeypatch.setattr("robot_dynamics.app.studies.study.run_sample", alone)
    assert run_block([(task, values) for values in samples]) == expected
    assert again == [2, 3]
    # A value that no cell may have refuses the batch: each sample says so by itself.
    again.clear()
    samples[1] = {**samples[1], "plant.object_mass_scale": -1.0}
    found = run_block([(task, values) for values in samples])
    assert again == [0, 1, 2, 3, 4]
    assert found[1]["outcome"] == "refused"
    assert (found[0], found[4]) == (expected[0], expected[4])


def test_a_path_that_is_refused_from_one_start_is_refused_in_a_block(monkeypatch):
    """A batch checks the path of the unchanged scenario; samples begin elsewhere."""
    checked = []

    def check(self, q, qd):
        checked.append(q)
        if len(checked) == 3:
            raise RobotDynamicsError("start refused: a path of this sample alone.")

    task = task_of(duration=0.02)
    monkeypatch.setattr("robot_dynamics.control.control_loop.ControlLoop.check", check)
    outcomes = []

    def alone(task, values):
        outcomes.append(values)
        return {}

    monkeypatch.setattr("robot_dynamics.app.studies.study.run_sample", alone)
    samples = [{"plant.grasp_error.left.xyz": [1e-3 * i, 0.0, 0.0]} for i in (0, 1, 2)]
    # The first check is that of the batch itself, when its law is made.
    run_block([(task, values) for values in samples])
    assert len(checked) == 4
    assert len(outcomes) == 1


@pytest.mark.parametrize(
    ("changes", "values", "figure", "words"),
    [
        ([], {"plant.link_mass_scale": 1.1}, None, "other link masses"),
        ([], {"cell.object.xyz": [0.6, 0.0, 0.7]}, None, "expected a key of plant or control"),
        ([], {"plant.command_delay_periods": 1}, "object_drift_settled_m", "object_drift"),
        (["acceptance.stop=torque"], {"plant.seed": 1}, None, "is to stop"),
    ],
)
def test_why_samples_run_one_at_a_time(changes, values, figure, words):
    """In a sentence; figures that no batch has are among the reasons."""
    task = task_of(*changes)
    task = replace(task, figures=(figure,)) if figure else task
    nominal = {"object_position_error_max_m": 1e-4, "object_drift_settled_m": 1e-4}
    nominal |= {"torque_fraction_of_limit_max": 0.5, "closure_error_max": 1e-12}
    assert words in why_single(task, [values], nominal)


def test_a_study_of_many_samples_runs_them_in_blocks(tmp_path, monkeypatch):
    """And finds the same as one by one; the rest of an interrupted one continues in blocks."""
    text = STUDY.replace("duration_s: 0.3", "duration_s: 0.04").replace("samples: 6", "samples: 9")
    study = load_study(study_file(tmp_path, text))
    single = run_study(study, tmp_path / "single.jsonl", nothing, jobs=1)
    module = "robot_dynamics.app.studies.study"
    sizes = []

    def blocks(given):
        sizes.append(len(given))
        return run_block(given)

    monkeypatch.setattr(f"{module}.FEWEST_AT_ONCE", 5)
    monkeypatch.setattr(f"{module}.run_block", blocks)
    journal = tmp_path / "blocks.jsonl"
    run_study(replace(study, samples=2), journal, nothing, jobs=1)
    found = run_study(study, journal, nothing, jobs=1)
    assert sizes == [7]
    assert found.singly == ""
    assert found.samples == single.samples


def test_numbers_that_are_none_are_failures():
    """Reports whose columns are not finite have diverged; a controller that stopped has not."""
    broken = "column 'joint_velocity' has a value that is not finite in row 8."
    assert outcome_of({"failures": [broken]}) == ("diverged", broken)
    stopped = "the controller stopped, at 0.2 s: arm 'left' ..."
    assert outcome_of({"failures": [stopped, "x is not finite"]}) == ("stopped", stopped)
    assert outcome_of({"failures": []}) == ("good", "")


def test_a_study_goes_on_where_it_stopped(tmp_path, result):
    """A journal that is cut off is completed; more samples begin with those that are there."""
    journal = tmp_path / "samples.jsonl"
    study = load_study(study_file(tmp_path))
    first = run_study(replace(study, samples=2), journal, nothing, jobs=1)
    lines = journal.read_text(encoding="utf-8").splitlines(keepends=True)
    journal.write_text("".join([*lines[:2], lines[2][:20]]), encoding="utf-8")
    found = run_study(replace(study, samples=3), journal, nothing, jobs=1)
    kept = journal.read_text(encoding="utf-8").splitlines(keepends=True)
    assert kept[:2] == lines[:2]
    assert len(kept) == 1 + 3
    assert [*found.samples] == [*result.samples][:3]
    assert [*first.samples] == [*result.samples][:2]
    # Those of another seed are something else.
    with pytest.raises(OutputError, match="seed is 3 there and 4 here"):
        run_study(replace(study, seed=4), journal, nothing, jobs=1)


def test_a_study_that_is_running_is_not_begun_twice(tmp_path, monkeypatch):
    """A second process is refused before it runs the scenario; a failure there leaves no file."""
    journal = tmp_path / "samples.jsonl"
    study = load_study(study_file(tmp_path))
    refused = RobotDynamicsError("no run is to be made")
    monkeypatch.setattr("robot_dynamics.app.studies.study.run_nominal", Mock(side_effect=refused))
    with closing(Results(journal)), pytest.raises(OutputError, match="another process"):
        run_study(study, journal, nothing, jobs=1)
    with pytest.raises(RobotDynamicsError, match="no run"):
        run_study(study, journal, nothing, jobs=1)
    assert not journal.exists()


def test_files_that_changed_are_something_else(tmp_path):
    """Of the robots or the object: the same names, and other masses. Where they are is free."""
    box = tmp_path / "box.urdf"
    box.write_text((share_directory() / "urdf" / "box.urdf").read_text(encoding="utf-8"))
    fixed = {**yaml.safe_load(STUDY)["fixed"], "cell.object.urdf": str(box)}
    study = load_study(study_file(tmp_path, samples=1, fixed=fixed))
    journal = tmp_path / "samples.jsonl"
    run_study(study, journal, nothing, jobs=1)
    text = box.read_text(encoding="utf-8")
    (tmp_path / "moved").mkdir()
    (tmp_path / "moved" / "box.urdf").write_text(text)
    fixed["cell.object.urdf"] = str(tmp_path / "moved" / "box.urdf")
    run_study(load_study(study_file(tmp_path, samples=1, fixed=fixed)), journal, nothing, jobs=1)
    box.write_text(re.sub(r'(<mass value=")[^"]*', r"\g<1>4.5", text), encoding="utf-8")
    assert box.read_text(encoding="utf-8") != text
    with pytest.raises(OutputError, match="files is"):
        run_study(study, journal, nothing, jobs=1)


def test_the_command_writes_table_pictures_and_report(tmp_path, monkeypatch, capsys):
    """All of them in a folder of the study's name, and the summary on the terminal."""
    parquet = pytest.importorskip("pyarrow.parquet")
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    study_file(tmp_path, samples=2, figures=["object_position_error_max_m"])
    assert main(["study", "payload.yaml", "--jobs", "1"]) == 0
    folder = tmp_path / "runs" / "payload"
    assert parquet.read_table(folder / "samples.parquet").num_rows == 2
    report = (folder / "report.html").read_text(encoding="utf-8")
    assert "Wilson" in report
    assert report.count("<img") == 3
    assert "robot_dynamics simulate lift_box --set" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"vary": {"plant.mass": {"uniform": [0, 1]}}}, "vary.plant.mass"),
        (
            {"vary": {"plant.object_mass_scale": {"uniform": [-1.0, 1.0]}}},
            "vary.plant.object_mass_scale",
        ),
        ({"vary": {"plant.object_mass_scale": {"uniform": [0]}}}, "uniform: expected 2 values"),
        ({"vary": {}}, "vary: is empty; expected keys"),
        ({"samples": 0}, "samples: expected at least 1"),
        ({"sampling": "sobl"}, "did you mean 'sobol'"),
        ({"sampling": "grid"}, "is no single choice, which a grid is made of"),
        ({"figures": ["object_position_eror_max_m"]}, "did you mean 'object_position_error_max"),
        ({"figures": ["wall_time_s"]}, "a time of the computer"),
        ({"scenario": "lift_bx"}, "did you mean 'lift_box'"),
        (
            {"fixed": {"plant.object_mass_scale": 1.0}},
            "fixed.plant.object_mass_scale: is both in vary and in fixed",
        ),
        ({"sampels": 3}, "did you mean 'samples'"),
    ],
)
def test_studies_that_are_refused(tmp_path, changes, problem):
    """Before any sample runs, in a sentence that names the key."""
    path = study_file(tmp_path, **changes)
    with pytest.raises(RobotDynamicsError) as caught:
        run_study(load_study(path), tmp_path / "samples.jsonl", nothing, jobs=1)
    assert problem in str(caught.value)
    assert not (tmp_path / "samples.jsonl").exists()


def test_every_wrong_key_is_named_with_its_line(tmp_path):
    """Of varied and of fixed values, in the order of the file; a wrong value as well."""
    path = tmp_path / "wrong.yaml"
    path.write_text(
        "scenario: lift_box\n"
        "vary:\n"
        "  plant.object_mass_scale: {uniform: [0.8, 1.2]}\n"
        "  plant.grasp_eror.left.xyz:\n"
        "    {normal: [0.0, 1.0e-3], size: 3}\n"
        "  plant.comand_delay_periods: {integer: [0, 2]}\n"
        "fixed:\n"
        "  plant.object_friction: 3\n"
    )
    study = load_study(path)
    with pytest.raises(DescriptionError) as caught:
        checked_scenario(study, design_of(study))
    assert [(one.place, one.element) for one in caught.value.problems] == [
        (f"{path}:4", "vary.plant.grasp_eror.left.xyz: plant"),
        (f"{path}:6", "vary.plant.comand_delay_periods: plant"),
        (f"{path}:8", "fixed.plant.object_friction: plant"),
    ]
    path.write_text(
        "scenario: lift_box\nvary:\n  plant.seed: {choice: [1]}\n"
        "  plant.command_delay_periods: {integer: [-2, 3]}\n"
    )
    study = load_study(path)
    with pytest.raises(DescriptionError, match=r":4: vary.plant.command_delay_periods: expected"):
        checked_scenario(study, design_of(study))


def test_the_schema_and_the_page_are_those_of_the_code():
    """Editors check studies with it, and the page of the documentation has every key."""
    schema = json_schema(StudySettings)
    document = yaml.safe_load(STUDY)
    assert jsonschema.Draft7Validator(schema).is_valid(document)
    assert not jsonschema.Draft7Validator(schema).is_valid({**document, "samples": 0.5})
    page = share_directory() / "docs" / "study_reference.md"
    if page.is_file():
        assert page.read_text(encoding="utf-8") == reference_page(StudySettings)


@pytest.mark.parametrize("name", shipped_studies())
def test_shipped_studies_are_valid(name):
    """Their scenarios take every key with the least and the largest value; a wrong name is met."""
    study = load_study(name)
    assert study.name == name
    checked_scenario(study, design_of(study))
    with pytest.raises(RobotDynamicsError, match=f"did you mean '{name}'"):
        load_study(f"{name}x")


@pytest.mark.slow
@pytest.mark.parametrize("samples", [8, 18], ids=["one by one", "in blocks of 16"])
def test_a_cluster_that_loses_a_worker_gives_the_same_table(tmp_path, monkeypatch, samples):
    """Through Dask, one of its two processes killed in the middle: all samples, once, equal."""
    distributed = pytest.importorskip("distributed")
    pytest.importorskip("pyarrow")
    monkeypatch.setattr("robot_dynamics.app.studies.study.FEWEST_AT_ONCE", 16)
    study = load_study(study_file(tmp_path, samples=samples, duration_s=0.1))
    here = run_study(study, tmp_path / "here.jsonl", nothing, jobs=1)
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        killed = []

        def tell(done, doing):
            if done > 0.05 and not killed:
                worker = next(iter(cluster.workers.values()))
                killed.append(worker.process.process.pid)
                worker.process.process._process.kill()

        there = run_study(
            study, tmp_path / "there.jsonl", tell, scheduler=cluster.scheduler_address
        )
    assert killed
    assert here.singly == there.singly == ""
    assert table_of(there).equals(table_of(here), check_metadata=True)
    lines = (tmp_path / "there.jsonl").read_text(encoding="utf-8").splitlines()
    numbers = sorted(json.loads(line)["sample"] for line in lines[1:])
    assert numbers == list(range(here.design.count))


@pytest.mark.slow
def test_separate_samples_run_on_all_cores(tmp_path, monkeypatch):
    """Samples of an object with a joint: two processes, one killed midway; nothing is lost."""
    monkeypatch.setattr("robot_dynamics.app.studies.study.FEWEST_AT_ONCE", 4)
    text = (
        "scenario: fold\nsamples: 4\nduration_s: 0.1\nfigures: [internal_force_error_max_n]\n"
        "vary:\n  plant.object_mass_scale: {uniform: [0.9, 1.1]}\n"
    )
    study = load_study(study_file(tmp_path, text))
    killed = []

    def tell(done, doing):
        children = multiprocessing.active_children()
        if 0.2 < done < 0.8 and not killed and len(children) == 2:
            killed.append(children[0].pid)
            children[0].kill()

    there = run_study(study, tmp_path / "there.jsonl", tell, jobs=2)
    here = run_study(study, tmp_path / "here.jsonl", nothing, jobs=1)
    assert killed
    assert there.singly
    assert there.samples == here.samples
    lines = (tmp_path / "there.jsonl").read_text(encoding="utf-8").splitlines()
    assert sorted(json.loads(line)["sample"] for line in lines[1:]) == [*range(4)]
