"""Finds the stored files that a file comes from: files that its code read, or the code that made its variables."""

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import cast

from loci.core.json import Json, JsonObject

Names = set[str]


@dataclass(slots=True)
class CodeFlow:
    """The names that connect a piece of code with the code before and after it."""

    needs: Names = field(default_factory=set[str])
    """The names that it reads before it gives them a value."""
    gives: Names = field(default_factory=set[str])
    """The names whose values it sets or changes. Modules hold no data of files."""
    replaces: Names = field(default_factory=set[str])
    """The names that have nothing of their older values then."""
    texts: Names = field(default_factory=set[str])
    """The texts in it: some may be names of files."""


def inputs_of(file: str, runs: Iterable[JsonObject]) -> JsonObject:
    """The run that wrote the file last, and the stored files that its code and the code before it read for that.

    If no run is known to have written it, all files that were read are named.
    """
    past = [*runs]
    last = max((at for at, one in enumerate(past) if file in _texts(one, "files")), default=None)
    if last is None:
        found: JsonObject = {"code": None, "code_sha256": None, "made_at": None}
        return {**found, "inputs": _inputs(past)}
    run = past[last]
    used, flow = [run], flow_of(str(run["code"]))
    for earlier in reversed(past[:last]):
        if flow is None:
            used.append(earlier)
            continue
        before = flow_of(str(earlier["code"]))
        is_read = any(one.rpartition("/")[2] in flow.texts or one in flow.texts for one in _texts(earlier, "files"))
        if before is None or is_read or before.gives & flow.needs:
            used.append(earlier)
            flow = before and CodeFlow((flow.needs - before.replaces) | before.needs, texts=flow.texts | before.texts)
    return {**{name: run.get(name) for name in ("code", "code_sha256", "made_at")}, "inputs": _inputs(used[::-1])}


def flow_of(code: str) -> CodeFlow | None:
    """Find the names that the code needs and gives; None if it cannot be parsed."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    whole, modules = CodeFlow(), set[str]()
    for statement in tree.body:
        one = CodeFlow(replaces={*_targets(statement)})
        for node in ast.walk(statement):
            modules |= _look(node, one)
        whole.needs |= one.needs - whole.replaces
        whole.replaces |= one.replaces
        whole.gives |= one.gives
        whole.texts |= one.texts
    whole.gives -= modules
    return whole


def _look(node: ast.AST, flow: CodeFlow) -> Names:
    """Add what this part of the code needs and gives, and return the names of modules that it imports."""
    match node:
        case ast.Name(id=name, ctx=ast.Load()):
            flow.needs.add(name)
        case ast.Name(id=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            flow.gives.add(name)
        case ast.AugAssign(target=ast.Name(id=name)):
            flow.needs.add(name)
        case ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Subscript(ctx=ast.Store() | ast.Del()):
            flow.gives |= _base(node)
        case ast.Expr(value=ast.Call(func=ast.Attribute() as called)):  # as rows.append(row): its value is not used
            flow.gives |= _base(called)
        case ast.Constant(value=str(text)):
            flow.texts |= {text, text.rpartition("/")[2]}
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return {(one.asname or one.name).partition(".")[0] for one in names}
        case _:
            pass
    return set()


def _base(node: ast.AST) -> Names:
    """The variable that an attribute or an item belongs to."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return {node.id} if isinstance(node, ast.Name) else set()


def _targets(statement: ast.stmt) -> Iterator[str]:
    """The variables to which a statement gives new values, whatever they were before."""
    match statement:
        case ast.Assign(targets=targets):
            pass
        case ast.AnnAssign(target=target, value=ast.expr()):
            targets = [target]
        case _:
            return
    for target in targets:
        parts: Sequence[ast.expr] = target.elts if isinstance(target, ast.Tuple | ast.List) else (target,)
        yield from (one.id for one in parts if isinstance(one, ast.Name))


def _texts(run: JsonObject, name: str) -> list[str]:
    return cast("list[str]", run.get(name) or [])


def _inputs(runs: Iterable[JsonObject]) -> list[Json]:
    """The stored files that these runs read, each version once."""
    read = (one for run in runs for one in cast("list[JsonObject]", run.get("inputs") or []))
    return [*{f"{one['id']}/{one['sha256']}": one for one in read}.values()]
