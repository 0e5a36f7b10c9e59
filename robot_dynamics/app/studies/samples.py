# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Many independent runs on all cores, kept in a file so that an interrupted study goes on.

Every sample depends on its number alone: neither the number of processes nor the order in which
they end changes a result.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from robot_dynamics.app.output_files import OutputError, require_parent
from robot_dynamics.app.studies.study import Tell
from robot_dynamics.threads import ONE_THREAD

#: From the number of a sample to what is kept of it (JSON values).
Sample = Callable[[int], dict[str, Any]]


class Results:
    """A file of results: one line of JSON that says what they are of, then one for each sample.

    A last line that an interruption cut off is dropped; its sample is run again.

    Args:
        path: The file; it is made if it is not there.
        subject: What the results are of (JSON values). Results of anything else are not taken up.

    Raises:
        OutputError: If the file cannot be used, or has results of something else.

    Attributes:
        known: Results by the number of their sample.
    """

    def __init__(self, path: Path, subject: Mapping[str, Any]) -> None:
        self.path = path
        self.known: dict[int, dict[str, Any]] = {}
        require_parent(path)
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []
        whole = [line for line in lines if line.endswith("\n")]
        if whole:
            self._read(whole, dict(subject))
        else:
            whole = [json.dumps(dict(subject)) + "\n"]
        if lines != whole:
            path.write_text("".join(whole), encoding="utf-8")
        self._file: TextIO = path.open("a", encoding="utf-8")

    def _read(self, lines: list[str], subject: dict[str, Any]) -> None:
        try:
            first, *others = map(json.loads, lines)
            self.known = {int(result["sample"]): result for result in others}
        except (ValueError, TypeError, KeyError) as error:
            raise OutputError(
                f"{self.path}: is no file of results ({error}), expected one, or a new name."
            ) from error
        if first != subject:
            raise OutputError(
                f"{self.path}: has results of {json.dumps(first)}, expected "
                f"{json.dumps(subject)}; name another file with --results."
            )

    def add(self, result: dict[str, Any]) -> None:
        """Keep a result; it is in the file when this returns."""
        self.known[int(result["sample"])] = result
        self._file.write(json.dumps(result) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def run_samples(
    sample: Sample, count: int, jobs: int | None, results: Results, tell: Tell
) -> list[dict[str, Any]]:
    """Run the samples 0 ... count - 1 that are not known yet, and return all of them.

    Ctrl-C cancels those that have not begun, keeps what the others come to, and passes on.

    Args:
        sample: A function of a module, so that other processes find it.
        count: How many.
        jobs: Processes at a time; None for one a core that this process may use. One runs them
            here.
        results: Where they are kept.
        tell: Told how far it is.
    """
    missing = [number for number in range(count) if number not in results.known]

    def keep(number: int, result: dict[str, Any]) -> None:
        results.add({"sample": number, **result})
        done = sum(known < count for known in results.known)
        tell(done / count, f"{done} of {count} samples")

    tell(1.0 - len(missing) / count, f"{count - len(missing)} of {count} samples")
    workers = min(jobs or len(os.sched_getaffinity(0)), len(missing))
    if workers <= 1:
        for number in missing:
            keep(number, sample(number))
    else:
        with _pool(workers) as pool:
            futures: dict[Future[dict[str, Any]], int] = {
                pool.submit(sample, number): number for number in missing
            }
            kept: set[Future[dict[str, Any]]] = set()
            try:
                for future in as_completed(futures):
                    keep(futures[future], future.result())
                    kept.add(future)
            except BaseException:
                pool.shutdown(wait=True, cancel_futures=True)
                for future, number in futures.items():
                    ended = future.done() and not future.cancelled() and future not in kept
                    if ended and future.exception() is None and number not in results.known:
                        keep(number, future.result())
                raise
    return [results.known[number] for number in range(count)]


@contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Yield processes with one thread each, which leave Ctrl-C to this one."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    try:
        # Not forked: threads of this process would be lost on the way.
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(workers, context, _ignore_interrupts) as pool:
            yield pool
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
