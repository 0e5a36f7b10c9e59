# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Compiled programs, and functions of arrays made from them."""

from __future__ import annotations

import contextlib
import ctypes
import logging
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.compile import cache
from robot_dynamics.compile.batch_code import make_at_first_batch
from robot_dynamics.compile.chain import Chain
from robot_dynamics.compile.emission import BATCH_CODE, BATCHES, ENTRY, PREPARE, emit_module
from robot_dynamics.compile.errors import CompilerError, ShapeError
from robot_dynamics.compile.host import (
    Host,
    find_host,
    interpretation_forced,
    most_operations,
)
from robot_dynamics.compile.machine import (
    MachineCode,
    compile_object,
    expected_seconds,
    load_object,
)
from robot_dynamics.compile.plain_function import (
    MachineLoop,
    interpreted_function,
    machine_function,
)
from robot_dynamics.compile.ports import Ports, check_parameters
from robot_dynamics.compile.preparation import prepare
from robot_dynamics.compile.program import Program
from robot_dynamics.compile.tracing import without_collection
from robot_dynamics.compile.ufunc import UfuncTemplate, can_be_ufunc, ufuncs_work

_logger = logging.getLogger(__name__)

_MOST_SHARED = 32  # kernels that are kept, of some hundred kilobytes
_shared: dict[Any, Kernel] = {}
_sharing = threading.Lock()


class ObjectCode(NamedTuple):
    """Object code of a program, as it is kept on disk.

    Attributes:
        ports: Names and shapes.
        lanes: The most states at a time in a batch.
        prepared: The length of the block of prepared values; -1 if the loop reads the parameter
            block itself.
        exports: The exported names of the module.
        objects: The object code, of several parts if the program is long.
    """

    ports: Ports
    lanes: int
    prepared: int
    exports: list[str]
    objects: list[bytes]

    @classmethod
    def from_cache(cls, metadata: dict[str, Any], content: bytes) -> ObjectCode:
        """Return the code of a cache entry; KeyError, TypeError or ValueError if it has none."""
        ends = list(accumulate(metadata["sizes"], initial=0))
        objects = [content[start:end] for start, end in pairwise(ends)]
        ports, exports = Ports.from_metadata(metadata["ports"]), list(metadata["exports"])
        return cls(ports, int(metadata["lanes"]), int(metadata["prepared"]), exports, objects)

    def metadata(self) -> dict[str, Any]:
        """Return the metadata of its cache entry."""
        return {
            "ports": self.ports.as_metadata(),
            "lanes": self.lanes,
            "prepared": self.prepared,
            "exports": self.exports,
            "sizes": [len(part) for part in self.objects],
        }

    def load(self, host: Host, lanes: int) -> MachineCode:
        """Return the code in memory, for batches of some lanes.

        Raises:
            CompilerError: If it cannot be loaded.
        """
        return load_object(self.objects, host, self.exports, lanes)


class Kernel:
    """A compiled program. `bind` makes functions of it, which share the machine code.

    Attributes:
        name: Name of the program.
        ports: Names and shapes of inputs and outputs, and number of parameters.
        lanes: Number of states at a time in a batch; 0 if interpreted.
    """

    def __init__(
        self,
        ports: Ports,
        lanes: int,
        make_function: Callable[[NDArray[np.float64]], Any],
        make_loop: Callable[[NDArray[np.float64]], MachineLoop] | None = None,
        prepare: Callable[[NDArray[np.float64]], NDArray[np.float64]] | None = None,
    ) -> None:
        self.name, self.ports, self.lanes = ports.name, ports, lanes
        # Both take what `_data` returns.
        self._make_function, self._make_loop, self._prepare = make_function, make_loop, prepare

    @classmethod
    def interpreted(cls, program: Program) -> Kernel:
        """Return a kernel that interprets a program: slow, for want of a code generator."""
        return cls(program.ports, 0, lambda block: interpreted_function(program, block))

    @classmethod
    def from_machine(
        cls,
        code: ObjectCode,
        machine: MachineCode,
        lanes: int = 1,
        make_batch_code: Callable[[], MachineCode] | None = None,
    ) -> Kernel:
        """Return a kernel from machine code.

        Args:
            code: The object code with its metadata.
            machine: The same in memory.
            lanes: Number of states at a time in a batch.
            make_batch_code: Returns the code for batches, which is made at the first one; None if
                batches are evaluated one state after the other.
        """
        ports, address = code.ports, machine.address
        if make_batch_code is not None:
            make_at_first_batch(machine, make_batch_code)
            address = machine.addresses[BATCHES]
        prepare = _preparation(machine, code.prepared)
        if can_be_ufunc(ports) and ufuncs_work():
            bind: Callable[..., Any] = UfuncTemplate(ports, address, machine).bind
        else:
            bind = partial(machine_function, ports, address, machine)
        loop = partial(MachineLoop, ports, address, machine)
        return cls(ports, lanes, bind, loop, prepare)

    @property
    def inputs(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the inputs, by name and in order."""
        return dict(self.ports.inputs)

    @property
    def outputs(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the outputs, by name and in order."""
        return dict(self.ports.outputs)

    @property
    def parameters(self) -> int:
        """The length of the parameter block."""
        return self.ports.parameters

    @property
    def is_interpreted(self) -> bool:
        """Whether there is no machine code behind this kernel."""
        return self.lanes == 0

    def __repr__(self) -> str:
        how = "interpreted" if self.is_interpreted else f"{self.lanes} lanes"
        return f"<kernel {self.name} {self.ports.signature}, {how}>"

    def bind(self, parameters: ArrayLike | None = None) -> Any:
        """Return a function of arrays with a parameter block.

        Args:
            parameters: The block, shape (parameters,). It is copied; bind again for other values,
                which takes some microseconds. May be left out if there are no parameters.

        Returns:
            A `numpy.ufunc` with frozen core dimensions: called with the inputs, of shapes
            `(..., *input)`, it gives the output or a tuple of outputs; it broadcasts leading
            dimensions, takes `out=`, releases the GIL and warns of invalid values, divisions by
            zero and overflows as `numpy.errstate` says. Without a code generator a callable that
            behaves alike, but for the warnings.

        Raises:
            ShapeError: If the block has another length.
        """
        return self._make_function(self._data(parameters))

    def loop(self, parameters: ArrayLike | None = None) -> MachineLoop | None:
        """Return the compiled loop over states with a parameter block; None if interpreted."""
        return None if self._make_loop is None else self._make_loop(self._data(parameters))

    def bind_arrays(
        self,
        parameters: ArrayLike | None,
        inputs: Sequence[NDArray[np.float64]],
        outputs: Sequence[NDArray[np.float64]],
    ) -> Callable[[], Any]:
        """Return a function without arguments that reads and writes these arrays in place.

        Args:
            parameters: The parameter block, as for `bind`.
            inputs: One state, in the order of the ports.
            outputs: To write to; they may not overlap with others.

        Raises:
            ShapeError: If an array is no contiguous one of its port's shape, or the block has
                another length.
        """
        return self._bound_to_arrays(self._data(parameters), inputs, outputs)

    def _bound_to_arrays(
        self,
        data: NDArray[np.float64],
        inputs: Sequence[NDArray[np.float64]],
        outputs: Sequence[NDArray[np.float64]],
    ) -> Callable[[], Any]:
        arrays = [*inputs, *outputs]
        ports = [*self.ports.inputs, *self.ports.outputs]
        fit = [
            array.shape == shape and array.dtype == np.float64 and array.flags.c_contiguous
            for array, (_, shape) in zip(arrays, ports, strict=True)
        ]
        if not all(fit):
            name, shape = ports[fit.index(False)]
            found = arrays[fit.index(False)]
            raise ShapeError(
                f"{self.name}: {name} is {found.dtype} of shape {found.shape}, expected a "
                f"contiguous array of float64 of shape {shape}."
            )
        if self._make_loop is None:
            return partial(self._make_function(data), *inputs, out=tuple(outputs))
        return self._make_loop(data).bind(arrays)

    def chain(self, parameters: ArrayLike | None = None) -> Chain:
        """Return the function that applies this kernel repeatedly to its own results.

        Args:
            parameters: The parameter block, as for `bind`.

        Raises:
            CompilerError: If the kernel takes several states at a time: each depends on the one
                before it.
            ShapeError: If no output has the name of an input, or the block has another length.
        """
        if self.lanes > 1:
            raise CompilerError(
                f"{self.name}: a chain has a kernel of {self.lanes} lanes, expected 1 lane."
            )
        make = self._make_loop or self._make_function
        return Chain(self.ports, make(self._data(parameters)))

    def _data(self, parameters: ArrayLike | None) -> NDArray[np.float64]:
        """Return the memory that functions with a parameter block read."""
        block = np.array(check_parameters(self.ports, parameters))
        return block if self._prepare is None else self._prepare(block)


class TunableKernel:
    """A kernel whose parameter block can change after functions are bound to it.

    Attributes:
        data: Memory of the block, as compiled code reads it.

    Args:
        kernel: The kernel.
        parameters: The first block, as for `Kernel.bind`.
    """

    def __init__(self, kernel: Kernel, parameters: ArrayLike | None = None) -> None:
        self._kernel, self.data = kernel, kernel._data(parameters)

    def tune(self, parameters: ArrayLike) -> None:
        """Change the block, for all functions that are bound."""
        self.data[:] = self._kernel._data(parameters)

    def bind(self) -> Any:
        """Return a function of arrays; see `Kernel.bind`."""
        return self._kernel._make_function(self.data)

    def bind_arrays(
        self, inputs: Sequence[NDArray[np.float64]], outputs: Sequence[NDArray[np.float64]]
    ) -> Callable[[], Any]:
        """Return a function that reads and writes arrays in place; see `Kernel.bind_arrays`."""
        return self._kernel._bound_to_arrays(self.data, inputs, outputs)


def compile_program(program: Program, lanes: int | None = None) -> Kernel:
    """Compile a program for this machine.

    Args:
        program: The program.
        lanes: Number of states at a time in a batch: 1, 2, 4 or 8; None for the best of the
            processor. The results do not depend on it.

    Returns:
        The kernel; it interprets the program without a code generator.

    Raises:
        CompilerError: If the number of lanes is not possible, or LLVM refuses the code.
    """
    host = _usable_host()
    if host is None:
        return Kernel.interpreted(program)
    return _Source(lambda: program, host).kernel(_width(lanes, host))


def load_kernel(
    key: bytes, build: Callable[[], Program], lanes: int | None = None, quick: bool = False
) -> Kernel:
    """Return a kernel from the cache on disk, or compile and store it.

    Args:
        key: Key of the program: the model's canonical bytes, the algorithm and its options. The
            code of this package, the processor and the versions of llvmlite and NumPy are added
            here.
        build: Makes the program; called only if it is not in the cache.
        lanes: As for `compile_program`.
        quick: Compile in a third of the time, for functions that are seldom called: they take two
            to five times as long. Results are the same.

    Returns:
        The kernel. An unusable cache only costs time.
    """
    host = _usable_host(quick)
    if host is None:
        return Kernel.interpreted(build())
    return _Source(build, host, key).kernel(_width(lanes, host))


def shared_kernel(
    key: bytes, build: Callable[[], Program], lanes: int | None = None, quick: bool = False
) -> Kernel:
    """Return the kernel of `load_kernel`; the last ones are kept in memory.

    Kernels have no state: models of one structure bind their numbers to the same kernel.

    Args:
        key: As for `load_kernel`, as are the others.
        build: Makes the program.
        lanes: The lanes of its code.
        quick: Whether to compile quickly.
    """
    host, folder = _usable_host(quick), cache.folder_of_kernels()
    if host is None or folder is None:
        return load_kernel(key, build, lanes, quick)
    place = (key, host, _width(lanes, host), folder, most_operations())
    with _sharing:
        kernel = _shared.pop(place, None)
    kernel = kernel or load_kernel(key, build, lanes, quick)
    with _sharing:
        _shared[place] = kernel  # as the last one used
        while len(_shared) > _MOST_SHARED:
            _shared.pop(next(iter(_shared)))
    return kernel


def _usable_host(quick: bool = False) -> Host | None:
    host = None if interpretation_forced() else find_host()
    return host._replace(opt_level=0) if host and quick else host


@dataclass
class Compilation:
    """Progress of a compilation.

    Attributes:
        name: The program that is being compiled.
        end: `time.monotonic()` at which it is expected to end; None before LLVM begins.
    """

    name: str
    end: float | None = None

    def sentence(self, seconds: int) -> str:
        """Return the progress after some seconds; an expectation that has passed is left out."""
        left = 0.0 if self.end is None else self.end - time.monotonic()
        rest = f", about {math.ceil(left)} s left" if left > 0.0 else ""
        return f"Compiling {self.name} ({seconds} s so far{rest}) ..."


@contextlib.contextmanager
def _announced(progress: Compilation) -> Iterator[Compilation]:
    """Report after a second, and then every ten, that a program is being compiled."""
    done = threading.Event()

    def say() -> None:
        seconds = 1
        while not done.wait(1.0 if seconds == 1 else 10.0):
            _logger.warning("%s", progress.sentence(seconds))
            seconds += 10 if seconds > 1 else 9

    thread = threading.Thread(target=say, name="compilation", daemon=True)
    thread.start()
    try:
        yield progress
    finally:
        done.set()
        thread.join()


def _width(lanes: int | None, host: Host) -> int:
    if lanes is None:
        return host.lanes
    if lanes not in (1, 2, 4, 8):
        raise CompilerError(f"lanes is {lanes}, expected 1, 2, 4 or 8.")
    return lanes


class _TooLargeError(Exception):
    """A program is interpreted because LLVM would take minutes."""

    def __init__(self, program: Program) -> None:
        super().__init__(f"{program.name} has too many operations.")
        self.program = program


@dataclass
class _Source:
    """A program that can be compiled.

    Attributes:
        build: Makes the program.
        host: Target of the code.
        key: Key of the program in the cache on disk; None if its code is not kept.
    """

    build: Callable[[], Program]
    host: Host
    key: bytes | None = None

    def kernel(self, lanes: int) -> Kernel:
        """Return the kernel for batches of some lanes; it interprets very large programs."""
        try:
            code, machine = self._code(1, lanes)
        except _TooLargeError as error:
            return Kernel.interpreted(error.program)
        lanes = min(lanes, code.lanes)
        if lanes == 1:
            return Kernel.from_machine(code, machine)
        return Kernel.from_machine(code, machine, lanes, lambda: self._code(lanes, lanes)[1])

    def _code(self, width: int, lanes: int) -> tuple[ObjectCode, MachineCode]:
        """Return the code for some states at a time, also in memory, from the cache if any.

        Args:
            width: Number of states at a time.
            lanes: That of the kernel in a batch.

        Raises:
            CompilerError: If LLVM refuses the code.
            _TooLargeError: If the program has too many operations.
        """
        entry = "" if self.key is None else cache.entry_name(self.key, self.host, width)
        found = cache.load(entry) if entry else None
        if found is not None:
            try:
                code = ObjectCode.from_cache(*found)
                return code, code.load(self.host, lanes)
            except (CompilerError, KeyError, TypeError, ValueError) as error:
                _logger.warning("The cached kernel %s cannot be used: %s", entry, error)
        with _announced(Compilation("the equations")) as progress, without_collection():
            program = self.build()
            _require_size(program)
            of_batches = "" if width == 1 else " for batches"
            progress.name = f"{program.name}{of_batches}, {program.size} operations"
            code = _object_code(program, width, self.host, progress)
            del program  # a million nodes that garbage collection would visit
        if entry:
            cache.store(entry, code.metadata(), b"".join(code.objects))
        return code, code.load(self.host, lanes)


def _require_size(program: Program) -> None:
    """Raise `_TooLargeError` with a warning if a program has too many operations to compile."""
    most = most_operations()
    if program.size > most:
        _logger.warning(
            "%s has %d operations, expected at most %d (ROBOT_DYNAMICS_MOST_OPERATIONS): it is "
            "interpreted, without compilation and with calls that take some hundred times as "
            "long.",
            program.name,
            program.size,
            most,
        )
        raise _TooLargeError(program)


def _object_code(program: Program, width: int, host: Host, progress: Compilation) -> ObjectCode:
    parts = prepare(program)
    text, lanes = emit_module(parts, width, host.fma, host.lanes)
    progress.end = time.monotonic() + expected_seconds(text, host)
    objects, prepared, exports = compile_object(text, host), -1, [ENTRY]
    if width == 1:
        exports += [BATCHES, BATCH_CODE]
        if parts.preparation is not None:
            prepared, exports = parts.remainder.parameters, [*exports, PREPARE]
    return ObjectCode(program.ports, lanes, prepared, exports, objects)


def _preparation(
    machine: MachineCode, prepared: int
) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """Return the function from parameter blocks to the loop's data."""
    if prepared < 0:
        return lambda block: block
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(machine.addresses[PREPARE])

    def prepare(block: NDArray[np.float64]) -> NDArray[np.float64]:
        values = np.empty(prepared)
        function(block.ctypes.data, values.ctypes.data, None)
        return values

    return prepare
