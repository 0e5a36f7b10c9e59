# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Samples on the cores of this machine or of a cluster, and the file that keeps the results."""

from __future__ import annotations

import fcntl
import json
import multiprocessing
import os
import pickle
import signal
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile
from time import monotonic
from typing import Any, TextIO, TypeVar

from robot_dynamics.app.output_files import OutputError, require_parent
from robot_dynamics.description.diagnosis import DescriptionWarning
from robot_dynamics.errors import RobotDynamicsError, optional_package
from robot_dynamics.threads import ONE_THREAD

Item = TypeVar("Item")
Found = TypeVar("Found")
#: From the number of a sample and its arguments to its result (JSON values).
Sample = Callable[..., dict[str, Any]]
#: The same for several samples at once: from the list of their arguments.
Block = Callable[[list[tuple[Any, ...]]], list[dict[str, Any]]]
#: Runs one or several samples.
Call = Callable[[], list[dict[str, Any]]]
#: Called with the completed share of the samples (from 0 to 1), and the current step.
Tell = Callable[[float, str], None]

_TRIES = 3  # of a sample that ends its process, alone
_AHEAD = 2  # samples for each process that wait for it, or run
_SENT = 1000  # samples, or blocks of them, that a cluster has at a time
#: Samples of a block: enough for the vector lanes of a processor, few enough to distribute.
_LARGEST_BLOCK, _LARGEST_BLOCK_OF_CLUSTER = 64, 16
_CONNECT_S = 10
_SAID_AFTER_S = 5.0
_SHOWN, _BEFORE = 60, 30  # characters of two values that differ, and of those before they do


class Results:
    """File of results: one line of JSON with their subject, then one for each sample.

    A last line that an interruption cut off is dropped; its sample runs again. The file is locked
    by one process, until it closes the file or ends.

    Args:
        path: The file; it is made if it does not exist.
        subject: Subject of the results (JSON values), see `take_up`; if it is not known yet, the
            file is only locked.

    Raises:
        OutputError: If the file cannot be used, is locked by another process, or has results of
            another subject.

    Attributes:
        known: Results by the number of their sample.
    """

    def __init__(self, path: Path, subject: Mapping[str, Any] | None = None) -> None:
        self.path = path
        self.known: dict[int, dict[str, Any]] = {}
        self._file = _open_alone(path)
        if subject is not None:
            self.take_up(subject)

    def take_up(self, subject: Mapping[str, Any]) -> None:
        """Read the results of a subject (JSON values), or begin its file.

        Raises:
            OutputError: If the file has results of another subject; it is closed then.
        """
        try:
            self._file.seek(0)
            text = self._file.read()
            whole = text[: text.rfind("\n") + 1]
            if whole:
                self._read(whole.splitlines(), dict(subject))
            if whole != text:
                self._file.truncate(len(whole.encode("utf-8")))
            if not whole:
                self._file.write(json.dumps(dict(subject)) + "\n")
                self._file.flush()
        except BaseException:
            self.close()
            raise

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
                f"{self.path}: has results of something else: {_difference(first, subject)}; "
                "expected those of this study, or the name of a new place."
            )

    def add(self, result: dict[str, Any]) -> None:
        """Keep a result; it is in the file when this returns."""
        self.known[int(result["sample"])] = result
        self._file.write(json.dumps(result) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file; one without a subject is taken away."""
        if not self._file.closed and not os.fstat(self._file.fileno()).st_size:
            self.path.unlink(missing_ok=True)
        self._file.close()


def _open_alone(path: Path) -> TextIO:
    """Open a file for reading and appending that no other process has open so.

    Raises:
        OutputError: If it cannot be opened, or another process has it.
    """
    require_parent(path)
    try:
        file = path.open("a+", encoding="utf-8", newline="")
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror}).") from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if isinstance(error, BlockingIOError):  # others are of file systems without locks
            file.close()
            raise OutputError(
                f"{path}: another process is writing to it; expected that it ends first, or the "
                "name of a new place."
            ) from error
    return file


def _difference(found: Any, expected: dict[str, Any]) -> str:
    """Return in words the first entry in which two subjects differ."""
    found = found if isinstance(found, dict) else {}
    for key in (*expected, *found):
        if found.get(key) != expected.get(key):
            there, here = repr(found.get(key)), repr(expected.get(key))
            pairs = enumerate(zip(there, here, strict=False))
            alike = max(0, next((i for i, (a, b) in pairs if a != b), 0) - _BEFORE)
            cut = "..." if alike else ""
            there, here = (cut + text[alike : alike + _SHOWN] for text in (there, here))
            return f"{key} is {there} there and {here} here"
    return "its first line is another"


def alone(number: int) -> tuple[int]:
    """Return the arguments of a sample that needs only its number."""
    return (number,)


def run_samples(
    sample: Sample,
    count: int,
    results: Results,
    tell: Tell,
    *,
    lost: Callable[[str], dict[str, Any]],
    given: Callable[[int], tuple[Any, ...]] = alone,
    block: Block | None = None,
    jobs: int | None = None,
    scheduler: str | None = None,
) -> list[dict[str, Any]]:
    """Run the samples 0 ... count - 1 that are not known yet, and return all of them.

    Ctrl-C cancels samples that have not begun, keeps the results of the others, and is raised
    again. Samples whose process is ended from outside run again; a sample that ends its process
    three times, alone in it, is lost.

    Args:
        sample: A function of a module, so that other processes find it.
        count: Number of samples.
        results: File of results.
        tell: Called with the progress.
        lost: Returns the result of a lost sample, given a sentence about it.
        given: Returns the arguments of a sample, given its number; other processes get a copy.
        block: Runs several samples at once, also a function of a module; without it they run one
            by one. A block whose process is ended runs again, one by one.
        jobs: Number of processes; None for one for each core that this process may use. With one
            the samples run in this process.
        scheduler: Address of a scheduler of Dask, whose workers run the samples.

    Raises:
        OutputError: If the scheduler cannot be reached, or its client is not installed.
        RobotDynamicsError: If processes end before any sample has ended, or the scheduler is lost.
    """
    unknown = [number for number in range(count) if number not in results.known]

    began = monotonic()

    def keep(numbers: Sequence[int], found: Sequence[dict[str, Any]]) -> None:
        for number, result in zip(numbers, found, strict=True):
            if number not in results.known:  # Ctrl-C may come while they are kept
                results.add({"sample": number, **result})
        done = sum(known < count for known in results.known)
        left = time_left(monotonic() - began, done - known, count - done)
        tell(done / count, f"{done} of {count} samples{left}")

    work = _Work(sample, block, given)

    known = count - len(unknown)
    tell(known / count, f"{known} of {count} samples")
    workers = min(jobs or len(os.sched_getaffinity(0)), len(unknown))
    size = 1
    if block is not None and unknown:
        largest = _LARGEST_BLOCK if scheduler is None else _LARGEST_BLOCK_OF_CLUSTER
        size = min(largest, -(-len(unknown) // workers))
    missing = deque(tuple(unknown[i : i + size]) for i in range(0, len(unknown), size))
    if scheduler is None and workers <= 1:
        while missing:
            numbers = missing.popleft()
            keep(numbers, work.call(numbers)())
    suspects: deque[tuple[int, ...]] = deque()  # ran when a process ended: one is to blame
    tries: Counter[int] = Counter()
    kept_before = len(results.known)
    while missing or suspects:
        queue, at_once = (suspects, 1) if suspects else (missing, _AHEAD * workers)
        single = bool(suspects)
        if scheduler is None:
            executor, call = _processes(1 if single else workers, work), _call_here
        else:
            executor, call, at_once = _cluster(scheduler), work.call, _SENT
        with executor as pool:
            unfinished = _run_queue(pool, call, queue, at_once, keep)
        for numbers in unfinished:
            if len(numbers) > 1:
                suspects += [(number,) for number in numbers]
                continue
            tries[numbers[0]] += single or scheduler is not None
            if tries[numbers[0]] < (_TRIES if scheduler is None else 1):
                suspects.append(numbers)
            elif len(results.known) == kept_before:
                raise RobotDynamicsError(
                    "processes end before any sample does; expected them to have enough memory, "
                    "and this package to be installed for them."
                )
            else:
                keep(numbers, [lost("its process was ended, each time that it ran.")])
    return [results.known[number] for number in range(count)]


def time_left(elapsed: float, done: int, left: int) -> str:
    """Return the expected remaining time in words.

    Args:
        elapsed: Time since they began [s]; empty text in the first seconds.
        done: Number of samples since then.
        left: Number of remaining samples.
    """
    if not (left > 0 and done > 0 and elapsed > _SAID_AFTER_S):
        return ""
    seconds = elapsed * left / done
    for unit, size in (("h", 3600.0), ("min", 60.0)):
        if seconds > 1.5 * size:
            return f", about {seconds / size:.2g} {unit} left"
    return f", about {seconds:.0f} s left"


@dataclass(frozen=True)
class _Work:
    """Arguments of each sample, and the functions that run one or several."""

    sample: Sample
    block: Block | None
    given: Callable[[int], tuple[Any, ...]]

    def call(self, numbers: tuple[int, ...]) -> Call:
        """Return the function that runs these samples, with their arguments."""
        if len(numbers) == 1 or self.block is None:
            return partial(_one, self.sample, self.given(numbers[0]))
        return partial(self.block, [self.given(number) for number in numbers])


def _one(sample: Sample, given: tuple[Any, ...]) -> list[dict[str, Any]]:
    return [sample(*given)]


_work_here: _Work  # in a process that runs samples


def _begin_process(path: str) -> None:
    global _work_here
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.simplefilter("ignore", DescriptionWarning)  # the study's own process has shown it
    if path:
        _work_here = pickle.loads(Path(path).read_bytes())


def _call_here(numbers: tuple[int, ...]) -> Call:
    return partial(_run_here, numbers)


def _run_here(numbers: tuple[int, ...]) -> list[dict[str, Any]]:
    return _work_here.call(numbers)()


def _run_queue(
    pool: Executor,
    call: Callable[[tuple[int, ...]], Call],
    queue: deque[tuple[int, ...]],
    at_once: int,
    keep: Callable[[Sequence[int], Sequence[dict[str, Any]]], None],
) -> list[tuple[int, ...]]:
    """Run the samples of a queue until it is empty, or a process has ended under them.

    Returns:
        The samples that were running then, as they were together.
    """
    running: dict[Future[list[dict[str, Any]]], tuple[int, ...]] = {}
    unfinished: list[tuple[int, ...]] = []
    try:
        while (queue and not unfinished) or running:
            while queue and not unfinished and len(running) < at_once:
                try:
                    future = pool.submit(call(queue[0]))
                except BrokenProcessPool:  # since the last one was submitted
                    unfinished.append(queue.popleft())
                    break
                running[future] = queue.popleft()
            ended, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in ended:
                if future.cancelled():
                    raise RobotDynamicsError(
                        "the scheduler is gone, or has cancelled samples; results so far are "
                        "kept, and the same command resumes from there."
                    )
                numbers, error = running[future], future.exception()
                if error is None:
                    keep(numbers, future.result())
                elif _is_end_of_process(error):
                    unfinished.append(numbers)
                else:
                    raise error
                del running[future]
    except BaseException as error:
        for future in running:
            future.cancel()
        begun = [future for future in running if not future.cancelled()]
        if isinstance(error, KeyboardInterrupt):  # what is running still counts
            wait(begun)
        for future in begun:
            if future.done() and not future.cancelled() and future.exception() is None:
                keep(running[future], future.result())
        raise
    return unfinished


def _is_end_of_process(error: BaseException) -> bool:
    return isinstance(error, BrokenProcessPool) or type(error).__name__ == "KilledWorker"


@contextmanager
def _processes(workers: int, work: _Work) -> Iterator[Executor]:
    """Yield processes that know their work.

    They read it from a file, and are sent numbers alone: where a process ends before it has read
    64 KiB that it is sent, the executor waits for ever.
    """
    with NamedTemporaryFile(suffix=".pickle") as file:
        file.write(pickle.dumps(work))
        file.flush()
        with _pool(workers, file.name) as pool:
            yield pool


@contextmanager
def _pool(workers: int, path: str = "") -> Iterator[Executor]:
    """Yield processes with one thread each, which leave Ctrl-C to this one; an error ends them.

    Args:
        workers: Number of processes.
        path: File of their work, if it is not sent to them.
    """
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    try:
        # Not forked: threads of this process would be lost.
        context = multiprocessing.get_context("spawn")
        others = set(multiprocessing.active_children())
        with ProcessPoolExecutor(workers, context, _begin_process, (path,)) as pool:
            try:
                yield pool
            except BaseException:  # what still runs is not wanted, as after a second Ctrl-C
                for process in set(multiprocessing.active_children()) - others:
                    process.kill()
                raise
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def on_all_cores(
    function: Callable[[Item], Found], items: Sequence[Item], told: Callable[[int], None]
) -> list[Found]:
    """Return the results of a function, in the order of its arguments.

    Ctrl-C cancels all that has not begun. With one core it runs in this process.

    Args:
        function: A function of a module, so that other processes find it.
        items: Its arguments, one for each call.
        told: Called with the number of results, whenever there is one more.

    Raises:
        RobotDynamicsError: If a process is ended from outside.
    """
    found: dict[int, Found] = {}

    def keep(numbers: Sequence[int], results: Sequence[Any]) -> None:
        found.update(zip(numbers, results, strict=True))
        told(len(found))

    def call(numbers: tuple[int, ...]) -> Call:
        return partial(_one, function, (items[numbers[0]],))  # type: ignore[arg-type]

    queue: deque[tuple[int, ...]] = deque((number,) for number in range(len(items)))
    workers = min(len(os.sched_getaffinity(0)), len(items))
    while workers <= 1 and queue:
        number = queue.popleft()
        keep(number, call(number)())
    if queue:
        with _pool(workers) as pool:
            unfinished = _run_queue(pool, call, queue, workers, keep)
        if unfinished:
            raise RobotDynamicsError(
                f"a process was ended after {len(found)} of {len(items)} results; expected "
                "enough memory for as many processes as there are cores."
            )
    return [found[number] for number in range(len(items))]


@contextmanager
def _cluster(address: str) -> Iterator[Executor]:
    """Yield the workers of a cluster.

    Raises:
        OutputError: If Dask's client is not installed, or there is no scheduler.
        RobotDynamicsError: If the scheduler goes away.
    """
    dask = optional_package("distributed", "studies on a cluster", "cluster", OutputError)
    try:
        client = dask.Client(address, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise OutputError(
            f"{address}: there is no scheduler of Dask ({error or 'no answer'}); expected one as "
            "`dask scheduler` starts it."
        ) from error
    with client:
        yield client.get_executor(pure=False)
