"""Every promise of the references and of the design, as data: well formed, and truthful about its tests."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import cast

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FILES = ("documents", "files", "tools", "design")
REQUIRED = frozenset({"id", "says", "tests", "state"})
ALLOWED = REQUIRED | {"note"}
STATES = ("open", "done")
ID = re.compile(r"[a-z0-9_]+(\.[a-z0-9_]+)+")


@dataclass(frozen=True, slots=True)
class Promise:
    """One claim, with the tests that hold it."""

    id: str
    says: str
    tests: tuple[str, ...]
    state: str
    note: str


def entries(name: str) -> list[dict[str, object]]:
    """The entries of one file, as they are written."""
    content = tomllib.loads((HERE / f"{name}.toml").read_text(encoding="utf-8"))
    return cast("list[dict[str, object]]", content["promise"])


def faults(entry: dict[str, object]) -> list[str]:
    """What is wrong with the form of an entry; nothing, if it is a promise."""
    found = [f"lacks `{key}`" for key in sorted(REQUIRED - entry.keys())]
    found += [f"has an unknown key `{key}`" for key in sorted(entry.keys() - ALLOWED)]
    for key in sorted(ALLOWED & entry.keys() - {"tests"}):
        value = entry[key]
        if not isinstance(value, str) or not value.strip():
            found.append(f"`{key}` is not a text")
    tests = entry.get("tests", [])
    if not isinstance(tests, list) or not all(isinstance(test, str) for test in cast("list[object]", tests)):
        found.append("`tests` is not a list of texts")
    if entry.get("state", "open") not in STATES:
        found.append(f"`state` is {entry['state']!r}, not one of {', '.join(STATES)}")
    return found


def promises() -> list[Promise]:
    """All promises of all files, in the order in which they are written."""
    return [
        Promise(
            id=str(entry.get("id", "(no id)")),
            says=str(entry.get("says", "")),
            tests=tuple(cast("list[str]", entry.get("tests", []))),
            state=str(entry.get("state", "")),
            note=str(entry.get("note", "")),
        )
        for name in FILES
        for entry in entries(name)
    ]


def exists(test: str, root: Path = ROOT) -> bool:
    """Whether a pytest node id (`path::func`, `path::Class::func`, with or without `[param]`) is defined."""
    path, *names = test.partition("[")[0].split("::")
    file = root / path
    if not names or not names[-1].startswith("test") or not file.is_file():
        return False
    body = ast.parse(file.read_text(encoding="utf-8")).body
    for name in names[:-1]:
        classes = [node for node in body if isinstance(node, ast.ClassDef) and node.name == name]
        if not classes:
            return False
        body = classes[-1].body
    return any(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == names[-1] for node in body)


def listed(complaint: str, offenders: list[str]) -> str:
    """A failure message with one offender a line."""
    return f"{complaint}:\n  " + "\n  ".join(offenders)


def test_every_entry_has_the_keys_and_values_of_a_promise() -> None:
    wrong = [
        f"{name}.toml, {entry.get('id', f'entry {number}')}: {fault}"
        for name in FILES
        for number, entry in enumerate(entries(name), start=1)
        for fault in faults(entry)
    ]
    assert not wrong, listed("entries that are not promises", wrong)


def test_an_id_is_dotted_words_that_begin_with_the_name_of_its_file() -> None:
    wrong = [
        f"{name}.toml, {entry.get('id')}"
        for name in FILES
        for entry in entries(name)
        if not ID.fullmatch(str(entry.get("id"))) or not str(entry.get("id")).startswith(f"{name}.")
    ]
    assert not wrong, listed("ids out of form", wrong)


def test_an_id_is_used_once_over_all_files() -> None:
    uses = Counter(promise.id for promise in promises())
    wrong = [f"{name} ({count} times)" for name, count in uses.items() if count > 1]
    assert not wrong, listed("ids used more than once", wrong)


def test_a_claim_is_made_once_within_its_area() -> None:
    def claim(promise: Promise) -> tuple[str, ...]:
        return (*promise.id.split(".")[:2], promise.says)

    uses = Counter(claim(promise) for promise in promises())
    wrong = [promise.id for promise in promises() if uses[claim(promise)] > 1]
    assert not wrong, listed("promises that say the same as another of their area", wrong)


def test_a_promise_marked_done_names_a_test() -> None:
    wrong = [promise.id for promise in promises() if promise.state == "done" and not promise.tests]
    assert not wrong, listed("promises marked done without a test", wrong)


def test_a_named_test_exists() -> None:
    wrong = [f"{promise.id}: {test}" for promise in promises() for test in promise.tests if not exists(test)]
    assert not wrong, listed("promises that name a test which is not there", wrong)


def test_an_open_promise_names_tests_only_with_a_note() -> None:
    wrong = [promise.id for promise in promises() if promise.state == "open" and promise.tests and not promise.note]
    assert not wrong, listed("open promises with tests and no note; mark them done or say what is missing", wrong)


def test_functions_methods_and_parametrized_cases_are_found(tmp_path: Path) -> None:
    source = "async def test_a(): ...\nclass TestB:\n    def test_c(self): ...\n"
    (tmp_path / "test_it.py").write_text(source, encoding="utf-8")
    for test in ("test_a", "test_a[x::y]", "TestB::test_c", "TestB::test_c[1-2]"):
        assert exists(f"test_it.py::{test}", tmp_path), test


def test_what_is_not_defined_is_not_found(tmp_path: Path) -> None:
    source = "def setup(): ...\ndef test_a(): ...\nclass TestB:\n    def test_c(self): ...\n"
    (tmp_path / "test_it.py").write_text(source, encoding="utf-8")
    absent = (
        "test_it.py",
        "test_it.py::setup",
        "test_it.py::test_c",
        "test_it.py::TestB::test_a",
        "no.py::test_a",
    )
    for test in absent:
        assert not exists(test, tmp_path), test
