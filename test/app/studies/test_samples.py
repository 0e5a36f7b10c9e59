# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Samples on several cores: nothing is lost, nothing runs twice, whatever ends a process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from support.samples import (
    LargeWork,
    deadly,
    misnamed,
    refused,
    squared,
    struck,
    struck_block,
)
from waiting import PATIENCE_S, wait_until

from robot_dynamics.app.output_files import OutputError
from robot_dynamics.app.studies.samples import Results, on_all_cores, run_samples, time_left
from robot_dynamics.errors import RobotDynamicsError, UnknownNameError

SUBJECT = {"study": "squares"}


def nothing(done, doing):
    """Tell nobody."""


def lost(sentence):
    """Return the result of a sample that ends its process."""
    return {"lost": sentence}


def test_results_do_not_depend_on_the_number_of_processes(tmp_path):
    """One process or three: the same results in the order of their numbers, one thread each."""
    found = []
    for jobs in (1, 3):
        results = Results(tmp_path / f"{jobs}.jsonl", SUBJECT)
        found.append(run_samples(squared, 6, results, nothing, lost=lost, jobs=jobs))
        results.close()
    assert [result["square"] for result in found[0]] == [0, 1, 4, 9, 16, 25]
    assert [r["square"] for r in found[1]] == [r["square"] for r in found[0]]
    assert {result["threads"] for result in found[1]} == {"1"}


def test_known_samples_are_not_run_again(tmp_path):
    """A line that was cut off is dropped, whole ones are taken up, and more may be asked for."""
    path = tmp_path / "results.jsonl"
    lines = [
        json.dumps(SUBJECT),
        json.dumps({"sample": 1, "square": "kept"}),
        '{"sample": 0, "squ',
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    told = []
    results = Results(path, SUBJECT)
    found = run_samples(squared, 3, results, lambda *what: told.append(what), lost=lost, jobs=1)
    results.close()
    assert [result["square"] for result in found] == [0, "kept", 4]
    assert told[0] == (pytest.approx(1 / 3), "1 of 3 samples")
    assert told[-1] == (1.0, "3 of 3 samples")
    again = Results(path, SUBJECT)
    assert sorted(again.known) == [0, 1, 2]
    again.close()


@pytest.mark.parametrize(
    ("elapsed", "done", "left", "words"),
    [
        (4.0, 1, 99, ""),  # too early to say
        (60.0, 0, 99, ""),  # all that are known were known before
        (60.0, 100, 0, ""),
        (10.0, 2, 10, ", about 50 s left"),
        (10.0, 5, 100, ", about 3.3 min left"),
        (20.0, 10, 5000, ", about 2.8 h left"),
    ],
)
def test_how_long_the_rest_takes(elapsed, done, left, words):
    """Samples that are left take as long each as those that are done."""
    assert time_left(elapsed, done, left) == words


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            '{"study": "cubes"}\n',
            "something else: study is 'cubes' there and 'squares' here",
        ),
        ("squares\n", "is no file of results"),
        ('{"study": "squares"}\n{"square": 4}\n', "is no file of results"),
    ],
)
def test_files_of_something_else_are_left_alone(tmp_path, text, problem):
    """They are refused, and not written to."""
    path = tmp_path / "other"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(OutputError) as caught:
        Results(path, SUBJECT)
    assert problem in str(caught.value)
    assert path.read_text(encoding="utf-8") == text


def test_long_values_are_shown_where_they_differ(tmp_path):
    """And not by a beginning that is the same."""
    path, long = tmp_path / "results.jsonl", [*range(100)]
    Results(path, {"figures": [*long, "speed"]}).close()
    with pytest.raises(OutputError, match=r"\.\.\..*98, 99, 'speed'\] there and .* 99, 'force'\]"):
        Results(path, {"figures": [*long, "force"]})


def test_one_process_at_a_time_has_a_file(tmp_path):
    """The second one says so and changes nothing; when the first has ended the file is free."""
    path = tmp_path / "results.jsonl"
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from robot_dynamics.app.studies.samples import Results\n"
        f"results = Results(Path({str(path)!r}), {SUBJECT!r})\n"
        "results.add({'sample': 1, 'square': 1})\n"
        "print('open', flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout.readline() == "open\n"
        before = path.read_text(encoding="utf-8")
        with pytest.raises(OutputError, match="another process is writing to it; expected"):
            Results(path, SUBJECT)
        assert path.read_text(encoding="utf-8") == before
        other.kill()
    results = Results(path, SUBJECT)
    results.close()
    assert list(results.known) == [1]


def interrupted(folder, body, line, *, until=None):
    """Run a program with processes, press Ctrl-C after a line, and return its output.

    Args:
        folder: Place for the program.
        body: Its lines after `tell` was defined, which prints a line of progress.
        line: How the line begins after which all processes get the signal.
        until: Returns whether it is time to press Ctrl-C again; it is not pressed otherwise.
    """
    program = (
        "from pathlib import Path\n"
        "from robot_dynamics.app.studies.samples import Results, on_all_cores, run_samples\n"
        "from support.samples import endless, slow\n"
        "if __name__ == '__main__':\n"
        "    def tell(*progress):\n"
        f"        print(*progress, flush=True)\n    {body}\n"
    )
    script = folder / "program.py"
    script.write_text(program, encoding="utf-8")
    root = Path(__file__).parents[3]
    paths = os.pathsep.join([str(root), str(root / "test"), os.environ.get("PYTHONPATH", "")])
    running = subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": paths},
    )
    for said in running.stdout:
        if line in said:
            break
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does: to all of them
    if until is not None:
        wait_until(until)
        os.killpg(running.pid, signal.SIGINT)
    more, errors = running.communicate(timeout=PATIENCE_S)
    assert errors.rstrip().endswith("KeyboardInterrupt")
    wait_until(lambda: not is_there(running.pid))
    return more


def is_there(group):
    """Return whether there is a process of a group."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_an_interruption_loses_nothing(tmp_path):
    """After Ctrl-C the file has the finished runs, no process is left, and the rest can run."""
    path = tmp_path / "results.jsonl"
    body = (
        f"results = Results(Path({str(path)!r}), {SUBJECT!r})\n"
        "    run_samples(slow, 60, results, tell, lost=dict, jobs=2)"
    )
    interrupted(tmp_path, body, "3 of 60")
    results = Results(path, SUBJECT)
    kept = len(results.known)
    results.close()
    assert 3 <= kept < 60
    assert len(path.read_text(encoding="utf-8").splitlines()) == kept + 1


def test_an_interruption_ends_all_processes(tmp_path):
    """After Ctrl-C calls that have not begun are cancelled, and no process is left."""
    more = interrupted(tmp_path, "on_all_cores(slow, range(60), tell)", "3")
    assert len(more.splitlines()) < 30


def test_a_second_interruption_does_not_wait_for_samples(tmp_path):
    """After two Ctrl-C samples that would run for an hour are gone, and no process is left."""
    waits = tmp_path / "waits"
    body = (
        "import robot_dynamics.app.studies.samples as samples\n"
        "    wait = samples.wait\n"
        "    def seen(*given, **named):\n"
        "        if 'return_when' not in named:\n"
        f"            Path({str(waits)!r}).touch()\n"
        "        return wait(*given, **named)\n"
        "    samples.wait = seen\n"
        "    on_all_cores(endless, range(4), tell)"
    )
    interrupted(tmp_path, body, "1", until=waits.exists)


@pytest.fixture
def two_cores(monkeypatch):
    """Have two cores, as many as there are."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})


@pytest.mark.usefixtures("two_cores")
def test_results_come_in_their_order():
    """In processes with one thread each, as many as there are cores."""
    told = []
    found = on_all_cores(squared, range(5), told.append)
    assert [one["square"] for one in found] == [0, 1, 4, 9, 16]
    assert {one["threads"] for one in found} == {"1"}
    assert told == [1, 2, 3, 4, 5]
    # One call, or one core, needs no process.
    assert on_all_cores(squared, [3], told.append) == [squared(3)]


@pytest.mark.usefixtures("two_cores")
def test_an_error_of_a_process_is_that_of_this_one():
    """With its class, its data and its sentence; a process that is killed is an error, too."""
    with pytest.raises(UnknownNameError, match="unknown sample 'x'") as caught:
        on_all_cores(misnamed, range(3), lambda done: None)
    assert caught.value.valid == ("a", "b")
    with pytest.raises(RobotDynamicsError, match=r"a process was ended after \d of 4 results"):
        on_all_cores(deadly, range(4), lambda done: None)


def test_a_process_that_is_killed_costs_nothing(tmp_path):
    """All samples are there as if nobody had killed a process, and those known ran once."""
    results = Results(tmp_path / "results.jsonl", SUBJECT)
    marks = tmp_path / "marks"
    marks.mkdir()
    found = run_samples(partial(struck, str(marks)), 8, results, nothing, lost=lost, jobs=2)
    results.close()
    assert [result["square"] for result in found] == [n**2 for n in range(8)]
    assert (marks / "killed").exists()
    # The one that was killed began twice, and so may those that ran or waited beside it.
    begun = {n: len(list(marks.glob(f"begun-{n}-*"))) for n in range(8)}
    assert begun[3] == 2
    assert sum(begun.values()) <= 8 + 4
    lines = (tmp_path / "results.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1 + 8


def test_a_block_whose_process_is_killed_runs_one_by_one(tmp_path):
    """The samples of the other blocks run once, and all results are there in their order.

    Large data are not sent with each of them, but in a file: for two processes, then for one.
    """
    results = Results(tmp_path / "results.jsonl", SUBJECT)
    results.add({"sample": 1, "square": "kept"})
    marks = tmp_path / "marks"
    marks.mkdir()
    given = LargeWork(str(marks))
    found = run_samples(
        struck, 9, results, nothing, lost=lost, given=given, block=struck_block, jobs=2
    )
    results.close()
    assert given.pickled == 2
    assert [result["square"] for result in found] == [0, "kept", *(n**2 for n in range(2, 9))]
    begun = [len(list(marks.glob(f"begun-{n}-*"))) for n in range(9)]
    assert begun[1] == 0
    assert begun[3] == 2
    assert max(begun) == 2
    lines = (tmp_path / "results.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1 + 9


@pytest.mark.slow
def test_a_sample_that_ends_its_process_is_lost_alone(tmp_path):
    """It ends its process each time, and is told apart from those that ran beside it."""
    results = Results(tmp_path / "results.jsonl", SUBJECT)
    found = run_samples(deadly, 5, results, nothing, lost=lost, jobs=2)
    results.close()
    assert found[2]["lost"] == "its process was ended, each time that it ran."
    assert [found[n]["square"] for n in (0, 1, 3, 4)] == [0, 1, 9, 16]


def test_errors_for_the_user_end_the_study(tmp_path):
    """An error that is meant for the user ends the study, in this process and from another."""
    results = Results(tmp_path / "results.jsonl", SUBJECT)
    for jobs in (1, 2):
        with pytest.raises(RobotDynamicsError, match="expected something else"):
            run_samples(refused, 3, results, nothing, lost=lost, jobs=jobs)
    results.close()


def test_a_scheduler_that_is_not_there(tmp_path):
    """It is named in a sentence."""
    pytest.importorskip("distributed")
    results = Results(tmp_path / "results.jsonl", SUBJECT)
    with pytest.raises(OutputError, match="nonsense://here: there is no scheduler of Dask"):
        run_samples(squared, 3, results, nothing, lost=lost, scheduler="nonsense://here")
    results.close()
