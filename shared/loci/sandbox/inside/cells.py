"""One run of code in a namespace that outlives it."""

import ast
import linecache
import traceback
from dataclasses import dataclass
from types import CodeType
from typing import Any

FRAMES = 20
LONGEST = 8_000
NAME = "<run {}>"


@dataclass(frozen=True)
class Raised:
    """What the code ended with."""

    type: str
    message: str
    traceback: str


class Cells:
    """Runs code as a notebook does: each run sees what the ones before it have left."""

    def __init__(self, namespace: dict[str, Any]) -> None:
        self._namespace = namespace
        self._count = 0

    def run(self, code: str) -> object:
        """The value of the last expression, if the code ends with one. What the code raises goes through."""
        self._count += 1
        name = NAME.format(self._count)
        linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
        body, last = _compiled(code, name)
        exec(body, self._namespace)  # noqa: S102 (this is what the wall is for)
        return None if last is None else eval(last, self._namespace)  # noqa: S307


def _compiled(code: str, name: str) -> tuple[CodeType, CodeType | None]:
    tree = ast.parse(code, name)
    last: CodeType | None = None
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        expression = tree.body.pop()
        assert isinstance(expression, ast.Expr)  # noqa: S101
        last = compile(ast.Expression(expression.value), name, "eval", dont_inherit=True)
    return compile(tree, name, "exec", dont_inherit=True), last


def raised(error: BaseException) -> Raised:
    """The error with the frames of the caller's own code, and no others."""
    whole = traceback.TracebackException.from_exception(error, compact=True)
    _trim(whole, set())
    text = "".join(whole.format())
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]}\n…\n{text[-LONGEST // 2 :]}"
    return Raised(type(error).__name__, _message(error)[: LONGEST // 2], text)


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except BaseException:  # noqa: BLE001 (it is the caller's)
        return "(its text cannot be made)"


def _trim(whole: traceback.TracebackException, seen: set[int]) -> None:
    if id(whole) in seen:
        return
    seen.add(id(whole))
    own = [frame for frame in whole.stack if frame.filename.startswith("<run ")]
    whole.stack = traceback.StackSummary.from_list(own[-FRAMES:])
    for other in (whole.__cause__, whole.__context__, *(getattr(whole, "exceptions", None) or ())):
        if other is not None:
            _trim(other, seen)
