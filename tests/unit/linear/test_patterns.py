"""Every pattern of the product takes time in proportion to its text. The patterns are found in the source."""

import ast
import importlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import cast

import pytest

import loci
from tests.unit.linear.growth import Read, faulty_growth
from tests.unit.linear.shapes import AROUND, simple_shapes

HOME = Path(loci.__file__).parent
FUNCTIONS = frozenset(("search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn"))
FROM_THE_START = frozenset(("match", "fullmatch"))
BOUNDED = {
    "loci.core.injections._ASKS": 2_000,
    "loci.core.injections._FURTHER": 300,
    "loci.files.search_query.ENTITY": 2_000,
    "loci.graph.statements.": 300,
    **{f"loci.markdown.dates.{name}": 200 for name in ("EDGES", "LABEL", "SEPARATORS")},
    "loci.search.language_stage": 12_000,
    "loci.sessions.places.": 500,
    **{
        f"loci.workflows.{module}.": 4_000
        for module in (
            "binding",
            "intent",
            "planner",
            "proposal",
        )
    },
}
"""Patterns that only see texts of so many characters, because the code cuts them first."""

MADE_LATER = ("loci.core.redaction", "loci.documents.ingest.folder_scan")
"""Modules that make patterns of what a user gives. `test_redaction` and `test_gitignore` try them."""


@dataclass(frozen=True, slots=True)
class Use:
    """One pattern, and how the product uses it."""

    name: str
    pattern: re.Pattern[str] | re.Pattern[bytes]
    methods: frozenset[str]


@cache
def modules() -> dict[Path, list[ast.AST]]:
    """All that is written in each."""
    return {path: [*ast.walk(ast.parse(path.read_text()))] for path in sorted(HOME.rglob("*.py"))}


@cache
def uses() -> tuple[Use, ...]:
    called = dict[str, set[str]]()
    for nodes in modules().values():
        for node in nodes:
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr in FUNCTIONS:
                called.setdefault(node.value.id, set()).add(node.attr)
    return tuple(use for path, nodes in modules().items() for use in _in_module(path, nodes, called))


def _in_module(path: Path, nodes: list[ast.AST], called: dict[str, set[str]]) -> Iterator[Use]:
    name = ".".join(("loci", *path.relative_to(HOME).with_suffix("").parts))
    calls = [node for node in nodes if isinstance(node, ast.Call) and _is_of_re(node.func)]
    if not calls:
        return
    held = dict(_held(importlib.import_module(name)))
    compiled = [call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == "compile"]
    assert len(compiled) <= len(held) or name in MADE_LATER, (
        f"{name} compiles a pattern inside a function: give it a name in the module"
    )
    for called_as, pattern in held.items():
        methods = called.get(called_as.partition("[")[0], set())
        yield Use(f"{name}.{called_as}", pattern, frozenset(methods or {"finditer", "match"}))
    for call in calls:
        assert isinstance(call.func, ast.Attribute)
        if call.func.attr in FUNCTIONS:
            written = call.args[0]
            assert isinstance(written, ast.Constant), f"{name}:{call.lineno} makes a pattern of parts: name it"
            yield Use(f"{name}:{call.lineno}", re.compile(str(written.value)), frozenset((call.func.attr,)))


def _is_of_re(called: ast.expr) -> bool:
    return (
        isinstance(called, ast.Attribute)
        and isinstance(called.value, ast.Name)
        and called.value.id == "re"
        and called.attr in {*FUNCTIONS, "compile"}
    )


def _held(module: object) -> Iterator[tuple[str, re.Pattern[str]]]:
    """The patterns that the module itself makes, also those in its dictionaries."""
    for name, value in vars(module).items():
        if isinstance(value, re.Pattern):
            yield name, value
        elif isinstance(value, dict):
            inner = cast("dict[object, object]", value)
            for key, one in inner.items():
                if isinstance(one, re.Pattern):
                    yield f"{name}[{key!r}]", one


def reader(use: Use) -> Read:
    most = next((most for name, most in BOUNDED.items() if use.name.startswith(name)), None)
    as_bytes = isinstance(use.pattern.pattern, bytes)
    pattern: re.Pattern[str] = use.pattern  # pyright: ignore[reportAssignmentType]

    def read(text: str) -> None:
        given: str = text.encode() if as_bytes else text  # pyright: ignore[reportAssignmentType]
        for part in (given[at : at + most] for at in range(0, len(given), most)) if most else (given,):
            for method in use.methods & FROM_THE_START:
                getattr(pattern, method)(part)
            if use.methods - FROM_THE_START:
                for _ in pattern.finditer(part):
                    pass

    return read


def test_the_patterns_are_found() -> None:
    names = {use.name for use in uses()}
    assert {"loci.markdown.links.WIKI", "loci.search.words.RUN", "loci.search.inference.PIECE"} <= names
    assert "loci.gateway.tool_changes.SENTENCE" in names  # it is handed on to a function
    assert len(names) > 60


def test_no_module_makes_patterns_under_another_name() -> None:
    for path, nodes in modules().items():
        for node in nodes:
            assert not (isinstance(node, ast.ImportFrom) and node.module in ("re", "regex")), path
            assert not (isinstance(node, ast.Import) and any(one.name == "re" and one.asname for one in node.names)), (
                path
            )


def slow(most: int, around: Sequence[tuple[str, str]] = AROUND) -> list[str]:
    return [
        f"{use.name} {fault}: {shape}"
        for use in uses()
        for read in [reader(use)]
        for shape, make in simple_shapes(around)
        if (fault := faulty_growth(read, make, most))
    ]


def test_no_pattern_is_slow() -> None:
    assert slow(most=1_000) == []


@pytest.mark.exhaustive
def test_no_pattern_is_slow_up_to_a_megabyte() -> None:
    assert slow(most=1_000_000, around=AROUND[:1]) == []


def test_a_slow_pattern_would_be_seen() -> None:
    quadratic = Use("made up", re.compile(r"<!--(.*?)-->", re.DOTALL), frozenset(("finditer",)))
    assert faulty_growth(reader(quadratic), lambda size: "<!--" * (size // 4), 64_000)
