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

from robot_dynamics.compile.emission import ENTRY
from robot_dynamics.compile.errors import CompilerError
from robot_dynamics.compile.host import find_host
from robot_dynamics.compile.kernel import Kernel
from robot_dynamics.compile.machine import load_object
from robot_dynamics.compile.plain_function import MachineLoop, PlainFunction, machine_function
from robot_dynamics.compile.ports import Ports, Shape
from robot_dynamics.compile.routine import Routine
from robot_dynamics.compile.routine_code import functions_of, types_of
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
        kernel: Computes the first arguments of the routine, and outputs of the same names.
        parameters: The parameter block of the kernel.
        routine: Takes the other outputs (N, ...) of the kernel for N states, the constants, and
            the arrays (N, ...) of the other outputs, which it writes to.
        constants: Arrays and numbers.
        outputs: Names and shapes of the outputs for one state.

    Raises:
        CompilerError: If the routine does not take these arguments.
    """
    ports = Ports(name, kernel.ports.inputs, tuple(outputs), 0)
    loop, host = kernel.loop(parameters), find_host()
    if loop is None or host is None:
        return _interpreted(ports, kernel.ports, kernel.bind(parameters), routine, constants)
    composition = _BlockLoop(ports, kernel.ports, routine)
    key = f"composition\0{ports}\0{kernel.ports}"
    metadata, code = routine.stored(host, key, composition.module)
    machine = load_object([code], host)
    data = composition.data(loop, metadata["parameters"], constants)
    owner = machine, loop, constants
    if can_be_ufunc(ports) and ufuncs_work():
        return UfuncTemplate(ports, machine.address, owner).bind(data)
    return machine_function(ports, machine.address, owner, data)


def _interpreted(
    ports: Ports,
    inner: Ports,
    function: Callable[..., Any],
    routine: Routine,
    constants: Sequence[Any],
) -> PlainFunction:
    """Return the same function as calls of both from Python."""
    made, written = ([name for name, _ in each.outputs] for each in (inner, ports))

    def of_states(arrays: list[Any], named: Sequence[tuple[str, Shape]]) -> list[Any]:
        return [x.reshape(-1, *shape) for x, (_, shape) in zip(arrays, named, strict=True)]

    def evaluate(inputs: list[Any], outputs: list[Any]) -> None:
        found = function(*of_states(inputs, ports.inputs))
        parts = found if isinstance(found, tuple) else (found,)
        named = dict(zip(made, map(np.ascontiguousarray, parts), strict=True))
        results = dict(zip(written, of_states(outputs, ports.outputs), strict=True))
        for name in named.keys() & results.keys():
            results.pop(name)[...] = named.pop(name)
        routine(*named.values(), *constants, *results.values())

    return PlainFunction(ports, evaluate)


class _BlockLoop:
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
        both = {name for name, _ in inner.outputs} & {name for name, _ in ports.outputs}
        self.between = [each for each in inner.outputs if each[0] not in both]
        self.written = [each for each in ports.outputs if each[0] not in both]

    def data(
        self, loop: MachineLoop, parameters: Sequence[tuple[str, str]], constants: Sequence[Any]
    ) -> NDArray[np.float64]:
        """Return the data of the loop: words in the type of parameter blocks."""
        between, written = len(self.between), len(self.written)
        words = self.routine.words(parameters[between:-written], constants)
        return np.array([*loop.entry, *words], dtype=np.int64).view(np.float64)

    def module(self) -> tuple[str, dict[str, Any]]:
        """Return the text of the module, and the parameters of the routine.

        Raises:
            CompilerError: If the routine does not take the arrays.
        """
        functions, body = functions_of(self.routine)
        self.kinds = list(body.parameters.values())
        shapes = {-at: shape for at, (_, shape) in enumerate(reversed(self.written), 1)}
        shapes |= {at: shape for at, (_, shape) in enumerate(self.between)}
        for at, shape in shapes.items():
            if types_of(self.kinds[at]) != ["ptr", "i64", *["i64"] * len(shape)]:
                raise CompilerError(
                    f"{self.routine.__name__}: a parameter is a {self.kinds[at]}, expected an "
                    f"array of shape (N, {str(shape)[1:]}."
                )
        self.writer = Writer()
        self._loop()
        arguments = "ptr %args, ptr %dimensions, ptr %steps, ptr %data"
        text = "\n".join(
            [
                functions,
                f"define void @{ENTRY}({arguments}) nounwind {{\nentry:",
                *self.writer.lines,
                "}\n",
            ]
        )
        return text, {"parameters": list(body.parameters.items())}

    def _loop(self) -> None:
        writer, ports, inner = self.writer, self.ports, self.inner
        count = writer.load("i64", "%dimensions")
        loop, of_loop = (writer.load("ptr", writer.offset("%data", 8 * at)) for at in (0, 1))
        constants = self._constants()
        # Place, distance from state to state, and distances along the dimensions of every array.
        outer: dict[str, tuple[int, list[str]]] = {}
        axis = len(ports.inputs) + len(ports.outputs)
        for at, (name, shape) in enumerate((*ports.inputs, *ports.outputs)):
            outer[name] = at, [self._step(at), *(self._step(axis + k) for k in range(len(shape)))]
            axis += len(shape)
        few = writer.emit(f"icmp slt i64 {count}, {_BLOCK}")
        most = writer.emit(f"select i1 {few}, i64 {count}, i64 {_BLOCK}")
        own = {name: self._new(most, shape) for name, shape in self.between}
        plain = {
            name: self._is_plain(count, shape, outer[name][1]) for name, shape in self.written
        }
        for name, shape in self.written:
            length = writer.emit(f"select i1 {plain[name]}, i64 0, i64 {most}")
            own[name] = self._new(length, shape)

        inside = (*ports.inputs, *inner.outputs)
        steps = [
            str(8 * prod(shape)) if name in own else outer[name][1][0] for name, shape in inside
        ]
        for name, shape in inside:
            strides = [str(x) for x in _strides(shape)]
            steps += strides if name in own else outer[name][1][1:]
        for part, size in (("args", len(inside)), ("dimensions", 1), ("steps", len(steps))):
            writer.do(f"%inner_{part} = alloca [{size} x i64], align 8")
        for at, step in enumerate(steps):
            writer.store("i64", step, writer.offset("%inner_steps", 8 * at))

        writer.jump("head")
        writer.label("head")
        writer.do("%index = phi i64 [ 0, %entry ], [ %following, %done ]")
        left = writer.emit(f"sub i64 {count}, %index")
        writer.branch(writer.emit(f"icmp sgt i64 {left}, 0"), "block", "exit")
        writer.label("block")
        fewer = writer.emit(f"icmp slt i64 {left}, {_BLOCK}")
        states = writer.emit(f"select i1 {fewer}, i64 {left}, i64 {_BLOCK}")
        writer.store("i64", states, "%inner_dimensions")
        rows = {name: self._row(at, distances[0]) for name, (at, distances) in outer.items()}
        for at, (name, _) in enumerate(inside):
            place = own[name] if name in own else rows[name]
            writer.store("ptr", place, writer.offset("%inner_args", 8 * at))
        given = "ptr %inner_args, ptr %inner_dimensions, ptr %inner_steps"
        writer.do(f"call void {loop}({given}, ptr {of_loop})")
        arguments = [_array(own[name], states, shape) for name, shape in self.between]
        arguments += constants
        for name, shape in self.written:
            chosen = f"select i1 {plain[name]}, ptr {rows[name]}, ptr {own[name]}"
            arguments.append(_array(writer.emit(chosen), states, shape))
        writer.do(f"call void @{self.routine.__name__}({', '.join(arguments)})")
        for name, shape in self.written:
            self._copy(plain[name], own[name], states, shape, rows[name], outer[name][1])
        writer.jump("done")
        writer.label("done")
        writer.do(f"%following = add i64 %index, {_BLOCK}")
        writer.jump("head")
        writer.label("exit")
        for array in own.values():
            writer.do(f"call void @array.free(ptr {array})")
        writer.do("ret void")

    def _is_plain(self, count: str, shape: Shape, steps: list[str]) -> str:
        """Return whether an output is contiguous, so that the routine can write to it."""
        writer = self.writer
        alone = writer.emit(f"icmp eq i64 {count}, 1")
        near = writer.emit(f"icmp eq i64 {steps[0]}, {8 * prod(shape)}")
        plain = writer.emit(f"or i1 {alone}, {near}")
        for step, expected in zip(steps[1:], _strides(shape), strict=True):
            equal = writer.emit(f"icmp eq i64 {step}, {expected}")
            plain = writer.emit(f"and i1 {plain}, {equal}")
        return plain

    def _constants(self) -> list[str]:
        """Load the arguments of the routine that are constants."""
        words, at = [], 2
        for kind in self.kinds[len(self.between) : -len(self.written)]:
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


def _strides(shape: Shape) -> list[int]:
    """Return the distances in bytes along the dimensions of a contiguous array."""
    return [8 * prod(shape[axis + 1 :]) for axis in range(len(shape))]


def _array(name: str, states: str, shape: Shape) -> str:
    """Return the arguments that pass an array to a routine."""
    return ", ".join([f"ptr {name}", f"i64 {states}", *(f"i64 {length}" for length in shape)])
