"""Runs code as a notebook does, and shows what came of it: the value of a last expression, errors, figures."""

import ast
import contextlib
import io
import linecache
import sys
import traceback
from dataclasses import dataclass
from types import CodeType
from typing import Any

FRAMES = 20
LONGEST_TRACEBACK = 8_000
FILE_NAME = "<run {}>"
LONGEST_VALUE = 20_000
MOST_FIGURES = 10
LARGEST_FIGURE = 3 << 20
ROWS, COLUMNS, WIDTH = 30, 30, 160


@dataclass(frozen=True)
class Raised:
    """An error that ended the code."""

    type: str
    message: str
    traceback: str


class Notebook:
    """Runs code in a namespace that outlives it: each run sees what the runs before it left."""

    def __init__(self, namespace: dict[str, Any]) -> None:
        self._namespace = namespace
        self._count = 0

    def run(self, code: str) -> object:
        """Run the code. Return the value of its last expression, if it ends with one. Errors of the code are raised."""
        self._count += 1
        name = FILE_NAME.format(self._count)
        linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
        body, last = _compiled(code, name)
        exec(body, self._namespace)  # noqa: S102 (the wall is there for this)
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
    """The error, with the frames of the caller's own code only."""
    whole = traceback.TracebackException.from_exception(error, compact=True)
    _trim(whole, set())
    text = "".join(whole.format())
    if len(text) > LONGEST_TRACEBACK:
        text = f"{text[: LONGEST_TRACEBACK // 2]}\n…\n{text[-LONGEST_TRACEBACK // 2 :]}"
    return Raised(type(error).__name__, _message(error)[: LONGEST_TRACEBACK // 2], text)


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


def show_widely() -> None:
    """Show tables as wide as a model can read, not as narrow as a terminal."""
    pandas: Any = sys.modules.get("pandas")
    if pandas is not None:
        for name, value in {"width": WIDTH, "max_columns": COLUMNS, "max_rows": ROWS, "min_rows": ROWS}.items():
            pandas.set_option(f"display.{name}", value)


def described(value: object) -> dict[str, str] | None:
    """The value's type and its text, as interactive Python shows it; None for None."""
    if value is None:
        return None
    text = repr(value)
    if len(text) > LONGEST_VALUE:
        text = f"{text[:LONGEST_VALUE]}… ({len(text):,} characters)"
    return {"type": type(value).__name__, "text": text}


def prepare_figures() -> None:
    """Let `plt.show()` do nothing: figures that are open at the end of a run are shown."""
    pyplot: Any = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.show = _show


def _show(*_: object, **__: object) -> None:
    """Replaces matplotlib's."""


def figures() -> list[bytes]:
    """Close the open figures, and return them as PNG."""
    pyplot: Any = sys.modules.get("matplotlib.pyplot")
    if pyplot is None:
        return []
    drawn: list[bytes] = []
    for number in pyplot.get_fignums()[:MOST_FIGURES]:
        image = io.BytesIO()
        # A figure that cannot be drawn is left out; the run does not fail for it.
        with contextlib.suppress(Exception):
            pyplot.figure(number).savefig(image, format="png", dpi=100, bbox_inches="tight")
            if image.tell() <= LARGEST_FIGURE:
                drawn.append(image.getvalue())
    pyplot.close("all")
    return drawn
