# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Machine code of routines: from the source of a function to LLVM's assembly language.

A routine's parameters in LLVM are those of the function that are no records, then the fields of
records that it uses, each in the place of its first use. Records themselves have no code: what is
used of one is named by a path, `step.trial.h`, from a parameter on.
"""

from __future__ import annotations

import ast
import inspect
import struct
import textwrap
from collections.abc import Callable
from functools import cached_property
from typing import Any, NoReturn

from robot_dynamics.compile.emission import ENTRY
from robot_dynamics.compile.errors import CompilerError
from robot_dynamics.compile.records import ARRAYS, NUMBERS, class_of, fields_of, kind_of
from robot_dynamics.compile.writer import Writer

#: Words of a function of up to four pointers, and its arguments; its result is ignored.
CALL_WORDS = 5
# LLVM's time grows faster than the length of a function, so that longer ones are not put into
# those that call them [characters].
_LONG = 8000
_ALIGN = {"double": 8, "i64": 8, "i8": 1, "i1": 1}
_FLOAT = {ast.Add: "fadd contract", ast.Sub: "fsub contract", ast.Mult: "fmul contract",
          ast.Div: "fdiv"}  # fmt: skip
_WHOLE = {ast.Add: "add nsw", ast.Sub: "sub nsw", ast.Mult: "mul nsw",
          ast.FloorDiv: "sdiv", ast.Mod: "srem"}  # fmt: skip
_ORDER = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne"}

# Local arrays of routines: not on the stack, which has only half a megabyte in threads of some
# systems. They begin at cache lines, after the address of the memory to free, and are zero.
_HEAP = """
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare ptr @malloc(i64)
declare void @free(ptr)
define internal noalias align 64 ptr @array.new(i64 %length) noinline nounwind {
  %size = mul nsw i64 %length, 8
  %room = add nsw i64 %size, 72
  %own = call ptr @malloc(i64 %room)
  %from = ptrtoint ptr %own to i64
  %behind = add nsw i64 %from, 72
  %line = and i64 %behind, -64
  %array = inttoptr i64 %line to ptr
  %head = getelementptr i8, ptr %array, i64 -8
  store ptr %own, ptr %head, align 8
  call void @llvm.memset.p0.i64(ptr align 64 %array, i8 0, i64 %size, i1 0)
  ret ptr %array
}
define internal void @array.free(ptr %array) noinline nounwind {
  %absent = icmp eq ptr %array, null
  br i1 %absent, label %done, label %present
present:
  %head = getelementptr i8, ptr %array, i64 -8
  %own = load ptr, ptr %head, align 8
  call void @free(ptr %own)
  br label %done
done:
  ret void
}
"""

Value = tuple[str, str]  # LLVM's type, and the name or constant


class Source:
    """The source of a routine.

    Attributes:
        function: The Python function.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__name__, self.__doc__ = function.__name__, function.__doc__

    @cached_property
    def tree(self) -> Any:
        """The function, parsed."""
        return ast.parse(textwrap.dedent(inspect.getsource(self.function))).body[0]


def code_of(entry: Source) -> tuple[str, list[tuple[str, str]], str]:
    """Return a routine and all that it calls as a module, its parameters, and its result's type.

    The module's entry takes the address of a table with one word for each of LLVM's parameters.
    Parameters are names or paths, with kinds.

    Raises:
        CompilerError: If the function is not supported.
    """
    functions, body = functions_of(entry)
    writer = Writer()
    words, at = [], 0
    for kind in body.parameters.values():
        for of in types_of(kind):
            words.append(f"{of} {writer.load(of, writer.offset('%table', 8 * at))}")
            at += 1
    call = f"call {body.result} @{entry.__name__}({', '.join(words)})"
    if body.result == "void":
        writer.do(call)
        writer.do("ret void")
    else:
        writer.do(f"ret {body.result} {writer.emit(call)}")
    text = "\n".join(
        [
            functions,
            f"define {body.result} @{ENTRY}(ptr %table) {{\nentry:",
            *writer.lines,
            "}\n",
        ]
    )
    return text, list(body.parameters.items()), body.result


def functions_of(entry: Source) -> tuple[str, _Body]:
    """Return a routine and all that it calls as text, with declarations, and its own body."""
    functions: dict[Source, _Body | None] = {}
    body = _compiled(entry, functions)
    sqrt, fabs = (f"declare double @llvm.{name}.f64(double)" for name in ("sqrt", "fabs"))
    texts = [each.text for each in functions.values() if each is not None]
    return "\n".join([sqrt, fabs, _HEAP, *texts]), body


def _compiled(of: Source, functions: dict[Source, _Body | None]) -> _Body:
    """Return the body of a routine, written when it is first needed."""
    if of not in functions:
        functions[of] = None
        functions[of] = _Body(of, functions)
    found = functions[of]
    if found is None:
        raise CompilerError(f"{of.__name__}: it calls itself, expected a loop.")
    return found


def types_of(kind: str) -> list[str]:
    """Return LLVM's types of the arguments of a parameter."""
    if kind == "Call":
        return ["ptr"] * CALL_WORDS
    return ["ptr", *["i64"] * ARRAYS[kind][2]] if kind in ARRAYS else [NUMBERS[kind]]


def _name(node: ast.AST | None) -> str:
    """Return the name of a variable, or the path to a field as it is written; else nothing."""
    if isinstance(node, ast.Attribute):
        return f"{_name(node.value)}.{node.attr}"
    return getattr(node, "id", "")


class _Body:
    """Writes one function: locals live in memory, which LLVM turns into registers.

    Attributes:
        parameters: Kinds by names and paths, in the order of LLVM's parameters.
        result: LLVM's type of the result.
        text: The function.
    """

    def __init__(self, of: Source, functions: dict[Source, _Body | None]) -> None:
        self._of, self._functions, self._writer = of, functions, Writer()
        returns = of.tree.returns
        nothing = returns is None or isinstance(returns, ast.Constant)
        self.result = "void" if nothing else NUMBERS[returns.id]
        self.parameters: dict[str, str] = {}
        # By names or paths: records, each its class; arrays, each its element, lengths and
        # pointer; functions, each with its arguments; numbers that stay; types of locals.
        self._records: dict[str, Any] = {}
        self._arrays: dict[str, tuple[str, list[str], str]] = {}
        self._calls: dict[str, list[str]] = {}
        self._fixed: dict[str, Value] = {}
        self._kinds: dict[str, str] = {}
        self._short: dict[str, str] = {}  # paths of shorter names of records and arrays
        self._loops: list[tuple[str, str]] = []  # where `continue` and `break` go
        self._own: list[str] = []  # arrays that are freed where it returns
        self._open = True  # whether the basic block goes on
        for parameter in of.tree.args.args:
            name, kind = parameter.arg, parameter.annotation.id
            record = of.function.__globals__.get(kind)
            if fields_of(record):
                self._records[name] = record
            else:
                self._declare(name, kind)
        self._block(of.tree.body)
        if self._open:
            self._leave()
            self._writer.do("ret void" if self.result == "void" else "unreachable")
        locals_ = [f"  %{name}.l = alloca {kind}" for name, kind in self._kinds.items()]
        for name in self._own:
            locals_ += [f"  %{name}.own = alloca ptr", f"  store ptr null, ptr %{name}.own"]
        # A called function can change arrays.
        pointer = "ptr" if self._calls else "ptr noalias"
        signature = []
        for name, kind in self.parameters.items():
            if kind in ARRAYS:
                signature += [f"{pointer} %{name}.a", *map("i64 {}".format, self._arrays[name][1])]
            else:
                signature += self._calls.get(name) or [f"{NUMBERS[kind]} %{name}.a"]
        body = "\n".join(["entry:", *locals_, *self._writer.lines, "}"])
        inline = "noinline " if len(body) > _LONG else ""
        head = f"define internal {self.result} @{of.__name__}({', '.join(signature)})"
        self.text = f"{head} {inline}nounwind {{\n{body}"

    def _declare(self, name: str, kind: str) -> None:
        """Add a parameter, or a field of a record as one."""
        if kind in ARRAYS:
            lengths = [f"%{name}.{axis}" for axis in range(ARRAYS[kind][2])]
            self._arrays[name] = ARRAYS[kind][0], lengths, f"%{name}.a"
        elif kind == "Call":
            self._calls[name] = [f"ptr %{name}.{i}" for i in range(CALL_WORDS)]
        elif kind not in NUMBERS:
            raise CompilerError(
                f"{self._of.__name__}: {name} is of type {kind}, expected an array, a number or a "
                "call."
            )
        elif "." in name:
            self._fixed[name] = NUMBERS[kind], f"%{name}.a"
        else:
            self._assign(name, (NUMBERS[kind], f"%{name}.a"))
        self.parameters[name] = kind

    def _path(self, name: str) -> str:
        """Return the path that a name stands for; a field of a record becomes a parameter."""
        first, *rest = name.split(".")
        path = ".".join([self._short.get(first, first), *rest])
        at, *fields = path.split(".")
        record: Any = self._records.get(at)
        if record is None or path in self.parameters:
            return path
        kind = ""
        for field in fields:
            if record is None:
                return path
            if field not in fields_of(record):
                raise CompilerError(
                    f"{self._of.__name__}: {record.__name__} has no field {field!r}, expected one "
                    f"of {', '.join(fields_of(record))}."
                )
            kind, record = kind_of(record, field), class_of(record, field)
        if record is None:
            self._declare(path, kind)
        else:
            self._records[path] = record
        return path

    def _refuse(self, node: ast.AST) -> NoReturn:
        raise CompilerError(
            f"{self._of.__name__}: a routine cannot have {ast.unparse(node)!r}, expected the "
            "syntax listed in `compile.routine`."
        )

    # Statements.

    def _block(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            if not self._open:
                self._refuse(statement)
            getattr(self, f"_{type(statement).__name__}", self._refuse)(statement)

    def _label(self, name: str) -> None:
        self._writer.label(name)
        self._open = True

    def _jump(self, label: str) -> None:
        if self._open:
            self._writer.jump(label)
        self._open = False

    def _Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self._value(node.value)

    def _Pass(self, node: ast.Pass) -> None:
        pass

    def _Assign(self, node: ast.Assign) -> None:
        if len(node.targets) > 1:  # a = b = x
            self._refuse(node)
        call: Any = node.value
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "zeros":
            self._array(node, call)
            return
        target = node.targets[0]
        pairs = [(target, call)]
        if isinstance(target, ast.Tuple) and isinstance(call, ast.Tuple):
            pairs = list(zip(target.elts, call.elts, strict=True))
        # Shorter names of records and arrays.
        paths = [self._path(_name(of)) for _, of in pairs]
        stay = [x in self._records or bool(self._arrays.get(x, ("", [], ""))[1]) for x in paths]
        values = [self._value(of) for (_, of), own in zip(pairs, stay, strict=True) if not own]
        for (part, _), own in zip(pairs, stay, strict=True):
            if not own:
                self._store(part, values.pop(0))
        for (part, _), path, own in zip(pairs, paths, stay, strict=True):
            if own:
                if self._loops or _name(part) in ("", *self._short, *self._arrays, *self._kinds):
                    self._refuse(node)
                self._short[_name(part)] = path

    def _array(self, node: ast.Assign, call: ast.Call) -> None:
        """Write an array of the function's own."""
        name = getattr(node.targets[0], "id", "")
        if self._loops or not name or name in self._arrays:
            self._refuse(node)
        lengths = [self._as("i64", self._value(argument)) for argument in call.args]
        size = lengths[0]
        for length in lengths[1:]:
            size = self._writer.emit(f"mul nsw i64 {size}, {length}")
        self._writer.do(f"%{name}.a = call align 64 ptr @array.new(i64 {size})")
        self._writer.store("ptr", f"%{name}.a", f"%{name}.own", 8)
        self._own.append(name)
        self._arrays[name] = "double", lengths, f"%{name}.a"

    def _AugAssign(self, node: ast.AugAssign) -> None:
        target: Any = node.target
        self._store(target, self._value(ast.BinOp(target, node.op, node.value)))

    def _store(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name) and target.id not in self._short:
            self._assign(target.id, value)
        elif isinstance(target, ast.Subscript | ast.Attribute):
            element, pointer = self._element(target)
            if element == "i8":
                value = "i8", self._writer.emit(f"zext i1 {self._truth(value)} to i8")
            self._writer.store(element, self._as(element, value), pointer, _ALIGN[element])
        else:
            self._refuse(target)

    def _assign(self, name: str, value: Value) -> None:
        kind = self._kinds.setdefault(name, value[0])
        self._writer.store(kind, self._as(kind, value), f"%{name}.l", _ALIGN[kind])

    def _If(self, node: ast.If) -> None:
        then, other, after = (self._writer.new_label(x) for x in ("then", "else", "after"))
        self._writer.branch(self._truth(self._value(node.test)), then, other)
        ends = False
        for label, body in ((then, node.body), (other, node.orelse)):
            self._label(label)
            self._block(body)
            ends |= self._open
            self._jump(after)
        self._open = ends
        if ends:
            self._label(after)

    def _While(self, node: ast.While) -> None:
        if node.orelse:
            self._refuse(node)
        head, body, after = (self._writer.new_label(x) for x in ("head", "body", "after"))
        self._jump(head)
        self._label(head)
        self._writer.branch(self._truth(self._value(node.test)), body, after)
        self._label(body)
        self._repeated(node.body, head, after)
        self._jump(head)
        self._label(after)

    def _For(self, node: ast.For) -> None:
        call: Any = node.iter
        if node.orelse or getattr(getattr(call, "func", None), "id", "") != "range":
            self._refuse(node)
        name = getattr(node.target, "id", "")
        ends = [self._as("i64", self._value(a)) for a in call.args]
        start, stop, step = ["0", *ends, "1"] if len(ends) == 1 else [*ends, "1"][:3]
        head, body, following, after = (
            self._writer.new_label(x) for x in ("head", "body", "next", "after")
        )
        counter = f"{name}.{head}"
        self._kinds[counter] = "i64"
        self._assign(counter, ("i64", start))
        self._jump(head)
        self._label(head)
        at = self._writer.load("i64", f"%{counter}.l")
        compared = "sgt" if step.startswith("-") else "slt"
        self._writer.branch(self._writer.emit(f"icmp {compared} i64 {at}, {stop}"), body, after)
        self._label(body)
        self._assign(name, ("i64", at))
        self._repeated(node.body, following, after)
        self._jump(following)
        self._label(following)
        at = self._writer.load("i64", f"%{counter}.l")
        self._assign(counter, ("i64", self._writer.emit(f"add nsw i64 {at}, {step}")))
        self._jump(head)
        self._label(after)

    def _repeated(self, body: list[ast.stmt], following: str, after: str) -> None:
        self._loops.append((following, after))
        self._block(body)
        self._loops.pop()

    def _Break(self, node: ast.Break) -> None:
        self._jump(self._loops[-1][1])

    def _Continue(self, node: ast.Continue) -> None:
        self._jump(self._loops[-1][0])

    def _Return(self, node: ast.Return) -> None:
        if node.value is None:
            self._leave()
            self._writer.do("ret void")
        else:
            value = self._as(self.result, self._value(node.value))
            self._leave()
            self._writer.do(f"ret {self.result} {value}")
        self._open = False

    def _leave(self) -> None:
        """Free the arrays that the function has made."""
        for name in self._own:
            own = self._writer.load("ptr", f"%{name}.own", 8)
            self._writer.do(f"call void @array.free(ptr {own})")

    # Expressions.

    def _value(self, node: ast.expr) -> Value:
        return getattr(self, f"_of_{type(node).__name__}", self._refuse)(node)  # type: ignore[no-any-return]

    def _as(self, kind: str, value: Value) -> str:
        """Return the name of a value as one of another type: whole numbers become real."""
        if value[0] == kind:
            return value[1]
        if (value[0], kind) == ("i64", "double"):
            return self._writer.emit(f"sitofp i64 {value[1]} to double")
        if (value[0], kind) == ("i1", "double"):
            return self._writer.emit(f"uitofp i1 {value[1]} to double")
        raise CompilerError(f"{self._of.__name__}: a value is {value[0]}, expected {kind}.")

    def _truth(self, value: Value) -> str:
        return self._as("i1", value)

    def _common(self, left: Value, right: Value) -> tuple[str, str, str]:
        kind = left[0] if left[0] == right[0] else "double"
        return kind, self._as(kind, left), self._as(kind, right)

    def _of_Constant(self, node: ast.Constant) -> Value:
        return self._constant(node.value, node)

    def _constant(self, value: Any, node: ast.AST) -> Value:
        if isinstance(value, bool):
            return "i1", str(int(value))
        if isinstance(value, int):
            return "i64", str(value)
        if isinstance(value, float):
            bits = int.from_bytes(struct.pack("<d", value), "little")
            return "double", f"0x{bits:016X}"
        self._refuse(node)

    def _of_Name(self, node: ast.Name | ast.Attribute) -> Value:
        name = self._path(_name(node))
        if name in self._fixed:
            return self._fixed[name]
        if name in self._arrays:
            return self._loaded(*self._element(node))
        kind = self._kinds.get(name)
        if kind is None:
            return self._constant(self._of.function.__globals__.get(name), node)
        return kind, self._writer.load(kind, f"%{name}.l", _ALIGN[kind])

    _of_Attribute = _of_Name

    def _of_BinOp(self, node: ast.BinOp) -> Value:
        kind, left, right = self._common(self._value(node.left), self._value(node.right))
        if isinstance(node.op, ast.Div) and kind == "i64":
            kind, left, right = (
                "double",
                self._as("double", (kind, left)),
                self._as("double", (kind, right)),
            )
        operation = (_FLOAT if kind == "double" else _WHOLE).get(type(node.op))
        if operation is None or kind == "i1":
            self._refuse(node)
        return kind, self._writer.emit(f"{operation} {kind} {left}, {right}")

    def _of_UnaryOp(self, node: ast.UnaryOp) -> Value:
        if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
            number: Any = node.operand.value
            return self._constant(-number, node)
        kind, value = self._value(node.operand)
        if isinstance(node.op, ast.Not):
            return "i1", self._writer.emit(f"xor i1 {self._truth((kind, value))}, 1")
        if not isinstance(node.op, ast.USub) or kind == "i1":
            self._refuse(node)
        negate = f"fneg double {value}" if kind == "double" else f"sub nsw i64 0, {value}"
        return kind, self._writer.emit(negate)

    def _of_Compare(self, node: ast.Compare) -> Value:
        if len(node.ops) > 1:
            self._refuse(node)
        kind, left, right = self._common(self._value(node.left), self._value(node.comparators[0]))
        order = _ORDER[type(node.ops[0])]
        if kind == "double":
            how = f"fcmp {'u' if order == 'ne' else 'o'}{order}"
        else:
            how = f"icmp {order if order in ('eq', 'ne') else 's' + order}"
        return "i1", self._writer.emit(f"{how} {kind} {left}, {right}")

    def _of_BoolOp(self, node: ast.BoolOp) -> Value:
        name = self._writer.new_label("both")
        after = self._writer.new_label("known")
        for i, part in enumerate(node.values):
            value = self._value(part)
            self._assign(name, ("i1", self._truth(value)))
            following = self._writer.new_label("also")
            if i == len(node.values) - 1:
                self._jump(after)
            elif isinstance(node.op, ast.And):
                self._writer.branch(value[1], following, after)
                self._label(following)
            else:
                self._writer.branch(value[1], after, following)
                self._label(following)
        self._label(after)
        return self._of_Name(ast.Name(name))

    def _of_IfExp(self, node: ast.IfExp) -> Value:
        then, other, after, name = (
            self._writer.new_label(x) for x in ("then", "else", "after", "chosen")
        )
        self._writer.branch(self._truth(self._value(node.test)), then, other)
        for label, value in ((then, node.body), (other, node.orelse)):
            self._label(label)
            self._assign(name, self._value(value))
            self._jump(after)
        self._label(after)
        return self._of_Name(ast.Name(name))

    def _of_Subscript(self, node: ast.Subscript) -> Value:
        if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            axis: Any = node.slice
            return "i64", self._arrays[self._path(_name(node.value.value))][1][axis.value]
        return self._loaded(*self._element(node))

    def _loaded(self, element: str, pointer: str) -> Value:
        """Return a number that is in memory."""
        value = self._writer.load(element, pointer, _ALIGN[element])
        if element == "i8":
            return "i1", self._writer.emit(f"icmp ne i8 {value}, 0")
        return element, value

    def _element(self, node: ast.expr) -> Value:
        """Return the type of an element of an array, or of a number of a record, and its place."""
        indices: list[ast.expr] = []
        name = self._path(_name(node))
        if isinstance(node, ast.Subscript):
            name, inside = self._path(_name(node.value)), node.slice
            indices = inside.elts if isinstance(inside, ast.Tuple) else [inside]
        if name not in self._arrays:
            self._refuse(node)
        element, lengths, pointer = self._arrays[name]
        if len(indices) != len(lengths):
            self._refuse(node)
        if not indices:
            return element, pointer
        at = ""
        for index, length in zip(indices, lengths, strict=True):
            own = self._as("i64", self._value(index))
            before = self._writer.emit(f"mul nsw i64 {at}, {length}") if at else ""
            at = self._writer.emit(f"add nsw i64 {before}, {own}") if at else own
        return element, self._writer.emit(
            f"getelementptr inbounds {element}, ptr {pointer}, i64 {at}"
        )

    def _of_Call(self, node: ast.Call) -> Value:
        name = self._path(_name(node.func))
        if name == "len" and (array := self._path(_name(node.args[0]))) in self._arrays:
            return "i64", self._arrays[array][1][0]
        if name in self._calls:
            function, *given = self._calls[name]
            self._writer.do(f"call void {function.removeprefix('ptr ')}({', '.join(given)})")
            return "void", ""
        called = self._of.function.__globals__.get(name)
        if isinstance(called, Source):
            return self._called(called, node)
        values = [self._value(argument) for argument in node.args]
        if name == "int" and values[0][0] == "double":
            return "i64", self._writer.emit(f"fptosi double {values[0][1]} to i64")
        if name in ("sqrt", "float", "abs") and len(values) == 1:
            value = self._as("double", values[0])
            if name == "float":
                return "double", value
            name = {"sqrt": "sqrt", "abs": "fabs"}[name]
            return "double", self._writer.emit(f"call double @llvm.{name}.f64(double {value})")
        if name in ("min", "max") and len(values) == 2:
            kind, left, right = self._common(*values)
            order = {"min": "lt", "max": "gt"}[name]
            how = f"fcmp o{order}" if kind == "double" else f"icmp s{order}"
            chosen = self._writer.emit(f"{how} {kind} {right}, {left}")
            return kind, self._writer.emit(f"select i1 {chosen}, {kind} {right}, {kind} {left}")
        self._refuse(node)

    def _called(self, called: Source, node: ast.Call) -> Value:
        body = _compiled(called, self._functions)
        taking = [parameter.arg for parameter in called.tree.args.args]
        if len(taking) != len(node.args):
            raise CompilerError(
                f"{called.__name__}: got {len(node.args)} arguments, expected {len(taking)}."
            )
        given = dict(zip(taking, node.args, strict=True))
        words = []
        for parameter, kind in body.parameters.items():
            first, dot, rest = parameter.partition(".")
            argument = given[first]
            path = self._path(_name(argument) + dot + rest)
            if kind in ARRAYS:
                element, lengths, pointer = self._arrays.get(path, ("", [], ""))
                if (element, len(lengths)) != (ARRAYS[kind][0], ARRAYS[kind][2]):
                    self._refuse(node)
                words += [f"ptr {pointer}", *(f"i64 {length}" for length in lengths)]
            elif kind == "Call":
                words += self._calls.get(path) or self._refuse(node)
            else:
                value = self._fixed[path] if dot else self._value(argument)
                words.append(f"{NUMBERS[kind]} {self._as(NUMBERS[kind], value)}")
        call = f"call {body.result} @{called.__name__}({', '.join(words)})"
        if body.result == "void":
            self._writer.do(call)
            return "void", ""
        return body.result, self._writer.emit(call)
