# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Detection of repeated sequences in a long program, which become loops.

The readable source goes from body to body, and its recording for bodies with equal joints is the
same sequence of operations, repeated on other operands. Such a sequence is a *piece*: a small
program, its number of turns, and tables of the places of its operands and results. Operations that
are not repeated are cut into pieces of bounded length with one turn. The time of compilation is
then proportional to the number of *different* pieces, and machine code stays within the
processor's first cache.

Values for another piece, or for a later turn of a loop, are kept in a block of memory, the
*frame*; all others are in registers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.compile.graph import BINARY, CALL, CONSTANT, INPUT, PARAMETER, RESULT, UNARY
from robot_dynamics.compile.ports import Ports
from robot_dynamics.compile.program import Program
from robot_dynamics.compile.simplification import Columns, Node, Whole

# Number of operations of a piece with one turn. LLVM's time for a function grows faster than its
# length, and is proportional to it below about a thousand.
_LONGEST = 1000
# Least number of operations saved by a loop.
_LEAST_SAVED = 150
# Least distance of cuts between operations that do not repeat consecutively.
_LEAST_CUT = 100
# Largest distance of operands that belong to the repeated pattern.
_NEAR = 32
# Number of consecutive operations, equal to others at a distance, that suggests a repetition at
# it.
_WINDOW = 12
# Kinds of memory; inputs, or outputs, follow.
FRAME, CONSTANTS, PARAMETERS, PORTS = 0, 1, 2, 3


class Access(NamedTuple):
    """Place from which an operand is read, or to which a result is written, in every turn.

    Attributes:
        memory: `FRAME`, `CONSTANTS`, `PARAMETERS`, or `PORTS` plus the number of an input or, of
            results, of an output.
        places: Index of the element in each turn.
    """

    memory: int
    places: Whole


class Piece(NamedTuple):
    """A sequence of operations, with its number of turns.

    Attributes:
        body: Operations of one turn; the elements of its only input are the operands, its outputs
            are the written values.
        turns: Number of turns.
        operands: Access to each operand.
        results: Access to each written value.
    """

    body: Program
    turns: int
    operands: list[Access]
    results: list[list[Access]]


class Pieces(NamedTuple):
    """A program in pieces.

    Attributes:
        program: The program, without calls.
        pieces: In the order in which they are carried out.
        frame: The length of the frame.
        constants: The constants that loops read.
    """

    program: Program
    pieces: list[Piece]
    frame: int
    constants: list[float]


def without_calls(program: Program) -> Program:
    """Return the same program with the operations of those that it calls in the place of calls."""
    if not program.called:
        return program
    nodes: list[Node] = []
    known: dict[Node, int] = {}

    def add(node: Node) -> int:
        if node.operation in (CONSTANT, INPUT, PARAMETER):
            if node not in known:
                known[node] = len(nodes)
                nodes.append(node)
            return known[node]
        nodes.append(node)
        return len(nodes) - 1

    def expand(part: Program, arguments: tuple[int, ...] | None) -> list[int]:
        number: list[Any] = []
        starts, inputs = part.ports.input_starts, sum(part.ports.input_sizes)
        for operation, left, right in part.nodes:
            if operation in BINARY:
                number.append(add(Node(operation, number[left], number[right])))
            elif operation in UNARY:
                number.append(add(Node(operation, number[left], None)))
            elif operation == CALL:
                number.append(expand(left, tuple([number[argument] for argument in right])))
            elif operation == RESULT:
                number.append(number[left][right])
            elif arguments is not None and operation == INPUT:
                number.append(arguments[starts[left] + right])
            elif arguments is not None and operation == PARAMETER:
                number.append(arguments[inputs + left])
            else:
                number.append(add(Node(operation, left, right)))
        if arguments is not None:
            return [number[slot] for slot in part.slots]
        return number

    number = expand(program, None)
    results = tuple(number[v] if isinstance(v, int) else v for v in program.results)
    return Program(program.ports, tuple(nodes), results)


def find_pieces(program: Program) -> Pieces:
    """Return a program in pieces; results that are inputs are not in any."""
    return _Finder(without_calls(program)).pieces()


class _Finder:
    """Cuts one program.

    Operations are known by their positions: nodes other than constants, inputs and parameters,
    counted in their order.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        nodes = program.nodes
        columns = Columns.of(nodes)
        self.kinds = columns.operation
        leaf = np.isin(self.kinds, (CONSTANT, INPUT, PARAMETER))
        self.where = np.flatnonzero(~leaf)
        self.position = np.full(len(nodes), -1, dtype=np.int64)
        self.position[self.where] = np.arange(len(self.where))
        # Operands as nodes, -1 for none: shape (operations, 2).
        self.operands = np.stack([columns.left, columns.right], axis=1)[self.where]
        # Memory of every node, and its place there; places of values are set when the kept ones
        # are known, places of constants when the loops that read them are known.
        self.memory = np.zeros(len(nodes), dtype=np.int64)
        self.place = np.zeros(len(nodes), dtype=np.int64)
        for i in np.flatnonzero(leaf).tolist():
            kind, left, right = nodes[i]
            if kind == CONSTANT:
                self.memory[i] = CONSTANTS
            elif kind == PARAMETER:
                self.memory[i], self.place[i] = PARAMETERS, left
            else:
                self.memory[i], self.place[i] = PORTS + left, right
        self.targets = self._targets()
        self.constants: list[float] = []
        self.signature = self._signatures()

    def _targets(self) -> dict[int, list[tuple[int, int]]]:
        """Return for each node that is a result the elements of outputs that it is."""
        targets: dict[int, list[tuple[int, int]]] = {}
        ports = self.program.ports
        for port, (start, size) in enumerate(
            zip(ports.output_starts, ports.output_sizes, strict=True)
        ):
            for element, value in enumerate(self.program.results[start : start + size]):
                if isinstance(value, int):
                    targets.setdefault(value, []).append((port, element))
        return targets

    def pieces(self) -> Pieces:
        """Return the pieces."""
        repeated = self._repeated_stretches()
        stretches = sorted([*repeated, *self._rest(repeated)])
        kept = self._place_values(stretches)
        # Equal sequences can share machine code, if their constants are operands as well.
        alike: dict[bytes, list[int]] = {}
        for start, period, _ in stretches:
            alike.setdefault(self._pattern(start, period), []).append(start)
        pieces = [
            self._piece(start, period, count, kept, alike[self._pattern(start, period)])
            for start, period, count in stretches
        ]
        return Pieces(self.program, pieces, self.frame, self.constants)

    def _pattern(self, start: int, period: int) -> bytes:
        """Return bytes that are equal for stretches of the same operations."""
        operand = self.operands[start : start + period]
        at = np.where(operand < 0, -1, self.position[operand])
        within = np.maximum(at - start, -1)
        signature = self.signature[start : start + period]
        return signature.tobytes() + np.where(at < 0, -1, within).tobytes()

    def _signatures(self) -> Whole:
        """Return a number for each operation, equal for those that may be turns of one loop."""
        count = len(self.where)
        columns = [self.kinds[self.where]]
        at = np.arange(count)
        for side in (0, 1):
            operand = self.operands[:, side]
            memory = np.where(operand < 0, -1, self.memory[operand])
            # Parameters count as one more input, so that they are cut and fused in the same way.
            memory[memory == PARAMETERS] = PORTS + len(self.program.ports.inputs)
            distance = at - self.position[operand]
            near = (memory == FRAME) & (distance <= _NEAR)
            columns += [memory, np.where(near, distance, 0)]
        written = np.zeros(len(self.kinds), dtype=np.int64)
        patterns: dict[tuple[int, ...], int] = {}
        for node, places in self.targets.items():
            pattern = tuple([port for port, _ in places])
            written[node] = patterns.setdefault(pattern, len(patterns) + 1)
        columns.append(written[self.where])
        signature, most = np.zeros(count, dtype=np.int64), 1
        for column in columns:
            column = column - column.min(initial=0)
            size = int(column.max(initial=0)) + 1
            if most * size >= 2**63:
                signature, most = _ranks(signature), count
            signature, most = signature * size + column, most * size
        return _ranks(signature)

    def _repeated_stretches(self) -> list[tuple[int, int, int]]:
        """Return start, period and count of stretches that follow on each other."""
        signature = self.signature
        found = []
        for period in _periods(signature):
            starts, ends = _stretches(signature[period:] == signature[:-period])
            enough = ends - starts >= max(period, _LEAST_SAVED)
            for start, end in zip(starts[enough].tolist(), ends[enough].tolist(), strict=True):
                found.append((end - start, start, end + period, period))
        # The loop with the largest saving comes first; remainders are searched again.
        found.sort(key=lambda one: (-one[0], one[1], one[3]))
        covered = np.zeros(len(signature), dtype=bool)
        chosen: list[tuple[int, int, int]] = []
        for _, start, end, period in found:
            for first, last in _gaps(covered, start, end):
                for stretch in self._consistent(first, last, period):
                    covered[stretch[0] : stretch[0] + stretch[1] * stretch[2]] = True
                    chosen.append(stretch)
        return chosen

    def _consistent(self, start: int, end: int, period: int) -> Iterator[tuple[int, int, int]]:
        """Yield the loops within a stretch: turns that hand values on within them alike."""
        if end - start < 2 * period or end - start - period < _LEAST_SAVED:
            return
        start += self._best_phase(start, period)
        count = (end - start) // period
        if count < 2:
            return
        turns = np.arange(start, start + count * period).reshape(count, period)
        operand = self.operands[turns]  # (count, period, 2)
        at = np.where(operand < 0, -1, self.position[operand])
        within = at - turns[:, :1, None]
        wiring = np.where((within >= 0) & (at >= 0), within, -1).reshape(count, -1)
        same = (wiring[1:] == wiring[:-1]).all(axis=1)
        breaks = [0, *(np.flatnonzero(~same) + 1).tolist(), count]
        for first, last in pairwise(breaks):
            if last - first >= 2 and (last - first - 1) * period >= _LEAST_SAVED:
                yield start + first * period, period, last - first

    def _best_phase(self, start: int, period: int) -> int:
        """Return the position in a period at which the fewest values pass from turn to turn."""
        users = np.arange(start + period, start + 2 * period)
        at = self.position[self.operands[users]]
        at[self.operands[users] < 0] = -1
        user = np.broadcast_to(users[:, None], at.shape)
        used = at > user - period
        # A value made at `a` and used at `b` passes on if the cut is in (a, b].
        crossing = np.zeros(2 * period + 1, dtype=np.int64)
        first = at[used] + 1 - start
        last = user[used] + 1 - start
        inside = first >= 0
        np.add.at(crossing, first[inside], 1)
        np.add.at(crossing, last[inside], -1)
        crossing = np.cumsum(crossing)[: 2 * period].reshape(2, period).sum(axis=0)
        return int(np.argmin(crossing))

    def _rest(self, repeated: list[tuple[int, int, int]]) -> Iterator[tuple[int, int, int]]:
        """Yield the operations that do not repeat consecutively, in pieces of bounded length.

        Equal sequences at several places are cut in the same way, so that these pieces share
        machine code: in a branched tree, bodies with equal joints alternate.
        """
        covered = np.zeros(len(self.where), dtype=bool)
        for start, period, count in repeated:
            covered[start : start + period * count] = True
        cuts = _cuts(self.signature)
        for first, last in _gaps(covered, 0, len(covered)):
            ends = [first, *cuts[(cuts > first) & (cuts < last)].tolist(), last]
            for start, end in pairwise(ends):
                parts = -(-(end - start) // _LONGEST)
                for one, other in pairwise(
                    np.linspace(start, end, parts + 1).astype(int).tolist()
                ):
                    yield one, other - one, 1

    def _place_values(self, stretches: list[tuple[int, int, int]]) -> NDArray[np.bool_]:
        """Give places in the frame to the values that are kept; return which those are."""
        turn = np.empty(len(self.where), dtype=np.int64)
        turns = 0
        for start, period, count in stretches:
            turn[start : start + period * count] = turns + np.repeat(np.arange(count), period)
            turns += count
        kept = np.zeros(len(self.where), dtype=bool)
        for side in (0, 1):
            at = np.where(self.operands[:, side] < 0, -1, self.position[self.operands[:, side]])
            outside = (at >= 0) & (turn[at] != turn)
            kept[at[outside]] = True
        for start, period, count in stretches:
            if count > 1:
                part = kept[start : start + period * count].reshape(count, period)
                part[:] = part.any(axis=0)
        self.place[self.where] = np.cumsum(kept) - 1
        self.frame = int(kept.sum())
        return kept

    def _piece(
        self, start: int, period: int, count: int, kept: NDArray[np.bool_], alike: list[int]
    ) -> Piece:
        """Return one stretch as a piece; stretches that begin at `alike` are like it."""
        nodes: list[Node] = []
        made: list[int] = []
        known: dict[tuple[int, bytes], int] = {}
        operands: list[Access] = []
        results: list[list[Access]] = []
        values: list[int | float] = []
        turns = np.arange(start, start + count * period).reshape(count, period)
        operand = self.operands[turns]
        others = self.operands[np.array(alike)[:, None] + np.arange(period)]
        # Operands of the first turn: as nodes, and as positions in the turn.
        first = self.operands[turns[0]]
        within = np.where(self.memory[first] == FRAME, self.position[first] - start, -1)
        steps = zip(first.tolist(), within.tolist(), strict=True)

        def outside(step: int, side: int) -> int:
            of_turns = operand[:, step, side]
            memory = int(self.memory[of_turns[0]])
            places = self.place[of_turns]
            if memory == CONSTANTS:
                numbers = [self.program.nodes[i].left for i in of_turns.tolist()]
                every = {self.program.nodes[i].left for i in others[:, step, side].tolist()}
                if len(every.union(numbers)) == 1:
                    return literal(numbers[0])
                key = (memory, np.array(numbers).tobytes())
            else:
                key = (memory, places.tobytes())
            if key not in known:
                if memory == CONSTANTS:
                    places = np.arange(len(self.constants), len(self.constants) + count)
                    self.constants += numbers
                known[key] = len(nodes)
                nodes.append(Node(INPUT, 0, len(operands)))
                operands.append(Access(memory, places))
            return known[key]

        def literal(number: float) -> int:
            key = (-1, np.float64(number).tobytes())
            if key not in known:
                known[key] = len(nodes)
                nodes.append(Node(CONSTANT, number, None))
            return known[key]

        kinds = self.kinds[self.where[turns[0]]].tolist()
        for step, of_step in enumerate(steps):
            sides: list[int | None] = []
            for side, (index, at) in enumerate(zip(*of_step, strict=True)):
                if index < 0:
                    sides.append(None)
                else:
                    sides.append(made[at] if at >= 0 else outside(step, side))
            made.append(len(nodes))
            nodes.append(Node(kinds[step], *sides))
            accesses = self._written(turns[:, step], bool(kept[turns[0, step]]))
            if accesses:
                values.append(made[-1])
                results.append(accesses)
        ports = Ports("piece", (("x", (len(operands),)),), (("y", (len(values),)),), 0)
        return Piece(Program(ports, tuple(nodes), tuple(values)), count, operands, results)

    def _written(self, turns: Whole, kept: bool) -> list[Access]:
        """Return the access of a written value in every turn."""
        nodes = self.where[turns]
        accesses = [Access(FRAME, self.place[nodes])] if kept else []
        for number, (port, _) in enumerate(self.targets.get(int(nodes[0]), [])):
            elements = [self.targets[node][number][1] for node in nodes.tolist()]
            accesses.append(Access(PORTS + port, np.array(elements, dtype=np.int64)))
        return accesses


def _hashes(signature: Whole) -> NDArray[np.uint64]:
    """Return a number for each window of operations, equal for equal ones."""
    window = np.zeros(max(len(signature) - _WINDOW + 1, 0), dtype=np.uint64)
    for shift in range(_WINDOW):
        step = signature[shift : shift + len(window)].astype(np.uint64)
        window = window * np.uint64(0x9E3779B97F4A7C15) + step + np.uint64(1)
    return window * np.uint64(0xFF51AFD7ED558CCD)


def _cuts(signature: Whole) -> Whole:
    """Return positions that depend on the operations near them alone, at least so far apart."""
    window = _hashes(signature)
    if len(window) <= 2 * _LEAST_CUT:
        return np.empty(0, dtype=np.int64)
    around = np.lib.stride_tricks.sliding_window_view(window, 2 * _LEAST_CUT + 1)
    return np.flatnonzero(around.min(axis=1) == window[_LEAST_CUT:-_LEAST_CUT]) + _LEAST_CUT


def _periods(signature: Whole) -> list[int]:
    """Return the distances at which windows of operations recur often."""
    window = _hashes(signature)
    order = np.argsort(window, kind="stable")
    recurs = window[order[1:]] == window[order[:-1]]
    distances = np.diff(order)[recurs]
    counts = Counter(dict(zip(*np.unique(distances, return_counts=True), strict=True)))
    return [
        int(distance)
        for distance, count in counts.most_common(200)
        if count >= max(distance, _LEAST_SAVED) // 2
    ]


def _gaps(covered: NDArray[np.bool_], start: int, end: int) -> list[tuple[int, int]]:
    """Return the intervals between two positions that are not covered."""
    starts, ends = _stretches(~covered[start:end])
    return list(zip((starts + start).tolist(), (ends + start).tolist(), strict=True))


def _stretches(holds: NDArray[np.bool_]) -> tuple[Whole, Whole]:
    """Return the starts and the ends of the stretches in which a condition holds."""
    padded = np.concatenate([[False], holds, [False]])
    edges = np.flatnonzero(padded[1:] != padded[:-1])
    return edges[::2], edges[1::2]


def _ranks(numbers: Whole) -> Whole:
    """Return the place of each number among the different ones, in their order."""
    return np.unique(numbers, return_inverse=True)[1].reshape(-1)
