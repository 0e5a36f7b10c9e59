# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A kernel and a routine as one function of arrays.

A matrix over all pairs of joints has more entries than a program should have operations. A kernel
of order n computes a few vectors for each joint, and a routine multiplies them in loops. As one
generalised ufunc both cost one call from Python, and a batch of any size the memory of few states.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.compile.emission import ENTRY, PREPARE
from robot_dynamics.compile.errors import CompilerError
from robot_dynamics.compile.host import find_host
from robot_dynamics.compile.kernel import Kernel
from robot_dynamics.compile.machine import load_object
from robot_dynamics.compile.plain_function import MachineLoop, PlainFunction, machine_function
from robot_dynamics.compile.ports import Ports, Shape
from robot_dynamics.compile.routine import Routine, functions_of, types_of
from robot_dynamics.compile.ufunc import UfuncTemplate, can_be_ufunc, ufuncs_work
from robot_dynamics.compile.writer import Writer

# States at a time, as many as a kernel has lanes at most.
_BLOCK = 8


def composed(
    name: str,
    kernel: Kernel,
    parameters: ArrayLike,
    routine: Routine,
    constants: Sequence[Any],
    outputs: Sequence[tuple[str, Shape]],
) -> Callable[..., Any]:
    """Return a function of the kernel's inputs that has the outputs of a routine.

    Args:
        name: Its name.
        kernel: Computes the first arguments of the routine.
        parameters: The parameter block of the kernel.
        routine: Takes the outputs (N, ...) of the kernel for N states, the constants, and the
            arrays (N, ...) that it writes to.
        constants: Arrays and numbers.
        outputs: Names and shapes of the arrays for one state.

    Raises:
        CompilerError: If the routine does not take these arguments.
    """
    ports = Ports(name, kernel.ports.inputs, tuple(outputs), 0)
    loop, host = kernel.loop(parameters), find_host()
    if loop is None or host is None:
        return _interpreted(ports, kernel.bind(parameters), routine, constants)
    composition = _Composition(ports, kernel.ports, routine)
    key = f"composition\0{ports}\0{kernel.ports}"
    machine = load_object(routine.object(host, key, composition.text), host)
    data = composition.data(loop, constants)
    owner = machine, loop, constants
    if can_be_ufunc(ports) and ufuncs_work():
        return UfuncTemplate(ports, machine.address, owner).bind(data)
    return machine_function(ports, machine.address, owner, data)


def _interpreted(
    ports: Ports, function: Callable[..., Any], routine: Routine, constants: Sequence[Any]
) -> PlainFunction:
    """Return the same function as calls of both from Python."""

    def of_states(arrays: list[Any], named: Sequence[tuple[str, Shape]]) -> list[Any]:
        return [x.reshape(-1, *shape) for x, (_, shape) in zip(arrays, named, strict=True)]

    def evaluate(inputs: list[Any], outputs: list[Any]) -> None:
        found = function(*of_states(inputs, ports.inputs))
        parts = found if isinstance(found, tuple) else (found,)
        routine(*parts, *constants, *of_states(outputs, ports.outputs))

    return PlainFunction(ports, evaluate)


class _Composition:
    """Writes the loop over blocks of states, as NumPy's generalised ufuncs call it (see `loop`).

    Its data are the address of the kernel's loop, the address of that loop's data, and the words
    of the constants.

    Args:
        ports: Inputs and outputs of both.
        inner: The ports of the kernel.
        routine: The routine.
    """

    def __init__(self, ports: Ports, inner: Ports, routine: Routine) -> None:
        self.ports, self.inner, self.routine = ports, inner, routine
        self.kinds = [kind for _, kind in routine.definition.parameters]
        shapes = {-at: shape for at, (_, shape) in enumerate(reversed(ports.outputs), 1)}
        shapes |= {at: shape for at, (_, shape) in enumerate(inner.outputs)}
        for at, shape in shapes.items():
            if types_of(self.kinds[at]) != ["ptr", "i64", *["i64"] * len(shape)]:
                raise CompilerError(
                    f"{routine.__name__}: a parameter is a {self.kinds[at]}, expected an array "
                    f"of shape (N, {str(shape)[1:]}."
                )

    def data(self, loop: MachineLoop, constants: Sequence[Any]) -> NDArray[np.int64]:
        """Return the data of the loop."""
        parameters = self.routine.definition.parameters
        parameters = parameters[len(self.inner.outputs) : -len(self.ports.outputs)]
        words = self.routine.words(parameters, constants)
        return np.array([*loop.entry, *words], dtype=np.int64)

    def text(self) -> str:
        """Return the text of the module."""
        self.writer = Writer()
        self._loop()
        arguments = "ptr %args, ptr %dimensions, ptr %steps, ptr %data"
        return "\n".join(
            [
                functions_of(self.routine),
                f"define void @{ENTRY}({arguments}) nounwind {{\nentry:",
                *self.writer.lines,
                f"}}\ndefine void @{PREPARE}(ptr %a, ptr %b, ptr %c) {{\n  ret void\n}}\n",
            ]
        )

    def _loop(self) -> None:
        writer, ports, inner = self.writer, self.ports, self.inner
        read, made, written = len(ports.inputs), len(inner.outputs), len(ports.outputs)
        count = writer.load("i64", "%dimensions")
        loop, of_loop = (writer.load("ptr", writer.offset("%data", 8 * at)) for at in (0, 1))
        constants = self._constants()
        # Core strides follow the distances from state to state.
        first_stride = read + written
        strides = [self._step(first_stride + at) for at in range(_rank(ports.inputs))]
        contiguous, steps, distances = [], [], []
        axis = first_stride + len(strides)
        for at, (_, shape) in enumerate(ports.outputs):
            steps.append(self._step(read + at))
            distances.append([self._step(axis + k) for k in range(len(shape))])
            axis += len(shape)
            alone = writer.emit(f"icmp eq i64 {count}, 1")
            near = writer.emit(f"icmp eq i64 {steps[-1]}, {8 * prod(shape)}")
            plain = writer.emit(f"or i1 {alone}, {near}")
            for distance, expected in zip(distances[-1], _strides(shape), strict=True):
                equal = writer.emit(f"icmp eq i64 {distance}, {expected}")
                plain = writer.emit(f"and i1 {plain}, {equal}")
            contiguous.append(plain)

        few = writer.emit(f"icmp slt i64 {count}, {_BLOCK}")
        most = writer.emit(f"select i1 {few}, i64 {count}, i64 {_BLOCK}")
        between = [self._new(most, shape) for _, shape in inner.outputs]
        copies = []
        for (_, shape), plain in zip(ports.outputs, contiguous, strict=True):
            copies.append(self._new(writer.emit(f"select i1 {plain}, i64 0, i64 {most}"), shape))
        for name, length in (
            ("args", read + made),
            ("dimensions", 1),
            ("steps", read + made + len(strides) + _rank(inner.outputs)),
        ):
            writer.do(f"%inner_{name} = alloca [{length} x i64], align 8")
        inner_steps = [self._step(at) for at in range(read)]
        inner_steps += [str(8 * prod(shape)) for _, shape in inner.outputs]
        inner_steps += strides
        inner_steps += [str(x) for _, shape in inner.outputs for x in _strides(shape)]
        for at, step in enumerate(inner_steps):
            writer.store("i64", step, writer.offset("%inner_steps", 8 * at))
        for at, name in enumerate(between, read):
            writer.store("ptr", name, writer.offset("%inner_args", 8 * at))

        writer.jump("head")
        writer.label("head")
        writer.do("%index = phi i64 [ 0, %entry ], [ %following, %done ]")
        left = writer.emit(f"sub i64 {count}, %index")
        writer.branch(writer.emit(f"icmp sgt i64 {left}, 0"), "block", "exit")
        writer.label("block")
        fewer = writer.emit(f"icmp slt i64 {left}, {_BLOCK}")
        states = writer.emit(f"select i1 {fewer}, i64 {left}, i64 {_BLOCK}")
        writer.store("i64", states, "%inner_dimensions")
        for at in range(read):
            row = self._row(at, inner_steps[at])
            writer.store("ptr", row, writer.offset("%inner_args", 8 * at))
        given = "ptr %inner_args, ptr %inner_dimensions, ptr %inner_steps"
        writer.do(f"call void {loop}({given}, ptr {of_loop})")
        rows = [self._row(read + at, step) for at, step in enumerate(steps)]
        targets = [
            writer.emit(f"select i1 {plain}, ptr {row}, ptr {copy}")
            for plain, row, copy in zip(contiguous, rows, copies, strict=True)
        ]
        arguments = [
            *(_array(x, states, shape) for x, (_, shape) in zip(between, inner.outputs, strict=True)),
            *constants,
            *(_array(x, states, shape) for x, (_, shape) in zip(targets, ports.outputs, strict=True)),
        ]
        writer.do(f"call void @{self.routine.__name__}({', '.join(arguments)})")
        for at, (_, shape) in enumerate(ports.outputs):
            where = rows[at], [steps[at], *distances[at]]
            self._copy(contiguous[at], copies[at], states, shape, *where)
        writer.jump("done")
        writer.label("done")
        writer.do(f"%following = add i64 %index, {_BLOCK}")
        writer.jump("head")
        writer.label("exit")
        for name in (*between, *copies):
            writer.do(f"call void @array.free(ptr {name})")
        writer.do("ret void")

    def _constants(self) -> list[str]:
        """Load the arguments of the routine that are constants."""
        words, at = [], 2
        for kind in self.kinds[len(self.inner.outputs) : -len(self.ports.outputs)]:
            for of in types_of(kind):
                place = self.writer.offset("%data", 8 * at)
                words.append(f"{of} {self.writer.load(of, place)}")
                at += 1
        return words

    def _step(self, at: int) -> str:
        return self.writer.load("i64", self.writer.offset("%steps", 8 * at))

    def _row(self, at: int, step: str) -> str:
        """Return the pointer to the first state of the block."""
        base = self.writer.load("ptr", self.writer.offset("%args", 8 * at))
        return self.writer.offset(base, self.writer.emit(f"mul i64 %index, {step}"))

    def _new(self, states: str, shape: Shape) -> str:
        """Return an array for some states."""
        length = self.writer.emit(f"mul i64 {states}, {prod(shape)}")
        return self.writer.emit(f"call align 64 ptr @array.new(i64 {length})")

    def _copy(
        self, plain: str, copy: str, states: str, shape: Shape, row: str, steps: list[str]
    ) -> None:
        """Copy an output to its place, unless it is there."""
        writer, own = self.writer, [8 * prod(shape), *_strides(shape)]

        def level(axis: int, source: str, target: str) -> None:
            if axis == len(own):
                writer.store("double", writer.load("double", source), target)
                return
            with writer.loop(shape[axis - 1] if axis else states) as counter:
                from_ = writer.emit(f"mul i64 {counter}, {own[axis]}")
                to = writer.emit(f"mul i64 {counter}, {steps[axis]}")
                level(axis + 1, writer.offset(source, from_), writer.offset(target, to))

        writer.either(plain, lambda: None, lambda: level(0, copy, row))


def _rank(ports: Sequence[tuple[str, Shape]]) -> int:
    """Return the number of dimensions of all arrays together."""
    return sum(len(shape) for _, shape in ports)


def _strides(shape: Shape) -> list[int]:
    """Return the distances in bytes along the dimensions of a contiguous array."""
    return [8 * prod(shape[axis + 1 :]) for axis in range(len(shape))]


def _array(name: str, states: str, shape: Shape) -> str:
    """Return the arguments that pass an array to a routine."""
    return ", ".join([f"ptr {name}", f"i64 {states}", *(f"i64 {length}" for length in shape)])
