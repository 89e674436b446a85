"""Runs code as a notebook does, and shows what came of it: the value of a last expression, errors, figures."""

import contextlib
import errno
import io
import linecache
import os
import re
import sys
import traceback
from ast import Expr, Expression, PyCF_ALLOW_TOP_LEVEL_AWAIT, parse
from dataclasses import dataclass
from types import CodeType, CoroutineType
from typing import Any, cast

from loci.sandbox.inside.messages import Overrides, text_of, type_name

FRAMES = 20
MOST_CHAINED = 20
"""Errors of a chain that are shown. Of a longer chain only the last error is shown."""
LONGEST_TRACEBACK = 8_000
FILE_START, TOP = "<run ", "<module>"
FILE_NAME = FILE_START + "{}>"
AWAITS = PyCF_ALLOW_TOP_LEVEL_AWAIT
LONGEST_VALUE = 20_000
MOST_FIGURES = 10
LARGEST_FIGURE = 3 << 20
ROWS, COLUMNS, WIDTH = 30, 30, 160
REFUSED = {
    "subprocess": "it starts no programs. Use Python's own modules and the packages that are installed",
    "socket": "it has no network. Use the stored files: get_memory_path(memory_id) returns the path of one",
    "multiprocessing/synchronize": "it starts no processes. Use concurrent.futures.ThreadPoolExecutor, or n_jobs=1",
    "multiprocessing/context": "it starts no processes. Use concurrent.futures.ThreadPoolExecutor, or n_jobs=1",
}
"""Advice by the module that the code was in when the system refused something."""
PARSER_LIMITS = (MemoryError, RecursionError)
"""Errors that the parser raises if code is too deep for it, however much memory there is."""
TOO_DEEP = "the code is nested too deeply for the parser"
READS_CODE = re.compile(r"(?:\w+\.)?(?:eval|exec|compile|parse|literal_eval)\(")
PARSER_ROOM, ROOM_PER_CHARACTER = 1 << 20, 100
"""Bytes that the parser takes at most, for any code and for each of its characters."""
REFUSED_ELSE = (
    "it starts no programs, opens no connections and reaches no other process. "
    "Use concurrent.futures.ThreadPoolExecutor for work at once"
)


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
        self._overrides = Overrides()

    def run(self, code: str) -> object:
        """Run the code. Return the value of its last expression, if it ends with one. Errors of the code are raised."""
        self._count += 1
        name = FILE_NAME.format(self._count)
        with contextlib.suppress(Exception):  # the code may have taken it for something else
            linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
        body, last = _compiled(code, name)
        try:
            self._overrides.apply()
            _settled(_eval(body, self._namespace))
            return None if last is None else _settled(_eval(last, self._namespace))
        finally:
            try:
                _set_trace(None)  # else it is told of each line here, too, and may raise
                _set_profile(None)
            except _AnyError:
                pass
            self._overrides.remove()


# The caller's code may replace each of these while it runs.
_eval, _type, _AnyError = eval, type, BaseException
_set_trace, _set_profile = sys.settrace, sys.setprofile


def _settled(value: Any) -> Any:
    """The value; of code that awaits at its top level, what it comes to."""
    code: Any = value.cr_code if _type(value) is CoroutineType else None
    if code is None or code.co_name != TOP or not code.co_filename.startswith(FILE_START):
        return cast("Any", value)
    import asyncio  # it takes a while, and few need it

    return asyncio.run(cast("Any", value))


def _compiled(code: str, name: str) -> tuple[CodeType, CodeType | None]:
    try:
        tree = parse(code, name)
        last: CodeType | None = None
        if tree.body and isinstance(tree.body[-1], Expr):
            expression = tree.body.pop()
            assert isinstance(expression, Expr)  # noqa: S101
            last = compile(Expression(expression.value), name, "eval", AWAITS, dont_inherit=True)
        return compile(tree, name, "exec", AWAITS, dont_inherit=True), last
    except PARSER_LIMITS as error:
        if isinstance(error, MemoryError) and _is_memory_short(len(code)):
            raise MemoryError from None
        lines = code.splitlines()
        line = max(range(len(lines)), key=lambda at: len(lines[at]))  # most code that is too deep is one long line
        place = (name, line + 1, 1, lines[line][:200])
        raise SyntaxError(TOO_DEEP, place) from None


def _is_memory_short(characters: int) -> bool:
    """True if the parser cannot have the memory that code of this length takes."""
    try:
        return not bytes(PARSER_ROOM + ROOM_PER_CHARACTER * characters)
    except MemoryError:
        return True


def is_of_parser(error: BaseException) -> bool:
    """True if it is from reading a text as code, which is too deep. The parser says so by an error of memory."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    if at is None or _is_memory_short(0):
        return False
    code = at.tb_frame.f_code
    if code.co_filename.endswith("/ast.py") and code.co_name == "parse":
        return True
    line, _, column, _ = list(code.co_positions())[at.tb_lasti // 2]
    text = linecache.getline(code.co_filename, line or 0).encode()[column or 0 :]
    return READS_CODE.match(text.decode("utf-8", "replace")) is not None


def raised(error: BaseException) -> Raised:
    """The error, with the frames of the caller's own code only."""
    message = text_of(error)[: LONGEST_TRACEBACK // 2]
    try:
        text = _traceback(error)
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 (its class, or what it refers to, is the caller's)
        text = f"{type_name(error)}: {message}"
    if len(text) > LONGEST_TRACEBACK:
        text = f"{text[: LONGEST_TRACEBACK // 2]}\n…\n{text[-LONGEST_TRACEBACK // 2 :]}"
    return Raised(type_name(error), message + _advice(error), text)


def _traceback(error: BaseException) -> str:
    chained, one = {id(error)}, error
    while len(chained) <= MOST_CHAINED:
        before = one.__cause__ or (None if one.__suppress_context__ else one.__context__)
        if before is None or id(before) in chained:
            break
        chained.add(id(before))
        one = before
    if len(chained) > MOST_CHAINED:
        return f"(more than {MOST_CHAINED} errors led to this one)\n{type_name(error)}: {text_of(error)}\n"
    whole = traceback.TracebackException.from_exception(error, compact=True)
    _trim(whole, set())
    return "".join(whole.format())


def _trim(whole: traceback.TracebackException, seen: set[int]) -> None:
    if id(whole) in seen:
        return
    seen.add(id(whole))
    own = [frame for frame in whole.stack if frame.filename.startswith("<run ")]
    whole.stack = traceback.StackSummary.from_list(own[-FRAMES:])
    for other in (whole.__cause__, whole.__context__, *(getattr(whole, "exceptions", None) or ())):
        if other is not None:
            _trim(other, seen)


def _advice(error: BaseException) -> str:
    """Return the advice for an error: the thing that a sandbox refuses, and what to do instead."""
    if not isinstance(error, OSError):
        return ""
    files = ""
    for one in (error, error.__cause__, error.__context__):
        at = one.__traceback__ if one is not None else None
        while at is not None:
            files += f"{at.tb_frame.f_code.co_filename}\n"
            at = at.tb_next
    for module, advice in REFUSED.items():
        if f"/{module}.py\n" in files:
            return f" (this is a sandbox: {advice})"
    return f" (this is a sandbox: {REFUSED_ELSE})" if error.errno == errno.EPERM and error.filename is None else ""


def explain_programs() -> None:
    """Let `os.system`, which raises nothing, say why it starts no program."""
    real = os.system  # pyright: ignore[reportDeprecated]

    def system(command: str) -> int:
        """Execute the command in a subshell."""
        status = real(command)
        if status:
            sys.stderr.write(f"os.system: this is a sandbox: {REFUSED['subprocess']}\n")
        return status

    os.system = system


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
    text = "".join(repr(value))  # its class may make a text of another kind
    if len(text) > LONGEST_VALUE:
        text = f"{text[:LONGEST_VALUE]}… ({len(text):,} characters)"
    return {"type": type_name(value), "text": text}


def prepare_figures() -> None:
    """Let `plt.show()` do nothing: figures that are open at the end of a run are shown."""
    pyplot: Any = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.show = _show


def _show(*_: object, **__: object) -> None:
    """Replaces matplotlib's."""


def figures() -> list[bytes]:
    """Close the open figures, and return them as PNG."""
    drawn: list[bytes] = []
    pyplot: Any = sys.modules.get("matplotlib.pyplot")
    if pyplot is None:
        return drawn
    try:
        for number in pyplot.get_fignums()[:MOST_FIGURES]:
            image = io.BytesIO()
            # A figure that cannot be drawn is left out; the run does not fail for it.
            with contextlib.suppress(Exception):
                pyplot.figure(number).savefig(image, format="png", dpi=100, bbox_inches="tight")
                if image.tell() <= LARGEST_FIGURE:
                    drawn.append(image.getvalue())
        pyplot.close("all")
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 (the code may have put anything in its place)
        return drawn
    return drawn
